//! The heads of each layer, ranked by their similarity to the layer before.

use headroom_engine::analysis::Similarity;

use crate::{
    findings::ranked_curves,
    plot::{Axis, Quantity},
    widgets::{Chart, ViewLine},
};

/// Its title, also of the exported figure.
pub const TITLE: &str = "Similarity to the layer before, ranked";

/// A line for each layer but the first.
pub fn lines(similarity: &Similarity) -> Vec<ViewLine> {
    let all = ranked_curves(similarity);
    let count = all.len();
    let line = |(place, (name, curve)): (usize, (String, Vec<f64>))| {
        let series = curve.into_iter().zip(1_u32..).map(|(y, x)| (f64::from(x), y)).collect();
        ViewLine::of_order((place, count), name, series)
    };
    all.into_iter().enumerate().map(line).collect()
}

/// The chart, without its lines.
pub fn chart() -> Chart<'static> {
    Chart::new("ranked", TITLE, &[])
        .x_axis(Axis::new("Head of the layer, the least similar first").quantity(Quantity::Count))
        .y_axis(Axis::new("Similarity"))
        .smoothing(0.0)
        .height(230.0)
        .legend(true)
        .empty_text("The first layer has no layer before it")
}
