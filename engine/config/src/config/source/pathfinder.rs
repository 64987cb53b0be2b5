//! `data.kind = "pathfinder"`: images of curves, generated.

use serde::{Deserialize, Serialize};

use super::{
    SourceFacts, SourceSettings,
    images::{OF_IMAGES, classes_alone},
};
use crate::config::{ImageShape, Problem};

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
}

impl PathfinderSource {
    /// Facts about data of this kind.
    pub(super) const FACTS: SourceFacts = SourceFacts {
        kind: "pathfinder",
        label: "Pathfinder images",
        name: Some("Pathfinder images"),
        run_names: ["pathfinder"; 2],
        has_own_split: true,
        ..OF_IMAGES
    };
}

impl SourceSettings for PathfinderSource {
    fn facts(&self) -> &'static SourceFacts {
        &Self::FACTS
    }

    fn problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        if !Self::SIZES.contains(&self.size) {
            let message = format!("there are images of 32, 64, 128 and 256 pixels a side, not of {}", self.size);
            found.push(Problem::new("data.size", message));
        }
        found
    }

    fn refusal(&self, task: &str) -> Option<&'static str> {
        classes_alone(task)
    }

    fn image_shape(&self) -> Option<ImageShape> {
        Some(ImageShape { size: self.size, channels: 1 })
    }
}
