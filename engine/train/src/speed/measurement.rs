use serde::{Deserialize, Serialize};

use super::{GenerationMeasurement, MachineLimits, Setting, Spread, StepTime};
use crate::ops::profile::OperationTime;

/// Everything that a sweep has measured so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SweepResult {
    /// What the machine can do at most; none on a GPU, or before it was measured.
    pub limits: Option<MachineLimits>,
    /// The points that were measured, in their order.
    pub points: Vec<PointResult>,
    /// Whether every point was measured.
    pub is_complete: bool,
}

/// What came of one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointResult {
    /// The values of the axes.
    pub settings: Vec<Setting>,
    /// Side by side.
    pub sides: Vec<SideResult>,
    /// Whether the sides took their steps in turns; false where memory holds only one of them at a time.
    pub in_turns: bool,
    /// Processor cores that other programs used meanwhile, on average; none where the system did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_cores: Option<f64>,
}

impl PointResult {
    /// Other programs' share of a core from which on times are suspect: a quiet desktop stays below it.
    pub const QUIET_CORES: f64 = 0.15;

    /// The cores that other programs used, where it was so much that the times are suspect.
    pub fn disturbed_by(&self) -> Option<f64> {
        self.others_cores.filter(|cores| *cores > Self::QUIET_CORES)
    }
}

/// What came of one side of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SideResult {
    /// The side's name.
    pub side: String,
    /// What came of it.
    pub outcome: Outcome,
    /// The largest batch that fits into memory; none where nobody looked for it or it could not be found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_batch: Option<LargestBatch>,
}

/// What can come of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    /// Numbers of training steps.
    Measured(Box<Measurement>),
    /// Numbers of texts that were generated.
    Generated(Box<GenerationMeasurement>),
    /// The model does not fit into free memory.
    OutOfMemory {
        /// Estimated need in bytes.
        needed_bytes: u64,
        /// What was free.
        free_bytes: u64,
    },
    /// The config cannot be carried out.
    Invalid {
        /// Why, as a sentence.
        reason: String,
    },
    /// The attempt was made and failed.
    Failed {
        /// Why, as a sentence.
        reason: String,
    },
}

/// What was measured of one side of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Every step that counts.
    pub times: Vec<StepTime>,
    /// Of whole steps, in seconds.
    pub step_secs: Spread,
    /// Medians of the parts, in seconds.
    pub forward_secs: f64,
    /// Median of the backward passes.
    pub backward_secs: f64,
    /// Median of the optimiser.
    pub optimiser_secs: f64,
    /// Tokens of a step.
    pub tokens: u64,
    /// Trainable numbers.
    pub parameters: u64,
    /// FLOPs of a step by the cost model.
    pub predicted_flops: u64,
    /// Memory of a step by the cost model.
    pub predicted_memory_bytes: u64,
    /// The most memory that a whole process used while this side alone was trained; none where nobody tells.
    pub peak_memory_bytes: Option<u64>,
    /// What the process used before the model was built; the rest of the peak is the model's.
    pub program_memory_bytes: Option<u64>,
    /// Which process that was.
    #[serde(default)]
    pub memory_source: MemorySource,
    /// On a GPU: by how much its free memory fell.
    pub device_memory_bytes: Option<u64>,
    /// Energy of a step, in joules: of the whole GPU, or of the whole processor, over steps in a row. None where the
    /// device does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_joules: Option<f64>,
    /// What each kind of operation took in one step more.
    pub operations: Vec<OperationTime>,
}

/// Which process a peak of memory is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemorySource {
    /// One that did nothing else.
    OwnProcess,
    /// The one that measured everything: what its allocator kept of models before is part of the figure.
    #[default]
    SharedProcess,
}

impl MemorySource {
    /// The name in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OwnProcess => "own_process",
            Self::SharedProcess => "shared_process",
        }
    }
}

impl Measurement {
    /// Training speed by the median step.
    pub fn tokens_per_sec(&self) -> f64 {
        self.tokens as f64 / self.step_secs.median
    }

    /// Predicted FLOPs over the measured median.
    pub fn flops_per_sec(&self) -> f64 {
        self.predicted_flops as f64 / self.step_secs.median
    }

    /// Energy of a token in joules, where the device tells.
    pub fn token_joules(&self) -> Option<f64> {
        self.step_joules.map(|joules| joules / self.tokens as f64)
    }

    /// Memory that the model itself took: on a GPU the device's, else the peak without what the program had before.
    pub fn model_memory_bytes(&self) -> Option<u64> {
        self.device_memory_bytes
            .or_else(|| Some(self.peak_memory_bytes?.saturating_sub(self.program_memory_bytes.unwrap_or(0))))
    }

    /// Measured over predicted memory; 1 = the estimate is exact.
    pub fn memory_ratio(&self) -> Option<f64> {
        (self.predicted_memory_bytes > 0)
            .then(|| Some(self.model_memory_bytes()? as f64 / self.predicted_memory_bytes as f64))?
    }

    /// Products that the operations really did, over those predicted; none without a profile.
    pub fn flops_ratio(&self) -> Option<f64> {
        let done: u64 = self.operations.iter().map(|operation| operation.flops).sum();
        (done > 0 && self.predicted_flops > 0).then(|| done as f64 / self.predicted_flops as f64)
    }
}

impl Outcome {
    /// Whether there are numbers.
    pub fn is_measured(&self) -> bool {
        matches!(self, Self::Measured(_) | Self::Generated(_))
    }

    /// The numbers of generated texts, where there are any.
    pub fn generation(&self) -> Option<&GenerationMeasurement> {
        match self {
            Self::Generated(measurement) => Some(measurement),
            _ => None,
        }
    }

    /// The numbers of training steps, where there are any.
    pub fn measurement(&self) -> Option<&Measurement> {
        match self {
            Self::Measured(measurement) => Some(measurement),
            _ => None,
        }
    }

    /// Its kind in a word or two.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Measured(_) | Self::Generated(_) => "measured",
            Self::OutOfMemory { .. } => "out of memory",
            Self::Invalid { .. } => "invalid",
            Self::Failed { .. } => "failed",
        }
    }
}

impl PointResult {
    /// The point in words: each field with its value.
    pub fn label(&self) -> String {
        self.settings.iter().map(Setting::to_override).collect::<Vec<_>>().join(", ")
    }

    /// What came of a side.
    pub fn side(&self, name: &str) -> Option<&Outcome> {
        self.sides.iter().find(|side| side.side == name).map(|side| &side.outcome)
    }
}

/// The most examples of a forward pass that fit into memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LargestBatch {
    /// Examples; 0 = not even one fits.
    pub batch: usize,
    /// Estimated need at that batch in bytes; at one example where none fits.
    pub needed_bytes: u64,
    /// What may be used: a share of what was free, or less where that was asked for.
    pub free_bytes: u64,
    /// What was free on the device at the start; none where it does not tell.
    #[serde(default)]
    pub machine_free_bytes: Option<u64>,
    /// The most that a process held that took a step with it; none where no process of its own did.
    #[serde(default)]
    pub peak_memory_bytes: Option<u64>,
    /// Whether a step was really taken with it, or texts were generated.
    pub is_confirmed: bool,
    /// What that took, where texts were generated, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_secs: Option<f64>,
}

impl LargestBatch {
    /// Share of the memory that is free at the start which the estimate of a batch may take, in percent.
    pub const SHARE_PERCENT: u64 = 75;
    /// Share at which the process that tries a batch is ended: the rest is the machine's.
    pub const MOST_PERCENT: u64 = 80;
}
