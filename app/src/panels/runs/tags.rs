use egui::{RichText, Ui};

/// What is wanted of a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TagWish {
    /// Its runs alone in Compare.
    Compare(String),
    /// Its runs alone in the table.
    Filter(String),
}

/// Draws the tags of a run as chips, each with a menu.
pub(super) fn tags_ui(ui: &mut Ui, tags: &[String], name: &str) -> Option<TagWish> {
    let mut wish = None;
    ui.spacing_mut().item_spacing.x = 3.0;
    ui.spacing_mut().button_padding.x = 5.0;
    for tag in tags {
        let menu = ui.menu_button(RichText::new(tag).small(), |ui| wish = wish.take().or_else(|| tag_menu_ui(ui, tag)));
        menu.response.on_hover_text(tag).accessible_name(format!("Tag {tag} of {name}"));
    }
    wish
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
