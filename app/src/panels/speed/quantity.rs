use headroom_engine::speed::Measurement;
use serde::{Deserialize, Serialize};

use crate::widgets::{Axis, Quantity as Kind, format};

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
}

impl Quantity {
    /// Every quantity, in menu order.
    pub const ALL: [Self; 4] = [Self::StepTime, Self::Tokens, Self::Memory, Self::Flops];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::StepTime => "Step time",
            Self::Tokens => "Tokens per second",
            Self::Memory => "Peak memory",
            Self::Flops => "FLOP per second",
        }
    }

    /// The value of a measurement; none where it is not known.
    pub fn of(self, found: &Measurement) -> Option<f64> {
        match self {
            Self::StepTime => Some(found.step_secs.median),
            Self::Tokens => Some(found.tokens_per_sec()),
            Self::Memory => found.model_memory_bytes().map(|bytes| bytes as f64),
            Self::Flops => Some(found.flops_per_sec()),
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
        }
    }
}

/// Seconds of a step as people compare them: "12.34 ms".
pub fn millis(seconds: f64) -> String {
    format!("{} ms", format::significant(seconds * 1e3, 4))
}
