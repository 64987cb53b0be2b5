//! Config and results of the compared runs as parallel coordinates: what is brushed is what the table shows.

use std::collections::BTreeMap;

use egui::{
    Checkbox, PopupCloseBehavior, RichText, ScrollArea, TextStyle, Ui,
    containers::menu::{MenuButton, MenuConfig},
};
use headroom_engine::config::counted;

use super::{
    axes::{ConfigAxes, result_axes},
    lines::Bundle,
    view::View,
};
use crate::{
    export::ParallelFigure,
    format,
    panels::runs::FlatConfigs,
    theme,
    widgets::{
        Parallel, ParallelAxis, ParallelLine, ParallelResponse, ParallelScale, ParallelState, sideways_ui, text_width,
    },
};

/// Config keys that have an axis until the user chooses; the others are counted.
const MOST_KEYS: usize = 10;
/// The least and the most room between two axes, in points: a number is read beside an axis, a long word is cut.
const LEAST_GAP: f32 = 90.0;
const MOST_GAP: f32 = 120.0;
/// Room beside a value and beside a name, in points.
const BESIDE_VALUE: f32 = 16.0;
const BESIDE_NAME: f32 = 8.0;
/// The least and the most room at a side, in points.
const SIDES: [f32; 2] = [62.0, 170.0];
/// So many values of an axis are measured: more have no room on it.
const MEASURED: usize = 24;

/// The view and its brushes.
#[derive(Default)]
pub(super) struct ParallelView {
    state: ParallelState,
    keys: ConfigAxes,
    /// Whether what is shown next is to be exported.
    wants_export: bool,
    /// What was shown last, once it was asked for.
    figure: Option<ParallelFigure>,
}

impl ParallelView {
    /// Draws it; the baseline passes every brush.
    #[expect(clippy::too_many_arguments, reason = "called once; each is a part of the one frame that is drawn")]
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        bundles: &[Bundle],
        metrics: &[String],
        configs: &FlatConfigs,
        view: &mut View,
        highlight: Option<u64>,
        baseline: Option<u64>,
    ) -> ParallelResponse {
        let keys = self.keys.of(bundles, configs, view.group.as_deref());
        let offered = offered(keys, result_axes(bundles, metrics), metrics.len(), &view.axes);
        let shown_keys = offered.iter().take(keys.len()).filter(|own| own.is_shown).count();
        let left_out = keys.len() - shown_keys;
        // The first metric stands behind the keys.
        let colour_by = shown_keys;
        let axes: Vec<ParallelAxis> = offered.iter().filter(|own| own.is_shown).map(|own| own.axis.clone()).collect();
        let lines: Vec<ParallelLine<'_>> = bundles.iter().map(|bundle| line(bundle, view.colours_of_runs)).collect();
        let palette = theme::palette(ui.visuals());
        let is_of_runs = view.colours_of_runs;
        let coloured = axes.get(colour_by).map(|axis| axis.label.to_lowercase()).unwrap_or_default();
        let parallel = || {
            Parallel::new("config and results", &axes, &lines).colour_by(colour_by).highlight(highlight).keep(baseline)
        };
        let width = width_needed(ui, &axes);
        let state = &mut self.state;
        let mut show = |ui: &mut Ui| parallel().show(ui, state);
        let response = if width > ui.available_width() {
            sideways_ui(ui, "parallel", |ui| {
                ui.set_width(width);
                show(ui)
            })
        } else {
            show(ui)
        };
        let mut wants_export = std::mem::take(&mut self.wants_export);
        ui.horizontal_wrapped(|ui| {
            let clear = ui.add_enabled(self.state.is_brushed(), egui::Button::new("Clear brushes"));
            if clear.clicked() {
                self.state.clear();
            }
            axes_menu_ui(ui, &offered, &mut view.axes);
            wants_export |= ui.button("Export figure…").on_hover_text("As PNG, SVG or CSV (Ctrl+E)").clicked();
            ui.checkbox(&mut view.colours_of_runs, "Colours of the runs")
                .on_hover_text("As on the charts. Without it lines are coloured by a result");
            let mut text = "Drag along an axis to keep the lines there.".to_owned();
            if !is_of_runs {
                text = format!("Coloured by {coloured}. {text}");
            }
            if self.state.is_brushed() {
                // The baseline is no find: it is kept in any case.
                let kept = usize::from(baseline.is_some());
                let beside = if kept > 0 { " beside the baseline, which is kept in any case" } else { "" };
                text = format!(
                    "{} of {} pass{beside}; the table shows these. {text}",
                    format::count(response.passing.len().saturating_sub(kept) as u64),
                    format::count(bundles.len().saturating_sub(kept) as u64)
                );
            }
            if left_out > 0 {
                let verb = if left_out == 1 { " that differs." } else { " that differ." };
                text += &[" Without ", &counted(left_out, "more key"), verb].concat();
            }
            ui.label(RichText::new(text).color(palette.weak));
        });
        if wants_export {
            let mut figure = parallel().figure(&self.state, "Config and results");
            if !is_of_runs {
                figure.notes.push(format!("Coloured by {coloured}."));
            }
            if self.state.is_brushed() {
                let (passing, all) = (response.passing.len() as u64, bundles.len() as u64);
                figure.notes.push(format!("{} of {} pass the brushes.", format::count(passing), format::count(all)));
            }
            if left_out > 0 {
                figure.notes.push(format!("Without {}.", counted(left_out, "more differing key")));
            }
            self.figure = Some(figure);
        }
        response
    }

    /// Exports what is shown next.
    pub fn want_export(&mut self) {
        self.wants_export = true;
    }

    /// What is to be exported now.
    pub fn take_figure(&mut self) -> Option<ParallelFigure> {
        self.figure.take()
    }
}

/// The line of a run or a group: in its own colour, or in that of a result.
fn line(bundle: &Bundle, is_in_own_colour: bool) -> ParallelLine<'_> {
    let colour = is_in_own_colour.then_some(bundle.style.colour);
    ParallelLine { id: bundle.number, name: &bundle.name, colour }
}

/// An axis that there is.
struct Offered {
    axis: ParallelAxis,
    is_shown: bool,
    /// Whether it is that of a metric that was chosen above, which stays.
    is_metric: bool,
}

/// The axes of the keys and of the results, of which the first are those of the metrics. Those are shown that the user chose, and of
/// the others the first keys and the results that are not the same for all runs.
fn offered(
    keys: &[ParallelAxis],
    results: Vec<ParallelAxis>,
    metrics: usize,
    chosen: &BTreeMap<String, bool>,
) -> Vec<Offered> {
    let key = |(place, axis): (usize, &ParallelAxis)| Offered {
        is_shown: chosen.get(&axis.key).copied().unwrap_or(place < MOST_KEYS),
        is_metric: false,
        axis: axis.clone(),
    };
    let result = |(place, axis): (usize, ParallelAxis)| {
        let is_metric = place < metrics;
        let is_shown = is_metric || chosen.get(&axis.key).copied().unwrap_or_else(|| differs(&axis));
        Offered { axis, is_shown, is_metric }
    };
    keys.iter().enumerate().map(key).chain(results.into_iter().enumerate().map(result)).collect()
}

/// Whether the lines are told apart by it; of a single line every value is worth an axis.
fn differs(axis: &ParallelAxis) -> bool {
    axis.values.len() < 2 || axis.values.windows(2).any(|pair| pair.first() != pair.last())
}

/// Chooses the axes.
fn axes_menu_ui(ui: &mut Ui, offered: &[Offered], chosen: &mut BTreeMap<String, bool>) {
    let shown = offered.iter().filter(|own| own.is_shown).count();
    let title = format!("Axes: {shown} of {}", offered.len());
    let config = MenuConfig::new().close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    let (button, _) = MenuButton::new(title).config(config).ui(ui, |ui| {
        ui.set_min_width(220.0);
        ScrollArea::vertical().max_height(360.0).show(ui, |ui| {
            for Offered { axis, is_shown, is_metric } in offered {
                let mut has_one = *is_shown;
                let line = ui.add_enabled(!is_metric, Checkbox::new(&mut has_one, axis.label.as_str()));
                if line.on_hover_text(&axis.key).on_disabled_hover_text("The metric that is chosen above").changed() {
                    chosen.insert(axis.key.clone(), has_one);
                }
            }
        });
        ui.separator();
        if ui.button("The usual ones").on_hover_text("Those on which the runs differ").clicked() {
            chosen.clear();
        }
    });
    button.accessible_name("Axes").on_hover_text("Which axes are shown. At first those on which the runs differ");
}

/// So wide that names above the axes, which may stand in two lines in turn, and values beside them are read, in points.
fn width_needed(ui: &Ui, axes: &[ParallelAxis]) -> f32 {
    let small = TextStyle::Small.resolve(ui.style());
    let of = |text: &str| text_width(ui, text, &small);
    let words = |axis: &ParallelAxis| match &axis.scale {
        ParallelScale::Category(names) => names.iter().take(MEASURED).map(|name| of(name)).fold(0.0, f32::max),
        ParallelScale::Number(_) => 0.0,
    };
    let name = |axis: &ParallelAxis| 0.5 * (of(&axis.label) + BESIDE_NAME);
    let either = |axis: &ParallelAxis| name(axis).max(words(axis) + BESIDE_VALUE);
    let gap = axes.iter().map(either).fold(LEAST_GAP, f32::max).min(MOST_GAP);
    let [least, most] = SIDES;
    let (left, right) = (axes.first().map_or(0.0, name), axes.last().map_or(0.0, either));
    axes.len().saturating_sub(1) as f32 * gap + left.clamp(least, most) + right.clamp(least, most)
}
