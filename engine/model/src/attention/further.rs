//! Training that begins with a model: the plan of the run is that of the model, and what the config says must be the same.

use serde::Serialize;

use super::{
    BERT, GPT2, HeadPlan, InputPlan, ModelPlan, Naming, OutputPlan, StackName, StackPlan, VocabularyHead,
    plan::task_head, supported_design,
};
use crate::config::{
    AttentionConfig, Compatibility, Coverage, ModelConfig, ModelKind, OtherAnswers, Problem, Reuse, RunConfig,
    TaskOutput, counted,
};
use crate::ops::{Activation, Gelu};

impl ModelPlan {
    /// The plan of a run that begins with a model of this plan: its names and design, a head over the vocabulary or for the
    /// task ([`Self::with_outputs`] says of how many outputs), and of the config what no weight depends on: dropout, which pairs are left out, what is kept while generating.
    ///
    /// # Errors
    /// Every field of the config that says something else than the model is, with what to set it to; or why such a model
    /// cannot be trained.
    pub fn trained_further(&self, config: &RunConfig) -> Result<Self, Vec<Problem>> {
        let refused = |why: String| vec![Problem::new("model.initial", why)];
        reads_the_same(self, config).map_err(refused)?;
        let (model, attention) = self.config_without_head().map_err(refused)?;
        let mut problems = differences(config, &model, &attention);
        let (length, positions) = (config.data.sequence_length, self.stack.positions);
        if length > positions {
            let reads = counted(positions, "token");
            problems.push(Problem::new(
                "data.sequence_length",
                format!("the model to begin with reads at most {reads}, not {length}; shorten the sequence"),
            ));
        }
        let head = match (&config.task, self.head) {
            (None, _) => self.head_to_train()?,
            (Some(task), _) if !task.answers_examples() => self.head_to_train()?,
            (Some(task), OutputPlan::Classes { distils: false, .. })
                if task.info().output == TaskOutput::Classes && !task.info().reads_images =>
            {
                self.head
            }
            (Some(task), _) => task_head(self.naming, task).map_err(refused)?,
        };
        let mut plan = Self { cache: config.attention.cache.clone(), head, ..self.clone() };
        for stack in plan.encoder.as_deref_mut().into_iter().chain([&mut plan.stack]) {
            stack.dropout = config.model.dropout;
        }
        let coverage = config.attention.coverage.of_model();
        if !self.stack.coverage.is_full() && (coverage != self.stack.coverage || length != self.stack.longest()) {
            problems.push(Problem::new(
                "attention.coverage",
                format!(
                    "the model to begin with leaves out pairs of {}; set attention.coverage to {} and \
                     data.sequence_length to {}",
                    counted(self.stack.longest(), "token"),
                    in_toml(&self.stack.coverage),
                    self.stack.longest()
                ),
            ));
        }
        plan.stack.coverage_tokens = (!coverage.is_full() && length < positions).then_some(length);
        plan.stack.coverage = coverage;
        problems.extend(supported_design(&plan.stack));
        if problems.is_empty() { Ok(plan) } else { Err(problems) }
    }

    /// True if a config that trains this model further asks for other attention than it has, and for nothing else that is refused:
    /// training further keeps the attention of its initial model, and a conversion changes it.
    pub fn needs_conversion(&self, config: &RunConfig) -> bool {
        let Ok((_, own)) = self.config_without_head() else { return false };
        let AttentionConfig { reuse, compatibility, encoder, cross, .. } = own;
        let attention = AttentionConfig { reuse, compatibility, encoder, cross, ..config.attention.clone() };
        let with_own = RunConfig { attention, ..config.clone() };
        self.trained_further(config).is_err() && self.trained_further(&with_own).is_ok()
    }

    /// `[model]` and `[attention]` of a config that trains a model of this plan further, without `model.initial` itself.
    ///
    /// # Errors
    /// In words: why none can.
    pub fn config_to_train_further(&self) -> Result<(ModelConfig, AttentionConfig), String> {
        if matches!(self.input, InputPlan::Patches { .. }) {
            return Err(
                "it reads images; name it in model.initial of a config whose data.kind is \"images\"".to_owned()
            );
        }
        self.head_to_train()
            .map_err(|problems| problems.into_iter().map(|problem| problem.message()).collect::<String>())?;
        self.config_without_head()
    }

    /// The same whatever the model ends in.
    fn config_without_head(&self) -> Result<(ModelConfig, AttentionConfig), String> {
        let patch = match self.input {
            InputPlan::Patches { distils: true, .. } => {
                return Err("it learnt from a teacher's answers too, which training here has none of".to_owned());
            }
            InputPlan::Patches { patch, .. } => Some(patch),
            InputPlan::Tokens { .. } => None,
        };
        let stack = &self.stack;
        // Heads may be wider or narrower than a share of the stream: that is the model's own.
        if !stack.width.is_multiple_of(stack.heads) {
            return Err(format!(
                "its width, {}, is not divisible by {}, as that of a config is",
                stack.width,
                counted(stack.heads, "head")
            ));
        }
        if let Some(encoder) = self.encoder.as_deref() {
            let sizes = |stack: &StackPlan| (stack.heads, stack.width, stack.feed_forward, stack.norm, stack.positions);
            if sizes(encoder) != sizes(stack) {
                return Err("its encoder has other sizes than its decoder, which a config cannot say".to_owned());
            }
        }
        if matches!(stack.coverage, Coverage::Eigen(_)) {
            return Err(
                "it scores on eigenvectors of another model's scores, which is for evaluation alone; begin with \
                        the model that it was made from"
                    .to_owned(),
            );
        }
        let kind = ModelKind::of(self.encoder.is_some(), stack.name == StackName::Decoder);
        let model = ModelConfig {
            kind,
            layers: stack.layers,
            encoder_layers: self
                .encoder
                .as_ref()
                .map(|encoder| encoder.layers)
                .filter(|layers| *layers != stack.layers),
            heads: stack.heads,
            width: stack.width,
            feed_forward: stack.feed_forward,
            dropout: stack.dropout,
            norm: stack.norm,
            // Of images they follow from the patches.
            positions: patch.is_none().then_some(stack.positions),
            patch,
            initial: None,
        };
        let others = |head_plan: &HeadPlan, compatibility: &Compatibility| {
            let is_same = reuse(head_plan) == reuse(&stack.head_plan) && *compatibility == stack.compatibility;
            let other = || OtherAnswers { reuse: Some(reuse(head_plan)), compatibility: Some(compatibility.clone()) };
            (!is_same).then(other)
        };
        let attention = AttentionConfig {
            reuse: reuse(&stack.head_plan),
            compatibility: stack.compatibility.clone(),
            coverage: stack.coverage.of_model(),
            encoder: self.encoder.as_ref().and_then(|encoder| others(&encoder.head_plan, &encoder.compatibility)),
            cross: stack.cross.as_ref().and_then(|cross| others(&cross.head_plan, &cross.compatibility)),
            ..AttentionConfig::default()
        };
        Ok((model, attention))
    }

    /// Its head over the vocabulary; where it ends in something else, the one that its family has.
    fn head_to_train(&self) -> Result<OutputPlan, Vec<Problem>> {
        if matches!(self.head, OutputPlan::Vocabulary(_)) {
            return Ok(self.head);
        }
        let found = match (self.naming, self.stack.name) {
            (Naming::Bert | Naming::DistilBert | Naming::Albert, StackName::Encoder) => Some(BERT.vocabulary_head),
            (Naming::Roberta | Naming::Electra, StackName::Encoder) => {
                let activation = Some(Activation::Gelu(Gelu::Exact));
                Some(VocabularyHead { activation, ..BERT.vocabulary_head })
            }
            (Naming::Gpt2, StackName::Decoder) => Some(GPT2.vocabulary_head),
            (
                Naming::Bert
                | Naming::Roberta
                | Naming::DistilBert
                | Naming::Electra
                | Naming::Albert
                | Naming::Gpt2
                | Naming::Bart
                | Naming::Vit
                | Naming::Deit
                | Naming::Marian
                | Naming::Llama
                | Naming::T5,
                StackName::Encoder | StackName::Decoder,
            ) => None,
        };
        found.map(OutputPlan::Vocabulary).ok_or_else(|| {
            let why = "it predicts no tokens, and a head for that is added to encoders like BERT and to GPT-2 alone";
            vec![Problem::new("model.initial", why)]
        })
    }
}

/// Refuses a model of text for images, one of images for text, and one of images of another shape.
fn reads_the_same(plan: &ModelPlan, config: &RunConfig) -> Result<(), String> {
    let (theirs, source) = (plan.image_shape(), &config.data.source);
    match (theirs, source.has_images()) {
        (None, false) => Ok(()),
        (None, true) => Err("it reads text, and the data are images; begin with a model like ViT".to_owned()),
        (Some(_), false) => Err("it reads images, and the data are text; begin with a model of text".to_owned()),
        (Some(theirs), true) => match source.image_shape().filter(|ours| *ours != theirs) {
            None => Ok(()),
            Some(ours) => Err(format!(
                "it reads images of {} with {} a pixel, and those of the data have {} and {}; begin with a model of such images",
                counted(theirs.size, "pixel"),
                counted(theirs.channels, "number"),
                counted(ours.size, "pixel"),
                counted(ours.channels, "number")
            )),
        },
    }
}

/// The schedule of a head plan: none, or its table.
fn reuse(head_plan: &HeadPlan) -> Reuse {
    if head_plan.is_plain() { Reuse::default() } else { Reuse::Custom(head_plan.to_custom()) }
}

/// A value as a config writes it.
fn in_toml(value: &impl Serialize) -> String {
    toml::Value::try_from(value).map(|value| value.to_string()).unwrap_or_default()
}

/// What to do about attention of another kind.
const CONVERT: &str = "or make a model with this attention first, with `headroom convert`";

/// The fields of a config that say something else than a model is, whose own config has these sections.
fn differences(config: &RunConfig, model: &ModelConfig, attention: &AttentionConfig) -> Vec<Problem> {
    let mut problems = Vec::new();
    let ours = &config.model;
    let mut differs = |field: &str, ours: String, theirs: String, or: &str| {
        if ours != theirs {
            let or = if or.is_empty() { String::new() } else { format!(", {or}") };
            problems.push(Problem::new(
                field,
                format!("it is {ours} here, and {theirs} in the model to begin with; set it to {theirs}{or}"),
            ));
        }
    };
    differs("model.kind", in_toml(&ours.kind), in_toml(&model.kind), "");
    if ours.kind != model.kind {
        // Nothing else can be compared.
        return problems;
    }
    let sizes = [
        ("model.layers", ours.layers, model.layers),
        ("model.encoder_layers", ours.encoder_depth().unwrap_or(0), model.encoder_depth().unwrap_or(0)),
        ("model.heads", ours.heads, model.heads),
        ("model.width", ours.width, model.width),
        ("model.feed_forward", ours.feed_forward, model.feed_forward),
        ("model.patch", ours.patch.unwrap_or(0), model.patch.unwrap_or(0)),
        ("model.positions", ours.positions.or(model.positions).unwrap_or(0), model.positions.unwrap_or(0)),
    ];
    for (field, ours, theirs) in sizes {
        differs(field, ours.to_string(), theirs.to_string(), "");
    }
    differs("model.norm", in_toml(&ours.norm), in_toml(&model.norm), "");
    let depth = |answers: &ModelConfig| answers.encoder_depth();
    let mut cases = vec![("attention", config.attention.clone(), attention.clone(), ours.layers, model.layers)];
    if let Some((ours, theirs)) = depth(ours).zip(depth(model)) {
        cases.push(("attention.encoder", config.attention.of_encoder(), attention.of_encoder(), ours, theirs));
        let layers = (config.model.layers, model.layers);
        cases.push(("attention.cross", config.attention.of_cross(), attention.of_cross(), layers.0, layers.1));
    }
    let heads = (config.model.heads, model.heads);
    for (table, ours, theirs, layers, their_layers) in cases {
        let (own, other) = (in_toml(&ours.compatibility), in_toml(&theirs.compatibility));
        differs(&format!("{table}.compatibility"), own, other, CONVERT);
        // Tables of other sizes are told by the sizes.
        if (layers, heads.0) == (their_layers, heads.1)
            && let (Ok(own), Ok(other)) =
                (HeadPlan::derive(&ours, layers, heads.0), HeadPlan::derive(&theirs, layers, heads.0))
            && own != other
        {
            differs(&format!("{table}.reuse"), in_toml(&ours.reuse), in_toml(&theirs.reuse), CONVERT);
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{NumberWordsSource, Restore, Source, from_toml, presets, to_toml};

    /// A model goes on under a config that was made of it, and its own plan is that of the config.
    #[test]
    fn the_config_of_a_plan_trains_that_plan() {
        for preset in presets() {
            let mut given = preset.config().unwrap();
            // Some presets leave the text to their user.
            let pairs = Source::NumberWords(NumberWordsSource::default());
            given.data.source = if given.data.source.has_pairs() { pairs } else { Source::default() };
            let plan = ModelPlan::resolve(&given, 77).unwrap();
            let (model, attention) = plan.config_to_train_further().unwrap();
            let cache = given.attention.cache.clone();
            let coverage = given.attention.coverage.clone();
            let made = RunConfig { model, attention: AttentionConfig { coverage, cache, ..attention }, ..given };
            let made = from_toml(&to_toml(&made)).unwrap();
            assert_eq!(plan.trained_further(&made), Ok(plan.clone()), "{}", made.name);
            assert_eq!(ModelPlan::resolve(&made, 77), Ok(plan), "{}", made.name);
        }
    }

    /// Of the config comes what no weight depends on.
    #[test]
    fn dropout_and_pairs_are_the_configs() {
        let mut config = RunConfig::default();
        let plan = ModelPlan::resolve(&config, 77).unwrap();
        config.model.dropout = 0.25;
        let partial = crate::config::PartialCoverage { k: 4, restore: Restore::Common, ..Default::default() };
        config.attention.coverage = Coverage::Partial(partial);
        config.data.sequence_length /= 2;
        let further = plan.trained_further(&config).unwrap();
        assert!((further.stack.dropout - 0.25).abs() < 1e-12);
        assert_eq!(further.stack.coverage_tokens, Some(config.data.sequence_length));
        assert!(!further.stack.coverage.is_full() && further.stack.positions == plan.stack.positions);
        // What leaves out pairs goes on with these alone.
        assert_eq!(further.trained_further(&config), Ok(further.clone()));
        config.attention.coverage = Coverage::default();
        let problems = further.trained_further(&config).unwrap_err();
        assert_eq!(problems.iter().map(|problem| problem.field.as_str()).collect::<Vec<_>>(), ["attention.coverage"]);
    }
}
