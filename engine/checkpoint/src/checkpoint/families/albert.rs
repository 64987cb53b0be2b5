//! ALBERT (Lan et al., 2020): a BERT whose layers are one and the same, and whose tables are narrower than its stream.

use super::{
    size_keys::{BERT_KEYS, Fixed, SizeKeys},
    text_encoder::{NormFirst, TextEncoder, TokensHead, classes},
};
use crate::{
    attention::{BERT, Naming, Preset, StackDesign},
    ops::Activation,
};

pub(super) static ALBERT: TextEncoder = TextEncoder {
    types: &["albert"],
    preset: Preset { naming: Naming::Albert, design: StackDesign { shares_layers: true, ..BERT.design }, ..BERT },
    keys: SizeKeys {
        activation: ("hidden_act", "gelu_new"),
        embedding: Some(("embedding_size", Some(128))),
        written: &[("inner_group_num", Fixed::Number(1)), ("num_hidden_groups", Fixed::Number(1))],
        demanded: &[
            ("position_embedding_type", Fixed::Word("absolute")),
            ("num_hidden_groups", Fixed::Number(1)),
            ("inner_group_num", Fixed::Number(1)),
        ],
        ..BERT_KEYS
    },
    base: "albert.",
    // The parameters of its layers are those of our first one.
    names: &[
        ("input.tokens", "albert.embeddings.word_embeddings"),
        ("input.types", "albert.embeddings.token_type_embeddings"),
        ("encoder.positions", "albert.embeddings.position_embeddings"),
        ("encoder.embedding_norm", "albert.embeddings.LayerNorm"),
        ("input.projection", "albert.encoder.embedding_hidden_mapping_in"),
        ("encoder.0.self.norm", "albert.encoder.albert_layer_groups.0.albert_layers.0.attention.LayerNorm"),
        ("encoder.0.self.output", "albert.encoder.albert_layer_groups.0.albert_layers.0.attention.dense"),
        ("encoder.0.self", "albert.encoder.albert_layer_groups.0.albert_layers.0.attention"),
        ("encoder.0.feed_forward.norm", "albert.encoder.albert_layer_groups.0.albert_layers.0.full_layer_layer_norm"),
        ("encoder.0.feed_forward.in", "albert.encoder.albert_layer_groups.0.albert_layers.0.ffn"),
        ("encoder.0.feed_forward.out", "albert.encoder.albert_layer_groups.0.albert_layers.0.ffn_output"),
        ("head.tokens", "predictions.decoder"),
        ("head.dense", "predictions.dense"),
        ("head.norm", "predictions.LayerNorm"),
        ("head.bias", "predictions.bias"),
        ("head.pooler", "albert.pooler"),
        ("head.classes", "classifier"),
        ("head.span", "qa_outputs"),
    ],
    other_names: |_| &[],
    classes: classes!("Albert"),
    norm_first: NormFirst::Unknown("an ALBERT with norm first"),
    own: classes!("HeadroomAlbert"),
    without_replaced: "an ALBERT that tells replaced tokens",
    tokens_head: TokensHead {
        start: "predictions.",
        tables: ["albert.embeddings.word_embeddings.weight", "predictions.decoder.weight"],
        bias: Some(("predictions.decoder.bias", "predictions.bias")),
        activation: None,
    },
    replaced_head: None,
    pooler: Some((["albert.pooler.", "pooler."], true)),
    pooler_activation: Activation::Tanh,
    heads: &["predictions.", "sop_classifier.", "classifier.", "qa_outputs."],
    unused: &["sop_classifier.", "albert.embeddings.position_ids"],
    prunes: false,
};
