//! The small charts with the slider's place on them.

use egui::{Color32, Ui};

use crate::{
    theme,
    widgets::{Axis, Chart, ChartLine, ChartState, Dash, Series, SharedX},
};

/// Height of a chart.
const HEIGHT: f32 = 168.0;

/// A chart of a section.
pub struct PartChart<'a> {
    /// Tells charts apart.
    pub salt: &'a str,
    /// Its title.
    pub title: &'a str,
    /// Its curves, by name; several go through the colours of a ramp.
    pub curves: &'a [(&'a str, &'a Series)],
    /// Its axes.
    pub axes: (Axis, Axis),
    /// Where the slider stands, on x, and what is read off there; none where nothing follows.
    pub place: Option<(f64, f64)>,
    /// What would fill it.
    pub empty: &'a str,
}

impl PartChart<'_> {
    /// Draws it.
    pub fn show(&self, ui: &mut Ui, state: &mut ChartState, shared: &mut SharedX) {
        let palette = theme::palette(ui.visuals());
        let last = self.curves.len().saturating_sub(1).max(1) as f32;
        let colour = |place: usize| -> Color32 {
            if self.curves.len() > 1 { theme::ramp(place as f32 / last) } else { palette.accent }
        };
        let mark: Series = self.place.into_iter().flat_map(|(x, y)| [(x, 0.0), (x, y)]).collect();
        let across: Series = self.place.into_iter().flat_map(|(x, y)| [(0.0, y), (x, y)]).collect();
        let mut lines: Vec<ChartLine<'_>> = Vec::with_capacity(self.curves.len() + 2);
        for (place, (name, series)) in self.curves.iter().enumerate() {
            let line = ChartLine::new(place as u64, name, series);
            lines.push(ChartLine { colour: colour(place), dash: Dash::Solid, ..line });
        }
        if self.place.is_some() {
            let own = self.curves.len() as u64;
            for series in [&mark, &across] {
                let place = ChartLine::new(own, "the slider's place", series);
                lines.push(ChartLine { colour: palette.strong, dash: Dash::Dashed, width: 1.2, ..place });
            }
        }
        Chart::new(self.salt, self.title, &lines)
            .x_axis(self.axes.0.clone())
            .y_axis(self.axes.1.clone())
            .smoothing(0.0)
            .height(HEIGHT)
            .empty_text(self.empty)
            .show(ui, state, shared);
    }
}
