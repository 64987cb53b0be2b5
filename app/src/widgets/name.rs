//! Names that are longer than their place.

use egui::{FontId, Label, Response, RichText, TextStyle, Ui};

/// Share of the room that the beginning gets; names of runs differ at their end.
const HEAD: f32 = 0.55;

/// A name on one line; where it is too long its middle gives way, and the whole is said on hover. `style` gives it its
/// looks.
pub fn name_ui(ui: &mut Ui, name: &str, style: impl FnOnce(RichText) -> RichText) -> Response {
    let font = TextStyle::Body.resolve(ui.style());
    let room = ui.available_width();
    match elided(name, room, |letter| width(ui, &font, letter)) {
        None => ui.add(Label::new(style(RichText::new(name))).selectable(false).extend()),
        Some(short) => {
            let label = ui.add(Label::new(style(RichText::new(short))).selectable(false).truncate());
            label.on_hover_text(name).accessible_name(name)
        }
    }
}

fn width(ui: &Ui, font: &FontId, letter: char) -> f32 {
    ui.fonts_mut(|fonts| fonts.glyph_width(font, letter))
}

/// The name with an ellipsis in its middle, as long as the room allows; none where all of it fits.
fn elided(name: &str, room: f32, width: impl Fn(char) -> f32) -> Option<String> {
    let letters: Vec<char> = name.chars().collect();
    let widths: Vec<f32> = letters.iter().map(|&letter| width(letter)).collect();
    if widths.iter().sum::<f32>() <= room {
        return None;
    }
    let room = (room - width('…') - 1.0).max(0.0);
    let fitting = |widths: &mut dyn Iterator<Item = &f32>, room: f32| {
        let mut used = 0.0;
        widths
            .take_while(|&&width| {
                used += width;
                used <= room
            })
            .count()
    };
    let head = fitting(&mut widths.iter(), room * HEAD);
    let left = room - widths.iter().take(head).sum::<f32>();
    let tail = fitting(&mut widths.iter().rev(), left).min(letters.len() - head);
    let head: String = letters.iter().take(head).collect();
    let tail: String = letters.iter().skip(letters.len() - tail).collect();
    Some(format!("{}…{}", head.trim_end(), tail.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_gives_way_and_beginning_and_end_stay() {
        let short = |room| elided("grammar decoder, 8 heads, seed 3", room, |_| 1.0);
        assert_eq!(short(32.0), None);
        assert_eq!(short(22.0).as_deref(), Some("grammar dec…s, seed 3"));
        assert_eq!(short(0.0).as_deref(), Some("…"));
        assert_eq!(elided("日本語の名前", 4.0, |_| 1.0).as_deref(), Some("日…前"));
    }
}
