use serde::{Deserialize, Serialize};

use super::target::Target;

use crate::{
    analysis::{MapThumbnails, reconstruction::RebuiltMap},
    config::DataConfig,
    data::PreviewImage,
    store::AnalysisId,
    text::floats,
};

/// Opens a view of the attention maps of a model on one example; answered by [`super::Event::Maps`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadMaps {
    /// Comes back with the answers.
    pub view: u64,
    /// The model.
    pub target: Target,
    /// The text whose examples can be shown; `None` = the held-out text of the run. A model directory has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<DataConfig>>,
    /// The example.
    pub text: MapText,
}

/// Loads one map of an open view; answered by [`super::Event::Map`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadMap {
    /// The view.
    pub view: u64,
    /// Layer of the head, from 0.
    pub layer: usize,
    /// Head, from 0.
    pub head: usize,
}

/// Puts a map of an open view together again from some of its pairs, as an analysis chose them; answered by
/// [`super::Event::Rebuilt`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RebuildMap {
    /// The view.
    pub view: u64,
    /// The map, and from what.
    pub rebuild: Rebuild,
}

/// Answer to [`super::Command::LoadMaps`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Maps {
    /// The view.
    pub view: u64,
    /// The model in words.
    pub target: String,
    /// Its step, where known.
    pub step: Option<u64>,
    /// The tokens of the example as text; the squares of an image by row and column, from 0.
    pub tokens: Vec<String>,
    /// The image that was read, with its class; none of a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<Box<PreviewImage>>,
    /// How many examples of the text there are to choose from; 0 where one was written.
    #[serde(default)]
    pub examples: usize,
    /// All maps, made small.
    pub thumbnails: Box<MapThumbnails>,
}

/// Answer to [`super::Command::LoadMap`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Map {
    /// The view.
    pub view: u64,
    /// Layer of the head, from 0.
    pub layer: usize,
    /// Head, from 0.
    pub head: usize,
    /// Its map, `[n, n]`, query by query; empty where the head has none.
    #[serde(with = "floats")]
    pub values: Vec<f32>,
}

/// Answer to [`super::Command::RebuildMap`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rebuilt {
    /// The view.
    pub view: u64,
    /// What was asked for.
    pub rebuild: Rebuild,
    /// The map beside itself; none where it cannot be put together.
    pub rebuilt: Option<Box<RebuiltMap>>,
    /// Why it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What a model reads while its maps are shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MapText {
    /// One of sixteen examples of the held-out text, or of the text that was named, with no token hidden.
    Example(usize),
    /// Text that somebody wrote; two texts with a tab between, where the model reads pairs. Of a pair that is too long the longer
    /// text is cut off first.
    Written(String),
    /// One of all held-out images, from 0.
    Image(usize),
    /// One of the examples that an analysis of reconstruction measured its errors on and chose nothing from, with no token
    /// hidden. It read `examples` examples of `tokens` tokens, spread evenly over the held-out text.
    HeldOut {
        /// Its number; counted on from the first where there are fewer.
        number: usize,
        /// Tokens of an example.
        tokens: usize,
        /// Examples of the analysis, both halves.
        examples: usize,
    },
}

/// A map that is to be put together from some of its pairs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rebuild {
    /// The analysis that chose pairs.
    pub analysis: AnalysisId,
    /// Which of its parts: a place among `Reconstruction::scopes`.
    pub scope: usize,
    /// Layer of the head, from 0.
    pub layer: usize,
    /// Head, from 0.
    pub head: usize,
    /// Pairs of each query.
    pub k: usize,
}
