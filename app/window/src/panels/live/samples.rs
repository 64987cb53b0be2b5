//! What the model wrote while it trained.

use egui::{Color32, RichText, ScrollArea, Slider, TextFormat, TextStyle, Ui, text::LayoutJob};
use headroom_engine::store::{RunId, RunSummary};

use crate::{
    compare::task_of,
    context::{Action, PanelContext},
    format, theme,
};

/// Height of a sample, beyond which it scrolls.
const HEIGHT: f32 = 180.0;

/// Which sample is shown.
#[derive(Clone, Debug, Default)]
pub struct SampleView {
    run: Option<RunId>,
    /// Counted from 0; none follows the newest.
    at: Option<usize>,
}

/// Draws a run's samples with a slider through them.
pub fn samples_ui(ui: &mut Ui, view: &mut SampleView, run: &RunSummary, cx: &mut PanelContext<'_>) {
    if view.run.as_ref() != Some(&run.id) {
        *view = SampleView { run: Some(run.id.clone()), at: None };
    }
    cx.state.want_samples(&run.id);
    let palette = theme::palette(ui.visuals());
    ui.horizontal_wrapped(|ui| {
        let has_task = cx.state.records.get(&run.id).is_some_and(|record| task_of(&record.config).is_some());
        let title = if has_task { "What the model answers" } else { "What the model writes" };
        ui.label(RichText::new(title).color(palette.strong));
        if let Some(samples) = cx.state.samples.get(&run.id) {
            let note = caption(samples.last().map_or("", |sample| sample.text.as_str()));
            ui.label(RichText::new(note).small().color(palette.weak));
        }
    });
    let Some(samples) = cx.state.samples.get(&run.id) else {
        ui.horizontal(|ui| {
            ui.add(egui::Spinner::new());
            ui.label("Loading the text samples…");
        });
        return;
    };
    let Some(last) = samples.len().checked_sub(1) else {
        let text = if run.state.is_active() {
            "The first sample comes with the first live analysis."
        } else {
            "This run wrote no sample; one comes every so many steps (\"Analyse every\" in Configure), once it trains."
        };
        ui.label(RichText::new(text).color(palette.weak));
        return;
    };
    let mut at = view.at.unwrap_or(last).min(last);
    let mut copied = None;
    ui.horizontal_wrapped(|ui| {
        if last > 0 {
            let step_of = |index: f64| samples.get(index as usize).map_or(0, |sample| sample.step);
            let slider = Slider::new(&mut at, 0..=last)
                .custom_formatter(|index, _| format!("step {}", format::count(step_of(index))));
            let slider = ui.add(slider).on_hover_text("Goes through the samples; at the right end it follows new ones");
            if slider.accessible_name("Sample").changed() {
                view.at = (at < last).then_some(at);
            }
        } else if let Some(sample) = samples.first() {
            ui.label(format!("Step {}", format::count(sample.step)));
        }
        if view.at.is_some() && ui.button("Newest sample").clicked() {
            view.at = None;
        }
        if ui.button("Copy sample").clicked() {
            copied = samples.get(at).map(|sample| sample.text.clone());
        }
    });
    if let Some(sample) = samples.get(at) {
        egui::Frame::new().fill(palette.well).corner_radius(5.0).inner_margin(10.0).show(ui, |ui| {
            let scroll = ScrollArea::vertical().id_salt("sample").max_height(HEIGHT).min_scrolled_height(HEIGHT);
            scroll.auto_shrink([false, true]).show(ui, |ui| {
                let (text, is_whole) = drawable(ui, &sample.text);
                let job = in_two_tones(ui, &text, palette.weak, palette.text);
                ui.label(job).on_hover_text(caption(&text));
                if !is_whole {
                    let note = "· stands for a character that cannot be shown; \"Copy sample\" copies it as it is.";
                    ui.label(RichText::new(note).small().color(palette.weak));
                }
            });
        });
    }
    if let Some(text) = copied {
        cx.act(Action::Copy("The sample".to_owned(), text));
    }
}

/// Stands between what a decoder was given and how it went on.
const MARK: &str = " » ";
/// Stands between what a model was asked and what it answered.
const ARROW: &str = " \u{2192} ";

/// What is what in a sample.
fn caption(text: &str) -> &'static str {
    if text.contains(MARK) {
        "Dimmed: the prompt, from the held-out text. After »: the continuation."
    } else if text.contains(ARROW) {
        "After the arrow: what it answers; in brackets what is right, where that is something else."
    } else if text.contains('[') {
        "In brackets: the prediction for a masked word, and the right word where it is wrong."
    } else {
        ""
    }
}

/// Each line's beginning that the model was given dimmed, what the model wrote in the usual colour.
fn in_two_tones(ui: &Ui, text: &str, given: Color32, written: Color32) -> LayoutJob {
    let font = TextStyle::Body.resolve(ui.style());
    let mut job = LayoutJob::default();
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            job.append("\n", 0.0, TextFormat::simple(font.clone(), written));
        }
        let (prompt, rest) = line.split_once(MARK).map_or(("", line), |(prompt, rest)| (prompt, rest));
        if rest.len() < line.len() {
            job.append(&format!("{prompt}{MARK}"), 0.0, TextFormat::simple(font.clone(), given));
        }
        job.append(rest, 0.0, TextFormat::simple(font.clone(), written));
    }
    job
}

/// The text with a dot for each character that no font here can draw, and whether it had none of those. A model that
/// writes bytes writes half characters at first.
pub fn drawable(ui: &Ui, text: &str) -> (String, bool) {
    let font = TextStyle::Body.resolve(ui.style());
    let mut is_whole = true;
    let shown = ui.fonts_mut(|fonts| {
        let mut show = |letter: char| {
            let can = letter == '\n' || (!letter.is_control() && fonts.has_glyph(&font, letter));
            is_whole &= can;
            if can { letter } else { '·' }
        };
        text.chars().map(&mut show).collect()
    });
    (shown, is_whole)
}
