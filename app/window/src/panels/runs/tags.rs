use egui::{Button, RichText, TextStyle, Ui, WidgetText, containers::menu::MenuButton};

/// What is wanted of a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TagWish {
    /// Its runs alone in Compare.
    Compare(String),
    /// Its runs alone in the table.
    Filter(String),
}

/// Between chips, in points.
const GAP: f32 = 3.0;

/// Draws the tags of a run as chips, each with a menu; those that have no room are counted in one more.
pub(super) fn tags_ui(ui: &mut Ui, tags: &[String], name: &str) -> Option<TagWish> {
    let mut wish = None;
    ui.spacing_mut().item_spacing.x = GAP;
    ui.spacing_mut().button_padding.x = 5.0;
    let room = ui.available_width();
    let more = chip_width(ui, &format!("+{}", tags.len()));
    let widths: Vec<f32> = tags.iter().map(|tag| chip_width(ui, tag)).collect();
    let shown = fitting(&widths, room, more);
    let (shown, hidden) = tags.split_at_checked(shown).unwrap_or((tags, &[]));
    for tag in shown {
        let chip = Button::new(RichText::new(tag).small()).truncate();
        ui.scope(|ui| {
            // The first one stands there in any case, as much of it as there is room for.
            ui.set_max_width(if hidden.is_empty() { room } else { room - more - GAP });
            let (menu, _) =
                MenuButton::from_button(chip).ui(ui, |ui| wish = wish.take().or_else(|| tag_menu_ui(ui, tag)));
            menu.on_hover_text(tag).accessible_name(format!("Tag {tag} of {name}"));
        });
    }
    if !hidden.is_empty() {
        let chip = Button::new(RichText::new(format!("+{}", hidden.len())).small());
        let (menu, _) = MenuButton::from_button(chip).ui(ui, |ui| {
            for tag in hidden {
                wish = wish.take().or_else(|| tag_menu_ui(ui, tag));
            }
        });
        menu.on_hover_text(hidden.join("\n")).accessible_name(format!("More tags of {name}: {}", hidden.join(", ")));
    }
    wish
}

/// How wide a chip of these words is, in points.
fn chip_width(ui: &Ui, words: &str) -> f32 {
    let words = WidgetText::from(RichText::new(words).small());
    let galley = words.into_galley(ui, None, f32::INFINITY, TextStyle::Button);
    galley.size().x + 2.0 * ui.spacing().button_padding.x
}

/// How many chips stand beside each other in `room`, at least one, with room for `more` where some do not.
fn fitting(widths: &[f32], room: f32, more: f32) -> usize {
    let end = |count: usize| widths.iter().take(count).map(|width| width + GAP).sum::<f32>() - GAP;
    if end(widths.len()) <= room {
        return widths.len();
    }
    (1..widths.len()).rev().find(|count| end(*count) + GAP + more <= room).unwrap_or(1)
}

/// What can be done with the runs of a tag.
pub(super) fn tag_menu_ui(ui: &mut Ui, tag: &str) -> Option<TagWish> {
    let mut wish = None;
    let compare = ui.button(format!("Compare \"{tag}\"")).on_hover_text("Shows only the runs of this tag, in Compare");
    if compare.clicked() {
        wish = Some(TagWish::Compare(tag.to_owned()));
        ui.close();
    }
    if ui.button(format!("List only \"{tag}\"")).on_hover_text("Filters the table by this tag").clicked() {
        wish = Some(TagWish::Filter(tag.to_owned()));
        ui.close();
    }
    wish
}

/// The filter that finds the runs of a tag.
pub(super) fn filter_of(tag: &str) -> String {
    let quote = if tag.contains('"') { '\'' } else { '"' };
    format!("tag={quote}{tag}{quote}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_chips_stand_there_as_have_room_and_the_rest_is_counted() {
        assert_eq!(fitting(&[], 100.0, 20.0), 0);
        assert_eq!(fitting(&[40.0, 57.0], 100.0, 20.0), 2);
        assert_eq!(fitting(&[40.0, 58.0], 100.0, 20.0), 1);
        assert_eq!(fitting(&[30.0, 30.0, 60.0], 100.0, 20.0), 2);
        assert_eq!(fitting(&[30.0, 50.0, 60.0], 100.0, 20.0), 1);
        assert_eq!(fitting(&[300.0, 50.0], 100.0, 20.0), 1, "one is there in any case");
    }
}
