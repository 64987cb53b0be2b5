//! Answers of a model with a task: about a text, a pair of texts, a question to a paragraph, an image.

use std::{cmp::Reverse, collections::BTreeMap, fmt::Write as _, path::PathBuf};

use egui::{
    Button, Color32, Grid, Key, ProgressBar, RichText, Spinner, TextEdit, TextFormat, TextStyle, Ui, text::LayoutJob,
};
use headroom_engine::{
    config::{TaskConfig, TaskOutput},
    data::PreviewImage,
    objective::Labels,
    protocol::{FoundAnswer, Target, Ticket},
};
use serde::{Deserialize, Serialize};

use crate::{
    common::{mark_path, pieces},
    compare::task_of,
    context::{Action, PanelContext},
    export::TextTable,
    file_dialogs::{Answer, Ask, Pick, current_folder, typed_path},
    format::{self, shortened},
    state::{Answering, Answers, Question},
    theme,
    widgets::{Thumbnail, Thumbnails},
};

/// Classes and images that are listed.
const LISTED: usize = 200;
/// Classes that are counted in one line.
const COUNTED: usize = 20;
/// Width of a bar of a probability.
const BAR: f32 = 200.0;
/// Points of a side of an image among several, and of one alone.
const SIDE: f32 = 56.0;
const ALONE: f32 = 112.0;
/// Letters of a class or a file's name.
const LETTERS: usize = 40;
/// Letters of what was asked.
const ASKED: usize = 80;
/// Whose answer the file dialog's is.
const DIALOG: &str = "generate.image";

/// What a model answers about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// It writes text and answers nothing.
    #[default]
    Nothing,
    /// A text.
    Text,
    /// Two texts together.
    Pair,
    /// A question, to a paragraph.
    Question,
    /// An image.
    Image,
}

impl About {
    const ALL: [Self; 5] = [Self::Nothing, Self::Text, Self::Pair, Self::Question, Self::Image];

    /// What the model of a run with this config answers about.
    pub fn of(config: &serde_json::Value) -> Self {
        let part = |table: &str, key: &str| config.get(table).and_then(|table| table.get(key));
        let Some(task) = task_of(config) else { return Self::Nothing };
        match TaskConfig::info_of(task) {
            Some(task) if task.output == TaskOutput::Span => Self::Question,
            Some(task) if task.reads_images => Self::Image,
            Some(_) | None => {
                let texts = part("data", "text").and_then(serde_json::Value::as_array).map_or(1, Vec::len);
                if texts > 1 { Self::Pair } else { Self::Text }
            }
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Nothing => "Writes text",
            Self::Text => "Judges a text",
            Self::Pair => "Judges two texts",
            Self::Question => "Answers a question",
            Self::Image => "Classifies images",
        }
    }

    /// Chooses what the model of a folder is for: its files are read when it is asked.
    pub fn choice_ui(&mut self, ui: &mut Ui) {
        let combo = egui::ComboBox::from_id_salt("what it does").selected_text(self.words()).show_ui(ui, |ui| {
            for about in Self::ALL {
                ui.selectable_value(self, about, about.words());
            }
        });
        combo.response.accessible_name("What the model does");
    }
}

/// What was written for the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AnswersForm {
    text: String,
    second: String,
    image: String,
}

impl AnswersForm {
    /// Draws question and answer. `target`: the model and its name, or what is missing; `is_wanted`: Ctrl+Enter was pressed.
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        about: About,
        target: Result<(Target, String), String>,
        is_wanted: bool,
        (cx, thumbnails): (&mut PanelContext<'_>, &mut Thumbnails),
    ) {
        let weak = theme::palette(ui.visuals()).weak;
        let is_wanted = self.fields_ui(ui, about, cx) || is_wanted;
        let shown = target.as_ref().ok().map(|(target, _)| target.clone());
        let question = target.and_then(|(target, name)| self.question(about, target, name));
        let is_waiting = cx.state.answers.is_waiting();
        ui.horizontal_wrapped(|ui| {
            let button = ui.add_enabled(question.is_ok() && !is_waiting, Button::new("Answer"));
            let button = button.accessible_name("Ask the model");
            let button = button.on_hover_text("Runs when its turn in the queue comes (Ctrl+Enter)");
            if (button.clicked() || (is_wanted && !is_waiting))
                && let Ok(question) = question.clone()
            {
                cx.state.answers.ask(question);
            }
            if let Some(asked) = cx.state.answers.asked.as_ref().filter(|asked| asked.outcome.is_none()) {
                let is_cancelling = asked.is_stopping;
                match asked.counts.filter(|(_, count)| *count > 1) {
                    Some((done, count)) => {
                        let bar = ProgressBar::new(done as f32 / count as f32).desired_width(BAR);
                        let words = format!("{} of {}", format::count(done as u64), format::count(count as u64));
                        ui.add(bar.text(words)).accessible_name("Progress of the answers");
                    }
                    None => {
                        ui.add(Spinner::new().size(14.0));
                    }
                }
                let words = if is_cancelling { "Ending…" } else { "Stop" };
                let stop = ui.add_enabled(!is_cancelling, Button::new(words)).accessible_name("Stop answering");
                if stop.clicked() {
                    cx.state.answers.cancel();
                }
                if cx.state.current.is_some() {
                    ui.label(RichText::new("A run computes: its turn comes after.").color(weak));
                }
            }
            if let Err(why) = &question {
                ui.label(RichText::new(why).color(weak));
            }
        });
        ui.separator();
        // What another model answered says nothing of this one.
        match cx.state.answers.asked.as_ref().filter(|asked| Some(&asked.question.target) == shown.as_ref()) {
            Some(Answering { question, job, outcome: Some(outcome), .. }) => {
                if let Some(csv) = outcome_ui(ui, question, (job.ticket, outcome), thumbnails) {
                    cx.act(Action::Copy("The table of answers".to_owned(), csv));
                }
            }
            Some(_) => {}
            None => {
                let words = match about {
                    _ if cx.state.answers.was_stopped => "Stopped; nothing of it is kept.",
                    About::Image => "The answer appears here, of each image one.",
                    _ => "The answer appears here. `headroom predict RUN --input FILE` answers about a whole file.",
                };
                ui.label(RichText::new(words).color(weak));
            }
        }
    }

    /// Draws what is asked. Whether Enter ended a field of one line.
    fn fields_ui(&mut self, ui: &mut Ui, about: About, cx: &mut PanelContext<'_>) -> bool {
        let mut is_entered = false;
        let line = |ui: &mut Ui, text: &mut String, name: &str, rows: usize| {
            ui.label(name);
            let typed = TextEdit::multiline(text).desired_rows(rows).desired_width(f32::INFINITY);
            ui.add(typed).accessible_name(name);
        };
        match about {
            About::Nothing => {}
            About::Text => line(ui, &mut self.text, "Text", 3),
            About::Pair => {
                line(ui, &mut self.text, "First text", 2);
                line(ui, &mut self.second, "Second text", 2);
            }
            About::Question => {
                line(ui, &mut self.text, "Question", 1);
                line(ui, &mut self.second, "Paragraph", 6);
            }
            About::Image => {
                if let Some(Answer::Picked(path)) = cx.dialogs.take(DIALOG) {
                    self.image = path.display().to_string();
                }
                ui.horizontal(|ui| {
                    let label = ui.label("Image");
                    let typed = TextEdit::singleline(&mut self.image).desired_width(360.0);
                    let typed = ui.add(typed.hint_text("An image, a folder of images, or an IDX or CIFAR file"));
                    let typed = mark_path(ui, typed.labelled_by(label.id), &self.image, DIALOG, cx.dialogs);
                    is_entered = typed.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter));
                    for (pick, word) in [(Pick::File, "File…"), (Pick::Folder, "Folder…")] {
                        if ui.button(word).clicked() {
                            cx.dialogs.pick(DIALOG, Ask::new(pick, "Images to classify"));
                        }
                    }
                });
            }
        }
        is_entered
    }

    fn question(&self, about: About, target: Target, name: String) -> Result<Question, String> {
        let written = |text: &str, missing: &str| {
            Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned).ok_or_else(|| missing.to_owned())
        };
        let (texts, images) = match about {
            About::Nothing => return Err("Say what the model does.".to_owned()),
            About::Text => (vec![written(&self.text, "Write a text.")?], None),
            About::Pair => (
                vec![written(&self.text, "Write the first text.")?, written(&self.second, "Write the second text.")?],
                None,
            ),
            About::Question => {
                let question = written(&self.text, "Write a question.")?;
                (vec![question, written(&self.second, "Write the paragraph in which the answer stands.")?], None)
            }
            About::Image => {
                let path: PathBuf = typed_path(&written(&self.image, "Name an image.")?, &current_folder());
                (Vec::new(), Some(path))
            }
        };
        Ok(Question { target, name, texts, images })
    }
}

/// Draws an answer, or why there is none. Gives what is to be copied.
fn outcome_ui(
    ui: &mut Ui,
    question: &Question,
    (asked, outcome): (Ticket, &Result<Answers, String>),
    thumbnails: &mut Thumbnails,
) -> Option<String> {
    let palette = theme::palette(ui.visuals());
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new(&question.name).color(palette.strong));
        // What was written since is another question.
        let asked = match &question.images {
            Some(path) => path.display().to_string(),
            None => question.texts.first().cloned().unwrap_or_default(),
        };
        ui.label(RichText::new(shortened(&asked, ASKED)).small().color(palette.weak)).on_hover_text(&asked);
    });
    match outcome {
        Err(why) => {
            let why = match &question.target {
                Target::Run { run, .. } => why.replace(run.as_str(), &question.name),
                Target::Directory(_) => why.clone(),
            };
            ui.colored_label(palette.error, why);
        }
        Ok(Answers::Outputs { labels, outputs, names, pictures, is_cut }) => {
            cut_ui(ui, *is_cut);
            let side = if outputs.len() == 1 { ALONE } else { SIDE };
            let seen = pictures.iter().zip(outputs).enumerate();
            let seen = seen.map(|(number, (picture, outputs))| seen_image(picture, (labels, outputs), number, names));
            // Textures are made anew where another answer has come.
            thumbnails.ui(ui, side, asked, || seen.collect());
            match outputs.as_slice() {
                [one] => one_ui(ui, labels, one),
                several => return several_ui(ui, labels, several, names),
            }
        }
        Ok(Answers::Span { found, no_answer_from, is_cut }) => {
            cut_ui(ui, *is_cut);
            span_ui(ui, question, found, *no_answer_from);
        }
    }
    None
}

fn cut_ui(ui: &mut Ui, is_cut: bool) {
    if is_cut {
        let words = "The text is longer than the model reads: its end was cut off.";
        ui.colored_label(theme::palette(ui.visuals()).warning, words);
    }
}

/// The places of probabilities, the largest first.
fn ranked(outputs: &[f64]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..outputs.len()).collect();
    places.sort_by(|a, b| outputs[*b].total_cmp(&outputs[*a]));
    places
}

/// All classes of a text with their probabilities, or its number.
fn one_ui(ui: &mut Ui, labels: &Labels, outputs: &[f64]) {
    if let Labels::Number = labels {
        let number = outputs.first().copied().map(format::number).unwrap_or_default();
        ui.label(RichText::new(number).heading());
        return;
    }
    let name = |place: usize| labels.name(place).unwrap_or_default();
    let ranked = ranked(outputs);
    if let Some(best) = ranked.first() {
        ui.label(RichText::new(name(*best)).heading());
    }
    Grid::new("classes").num_columns(3).spacing([12.0, 4.0]).show(ui, |ui| {
        for place in ranked.iter().copied().take(LISTED) {
            let Some(share) = outputs.get(place) else { continue };
            ui.label(shortened(name(place), LETTERS));
            ui.add(ProgressBar::new(*share as f32).desired_width(BAR).desired_height(10.0));
            ui.label(format!("{:.2} %", share * 100.0));
            ui.end_row();
        }
    });
    more_ui(ui, ranked.len(), "class", "classes");
}

/// What an image is called: by its file, or by its number in the file of all.
fn name_of(number: usize, names: &[String]) -> String {
    names.get(number).cloned().unwrap_or_else(|| format!("Number {}", number + 1))
}

/// An image with its class below it.
fn seen_image(
    picture: &PreviewImage,
    (labels, outputs): (&Labels, &[f64]),
    number: usize,
    names: &[String],
) -> Thumbnail {
    let best = ranked(outputs).first().copied();
    let class = best.and_then(|best| labels.name(best)).unwrap_or_default();
    let share = best.and_then(|best| outputs.get(best)).copied().unwrap_or_default();
    Thumbnail {
        word: class.to_owned(),
        about: format!("{}: {class}, {:.2} %", name_of(number, names), share * 100.0),
        size: picture.shape.size,
        pixels: picture.pixels.clone(),
    }
}

/// How many images each class was given, the largest class first.
fn counts(labels: &Labels, outputs: &[Vec<f64>]) -> String {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for best in outputs.iter().filter_map(|outputs| ranked(outputs).first().copied()) {
        *counts.entry(best).or_default() += 1;
    }
    let mut counts: Vec<(usize, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(class, count)| (Reverse(*count), *class));
    let words = |(class, count): (usize, usize)| {
        format!("{} {}", shortened(labels.name(class).unwrap_or_default(), LETTERS), format::count(count as u64))
    };
    counts.into_iter().take(COUNTED).map(words).collect::<Vec<_>>().join(", ")
}

/// All answers with the probability of every class.
fn csv(labels: &Labels, outputs: &[Vec<f64>], names: &[String]) -> String {
    let classes = outputs.first().map_or(0, Vec::len);
    let mut header = vec!["image".to_owned(), "class".to_owned()];
    header.extend((0..classes).map(|class| labels.name(class).unwrap_or_default().to_owned()));
    let rows = outputs.iter().enumerate().map(|(number, outputs)| {
        let best = ranked(outputs).first().and_then(|best| labels.name(*best)).unwrap_or_default();
        let mut row = vec![name_of(number, names), best.to_owned()];
        row.extend(outputs.iter().map(f64::to_string));
        row
    });
    TextTable::new(header).with_rows(rows).to_csv()
}

/// The answer about each of several images. Gives the table, where it is to be copied.
fn several_ui(ui: &mut Ui, labels: &Labels, outputs: &[Vec<f64>], names: &[String]) -> Option<String> {
    let mut copied = None;
    ui.horizontal_wrapped(|ui| {
        ui.label(counts(labels, outputs));
        let copy = ui.button("Copy table").on_hover_text("Every image with the probability of each class, as CSV");
        if copy.accessible_name("Copy the table of answers").clicked() {
            copied = Some(csv(labels, outputs, names));
        }
    });
    Grid::new("images").num_columns(3).spacing([12.0, 4.0]).show(ui, |ui| {
        for heading in ["Image", "Class", "Probability"] {
            ui.label(RichText::new(heading).small().color(theme::palette(ui.visuals()).weak));
        }
        ui.end_row();
        for (number, outputs) in outputs.iter().enumerate().take(LISTED) {
            let own = name_of(number, names);
            ui.label(shortened(&own, LETTERS)).on_hover_text(&own);
            if let Some(best) = ranked(outputs).first() {
                ui.label(RichText::new(labels.name(*best).unwrap_or_default()).strong());
                ui.label(format!("{:.2} %", outputs.get(*best).copied().unwrap_or_default() * 100.0));
            }
            ui.end_row();
        }
    });
    more_ui(ui, outputs.len(), "image", "images");
    copied
}

fn more_ui(ui: &mut Ui, all: usize, one: &str, many: &str) {
    if let Some(more) = all.checked_sub(LISTED).filter(|more| *more > 0) {
        let words = format!("and {} more {}", format::count(more as u64), if more == 1 { one } else { many });
        ui.label(RichText::new(words).small().color(theme::palette(ui.visuals()).weak));
    }
}

/// The answer, and where it stands in its paragraph.
fn span_ui(ui: &mut Ui, question: &Question, found: &FoundAnswer, no_answer_from: Option<f64>) {
    let palette = theme::palette(ui.visuals());
    let paragraph = question.texts.get(1).map(String::as_str).unwrap_or_default();
    let excess = found.answer.as_ref().map(|answer| found.no_answer_score - answer.score);
    let has_none = excess.is_none() || no_answer_from.zip(excess).is_some_and(|(from, excess)| excess > from);
    let heading = match &found.answer {
        Some(answer) if !has_none => answer.text.clone(),
        _ => "No answer in this paragraph".to_owned(),
    };
    ui.label(RichText::new(heading).heading());
    let Some(answer) = &found.answer else { return };
    let mut words = format!("Score {}", format::number(answer.score));
    if let (Some(from), Some(excess)) = (no_answer_from, excess) {
        let _ = write!(
            words,
            ", that of no answer {}: {} by {}; no answer is given from an excess of {} on",
            format::number(found.no_answer_score),
            if excess > 0.0 { "more" } else { "less" },
            format::number(excess.abs()),
            format::number(from)
        );
    }
    ui.label(RichText::new(words + ".").small().color(palette.weak));
    let font = TextStyle::Body.resolve(ui.style());
    let plain = TextFormat::simple(font.clone(), palette.text);
    let colour = if has_none { palette.line } else { palette.accent.gamma_multiply(0.45) };
    let marked =
        TextFormat { background: colour, color: palette.strong, ..TextFormat::simple(font, Color32::PLACEHOLDER) };
    let mut job = LayoutJob::default();
    for (piece, [is_answer]) in pieces(paragraph, [Some([answer.start, answer.end])]) {
        job.append(piece, 0.0, if is_answer { marked.clone() } else { plain.clone() });
    }
    job.wrap.max_width = ui.available_width();
    ui.add_space(4.0);
    ui.label(job);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_about_many_images_are_counted_and_copied() {
        let labels = Labels::Classes(vec!["coat".to_owned(), "bag, small".to_owned()]);
        let outputs = [vec![0.25, 0.75], vec![0.5, 0.5], vec![0.0, 1.0]];
        assert_eq!(counts(&labels, &outputs), "bag, small 2, coat 1");
        let names = ["a.png".to_owned()];
        let told = csv(&labels, &outputs, &names);
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines[0], "image,class,coat,\"bag, small\"");
        assert_eq!(lines[1], "a.png,\"bag, small\",0.25,0.75");
        assert_eq!(lines[2], "Number 2,coat,0.5,0.5");
    }

    #[test]
    fn what_a_run_answers_about_is_in_its_config() {
        let of =
            |task: &str, text: serde_json::Value| About::of(&json!({"task": {"kind": task}, "data": {"text": text}}));
        assert_eq!(of("classification", json!(["a"])), About::Text);
        assert_eq!(of("regression", json!(["a", "b"])), About::Pair);
        assert_eq!(of("classification", json!(null)), About::Text);
        assert_eq!(of("span", json!(null)), About::Question);
        assert_eq!(of("image_classification", json!(null)), About::Image);
        assert_eq!(About::of(&json!({"data": {}})), About::Nothing);
    }

    #[test]
    fn what_is_missing_is_said() {
        let form = AnswersForm { text: " why ".to_owned(), ..AnswersForm::default() };
        let asked = |about| form.question(about, Target::Directory("m".into()), "m".to_owned());
        assert_eq!(asked(About::Text).unwrap().texts, ["why"]);
        assert!(asked(About::Question).unwrap_err().contains("paragraph"));
        assert!(asked(About::Image).unwrap_err().contains("image"));
    }
}
