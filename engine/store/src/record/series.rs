use serde::{Deserialize, Serialize};

use crate::{objective::Direction, text::floats};

/// What the visible points of one series come to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesSummary {
    /// Value at the highest step; may be NaN or infinite (null in JSON).
    #[serde(with = "floats")]
    pub last: f64,
    /// The highest step.
    pub last_step: u64,
    /// Best finite value; none for a series without a direction. Of what a run trains and is judged by only after its pairs
    /// were chosen, where it leaves out pairs: before that it was another model, which scored all of them.
    pub best: Option<f64>,
    /// Step of the best value: the first, if it was reached again.
    pub best_step: Option<u64>,
    /// Which values are the good ones.
    pub direction: Direction,
    /// Number of visible points.
    pub count: u64,
}

/// How far a reader has read one series. Give it back to read only what came after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    pub(crate) revision: i64,
    pub(crate) attempt: i64,
    pub(crate) step: i64,
}

/// Where a new attempt takes over in [`SeriesData`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// The attempt that takes over.
    pub attempt: u32,
    /// Its first step.
    pub first_step: u64,
    /// Index of its first point in the columns.
    pub index: usize,
}

/// Points of one series in step order, as columns of equal length. Only the newest attempt's points are here where
/// attempts overlap.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeriesData {
    /// Optimiser step.
    pub steps: Vec<u64>,
    /// Value; may be NaN or infinite (null in JSON).
    #[serde(with = "floats")]
    pub values: Vec<f64>,
    /// Milliseconds of training until then, as logged.
    pub wall_ms: Vec<u64>,
    /// Tokens trained on until then.
    pub tokens: Vec<u64>,
    /// Where resumed attempts take over, of the points given here.
    pub cuts: Vec<Cut>,
    /// True if these are all points, so that what was read before is to be thrown away. Always true without a cursor.
    pub is_whole: bool,
    /// Where to go on next time; none as long as nothing was logged.
    pub cursor: Option<Cursor>,
}

impl SeriesData {
    /// Number of points.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there is no point.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}
