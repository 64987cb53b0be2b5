use serde::{Deserialize, Serialize};

use super::{filling::Filling, job::Progress, target::Target};

use crate::{
    config::Precision,
    generate::{BeamNode, Ending, Search, SourceAttention},
    text::floats,
};

/// Generates texts with a run's model or that of a model directory; answered by [`super::Event::Generating`] as they grow
/// and by [`super::Event::Generated`]. [`super::Command::Stop`] keeps what there is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Generate {
    /// Which model.
    pub target: Target,
    /// What it goes on with, or what the encoder before it reads: a text each.
    pub sources: Vec<GenerateSource>,
    /// How many of them at the same time.
    pub batch: usize,
    /// How the texts are searched for.
    pub search: Box<Search>,
    /// The number format in which the model computes.
    pub precision: Precision,
    /// Threads that compute; none: as many as there are cores.
    pub threads: Option<usize>,
    /// Whether what the generated tokens attended to, and every prefix that a beam followed, are told at the end.
    #[serde(default)]
    pub details: bool,
}

/// A text grows that is being generated. At most some 30 a second of all texts together.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Generating {
    /// Which of the sources, from 0.
    pub source: usize,
    /// Tokens that were chosen for it.
    pub step: usize,
    /// The most probable text so far; with several beams an earlier part of it may change. Token ids where there is no tokenizer.
    pub text: String,
    /// Time since its batch was begun.
    #[serde(with = "floats")]
    pub seconds: f64,
    /// What is kept between tokens.
    pub cache_bytes: u64,
    /// The tokens of the text so far.
    pub tokens: Vec<u32>,
    /// Each of them as text.
    pub pieces: Vec<String>,
    /// What each step cost, this one included.
    pub costs: Vec<TokenCost>,
}

/// Answer to [`super::commands::Generate`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Generated {
    /// The model, as given.
    pub target: String,
    /// The texts, in the order of the sources; those that were not begun when it was stopped are left out.
    pub texts: Vec<WrittenText>,
    /// Time that it took to generate them, in all.
    #[serde(with = "floats")]
    pub seconds: f64,
    /// The part of it in which sources were read.
    #[serde(with = "floats")]
    pub reading_seconds: f64,
    /// The most that was kept between tokens, room for tokens to come included.
    pub cache_bytes: u64,
    /// Whether it was stopped.
    pub stopped: bool,
    /// Keys of the model's `generation_config.json` that have no effect here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unused_settings: Vec<String>,
    /// Settings of it that this search has others for, such as `num_beams: 4`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_settings: Vec<String>,
}

/// What a model generates a text from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GenerateSource {
    /// Text, which the model's tokenizer cuts into tokens.
    Text(String),
    /// Token ids.
    Tokens(Vec<u32>),
    /// The beginning of one of sixteen examples of the held-out text of a run.
    HeldOut {
        /// Its number; counted on from the first where there are fewer.
        number: usize,
        /// Tokens of it.
        tokens: usize,
    },
}

/// A text that was generated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WrittenText {
    /// It without special tokens; token ids where there is no tokenizer.
    pub text: String,
    /// Its tokens, the last of which may be an end token.
    pub tokens: Vec<u32>,
    /// Why there are no more.
    pub ending: Ending,
    /// What texts were compared by: the log-probability in nats over the length to the power of the length penalty.
    #[serde(with = "floats")]
    pub score: f64,
    /// Each token as text.
    #[serde(default)]
    pub pieces: Vec<String>,
    /// What each step cost, from the first token on. With beams there may be more steps than tokens.
    #[serde(default)]
    pub costs: Vec<TokenCost>,
    /// Each token of the source as text.
    #[serde(default)]
    pub source: Vec<String>,
    /// Every prefix that a beam followed, where details were asked for.
    #[serde(default)]
    pub tree: Vec<BeamNode>,
    /// The tokens of `tree` as text.
    #[serde(default)]
    pub tree_pieces: Vec<String>,
    /// What the tokens attended to, where details were asked for and it is not too much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention: Option<Box<SourceAttention>>,
    /// What an encoder filled in; nothing of a text that was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filled: Option<Box<Filling>>,
}

/// What a token cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TokenCost {
    /// When it was chosen, from the beginning of its batch.
    #[serde(with = "floats")]
    pub seconds: f64,
    /// What was kept then, of all texts of the batch; room for tokens to come is left out.
    pub bytes: u64,
}

impl Progress for Generating {
    /// Nothing: the text itself is what is shown.
    fn stage(&self) -> String {
        String::new()
    }

    fn share(&self) -> Option<f64> {
        None
    }
}
