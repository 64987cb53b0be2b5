//! Where a dropout mask comes from.

use super::Purpose;
use crate::kernels::DropoutMask;

/// Names one dropout mask: the same three numbers always give the same mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropoutStream {
    /// The run's seed.
    pub seed: u64,
    /// Counts forward passes (accumulated ones separately), below 2^40.
    pub step: u64,
    /// Tells apart the places of a model where dropout is applied, below 2^24.
    pub site: u32,
}

/// Bits of the stream's index that count steps; the others number the sites.
const STEP_BITS: u32 = 40;

impl DropoutStream {
    /// Whether step and site fit into the index of a stream.
    pub(crate) fn is_in_range(&self) -> bool {
        self.step >> STEP_BITS == 0 && u64::from(self.site) >> (u64::BITS - STEP_BITS) == 0
    }

    /// The mask that drops with the given probability.
    pub(crate) fn mask(&self, probability: f64) -> DropoutMask {
        let index = (u64::from(self.site) << STEP_BITS) | self.step;
        DropoutMask {
            key: [self.seed as u32, (self.seed >> 32) as u32],
            // No other stream of the same seed has the same counter.
            counter: [0, (Purpose::Dropout as u32) << 24, index as u32, (index >> 32) as u32],
            probability,
        }
    }
}
