//! ELECTRA (Clark et al., 2020): a BERT that tells which tokens were replaced, and the small one that replaces them. Its tables may be narrower than
//! its stream.

use super::{
    size_keys::{BERT_KEYS, SizeKeys},
    text_encoder::{Classes, NormFirst, TextEncoder, TokensHead, bert_body, classes},
};
use crate::{
    attention::{BERT, Naming, OutputPlan, Preset},
    ops::{Activation, Gelu},
};

/// Activation of a generator's head and of a classifier's, whatever that of the layers is.
const GELU: Activation = Activation::Gelu(Gelu::Exact);

pub(super) static ELECTRA: TextEncoder = TextEncoder {
    types: &["electra"],
    preset: Preset { naming: Naming::Electra, ..BERT },
    keys: SizeKeys { embedding: Some(("embedding_size", None)), ..BERT_KEYS },
    base: "electra.",
    names: bert_body!(
        "electra",
        ("input.projection", "electra.embeddings_project"),
        ("head.replaced", "discriminator_predictions.dense_prediction"),
        ("head.norm", "generator_predictions.LayerNorm"),
        ("head.bias", "generator_lm_head.bias"),
        ("head.tokens", "generator_lm_head"),
        ("head.pooler", "classifier.dense"),
        ("head.classes", "classifier.out_proj"),
        ("head.span", "qa_outputs")
    ),
    other_names: |head| match head {
        OutputPlan::Vocabulary(_) => &[("head.dense", "generator_predictions.dense")],
        _ => &[("head.dense", "discriminator_predictions.dense")],
    },
    classes: Classes { replaced: Some("ElectraForPreTraining"), ..classes!("Electra") },
    norm_first: NormFirst::Unknown("an ELECTRA with norm first"),
    own: Classes { replaced: Some("HeadroomElectraForPreTraining"), ..classes!("HeadroomElectra") },
    without_replaced: "",
    tokens_head: TokensHead {
        start: "generator_",
        tables: ["electra.embeddings.word_embeddings.weight", "generator_lm_head.weight"],
        bias: None,
        activation: Some(GELU),
    },
    replaced_head: Some("discriminator_predictions."),
    pooler: None,
    pooler_activation: GELU,
    heads: &["discriminator_predictions.", "generator_", "classifier.", "qa_outputs."],
    unused: &["electra.embeddings.position_ids"],
    prunes: true,
};
