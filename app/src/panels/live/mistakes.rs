//! The held-out examples that a model gets wrong, the surest mistakes first, with a field to search them.

use egui::{
    Button, Color32, Label, RichText, ScrollArea, Spinner, Stroke, TextEdit, TextFormat, TextStyle, Ui, text::LayoutJob,
};
use headroom_engine::{
    config::counted,
    store::{RunId, RunSummary},
    worker::Mistake,
};

use crate::{
    common::pieces,
    context::{Action, PanelContext, PanelId},
    format, theme,
    widgets::{Thumbnail, Thumbnails},
};

/// Height of the list, beyond which it scrolls.
const HEIGHT: f32 = 320.0;
/// Mistakes that are drawn: of more the search finds those that are meant.
const LISTED: usize = 100;

/// Letters of a paragraph that are read in front of an answer, at most.
const BEFORE: usize = 150;

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
        let (mut wanted, mut image): (Option<String>, Option<usize>) = (None, None);
        let asked = cx.state.mistakes.asked();
        match cx.state.mistakes.of(&run.id) {
            None => {}
            Some(Err(why)) => drop(ui.colored_label(palette.error, why)),
            Some(Ok(all)) => {
                let found: Vec<&Mistake> = all.iter().filter(|mistake| matches(mistake, &self.wanted)).collect();
                let of = if found.len() == all.len() { String::new() } else { format!(" of {}", all.len()) };
                let words = format!("{}{of} of the best checkpoint", counted(found.len() as u64, "mistake"));
                let has_places = found.iter().any(|mistake| mistake.places.is_some());
                let marks =
                    if has_places { ". On a ground: the right answer; underlined: that of the model" } else { "" };
                ui.label(RichText::new(words + marks).small().color(palette.weak));
                let area = ScrollArea::vertical().id_salt("mistakes").max_height(HEIGHT).min_scrolled_height(HEIGHT);
                area.show(ui, |ui| {
                    let listed = found.iter().take(LISTED).copied();
                    let of = (asked, &self.wanted);
                    let pictures = || listed.clone().filter_map(thumbnail).collect();
                    let chosen = self.thumbnails.buttons_ui(ui, THUMBNAIL, of, pictures);
                    let with_picture = |place| listed.clone().filter(|mistake| mistake.picture.is_some()).nth(place);
                    image = chosen.and_then(with_picture).and_then(|mistake| mistake.image);
                    for mistake in listed.filter(|mistake| mistake.picture.is_none()) {
                        if let Some(text) = mistake_ui(ui, mistake) {
                            wanted = Some(text);
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
        if let Some(image) = image {
            cx.state.selection.focused = Some(run.id.clone());
            cx.state.maps.image = Some(image);
            cx.act(Action::Open(PanelId::HEADS));
        }
    }
}

fn words(mistake: &Mistake) -> String {
    let verb = if mistake.places.is_some() { "answered" } else { "taken for" };
    format!("{verb} {} ({})", mistake.predicted, format::percent(mistake.confidence))
}

/// Its texts as they are to be read, two with a tab between. Of the paragraph of a question what stands around the answer, from a word on:
/// the model reads long ones in windows.
fn as_read(mistake: &Mistake) -> String {
    // A tab parts two texts.
    let texts: Vec<String> = mistake.texts.iter().map(|text| text.replace('\t', " ")).collect();
    let (Some(places), [question, paragraph]) = (mistake.places, texts.as_slice()) else {
        return texts.join("\t");
    };
    let start = places.right.or(places.predicted).map_or(0, |[start, _]| start);
    let skipped = start.saturating_sub(BEFORE);
    let at = paragraph.char_indices().nth(skipped).map_or(0, |(at, _)| at);
    let at = if at == 0 { 0 } else { paragraph[at..].find(' ').map_or(at, |blank| at + blank + 1) };
    format!("{question}\t{}", &paragraph[at..])
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

/// Draws a mistake; its text, or its two with a tab between, where its attention is to be seen.
fn mistake_ui(ui: &mut Ui, mistake: &Mistake) -> Option<String> {
    let palette = theme::palette(ui.visuals());
    let Mistake { texts, image, right, .. } = mistake;
    let row = ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new(right).small().strong());
        ui.label(RichText::new(words(mistake)).small().color(palette.warning));
        let what = match (mistake.places, texts.as_slice(), image) {
            // Its paragraph stands below.
            (Some(_), [question, ..], _) => question.clone(),
            (_, _, Some(image)) => format!("held-out image {}", image + 1),
            _ => texts.join("  |  "),
        };
        ui.add(Label::new(RichText::new(what).small()).wrap());
        let first = texts.first()?;
        let button = ui.small_button("Heads").on_hover_text("Shows the attention of every head on this text");
        button.accessible_name(format!("Attention on \u{201C}{first}\u{201D}")).clicked().then(|| as_read(mistake))
    });
    if let (Some(places), [_, paragraph]) = (mistake.places, texts.as_slice()) {
        let small = TextStyle::Small.resolve(ui.style());
        let plain = TextFormat::simple(small, palette.text);
        let mut job = LayoutJob::default();
        for (piece, [is_right, is_predicted]) in pieces(paragraph, [places.right, places.predicted]) {
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

#[cfg(test)]
mod tests {
    use headroom_engine::worker::AnswerPlaces;

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
    fn a_long_paragraph_is_read_from_a_little_before_the_answer() {
        let paragraph = format!("{} the answer ends it", "\u{e9}a ".repeat(200));
        let start = paragraph.chars().position(|letter| letter == 't').unwrap() + 4;
        let mut mistake = Mistake {
            texts: vec!["what?".to_owned(), paragraph.clone()],
            image: None,
            picture: None,
            right: "answer".to_owned(),
            predicted: "no answer".to_owned(),
            confidence: 0.5,
            places: Some(AnswerPlaces { right: Some([start, start + 6]), predicted: None }),
        };
        let read = as_read(&mistake);
        let (question, part) = read.split_once('\t').unwrap();
        assert!(question == "what?" && paragraph.ends_with(part) && part.starts_with("\u{e9}a "), "{part}");
        let before = part.split_once("answer").unwrap().0.chars().count();
        assert!((BEFORE - 3..=BEFORE).contains(&before), "{before}");
        mistake.places = Some(AnswerPlaces { right: Some([0, 2]), predicted: None });
        assert_eq!(as_read(&mistake), format!("what?\t{paragraph}"));
        mistake.places = None;
        assert_eq!(as_read(&mistake), format!("what?\t{paragraph}"));
    }
}
