//! BERT (Devlin et al., 2019), and with norms first `MegatronBERT` (Shoeybi et al., 2019): masked language, classes, spans, and
//! without a head, as models of sentences are.

use super::{
    size_keys::{BERT_KEYS, Fixed, SizeKeys},
    text_encoder::{Classes, NormFirst, TextEncoder, TokensHead, classes},
};
use crate::{attention::BERT as PRESET, ops::Activation};

pub(super) static BERT: TextEncoder = TextEncoder {
    types: &["bert", "megatron-bert"],
    preset: PRESET,
    keys: SizeKeys {
        written: &[("is_decoder", Fixed::Flag(false)), ("use_cache", Fixed::Flag(false))],
        demanded: &[("position_embedding_type", Fixed::Word("absolute")), ("is_decoder", Fixed::Flag(false))],
        ..BERT_KEYS
    },
    base: "bert.",
    // The others stand in `model/name_table.rs`.
    names: &[
        ("head.tokens", "cls.predictions.decoder"),
        ("head.pooler", "bert.pooler.dense"),
        ("head.classes", "classifier"),
        ("head.span", "qa_outputs"),
    ],
    other_names: |_| &[],
    classes: classes!("Bert"),
    norm_first: NormFirst::Type("megatron-bert", classes!("MegatronBert")),
    own: Classes { tokens: "HeadroomEncoder", ..classes!("HeadroomEncoder") },
    without_replaced: "BERTs that tell replaced tokens",
    tokens_head: TokensHead {
        start: "cls.predictions.",
        tables: ["bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"],
        bias: Some(("cls.predictions.decoder.bias", "cls.predictions.bias")),
        activation: None,
    },
    replaced_head: None,
    pooler: Some((["bert.pooler.", "pooler."], true)),
    pooler_activation: Activation::Tanh,
    heads: &["cls.", "classifier.", "qa_outputs."],
    unused: &["cls.seq_relationship.", "bert.embeddings.position_ids"],
    prunes: true,
};
