//! Which queries the energy is in.

use std::{collections::BTreeMap, sync::Arc};

use egui::Ui;
use headroom_engine::analysis::{Analysis, ScoreSpectra};

use super::options::HEIGHTS;
use crate::{
    export::Figure,
    plot::{Axis, Quantity, Series},
    theme::Dash,
    widgets::{Chart, ChartView, HeightHandle, SpareHeight, ViewLine},
};

/// Its title, also of the exported figure.
pub const TITLE: &str = "Energy in each query's rows";
/// Its usual height in points.
const HEIGHT: f32 = 190.0;

/// The curve, made anew only when the analysis changes.
#[derive(Default)]
pub struct Queries {
    of: Option<Arc<Analysis>>,
    view: ChartView,
}

impl Queries {
    /// Brings the curve up to date.
    pub fn update(&mut self, analysis: &Arc<Analysis>, spectra: &ScoreSpectra) {
        if self.of.as_ref().is_some_and(|known| Arc::ptr_eq(known, analysis)) {
            return;
        }
        self.of = Some(Arc::clone(analysis));
        self.view.lines.clear();
        let shares = spectra.query_fractions();
        if !shares.is_empty() {
            let count = shares.len() as f64;
            let even: Series = [(0.0, 1.0 / count), (count - 1.0, 1.0 / count)].into_iter().collect();
            let shares = shares.into_iter().zip(0_u32..).map(|(share, query)| (f64::from(query), share)).collect();
            let even = ViewLine::of_run(1, "If all queries had the same", even);
            self.view
                .lines
                .extend([ViewLine::of_run(0, "Share of the energy", shares), ViewLine { dash: Dash::Dashed, ..even }]);
        }
    }

    /// Whether there is anything to draw.
    pub fn is_empty(&self) -> bool {
        self.view.lines.is_empty()
    }

    /// Draws the chart, and the handle that changes its height.
    pub fn ui(&mut self, ui: &mut Ui, height: &mut Option<f32>, spare: SpareHeight) {
        let now = spare.of(*height, HEIGHT);
        self.view.show(ui, chart().height(now));
        HeightHandle::new("energy of queries", HEIGHTS).show(ui, height, now);
    }

    /// The chart as it is exported.
    pub fn figure(&mut self, metadata: BTreeMap<String, String>) -> Figure {
        self.view.figure(chart(), metadata)
    }
}

fn chart() -> Chart<'static> {
    Chart::new("queries", TITLE, &[])
        .x_axis(Axis::new("Query, from the first token").quantity(Quantity::Count))
        .y_axis(Axis::new("Share of the energy").quantity(Quantity::Fraction))
        .smoothing(0.0)
        .height(HEIGHT)
        .legend(true)
}
