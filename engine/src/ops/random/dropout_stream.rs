//! Where a dropout mask comes from.

use super::Purpose;

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

impl DropoutStream {
    /// The generator's key.
    pub(in crate::ops) fn key(&self) -> [u32; 2] {
        [self.seed as u32, (self.seed >> 32) as u32]
    }

    /// The generator's counter at block zero: no other stream of the same seed has the same.
    pub(in crate::ops) fn counter(&self) -> [u32; 4] {
        let index = (u64::from(self.site) << 40) | (self.step & 0xFF_FFFF_FFFF);
        [0, (Purpose::Dropout as u32) << 24, index as u32, (index >> 32) as u32]
    }
}
