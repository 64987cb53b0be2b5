//! Energy in the first components of another model, step or text.

use std::{collections::BTreeMap, sync::Arc};

use egui::Ui;
use headroom_engine::analysis::{Analysis, Projection};

use crate::{
    export::Figure,
    plot::{Axis, Quantity, Scale, Series},
    theme::{self, Dash},
    widgets::{Chart, ChartLine, ChartState, SharedX},
};

/// One chart a space, made anew only when the analysis changes.
#[derive(Default)]
pub struct Projections {
    of: Option<Arc<Analysis>>,
    charts: Vec<Projected>,
    shared: SharedX,
}

#[derive(Default)]
struct Projected {
    title: String,
    /// The network first, then each layer.
    lines: Vec<(String, Series)>,
    state: ChartState,
}

impl Projected {
    fn new(projection: &Projection) -> Self {
        let series = |curve: &[f64]| -> Series { curve.iter().zip(1_u32..).map(|(y, x)| (f64::from(x), *y)).collect() };
        let mut lines = vec![("Network".to_owned(), series(&projection.network))];
        let layers = projection.layers.iter().enumerate().filter(|(_, curve)| !curve.is_empty());
        lines.extend(layers.map(|(layer, curve)| (format!("L{layer}"), series(curve))));
        Self { title: format!("Energy in the space of {}", projection.onto), lines, state: ChartState::default() }
    }

    fn drawn(&self) -> Vec<ChartLine<'_>> {
        let last = self.lines.len().saturating_sub(2).max(1) as f32;
        let mut all = Vec::with_capacity(self.lines.len());
        for (place, (name, series)) in self.lines.iter().enumerate() {
            let line = ChartLine::new(place as u64, name, series);
            all.push(match place.checked_sub(1) {
                None => ChartLine { width: 3.0, ..line },
                Some(layer) => ChartLine { colour: theme::ramp(layer as f32 / last), dash: Dash::Solid, ..line },
            });
        }
        all
    }
}

fn chart<'a>(title: &'a str, lines: &'a [ChartLine<'a>]) -> Chart<'a> {
    Chart::new(title, title, lines)
        .x_axis(Axis::new("Components of that space").quantity(Quantity::Count).scale(Scale::Log))
        .y_axis(Axis::new("Share of the energy").quantity(Quantity::Fraction))
        .smoothing(0.0)
        .height(230.0)
        .legend(true)
}

impl Projections {
    /// Brings the curves up to date.
    pub fn update(&mut self, analysis: &Arc<Analysis>) {
        if !self.of.as_ref().is_some_and(|known| Arc::ptr_eq(known, analysis)) {
            self.of = Some(Arc::clone(analysis));
            self.charts = analysis.projections.iter().map(Projected::new).collect();
        }
    }

    /// Titles of the charts.
    pub fn titles(&self) -> Vec<String> {
        self.charts.iter().map(|chart| chart.title.clone()).collect()
    }

    /// Draws the charts.
    pub fn ui(&mut self, ui: &mut Ui) {
        for projected in &mut self.charts {
            ui.add_space(8.0);
            let mut state = std::mem::take(&mut projected.state);
            chart(&projected.title, &projected.drawn()).show(ui, &mut state, &mut self.shared);
            projected.state = state;
        }
    }

    /// One of the charts as it is exported.
    pub fn figure(&mut self, place: usize, metadata: BTreeMap<String, String>) -> Option<Figure> {
        let projected = self.charts.get_mut(place)?;
        let mut state = std::mem::take(&mut projected.state);
        let figure = chart(&projected.title, &projected.drawn()).figure(&mut state, &self.shared, metadata);
        projected.state = state;
        Some(figure)
    }
}
