//! The held-out examples that a model gets wrong, the surest mistakes first, with a field to search them.

use egui::{Button, Color32, Label, RichText, Spinner, Stroke, TextEdit, TextFormat, TextStyle, Ui, text::LayoutJob};
use headroom_engine::{
    config::counted,
    protocol::{Mistake, Ticket},
    store::{RunId, RunSummary},
};

use crate::{
    common::pieces,
    context::{Action, PanelContext, PanelId},
    format, theme,
    widgets::{Thumbnail, Thumbnails},
};

/// Mistakes that are drawn at first, and that each click on a button brings: a list that scrolled by itself would stop the wheel
/// on the way through the panel.
const AT_ONCE: usize = 10;
/// Mistakes that are drawn at most: of more the search finds those that are meant.
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
    found: Found,
    /// How often more of them were asked for.
    more: usize,
    thumbnails: Thumbnails,
}

/// What was found, as long as the answer and what is looked for are the same.
#[derive(Default)]
struct Found {
    asked: Option<Ticket>,
    wanted: String,
    /// The places of all that were found, those first of which the model is the surest.
    places: Vec<usize>,
    /// Whether places of answers are known of one of them.
    has_places: bool,
    /// Those without a picture, of the ones that are drawn.
    rows: Vec<Row>,
}

/// A mistake as it is read.
struct Row {
    place: usize,
    right: String,
    words: String,
    what: String,
    /// What the button is called that shows its attention.
    button: Option<String>,
    /// The paragraph of a question, with what of it is the right answer and what is that of the model.
    paragraph: Option<Vec<(String, [bool; 2])>>,
}

impl Found {
    /// Searches the answer to this question; false where that was done.
    fn renew(&mut self, asked: Option<Ticket>, wanted: &str, all: &[Mistake]) -> bool {
        if self.asked == asked && self.wanted == wanted {
            return false;
        }
        let found: Vec<(usize, &Mistake)> =
            all.iter().enumerate().filter(|(_, mistake)| matches(mistake, wanted)).collect();
        let drawn = found.iter().take(LISTED).filter(|(_, mistake)| mistake.picture.is_none());
        *self = Self {
            asked,
            wanted: wanted.to_owned(),
            has_places: found.iter().any(|(_, mistake)| mistake.places.is_some()),
            rows: drawn.map(|(place, mistake)| Row::new(*place, mistake)).collect(),
            places: found.into_iter().map(|(place, _)| place).collect(),
        };
        true
    }
}

impl Row {
    fn new(place: usize, mistake: &Mistake) -> Self {
        let Mistake { texts, image, right, .. } = mistake;
        let what = match (mistake.places, texts.as_slice(), image) {
            // Its paragraph stands below.
            (Some(_), [question, ..], _) => question.clone(),
            (_, _, Some(image)) => format!("held-out image {}", image + 1),
            // Cells of tables may have lines of their own.
            _ => texts.join("  |  ").replace(['\n', '\r'], " "),
        };
        let paragraph = match (mistake.places, texts.as_slice()) {
            (Some(places), [_, paragraph]) => {
                let pieces = pieces(paragraph, [places.right, places.predicted]);
                Some(pieces.into_iter().map(|(piece, is)| (piece.to_owned(), is)).collect())
            }
            _ => None,
        };
        let button = texts.first().map(|first| format!("Attention on \u{201C}{first}\u{201D}"));
        Self { place, right: right.clone(), words: words(mistake), what, button, paragraph }
    }
}

impl MistakesView {
    /// Draws the button that asks for them, and them.
    pub fn ui(&mut self, ui: &mut Ui, run: &RunSummary, cx: &mut PanelContext<'_>) {
        let palette = theme::palette(ui.visuals());
        if self.of.as_ref() != Some(&run.id) {
            (self.of, self.wanted, self.more) = (Some(run.id.clone()), String::new(), 0);
        }
        let is_waiting = cx.state.mistakes.is_waiting(&run.id);
        let is_known = cx.state.mistakes.of(&run.id).is_some();
        ui.horizontal_wrapped(|ui| {
            let words = if is_known { "Show the mistakes anew" } else { "Show the mistakes" };
            let about = "The held-out examples that its best checkpoint gets wrong, the surest mistakes first";
            let button = ui.add_enabled(!is_waiting && run.steps_done > 0, Button::new(words));
            if button.on_hover_text(about).accessible_name("Show the mistakes").clicked() {
                let name = cx.state.run_name(&run.id);
                cx.state.mistakes.ask(&run.id, &name);
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
                if self.found.renew(asked, &self.wanted, all) {
                    self.more = 0;
                }
                let found = &self.found;
                let (count, has_places) = (found.places.len(), found.has_places);
                let of = if count == all.len() { String::new() } else { format!(" of {}", all.len()) };
                let words = format!("{}{of} of the best checkpoint", counted(count as u64, "mistake"));
                let marks =
                    if has_places { ". On a ground: the right answer; underlined: that of the model" } else { "" };
                ui.label(RichText::new(words + marks).small().color(palette.weak));
                let most = count.min(LISTED);
                let drawn = most.min(AT_ONCE * (1 + self.more));
                let listed = found.places.iter().take(drawn).filter_map(|place| all.get(*place));
                let of = (asked, &self.wanted, drawn);
                let pictures = || listed.clone().filter_map(thumbnail).collect();
                let chosen = self.thumbnails.buttons_ui(ui, THUMBNAIL, of, pictures);
                let with_picture = |place| listed.clone().filter(|mistake| mistake.picture.is_some()).nth(place);
                image = chosen.and_then(with_picture).and_then(|mistake| mistake.image);
                let last = drawn.checked_sub(1).and_then(|last| found.places.get(last));
                for row in found.rows.iter().take_while(|row| last.is_some_and(|last| row.place <= *last)) {
                    if row_ui(ui, row) {
                        wanted = all.get(row.place).map(as_read);
                    }
                }
                if drawn < most {
                    let more = counted(AT_ONCE.min(most - drawn) as u64, "more mistake");
                    if ui.button(format!("Show {more}")).clicked() {
                        self.more += 1;
                    }
                } else if count > LISTED {
                    let more = counted((count - LISTED) as u64, "more mistake");
                    let words = format!("and {more}: search for those that are meant");
                    ui.label(RichText::new(words).small().color(palette.weak));
                }
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

/// Draws a mistake; whether its attention is to be seen.
fn row_ui(ui: &mut Ui, row: &Row) -> bool {
    let palette = theme::palette(ui.visuals());
    let shown = ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new(&row.right).small().strong());
        ui.label(RichText::new(&row.words).small().color(palette.warning));
        ui.add(Label::new(RichText::new(&row.what).small()).wrap());
        row.button.as_ref().is_some_and(|name| {
            let button = ui.small_button("Heads").on_hover_text("Shows the attention of every head on this text");
            button.accessible_name(name).clicked()
        })
    });
    if let Some(paragraph) = &row.paragraph {
        let small = TextStyle::Small.resolve(ui.style());
        let plain = TextFormat::simple(small, palette.text);
        let mut job = LayoutJob::default();
        for (piece, [is_right, is_predicted]) in paragraph {
            let background = if *is_right { palette.accent.gamma_multiply(0.45) } else { Color32::TRANSPARENT };
            let underline = if *is_predicted { Stroke::new(1.5, palette.warning) } else { Stroke::NONE };
            job.append(piece, 0.0, TextFormat { background, underline, ..plain.clone() });
        }
        job.wrap.max_width = ui.available_width();
        ui.label(job);
        ui.add_space(4.0);
    }
    shown.inner
}

#[cfg(test)]
mod tests {
    use headroom_engine::protocol::AnswerPlaces;

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
    fn they_are_searched_anew_only_where_the_answer_or_what_is_looked_for_changed() {
        let mistake = |text: &str, places: Option<AnswerPlaces>| Mistake {
            texts: text.split('|').map(str::to_owned).collect(),
            image: None,
            picture: None,
            right: "yes".to_owned(),
            predicted: "no".to_owned(),
            confidence: 0.9,
            places,
        };
        let places = AnswerPlaces { right: Some([0, 2]), predicted: None };
        let all = [mistake("a cat", None), mistake("who?|we nap", Some(places)), mistake("a dog", None)];
        let (first, second) = (Ticket::new(), Ticket::new());
        let mut found = Found::default();
        assert!(found.renew(Some(first), "", &all) && !found.renew(Some(first), "", &all));
        assert!(found.places == [0, 1, 2] && found.rows.len() == 3 && found.has_places);
        let pieces = found.rows[1].paragraph.clone().unwrap();
        assert_eq!(pieces, [("we".to_owned(), [true, false]), (" nap".to_owned(), [false, false])]);
        assert!(found.renew(Some(first), "dog", &all) && !found.renew(Some(first), "dog", &all));
        assert!(found.places == [2] && found.rows[0].place == 2 && !found.has_places);
        assert!(found.renew(Some(second), "dog", &all[..2]), "another answer");
        assert!(found.places.is_empty() && found.rows.is_empty());
        let many: Vec<Mistake> = (0..LISTED + 5).map(|_| mistake("a cat", None)).collect();
        found.renew(Some(first), "", &many);
        assert_eq!((found.places.len(), found.rows.len()), (LISTED + 5, LISTED));
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
