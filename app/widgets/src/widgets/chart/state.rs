//! What a chart remembers between frames.

use std::collections::{BTreeMap, HashMap};

use egui::{Pos2, Vec2};

use super::line_cache::LineCache;
use crate::plot::XAxis;

/// The x ranges that charts of the same panel share: charts with the same kind of x zoom together, and the pointer's x
/// is marked in all of them. Keep one per panel.
#[derive(Clone, Debug, Default)]
pub struct SharedX {
    pub(super) ranges: BTreeMap<XAxis, (f64, f64)>,
    /// How often a zoomed range was given up: with it goes what charts had cut along y.
    pub(super) resets: BTreeMap<XAxis, u64>,
    /// Where the pointer is: kind, x value, pass of the frame that said so, chart that said so.
    pub(super) pointer: Option<(XAxis, f64, u64, egui::Id)>,
    gutter: Gutter,
}

/// The room left of the plots, which is equal where x is shared: the same x stands at the same place.
#[derive(Clone, Copy, Debug, Default)]
struct Gutter {
    /// The pass that is drawn.
    pass: u64,
    /// The most that a chart of it needed so far, and one of the pass before.
    most: f32,
    before: f32,
}

impl SharedX {
    /// The zoomed range of this kind of x in data values; `None` shows everything.
    pub fn range(&self, x: XAxis) -> Option<(f64, f64)> {
        self.ranges.get(&x).copied()
    }

    /// Zooms all charts of this kind of x; `None` resets them.
    pub fn set_range(&mut self, x: XAxis, range: Option<(f64, f64)>) {
        if let Some(range) = range {
            self.ranges.insert(x, range);
        } else if self.ranges.remove(&x).is_some() {
            *self.resets.entry(x).or_default() += 1;
        }
    }

    /// The room left of all plots, of which one needs so much.
    pub(super) fn gutter(&mut self, needed: f32, pass: u64) -> f32 {
        let Gutter { pass: known, most, before } = &mut self.gutter;
        if *known != pass {
            (*known, *before, *most) = (pass, std::mem::take(most), 0.0);
        }
        *most = most.max(needed);
        most.max(*before)
    }

    pub(super) fn resets(&self, x: Option<XAxis>) -> u64 {
        x.and_then(|x| self.resets.get(&x)).copied().unwrap_or_default()
    }
}

/// How a drag over the chart began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Drag {
    /// Spanning a box from here.
    Box(Pos2),
    /// Moving the view.
    Pan,
}

/// A zoomed range; none where all is shown.
type Range = Option<(f64, f64)>;

/// The memory of one chart: its zoom and its caches. Keep one per chart; it may be dropped at any time.
#[derive(Default)]
pub struct ChartState {
    /// Zoomed x range in data values, for charts that are not linked.
    pub(super) x: Range,
    /// Zoomed y range in data values.
    pub(super) y: Range,
    /// [`SharedX::resets`] when y was zoomed.
    pub(super) y_since: u64,
    /// What the zoom is of, and the zooms of what else was shown: x, y, `y_since`.
    of: String,
    others: BTreeMap<String, (Range, Range, u64)>,
    pub(super) drag: Option<Drag>,
    /// The line that was clicked and when, in a chart that is zoomed: it is reported once a second click can no longer make it a
    /// double click, which shows everything again.
    pub(super) click: Option<(u64, f64)>,
    /// Size of the plot area in the last frame, for the choice of ticks.
    pub(super) size: Vec2,
    /// By (line id, generation of its series).
    pub(super) lines: HashMap<(u64, u64), LineCache>,
    /// The range without outliers and what it was computed from.
    pub(super) outliers: Option<(u64, Option<(f64, f64)>)>,
    pub(super) rebuilt: u64,
    /// The view of the last frame, as bits of its bounds: while it changes, many lines are drawn more roughly.
    pub(super) view: Option<[u64; 4]>,
}

impl ChartState {
    /// True when the user zoomed this chart along y, or an unlinked one along x.
    pub fn is_zoomed(&self) -> bool {
        self.x.is_some() || self.y.is_some()
    }

    /// Says what is shown from now on, for a chart that shows now this and now that: a zoom belongs to what it was made in.
    pub fn turn_to(&mut self, what: &str) {
        if self.of == what {
            return;
        }
        let before = std::mem::replace(&mut self.of, what.to_owned());
        let zoom = (self.x.take(), self.y.take(), self.y_since);
        if zoom.0.is_some() || zoom.1.is_some() {
            self.others.insert(before, zoom);
        }
        if let Some(zoom) = self.others.remove(what) {
            (self.x, self.y, self.y_since) = zoom;
        }
    }

    /// Shows everything again.
    pub fn reset(&mut self) {
        self.x = None;
        self.y = None;
    }

    /// Shows everything again, of what else is shown here at other times too.
    pub fn reset_all(&mut self) {
        self.reset();
        self.others.clear();
    }

    /// How many meshes were built since the start: stands still while nothing changes. For tests and benchmarks.
    pub fn rebuilt(&self) -> u64 {
        self.rebuilt
    }
}

impl std::fmt::Debug for ChartState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChartState")
            .field("x", &self.x)
            .field("y", &self.y)
            .field("lines", &self.lines.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zoom_comes_back_with_what_it_was_made_in() {
        let mut state = ChartState::default();
        state.turn_to("loss");
        (state.x, state.y, state.y_since) = (Some((1.0, 2.0)), Some((3.0, 4.0)), 5);
        state.turn_to("accuracy");
        assert!(!state.is_zoomed());
        state.y = Some((0.5, 0.9));
        state.turn_to("loss");
        assert_eq!((state.x, state.y, state.y_since), (Some((1.0, 2.0)), Some((3.0, 4.0)), 5));
        state.reset();
        state.turn_to("accuracy");
        assert_eq!(state.y, Some((0.5, 0.9)));
        state.turn_to("loss");
        assert!(!state.is_zoomed(), "it was given up");
        state.reset_all();
        state.turn_to("accuracy");
        assert!(!state.is_zoomed());
    }
}
