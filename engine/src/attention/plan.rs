//! The plan of a model: a config in which everything was checked once.

use serde::{Deserialize, Serialize};

use super::{Cell, HeadPlan, ParameterMatch};
use crate::config::{
    Architecture, AttentionConfig, Cache, Compatibility, Coverage, DEFAULT_STEPS, Grouped, NormPlacement,
    PartialCoverage, Problem, Restore, Reuse, RunConfig, Tokenizer,
};
use crate::ops::restored_pairs;

/// Most layers and heads of a model; the fields are judged by [`RunConfig::validate`].
const MOST_LAYERS: usize = 256;
const MOST_HEADS: usize = 1024;

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
    /// How many pairs are scored, as far as the model depends on it.
    pub coverage: Coverage,
    /// Length of the sequences that pairs are chosen for, where not every pair is scored and it is less than `positions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage_tokens: Option<usize>,
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
        let fields: Vec<String> = problems.iter().map(|problem| problem.field.clone()).collect();
        problems.extend(supported(config).into_iter().filter(|problem| !fields.contains(&problem.field)));
        if vocabulary == 0 {
            problems.push(Problem::new("data.tokenizer", "the tokenizer has no tokens"));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let layers = ParameterMatch::of(config)?.map_or(config.model.layers, |found| found.layers);
        Self::of_depth(config, &config.attention, layers, vocabulary)
    }

    /// The plan of a checked config with other answers and another number of layers.
    pub(super) fn of_depth(
        config: &RunConfig,
        attention: &AttentionConfig,
        layers: usize,
        vocabulary: usize,
    ) -> Result<Self, Vec<Problem>> {
        let model = &config.model;
        let encoder = model.kind == Architecture::Encoder;
        let length = config.data.sequence_length;
        let positions = model.positions.unwrap_or(length);
        let is_full = attention.coverage.is_full();
        Ok(Self {
            architecture: model.kind,
            layers,
            heads: model.heads,
            head_size: model.head_size(),
            width: model.width,
            feed_forward: model.feed_forward,
            dropout: model.dropout,
            norm: model.norm,
            norm_epsilon: default_norm_epsilon(model.kind),
            vocabulary,
            positions,
            token_types: if encoder { 2 } else { 0 },
            head_plan: HeadPlan::derive(attention, layers, model.heads)?,
            compatibility: attention.compatibility.clone(),
            coverage: attention.coverage.of_model(),
            coverage_tokens: (!is_full && length < positions).then_some(length),
            cache: attention.cache.clone(),
        })
    }

    /// Whether layer `layer` does not use all of its scores: every layer but the last, where a head computes.
    pub fn approximates(&self, layer: usize) -> bool {
        !self.coverage.is_full() && layer + 1 < self.layers && self.head_plan.computed(layer) > 0
    }

    /// The same model with every pair scored in every layer.
    #[must_use]
    pub fn exact(&self) -> Self {
        Self { coverage: Coverage::default(), coverage_tokens: None, ..self.clone() }
    }

    /// The longest sequence that the model reads: as many tokens as it has positions; where not every pair is scored, as
    /// many as the pairs were chosen for.
    pub fn longest(&self) -> usize {
        if self.coverage.is_full() { self.positions } else { self.coverage_tokens.unwrap_or(self.positions) }
    }

    /// Numbers of one map from computed to restored scores, R; 0 where none are restored.
    pub fn restore_numbers(&self) -> u64 {
        match &self.coverage {
            Coverage::Partial(PartialCoverage { k, .. }) => {
                (restored_pairs(self.longest(), *k, self.is_causal()) as u64).saturating_mul(*k as u64)
            }
            Coverage::Full(_) | Coverage::Eigen(_) => 0,
        }
    }

    /// Whether a map from computed to restored scores is trained, and if so whether it is that of all layers.
    pub fn trained_restore(&self) -> Option<Restore> {
        match &self.coverage {
            Coverage::Partial(PartialCoverage { restore, .. }) => Some(*restore).filter(|r| *r != Restore::Fixed),
            Coverage::Full(_) | Coverage::Eigen(_) => None,
        }
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
    let AttentionConfig { reuse, compatibility, coverage, cache, match_parameters } = &config.attention;
    let (layers, heads) = (config.model.layers, config.model.heads);
    let mut problems = Vec::new();
    // A table of absurd size is refused by its fields, before it is built.
    if (1..=MOST_LAYERS).contains(&layers) && (1..=MOST_HEADS).contains(&heads) {
        problems.extend(HeadPlan::derive(&config.attention, layers, heads).err().unwrap_or_default());
    }
    if let (Some(_), Reuse::Custom(_)) = (match_parameters, reuse) {
        problems.push(Problem::new(
            "attention.match_parameters",
            "a custom table has as many layers as it has rows; choose another schedule, or leave match_parameters out",
        ));
    }
    // An answer added to one of the questions must be judged here before this compiles.
    match compatibility {
        Compatibility::Grouped(Grouped { kv_heads }) => problems.extend(check_groups(*kv_heads, heads)),
        Compatibility::Standard(_)
        | Compatibility::Symmetric(_)
        | Compatibility::Pairwise(_)
        | Compatibility::SharedWeight(_)
        | Compatibility::Collaborative(_)
        | Compatibility::Latent(_) => {}
    }
    match (coverage, cache) {
        (Coverage::Full(_), Cache::None(_)) => {}
        (Coverage::Partial(partial), Cache::None(_)) => problems.extend(check_partial(config, partial)),
        (Coverage::Eigen(_), Cache::None(_)) => {
            let message = "projecting scores on eigenvectors needs every score first, so that it saves nothing in \
                           training; train with full or partial coverage, then measure the model with `headroom eval \
                           RUN --coverage eigen:k=16`";
            problems.push(Problem::new("attention.coverage.kind", message));
        }
    }
    problems
}

/// What stands in the way of scoring some pairs alone: a model in which no layer would do so, a warm-up that never ends.
/// Pairs are chosen for sequences of `data.sequence_length` tokens, however many positions there are.
///
/// Every way to score a pair is a product of two vectors, so that each can be left out for some pairs; and every
/// schedule of reuse that leaves a head computing before the last layer: borrowers use the restored maps.
fn check_partial(config: &RunConfig, PartialCoverage { from, warmup_steps, .. }: &PartialCoverage) -> Vec<Problem> {
    let mut problems = Vec::new();
    let (layers, heads) = (config.model.layers, config.model.heads);
    if (1..=MOST_LAYERS).contains(&layers)
        && (1..=MOST_HEADS).contains(&heads)
        && let Ok(plan) = HeadPlan::derive(&config.attention, layers, heads)
    {
        let computes = |layer: usize| plan.row(layer).iter().any(|cell| matches!(cell, Cell::Compute));
        if layers == 1 {
            let message = "the last layer scores all pairs, and this model has no other; use two layers or more";
            problems.push(Problem::new("model.layers", message));
        } else if !(0..layers - 1).any(computes) {
            let message = "no head before the last layer computes a map, so that there is nothing to leave out; let \
                           one compute, or choose full coverage";
            problems.push(Problem::new("attention.coverage.kind", message));
        }
    }
    let steps = config.train.steps.unwrap_or(if config.train.epochs.is_some() { u64::MAX } else { DEFAULT_STEPS });
    if from.is_none() && *warmup_steps >= steps {
        problems.push(Problem::new(
            "attention.coverage.warmup_steps",
            format!("{warmup_steps} steps of warm-up leave nothing of {steps} steps; train longer, or warm up less"),
        ));
    }
    problems
}

/// Every group of heads must have the same size.
fn check_groups(kv_heads: usize, heads: usize) -> Option<Problem> {
    if kv_heads == 0 || heads == 0 || heads.is_multiple_of(kv_heads) {
        return None;
    }
    let divisors: Vec<String> = (1..=heads).filter(|n| heads.is_multiple_of(*n)).map(|n| n.to_string()).collect();
    let message = format!("{kv_heads} groups do not divide {heads} heads; these do: {}", divisors.join(", "));
    Some(Problem::new("attention.compatibility.kv_heads", message))
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
            assert!(estimated_vocabulary(&config) > 256);
        }
    }

    #[test]
    fn combinations_that_cannot_be_are_refused_with_the_reason() {
        let answer = |text: &str| {
            let text = format!("format = 1\n[model]\nlayers = 2\nheads = 6\nwidth = 48\n[attention]\n{text}");
            let problems = ModelPlan::resolve(&crate::config::from_toml(&text).unwrap(), 10).unwrap_err();
            problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        for (text, wanted) in [
            (
                "compatibility = { kind = \"grouped\", kv_heads = 4 }",
                "attention.compatibility.kv_heads: 4 groups do not divide 6 heads; these do: 1, 2, 3, 6",
            ),
            (
                "compatibility = { kind = \"grouped\", kv_heads = 7 }",
                "attention.compatibility.kv_heads: 7 is too large",
            ),
            (
                "compatibility = { kind = \"latent\", rank = 49 }",
                "attention.compatibility.rank: 49 is too large; it must be from 1 to 48",
            ),
            ("compatibility = { kind = \"collaborative\", d_k = 0 }", "attention.compatibility.d_k: 0 is too small"),
            (
                "reuse = { kind = \"first\", layers = 2, heads = 1 }",
                "attention.reuse.layers: 2 is too large; it must be from 0 to 1",
            ),
            ("reuse = { kind = \"custom\", rows = [\"c c\", \"c c\"] }", "attention.reuse.rows: the row of layer 0"),
            (
                "reuse = { kind = \"custom\", rows = [\"c c c c c 0.0\", \"c c c c c c\"] }",
                "layer 0 head 5 cannot borrow from layer 0 head 0",
            ),
            (
                "match_parameters = \"standard\"\nreuse = { kind = \"custom\", rows = [\"c c c c c c\", \"c c c c c c\"] }",
                "attention.match_parameters: a custom table",
            ),
            ("coverage = { kind = \"eigen\", k = 4 }", "attention.coverage.kind: projecting scores"),
            (
                "coverage = { kind = \"partial\", k = 128 }",
                "attention.coverage.k: 128 is too large; it must be from 1 to 63",
            ),
            (
                "coverage = { kind = \"partial\", warmup_steps = 1000 }",
                "attention.coverage.warmup_steps: 1000 steps of warm-up leave nothing of 1000 steps",
            ),
            (
                "coverage = { kind = \"partial\" }\nreuse = { kind = \"custom\", rows = [\"- - - - - -\", \"c c c c c c\"] }",
                "attention.coverage.kind: no head before the last layer computes",
            ),
        ] {
            let said = answer(text);
            assert!(said.contains(wanted), "{said}");
        }
        assert_eq!(answer("reuse = { kind = \"skip\", layers = 9 }").lines().count(), 1, "nothing is said twice");
    }

    #[test]
    fn every_pair_of_answers_is_supported() {
        for compatibility in Compatibility::examples(4, 128) {
            for reuse in Reuse::examples(4, 4) {
                let mut config = RunConfig::default();
                (config.attention.compatibility, config.attention.reuse) = (compatibility.clone(), reuse);
                assert_eq!(supported(&config), vec![]);
                config.attention.coverage = Coverage::Partial(PartialCoverage::default());
                assert_eq!(supported(&config), vec![]);
            }
        }
    }

    #[test]
    fn partial_coverage_is_for_one_length_and_needs_two_layers() {
        let mut config = RunConfig::default();
        config.attention.coverage = Coverage::Partial(PartialCoverage::default());
        assert_eq!(supported(&config), vec![]);
        let plan = ModelPlan::resolve(&config, 50).unwrap();
        let last = plan.layers - 1;
        assert!((0..last).all(|layer| plan.approximates(layer)) && !plan.approximates(last));
        assert!(!plan.exact().approximates(0) && plan.trained_restore().is_none());
        assert_eq!((plan.longest(), plan.coverage_tokens), (config.data.sequence_length, None));
        // More positions than tokens: pairs are those of the tokens.
        config.model.positions = Some(512);
        assert_eq!(supported(&config), vec![]);
        let long = ModelPlan::resolve(&config, 50).unwrap();
        assert_eq!((long.positions, long.longest()), (512, config.data.sequence_length));
        assert_eq!(long.restore_numbers(), plan.restore_numbers());
        assert_eq!((long.exact().longest(), long.exact().coverage_tokens), (512, None));
        (config.model.positions, config.model.layers) = (None, 1);
        assert_eq!(supported(&config)[0].field, "model.layers");
        config = RunConfig::default();
        config.train.epochs = Some(2.0);
        config.attention.coverage =
            Coverage::Partial(PartialCoverage { warmup_steps: 5000, ..PartialCoverage::default() });
        assert_eq!(supported(&config), vec![], "how many steps an epoch has is not known here");
    }

    #[test]
    fn a_table_of_absurd_size_is_refused_without_being_built() {
        let mut config = RunConfig::default();
        (config.model.layers, config.model.heads) = (99_999_999_999, 99_999_999_999);
        assert!(supported(&config).is_empty());
        assert!(ModelPlan::resolve(&config, 10).is_err());
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
