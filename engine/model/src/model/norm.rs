use candle_core::{Result, Tensor, bail};

use crate::ops::{self, Norm};

/// A norm of the stream.
#[derive(Clone, Debug)]
pub(super) enum StreamNorm {
    /// By mean and variance.
    Layer(Norm),
    /// By the mean square.
    Rms {
        /// `[d]`
        gain: Tensor,
        /// Added to the mean square.
        epsilon: f64,
    },
}

impl StreamNorm {
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        match self {
            Self::Layer(norm) => norm.forward(x),
            Self::Rms { gain, epsilon } => ops::rms_norm(x, gain, *epsilon),
        }
    }

    /// The one that single operations know.
    pub fn layer(&self) -> Result<&Norm> {
        match self {
            Self::Layer(norm) => Ok(norm),
            Self::Rms { .. } => bail!("A norm by the mean square is no part of a single operation."),
        }
    }
}
