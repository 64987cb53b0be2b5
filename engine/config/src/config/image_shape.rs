//! The shape of images.

use serde::{Deserialize, Serialize};

/// Pixels of a side of the largest image.
pub const MOST_SIDE: usize = 1024;

/// The shape of every image of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ImageShape {
    /// Pixels of a side.
    pub size: usize,
    /// Numbers of a pixel: 1 or 3.
    pub channels: usize,
}

impl ImageShape {
    /// Numbers of an image.
    pub fn numbers(self) -> usize {
        self.size * self.size * self.channels
    }

    /// Positions of a model that reads it in squares of `patch` pixels a side: the class token and the patches.
    pub fn tokens(self, patch: usize) -> usize {
        self.size.checked_div(patch).map_or(0, |side| side * side + 1)
    }
}
