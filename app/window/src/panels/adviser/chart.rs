//! The small charts with the slider's place on them.

use std::collections::BTreeMap;

use egui::{Color32, Ui};

use crate::{
    export::Figure,
    plot::{Axis, Series},
    theme::{self, Dash},
    widgets::{Chart, ChartLine, ChartState, SharedX},
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

/// What the charts remember.
#[derive(Default)]
pub struct Charts {
    states: [ChartState; 3],
    shared: SharedX,
    /// The chart that is to leave as a figure, by number.
    pub wanted: Option<usize>,
    /// It, once it was drawn.
    pub leaving: Option<Figure>,
}

impl PartChart<'_> {
    /// Draws it as chart number `number`; leaves it in `charts` as a figure where that is wanted.
    pub fn show(&self, ui: &mut Ui, number: usize, charts: &mut Charts) {
        let palette = theme::palette(ui.visuals());
        let last = self.curves.len().saturating_sub(1).max(1) as f32;
        let colour = |place: usize| -> Color32 {
            if self.curves.len() > 1 { theme::ramp(place as f32 / last) } else { palette.accent }
        };
        // Along from one axis and down to the other.
        let mark: Series = self.place.into_iter().flat_map(|(x, y)| [(0.0, y), (x, y), (x, 0.0)]).collect();
        let mut lines: Vec<ChartLine<'_>> = Vec::with_capacity(self.curves.len() + 1);
        for (place, (name, series)) in self.curves.iter().enumerate() {
            let line = ChartLine::new(place as u64, name, series);
            lines.push(ChartLine { colour: colour(place), dash: Dash::Solid, ..line });
        }
        if self.place.is_some() {
            let place = ChartLine::new(self.curves.len() as u64, "the slider's position", &mark);
            lines.push(ChartLine { colour: palette.strong, dash: Dash::Dashed, width: 1.2, dots: false, ..place });
        }
        let Some(state) = charts.states.get_mut(number) else { return };
        let chart = || {
            Chart::new(self.salt, self.title, &lines)
                .x_axis(self.axes.0.clone())
                .y_axis(self.axes.1.clone())
                .smoothing(0.0)
                .height(HEIGHT)
                .legend(self.curves.len() > 1)
                .empty_text(self.empty)
        };
        chart().show(ui, state, &mut charts.shared);
        if charts.wanted == Some(number) {
            charts.wanted = None;
            charts.leaving = Some(chart().figure(state, &charts.shared, BTreeMap::new()));
        }
    }
}
