//! Families of models in the files of Hugging Face's `transformers`: a file each, with its table of tensor names and its keys in
//! `config.json`, both ways.
//!
//! A new family is one file here and one arm of [`Naming`]; the compiler asks for the rest.

mod albert;
mod bart;
mod bert;
mod deit;
mod distilbert;
mod electra;
mod file_names;
mod gpt2;
mod keys;
mod llama;
mod marian;
mod roberta;
mod rotary;
mod t5;
mod ties;
mod vit;

use serde_json::{Value, json};

pub(super) use self::{
    file_names::FileNames,
    keys::{Keys, Own},
    ties::{HeadTensor, TiedTensors, Ties},
};
use super::{CheckpointError, special_tokens::SpecialTokens};
use crate::{
    attention::{ModelPlan, Naming},
    config::Compatibility,
};

/// What the files of a family say, and what its plans are.
pub(super) trait Family: Sync {
    /// What `transformers` calls its types of models.
    fn model_types(&self) -> &'static [&'static str];

    /// The classes under which models of our own type are saved: those whose attention, or whose norms, `transformers` does
    /// not know in this family.
    fn own_classes(&self) -> &'static [&'static str];

    /// That of a plan.
    fn own_class(&self, plan: &ModelPlan) -> &'static str;

    /// The type and the class of `transformers` that open a plan of plain attention.
    ///
    /// # Errors
    /// What they do not know of it, in words.
    fn class(&self, plan: &ModelPlan) -> Result<(&'static str, &'static str), &'static str>;

    /// Whether a plan of our own type says its answers about attention even where they are the plain ones.
    fn always_says_answers(&self) -> bool {
        false
    }

    /// Whether `transformers` knows a way to score in this family.
    fn knows(&self, compatibility: &Compatibility) -> bool {
        *compatibility == Compatibility::default()
    }

    /// The tensors that its files may hold several times; none of a family without a vocabulary.
    fn ties(&self) -> Option<Ties>;

    /// Whether generated texts are made to end with the end of text when they are as long as they may be.
    fn forces_end(&self) -> bool {
        true
    }

    /// The family's own keys.
    fn settings(&self, plan: &ModelPlan, special: &SpecialTokens) -> Value;

    /// The token with which a decoder after an encoder begins.
    fn start_of_text(&self, special: &SpecialTokens) -> Value {
        end_of_text(special)
    }

    /// The plan that keys describe.
    ///
    /// # Errors
    /// If they describe no model that can be computed here.
    fn plan(&self, keys: &Keys<'_>, own: &Own) -> Result<ModelPlan, CheckpointError>;

    /// What its files call the tensors of a plan.
    fn names(&self, plan: &ModelPlan) -> FileNames;

    /// The shape that a parameter has in files, where it is not ours, `shape`.
    fn file_shape(&self, _plan: &ModelPlan, _name: &str, _shape: &[usize]) -> Option<Vec<usize>> {
        None
    }
}

/// The family of some names.
pub(super) fn family(naming: Naming) -> &'static dyn Family {
    match naming {
        Naming::Bert => &bert::Bert,
        Naming::Gpt2 => &gpt2::Gpt2,
        Naming::Bart => &bart::Bart,
        Naming::Vit => &vit::Vit,
        Naming::Roberta => &roberta::Roberta,
        Naming::DistilBert => &distilbert::DistilBert,
        Naming::Electra => &electra::Electra,
        Naming::Albert => &albert::Albert,
        Naming::Deit => &deit::Deit,
        Naming::Marian => &marian::Marian,
        Naming::Llama => &llama::Llama,
        Naming::T5 => &t5::T5,
    }
}

/// All of them.
pub(super) fn families() -> impl Iterator<Item = &'static dyn Family> {
    Naming::ALL.into_iter().map(family)
}

/// The token that ends a text, with which a translation also begins; null where there is none.
pub(super) fn end_of_text(special: &SpecialTokens) -> Value {
    match special.id("eos_token") {
        Value::Null => special.id("sep_token"),
        end => end,
    }
}

/// The sizes of a plan's last stack under the keys of BERT.
fn bert_sizes(plan: &ModelPlan) -> serde_json::Map<String, Value> {
    let stack = &plan.stack;
    let sizes = json!({
        "attention_probs_dropout_prob": stack.dropout,
        "hidden_act": keys::activation_word(stack.activation),
        "hidden_dropout_prob": stack.dropout,
        "hidden_size": stack.width,
        "intermediate_size": stack.feed_forward,
        "layer_norm_eps": stack.norm_epsilon,
        "num_attention_heads": stack.heads,
        "num_hidden_layers": stack.layers,
    });
    match sizes {
        Value::Object(sizes) => sizes,
        _ => serde_json::Map::new(),
    }
}
