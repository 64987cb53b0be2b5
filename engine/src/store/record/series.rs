use serde::{Deserialize, Serialize};

use crate::objective::Direction;

/// The series that every run logs; what an evaluation measures beside the loss, its objective names. Others may be added
/// freely, with a `/` between group and name. `objective` describes them.
pub mod series_names {
    /// Loss of the training batch, nats per predicted token.
    pub const TRAIN_LOSS: &str = "train/loss";
    /// Learning rate of the step.
    pub const TRAIN_LEARNING_RATE: &str = "train/learning_rate";
    /// Global norm of the gradient before clipping.
    pub const TRAIN_GRAD_NORM: &str = "train/grad_norm";
    /// Tokens trained on a second.
    pub const TRAIN_TOKENS_PER_SEC: &str = "train/tokens_per_sec";
    /// Loss on the held-out split, nats per predicted token.
    pub const VALIDATION_LOSS: &str = "validation/loss";
    /// Mean similarity of the most similar heads of neighbouring layers on the probe batch, 0 to 1.
    pub const PROBE_ADJACENT_SIMILARITY: &str = "probe/adjacent_similarity";
    /// The same for layers further apart.
    pub const PROBE_FAR_SIMILARITY: &str = "probe/far_similarity";
    /// Share of the energy of the network's scores on the probe batch in the largest 1 % of all eigenvalues, 0 to 1.
    pub const PROBE_ENERGY_IN_1_PERCENT: &str = "probe/energy_in_1_percent";
    /// Mean squared error of the scores that follow from some pairs as a share of their mean square, when the pairs were chosen;
    /// one point, 0 to 1.
    pub const COVERAGE_SCORE_ERROR: &str = "coverage/score_error";
    /// Share of the processors that the program uses, percent.
    pub const SYSTEM_CPU_PERCENT: &str = "system/cpu_percent";
    /// Memory that the program holds, bytes.
    pub const SYSTEM_MEMORY_BYTES: &str = "system/memory_bytes";
    /// The most memory that the program held while the run trained, bytes; one point, at the end.
    pub const SYSTEM_PEAK_MEMORY_BYTES: &str = "system/peak_memory_bytes";
    /// Memory in use on the run's GPU, bytes: by all programs on an NVIDIA GPU, by this one on an Apple GPU.
    pub const SYSTEM_GPU_MEMORY_BYTES: &str = "system/gpu_memory_bytes";
    /// Share of the last moments in which the run's GPU computed, percent.
    pub const SYSTEM_GPU_PERCENT: &str = "system/gpu_percent";
}

/// What the visible points of one series come to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeriesSummary {
    /// Value at the highest step; may be NaN or infinite (null in JSON).
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SeriesData {
    /// Optimiser step.
    pub steps: Vec<u64>,
    /// Value; may be NaN or infinite (null in JSON).
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
