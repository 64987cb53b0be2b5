//! Which classes a model takes for which, at the newest evaluation.

use std::collections::BTreeMap;

use egui::{Button, RichText, Ui, vec2};
use headroom_engine::{
    config::counted,
    objective::ConfusionMatrix,
    store::{RunId, RunSummary},
};

use crate::{
    common::{ExportDialog, Exportable},
    context::PanelContext,
    export::MapFigure,
    findings::same_class,
    format,
    plot::{HeatAxis, HeatData, HeatScale, Tone},
    theme::{self, ColourMap},
    widgets::{HeatMap, HeatState},
};

/// Room of the map, in points.
const HEIGHT: f32 = 260.0;
/// Room of the whole, in points.
pub const WIDTH: f32 = 420.0;
/// Mistakes that are told in words.
const TOLD: usize = 3;
/// Of so many classes every cell is told in words.
const FEW: usize = 3;
/// Letters of a class that are shown.
const LETTERS: usize = 18;

/// What is remembered of the map between frames.
#[derive(Default)]
pub struct ConfusionView {
    /// Of which run and step the figure is.
    of: Option<(RunId, u64)>,
    figure: Option<MapFigure>,
    /// That every example gets the same class.
    same_class: Option<String>,
    mistakes: Vec<String>,
    state: HeatState,
}

impl ConfusionView {
    /// Draws it, where the run classifies; what is to be exported.
    pub fn ui(&mut self, ui: &mut Ui, run: &RunSummary, cx: &mut PanelContext<'_>) -> Option<ExportDialog> {
        let (step, found) = cx.state.confusion.get(&run.id).and_then(Option::as_ref)?;
        if self.of.as_ref() != Some(&(run.id.clone(), *step)) {
            if self.of.as_ref().is_none_or(|(shown, _)| *shown != run.id) {
                self.state = HeatState::default();
            }
            self.of = Some((run.id.clone(), *step));
            self.figure = Some(figure(run, *step, found));
            self.same_class = same_class(found);
            self.mistakes = if found.labels.len() <= FEW { all_words(found) } else { mistakes(found) };
        }
        let figure = self.figure.as_ref()?;
        let palette = theme::palette(ui.visuals());
        let mut is_wanted = false;
        ui.horizontal(|ui| {
            ui.label(RichText::new("Which class is taken for which").color(palette.strong));
            is_wanted = ui.add(Button::new("Export…")).accessible_name("Export the confusion matrix").clicked();
        });
        let examples = counted(found.counts.iter().flatten().sum::<u64>(), "held-out example");
        let words = format!("Step {}, {examples}; a row is a right class.", format::count(*step));
        ui.label(RichText::new(words).small().color(palette.weak));
        if let Some(words) = &self.same_class {
            ui.label(RichText::new(words).color(palette.warning));
        }
        let cell_name = |row: usize, column: usize| cell_words(found, row, column);
        let room = vec2(ui.available_width().min(WIDTH), HEIGHT);
        let cell_text = |row: usize, column: usize| {
            let count = found.counts.get(row).and_then(|counts| counts.get(column));
            count.map_or_else(String::new, |count| format::count(*count))
        };
        let map = HeatMap::of("confusion", figure).cell_name(&cell_name).cell_text(&cell_text);
        map.room(room).show(ui, &mut self.state);
        for mistake in &self.mistakes {
            ui.label(RichText::new(mistake).small().color(palette.weak));
        }
        is_wanted.then(|| ExportDialog::new("live", Exportable::Map(Box::new(figure.clone())), cx))
    }
}

/// Rows as shares, so that rare classes are seen too.
fn figure(run: &RunSummary, step: u64, found: &ConfusionMatrix) -> MapFigure {
    let classes = found.labels.len();
    let shares = found.counts.iter().flat_map(|row| {
        let all = row.iter().sum::<u64>();
        row.iter().map(move |count| if all == 0 { f32::NAN } else { *count as f32 / all as f32 })
    });
    let data = HeatData::new(classes, classes, shares.collect());
    let names: Vec<String> = found.labels.iter().map(|label| format::shortened(label, LETTERS)).collect();
    let axis = |title: &str| HeatAxis::names(title, names.clone());
    let tone = Tone::between(ColourMap::Viridis, HeatScale::Linear, 0.0, 1.0);
    let mut figure = MapFigure::new("Confusion matrix", data, (axis("Right class"), axis("Predicted class")), tone)
        .value("Share of class")
        .origin(
            format!("{}, step {}", run.name, format::count(step)),
            BTreeMap::from([
                ("program".to_owned(), format!("Headroom {}", env!("CARGO_PKG_VERSION"))),
                ("run".to_owned(), run.id.to_string()),
                ("counts".to_owned(), serde_json::to_string(found).unwrap_or_default()),
            ]),
        );
    figure.notes.extend(same_class(found).into_iter().chain(mistakes(found)));
    figure
}

/// What stands in a cell, in words.
fn cell_words(found: &ConfusionMatrix, row: usize, column: usize) -> String {
    // A number alone would be read as a count.
    let label = |at: usize| {
        let label = found.labels.get(at).map(String::as_str).unwrap_or_default();
        if label.parse::<f64>().is_ok() { format!("class {label}") } else { label.to_owned() }
    };
    let counts = found.counts.get(row).map(Vec::as_slice).unwrap_or_default();
    let (count, all) = (counts.get(column).copied().unwrap_or_default(), counts.iter().sum::<u64>());
    let what = if row == column { "found".to_owned() } else { format!("taken for {}", label(column)) };
    format!("{} {what}: {} of {}", label(row), format::count(count), format::count(all))
}

/// Every cell, row by row.
fn all_words(found: &ConfusionMatrix) -> Vec<String> {
    let classes = found.labels.len();
    let row = |row: usize| {
        let cells: Vec<String> = (0..classes).map(|column| cell_words(found, row, column)).collect();
        cells.join("; ") + "."
    };
    (0..classes).map(row).collect()
}

/// The most frequent mistakes.
fn mistakes(found: &ConfusionMatrix) -> Vec<String> {
    let cells = found
        .counts
        .iter()
        .enumerate()
        .flat_map(|(row, counts)| counts.iter().enumerate().map(move |(column, count)| (*count, row, column)));
    let mut wrong: Vec<(u64, usize, usize)> =
        cells.filter(|(count, row, column)| row != column && *count > 0).collect();
    wrong.sort_by_key(|(count, ..)| std::cmp::Reverse(*count));
    wrong.into_iter().take(TOLD).map(|(_, row, column)| cell_words(found, row, column) + ".").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples;

    fn found() -> ConfusionMatrix {
        let labels = ["cat", "dog", "owl"].map(str::to_owned).to_vec();
        ConfusionMatrix { labels, counts: vec![vec![8, 2, 0], vec![3, 7, 0], vec![0, 0, 0]] }
    }

    #[test]
    fn rows_are_shares_and_a_class_that_is_not_there_has_none() {
        let figure = figure(&examples::summary(0, "run"), 10, &found());
        let data = &figure.data;
        assert_eq!((data.at(0, 0), data.at(1, 0)), (0.8, 0.3));
        assert!(data.at(2, 1).is_nan());
    }

    #[test]
    fn that_everything_gets_one_class_is_the_first_note_of_the_figure() {
        let labels = ["entailment", "not_entailment"].map(str::to_owned).to_vec();
        let found = ConfusionMatrix { labels, counts: vec![vec![0, 3], vec![0, 0]] };
        let figure = figure(&examples::summary(0, "run"), 10, &found);
        assert_eq!(figure.notes[0], same_class(&found).unwrap());
    }

    #[test]
    fn the_most_frequent_mistakes_come_first() {
        assert_eq!(mistakes(&found()), ["dog taken for cat: 3 of 10.", "cat taken for dog: 2 of 10."]);
        assert_eq!(cell_words(&found(), 0, 0), "cat found: 8 of 10");
    }
}
