//! The heads of each layer, ranked by how much they are like the layer before.

use std::collections::BTreeMap;

use egui::Ui;

use super::derived::Derived;
use crate::{
    export::Figure,
    plot::{Axis, Quantity},
    theme::{self, Dash},
    widgets::{Chart, ChartLine, ChartState, SharedX},
};

/// Its title, also of the exported figure.
pub const TITLE: &str = "Similarity to the layer before, ranked";

fn lines(derived: &Derived) -> Vec<ChartLine<'_>> {
    let last = derived.ranked.len().saturating_sub(1).max(1) as f32;
    derived
        .ranked
        .iter()
        .enumerate()
        .map(|(place, (name, series))| ChartLine {
            colour: theme::ramp(place as f32 / last),
            dash: Dash::Solid,
            ..ChartLine::new(place as u64, name, series)
        })
        .collect()
}

fn chart<'a>(lines: &'a [ChartLine<'a>]) -> Chart<'a> {
    Chart::new("ranked", TITLE, lines)
        .x_axis(Axis::new("Head of the layer, the least similar first").quantity(Quantity::Count))
        .y_axis(Axis::new("Similarity"))
        .smoothing(0.0)
        .height(230.0)
        .legend(true)
        .empty_text("The first layer has no layer before it")
}

/// Draws the chart.
pub fn ranked_ui(ui: &mut Ui, derived: &Derived, state: &mut ChartState, shared: &mut SharedX) {
    chart(&lines(derived)).show(ui, state, shared);
}

/// The chart as it is exported.
pub fn figure(
    derived: &Derived,
    state: &mut ChartState,
    shared: &SharedX,
    metadata: BTreeMap<String, String>,
) -> Figure {
    chart(&lines(derived)).figure(state, shared, metadata)
}
