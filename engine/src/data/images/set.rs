//! Images of a path.

use std::path::PathBuf;

use super::classes::Label;
use crate::config::ImageShape;

/// Images of a path.
#[derive(Clone, Debug)]
pub(in crate::data) struct Set {
    pub(in crate::data) shape: ImageShape,
    /// `[images, channels, size, size]`
    pub(in crate::data) pixels: Vec<u8>,
    /// `[images]`; none where nobody asked for them.
    pub(in crate::data) labels: Option<Vec<Label>>,
    /// What each image is called, where it is a file of its own.
    pub(in crate::data) names: Option<Vec<String>>,
    /// The file of the labels, where it is another one.
    pub(in crate::data) labels_path: Option<PathBuf>,
    /// Files that were read.
    pub(in crate::data) files: usize,
    pub(in crate::data) warnings: Vec<String>,
}

impl Set {
    pub(in crate::data) fn len(&self) -> usize {
        self.pixels.len().checked_div(self.shape.numbers()).unwrap_or(0)
    }
}
