//! Names of the modules, as Hugging Face `transformers` has them for the same architecture.
//!
//! | plan | names of |
//! |---|---|
//! | encoder, norm last | `BertForMaskedLM` |
//! | encoder, norm first | `MegatronBertForMaskedLM` (`attention.ln`, `ln`, and `bert.encoder.ln` at the end) |
//! | decoder, norm first | `GPT2LMHeadModel` |
//! | decoder, norm last | the same with `ln_1` and `ln_2` after the residual sums, `transformer.ln_e` after the embeddings and no `ln_f` |
//!
//! A module's parameters are its name with `.weight` and `.bias`.

use crate::{
    attention::ModelPlan,
    config::{Architecture, NormPlacement},
};

/// Modules of one layer.
pub(super) struct LayerNames {
    pub projections: ProjectionNames,
    pub attention_output: String,
    pub attention_norm: String,
    pub feed_forward_in: String,
    pub feed_forward_out: String,
    pub feed_forward_norm: String,
}

/// Queries, keys and values.
pub(super) enum ProjectionNames {
    Separate { query: String, key: String, value: String },
    Fused(String),
}

impl LayerNames {
    pub fn new(plan: &ModelPlan, layer: usize) -> Self {
        match plan.architecture {
            Architecture::Encoder => {
                let at = |module: &str| format!("bert.encoder.layer.{layer}.{module}");
                let (attention_norm, feed_forward_norm) = match plan.norm {
                    NormPlacement::Post => ("attention.output.LayerNorm", "output.LayerNorm"),
                    NormPlacement::Pre => ("attention.ln", "ln"),
                };
                Self {
                    projections: ProjectionNames::Separate {
                        query: at("attention.self.query"),
                        key: at("attention.self.key"),
                        value: at("attention.self.value"),
                    },
                    attention_output: at("attention.output.dense"),
                    attention_norm: at(attention_norm),
                    feed_forward_in: at("intermediate.dense"),
                    feed_forward_out: at("output.dense"),
                    feed_forward_norm: at(feed_forward_norm),
                }
            }
            Architecture::Decoder => {
                let at = |module: &str| format!("transformer.h.{layer}.{module}");
                Self {
                    projections: ProjectionNames::Fused(at("attn.c_attn")),
                    attention_output: at("attn.c_proj"),
                    attention_norm: at("ln_1"),
                    feed_forward_in: at("mlp.c_fc"),
                    feed_forward_out: at("mlp.c_proj"),
                    feed_forward_norm: at("ln_2"),
                }
            }
        }
    }
}

/// The token table, which is the matrix of the head too.
pub(super) fn words(plan: &ModelPlan) -> &'static str {
    match plan.architecture {
        Architecture::Encoder => "bert.embeddings.word_embeddings",
        Architecture::Decoder => "transformer.wte",
    }
}

/// The table of positions.
pub(super) fn positions(plan: &ModelPlan) -> &'static str {
    match plan.architecture {
        Architecture::Encoder => "bert.embeddings.position_embeddings",
        Architecture::Decoder => "transformer.wpe",
    }
}

/// The table of token types, where the plan has types.
pub(super) const TOKEN_TYPES: &str = "bert.embeddings.token_type_embeddings";

/// The norm that belongs to no layer: after the embeddings where norms come last, at the end where they come first.
pub(super) fn outer_norm(plan: &ModelPlan) -> &'static str {
    match (plan.architecture, plan.norm) {
        (Architecture::Encoder, NormPlacement::Post) => "bert.embeddings.LayerNorm",
        (Architecture::Encoder, NormPlacement::Pre) => "bert.encoder.ln",
        (Architecture::Decoder, NormPlacement::Post) => "transformer.ln_e",
        (Architecture::Decoder, NormPlacement::Pre) => "transformer.ln_f",
    }
}

/// The encoder head's linear map from width to width.
pub(super) const HEAD_DENSE: &str = "cls.predictions.transform.dense";

/// The encoder head's norm.
pub(super) const HEAD_NORM: &str = "cls.predictions.transform.LayerNorm";

/// The encoder head's bias over the vocabulary.
pub(super) const HEAD_BIAS: &str = "cls.predictions.bias";
