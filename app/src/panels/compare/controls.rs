use std::collections::BTreeSet;

use egui::{ComboBox, Ui};
use headroom_engine::store::RunSummary;

use super::view::View;
use crate::{
    compare::{Band, common_keys, series_title},
    panels::runs::FlatConfigs,
    widgets::{ChartOptions, XAxis},
};

/// What was asked for with the choices.
#[derive(Default)]
pub(super) struct Asked {
    /// The chart that is to be exported.
    pub export: Option<usize>,
    /// The whole range is to be shown again.
    pub reset: bool,
}

/// Draws the choices. `is_zoomed`: a chart shows a part of its range.
pub(super) fn controls_ui(
    ui: &mut Ui,
    runs: &[RunSummary],
    configs: &FlatConfigs,
    series: &BTreeSet<&String>,
    view: &mut View,
    is_zoomed: bool,
) -> Asked {
    let mut asked = Asked::default();
    ui.horizontal_wrapped(|ui| {
        ui.label("Metric");
        let combo = ComboBox::from_id_salt("metric").selected_text(series_title(&view.metric)).show_ui(ui, |ui| {
            for name in series {
                ui.selectable_value(&mut view.metric, (*name).clone(), series_title(name)).on_hover_text(*name);
            }
        });
        combo.response.accessible_name("Metric");
        ui.label("Second metric");
        let second = view.second.as_deref().map_or_else(|| "None".to_owned(), series_title);
        let combo = ComboBox::from_id_salt("second").selected_text(second).show_ui(ui, |ui| {
            ui.selectable_value(&mut view.second, None, "None");
            for name in series.iter().filter(|name| ***name != view.metric) {
                ui.selectable_value(&mut view.second, Some((*name).clone()), series_title(name)).on_hover_text(*name);
            }
        });
        combo.response.accessible_name("Second metric");
        group_ui(ui, runs, configs, view);
    });
    ui.horizontal_wrapped(|ui| {
        let options = ChartOptions {
            x: &mut view.x,
            axes: &XAxis::ALL,
            log_x: Some(&mut view.log_x),
            log_y: &mut view.log_y,
            smoothing: &mut view.smoothing,
            ignore_outliers: &mut view.ignore_outliers,
            is_zoomed,
        };
        asked.reset = options.ui(ui);
        match &view.second {
            None => {
                if ui.button("Export chart…").on_hover_text("As PNG, SVG or CSV (Ctrl+E)").clicked() {
                    asked.export = Some(0);
                }
            }
            Some(second) => {
                ui.menu_button("Export chart", |ui| {
                    for (index, metric) in [&view.metric, second].into_iter().enumerate() {
                        if ui.button(format!("Export {}…", series_title(metric))).clicked() {
                            asked.export = Some(index);
                            ui.close();
                        }
                    }
                });
            }
        }
    });
    asked
}

fn group_ui(ui: &mut Ui, runs: &[RunSummary], configs: &FlatConfigs, view: &mut View) {
    ui.label("Group by");
    let text = |key: &str| if key == "seed" { "seed: same config otherwise".to_owned() } else { key.to_owned() };
    let selected = view.group.as_deref().map_or_else(|| "Nothing".to_owned(), text);
    let combo = ComboBox::from_id_salt("group").selected_text(selected).width(150.0).show_ui(ui, |ui| {
        ui.selectable_value(&mut view.group, None, "Nothing");
        let flat: Vec<_> = runs.iter().filter_map(|run| configs.get(&run.id)).map(AsRef::as_ref).collect();
        for key in common_keys(&flat) {
            let label = text(&key);
            ui.selectable_value(&mut view.group, Some(key), label);
        }
    });
    combo.response.accessible_name("Group by");
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
