//! A table with labels: its columns, what is learnt of it, and what a model will see of it.

use std::collections::BTreeMap;

use egui::{Align, Label, Layout, ProgressBar, RichText, Ui, vec2};
use headroom_engine::{
    config::{ClassificationTask, Column, FieldSpec, RegressionTask, TableSource, TaskConfig, counted},
    data::{DataPreview, PreviewAnswers, PreviewExample, TablePreview},
};

use super::super::{
    field::field,
    form::{Form, note_ui, under_ui},
};
use super::sources::{SourceContext, SourceForm};
use crate::{
    file_dialogs::{Ask, Pick},
    format::{self, shortened},
    theme,
};

/// Letters of a column's first cell beside its name.
const SAMPLE: usize = 24;
/// Letters of an example's label.
const LABEL_LETTERS: usize = 14;
/// Tokens, or letters, of an example that are shown.
const TOKENS: usize = 48;
const LETTERS: usize = 220;
/// Classes that are listed.
const CLASSES: usize = 12;
/// Width of a bar of the counts.
const BAR: f32 = 110.0;

#[derive(Clone, Copy, PartialEq)]
enum Answer {
    Class,
    Number,
}

impl SourceForm for TableSource {
    fn ui(&mut self, ui: &mut Ui, form: &mut Form<'_>, context: SourceContext<'_>) {
        table_ui(ui, form, self, context.task, context.preview.and_then(DataPreview::table));
    }
}

/// The fields of a table and of its task, and below them what was found in it.
fn table_ui(
    ui: &mut Ui,
    form: &mut Form<'_>,
    table: &mut TableSource,
    task: &mut Option<TaskConfig>,
    preview: Option<&TablePreview>,
) {
    let ask = |pick, title: &str| Ask::new(pick, title).kind("Table", &["tsv", "csv", "jsonl", "gz", "parquet"]);
    form.path(ui, field!("table", "data.path"), &mut table.path, &[Pick::File], |pick| ask(pick, "Table to train on"));
    form.optional_path(
        ui,
        field!("table", "data.validation_path"),
        &mut table.validation_path,
        &[Pick::File],
        |pick| ask(pick, "Table to evaluate on"),
    );
    let columns = preview.map(|found| found.columns.as_slice()).unwrap_or_default();
    if let Some(preview) = preview {
        proposal_ui(ui, form, table, preview);
    }
    if let Some(first) = table.text.first_mut() {
        column_ui(ui, form, field!("table", "data.text"), first, columns);
    }
    let mut second = table.text.get(1).cloned();
    if second_ui(ui, form, &mut second, columns) {
        table.text.truncate(1);
        table.text.extend(second);
    }
    column_ui(ui, form, field!("data.label"), &mut table.label, columns);
    form.named(ui, field!("data.header"), &mut table.header, &[None, Some(true), Some(false)]);
    if let Some(preview) = preview.filter(|preview| table.header.is_none() && !preview.columns.is_empty()) {
        let looks = if preview.has_names() {
            "It names the columns."
        } else {
            "It is a row like the others: the columns have numbers, from 0."
        };
        note_ui(ui, looks);
    }
    task_ui(ui, form, task, preview.map(|preview| &preview.answers));
    if let Some(preview) = preview.filter(|preview| preview.rows > 0) {
        preview_ui(ui, preview, table.text.len());
    }
}

/// Offers the columns that look right where those of the config are not there.
fn proposal_ui(ui: &mut Ui, form: &mut Form<'_>, table: &mut TableSource, preview: &TablePreview) {
    let is_there = |column: &Column| preview.columns.iter().any(|(name, _)| *name == column.to_string());
    if table.text.iter().chain([&table.label]).all(is_there) {
        return;
    }
    let Some((text, label)) = preview.proposal() else { return };
    under_ui(ui, |ui| {
        let words = format!("Take {} and {}", column_words(&text), column_words(&label));
        let button = ui.button(words).on_hover_text("By their names and what stands in them; Undo takes it back");
        if button.accessible_name("Take the columns that look right").clicked() {
            (table.text, table.label) = (vec![text], label);
            (form.touched, form.is_step) = (Some(field!("table", "data.text").path), true);
        }
    });
}

/// A column by its name in quotes, or its number.
fn column_words(column: &Column) -> String {
    if column.number().is_some() {
        format!("column {column}")
    } else {
        format!("“{}”", shortened(&column.0, SAMPLE))
    }
}

/// One of the columns that were found, or a name that is typed as long as none was.
fn column_ui(ui: &mut Ui, form: &mut Form<'_>, field: FieldSpec, column: &mut Column, columns: &[(String, String)]) {
    let mut name = column.to_string();
    if columns.is_empty() {
        if form.text(ui, field, &mut name) {
            *column = Column(name);
        }
        return;
    }
    let is_there = columns.iter().any(|(own, _)| *own == name);
    let mut choices: Vec<(String, &str)> = columns.iter().map(|(own, _)| (own.clone(), own.as_str())).collect();
    let missing = format!("{name} (not there)");
    if !is_there {
        choices.insert(0, (name.clone(), &missing));
    }
    if form.choice_noted(ui, field, &mut name, &choices, |own| sample(columns, own)) {
        *column = Column(name);
    }
}

/// The same where it may be none.
fn second_ui(ui: &mut Ui, form: &mut Form<'_>, column: &mut Option<Column>, columns: &[(String, String)]) -> bool {
    let mut name = column.as_ref().map(ToString::to_string);
    if columns.is_empty() {
        let changed = form.optional_text(ui, field!("table", "data.text.second"), &mut name);
        *column = name.map(Column);
        return changed;
    }
    let missing = name.as_ref().map(|name| format!("{name} (not there)")).unwrap_or_default();
    let mut choices: Vec<(Option<String>, &str)> = vec![(None, "None")];
    if name.as_ref().is_some_and(|name| !columns.iter().any(|(own, _)| own == name)) {
        choices.push((name.clone(), &missing));
    }
    choices.extend(columns.iter().map(|(own, _)| (Some(own.clone()), own.as_str())));
    let note = |own: &Option<String>| own.as_ref().map(|own| sample(columns, own)).unwrap_or_default();
    let changed = form.choice_noted(ui, field!("table", "data.text.second"), &mut name, &choices, note);
    *column = name.map(Column);
    changed
}

fn sample(columns: &[(String, String)], name: &str) -> String {
    columns.iter().find(|(own, _)| own == name).map(|(_, sample)| shortened(sample, SAMPLE)).unwrap_or_default()
}

fn task_ui(ui: &mut Ui, form: &mut Form<'_>, task: &mut Option<TaskConfig>, answers: Option<&PreviewAnswers>) {
    let learns_numbers = task.as_ref().and_then(|task| task.objective()).is_some_and(|learnt| learnt.learns_numbers());
    let mut answer = if learns_numbers { Answer::Number } else { Answer::Class };
    if form.choice(ui, field!("task.kind"), &mut answer, &[(Answer::Class, "A class"), (Answer::Number, "A number")]) {
        *task = Some(match answer {
            Answer::Class => TaskConfig::Classification(ClassificationTask::default()),
            Answer::Number => TaskConfig::Regression(RegressionTask::default()),
        });
    }
    if let Some(unlabelled) = task.as_mut().and_then(|task| task.unlabelled_mut()) {
        form.optional_text(ui, field!("task.unlabelled"), unlabelled);
    }
    if let Some(weights) = task.as_mut().and_then(|task| task.class_weights_mut()) {
        let counts = match answers {
            Some(PreviewAnswers::Classes(counts)) => Some(counts.as_slice()),
            _ => None,
        };
        weights_ui(ui, form, weights, counts);
    }
}

/// How much an example counts in the loss.
#[derive(Clone, Copy, PartialEq)]
enum Weighing {
    Examples,
    Classes,
    Written,
}

/// Weights with which every class counts as much as any other: of n examples, m of
/// them of the class, n / (classes m).
fn balanced(classes: &[(String, u64)]) -> BTreeMap<String, f64> {
    let all: u64 = classes.iter().map(|(_, count)| count).sum();
    let present: Vec<&(String, u64)> = classes.iter().filter(|(_, count)| *count > 0).collect();
    // Three decimals: it is written into configs that people read.
    let weight = |count: u64| (1e3 * all as f64 / (present.len() as f64 * count as f64)).round().max(1.0) / 1e3;
    present.iter().map(|(label, count)| (label.clone(), weight(*count))).collect()
}

/// Whether classes that are rare count more. `counts`: how often each is there, where that is known.
pub(super) fn weights_ui(
    ui: &mut Ui,
    form: &mut Form<'_>,
    weights: &mut BTreeMap<String, f64>,
    counts: Option<&[(String, u64)]>,
) {
    let known = counts.filter(|counts| counts.len() > 1).map(balanced);
    let now = if weights.is_empty() {
        Weighing::Examples
    } else if known.as_ref() == Some(weights) {
        Weighing::Classes
    } else {
        Weighing::Written
    };
    let mut choices = vec![(Weighing::Examples, "Each example as much")];
    choices.extend(known.is_some().then_some((Weighing::Classes, "Each class as much")));
    choices.extend((now == Weighing::Written).then_some((Weighing::Written, "As written")));
    let mut chosen = now;
    if choices.len() > 1 && form.choice(ui, field!("task.class_weights"), &mut chosen, &choices) {
        match chosen {
            Weighing::Examples => weights.clear(),
            Weighing::Classes => *weights = known.unwrap_or_default(),
            Weighing::Written => {}
        }
    }
    if !weights.is_empty() {
        let weights = weights.iter().map(|(label, weight)| format!("{label}: {weight}"));
        note_ui(ui, &format!("Weights in the loss: {}.", weights.collect::<Vec<_>>().join(", ")));
    }
}

fn preview_ui(ui: &mut Ui, preview: &TablePreview, texts: usize) {
    let rows = counted(preview.rows, "row");
    let mut words = if preview.is_whole { rows } else { format!("The first {rows} of a long table") };
    if preview.without_text > 0 {
        words += &["; ", &counted(preview.without_text, "row"), " without text left out"].concat();
    }
    if preview.without_label > 0 {
        words += &["; ", &counted(preview.without_label, "row"), " without a label left out"].concat();
    }
    note_ui(ui, &format!("{words}."));
    under_ui(ui, |ui| {
        ui.vertical(|ui| {
            answers_ui(ui, preview);
            ui.add_space(4.0);
            for example in &preview.examples {
                example_ui(ui, example, texts);
            }
        });
    });
}

/// How often each label is there.
fn answers_ui(ui: &mut Ui, preview: &TablePreview) {
    match &preview.answers {
        PreviewAnswers::Classes(classes) => counts_ui(ui, classes, preview.rows),
        PreviewAnswers::Many(count) => {
            let words = format!("{} different labels: is that the column of the label?", format::count(*count));
            ui.label(RichText::new(words).small().color(theme::palette(ui.visuals()).warning));
        }
        PreviewAnswers::Numbers { least, most, mean } => {
            let number = format::number;
            let words = format!("From {} to {}, {} on average.", number(*least), number(*most), number(*mean));
            ui.label(RichText::new(words).small());
        }
        PreviewAnswers::Unknown => {}
    }
}

/// How many of all examples each class has.
pub(super) fn counts_ui(ui: &mut Ui, classes: &[(String, u64)], all: u64) {
    ui.spacing_mut().interact_size.y = 14.0;
    for (label, count) in classes.iter().take(CLASSES) {
        ui.horizontal(|ui| {
            let share = *count as f64 / all.max(1) as f64;
            // Half of the room is for words, which are cut where they are longer.
            let bar = (0.35 * ui.available_width()).min(BAR);
            ui.add(ProgressBar::new(share as f32).desired_width(bar).desired_height(8.0));
            let words = format!("{label}  {} ({})", format::count(*count), format::percent(share));
            let shown = ui.add(Label::new(RichText::new(&words).small()).truncate());
            shown.on_hover_text(words);
        });
    }
    if let Some(more) = classes.len().checked_sub(CLASSES).filter(|more| *more > 0) {
        let words = format!("and {}", counted(more as u64, "more class"));
        ui.label(RichText::new(words).small().color(theme::palette(ui.visuals()).weak));
    }
}

/// A row as the model will see it.
fn example_ui(ui: &mut Ui, example: &PreviewExample, texts: usize) {
    let palette = theme::palette(ui.visuals());
    let seen = if let Some(tokens) = &example.tokens {
        let shown: Vec<&str> = tokens.iter().take(TOKENS).map(String::as_str).collect();
        let more = if tokens.len() > TOKENS { " …" } else { "" };
        format!("{}{more}", shown.join(" "))
    } else {
        let room = LETTERS / texts.max(1);
        let texts: Vec<String> = example.texts.iter().map(|text| shortened(text, room)).collect();
        format!("[CLS] {} [SEP]", texts.join(" [SEP] "))
    };
    let about = match &example.tokens {
        Some(tokens) => format!("{} as the model will see them", counted(tokens.len() as u64, "token")),
        None => "The words; their tokens are known once the vocabulary is trained".to_owned(),
    };
    ui.allocate_ui_with_layout(vec2(ui.available_width(), 0.0), Layout::left_to_right(Align::Min), |ui| {
        let label = RichText::new(shortened(&example.label, LABEL_LETTERS)).small().strong();
        ui.label(label).on_hover_text(&example.label);
        ui.vertical(|ui| {
            let text = Label::new(RichText::new(seen).small().color(palette.weak)).wrap();
            ui.add(text).on_hover_text(about);
            if example.cut_off > 0 {
                let words = format!("{} cut off", counted(example.cut_off, "token"));
                ui.label(RichText::new(words).small().color(palette.warning));
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_balanced_weights_every_class_counts_as_much() {
        let counts = [("a".to_owned(), 30), ("b".to_owned(), 10), ("c".to_owned(), 0)];
        let weights = balanced(&counts);
        assert_eq!(weights, BTreeMap::from([("a".to_owned(), 0.667), ("b".to_owned(), 2.0)]));
        let sums: Vec<f64> =
            weights.iter().zip(&counts).map(|((_, weight), (_, count))| weight * *count as f64).collect();
        assert!((sums[0] - sums[1]).abs() < 0.1, "{sums:?}");
    }
}
