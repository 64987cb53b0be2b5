//! The plan of a model: a config in which everything was checked once.

use serde::{Deserialize, Serialize};

use super::{AttentionKind, CrossPlan, HeadAt, HeadPlan, Naming, Preset, StackName, StackPlan, VIT, VocabularyHead};
use crate::config::{
    AttentionConfig, Cache, Coverage, ImageShape, ModelConfig, Problem, RunConfig, TaskConfig, TaskOutput, Tokenizer,
};
use crate::ops::{Activation, Gelu};

/// Byte values, to which a byte-level tokenizer adds its special tokens.
const BYTES: usize = 256;

/// Classes assumed for labels that were not read yet, and the fewest that there can be.
const LEAST_CLASSES: usize = 2;

/// Tokens assumed for a given `tokenizer.json` that was not read yet.
const FILE_VOCABULARY: usize = 32_000;

/// What a model reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputPlan {
    /// Text.
    Tokens {
        /// Number of tokens V.
        vocabulary: usize,
        /// Token types: 2 in BERT (its segments), 0 where there are none.
        types: usize,
    },
    /// A square image, cut into squares; a learned class token stands before them.
    Patches {
        /// Pixels of a side of the image.
        image: usize,
        /// Pixels of a side of a patch.
        patch: usize,
        /// Numbers of a pixel.
        channels: usize,
        /// Whether a second learned token, that of a teacher's answer, follows the class token (`DeiT`).
        distils: bool,
    },
}

/// What is made of the last states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputPlan {
    /// A logit for every token at every position, by the token table.
    Vocabulary(VocabularyHead),
    /// A logit for every class, from the first position.
    Classes {
        /// How many classes there are.
        classes: usize,
        /// What follows a map that comes first, where there is one (BERT's pooler).
        pooler: Option<Activation>,
        /// Whether a second map does the same from the second position, and the answer is the mean of both (`DeiT`).
        distils: bool,
    },
    /// Two logits for every position: whether an answer begins there, and whether it ends.
    Span,
    /// A logit for every position, whether its token was replaced, after a map with the activation of the stack (ELECTRA).
    Replaced,
    /// Nothing: the last states are what it gives, as in models of sentences. It can be analysed and converted, not trained.
    States {
        /// Whether the files hold BERT's pooler, a map from the first position that nothing here reads.
        pools: bool,
    },
}

/// A model in which everything was checked once: what it takes to build one, to count its costs and to name its
/// parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelPlan {
    /// Whose names its parameters have in files.
    pub naming: Naming,
    /// What it reads.
    pub input: InputPlan,
    /// The encoder that the stack attends to, where there is one.
    pub encoder: Option<Box<StackPlan>>,
    /// The stack whose last states the head reads: the only one of most models.
    pub stack: StackPlan,
    /// What is made of these states.
    pub head: OutputPlan,
    /// What is kept while generating.
    pub cache: Cache,
}

impl ModelPlan {
    /// The plan of a checked config with other answers and another number of layers.
    pub(super) fn of_depth(
        config: &RunConfig,
        attention: &AttentionConfig,
        layers: usize,
        vocabulary: usize,
    ) -> Result<Self, Vec<Problem>> {
        let model = ModelConfig { layers, ..config.model.clone() };
        if let Some(patch) = model.patch.filter(|_| config.data.source.has_images()) {
            let shape = config.data.source.image_shape_or_assumed(patch);
            return Self::of_images(&model, attention, shape, patch, config.task.as_ref().map_or(1, estimated_outputs));
        }
        let (preset, length) = (Preset::of(&model), config.data.sequence_length);
        let mut plan = Self::of_text(&preset, &model, attention, length, vocabulary)?;
        if let Some(task) = config.task.as_ref().filter(|task| task.answers_examples()) {
            plan.head = task_head(plan.naming, task).map_err(|why| vec![Problem::new("task.kind", why)])?;
        }
        match model.encoder_depth() {
            Some(layers) => plan.with_encoder(&preset, &ModelConfig { layers, ..model }, attention, length),
            None => Ok(plan),
        }
    }

    /// The same model with an encoder, of the sizes of `model`, that its stack attends to.
    fn with_encoder(
        mut self,
        preset: &Preset,
        model: &ModelConfig,
        attention: &AttentionConfig,
        length: usize,
    ) -> Result<Self, Vec<Problem>> {
        let within = |table: &'static str| {
            move |problems: Vec<Problem>| problems.into_iter().map(|problem| problem.within(table)).collect::<Vec<_>>()
        };
        let encoder = preset.stack(StackName::Encoder, model, &attention.of_encoder(), length);
        self.encoder = Some(Box::new(encoder.map_err(within("encoder"))?));
        let cross = attention.of_cross();
        let head_plan = HeadPlan::derive(&cross, self.stack.layers, self.stack.heads).map_err(within("cross"))?;
        self.stack.cross = Some(CrossPlan { head_plan, compatibility: cross.compatibility });
        Ok(self)
    }

    /// A model of one stack that reads text of up to `length` tokens and predicts tokens; see [`Preset::stack`].
    ///
    /// # Errors
    /// If the schedule does not fit the sizes.
    pub fn of_text(
        preset: &Preset,
        model: &ModelConfig,
        attention: &AttentionConfig,
        length: usize,
        vocabulary: usize,
    ) -> Result<Self, Vec<Problem>> {
        Ok(Self {
            naming: preset.naming,
            input: InputPlan::Tokens { vocabulary, types: preset.token_types },
            encoder: None,
            stack: preset.stack(preset.stack, model, attention, length)?,
            head: OutputPlan::Vocabulary(preset.vocabulary_head),
            cache: attention.cache.clone(),
        })
    }

    /// A model of one stack that reads images in squares of `patch` pixels a side and tells `classes` classes apart (Dosovitskiy
    /// et al., 2021).
    ///
    /// # Errors
    /// If the schedule does not fit the sizes.
    pub fn of_images(
        model: &ModelConfig,
        attention: &AttentionConfig,
        shape: ImageShape,
        patch: usize,
        classes: usize,
    ) -> Result<Self, Vec<Problem>> {
        let (preset, length) = (Preset { norm: model.norm, ..VIT }, shape.tokens(patch));
        let model = ModelConfig { positions: Some(length), ..model.clone() };
        Ok(Self {
            naming: preset.naming,
            input: InputPlan::Patches { image: shape.size, patch, channels: shape.channels, distils: false },
            encoder: None,
            stack: preset.stack(preset.stack, &model, attention, length)?,
            head: OutputPlan::Classes { classes, pooler: None, distils: false },
            cache: attention.cache.clone(),
        })
    }

    /// The same model with so many outputs, where it ends in classes.
    #[must_use]
    pub fn with_outputs(mut self, outputs: usize) -> Self {
        if let OutputPlan::Classes { classes, .. } = &mut self.head {
            *classes = outputs;
        }
        self
    }

    /// Its stacks in the order of a forward pass.
    pub fn stacks(&self) -> impl Iterator<Item = &StackPlan> {
        self.encoder.as_deref().into_iter().chain([&self.stack])
    }

    /// The head whose scores a head uses: itself when it computes; none when it is skipped or not there.
    pub fn origin(&self, at: HeadAt) -> Option<HeadAt> {
        let stack = self.stacks().nth(at.stack)?;
        let head_plan = match at.attention {
            AttentionKind::Own => &stack.head_plan,
            AttentionKind::Cross => &stack.cross.as_ref()?.head_plan,
        };
        Some(head_plan.origin(HeadAt::new(at.layer, at.head))?.of(at.stack, at.attention))
    }

    /// The same model with every pair scored in every layer.
    #[must_use]
    pub fn exact(&self) -> Self {
        Self { stack: self.stack.exact(), ..self.clone() }
    }

    /// The same model with another answer to how many pairs are scored.
    #[must_use]
    pub fn with_coverage(&self, coverage: Coverage) -> Self {
        Self { stack: StackPlan { coverage, ..self.stack.clone() }, ..self.clone() }
    }

    /// Number of tokens V; 0 where it reads no text.
    pub fn vocabulary(&self) -> usize {
        match self.input {
            InputPlan::Tokens { vocabulary, .. } => vocabulary,
            InputPlan::Patches { .. } => 0,
        }
    }

    /// How many outcomes it tells apart: tokens, classes, or positions.
    pub fn outcomes(&self) -> usize {
        match self.head {
            OutputPlan::Vocabulary(_) => self.vocabulary(),
            OutputPlan::Classes { classes, .. } => classes,
            OutputPlan::Span => self.stack.longest(),
            OutputPlan::Replaced | OutputPlan::States { .. } => 2,
        }
    }

    /// Token types; 0 where there are none.
    pub fn token_types(&self) -> usize {
        match self.input {
            InputPlan::Tokens { types, .. } => types,
            InputPlan::Patches { .. } => 0,
        }
    }

    /// The shape of the images that it reads; none where it reads text.
    pub fn image_shape(&self) -> Option<ImageShape> {
        match self.input {
            InputPlan::Patches { image, channels, .. } => Some(ImageShape { size: image, channels }),
            InputPlan::Tokens { .. } => None,
        }
    }

    /// Whether it tells classes of images apart, by one head.
    pub fn classifies_images(&self) -> bool {
        matches!(
            (self.input, self.head),
            (InputPlan::Patches { distils: false, .. }, OutputPlan::Classes { distils: false, .. })
        )
    }

    /// Whether it reads text and writes the translation of it.
    pub fn translates(&self) -> bool {
        self.encoder.is_some()
            && matches!((self.input, self.head), (InputPlan::Tokens { .. }, OutputPlan::Vocabulary(_)))
    }

    /// Whether it predicts tokens: goes on with texts, translates them, or fills in hidden words.
    pub fn predicts_tokens(&self) -> bool {
        matches!(self.head, OutputPlan::Vocabulary(_))
    }

    /// Whether it fills in hidden words rather than go on with a text: it sees both sides and predicts tokens.
    pub fn fills_in(&self) -> bool {
        self.predicts_tokens() && self.encoder.is_none() && !self.stack.is_causal
    }

    /// Whether it is one stack, which is what can be analysed so far: whatever it reads and predicts.
    pub fn is_analysable(&self) -> bool {
        self.encoder.is_none()
    }

    /// Whether it is one stack from tokens to tokens.
    pub fn is_language_model(&self) -> bool {
        self.encoder.is_none()
            && matches!((self.input, self.head), (InputPlan::Tokens { .. }, OutputPlan::Vocabulary(_)))
    }

    /// What it is, in a word: `encoder`, `decoder`, `encoder_decoder` or `vision`.
    pub fn architecture(&self) -> &'static str {
        match (self.input, &self.encoder) {
            (InputPlan::Patches { .. }, _) => "vision",
            (InputPlan::Tokens { .. }, Some(_)) => "encoder_decoder",
            (InputPlan::Tokens { .. }, None) => self.stack.name.word(),
        }
    }
}

/// The head of a model of some names for a task: of one that answers about whole examples with what its family has before the
/// classes.
///
/// # Errors
/// In words: why the family has none.
pub(super) fn task_head(naming: Naming, task: &TaskConfig) -> Result<OutputPlan, String> {
    let pooler = match naming {
        Naming::Bert | Naming::Roberta | Naming::Albert => Activation::Tanh,
        Naming::DistilBert => Activation::Relu,
        Naming::Electra => Activation::Gelu(Gelu::Exact),
        Naming::Vit => {
            return Ok(OutputPlan::Classes { classes: estimated_outputs(task), pooler: None, distils: false });
        }
        Naming::Gpt2 | Naming::Bart | Naming::Deit | Naming::Marian | Naming::Llama | Naming::T5 => {
            return Err("a head for a task is added to encoders, like BERT and ViT, alone".to_owned());
        }
    };
    Ok(match task.info().output {
        TaskOutput::Classes => {
            OutputPlan::Classes { classes: estimated_outputs(task), pooler: Some(pooler), distils: false }
        }
        TaskOutput::Span => OutputPlan::Span,
        TaskOutput::Text => {
            return Err("a translation is written word by word, by the head of a decoder".to_owned());
        }
    })
}

/// The outputs that a model with a task will probably have, before its labels were read.
fn estimated_outputs(task: &TaskConfig) -> usize {
    match (task.info().output, task.class_weights()) {
        (TaskOutput::Span, _) => 2,
        (_, Some(weights)) => weights.len().max(LEAST_CLASSES),
        (_, None) => 1,
    }
}

/// The vocabulary of a source that has one of its own: none of images.
fn own_vocabulary(config: &RunConfig) -> usize {
    let specials = config.objective().special_tokens().names.len();
    let source = &config.data.source;
    if source.has_images() { 0 } else { source.facts().symbols.len() + specials }
}

/// The vocabulary that a config will probably have, before there is a tokenizer: for estimates only.
///
/// The number asked for where one is trained (a small corpus may allow fewer); for bytes 256 and the special tokens
/// (BERT's five, GPT-2's one); 32,000 for a file, and for that of a model to begin with.
pub fn estimated_vocabulary(config: &RunConfig) -> usize {
    match &config.data.tokenizer {
        _ if config.data.source.has_own_tokens() => own_vocabulary(config),
        Tokenizer::Bytes(_) => BYTES + config.objective().special_tokens().names.len(),
        Tokenizer::Bpe(trained) | Tokenizer::WordPiece(trained) => trained.vocabulary,
        Tokenizer::Words(words) => words.vocabulary,
        Tokenizer::File(_) | Tokenizer::Initial(_) => FILE_VOCABULARY,
    }
}

#[cfg(test)]
mod tests {
    use super::super::supported;
    use super::*;
    use crate::config::{Compatibility, ModelKind, NormPlacement, PartialCoverage, Reuse, presets};

    #[test]
    fn resolves_every_architecture_and_norm() {
        for kind in ModelKind::LANGUAGE_MODELS {
            for norm in NormPlacement::ALL {
                let mut config = RunConfig::default();
                (config.model.kind, config.model.norm) = (kind, norm);
                let plan = ModelPlan::resolve(&config, 77).unwrap();
                assert_eq!((plan.stack.norm, plan.vocabulary()), (norm, 77));
                assert_eq!(plan.stack.head_size * plan.stack.heads, plan.stack.width);
                assert_eq!(plan.stack.positions, config.data.sequence_length);
                assert_eq!(plan.stack.is_causal, kind == ModelKind::Decoder);
                assert_eq!(plan.stacks().count(), 1);
            }
        }
    }

    const TRANSLATING: &str = "format = 1\ndata.kind = \"number_words\"\n[model]\nkind = \"encoder_decoder\"\nlayers = 3\n\
                               heads = 4\nwidth = 32\n";

    #[test]
    fn an_encoder_decoder_answers_for_each_of_its_attentions() {
        let text = "encoder_layers = 2\n[attention]\nreuse = { kind = \"first\", layers = 1, heads = 2 }\n\
                    compatibility = { kind = \"symmetric\" }\n[attention.cross]\n\
                    compatibility = { kind = \"collaborative\", d_k = 8 }\n[attention.encoder]\nreuse = { kind = \"none\" }\n";
        let config = crate::config::from_toml(&format!("{TRANSLATING}{text}")).unwrap();
        assert_eq!(crate::config::from_toml(&crate::config::to_toml(&config)).unwrap(), config);
        let plan = ModelPlan::resolve(&config, 99).unwrap();
        let encoder = plan.encoder.as_deref().unwrap();
        let cross = plan.stack.cross.as_ref().unwrap();
        assert_eq!((plan.architecture(), encoder.layers, plan.stack.layers), ("encoder_decoder", 2, 3));
        assert!(!encoder.is_causal && plan.stack.is_causal && encoder.head_plan.is_plain());
        assert_eq!(cross.head_plan, plan.stack.head_plan);
        assert!(!cross.head_plan.is_plain());
        let kinds = [&encoder.compatibility, &plan.stack.compatibility, &cross.compatibility].map(Compatibility::kind);
        assert_eq!(kinds, ["symmetric", "symmetric", "collaborative"]);
        let words = crate::config::attention_words(&config.attention);
        assert_eq!(words, "symmetric + first P 1 K 2, encoder no reuse, cross-attention collaborative d_k 8");
    }

    #[test]
    fn what_an_encoder_decoder_cannot_be_is_refused_with_the_reason() {
        let answer = |text: &str| {
            let config = crate::config::from_toml(&format!("{TRANSLATING}{text}")).unwrap();
            let problems = ModelPlan::resolve(&config, 10).unwrap_err();
            problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        for (text, wanted) in [
            ("[attention]\ncoverage = { kind = \"partial\", k = 4 }", "attention.coverage.kind: pairs are left out by"),
            (
                "encoder_layers = 1\n[attention]\nreuse = { kind = \"first\", layers = 1, heads = 1 }",
                "attention.encoder.reuse.layers: 1 is too large",
            ),
            (
                "[attention.cross]\nreuse = { kind = \"first\", layers = 3, heads = 1 }",
                "attention.cross.reuse.layers: 3 is too large",
            ),
            (
                "[attention.cross]\ncompatibility = { kind = \"grouped\", kv_heads = 3 }",
                "attention.cross.compatibility.kv_heads: 3 groups do not divide 4 heads",
            ),
            (
                "[attention.encoder]\nreuse = { kind = \"custom\", rows = [\"c c c 0.0\", \"c c c c\", \"c c c c\"] }",
                "attention.encoder.reuse.rows: layer 0 head 3",
            ),
            (
                "[attention.cross]\nreuse = { kind = \"full\", layers = 1 }",
                "attention.cross.reuse.kind: in layer 1 all heads",
            ),
            ("encoder_layers = 0", "model.encoder_layers: 0 is too small"),
        ] {
            let told = answer(text);
            assert!(told.contains(wanted), "{text}: {told}");
        }
        let of = |text: &str| crate::config::from_toml(text).unwrap().validate();
        for (text, field) in [
            ("format = 1\nmodel.kind = \"encoder_decoder\"", "data.kind"),
            ("format = 1\ndata.kind = \"number_words\"", "data.kind"),
            ("format = 1\nmodel.encoder_layers = 2", "model.encoder_layers"),
            ("format = 1\nattention.cross.reuse.kind = \"none\"", "attention.cross"),
            ("format = 1\ntrain.label_smoothing = 0.1", "train.label_smoothing"),
        ] {
            assert_eq!(of(text).iter().map(|problem| problem.field.as_str()).collect::<Vec<_>>(), [field], "{text}");
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
                "coverage = { kind = \"partial\", k = 2 }\ncache = { kind = \"hidden\" }",
                "attention.cache.kind: scores that follow from others need whole rows of pairs",
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
        let last = plan.stack.layers - 1;
        assert!((0..last).all(|layer| plan.stack.approximates(layer)) && !plan.stack.approximates(last));
        assert!(!plan.exact().stack.approximates(0) && plan.stack.trained_restore().is_none());
        assert_eq!((plan.stack.longest(), plan.stack.coverage_tokens), (config.data.sequence_length, None));
        // More positions than tokens: pairs are those of the tokens.
        config.model.positions = Some(512);
        assert_eq!(supported(&config), vec![]);
        let long = ModelPlan::resolve(&config, 50).unwrap();
        assert_eq!((long.stack.positions, long.stack.longest()), (512, config.data.sequence_length));
        assert_eq!(long.stack.restore_numbers(), plan.stack.restore_numbers());
        assert_eq!((long.exact().stack.longest(), long.exact().stack.coverage_tokens), (512, None));
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
        assert_eq!(ModelPlan::resolve(&config, 10).unwrap().stack.positions, 500);
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
