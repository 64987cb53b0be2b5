use egui::{Pos2, Rect, Vec2, pos2, vec2};

use crate::plot::HeatAxis;

/// Width of a letter beside the map.
pub(super) const LETTER: f32 = 6.2;
/// Height of a line of letters beside the map.
pub(super) const LINE: f32 = 13.0;
/// Room between letters and map.
pub(super) const GAP: f32 = 5.0;
/// Width of the colour bar.
const BAR: f32 = 12.0;
/// The colour bar with its numbers, and the room before it.
const BAR_ROOM: f32 = 94.0;
/// The largest cell of a map that is not zoomed in.
const LARGEST: f32 = 110.0;
/// A cell cannot be zoomed in beyond this size.
const ZOOMED: f32 = 140.0;

/// Where the parts of a heat map stand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct HeatLayout {
    /// All of it.
    pub outer: Rect,
    /// The cells.
    pub plot: Rect,
    /// The colour bar.
    pub bar: Option<Rect>,
}

/// Room of the title of an axis.
pub(super) fn titled(axis: &HeatAxis) -> f32 {
    if axis.title.is_empty() { 0.0 } else { LINE + 5.0 }
}

/// Width of the title and the names of rows.
fn before(axis: &HeatAxis, rows: usize) -> f32 {
    let names = axis.longest(rows) as f32 * LETTER;
    titled(axis) + if names > 0.0 { names + GAP } else { 0.0 }
}

/// Points of the width of a map that are not cells.
pub(super) fn beside_cells(axis: &HeatAxis, rows: usize, has_bar: bool) -> f32 {
    before(axis, rows) + if has_bar { BAR_ROOM } else { 0.0 } + 1.0
}

/// How the names of so many columns of this width stand above them: whether they lie, and of how many columns one is named.
pub(super) fn column_names(axis: &HeatAxis, count: usize, width: f32) -> (bool, Option<usize>) {
    let widest = axis.longest(count) as f32 * LETTER;
    let level = axis.every(width, widest + GAP);
    let is_level = level.is_some_and(|every| every == 1 || widest <= 4.0 * LETTER);
    (is_level, if is_level { level } else { axis.every(width, LINE - 1.0) })
}

impl HeatLayout {
    /// As large as `room` allows; cells are squares unless the map is stretched.
    pub fn new(
        (rows, columns): (usize, usize),
        (row_axis, column_axis): (&HeatAxis, &HeatAxis),
        room: Vec2,
        has_bar: bool,
        is_stretched: bool,
    ) -> Self {
        let left = before(row_axis, rows);
        let widest = column_axis.longest(columns) as f32 * LETTER;
        let bar_room = if has_bar { BAR_ROOM } else { 0.0 };
        let across = (room.x - beside_cells(row_axis, rows, has_bar)).max(16.0);
        let share = |room: f32, count: usize| (room / count.max(1) as f32).min(LARGEST);
        let cell_below = |above: f32| {
            let down = (room.y - above - 2.0).max(16.0);
            let cell = vec2(share(across, columns), share(down, rows));
            if is_stretched { cell } else { Vec2::splat(cell.min_elem()) }
        };
        let mut above = titled(column_axis) + if column_axis.has_labels() { LINE + GAP } else { 0.0 };
        // Names stand upright where a column, which may be narrow because there are many rows, is too narrow for them.
        if column_axis.has_labels() && !column_names(column_axis, columns, cell_below(above).x).0 {
            above = titled(column_axis) + widest + GAP;
        }
        let cell = cell_below(above);
        let size = vec2((cell.x * columns as f32).max(1.0), (cell.y * rows as f32).max(1.0));
        let plot = Rect::from_min_size(pos2(left, above), size);
        let bar = has_bar.then(|| {
            let height = size.y.max(60.0);
            Rect::from_min_size(pos2(plot.right() + 12.0, plot.top()), vec2(BAR, height))
        });
        let bottom = bar.map_or(plot.bottom(), |bar| bar.bottom().max(plot.bottom())) + 2.0;
        let outer = Rect::from_min_max(Pos2::ZERO, pos2(plot.right() + bar_room + 1.0, bottom));
        Self { outer, plot, bar }
    }

    /// The same with its left upper corner there.
    pub fn at(self, corner: Pos2) -> Self {
        let by = corner - self.outer.min;
        Self {
            outer: self.outer.translate(by),
            plot: self.plot.translate(by),
            bar: self.bar.map(|bar| bar.translate(by)),
        }
    }
}

/// The part of a map that is seen, in cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct View {
    /// Rows and columns of the whole map.
    whole: Vec2,
    /// The left upper corner that is seen.
    pub corner: Vec2,
    /// How much is seen.
    pub size: Vec2,
}

impl View {
    /// All of the map.
    pub fn whole(rows: usize, columns: usize) -> Self {
        let whole = vec2(columns.max(1) as f32, rows.max(1) as f32);
        Self { whole, corner: Vec2::ZERO, size: whole }
    }

    /// Whether a part is out of sight.
    pub fn is_zoomed(&self) -> bool {
        self.size.x < self.whole.x || self.size.y < self.whole.y
    }

    /// Points of a cell.
    pub fn cell(&self, plot: Rect) -> Vec2 {
        plot.size() / self.size
    }

    /// Where a place in cells is on the screen.
    pub fn to_screen(self, plot: Rect, at: Vec2) -> Pos2 {
        plot.min + (at - self.corner) * self.cell(plot)
    }

    /// Cells, as a rectangle on the screen.
    pub fn rect(&self, plot: Rect, (row, column): (usize, usize), rows: usize, columns: usize) -> Rect {
        let corner = vec2(column as f32, row as f32);
        let size = vec2(columns as f32, rows as f32);
        Rect::from_min_max(self.to_screen(plot, corner), self.to_screen(plot, corner + size))
    }

    /// The cell under a point: row, column.
    pub fn cell_at(&self, plot: Rect, at: Pos2) -> Option<(usize, usize)> {
        if !plot.contains(at) {
            return None;
        }
        let place = self.corner + (at - plot.min) / self.cell(plot);
        let (row, column) = (place.y.max(0.0) as usize, place.x.max(0.0) as usize);
        ((row as f32) < self.whole.y && (column as f32) < self.whole.x).then_some((row, column))
    }

    /// The rows and columns that are seen at least in part.
    pub fn seen(&self) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
        let range = |from: f32, size: f32, whole: f32| {
            (from.max(0.0) + 1e-3) as usize..((from + size - 1e-3).ceil().min(whole).max(0.0) as usize)
        };
        (range(self.corner.y, self.size.y, self.whole.y), range(self.corner.x, self.size.x, self.whole.x))
    }

    /// Moved by so many cells, as far as there are any.
    pub fn moved(mut self, by: Vec2) -> Self {
        self.corner += by;
        self.held()
    }

    /// Magnified around a point.
    pub fn zoomed(mut self, plot: Rect, factor: f32, around: Pos2) -> Self {
        let least = (plot.size() / ZOOMED).min(self.whole);
        let share = (around - plot.min) / plot.size();
        let fixed = self.corner + self.size * share;
        // One factor for both sides, so that cells keep their shape.
        let smallest = (least / self.whole).max_elem().min(1.0);
        let scale = (self.size.x / self.whole.x / factor).clamp(smallest, 1.0);
        self.size = self.whole * scale;
        self.corner = fixed - self.size * share;
        self.held()
    }

    /// With this cell in sight.
    pub fn showing(mut self, (row, column): (usize, usize)) -> Self {
        let cell = vec2(column as f32, row as f32);
        self.corner = self.corner.min(cell).max(cell + Vec2::splat(1.0) - self.size);
        self.held()
    }

    fn held(mut self) -> Self {
        self.corner = self.corner.max(Vec2::ZERO).min(self.whole - self.size);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_maps_have_large_cells_and_large_ones_fit() {
        let layers = HeatAxis::numbered("Layer", "L");
        let room = vec2(800.0, 600.0);
        let small = HeatLayout::new((4, 4), (&layers, &layers), room, true, false);
        assert_eq!(small.plot.size(), Vec2::splat(4.0 * LARGEST));
        let large = HeatLayout::new((4096, 1024), (&layers, &layers), room, true, false);
        assert!(large.outer.width() <= room.x && large.outer.height() <= room.y, "{large:?}");
        assert!((large.plot.height() / large.plot.width() - 4.0).abs() < 1e-3, "cells are squares");
        let stretched = HeatLayout::new((6, 256), (&layers, &HeatAxis::plain("k")), room, true, true);
        assert!(stretched.plot.height() > 300.0 && stretched.outer.width() <= room.x);
        let none = HeatLayout::new((0, 0), (&layers, &layers), room, false, false);
        assert!(none.plot.width() >= 1.0 && none.bar.is_none());
    }

    #[test]
    fn points_find_their_cells_at_every_zoom() {
        let plot = Rect::from_min_size(pos2(10.0, 20.0), vec2(300.0, 200.0));
        let mut view = View::whole(200, 300);
        assert!(!view.is_zoomed());
        for _ in 0..6 {
            view = view.zoomed(plot, 1.7, pos2(250.0, 60.0));
            let (rows, columns) = view.seen();
            for (row, column) in [(rows.start, columns.start), (rows.end - 1, columns.end - 1)] {
                let middle = view.rect(plot, (row, column), 1, 1).intersect(plot).center();
                assert_eq!(view.cell_at(plot, middle), Some((row, column)));
            }
        }
        assert!(view.is_zoomed() && view.cell(plot).x <= ZOOMED + 1e-3);
        let before = view.to_screen(plot, vec2(240.0, 40.0));
        let more = view.zoomed(plot, 1.01, before);
        assert!((more.to_screen(plot, vec2(240.0, 40.0)) - before).length() < 0.5, "what is pointed at stays");
        assert_eq!(view.moved(vec2(1e9, 1e9)).seen().0.end, 200);
        assert_eq!(view.moved(vec2(-1e9, -1e9)).seen().1.start, 0);
        assert!(view.showing((0, 299)).seen().1.contains(&299));
        assert_eq!(view.zoomed(plot, 1e-9, plot.center()), View::whole(200, 300));
        assert_eq!(view.cell_at(plot, pos2(0.0, 0.0)), None);
    }
}
