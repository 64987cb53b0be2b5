//! The held-out examples that a model gets wrong, the surest mistakes first, with a field to search them.

use std::ops::Range;

use egui::{
    Button, Color32, Label, RichText, ScrollArea, Spinner, Stroke, TextEdit, TextFormat, TextStyle, Ui, text::LayoutJob,
};
use headroom_engine::{
    config::counted,
    store::{RunId, RunSummary},
    worker::{AnswerPlaces, Mistake},
};

use crate::{
    context::{Action, PanelContext, PanelId},
    format, theme,
    widgets::{Thumbnail, Thumbnails},
};

/// Height of the list, beyond which it scrolls.
const HEIGHT: f32 = 240.0;
/// Mistakes that are drawn: of more the search finds those that are meant.
const LISTED: usize = 100;

/// Points of a side of an image.
const THUMBNAIL: f32 = 64.0;

/// What is looked for among them.
#[derive(Default)]
pub struct MistakesView {
    /// The run that it is looked for in.
    of: Option<RunId>,
    wanted: String,
    thumbnails: Thumbnails,
}

impl MistakesView {
    /// Draws the button that asks for them, and them.
    pub fn ui(&mut self, ui: &mut Ui, run: &RunSummary, cx: &mut PanelContext<'_>) {
        let palette = theme::palette(ui.visuals());
        if self.of.as_ref() != Some(&run.id) {
            (self.of, self.wanted) = (Some(run.id.clone()), String::new());
        }
        let is_waiting = cx.state.mistakes.is_waiting(&run.id);
        let is_known = cx.state.mistakes.of(&run.id).is_some();
        ui.horizontal_wrapped(|ui| {
            let words = if is_known { "Show the mistakes anew" } else { "Show the mistakes" };
            let about = "The held-out examples that its best checkpoint gets wrong, the surest mistakes first";
            let button = ui.add_enabled(!is_waiting && run.steps_done > 0, Button::new(words));
            if button.on_hover_text(about).accessible_name("Show the mistakes").clicked() {
                cx.state.mistakes.ask(&run.id);
            }
            if is_waiting {
                ui.add(Spinner::new().size(14.0));
                if cx.state.current.is_some() {
                    ui.label(RichText::new("A run computes: its turn comes after.").color(palette.weak));
                }
            }
            if is_known {
                let typed =
                    TextEdit::singleline(&mut self.wanted).desired_width(200.0).hint_text("Search text or answer");
                ui.add(typed).accessible_name("Search the mistakes");
            }
        });
        let mut wanted: Option<String> = None;
        let asked = cx.state.mistakes.asked();
        match cx.state.mistakes.of(&run.id) {
            None => {}
            Some(Err(why)) => drop(ui.colored_label(palette.error, why)),
            Some(Ok(all)) => {
                let found: Vec<&Mistake> = all.iter().filter(|mistake| matches(mistake, &self.wanted)).collect();
                let of = if found.len() == all.len() { String::new() } else { format!(" of {}", all.len()) };
                let words = format!("{}{of}", counted(found.len() as u64, "mistake"));
                let has_places = found.iter().any(|mistake| mistake.places.is_some());
                let marks =
                    if has_places { ". On a ground: the right answer; underlined: that of the model" } else { "" };
                ui.label(RichText::new(words + marks).small().color(palette.weak));
                ScrollArea::vertical().id_salt("mistakes").max_height(HEIGHT).show(ui, |ui| {
                    let listed = found.iter().take(LISTED).copied();
                    let of = (asked, &self.wanted);
                    self.thumbnails.ui(ui, THUMBNAIL, of, || listed.clone().filter_map(thumbnail).collect());
                    for mistake in listed.filter(|mistake| mistake.picture.is_none()) {
                        if let Some(text) = mistake_ui(ui, mistake) {
                            wanted = Some(text.to_owned());
                        }
                    }
                    if let Some(more) = found.len().checked_sub(LISTED).filter(|more| *more > 0) {
                        let words =
                            format!("and {}: search for those that are meant", counted(more as u64, "more mistake"));
                        ui.label(RichText::new(words).small().color(palette.weak));
                    }
                });
            }
        }
        if let Some(text) = wanted {
            cx.state.selection.focused = Some(run.id.clone());
            cx.state.maps.written = Some(text);
            cx.act(Action::Open(PanelId::HEADS));
        }
    }
}

fn words(mistake: &Mistake) -> String {
    let verb = if mistake.places.is_some() { "answered" } else { "taken for" };
    format!("{verb} {} ({})", mistake.predicted, format::percent(mistake.confidence))
}

/// The image of a mistake.
fn thumbnail(mistake: &Mistake) -> Option<Thumbnail> {
    let picture = mistake.picture.as_ref()?;
    let place = mistake.image.map(|image| format!("; held-out image {}", image + 1)).unwrap_or_default();
    Some(Thumbnail {
        word: format!("{}\nnot {}", mistake.right, mistake.predicted),
        about: format!("{}, {}{place}", mistake.right, words(mistake)),
        size: picture.shape.size,
        pixels: picture.pixels.clone(),
    })
}

/// Whether what is looked for stands in it, in small or capital letters.
fn matches(mistake: &Mistake, wanted: &str) -> bool {
    let wanted = wanted.trim().to_lowercase();
    let places = mistake.texts.iter().chain([&mistake.right, &mistake.predicted]);
    wanted.is_empty() || places.into_iter().any(|place| place.to_lowercase().contains(&wanted))
}

/// Draws a mistake; its text where its attention is to be seen.
fn mistake_ui<'a>(ui: &mut Ui, mistake: &'a Mistake) -> Option<&'a str> {
    let palette = theme::palette(ui.visuals());
    let Mistake { texts, image, right, .. } = mistake;
    let row = ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new(right).small().strong());
        ui.label(RichText::new(words(mistake)).small().color(palette.warning));
        if let (Some(_), [question, ..]) = (mistake.places, texts.as_slice()) {
            ui.add(Label::new(RichText::new(question).small()).wrap());
            return None;
        }
        let what = image.map_or_else(|| texts.join("  |  "), |image| format!("held-out image {}", image + 1));
        ui.add(Label::new(RichText::new(what).small()).wrap());
        // Heads reads one text.
        let [text] = texts.as_slice() else { return None };
        let button = ui.small_button("Heads").on_hover_text("Shows the attention of every head on this text");
        button.accessible_name(format!("Attention on \u{201C}{text}\u{201D}")).clicked().then_some(text.as_str())
    });
    if let (Some(places), [_, paragraph]) = (mistake.places, texts.as_slice()) {
        let small = TextStyle::Small.resolve(ui.style());
        let plain = TextFormat::simple(small, palette.text);
        let mut job = LayoutJob::default();
        for (piece, is_right, is_predicted) in pieces(paragraph, places) {
            let background = if is_right { palette.accent.gamma_multiply(0.45) } else { Color32::TRANSPARENT };
            let underline = if is_predicted { Stroke::new(1.5, palette.warning) } else { Stroke::NONE };
            job.append(piece, 0.0, TextFormat { background, underline, ..plain.clone() });
        }
        job.wrap.max_width = ui.available_width();
        ui.label(job);
        ui.add_space(4.0);
    }
    row.inner
}

/// A paragraph cut where answers begin and end: the pieces, and whether they belong to the right answer and to that of the model.
fn pieces(paragraph: &str, places: AnswerPlaces) -> Vec<(&str, bool, bool)> {
    let byte = |character: usize| paragraph.char_indices().nth(character).map_or(paragraph.len(), |(at, _)| at);
    let bytes = |place: Option<[usize; 2]>| place.map_or(0..0, |[start, end]| byte(start)..byte(end.max(start)));
    let (right, predicted) = (bytes(places.right), bytes(places.predicted));
    let mut cuts = vec![0, right.start, right.end, predicted.start, predicted.end, paragraph.len()];
    cuts.sort_unstable();
    cuts.dedup();
    let is_in = |range: &Range<usize>, at: usize| range.contains(&at);
    let piece = |ends: &[usize]| {
        let &[start, end] = ends else { return None };
        Some((paragraph.get(start..end)?, is_in(&right, start), is_in(&predicted, start)))
    };
    cuts.windows(2).filter_map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_or_a_class_is_found_whatever_its_letters() {
        let mistake = Mistake {
            texts: vec!["A Bad film".to_owned()],
            image: None,
            picture: None,
            right: "positive".to_owned(),
            predicted: "negative".to_owned(),
            confidence: 0.9,
            places: None,
        };
        let found = ["", " bad ", "POSITIVE", "neg"].map(|wanted| matches(&mistake, wanted));
        assert_eq!(found, [true; 4]);
        assert!(!matches(&mistake, "good"));
    }

    #[test]
    fn a_paragraph_is_cut_where_answers_begin_and_end() {
        let text = "zo\u{eb} has 42 cats";
        let both = AnswerPlaces { right: Some([8, 10]), predicted: Some([4, 10]) };
        let expected =
            [("zo\u{eb} ", false, false), ("has ", false, true), ("42", true, true), (" cats", false, false)];
        assert_eq!(pieces(text, both), expected);
        let beyond = AnswerPlaces { right: None, predicted: Some([11, 99]) };
        assert_eq!(pieces(text, beyond), [("zo\u{eb} has 42 ", false, false), ("cats", false, true)]);
        assert_eq!(pieces(text, AnswerPlaces::default()), [(text, false, false)]);
        assert_eq!(pieces("", both), []);
    }
}
