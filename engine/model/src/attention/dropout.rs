use candle_core::{Result, Tensor};

use crate::ops::{self, BlockDropout, DropoutStream};

/// Dropout of one forward pass: a probability, and which masks are drawn.
///
/// Every place in a model has a site number of its own, so that masks are independent and yet a function of seed,
/// step and site alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// Probability that an element becomes zero.
    pub probability: f64,
    /// Seed and step of the masks; none = no dropout (evaluation).
    pub draw: Option<(u64, u64)>,
}

impl Dropout {
    /// The mask of `site` for an operation that applies it itself; none where there is no dropout.
    pub fn block(&self, site: u32) -> Option<BlockDropout> {
        let (seed, step) = self.draw.filter(|_| self.probability > 0.0)?;
        Some(BlockDropout { probability: self.probability, stream: DropoutStream { seed, step, site } })
    }

    /// Drops elements of `x` by the mask of `site`; `x` itself where there is no dropout.
    pub fn apply(&self, x: &Tensor, site: u32) -> Result<Tensor> {
        match self.draw {
            Some((seed, step)) if self.probability > 0.0 => {
                ops::dropout(x, self.probability, &DropoutStream { seed, step, site })
            }
            _ => Ok(x.clone()),
        }
    }
}
