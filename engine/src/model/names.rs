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
//!
//! Attention of other kinds keeps these names for all that is the same, and has modules of its own in the place of
//! `bert.encoder.layer.N.attention.self.*` and `transformer.h.N.attn.c_attn`. Matrices lie as the architecture's others
//! do (`[out, in]` in encoders, `[in, out]` in decoders), other tensors as written here. There are `c` heads that
//! compute and `h` that attend in the layer, in the order of the heads, of size `d_k`; what has no column is not there,
//! and a layer without attention has neither these modules nor an output map nor the norm of attention.
//!
//! | attention | modules below `bert.encoder.layer.N.attention.self.` or `transformer.h.N.attn.` |
//! |---|---|
//! | standard | `query` and `key` to `c d_k`, `value` to `h d_k`; a decoder's in which all heads compute and have biases: `c_attn` |
//! | symmetric | `query`, `value` |
//! | pairwise | `query`, `pairwise.weight` `[c, d_k, d_k]`, `value` |
//! | shared weight | `shared` to `h d_k`, `query_diagonal.weight` and `key_diagonal.weight` `[c d_k]`, `value_diagonal.weight` `[h d_k]` |
//! | collaborative | `query` and `key` to `D_k` and `content` to `c` without bias, `mixing.weight` `[c, D_k]`, `value` |
//! | grouped | `query`; `key` and `value` with a block of `d_k` columns for each group in use |
//! | latent | `query`; `latent` to `r` and `key` from `r` without bias; `value` from `r` |
//!
//! Models that do not score every pair have these besides, below `bert.encoder.` or `transformer.`; n is the length of the
//! sequences that they are for, and pairs that are restored stand query by query, keys ascending:
//!
//! | coverage | tensors |
//! |---|---|
//! | partial | `coverage.pairs` `u32` `[n, k]`, the keys that each query scores, n where it sees fewer than k |
//! | partial, R fixed or common | `restore.weight` `[restored pairs, k]`, R for all layers |
//! | partial, R per layer | `restore.weight` below `layer.N.attention.self.` or `h.N.attn.` of every layer but the last in which a head computes |
//! | eigen, in memory alone | `coverage.basis` `[n, k, n]`, directions of each query |

use crate::{
    attention::ModelPlan,
    config::{Architecture, NormPlacement},
};

/// Modules of one layer.
pub(super) struct LayerNames {
    /// What stands before the names of the attention layer's own modules.
    pub attention: String,
    pub attention_output: String,
    pub attention_norm: String,
    pub feed_forward_in: String,
    pub feed_forward_out: String,
    pub feed_forward_norm: String,
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
                    attention: at("attention.self."),
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
                    attention: at("attn."),
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

/// What belongs to all layers.
fn of_all_layers(plan: &ModelPlan, name: &str) -> String {
    match plan.architecture {
        Architecture::Encoder => format!("bert.encoder.{name}"),
        Architecture::Decoder => format!("transformer.{name}"),
    }
}

/// The keys that each query scores.
pub(super) fn pairs(plan: &ModelPlan) -> String {
    of_all_layers(plan, "coverage.pairs")
}

/// The directions that each query's scores are projected on.
pub(super) fn basis(plan: &ModelPlan) -> String {
    of_all_layers(plan, "coverage.basis")
}

/// The map from computed to restored scores of all layers.
pub(super) fn restore(plan: &ModelPlan) -> String {
    of_all_layers(plan, "restore.weight")
}

/// That of one layer.
pub(super) fn layer_restore(plan: &ModelPlan, layer: usize) -> String {
    format!("{}restore.weight", LayerNames::new(plan, layer).attention)
}

/// The encoder head's linear map from width to width.
pub(super) const HEAD_DENSE: &str = "cls.predictions.transform.dense";

/// The encoder head's norm.
pub(super) const HEAD_NORM: &str = "cls.predictions.transform.LayerNorm";

/// The encoder head's bias over the vocabulary.
pub(super) const HEAD_BIAS: &str = "cls.predictions.bias";
