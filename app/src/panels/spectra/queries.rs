//! Which queries the energy is in.

use std::{collections::BTreeMap, sync::Arc};

use egui::Ui;
use headroom_engine::analysis::{Analysis, ScoreSpectra};

use crate::{
    export::Figure,
    plot::{Axis, Quantity, Series},
    theme::Dash,
    widgets::{Chart, ChartLine, ChartState, SharedX},
};

/// Its title, also of the exported figure.
pub const TITLE: &str = "Energy in each query's rows";

/// The curve, made anew only when the analysis changes.
#[derive(Default)]
pub struct Queries {
    of: Option<Arc<Analysis>>,
    shares: Series,
    even: Series,
    state: ChartState,
    shared: SharedX,
}

impl Queries {
    /// Brings the curve up to date.
    pub fn update(&mut self, analysis: &Arc<Analysis>, spectra: &ScoreSpectra) {
        if !self.of.as_ref().is_some_and(|known| Arc::ptr_eq(known, analysis)) {
            self.of = Some(Arc::clone(analysis));
            let shares = spectra.query_fractions();
            let count = shares.len() as f64;
            self.even = if shares.is_empty() {
                Series::default()
            } else {
                [(0.0, 1.0 / count), (count - 1.0, 1.0 / count)].into_iter().collect()
            };
            self.shares = shares.into_iter().zip(0_u32..).map(|(share, query)| (f64::from(query), share)).collect();
        }
    }

    /// Whether there is anything to draw.
    pub fn is_empty(&self) -> bool {
        self.shares.is_empty()
    }

    fn lines(&self) -> [ChartLine<'_>; 2] {
        [
            ChartLine::new(0, "Share of the energy", &self.shares),
            ChartLine { dash: Dash::Dashed, ..ChartLine::new(1, "If all queries had the same", &self.even) },
        ]
    }

    /// Draws the chart.
    pub fn ui(&mut self, ui: &mut Ui) {
        let (mut state, mut shared) = (std::mem::take(&mut self.state), std::mem::take(&mut self.shared));
        chart(&self.lines()).show(ui, &mut state, &mut shared);
        (self.state, self.shared) = (state, shared);
    }

    /// The chart as it is exported.
    pub fn figure(&mut self, metadata: BTreeMap<String, String>) -> Figure {
        let mut state = std::mem::take(&mut self.state);
        let figure = chart(&self.lines()).figure(&mut state, &self.shared, metadata);
        self.state = state;
        figure
    }
}

fn chart<'a>(lines: &'a [ChartLine<'a>]) -> Chart<'a> {
    Chart::new("queries", TITLE, lines)
        .x_axis(Axis::new("Query, from the first token").quantity(Quantity::Count))
        .y_axis(Axis::new("Share of the energy").quantity(Quantity::Fraction))
        .smoothing(0.0)
        .height(190.0)
        .legend(true)
}
