//! Sources of images: `data.kind = "images"` and `"pathfinder"`, and the length of the sequences that they become.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Problem;

/// Images with a class each: an IDX file of images (MNIST), CIFAR-10 or CIFAR-100 binaries (each also gzipped), or a folder
/// with a folder of PNG and JPEG files for every class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ImagesSource {
    /// The file or folder. A relative path is taken from the folder of the config file.
    pub path: PathBuf,
    /// The IDX file of the labels, where `path` is one of images; when absent, the file beside it that is named alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<PathBuf>,
    /// Held-out images; without them a share of those of `path` is held out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_path: Option<PathBuf>,
    /// The IDX file of their labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_labels: Option<PathBuf>,
    /// Names of the classes, a line each: of the numbers from 0 on that stand as labels in a file, or of the folders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classes: Option<PathBuf>,
    /// Pixels of a side, as the images have; looked up when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<usize>,
    /// Numbers of a pixel, as the images have: 1 = grey, 3 = red, green and blue; looked up when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channels: Option<usize>,
}

impl ImagesSource {
    /// Every path that it may name, each with its field.
    pub fn paths_mut(&mut self) -> impl Iterator<Item = (&'static str, &mut PathBuf)> {
        let Self { path, labels, validation_path, validation_labels, classes, .. } = self;
        let others = [
            ("data.labels", labels),
            ("data.validation_path", validation_path),
            ("data.validation_labels", validation_labels),
            ("data.classes", classes),
        ];
        let others = others.into_iter().filter_map(|(field, path)| path.as_mut().map(|path| (field, path)));
        [("data.path", path)].into_iter().chain(others)
    }

    /// What is wrong with it, as far as can be said without its files.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        for (field, path) in self.clone().paths_mut() {
            if path.as_os_str().is_empty() {
                let message = match field {
                    "data.path" => "name a folder of classes with images, an IDX file or a CIFAR file",
                    _ => "name a file, or leave the field out",
                };
                found.push(Problem::new(field, message));
            }
        }
        if self.validation_labels.is_some() && self.validation_path.is_none() {
            let message = "labels of held-out images need these; name them in {data.validation_path}, or leave it out";
            found.push(Problem::new("data.validation_labels", message));
        }
        if self.channels.is_some_and(|channels| ![1, 3].contains(&channels)) {
            found.push(Problem::new("data.channels", "a pixel has 1 number (grey) or 3 (red, green and blue)"));
        }
        found
    }
}

/// Pixels of a side of the largest image.
pub const MOST_SIDE: usize = 1024;

/// Images of two long dashed curves among shorter ones, with two discs, which lie on the ends of one curve or of both (Linsley
/// et al. 2018; the Pathfinder task of the Long Range Arena, Tay et al. 2021). Generated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PathfinderSource {
    /// Pixels of a side: 32, 64, 128 or 256, each with the strokes, margins and discs of the Long Range Arena.
    pub size: usize,
    /// Strokes of each of the two curves: 6 is easy, 9 harder, 14 hard; 3..=24.
    pub contour_length: usize,
    /// Images to train on, 100..=1,000,000.
    pub examples: usize,
    /// Held-out images, 10..=1,000,000.
    pub validation_examples: usize,
    /// Seed of the images, apart from the run's seed so that runs with several seeds see the same ones.
    pub images_seed: u64,
}

impl Default for PathfinderSource {
    fn default() -> Self {
        Self { size: 32, contour_length: 6, examples: 20_000, validation_examples: 2_000, images_seed: 1 }
    }
}

impl PathfinderSource {
    /// The sides that there are parameters for.
    pub const SIZES: [usize; 4] = [32, 64, 128, 256];

    /// What is wrong with its size.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        if !Self::SIZES.contains(&self.size) {
            let message = format!("there are images of 32, 64, 128 and 256 pixels a side, not of {}", self.size);
            found.push(Problem::new("data.size", message));
        }
        found
    }
}

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
