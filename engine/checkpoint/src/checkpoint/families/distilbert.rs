//! `DistilBERT` (Sanh et al., 2019): BERT without token types, in half as many layers.

use super::{
    size_keys::{BERT_KEYS, Fixed, SizeKeys},
    text_encoder::{NormFirst, TextEncoder, TokensHead, classes},
};
use crate::{
    attention::{BERT, Naming, Preset},
    ops::Activation,
};

pub(super) static DISTILBERT: TextEncoder = TextEncoder {
    types: &["distilbert"],
    preset: Preset { naming: Naming::DistilBert, token_types: 0, ..BERT },
    keys: SizeKeys {
        layers: "n_layers",
        heads: "n_heads",
        width: "dim",
        feed_forward: "hidden_dim",
        dropouts: &["dropout", "attention_dropout"],
        activation: ("activation", "gelu"),
        epsilon: None,
        token_types: None,
        written: &[("sinusoidal_pos_embds", Fixed::Flag(false))],
        demanded: &[],
        ..BERT_KEYS
    },
    base: "distilbert.",
    names: &[
        ("input.tokens", "distilbert.embeddings.word_embeddings"),
        ("encoder.positions", "distilbert.embeddings.position_embeddings"),
        ("encoder.embedding_norm", "distilbert.embeddings.LayerNorm"),
        ("encoder.{}.self.query", "distilbert.transformer.layer.{}.attention.q_lin"),
        ("encoder.{}.self.key", "distilbert.transformer.layer.{}.attention.k_lin"),
        ("encoder.{}.self.value", "distilbert.transformer.layer.{}.attention.v_lin"),
        ("encoder.{}.self.output", "distilbert.transformer.layer.{}.attention.out_lin"),
        ("encoder.{}.self.norm", "distilbert.transformer.layer.{}.sa_layer_norm"),
        ("encoder.{}.feed_forward.in", "distilbert.transformer.layer.{}.ffn.lin1"),
        ("encoder.{}.feed_forward.out", "distilbert.transformer.layer.{}.ffn.lin2"),
        ("encoder.{}.feed_forward.norm", "distilbert.transformer.layer.{}.output_layer_norm"),
        ("head.dense", "vocab_transform"),
        ("head.norm", "vocab_layer_norm"),
        ("head.bias", "vocab_projector.bias"),
        ("head.tokens", "vocab_projector"),
        ("head.pooler", "pre_classifier"),
        ("head.classes", "classifier"),
        ("head.span", "qa_outputs"),
    ],
    other_names: |_| &[],
    classes: classes!("DistilBert"),
    norm_first: NormFirst::Unknown("a DistilBERT with norm first"),
    own: classes!("HeadroomDistilBert"),
    without_replaced: "a DistilBERT that tells replaced tokens",
    tokens_head: TokensHead {
        start: "vocab_",
        tables: ["distilbert.embeddings.word_embeddings.weight", "vocab_projector.weight"],
        bias: None,
        activation: None,
    },
    replaced_head: None,
    pooler: None,
    pooler_activation: Activation::Relu,
    heads: &["vocab_", "pre_classifier.", "classifier.", "qa_outputs."],
    unused: &[],
    prunes: true,
};
