use headroom_engine::speed::{Measurement, SideResult};
use serde::{Deserialize, Serialize};

use crate::{
    format,
    plot::{Axis, Quantity as Kind},
};

/// What the chart shows of a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Median time of a step.
    #[default]
    StepTime,
    /// Tokens a second.
    Tokens,
    /// Memory of the model.
    Memory,
    /// Predicted FLOPs over the measured time.
    Flops,
    /// Energy of a token.
    Energy,
    /// The most examples that fit into memory.
    LargestBatch,
}

impl Quantity {
    /// Every quantity, in menu order.
    pub const ALL: [Self; 6] =
        [Self::StepTime, Self::Tokens, Self::Memory, Self::Flops, Self::Energy, Self::LargestBatch];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::StepTime => "Step time",
            Self::Tokens => "Tokens per second",
            Self::Memory => "Peak memory",
            Self::Flops => "FLOP per second",
            Self::Energy => "Energy per token",
            Self::LargestBatch => "Largest batch",
        }
    }

    /// Its name in files.
    pub fn key(self) -> &'static str {
        match self {
            Self::StepTime => "step-time",
            Self::Tokens => "tokens-per-second",
            Self::Memory => "peak-memory",
            Self::Flops => "flop-per-second",
            Self::Energy => "energy-per-token",
            Self::LargestBatch => "largest-batch",
        }
    }

    /// Its value for a side of a point; none where it is not known.
    pub fn of(self, side: &SideResult) -> Option<f64> {
        if self == Self::LargestBatch {
            return side.largest_batch.map(|found| found.batch as f64);
        }
        self.of_measurement(side.outcome.measurement()?)
    }

    fn of_measurement(self, found: &Measurement) -> Option<f64> {
        match self {
            Self::StepTime => Some(found.step_secs.median),
            Self::Tokens => Some(found.tokens_per_sec()),
            Self::Memory => found.model_memory_bytes().map(|bytes| bytes as f64),
            Self::Flops => Some(found.flops_per_sec()),
            Self::Energy => found.token_joules(),
            Self::LargestBatch => None,
        }
    }

    /// The axis of a chart of it.
    pub fn axis(self) -> Axis {
        let axis = Axis::new(self.name());
        match self {
            Self::StepTime => axis.unit("s"),
            Self::Tokens => axis.unit("tokens/s").quantity(Kind::Count),
            Self::Memory => axis.quantity(Kind::Bytes),
            Self::Flops => axis.unit("FLOP/s").quantity(Kind::Flops),
            Self::Energy => axis.unit("J"),
            Self::LargestBatch => axis.unit("examples").quantity(Kind::Count),
        }
    }
}

/// Seconds of a step as people compare them: "12.34 ms".
pub fn millis(seconds: f64) -> String {
    format!("{} ms", format::significant(seconds * 1e3, 4))
}
