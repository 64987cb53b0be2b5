use egui::{
    Color32, Grid, Rect, RichText, ScrollArea, Sense, Stroke, TextFormat, TextStyle, Ui, WidgetInfo, pos2,
    text::LayoutJob, vec2,
};
use headroom_engine::{
    config::counted,
    generate::{Ending, SearchSettings},
    protocol::{FilledWord, Filling, TokenCost},
};

use super::form::Setting;
use crate::{
    format,
    panels::live::drawable,
    state::{Generation, Phase, step_costs},
    theme,
    widgets::sideways_ui,
};

/// Height of a row of bars.
const BARS: f32 = 46.0;

/// What a text came to, in a line.
pub fn words(side: &Generation) -> String {
    if let Some(filling) = &side.text.filled {
        let words = counted(filling.words.len() as u64, "hidden word");
        let known: Vec<bool> = filling.words.iter().filter_map(is_right).collect();
        let right = known.iter().filter(|right| **right).count();
        let right = if known.is_empty() { String::new() } else { format!(", {right} of them rightly") };
        return format!("{words} filled in{right}, in {}", format::duration(side.seconds));
    }
    let tokens = side.text.tokens.len();
    let mut words = vec![format!("{} in {}", counted(tokens as u64, "token"), format::duration(side.seconds))];
    if let (Phase::Done { .. }, true) = (&side.phase, tokens > 1) {
        let writing = side.seconds - side.reading_seconds;
        if writing > 0.0 {
            words.push(format!("{} after the first", format::rate((tokens - 1) as f64 / writing, "tokens")));
        }
        words.push(format!("{} of it for reading", format::duration(side.reading_seconds)));
    }
    // Room is set aside for all tokens that were asked for; a text may end before.
    let filled = side.text.costs.iter().map(|cost| cost.bytes).max().unwrap_or(0);
    let room = format::bytes(side.cache_bytes);
    words.push(if filled > 0 && filled < side.cache_bytes {
        format!("{} kept, {room} set aside", format::bytes(filled))
    } else {
        format!("{room} kept")
    });
    words.join(", ")
}

/// Why a text ended.
fn ending_words(side: &Generation) -> Option<&'static str> {
    let Phase::Done { stopped } = side.phase else { return None };
    match side.text.ending {
        _ if stopped => Some("Stopped; what was there is kept."),
        Ending::EndToken => Some("It ended with the end token."),
        Ending::Length => Some("As many tokens as were asked for."),
        Ending::Positions => Some("It ended because the model has no more positions."),
        Ending::Stopped | Ending::Filled => None,
    }
}

/// Settings of the model that did not count.
fn settings_words(side: &Generation) -> Vec<String> {
    let mut words = Vec::new();
    if !side.unused_settings.is_empty() {
        let keys = SearchSettings::unused_words(&side.unused_settings, &side.search);
        words.push(format!("Not used from the model's generation_config.json: {keys}."));
    }
    if !side.other_settings.is_empty() {
        let settings = side.other_settings.join(", ");
        words.push(format!("The model's own settings are others: {settings}. Those of this panel were used."));
    }
    words
}

/// Whether the most probable word is the one that stood there, where that is known.
fn is_right(word: &FilledWord) -> Option<bool> {
    let truth = word.truth.as_deref()?;
    Some(word.guesses.first().is_some_and(|best| best.word == truth))
}

/// Draws what may stand in the place of each hidden word, the most probable first.
fn guesses_ui(ui: &mut Ui, filling: &Filling, second: bool) {
    let palette = theme::palette(ui.visuals());
    let has_truth = filling.words.iter().any(|word| word.truth.is_some());
    let most = filling.words.iter().map(|word| word.guesses.len()).max().unwrap_or(0);
    let small = |text: String, colour: Color32| RichText::new(text).small().color(colour);
    sideways_ui(ui, if second { "guesses of the second" } else { "guesses" }, |ui| {
        Grid::new(("guesses", second)).striped(true).spacing([14.0, 3.0]).show(ui, |ui| {
            ui.label(small("Word".to_owned(), palette.weak)).on_hover_text("Which of the hidden words");
            if has_truth {
                ui.label(small("Truth".to_owned(), palette.weak)).on_hover_text("What stood there");
            }
            for place in 1..=most {
                ui.label(small(if place == 1 { "Most probable".to_owned() } else { place.to_string() }, palette.weak));
            }
            ui.end_row();
            for (number, word) in (1_u64..).zip(&filling.words) {
                ui.label(format::count(number));
                if has_truth {
                    let truth = word.truth.as_deref().unwrap_or_default().trim();
                    let colour = if is_right(word) == Some(true) { palette.better } else { palette.worse };
                    ui.label(RichText::new(drawable(ui, truth).0).color(colour));
                }
                for guess in &word.guesses {
                    let share = format::percent(guess.probability);
                    ui.label(format!("{} {share}", drawable(ui, guess.word.trim()).0));
                }
                ui.end_row();
            }
        });
    });
}

/// Draws a text with its times and bytes. `differs`: which of its tokens the other side does not have.
pub fn output_ui(ui: &mut Ui, side: &Generation, differs: Option<&[bool]>, second: bool, is_busy: bool) {
    let palette = theme::palette(ui.visuals());
    let heading = match &side.text.filled {
        Some(_) => side.name.clone(),
        None => format!("{}: {}", side.name, Setting::words(&side.search, side.precision)),
    };
    ui.label(RichText::new(heading).color(palette.strong));
    match &side.phase {
        Phase::Waiting => {
            ui.horizontal(|ui| {
                ui.add(egui::Spinner::new().size(14.0));
                let text = if is_busy { "Waits until what runs now has ended" } else { "Reading the model…" };
                ui.label(text);
            });
            return;
        }
        Phase::Failed(why) => {
            ui.label(RichText::new(why).color(palette.error));
            return;
        }
        Phase::Going | Phase::Done { .. } => {}
    }
    if side.text.tokens.is_empty() {
        ui.label(RichText::new("Stopped before the first token.").color(palette.weak));
        return;
    }
    ui.label(RichText::new(words(side)).small().color(palette.weak));
    egui::Frame::new().fill(palette.well).corner_radius(5.0).inner_margin(10.0).show(ui, |ui| {
        let scroll = ScrollArea::vertical().id_salt(("text", second)).max_height(220.0).auto_shrink([false, true]);
        scroll.stick_to_bottom(side.phase.is_open()).show(ui, |ui| {
            ui.label(text_job(ui, side, differs));
        });
    });
    if let Some(filling) = &side.text.filled {
        guesses_ui(ui, filling, second);
    }
    for note in ending_words(side).map(str::to_owned).into_iter().chain(settings_words(side)) {
        ui.label(RichText::new(note).small().color(palette.weak));
    }
    if let Some(differs) = differs {
        let count = differs.iter().filter(|differs| **differs).count();
        let words = if count == 0 {
            "The tokens are the same on both sides.".to_owned()
        } else {
            format!("{} (underlined) that the other side does not have.", counted(count as u64, "token"))
        };
        let colour = if count == 0 { palette.better } else { palette.worse };
        ui.label(RichText::new(words).small().color(colour));
    }
    let suffix = if second { ", second setting" } else { "" };
    let pieces = &side.text.pieces;
    bars_ui(ui, &format!("Kept after each token{suffix}"), &side.text.costs, pieces, |(_, bytes)| bytes as f64);
    bars_ui(ui, &format!("Time of each token{suffix}"), &side.text.costs, pieces, |(seconds, _)| seconds);
}

/// Of an encoder its words among what was given. Else the source dimmed, then the tokens; those that the other side does not have
/// underlined.
fn text_job(ui: &Ui, side: &Generation, differs: Option<&[bool]>) -> LayoutJob {
    let palette = theme::palette(ui.visuals());
    let font = TextStyle::Body.resolve(ui.style());
    let plain = |colour: Color32| TextFormat::simple(font.clone(), colour);
    let mut job = LayoutJob::default();
    if let Some(filling) = &side.text.filled {
        for word in &filling.words {
            let colour = if is_right(word) == Some(false) { palette.worse } else { palette.accent };
            job.append(&drawable(ui, &word.before).0, 0.0, plain(palette.text));
            job.append(&drawable(ui, &word.word).0, 0.0, plain(colour));
        }
        job.append(&drawable(ui, &filling.rest).0, 0.0, plain(palette.text));
        return job;
    }
    if !side.text.source.is_empty() {
        job.append(&drawable(ui, &side.text.source.concat()).0, 0.0, plain(palette.weak));
        job.append(" » ", 0.0, plain(palette.weak));
    }
    let Some(differs) = differs.filter(|differs| differs.iter().any(|differs| *differs)) else {
        job.append(&drawable(ui, &side.text.text).0, 0.0, plain(palette.text));
        return job;
    };
    for (piece, differs) in side.text.pieces.iter().zip(differs) {
        let mut format = plain(if *differs { palette.worse } else { palette.text });
        if *differs {
            format.underline = Stroke::new(1.5, palette.worse);
        }
        job.append(&drawable(ui, piece).0, 0.0, format);
    }
    job
}

/// A first value that is so many times all others would leave nothing of them to be seen.
const FAR_ABOVE: f64 = 3.0;

/// What is as high as the row of bars, and whether the first value is more than that: it is cut where it is far above all others,
/// as the time until the first token is where much was read before.
fn height_of(values: &[f64]) -> (f64, bool) {
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let others = values.get(1..).map_or(0.0, most);
    let all = most(values);
    if others > 0.0 && all > FAR_ABOVE * others { (others, true) } else { (all, false) }
}

/// Bars, one a token from left to right; more tokens than pixels share a bar, the largest of them.
fn bars_ui(ui: &mut Ui, name: &str, costs: &[TokenCost], pieces: &[String], value: impl Fn((f64, u64)) -> f64) {
    let palette = theme::palette(ui.visuals());
    let steps: Vec<(f64, u64)> = step_costs(costs).collect();
    let values: Vec<f64> = steps.iter().copied().map(value).collect();
    let Some(first) = values.first().copied() else { return };
    let (most, is_cut) = height_of(&values);
    let is_bytes = name.starts_with("Kept");
    let told = |value: f64| if is_bytes { format::bytes(value as u64) } else { format::duration(value) };
    let beyond = if is_cut { format!("the first {} (cut off), then ", told(first)) } else { String::new() };
    ui.label(RichText::new(format!("{name}: {beyond}up to {}", told(most))).small().color(palette.weak));
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), BARS), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(egui::Role::Figure, true, name.to_owned()));
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 3.0, palette.well);
    let columns = (rect.width().max(1.0) as usize).min(values.len());
    let width = (rect.width() / columns as f32).min(28.0);
    let place = |column: usize| {
        let from = column * values.len() / columns;
        from..((column + 1) * values.len() / columns).max(from + 1)
    };
    let hovered = response.hover_pos().map(|at| ((at.x - rect.left()) / width) as usize).filter(|at| *at < columns);
    for column in 0..columns {
        let largest = values.get(place(column)).unwrap_or_default().iter().copied().fold(0.0, f64::max);
        let share = if most > 0.0 { (largest / most).min(1.0) as f32 } else { 0.0 };
        let left = rect.left() + column as f32 * width;
        let gap = if width > 3.0 { 1.0 } else { 0.0 };
        let top = rect.bottom() - share * (rect.height() - 2.0);
        let bar = Rect::from_min_max(pos2(left, top), pos2(left + width - gap, rect.bottom()));
        let colour = if hovered == Some(column) { palette.strong } else { palette.accent };
        painter.rect_filled(bar, 0.0, colour);
        if is_cut && column == 0 {
            painter.hline(bar.x_range(), top + 6.0, Stroke::new(2.0, palette.well));
        }
    }
    if let Some(at) = hovered.map(|column| place(column).start) {
        let piece = drawable(ui, pieces.get(at).map_or("", String::as_str)).0;
        let (seconds, bytes) = steps.get(at).copied().unwrap_or_default();
        let words = format!(
            "Token {} \"{piece}\": {}, {} kept",
            format::count(at as u64 + 1),
            format::duration(seconds),
            format::bytes(bytes)
        );
        response.on_hover_text(words);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_token_that_took_far_longer_leaves_the_others_their_height() {
        assert_eq!(height_of(&[18.0, 1.0, 1.2, 0.9]), (1.2, true));
        assert_eq!(height_of(&[2.0, 1.0, 1.2]), (2.0, false), "all can be seen");
        assert_eq!(height_of(&[1.0, 1.0, 9.0]), (9.0, false), "only the first is known to be another thing");
        assert_eq!(height_of(&[5.0]), (5.0, false));
        assert_eq!(height_of(&[5.0, 0.0]), (5.0, false));
    }
}
