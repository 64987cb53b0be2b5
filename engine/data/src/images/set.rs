//! Images of a path.

use std::path::PathBuf;

use super::classes::Label;
use crate::config::ImageShape;

/// Images of a path.
#[derive(Clone, Debug)]
pub(crate) struct Set {
    pub(crate) shape: ImageShape,
    /// `[images, channels, size, size]`
    pub(crate) pixels: Vec<u8>,
    /// `[images]`; none where nobody asked for them.
    pub(crate) labels: Option<Vec<Label>>,
    /// What each image is called, where it is a file of its own.
    pub(crate) names: Option<Vec<String>>,
    /// The file of the labels, where it is another one.
    pub(crate) labels_path: Option<PathBuf>,
    /// Files that were read.
    pub(crate) files: usize,
    pub(crate) warnings: Vec<String>,
}

impl Set {
    pub(crate) fn len(&self) -> usize {
        self.pixels.len().checked_div(self.shape.numbers()).unwrap_or(0)
    }
}
