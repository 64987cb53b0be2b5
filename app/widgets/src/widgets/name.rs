//! Names that are longer than their place.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use egui::{Color32, FontId, Id, Label, Response, RichText, TextStyle, Ui};

use crate::format::Names;

/// Shortened names that are remembered at most.
const MOST: usize = 4096;

/// A name on one line; where it is too long, what it shares with the other `names` gives way, and the whole is said on hover.
/// `style` gives it its looks.
pub fn name_ui(ui: &mut Ui, name: &str, names: &Names, style: impl FnOnce(RichText) -> RichText) -> Response {
    let font = TextStyle::Body.resolve(ui.style());
    match elided(ui, name, names, &font, ui.available_width() - 1.0) {
        None => ui.add(Label::new(style(RichText::new(name))).selectable(false).extend()),
        Some(short) => {
            let label = ui.add(Label::new(style(RichText::new(short))).selectable(false).truncate());
            label.on_hover_text(name).accessible_name(name)
        }
    }
}

/// As much of the name as `room` points hold in this font; none where all of it fits.
pub fn elided(ui: &Ui, name: &str, names: &Names, font: &FontId, room: f32) -> Option<String> {
    if name_width(ui, name, font) <= room {
        return None;
    }
    // Whole points: while a column is dragged not every fraction is worth a thought.
    let room = room.max(0.0).floor();
    remembered(ui, (name, names.key(), room.to_bits(), font), || {
        names.elided(name, room, |letter| width(ui, font, letter))
    })
}

/// The room that a name takes which is not elided, in points: that of its letters one by one.
pub fn name_width(ui: &Ui, name: &str, font: &FontId) -> f32 {
    name.chars().map(|letter| width(ui, font, letter)).sum()
}

/// The name, or as much of it as there is room for in legends and tooltips.
pub fn brief(ui: &Ui, name: &str, names: &Names) -> String {
    let short = remembered(ui, (name, names.key()), || Some(names.brief(name)));
    short.unwrap_or_else(|| name.to_owned())
}

/// What was made of a name before, or is made of it now.
fn remembered(ui: &Ui, of: impl Hash, make: impl FnOnce() -> Option<String>) -> Option<String> {
    let mut hash = DefaultHasher::new();
    of.hash(&mut hash);
    let (key, id) = (hash.finish(), Id::unique("elided names"));
    let kept = ui.data_mut(|data| data.get_temp_mut_or_default::<Elided>(id).clone());
    if let Some(known) = kept.lock().get(&key) {
        return Some(known.clone());
    }
    let short = make()?;
    let mut kept = kept.lock();
    if kept.len() >= MOST {
        kept.clear();
    }
    kept.insert(key, short.clone());
    Some(short)
}

/// Names that were shortened before, by a hash of all that decides about it.
type Elided = std::sync::Arc<egui::mutex::Mutex<HashMap<u64, String>>>;

fn width(ui: &Ui, font: &FontId, letter: char) -> f32 {
    ui.fonts_mut(|fonts| fonts.glyph_width(font, letter))
}

/// How many points the text takes in a line.
pub fn text_width(ui: &Ui, text: &str, font: &FontId) -> f32 {
    ui.fonts_mut(|fonts| fonts.layout_no_wrap(text.to_owned(), font.clone(), Color32::PLACEHOLDER).size().x)
}

/// The text, or its beginning with an ellipsis, in so many points.
pub fn beginning(ui: &Ui, text: &str, font: &FontId, room: f32) -> String {
    let width = |text: &str| text_width(ui, text, font);
    if width(text) <= room {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    let short = |count: usize| letters.iter().take(count).chain(&['…']).collect::<String>();
    let fits = (1..letters.len()).rev().find(|&count| width(&short(count)) <= room);
    short(fits.unwrap_or(1))
}
