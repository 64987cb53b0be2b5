use crate::plot::Scale;

/// The plot area and the way from data to it.
pub(super) struct Frame {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
    pub x: (Scale, f64, f64),
    pub y: (Scale, f64, f64),
}

impl Frame {
    /// The x of a value.
    pub fn x(&self, value: f64) -> f64 {
        let (scale, lo, hi) = self.x;
        self.left + (scale.forward(value) - lo) / (hi - lo) * (self.right - self.left)
    }

    /// The y of a value.
    pub fn y(&self, value: f64) -> f64 {
        let (scale, lo, hi) = self.y;
        // Far outside is as good as infinitely far, and every viewer can read it.
        let at = self.bottom - (scale.forward(value) - lo) / (hi - lo) * (self.bottom - self.top);
        at.clamp(self.top - 10_000.0, self.bottom + 10_000.0)
    }
}

/// A range that can be drawn on, in axis units, made up when the given one cannot.
pub(super) fn range(scale: Scale, (lo, hi): (f64, f64)) -> (f64, f64) {
    let (lo, hi) = (scale.forward(lo), scale.forward(hi));
    if lo.is_finite() && hi.is_finite() && lo < hi {
        (lo, hi)
    } else if lo.is_finite() && lo == hi {
        (lo - 0.5, lo + 0.5)
    } else {
        (0.0, 1.0)
    }
}
