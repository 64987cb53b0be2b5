//! A family of models: what its files say, and what its plans are.

use serde_json::Value;

use super::{
    file_names::FileNames,
    keys::{Keys, Own},
    ties::Ties,
};
use crate::{
    attention::ModelPlan,
    checkpoint::{CheckpointError, special_tokens::SpecialTokens},
    config::Compatibility,
};

/// What the files of a family say, and what its plans are.
pub(in crate::checkpoint) trait Family: Sync {
    /// What `transformers` calls its types of models.
    fn model_types(&self) -> &'static [&'static str];

    /// The classes under which models of our own type are saved: those whose attention, or whose norms, `transformers` does
    /// not know in this family.
    fn own_classes(&self) -> Vec<&'static str>;

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

/// The token that ends a text, with which a translation also begins; null where there is none.
pub(in crate::checkpoint) fn end_of_text(special: &SpecialTokens) -> Value {
    match special.id("eos_token") {
        Value::Null => special.id("sep_token"),
        end => end,
    }
}
