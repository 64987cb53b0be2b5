use egui::{Align2, FontId, Pos2, Rect, RichText, ScrollArea, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};
use headroom_engine::{generate::BeamNode, protocol::WrittenText};

use crate::{format, panels::live::drawable, theme};

/// Width of a step and height of a row.
const CELL: [f32; 2] = [86.0, 22.0];
/// Height of the drawing before it scrolls.
const MOST_HEIGHT: f32 = 330.0;
/// Prefixes that are drawn at most; a frame has time for no more.
const MOST_NODES: usize = 20_000;
/// Letters of a token that are shown.
const LETTERS: usize = 9;

/// Where a prefix stands, and what became of it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Placed {
    /// Tokens before it.
    step: usize,
    /// Its row among those of its step.
    row: usize,
    fate: Fate,
}

/// What became of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It is the beginning of the result, or all of it.
    Result,
    /// It ended, and another text is better.
    Ended,
    /// Others go on from it, or it was still followed when the search ended.
    Followed,
    /// Better ones took its place.
    Dropped,
}

/// Steps and rows of all prefixes; `tokens` are those of the result.
fn placed(tree: &[BeamNode], tokens: &[u32]) -> Vec<Placed> {
    let mut found: Vec<Placed> = Vec::with_capacity(tree.len());
    let mut rows: Vec<usize> = Vec::new();
    let mut goes_on = vec![false; tree.len()];
    // Whether a prefix is the beginning of the result: its parent is, and its token is the next one.
    let mut is_of_result: Vec<bool> = Vec::with_capacity(tree.len());
    for node in tree {
        let parent = node.parent.and_then(|parent| found.get(parent));
        let step = parent.map_or(0, |parent| parent.step + 1);
        if rows.len() <= step {
            rows.resize(step + 1, 0);
        }
        let row = rows.get_mut(step).map_or(0, |count| {
            *count += 1;
            *count - 1
        });
        if let Some(goes_on) = node.parent.and_then(|parent| goes_on.get_mut(parent)) {
            *goes_on = true;
        }
        let after_result = node.parent.is_none_or(|parent| is_of_result.get(parent) == Some(&true));
        is_of_result.push(after_result && tokens.get(step) == Some(&node.token));
        found.push(Placed { step, row, fate: Fate::Dropped });
    }
    for (((place, node), goes_on), is_of_result) in found.iter_mut().zip(tree).zip(goes_on).zip(is_of_result) {
        place.fate = match (node.score, goes_on || node.is_running) {
            _ if is_of_result => Fate::Result,
            (Some(_), _) => Fate::Ended,
            (None, true) => Fate::Followed,
            (None, false) => Fate::Dropped,
        };
    }
    found
}

/// Draws the prefixes that beams followed, step by step from left to right.
pub fn beams_ui(ui: &mut Ui, text: &WrittenText, second: bool) {
    let palette = theme::palette(ui.visuals());
    if text.tree.len() > MOST_NODES {
        let words = format!(
            "{} prefixes were followed: too many to be drawn. \"Export…\" writes all of them as JSON.",
            format::count(text.tree.len() as u64)
        );
        ui.label(RichText::new(words).color(palette.weak));
        return;
    }
    let places = placed(&text.tree, &text.tokens);
    let count = |fate: Fate| places.iter().filter(|place| place.fate == fate).count() as u64;
    let ended = text.tree.iter().filter(|node| node.score.is_some()).count() as u64;
    let words = format!(
        "{} were followed, {} of them given up, {} ended. Coloured: the result. Struck through: given up. A score stands behind what ended.",
        if places.len() == 1 {
            "1 prefix".to_owned()
        } else {
            format!("{} prefixes", format::count(places.len() as u64))
        },
        format::count(count(Fate::Dropped)),
        format::count(ended),
    );
    ui.label(RichText::new(words).small().color(palette.weak));
    let steps = places.iter().map(|place| place.step + 1).max().unwrap_or(0);
    let rows = places.iter().map(|place| place.row + 1).max().unwrap_or(0);
    let [width, height] = CELL;
    let scroll = ScrollArea::both().id_salt(("beams", second)).max_height(MOST_HEIGHT).auto_shrink([false, true]);
    scroll.show_viewport(ui, |ui, seen| {
        let size = vec2(steps as f32 * width + 60.0, rows as f32 * height + 4.0);
        let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
        response.widget_info(|| WidgetInfo::labeled(egui::Role::Figure, true, "Tree of beams".to_owned()));
        let painter = ui.painter_at(rect.intersect(ui.clip_rect()));
        let at =
            |place: &Placed| -> Pos2 { rect.min + vec2(place.step as f32 * width, (place.row as f32 + 0.5) * height) };
        let is_seen = |place: &Placed| {
            let left = place.step as f32 * width;
            left + 2.0 * width >= seen.left() && left - width <= seen.right()
        };
        let mut hovered = None;
        for ((place, node), piece) in places.iter().zip(&text.tree).zip(&text.tree_pieces) {
            if !is_seen(place) {
                continue;
            }
            let here = at(place);
            let (colour, thickness) = match place.fate {
                Fate::Result => (palette.accent, 2.5),
                Fate::Ended | Fate::Followed => (palette.text, 1.0),
                Fate::Dropped => (palette.weak, 0.7),
            };
            if let Some(parent) = node.parent.and_then(|parent| places.get(parent)) {
                let from = at(parent) + vec2(width - 14.0, 0.0);
                painter.line_segment([from, here - vec2(3.0, 0.0)], Stroke::new(thickness, colour));
            }
            let letters: String = piece.chars().take(LETTERS).collect();
            let mut words = drawable(ui, &letters).0.replace('\n', " ");
            if let Some(score) = node.score {
                words = format!("{words} {}", format::fixed(score, 2));
            }
            let size = if place.fate == Fate::Result { 13.0 } else { 12.0 };
            let drawn = painter.text(here, Align2::LEFT_CENTER, words, FontId::proportional(size), colour);
            if place.fate == Fate::Dropped {
                let line = [drawn.left_center(), drawn.right_center()];
                painter.line_segment(line, Stroke::new(0.7, colour));
            }
            let cell = Rect::from_min_size(pos2(here.x, here.y - height / 2.0), vec2(width, height));
            if response.hover_pos().is_some_and(|at| cell.contains(at)) {
                hovered = Some((node, piece, place.fate));
            }
        }
        if let Some((node, piece, fate)) = hovered {
            let became = match fate {
                Fate::Result => "part of the result",
                Fate::Ended => "it ended; another text is better",
                Fate::Followed => "others went on from it, or it was still followed",
                Fate::Dropped => "given up for better ones",
            };
            let score = node.score.map_or_else(String::new, |score| format!(", score {}", format::fixed(score, 4)));
            let group = if text.tree.iter().any(|node| node.group > 0) {
                format!("group {}, ", node.group + 1)
            } else {
                String::new()
            };
            response.on_hover_text(format!(
                "\"{}\": {group}log-probability {} nats so far{score}; {became}",
                drawable(ui, piece).0,
                format::fixed(node.log_probability, 4)
            ));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(parent: Option<usize>, token: u32, score: Option<f64>) -> BeamNode {
        BeamNode { parent, token, group: 0, log_probability: -1.0, score, is_running: false }
    }

    #[test]
    fn prefixes_stand_in_their_step_and_tell_their_fate() {
        let tree = [
            node(None, 5, None),
            node(None, 6, None),
            node(Some(0), 7, None),
            node(Some(0), 9, Some(-0.5)),
            node(Some(2), 9, Some(-0.7)),
            node(Some(2), 8, None),
        ];
        let found = placed(&tree, &[5, 9]);
        let places: Vec<(usize, usize)> = found.iter().map(|place| (place.step, place.row)).collect();
        assert_eq!(places, [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]);
        let fates: Vec<Fate> = found.iter().map(|place| place.fate).collect();
        assert_eq!(fates, [Fate::Result, Fate::Dropped, Fate::Followed, Fate::Result, Fate::Ended, Fate::Dropped]);
    }
}
