//! Families of encoders that read tokens, as data: BERT and its kin differ in names, keys and heads alone.

use serde_json::Value;

use super::{Family, FileNames, Keys, Own, Ties, keys::Ending, size_keys::SizeKeys};
use crate::{
    attention::{ModelPlan, OutputPlan, Preset, StackName, VocabularyHead},
    checkpoint::{CheckpointError, special_tokens::SpecialTokens},
    config::NormPlacement,
    model::{NameRow, seed_names},
    ops::Activation,
};

/// A family of encoders.
pub(super) struct TextEncoder {
    /// Types of models in files.
    pub types: &'static [&'static str],
    /// With norms last.
    pub preset: Preset,
    pub keys: SizeKeys,
    /// Beginning of the names of the base model.
    pub base: &'static str,
    /// Names of its tensors beside those by which initial weights are drawn; the first that fits counts.
    pub names: &'static [NameRow],
    /// Names of tensors that are others in a model with this end.
    pub other_names: fn(&OutputPlan) -> &'static [NameRow],
    pub classes: Classes,
    pub norm_first: NormFirst,
    /// Classes of models with attention of our own.
    pub own: Classes,
    /// The reason why `transformers` has no such model that tells replaced tokens.
    pub without_replaced: &'static str,
    pub tokens_head: TokensHead,
    /// Beginning of the tensors that tell replaced tokens.
    pub replaced_head: Option<&'static str>,
    /// The pooler of the base model, and whether classes are told by it.
    pub pooler: Option<(Pooler, bool)>,
    /// Activation before classes.
    pub pooler_activation: Activation,
    /// Beginnings of the tensors of all heads.
    pub heads: &'static [&'static str],
    /// Beginnings of tensors that no model needs.
    pub unused: &'static [&'static str],
    /// True if heads may be pruned.
    pub prunes: bool,
}

/// Beginnings of the tensors of a pooler: in whole models, and in those of the base alone.
pub(super) type Pooler = [&'static str; 2];

/// The head that predicts tokens.
pub(super) struct TokensHead {
    /// Beginning of its tensors.
    pub start: &'static str,
    /// The table of its embeddings and its own.
    pub tables: [&'static str; 2],
    /// The bias of its table, and the tensor that it is a copy of.
    pub bias: Option<(&'static str, &'static str)>,
    /// Activation where it is not that of the layers.
    pub activation: Option<Activation>,
}

/// Names of the classes of a family, by the end of a model.
pub(super) struct Classes {
    pub tokens: &'static str,
    pub labels: &'static str,
    pub span: &'static str,
    pub states: &'static str,
    pub replaced: Option<&'static str>,
}

/// A family's models with norms first.
pub(super) enum NormFirst {
    /// Another type of models.
    Type(&'static str, Classes),
    /// None in `transformers`, as a noun.
    Unknown(&'static str),
}

/// The classes of a family in `transformers`, or our own, by the beginning of their names.
macro_rules! classes {
    ($start:literal) => {
        $crate::checkpoint::families::text_encoder::Classes {
            tokens: concat!($start, "ForMaskedLM"),
            labels: concat!($start, "ForSequenceClassification"),
            span: concat!($start, "ForQuestionAnswering"),
            states: concat!($start, "Model"),
            replaced: None,
        }
    };
}
pub(super) use classes;

/// Names of the tensors of a body as BERT has it, below the name of its base model.
macro_rules! bert_body {
    ($base:literal, $($other:expr),*) => {
        &[
            ("input.tokens", concat!($base, ".embeddings.word_embeddings")),
            ("input.types", concat!($base, ".embeddings.token_type_embeddings")),
            ("encoder.positions", concat!($base, ".embeddings.position_embeddings")),
            ("encoder.embedding_norm", concat!($base, ".embeddings.LayerNorm")),
            ("encoder.{}.self.norm", concat!($base, ".encoder.layer.{}.attention.output.LayerNorm")),
            ("encoder.{}.self.output", concat!($base, ".encoder.layer.{}.attention.output.dense")),
            ("encoder.{}.self", concat!($base, ".encoder.layer.{}.attention.self")),
            ("encoder.{}.feed_forward.norm", concat!($base, ".encoder.layer.{}.output.LayerNorm")),
            ("encoder.{}.feed_forward.in", concat!($base, ".encoder.layer.{}.intermediate.dense")),
            ("encoder.{}.feed_forward.out", concat!($base, ".encoder.layer.{}.output.dense")),
            $($other),*
        ]
    };
}
pub(super) use bert_body;

impl Classes {
    fn of(&self, head: &OutputPlan) -> Option<&'static str> {
        match head {
            OutputPlan::Vocabulary(_) => Some(self.tokens),
            OutputPlan::Classes { .. } => Some(self.labels),
            OutputPlan::Span => Some(self.span),
            OutputPlan::Replaced => self.replaced,
            OutputPlan::States { .. } => Some(self.states),
        }
    }
}

impl TextEncoder {
    fn head(&self, keys: &Keys<'_>, preset: &Preset) -> Result<OutputPlan, CheckpointError> {
        let TokensHead { start, activation, .. } = self.tokens_head;
        let tokens = [self.own.tokens];
        if let Some(replaced) = self.replaced_head {
            let is_generator = keys.class().is_some_and(|class| class.ends_with("ForMaskedLM"));
            match keys.ending(&tokens) {
                Ending::Tokens | Ending::States | Ending::Unsaid if keys.holds(replaced) => {
                    return Ok(OutputPlan::Replaced);
                }
                Ending::Tokens if !is_generator && !keys.holds(start) => return Ok(OutputPlan::Replaced),
                _ => {}
            }
        }
        let usual = VocabularyHead { activation, ..preset.vocabulary_head };
        let poolers = self.pooler.as_ref().map_or(&[][..], |(pooler, _)| pooler.as_slice());
        keys.encoder_head(&tokens, self.pooler_activation, usual, &[start], poolers)
    }
}

impl Family for TextEncoder {
    fn model_types(&self) -> &'static [&'static str] {
        self.types
    }

    fn own_classes(&self) -> Vec<&'static str> {
        let Classes { tokens, labels, span, states, replaced } = self.own;
        replaced.into_iter().chain([tokens, labels, span, states]).collect()
    }

    fn own_class(&self, plan: &ModelPlan) -> &'static str {
        self.own.of(&plan.head).unwrap_or(self.own.states)
    }

    fn ties(&self) -> Option<Ties> {
        let TokensHead { tables: [words, head], bias, .. } = self.tokens_head;
        Some(Ties { base: self.base, wrapper: None, words, inputs: &[], head, head_bias: bias })
    }

    fn class(&self, plan: &ModelPlan) -> Result<(&'static str, &'static str), &'static str> {
        let class = self.classes.of(&plan.head).ok_or(self.without_replaced)?;
        match (plan.stack.norm, &self.norm_first) {
            (NormPlacement::Post, _) => Ok((self.types[0], class)),
            (NormPlacement::Pre, NormFirst::Type(model_type, classes)) => {
                Ok((model_type, classes.of(&plan.head).ok_or(self.without_replaced)?))
            }
            (NormPlacement::Pre, NormFirst::Unknown(what)) => Err(what),
        }
    }

    fn settings(&self, plan: &ModelPlan, _: &SpecialTokens) -> Value {
        Value::Object(self.keys.write(plan))
    }

    fn plan(&self, keys: &Keys<'_>, own: &Own) -> Result<ModelPlan, CheckpointError> {
        if !self.prunes {
            keys.demand_all_heads()?;
        }
        let mut preset = self.preset;
        preset.norm = match (own.norm, &self.norm_first) {
            (Some(norm), _) => norm,
            (None, NormFirst::Type(model_type, _)) if keys.word("model_type")? == *model_type => NormPlacement::Pre,
            (None, _) => preset.norm,
        };
        let sizes = self.keys.read(keys, &mut preset, 0)?;
        let attention = if self.prunes { keys.with_pruned(own, &sizes)? } else { own.attention.clone() };
        let stack = keys.stack(&preset, StackName::Encoder, &sizes, &attention, own.length)?;
        let head = self.head(keys, &preset)?;
        keys.text(&preset, None, stack, head)
    }

    fn names(&self, plan: &ModelPlan) -> FileNames {
        let head = &plan.head;
        let predicts = matches!(head, OutputPlan::Vocabulary(_));
        let tells_replaced = matches!(head, OutputPlan::Replaced);
        let pools = |for_classes: bool| match head {
            OutputPlan::Classes { .. } => for_classes,
            OutputPlan::States { pools } => *pools,
            OutputPlan::Vocabulary(_) | OutputPlan::Span | OutputPlan::Replaced => false,
        };
        let unused_heads = [
            Some(self.tokens_head.start).filter(|_| !predicts),
            self.replaced_head.filter(|_| !tells_replaced),
            self.pooler.as_ref().filter(|(_, for_classes)| !pools(*for_classes)).map(|([whole, _], _)| *whole),
        ];
        FileNames {
            tables: [seed_names(plan).0, &[(self.other_names)(head), self.names]].concat(),
            base: self.base,
            wrapper: None,
            is_base: matches!(head, OutputPlan::States { .. }),
            others: self.heads,
            unused: unused_heads.into_iter().flatten().chain(self.unused.iter().copied()).collect(),
            unused_ends: &[],
        }
    }
}
