//! The plan of a model: a config in which everything was checked once.

use serde::{Deserialize, Serialize};

use super::HeadPlan;
use crate::config::{
    Architecture, AttentionConfig, Cache, Compatibility, Coverage, NormPlacement, Problem, Reuse, RunConfig, Tokenizer,
};

/// Byte values, to which a byte-level tokenizer adds its special tokens.
const BYTES: usize = 256;

/// Tokens assumed for a given `tokenizer.json` that was not read yet.
const FILE_VOCABULARY: usize = 32_000;

/// Checked dimensions of a model: what it takes to build one, to count its costs and to name its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelPlan {
    /// The architecture, which fixes the objective too.
    pub architecture: Architecture,
    /// Number of layers L.
    pub layers: usize,
    /// Attention heads H of each layer.
    pub heads: usize,
    /// Size of a head, `d_k = d / H`.
    pub head_size: usize,
    /// Width d of the residual stream.
    pub width: usize,
    /// Inner width of the feed-forward block.
    pub feed_forward: usize,
    /// Dropout probability after embeddings, on attention maps and on each sub-layer's output.
    pub dropout: f64,
    /// Where layer norm stands.
    pub norm: NormPlacement,
    /// Added to the variance in layer norm: 1e-12 in encoders (BERT), 1e-5 in decoders (GPT-2).
    pub norm_epsilon: f64,
    /// Number of tokens V.
    pub vocabulary: usize,
    /// Learned positions: the longest sequence.
    pub positions: usize,
    /// Token types: 2 in encoders (BERT's segments), 0 in decoders.
    pub token_types: usize,
    /// Which heads score at all.
    pub head_plan: HeadPlan,
    /// How a head scores a pair.
    pub compatibility: Compatibility,
    /// How many pairs are scored.
    pub coverage: Coverage,
    /// What is kept while generating.
    pub cache: Cache,
}

impl ModelPlan {
    /// Checks a config and derives the plan of its model for a vocabulary of `vocabulary` tokens.
    ///
    /// # Errors
    /// Every problem at once: of single fields, of combinations, of the head plan.
    pub fn resolve(config: &RunConfig, vocabulary: usize) -> Result<Self, Vec<Problem>> {
        let mut problems = config.validate();
        problems.extend(supported(config));
        if vocabulary == 0 {
            problems.push(Problem::new("data.tokenizer", "the tokenizer has no tokens"));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let (model, attention) = (&config.model, &config.attention);
        let encoder = model.kind == Architecture::Encoder;
        Ok(Self {
            architecture: model.kind,
            layers: model.layers,
            heads: model.heads,
            head_size: model.head_size(),
            width: model.width,
            feed_forward: model.feed_forward,
            dropout: model.dropout,
            norm: model.norm,
            norm_epsilon: default_norm_epsilon(model.kind),
            vocabulary,
            positions: model.positions.unwrap_or(config.data.sequence_length),
            token_types: if encoder { 2 } else { 0 },
            head_plan: HeadPlan::derive(attention, model.layers, model.heads)?,
            compatibility: attention.compatibility.clone(),
            coverage: attention.coverage.clone(),
            cache: attention.cache.clone(),
        })
    }

    /// True when a position may see only itself and what stands before it.
    pub fn is_causal(&self) -> bool {
        self.architecture == Architecture::Decoder
    }
}

/// What layer norm adds to the variance when nothing else is said: as in BERT and GPT-2.
pub fn default_norm_epsilon(architecture: Architecture) -> f64 {
    match architecture {
        Architecture::Encoder => 1e-12,
        Architecture::Decoder => 1e-5,
    }
}

/// Judges the combination of a config's answers: the one place that does. Empty when it can be built.
///
/// Single fields are judged by [`RunConfig::validate`].
pub fn supported(config: &RunConfig) -> Vec<Problem> {
    let AttentionConfig { reuse, compatibility, coverage, cache } = &config.attention;
    match (reuse, compatibility, coverage, cache) {
        // An answer added to one of the four questions must be judged here before this compiles.
        (Reuse::None(_), Compatibility::Standard(_), Coverage::Full(_), Cache::None(_)) => Vec::new(),
    }
}

/// The vocabulary that a config will probably have, before there is a tokenizer: for estimates only.
///
/// The number asked for where one is trained (a small corpus may allow fewer); for bytes 256 and the special tokens
/// (BERT's five, GPT-2's one); 32,000 for a file.
pub fn estimated_vocabulary(config: &RunConfig) -> usize {
    match &config.data.tokenizer {
        Tokenizer::Bytes(_) => match config.model.kind {
            Architecture::Encoder => BYTES + 5,
            Architecture::Decoder => BYTES + 1,
        },
        Tokenizer::Bpe(trained) | Tokenizer::WordPiece(trained) => trained.vocabulary,
        Tokenizer::File(_) => FILE_VOCABULARY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::presets;

    #[test]
    fn resolves_every_architecture_and_norm() {
        for kind in Architecture::ALL {
            for norm in NormPlacement::ALL {
                let mut config = RunConfig::default();
                (config.model.kind, config.model.norm) = (kind, norm);
                let plan = ModelPlan::resolve(&config, 77).unwrap();
                assert_eq!((plan.architecture, plan.norm, plan.vocabulary), (kind, norm, 77));
                assert_eq!(plan.head_size * plan.heads, plan.width);
                assert_eq!(plan.positions, config.data.sequence_length);
                assert_eq!(plan.is_causal(), kind == Architecture::Decoder);
                let text = serde_json::to_string(&plan).unwrap();
                assert_eq!(serde_json::from_str::<ModelPlan>(&text).unwrap(), plan);
            }
        }
    }

    #[test]
    fn every_preset_is_supported() {
        for preset in presets() {
            let config = preset.config().unwrap();
            assert_eq!(supported(&config), vec![], "{}", config.name);
            assert!(estimated_vocabulary(&config) >= 300);
        }
    }

    #[test]
    fn positions_outlast_the_sequence_when_asked() {
        let mut config = RunConfig::default();
        config.model.positions = Some(500);
        assert_eq!(ModelPlan::resolve(&config, 10).unwrap().positions, 500);
    }

    #[test]
    fn problems_of_fields_and_of_the_vocabulary_come_together() {
        let mut config = RunConfig::default();
        config.model.width = 130;
        let fields: Vec<String> =
            ModelPlan::resolve(&config, 0).unwrap_err().into_iter().map(|problem| problem.field).collect();
        assert_eq!(fields, ["model.width", "data.tokenizer"]);
    }
}
