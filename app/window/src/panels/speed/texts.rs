//! Generated texts: the table of points, and what a paper publishes beside what was measured.

use egui::{Grid, RichText, Ui};
use headroom_engine::{
    config::Cache,
    speed::{GenerationMeasurement, LargestBatch, Outcome, PointResult, SweepSpec},
};

use super::points::{heading_ui, none_ui, refused_ui};
use crate::{
    format,
    measured::{PUBLISHED_SETTING, Standing, millis, published_ratios, quartile_words},
    theme,
};

const COLUMNS: [(&str, &str); 11] = [
    ("Cache", "What is kept between tokens"),
    ("Samples/s", "Texts of a run over its median, the reading of sources included"),
    ("Run", "Median, from the sources to the last token"),
    ("Quartiles", "Half of the runs lie between them"),
    ("Reading", "Median time until the first token was chosen"),
    ("Token", "Time of a new token of one text, all beams together, without the reading"),
    ("Attention", "Of it, attention to the source"),
    ("Build keys/values", "In one step of all texts; while sources were read, in brackets"),
    ("Build query", "In one step of all texts: queries, expanded for hidden states, and the output map"),
    ("Attend", "In one step of all texts: scores, softmax and mix"),
    ("Kept", "Bytes between tokens, as allocated"),
];

/// Draws the table. A click chooses the point whose groups of operations are shown.
pub fn texts_ui(ui: &mut Ui, spec: &SweepSpec, points: &[PointResult], chosen: &mut (usize, usize)) {
    let palette = theme::palette(ui.visuals());
    let has_batches = points.iter().flat_map(|point| &point.sides).any(|side| side.largest_batch.is_some());
    Grid::new("texts").striped(true).spacing([12.0, 4.0]).show(ui, |ui| {
        for axis in &spec.axes {
            ui.label(RichText::new(&axis.field).small().color(palette.weak));
        }
        for (title, help) in COLUMNS {
            heading_ui(ui, title, help);
        }
        if has_batches {
            let help = "The most sources at the same time that fit into memory, and texts a second with them";
            heading_ui(ui, "Largest batch", help);
        }
        ui.end_row();
        for (place, point) in points.iter().enumerate() {
            for (side_place, side) in point.sides.iter().enumerate() {
                for setting in &point.settings {
                    ui.label(&setting.value);
                }
                let label = label(&side.side);
                let button = egui::Button::selectable(chosen.0 == place, &label);
                let button = ui.add_enabled(side.outcome.is_measured(), button).on_hover_text("Shows its operations");
                if button.accessible_name(format!("{}, {label}", point.label())).clicked() {
                    *chosen = (place, side_place);
                }
                match &side.outcome {
                    Outcome::Generated(found) => measured_ui(ui, found),
                    other => refused_ui(ui, other, COLUMNS.len() - 1),
                }
                match &side.largest_batch {
                    Some(largest) => drop(ui.label(largest_words(largest)).on_hover_text(largest_help(largest))),
                    None if has_batches => none_ui(ui),
                    None => {}
                }
                ui.end_row();
            }
        }
    });
}

/// What people call a side.
fn label(side: &str) -> String {
    side.parse::<Cache>().map_or_else(|_| side.to_owned(), |cache| cache.label().to_owned())
}

fn measured_ui(ui: &mut Ui, found: &GenerationMeasurement) {
    let palette = theme::palette(ui.visuals());
    ui.label(RichText::new(format::significant(found.samples_per_sec(), 4)).color(palette.strong));
    ui.label(millis(found.total_secs.median));
    ui.label(quartile_words(&found.total_secs));
    ui.label(millis(found.reading_secs));
    ui.label(millis(found.token_secs()));
    ui.label(RichText::new(millis(found.attention_secs())).color(palette.strong));
    for (place, group) in found.groups.iter().enumerate() {
        let once = found.reading_groups.get(place).filter(|once| place == 0 && once.seconds > 0.0);
        let words = match once {
            Some(once) if group.seconds == 0.0 => format!("({})", millis(once.seconds)),
            Some(once) => format!("{} ({})", millis(group.seconds), millis(once.seconds)),
            None => millis(group.seconds),
        };
        ui.label(words);
    }
    let kept = ui.label(format::bytes(found.cache_bytes));
    kept.on_hover_text(format!("{} by the cost model", format::bytes(found.predicted_cache_bytes)));
}

fn largest_words(largest: &LargestBatch) -> String {
    let batch = format::count(largest.batch as u64);
    match largest.run_secs {
        Some(secs) => format!("{batch}, {}/s", format::significant(largest.batch as f64 / secs, 4)),
        None => batch,
    }
}

/// What it rests on.
fn largest_help(largest: &LargestBatch) -> String {
    let (needed, free) = (format::bytes(largest.needed_bytes), format::bytes(largest.free_bytes));
    let rests = format!("Needs {needed} by the estimate, {free} may be used");
    match (largest.batch, largest.peak_memory_bytes) {
        (0, _) => format!("Not even one text fits: it needs {needed}, {free} may be used"),
        (_, Some(peak)) => format!("{rests}; the process that ran it held {}", format::bytes(peak)),
        _ if largest.is_confirmed => format!("{rests}. A run was made with them"),
        _ => format!("{rests}. No run with them ended in time"),
    }
}

/// What a paper publishes beside the same ratios here; nothing where it says nothing of this axis.
pub fn published_ui(ui: &mut Ui, spec: &SweepSpec, points: &[PointResult]) {
    let ratios = published_ratios(spec, points);
    if ratios.is_empty() {
        return;
    }
    let palette = theme::palette(ui.visuals());
    ui.add_space(6.0);
    ui.label(RichText::new("Beside the published ratios").strong());
    Grid::new("published").striped(true).spacing([14.0, 4.0]).show(ui, |ui| {
        for title in ["Ratio", "Published", "Where", "Measured here"] {
            ui.label(RichText::new(title).small().color(palette.weak));
        }
        ui.end_row();
        for ratio in ratios {
            ui.label(capitalised(&ratio.what));
            ui.label(ratio.published);
            ui.label(ratio.place);
            let here = ratio.measured.map_or_else(|| "not measured".to_owned(), |here| format::significant(here, 3));
            let is_disturbed = ratio.is_disturbed && ratio.measured.is_some();
            let here = ui.label(RichText::new(here).color(if is_disturbed { palette.weak } else { palette.strong }));
            if is_disturbed {
                here.on_hover_text(Standing::Disturbed.sentence());
            }
            ui.end_row();
        }
    });
    ui.label(RichText::new(PUBLISHED_SETTING).small().color(palette.weak));
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().collect::<String>() + letters.as_str()).unwrap_or_default()
}
