//! Images of a path.

use std::path::PathBuf;

use super::classes::Label;
use crate::config::ImageShape;

/// Images of a path.
#[derive(Clone, Debug)]
pub(super) struct Set {
    pub(super) shape: ImageShape,
    /// `[images, channels, size, size]`
    pub(super) pixels: Vec<u8>,
    /// `[images]`; none where nobody asked for them.
    pub(super) labels: Option<Vec<Label>>,
    /// What each image is called, where it is a file of its own.
    pub(super) names: Option<Vec<String>>,
    /// The file of the labels, where it is another one.
    pub(super) labels_path: Option<PathBuf>,
    /// Files that were read.
    pub(super) files: usize,
    pub(super) warnings: Vec<String>,
}

impl Set {
    pub(super) fn len(&self) -> usize {
        self.pixels.len().checked_div(self.shape.numbers()).unwrap_or(0)
    }
}
