//! The table of points: what was measured beside what was predicted, each side against the first.

use egui::{Grid, RichText, Ui};
use headroom_engine::{
    speed::{LargestBatch, Measurement, MemorySource, Outcome, PointResult, Spread, SweepSpec},
    store::Direction,
};

use crate::{
    compare::Verdict,
    format,
    measured::{Standing, disturbed_words, millis, quartile_words},
    theme,
};

const COLUMNS: [(&str, &str); 12] = [
    ("Side", ""),
    ("Step", "Median of the counted steps"),
    ("Quartiles", "Half of the steps lie between them"),
    (
        "Ratio",
        "Median divided by that of the first side; below 1 is faster. Grey where the quartiles of the two overlap",
    ),
    ("Forward", "Median; the head's gradients count here"),
    ("Backward", "Median"),
    ("Optimiser", "Median; norm, clipping and update"),
    ("Tokens/s", "Tokens of a step over its median"),
    (
        "Memory",
        "Peak of a process without what it held before the model was built; in a process of its own for each side",
    ),
    ("Predicted", "Memory by the cost model, and measured over predicted"),
    ("FLOP/s", "FLOPs by the cost model over the median, and products done over predicted"),
    ("Energy", "Of a step, over many in a row: of the whole GPU, or of the whole processor, where it tells"),
];

/// Draws the table. `chosen` is the point and side whose operations are shown; a click chooses another.
pub fn points_ui(ui: &mut Ui, spec: &SweepSpec, points: &[PointResult], chosen: &mut (usize, usize)) {
    let palette = theme::palette(ui.visuals());
    let has_batches = points.iter().flat_map(|point| &point.sides).any(|side| side.largest_batch.is_some());
    Grid::new("points").striped(true).spacing([10.0, 4.0]).show(ui, |ui| {
        for axis in &spec.axes {
            ui.label(RichText::new(&axis.field).small().color(palette.weak));
        }
        for (title, help) in COLUMNS {
            heading_ui(ui, title, help);
        }
        if has_batches {
            heading_ui(ui, "Largest batch", "The largest batch whose forward pass fits into memory");
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
                    Outcome::Measured(found) => {
                        let first = first.filter(|_| side_place > 0);
                        measured_ui(ui, found, first, point.disturbed_by().is_some());
                    }
                    other => refused_ui(ui, other, COLUMNS.len() - 1),
                }
                match &side.largest_batch {
                    Some(found) => {
                        let label = ui.label(format::count(found.batch as u64));
                        label.on_hover_text(batch_words(found));
                    }
                    None if has_batches => none_ui(ui),
                    None => {}
                }
                ui.end_row();
            }
        }
    });
}

/// The heading of a column, a word a line: a table of many columns is not wider for its headings.
pub(super) fn heading_ui(ui: &mut Ui, title: &str, help: &str) {
    let colour = theme::palette(ui.visuals()).weak;
    let label = ui.label(RichText::new(title.replace(' ', "\n")).small().color(colour)).accessible_name(title);
    if !help.is_empty() {
        label.on_hover_text(help);
    }
}

/// How a time stands to that of the first side, by their quartiles.
/// `is_disturbed`: other programs used the machine meanwhile.
pub fn standing(own: &Spread, first: &Spread, is_disturbed: bool) -> Standing {
    match Verdict::of_spreads(own, first, Direction::Lower) {
        _ if is_disturbed => Standing::Disturbed,
        Verdict::Better => Standing::Faster,
        Verdict::Worse => Standing::Slower,
        _ => Standing::Unclear,
    }
}

/// The ratio of two medians of times, coloured where their quartiles lie apart.
/// `is_disturbed`: other programs used the machine meanwhile.
pub fn ratio_ui(ui: &mut Ui, own: &Spread, first: &Spread, is_disturbed: bool) {
    let palette = theme::palette(ui.visuals());
    let standing = standing(own, first, is_disturbed);
    let colour = match standing {
        Standing::Faster => palette.better,
        Standing::Slower => palette.worse,
        Standing::Unclear | Standing::Disturbed => palette.weak,
    };
    let ratio = ui.label(RichText::new(format::fixed(own.median / first.median, 3)).color(colour));
    ratio.on_hover_text(standing.sentence());
}

fn measured_ui(ui: &mut Ui, found: &Measurement, first: Option<&Measurement>, is_disturbed: bool) {
    let palette = theme::palette(ui.visuals());
    ui.label(RichText::new(millis(found.step_secs.median)).color(palette.strong));
    ui.label(quartile_words(&found.step_secs));
    match first {
        Some(first) => ratio_ui(ui, &found.step_secs, &first.step_secs, is_disturbed),
        None => none_ui(ui),
    }
    for secs in [found.forward_secs, found.backward_secs, found.optimiser_secs] {
        ui.label(millis(secs));
    }
    ui.label(format::count(found.tokens_per_sec() as u64));
    let memory = ui.label(found.model_memory_bytes().map_or_else(|| "unknown".to_owned(), format::bytes));
    if found.peak_memory_bytes.is_some() && found.memory_source == MemorySource::SharedProcess {
        memory
            .on_hover_text("Of the one process that measured everything: what it kept of models before is part of it");
    }
    let mut predicted_ui = |text: String, ratio: Option<f64>, about: &str| match ratio {
        Some(ratio) => drop(ui.label(format!("{text} × {}", format::fixed(ratio, 2))).on_hover_text(about)),
        None => drop(ui.label(text)),
    };
    let memory = format::bytes(found.predicted_memory_bytes);
    predicted_ui(memory, found.memory_ratio(), "×: so many times as much was measured as was predicted");
    let rate = format!("{}/s", format::flops(found.flops_per_sec()));
    predicted_ui(rate, found.flops_ratio(), "×: so many times the predicted products were done in a step");
    match found.step_joules {
        Some(joules) => drop(ui.label(format!("{} J", format::significant(joules, 3)))),
        None => none_ui(ui),
    }
}

/// A cell without a value.
pub(super) fn none_ui(ui: &mut Ui) {
    ui.label(RichText::new("–").color(theme::palette(ui.visuals()).weak));
}

/// What a largest batch rests on.
fn batch_words(found: &LargestBatch) -> String {
    let (needed, free) = (format::bytes(found.needed_bytes), format::bytes(found.free_bytes));
    match (found.batch, found.is_confirmed) {
        (0, _) => format!("Not even one example fits: it needs {needed}, {free} may be used"),
        (_, true) => format!("Needs {needed} by the estimate, {free} may be used. A step was taken with them"),
        (_, false) => format!("Needs {needed} by the estimate, {free} may be used. No step could be taken"),
    }
}

/// A side without numbers: what it is, and what it would have needed, in so many columns.
pub fn refused_ui(ui: &mut Ui, outcome: &Outcome, columns: usize) {
    let colour = theme::palette(ui.visuals()).warning;
    let word = match outcome {
        Outcome::Measured(_) | Outcome::Generated(_) => "",
        Outcome::OutOfMemory { .. } => "Out of memory",
        Outcome::Invalid { .. } => "Invalid",
        Outcome::Failed { .. } => "Failed",
    };
    let label = ui.label(RichText::new(word).color(colour));
    let mut cells = vec![String::new(); columns.saturating_sub(1)];
    match outcome {
        Outcome::OutOfMemory { needed_bytes, free_bytes } => {
            if let [.., memory, predicted, _, _] = cells.as_mut_slice() {
                *memory = format!("{} free", format::bytes(*free_bytes));
                *predicted = format!("needs {}", format::bytes(*needed_bytes));
            }
        }
        Outcome::Invalid { reason } | Outcome::Failed { reason } => drop(label.on_hover_text(reason)),
        Outcome::Measured(_) | Outcome::Generated(_) => {}
    }
    for cell in cells {
        ui.label(RichText::new(cell).color(colour));
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
        if let Some(words) = disturbed_words(point) {
            let colour = theme::palette(ui.visuals()).warning;
            ui.label(RichText::new(format!("{}: {words}", point.label())).small().color(colour));
        }
        if !point.in_turns {
            let text = format!("{}: memory holds one side at a time, so they did not take turns.", point.label());
            ui.label(RichText::new(text).small());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_called_faster_where_quartiles_overlap_or_others_used_the_machine() {
        let spread = |lower, median, upper| Spread { lower, median, upper };
        let first = spread(1.0, 1.1, 1.2);
        let of = |own: Spread, is_disturbed| standing(&own, &first, is_disturbed);
        assert_eq!(of(spread(0.7, 0.8, 0.9), false), Standing::Faster);
        assert_eq!(of(spread(1.3, 1.4, 1.5), false), Standing::Slower);
        assert_eq!(of(spread(1.15, 1.4, 1.5), false), Standing::Unclear);
        for own in [spread(0.7, 0.8, 0.9), spread(1.3, 1.4, 1.5), spread(1.15, 1.4, 1.5)] {
            assert_eq!(of(own, true), Standing::Disturbed);
        }
    }
}
