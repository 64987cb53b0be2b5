use std::collections::BTreeSet;

use egui::{Align, ComboBox, Ui};
use headroom_engine::store::RunSummary;

use super::{
    view::{Shape, View},
    workspace::choices_ui,
};
use crate::{
    compare::{Band, common_keys, series_hint, series_title},
    panels::runs::FlatConfigs,
    plot::XAxis,
    widgets::{ChartOptions, is_new, together_ui},
};

/// Below this width of the row of choices, in points, its slider and its list are narrower: what exports the chart stands beside them.
const NARROW: f32 = 820.0;
const NARROW_SLIDER: f32 = 80.0;
const NARROW_LIST: f32 = 80.0;
/// Below this width of the first row, in points, the band of groups has no room beside what they are grouped by.
const NARROW_GROUPS: f32 = 520.0;

/// A chart of the panel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// Of the first or the second metric.
    Metric(usize),
    /// Of the difference to the baseline.
    Difference,
    /// The metric against a cost.
    Scatter,
    /// Of a metric in the workspace.
    InWorkspace(String),
}

/// What was asked for with the choices.
#[derive(Default)]
pub(super) struct Asked {
    /// The chart that is to be exported.
    pub export: Option<Which>,
    /// More runs of a config are to be set up.
    pub race: bool,
    /// The whole range is to be shown again.
    pub reset: bool,
}

/// Draws the choices. `search`: what is searched for among metrics; `is_zoomed`: a chart shows a part of its range; `has_baseline`: one of the runs is pinned.
#[expect(clippy::too_many_arguments, reason = "called once; each is a part of the one frame that is drawn")]
pub(super) fn controls_ui(
    ui: &mut Ui,
    runs: &[RunSummary],
    configs: &FlatConfigs,
    series: &BTreeSet<&String>,
    view: &mut View,
    search: &mut String,
    is_zoomed: bool,
    has_baseline: bool,
) -> Asked {
    let mut asked = Asked::default();
    ui.horizontal_wrapped(|ui| {
        for (shape, name) in Shape::ALL {
            ui.selectable_value(&mut view.shape, shape, name);
        }
        ui.separator();
        together_ui(ui, "metric", |ui| {
            ui.label("Metric");
            let combo = ComboBox::from_id_salt("metric").selected_text(series_title(&view.metric)).show_ui(ui, |ui| {
                let is_opened = !ui.is_sizing_pass() && is_new(ui, ui.scope_id());
                for name in series {
                    let is_shown = view.metric == **name;
                    let choice = ui.selectable_value(&mut view.metric, (*name).clone(), series_title(name));
                    if is_opened && is_shown {
                        choice.scroll_to_me(Some(Align::Center));
                    }
                    choice.on_hover_text(series_hint(name));
                }
            });
            combo.response.accessible_name("Metric");
        });
        // Only where a second one is drawn.
        let has_second = matches!(view.shape, Shape::Curves | Shape::Parallel);
        let second_ui = |ui: &mut Ui, view: &mut View| {
            ui.label("Second metric");
            let second = view.second.as_deref().map_or_else(|| "None".to_owned(), series_title);
            let combo = ComboBox::from_id_salt("second").selected_text(second).show_ui(ui, |ui| {
                ui.selectable_value(&mut view.second, None, "None");
                for name in series.iter().filter(|name| ***name != view.metric) {
                    ui.selectable_value(&mut view.second, Some((*name).clone()), series_title(name))
                        .on_hover_text(series_hint(name));
                }
            });
            combo.response.accessible_name("Second metric");
        };
        if has_second {
            together_ui(ui, "second metric", |ui| second_ui(ui, view));
        }
        let race_ui = |ui: &mut Ui| {
            let help = "Trains variants of the baseline, or of the first shown run";
            ui.button("Race…").on_hover_text(help).accessible_name("Race from here").clicked()
        };
        // Points have the interval that verdicts rest on, whatever the band of curves.
        let is_banded = view.shape != Shape::Scatter;
        // The button goes to the next line with what stands before it, and not alone.
        if is_banded && view.group.is_some() && ui.max_rect().width() < NARROW_GROUPS {
            together_ui(ui, "group", |ui| group_ui(ui, runs, configs, view));
            asked.race = together_ui(ui, "band", |ui| {
                band_ui(ui, view);
                race_ui(ui)
            });
        } else {
            asked.race = together_ui(ui, "group", |ui| {
                group_ui(ui, runs, configs, view);
                if is_banded {
                    band_ui(ui, view);
                }
                race_ui(ui)
            });
        }
    });
    match view.shape {
        Shape::Parallel => return asked,
        Shape::Scatter => {
            ui.horizontal_wrapped(|ui| {
                ui.checkbox(&mut view.log_x, "Log x").on_hover_text("Logarithmic x");
                ui.checkbox(&mut view.log_y, "Log y").on_hover_text("Logarithmic y");
                if ui.button("Export chart…").on_hover_text("As PNG, SVG or CSV (Ctrl+E)").clicked() {
                    asked.export = Some(Which::Scatter);
                }
            });
            return asked;
        }
        Shape::Curves | Shape::Workspace => {}
    }
    ui.horizontal_wrapped(|ui| {
        if ui.available_width() < NARROW {
            (ui.spacing_mut().slider_width, ui.spacing_mut().combo_width) = (NARROW_SLIDER, NARROW_LIST);
        }
        let options = ChartOptions {
            x: &mut view.x,
            axes: &XAxis::ALL,
            log_x: Some(&mut view.log_x),
            log_y: &mut view.log_y,
            smoothing: &mut view.smoothing,
            ignore_outliers: &mut view.ignore_outliers,
            // Its button stands with what exports the chart.
            is_zoomed: false,
        };
        options.ui(ui);
        if view.shape == Shape::Workspace {
            asked.reset = together_ui(ui, "zoom and charts", |ui| {
                let is_wanted = is_zoomed && reset_ui(ui);
                choices_ui(ui, series, view, search);
                is_wanted
            });
            return;
        }
        together_ui(ui, "difference, zoom and export", |ui| {
            if has_baseline {
                let help = "A chart of each run minus the baseline, seed by seed where runs are grouped";
                ui.checkbox(&mut view.difference, "Difference to the baseline").on_hover_text(help);
            }
            let difference = (has_baseline && view.difference)
                .then(|| (Which::Difference, format!("difference of {}", series_title(&view.metric).to_lowercase())));
            let second = view.second.as_ref().map(|second| (Which::Metric(1), series_title(second)));
            let first = (Which::Metric(0), series_title(&view.metric));
            let charts: Vec<(Which, String)> = std::iter::once(first).chain(difference).chain(second).collect();
            asked.reset = is_zoomed && reset_ui(ui);
            asked.export = export_ui(ui, charts);
        });
    });
    asked
}

/// True when whole ranges are to be shown again.
fn reset_ui(ui: &mut Ui) -> bool {
    let help = "Shows whole ranges again. A zoom along x is that of all charts here, one along y of its chart alone; \
                a double click on a chart frees both";
    ui.button("Reset zoom").on_hover_text(help).clicked()
}

/// The chart that is to be exported, of these with their titles.
fn export_ui(ui: &mut Ui, charts: Vec<(Which, String)>) -> Option<Which> {
    if let [_] = charts.as_slice() {
        let is_wanted = ui.button("Export chart…").on_hover_text("As PNG, SVG or CSV (Ctrl+E)").clicked();
        return is_wanted.then_some(Which::Metric(0));
    }
    let mut wanted = None;
    ui.menu_button("Export chart…", |ui| {
        for (which, title) in charts {
            if ui.button(format!("Export {title}…")).clicked() {
                wanted = Some(which);
                ui.close();
            }
        }
    });
    wanted
}

fn group_ui(ui: &mut Ui, runs: &[RunSummary], configs: &FlatConfigs, view: &mut View) {
    let text = |key: &str| if key == "seed" { "seed: same config otherwise".to_owned() } else { key.to_owned() };
    let selected = match view.group.as_deref() {
        Some(_) if view.group_repeats => "seeds that repeat".to_owned(),
        Some(key) => text(key),
        None => "Nothing".to_owned(),
    };
    ui.label("Group by");
    let combo = ComboBox::from_id_salt("group").selected_text(selected).width(150.0).show_ui(ui, |ui| {
        let help = "Seeds of one config are put together as soon as there are several";
        if ui.selectable_label(view.group_repeats, "seeds that repeat").on_hover_text(help).clicked() {
            view.group_repeats = true;
        }
        let mut choose = |ui: &mut Ui, group: Option<String>, label: &str| {
            let is_chosen = !view.group_repeats && view.group == group;
            if ui.selectable_label(is_chosen, label).clicked() {
                (view.group_repeats, view.group) = (false, group);
            }
        };
        choose(ui, None, "Nothing");
        let flat: Vec<_> = runs.iter().filter_map(|run| configs.get(&run.id)).map(AsRef::as_ref).collect();
        for key in common_keys(&flat) {
            let label = text(&key);
            choose(ui, Some(key), &label);
        }
    });
    combo.response.accessible_name("Group by");
}

/// The band around the means of groups, where there are some.
fn band_ui(ui: &mut Ui, view: &mut View) {
    if view.group.is_some() {
        let name = view.band.name();
        let selected = if view.band == Band::None { name.to_owned() } else { format!("Band: {}", name.to_lowercase()) };
        let combo = ComboBox::from_id_salt("band").selected_text(selected).width(150.0).show_ui(ui, |ui| {
            for band in Band::ALL {
                ui.selectable_value(&mut view.band, band, band.name()).on_hover_text(band.formula());
            }
        });
        combo.response.accessible_name("Band").on_hover_text(view.band.formula());
    }
}
