//! `RoBERTa` (Liu et al., 2019), XLM-RoBERTa and `CamemBERT`: BERT with other names, whose positions begin at row 2. Positions count padding
//! on the left too there; texts are padded on the right here.

use super::{
    size_keys::{BERT_KEYS, Fixed, SizeKeys},
    text_encoder::{NormFirst, TextEncoder, TokensHead, bert_body, classes},
};
use crate::{
    attention::{BERT, Naming, OutputPlan, Preset},
    ops::{Activation, Gelu},
};

const FIRST_POSITION: usize = 2;

pub(super) static ROBERTA: TextEncoder = TextEncoder {
    types: &["roberta", "xlm-roberta", "camembert"],
    preset: Preset { naming: Naming::Roberta, first_position: FIRST_POSITION, token_types: 1, ..BERT },
    keys: SizeKeys {
        written: &[("is_decoder", Fixed::Flag(false)), ("use_cache", Fixed::Flag(false))],
        demanded: &[
            ("position_embedding_type", Fixed::Word("absolute")),
            ("is_decoder", Fixed::Flag(false)),
            ("pad_token_id", Fixed::Number(FIRST_POSITION - 1)),
        ],
        ..BERT_KEYS
    },
    base: "roberta.",
    names: bert_body!(
        "roberta",
        ("head.tokens", "lm_head.decoder"),
        ("head.dense", "lm_head.dense"),
        ("head.norm", "lm_head.layer_norm"),
        ("head.bias", "lm_head.bias"),
        ("head.classes", "classifier.out_proj"),
        ("head.span", "qa_outputs")
    ),
    // Its classifier has a map of its own; without a head it has BERT's pooler.
    other_names: |head| match head {
        OutputPlan::States { .. } => &[("head.pooler", "roberta.pooler.dense")],
        _ => &[("head.pooler", "classifier.dense")],
    },
    classes: classes!("Roberta"),
    norm_first: NormFirst::Unknown("a RoBERTa with norm first"),
    own: classes!("HeadroomRoberta"),
    without_replaced: "a RoBERTa that tells replaced tokens",
    tokens_head: TokensHead {
        start: "lm_head.",
        tables: ["roberta.embeddings.word_embeddings.weight", "lm_head.decoder.weight"],
        bias: Some(("lm_head.decoder.bias", "lm_head.bias")),
        activation: Some(Activation::Gelu(Gelu::Exact)),
    },
    replaced_head: None,
    pooler: Some((["roberta.pooler.", "pooler."], false)),
    pooler_activation: Activation::Tanh,
    heads: &["lm_head.", "classifier.", "qa_outputs."],
    unused: &["roberta.embeddings.position_ids"],
    prunes: true,
};
