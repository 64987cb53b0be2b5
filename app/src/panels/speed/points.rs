//! The table of points: what was measured beside what was predicted, each side against the first.

use egui::{Grid, RichText, Ui};
use headroom_engine::speed::{Measurement, Outcome, PointResult, SweepSpec};

use super::quantity::millis;
use crate::{theme, widgets::format};

const COLUMNS: [(&str, &str); 11] = [
    ("Side", ""),
    ("Step", "Median of the counted steps"),
    ("Quartiles", "Half of the steps lie between them"),
    ("Ratio", "Median over that of the first side; below 1 is faster"),
    ("Forward", "Median; the head's gradients count here"),
    ("Backward", "Median"),
    ("Optimiser", "Median; norm, clipping and update"),
    ("Tokens/s", "Tokens of a step over its median"),
    ("Memory", "Peak of the process without what the program had before; measured in a pass of its own"),
    ("Predicted", "Memory by the cost model, and measured over predicted"),
    ("FLOP/s", "FLOPs by the cost model over the median, and products done over predicted"),
];

/// Draws the table. `chosen` is the point and side whose operations are shown; a click chooses another.
pub fn points_ui(ui: &mut Ui, spec: &SweepSpec, points: &[PointResult], chosen: &mut (usize, usize)) {
    let palette = theme::palette(ui.visuals());
    Grid::new("points").striped(true).spacing([10.0, 4.0]).show(ui, |ui| {
        for axis in &spec.axes {
            ui.label(RichText::new(&axis.field).small().color(palette.weak));
        }
        for (title, help) in COLUMNS {
            let label = ui.label(RichText::new(title).small().color(palette.weak));
            if !help.is_empty() {
                label.on_hover_text(help);
            }
        }
        ui.end_row();
        for (place, point) in points.iter().enumerate() {
            let first = point.sides.first().and_then(|side| side.outcome.measurement());
            for (side_place, side) in point.sides.iter().enumerate() {
                for setting in &point.settings {
                    ui.label(&setting.value);
                }
                let is_measured = side.outcome.measurement().is_some();
                let here = (place, side_place);
                let name = format!("{}, {}", point.label(), side.side);
                let button = ui.add_enabled(is_measured, egui::Button::selectable(*chosen == here, &side.side));
                if button.on_hover_text("Shows its operations").accessible_name(name).clicked() {
                    *chosen = here;
                }
                match &side.outcome {
                    Outcome::Measured(found) => measured_ui(ui, found, first, side_place == 0),
                    other => refused_ui(ui, other),
                }
                ui.end_row();
            }
        }
    });
}

fn measured_ui(ui: &mut Ui, found: &Measurement, first: Option<&Measurement>, is_first: bool) {
    let palette = theme::palette(ui.visuals());
    ui.label(RichText::new(millis(found.step_secs.median)).color(palette.strong));
    let (lower, upper) = (found.step_secs.lower * 1e3, found.step_secs.upper * 1e3);
    ui.label(format!("{} to {}", format::significant(lower, 4), format::significant(upper, 4)));
    let ratio = first.filter(|_| !is_first).map(|first| found.step_secs.median / first.step_secs.median);
    match ratio {
        Some(ratio) => {
            let colour = if ratio < 1.0 { palette.better } else { palette.worse };
            ui.label(RichText::new(format::fixed(ratio, 3)).color(colour));
        }
        None => drop(ui.label("")),
    }
    for secs in [found.forward_secs, found.backward_secs, found.optimiser_secs] {
        ui.label(millis(secs));
    }
    ui.label(format::count(found.tokens_per_sec() as u64));
    ui.label(found.model_memory_bytes().map_or_else(|| "unknown".to_owned(), format::bytes));
    let times = |ratio: Option<f64>| ratio.map_or_else(String::new, |ratio| format!(" × {}", format::fixed(ratio, 2)));
    ui.label(format!("{}{}", format::bytes(found.predicted_memory_bytes), times(found.memory_ratio())));
    ui.label(format!("{}/s{}", format::flops(found.flops_per_sec()), times(found.flops_ratio())));
}

/// A side without numbers: what it is, and what it would have needed.
fn refused_ui(ui: &mut Ui, outcome: &Outcome) {
    let colour = theme::palette(ui.visuals()).warning;
    let word = match outcome {
        Outcome::Measured(_) => "",
        Outcome::OutOfMemory { .. } => "Out of memory",
        Outcome::Invalid { .. } => "Invalid",
        Outcome::Failed { .. } => "Failed",
    };
    let label = ui.label(RichText::new(word).color(colour));
    match outcome {
        Outcome::OutOfMemory { needed_bytes, free_bytes } => {
            for _ in 0..6 {
                ui.label("");
            }
            ui.label(RichText::new(format!("{} free", format::bytes(*free_bytes))).color(colour));
            ui.label(RichText::new(format!("needs {}", format::bytes(*needed_bytes))).color(colour));
        }
        Outcome::Invalid { reason } | Outcome::Failed { reason } => drop(label.on_hover_text(reason)),
        Outcome::Measured(_) => {}
    }
}

/// Why sides have no numbers, a line each, below the table.
pub fn reasons_ui(ui: &mut Ui, points: &[PointResult]) {
    for point in points {
        for side in &point.sides {
            if let Outcome::Invalid { reason } | Outcome::Failed { reason } = &side.outcome {
                ui.label(RichText::new(format!("{}, {}: {reason}", point.label(), side.side)).small());
            }
        }
        if !point.in_turns {
            let text = format!("{}: memory holds one side at a time, so they did not take turns.", point.label());
            ui.label(RichText::new(text).small());
        }
    }
}
