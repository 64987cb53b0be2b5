//! Keys of a `config.json` as data: each is written and read by its row.

use serde_json::{Map, Value};

use super::keys::{self, Keys};
use crate::{
    attention::{ModelPlan, Preset},
    checkpoint::CheckpointError,
    config::ModelConfig,
};

/// The keys of a model of one stack: sizes, what may differ from the family's usual values, and what is fixed.
pub(super) struct SizeKeys {
    pub layers: &'static str,
    pub heads: &'static str,
    pub width: &'static str,
    pub feed_forward: &'static str,
    /// True if `feed_forward` may be absent: four times the width.
    pub derives_feed_forward: bool,
    /// Positions with those that come before the first one.
    pub positions: Option<&'static str>,
    /// The first is read.
    pub dropouts: &'static [&'static str],
    /// With the word where nothing is said.
    pub activation: (&'static str, &'static str),
    pub epsilon: Option<&'static str>,
    pub token_types: Option<&'static str>,
    /// Width of the tables, and the usual one where it is not that of the stream.
    pub embedding: Option<(&'static str, Option<usize>)>,
    /// Values that are written.
    pub written: &'static [(&'static str, Fixed)],
    /// The only values with which a model is read. An absent key means this value.
    pub demanded: &'static [(&'static str, Fixed)],
}

/// A value that all models of a family have.
#[derive(Clone, Copy)]
pub(super) enum Fixed {
    Flag(bool),
    Number(usize),
    Word(&'static str),
}

impl From<Fixed> for Value {
    fn from(fixed: Fixed) -> Self {
        match fixed {
            Fixed::Flag(flag) => flag.into(),
            Fixed::Number(number) => number.into(),
            Fixed::Word(word) => word.into(),
        }
    }
}

/// Those of BERT.
pub(super) const BERT_KEYS: SizeKeys = SizeKeys {
    layers: "num_hidden_layers",
    heads: "num_attention_heads",
    width: "hidden_size",
    feed_forward: "intermediate_size",
    derives_feed_forward: false,
    positions: Some("max_position_embeddings"),
    dropouts: &["hidden_dropout_prob", "attention_probs_dropout_prob"],
    activation: ("hidden_act", "gelu"),
    epsilon: Some("layer_norm_eps"),
    token_types: Some("type_vocab_size"),
    embedding: None,
    written: &[],
    demanded: &[("position_embedding_type", Fixed::Word("absolute"))],
};

impl SizeKeys {
    /// The keys with the values of a plan's last stack.
    pub fn write(&self, plan: &ModelPlan) -> Map<String, Value> {
        let stack = &plan.stack;
        let mut written: Vec<(&str, Value)> = vec![
            (self.layers, stack.layers.into()),
            (self.heads, stack.heads.into()),
            (self.width, stack.width.into()),
            (self.feed_forward, stack.feed_forward.into()),
            (self.activation.0, keys::activation_word(stack.activation).into()),
        ];
        written.extend(self.dropouts.iter().map(|key| (*key, stack.dropout.into())));
        written.extend(self.positions.map(|key| (key, (stack.first_position + stack.positions).into())));
        written.extend(self.epsilon.map(|key| (key, stack.norm_epsilon.into())));
        written.extend(self.token_types.map(|key| (key, plan.token_types().into())));
        written.extend(self.embedding.map(|(key, _)| (key, stack.embedding_width().into())));
        written.extend(self.written.iter().map(|(key, value)| (*key, (*value).into())));
        written.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// Sizes of a model, with `positions` where no key says them; what differs from the usual values goes to the preset.
    ///
    /// # Errors
    /// If a key is missing, or says what cannot be computed here.
    pub fn read(&self, keys: &Keys<'_>, preset: &mut Preset, positions: usize) -> Result<ModelConfig, CheckpointError> {
        for (key, value) in self.demanded {
            keys.demand(key, &[(*value).into()])?;
        }
        preset.activation = keys.activation(self.activation.0, self.activation.1)?;
        if let Some(key) = self.token_types {
            preset.token_types = keys.count_or(key, preset.token_types)?;
        }
        let positions = match self.positions {
            Some(key) => keys.count(key)?.saturating_sub(preset.first_position),
            None => positions,
        };
        let width = keys.count(self.width)?;
        let feed_forward = if self.derives_feed_forward {
            keys.count_or(self.feed_forward, width.saturating_mul(4))?
        } else {
            keys.count(self.feed_forward)?
        };
        if let Some((key, usual)) = self.embedding {
            let narrow = keys.count_or(key, usual.unwrap_or(width))?;
            preset.design.embedding.width = (usual.is_some() || narrow != width).then_some(narrow);
        }
        if let Some(key) = self.epsilon {
            preset.norm_epsilon = keys.epsilon(key, preset)?;
        }
        Ok(ModelConfig {
            layers: keys.count(self.layers)?,
            heads: keys.count(self.heads)?,
            width,
            feed_forward,
            dropout: self.dropouts.first().map_or(Ok(0.1), |key| keys.number(key, 0.1))?,
            positions: Some(positions),
            ..ModelConfig::default()
        })
    }
}
