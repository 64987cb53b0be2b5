//! Rows of points.

/// A point with its keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub run: i64,
    pub series: i64,
    pub attempt: i64,
    pub step: i64,
    pub value: f64,
    pub wall_ms: i64,
    pub tokens: i64,
}

impl Row {
    pub fn key(&self) -> (i64, i64, i64, i64) {
        (self.run, self.series, self.attempt, self.step)
    }
}

/// The newest attempt of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Newest {
    pub attempt: i64,
    /// Its first visible step.
    pub start: i64,
}
