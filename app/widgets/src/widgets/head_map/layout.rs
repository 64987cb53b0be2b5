use egui::{Pos2, Rect, Vec2, pos2, vec2};

use super::HeadSpot;

/// Between two cells.
const GAP: f32 = 2.0;
/// Smallest cell: more heads than fit are scrolled to.
const SMALLEST: Vec2 = vec2(15.0, 13.0);
/// Largest cell.
const LARGEST: Vec2 = vec2(52.0, 26.0);
/// Room that a cell needs to hold letters.
const LETTERED: Vec2 = vec2(26.0, 15.0);
/// Column of layer numbers at the left.
const NUMBERS: f32 = 26.0;
/// Row of head numbers at the top.
const HEADS: f32 = 16.0;
/// Length of an arrow's head.
const TIP: f32 = 7.0;

/// Where the cells of a head map stand. Layer 0 is at the top, head 0 at the left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadLayout {
    layers: usize,
    heads: usize,
    cell: Vec2,
    corner: Pos2,
}

impl HeadLayout {
    /// As large as `room` allows, within reason.
    pub fn new(layers: usize, heads: usize, room: Vec2) -> Self {
        let share = |room: f32, count: usize, small: f32, large: f32| {
            (room / count.max(1) as f32 - GAP).floor().clamp(small, large)
        };
        let cell = vec2(
            share(room.x - NUMBERS, heads, SMALLEST.x, LARGEST.x),
            share(room.y - HEADS, layers, SMALLEST.y, LARGEST.y),
        );
        Self { layers, heads, cell, corner: Pos2::ZERO }
    }

    /// The same with its left upper corner there.
    #[must_use]
    pub fn at(self, corner: Pos2) -> Self {
        Self { corner, ..self }
    }

    /// What the whole map takes, numbers included.
    pub fn size(&self) -> Vec2 {
        let step = self.step();
        vec2(NUMBERS + step.x * self.heads as f32, HEADS + step.y * self.layers as f32)
    }

    fn step(&self) -> Vec2 {
        self.cell + Vec2::splat(GAP)
    }

    /// Size of a cell.
    pub fn cell_size(&self) -> Vec2 {
        self.cell
    }

    /// Whether letters fit into a cell.
    pub fn is_lettered(&self) -> bool {
        self.cell.x >= LETTERED.x && self.cell.y >= LETTERED.y
    }

    /// The cell of a head.
    pub fn cell_rect(&self, at: HeadSpot) -> Rect {
        let step = self.step();
        let corner = self.corner + vec2(NUMBERS + step.x * at.head as f32, HEADS + step.y * at.layer as f32);
        Rect::from_min_size(corner, self.cell)
    }

    /// The place of a layer's number, left of its cells.
    pub fn layer_label(&self, layer: usize) -> Pos2 {
        let cell = self.cell_rect(HeadSpot::new(layer, 0));
        pos2(cell.left() - 6.0, cell.center().y)
    }

    /// The place of a head's number, above its column.
    pub fn head_label(&self, head: usize) -> Pos2 {
        let cell = self.cell_rect(HeadSpot::new(0, head));
        pos2(cell.center().x, self.corner.y + HEADS * 0.5)
    }

    /// Every how many heads a number fits above the columns.
    pub fn head_label_every(&self) -> usize {
        let width = if self.heads > 100 { 30.0 } else { 23.0 };
        (width / self.step().x).ceil().max(1.0) as usize
    }

    /// The head under a point; gaps belong to the cell before them.
    pub fn head_at(&self, point: Pos2) -> Option<HeadSpot> {
        let offset = point - self.corner - vec2(NUMBERS, HEADS);
        if offset.x < 0.0 || offset.y < 0.0 {
            return None;
        }
        let step = self.step();
        let at = HeadSpot::new((offset.y / step.y) as usize, (offset.x / step.x) as usize);
        (at.layer < self.layers && at.head < self.heads).then_some(at)
    }

    /// The layers and heads that are in sight: first and one past the last.
    pub fn in_sight(&self, clip: Rect) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
        let step = self.step();
        let first = |offset: f32, step: f32, count: usize| ((offset / step).max(0.0) as usize).min(count);
        let corner = self.corner + vec2(NUMBERS, HEADS);
        let (from, to) = (clip.min - corner, clip.max - corner);
        (
            first(from.y, step.y, self.layers)..first(to.y + step.y, step.y, self.layers),
            first(from.x, step.x, self.heads)..first(to.x + step.x, step.x, self.heads),
        )
    }

    /// An arrow from one cell to another, from near the middle of the one to near the middle of the other: neighbours
    /// stand too close for an arrow between their edges.
    pub fn arrow(&self, from: HeadSpot, to: HeadSpot) -> Arrow {
        let (from, to) = (self.cell_rect(from), self.cell_rect(to));
        let (start, end) = (from.center(), to.center());
        let along = (end - start).normalized();
        Arrow::between(start + along * (inside(from, along) * 0.3), end - along * (inside(to, along) * 0.4))
    }
}

/// How far from the middle of a box its edge is in this direction.
fn inside(rect: Rect, along: Vec2) -> f32 {
    let half = rect.size() * 0.5;
    let reach = |half: f32, part: f32| if part.abs() < 1e-3 { f32::INFINITY } else { half / part.abs() };
    reach(half.x, along.x).min(reach(half.y, along.y)).min(rect.size().length())
}

/// A line with a triangle at its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrow {
    /// Where it begins.
    pub start: Pos2,
    /// Where its line ends: at the foot of the triangle.
    pub foot: Pos2,
    /// The triangle; its first corner is the tip.
    pub tip: [Pos2; 3],
}

impl Arrow {
    /// An arrow from a point to another.
    pub fn between(start: Pos2, end: Pos2) -> Self {
        let length = (end - start).length();
        let along = (end - start).normalized();
        let tip = TIP.min(length);
        let foot = end - along * tip;
        let across = along.rot90() * (tip * 0.55);
        Self { start, foot, tip: [end, foot + across, foot - across] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_heads_get_large_cells_and_many_shrink_before_they_scroll() {
        let room = vec2(380.0, 340.0);
        let few = HeadLayout::new(4, 4, room);
        assert_eq!(few.cell_size(), LARGEST);
        assert!(few.is_lettered());
        let many = HeadLayout::new(24, 16, room);
        assert!(many.size().x <= room.x, "24 x 16 fits: {:?}", many.size());
        assert!(many.cell_size().y >= SMALLEST.y && many.size().y < 400.0);
        let huge = HeadLayout::new(256, 1024, room);
        assert_eq!(huge.cell_size(), SMALLEST);
        assert!(!huge.is_lettered() && huge.size().x > room.x);
        assert!(huge.head_label_every() > 1);
        assert_eq!(HeadLayout::new(0, 0, room).head_at(pos2(30.0, 30.0)), None);
    }

    #[test]
    fn points_find_their_heads_and_layer_0_is_on_top() {
        let layout = HeadLayout::new(3, 5, vec2(300.0, 300.0)).at(pos2(100.0, 50.0));
        for layer in 0..3 {
            for head in 0..5 {
                let at = HeadSpot::new(layer, head);
                assert_eq!(layout.head_at(layout.cell_rect(at).center()), Some(at));
            }
        }
        assert!(layout.layer_label(0).y < layout.layer_label(1).y);
        assert_eq!(layout.head_at(layout.layer_label(1)), None);
        assert_eq!(layout.head_at(layout.head_label(1)), None);
        assert_eq!(layout.head_at(pos2(100.0, 50.0) + layout.size() + vec2(1.0, 1.0)), None);
    }

    #[test]
    fn only_what_is_in_sight_is_named() {
        let layout = HeadLayout::new(256, 1024, vec2(300.0, 300.0)).at(pos2(0.0, -1000.0));
        let (layers, heads) = layout.in_sight(Rect::from_min_size(Pos2::ZERO, vec2(300.0, 300.0)));
        assert!(layers.len() < 25 && heads.len() < 20, "{layers:?} {heads:?}");
        for layer in [layers.start, layers.end - 1] {
            let rect = layout.cell_rect(HeadSpot::new(layer, 0));
            assert!(rect.bottom() >= -4.0 && rect.top() <= 304.0, "{rect:?}");
        }
        assert_eq!(layout.head_at(pos2(150.0, 299.0)).map(|at| layers.contains(&at.layer)), Some(true));
        let away = layout.in_sight(Rect::from_min_size(pos2(0.0, 1e6), vec2(300.0, 300.0)));
        assert!(away.0.is_empty());
    }

    #[test]
    fn arrows_end_in_the_lender_and_point_at_it() {
        let layout = HeadLayout::new(4, 4, vec2(300.0, 300.0));
        let (borrower, lender) = (HeadSpot::new(3, 1), HeadSpot::new(2, 0));
        let arrow = layout.arrow(borrower, lender);
        assert!(layout.cell_rect(borrower).contains(arrow.start));
        assert!(layout.cell_rect(lender).contains(arrow.tip[0]));
        assert!(arrow.tip[0].y < arrow.foot.y, "upwards: layer 2 is above layer 3");
        let up = layout.arrow(HeadSpot::new(1, 0), HeadSpot::new(0, 0));
        assert!((up.start.x - up.tip[0].x).abs() < 1e-3);
        let (left, right) = (up.tip[1], up.tip[2]);
        assert!((left.x + right.x - 2.0 * up.foot.x).abs() < 1e-3, "the triangle is even");
    }
}
