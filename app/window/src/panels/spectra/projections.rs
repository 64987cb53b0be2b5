//! Energy in the first components of another model, step or text.

use std::{collections::BTreeMap, sync::Arc};

use egui::Ui;
use headroom_engine::analysis::{Analysis, Projection};

use super::options::HEIGHTS;
use crate::{
    export::Figure,
    findings::layer_name,
    plot::{Axis, Quantity, Scale, Series},
    widgets::{Chart, ChartView, HeightHandle, SpareHeight, ViewLine},
};

/// The usual height of a chart in points.
const HEIGHT: f32 = 230.0;

/// One chart a space, made anew only when the analysis changes.
#[derive(Default)]
pub struct Projections {
    of: Option<Arc<Analysis>>,
    charts: Vec<(String, ChartView)>,
}

fn projected(projection: &Projection) -> (String, ChartView) {
    let series = |curve: &[f64]| -> Series { curve.iter().zip(1_u32..).map(|(y, x)| (f64::from(x), *y)).collect() };
    let network = ViewLine::of_run(0, "Network", series(&projection.network));
    let layers = projection.layers.iter().enumerate().filter(|(_, curve)| !curve.is_empty());
    let layers: Vec<_> = layers.collect();
    let count = layers.len();
    let layers = layers
        .into_iter()
        .enumerate()
        .map(|(place, (layer, curve))| ViewLine::of_order((place, count), layer_name(layer), series(curve)));
    let lines = std::iter::once(ViewLine { width: 3.0, ..network }).chain(layers).collect();
    (format!("Energy in the space of {}", projection.onto), ChartView::new(lines))
}

fn chart(title: &str) -> Chart<'_> {
    Chart::new(title, title, &[])
        .x_axis(Axis::new("Components of that space").quantity(Quantity::Count).scale(Scale::Log))
        .y_axis(Axis::new("Share of the energy").quantity(Quantity::Fraction))
        .smoothing(0.0)
        .height(HEIGHT)
        .legend(true)
}

impl Projections {
    /// Brings the curves up to date.
    pub fn update(&mut self, analysis: &Arc<Analysis>) {
        if !self.of.as_ref().is_some_and(|known| Arc::ptr_eq(known, analysis)) {
            self.of = Some(Arc::clone(analysis));
            self.charts = analysis.projections.iter().map(projected).collect();
        }
    }

    /// Titles of the charts.
    pub fn titles(&self) -> impl Iterator<Item = &str> {
        self.charts.iter().map(|(title, _)| title.as_str())
    }

    /// Draws the charts, and the handle that changes the height of all.
    pub fn ui(&mut self, ui: &mut Ui, height: &mut Option<f32>, spare: SpareHeight) {
        let now = spare.of(*height, HEIGHT);
        for (title, view) in &mut self.charts {
            ui.add_space(8.0);
            view.show(ui, chart(title).height(now));
        }
        if !self.charts.is_empty() {
            HeightHandle::new("energy in other spaces", HEIGHTS).show(ui, height, now);
        }
    }

    /// One of the charts as it is exported.
    pub fn figure(&mut self, place: usize, metadata: BTreeMap<String, String>) -> Option<Figure> {
        self.charts.get_mut(place).map(|(title, view)| view.figure(chart(title), metadata))
    }
}
