//! The heads that are like a chosen one.

use egui::{Grid, Rect, RichText, ScrollArea, Sense, Ui, vec2};
use headroom_engine::{analysis::Similarity, attention::HeadAt};

use crate::{format, panels::analysis::head_name, theme};

/// Length of the bar of a similarity of 1.
const BAR: f32 = 120.0;
/// Height of the list, beyond which it scrolls.
const LISTED: f32 = 196.0;
/// Heads that are listed.
const MOST: usize = 64;

/// Draws the list; a click on a head chooses it.
pub fn heads_ui(ui: &mut Ui, similarity: &Similarity, head: &mut Option<HeadAt>) {
    let palette = theme::palette(ui.visuals());
    let Some(at) = *head else {
        let words = "Click a head in the groups, or one beside a pair of layers, to list the heads most similar to it.";
        ui.label(RichText::new(words).color(palette.weak));
        return;
    };
    let like = similarity.like(at);
    ui.horizontal(|ui| {
        ui.label(RichText::new(format!("Heads similar to {}", head_name(at))).color(palette.strong));
        if ui.small_button("Clear").on_hover_text("Esc").accessible_name("Clear the chosen head").clicked() {
            *head = None;
        }
    });
    if like.is_empty() {
        ui.label(format!("{} has no map of its own to compare.", head_name(at)));
        return;
    }
    let mut chosen = None;
    let scroll = ScrollArea::vertical().id_salt("like").max_height(LISTED).min_scrolled_height(LISTED);
    scroll.auto_shrink([true, true]).show(ui, |ui| {
        Grid::new("like").num_columns(3).spacing([10.0, 2.0]).show(ui, |ui| {
            for (other, value) in like.iter().take(MOST) {
                let name = head_name(*other);
                let button = ui.small_button(&name).on_hover_text("Lists the heads that are similar to this one");
                if button.accessible_name(format!("{name}, similarity {}", format::fixed(*value, 3))).clicked() {
                    chosen = Some(*other);
                }
                ui.label(format::fixed(*value, 3));
                let (rect, _) = ui.allocate_exact_size(vec2(BAR, 10.0), Sense::empty());
                let length = BAR * (*value as f32).clamp(0.0, 1.0);
                ui.painter().rect_filled(rect, 2.0, palette.grid);
                ui.painter().rect_filled(Rect::from_min_size(rect.min, vec2(length, 10.0)), 2.0, palette.accent);
                ui.end_row();
            }
        });
    });
    if like.len() > MOST {
        let more = like.len() - MOST;
        let are = if more == 1 { "is" } else { "are" };
        let more = format!("{} more {are} less similar.", format::count(more as u64));
        ui.label(RichText::new(more).small().color(palette.weak));
    }
    *head = chosen.or(*head);
}
