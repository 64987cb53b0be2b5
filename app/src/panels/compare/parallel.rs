//! Config and results of the compared runs as parallel coordinates: what is brushed is what the table shows.

use egui::{RichText, Ui};
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
    widgets::{Parallel, ParallelAxis, ParallelLine, ParallelResponse, ParallelState},
};

/// Config keys that have an axis; there is no room for more, and the others are counted.
const MOST_KEYS: usize = 10;

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
        let (keys, others) = keys.split_at(keys.len().min(MOST_KEYS));
        let left_out = others.len();
        let colour_by = keys.len();
        let axes: Vec<ParallelAxis> = keys.iter().cloned().chain(result_axes(bundles, metrics)).collect();
        let lines: Vec<ParallelLine<'_>> = bundles.iter().map(|bundle| line(bundle, view.colours_of_runs)).collect();
        let palette = theme::palette(ui.visuals());
        let is_of_runs = view.colours_of_runs;
        let coloured = axes.get(colour_by).map(|axis| axis.label.to_lowercase()).unwrap_or_default();
        let parallel = || {
            Parallel::new("config and results", &axes, &lines).colour_by(colour_by).highlight(highlight).keep(baseline)
        };
        let response = parallel().show(ui, &mut self.state);
        let mut wants_export = std::mem::take(&mut self.wants_export);
        ui.horizontal_wrapped(|ui| {
            let clear = ui.add_enabled(self.state.is_brushed(), egui::Button::new("Clear brushes"));
            if clear.clicked() {
                self.state.clear();
            }
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
                text += &[" Without ", &left_out.to_string(), " more keys that differ."].concat();
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
