use egui::{Align2, Color32, FontId, Painter, Rect, vec2};

use super::{HeadSpot, group_letters};
use crate::theme;

/// Below this width of a cell a mark is a stripe without its letter, in points.
const LETTERED: f32 = 30.0;

/// Groups of heads that are marked on a head map beside what each head does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeadMarks {
    /// Heads of each group.
    pub groups: Vec<Vec<HeadSpot>>,
    /// What being in one of them means: "similar in grammar encoder".
    pub words: String,
}

impl HeadMarks {
    /// The group of a head, counted from 0.
    pub fn group(&self, at: HeadSpot) -> Option<usize> {
        self.groups.iter().position(|group| group.contains(&at))
    }

    /// What a head's mark says; nothing where it has none.
    pub fn words(&self, at: HeadSpot) -> Option<String> {
        let letters = group_letters(self.group(at)?);
        Some(format!("group {letters}, {}", self.words))
    }
}

/// A stripe in the colour of the group at the right of a cell, with its letter where there is room.
pub(super) fn paint_mark(painter: &Painter, rect: Rect, group: usize, around: Color32) {
    let is_lettered = rect.width() >= LETTERED;
    let width = if is_lettered { 12.0 } else { (rect.width() * 0.3).clamp(3.0, 6.0) };
    let stripe = Rect::from_min_max(rect.right_top() - vec2(width, 0.0), rect.right_bottom());
    let fill = theme::run_colour(group as u64);
    painter.rect_filled(stripe, 2.0, fill);
    painter.vline(stripe.left(), stripe.y_range(), egui::Stroke::new(1.0, around));
    if is_lettered {
        let font = FontId::proportional(10.0);
        painter.text(stripe.center(), Align2::CENTER_CENTER, group_letters(group), font, theme::ink(fill));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_names_its_group() {
        let at = HeadSpot::new;
        let groups = vec![vec![at(0, 0), at(1, 2)], vec![at(2, 1)]];
        let marks = HeadMarks { groups, words: "alike in a run".to_owned() };
        assert_eq!((marks.group(at(1, 2)), marks.group(at(2, 1)), marks.group(at(0, 1))), (Some(0), Some(1), None));
        assert_eq!(marks.words(at(2, 1)).as_deref(), Some("group B, alike in a run"));
        assert_eq!(marks.words(at(0, 1)), None);
    }
}
