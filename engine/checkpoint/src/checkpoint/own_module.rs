//! Module that computes models in PyTorch which `transformers` does not know.

use crate::attention::{InputPlan, ModelPlan, OutputPlan};

/// What computes models in PyTorch that `transformers` does not know.
pub(super) const SOURCE: &str = include_str!("../../../../assets/modeling_headroom.py");

/// Its name as a module.
pub(super) const MODULE_NAME: &str = "modeling_headroom";

/// The class of `transformers` that finds the right one for a plan, and the task that hubs list it under.
pub(super) fn auto_class(plan: &ModelPlan) -> (&'static str, &'static str) {
    match (plan.encoder.is_some(), plan.head, plan.input) {
        (true, ..) => ("AutoModelForSeq2SeqLM", "text2text-generation"),
        (false, OutputPlan::Vocabulary(_), _) if plan.stack.is_causal => ("AutoModelForCausalLM", "text-generation"),
        (false, OutputPlan::Vocabulary(_), _) => ("AutoModelForMaskedLM", "fill-mask"),
        (false, OutputPlan::Classes { .. }, InputPlan::Patches { .. }) => {
            ("AutoModelForImageClassification", "image-classification")
        }
        (false, OutputPlan::Classes { .. }, InputPlan::Tokens { .. }) => {
            ("AutoModelForSequenceClassification", "text-classification")
        }
        (false, OutputPlan::Span, _) => ("AutoModelForQuestionAnswering", "question-answering"),
        (false, OutputPlan::Replaced, _) => ("AutoModelForPreTraining", "feature-extraction"),
        (false, OutputPlan::States { .. }, _) => ("AutoModel", "feature-extraction"),
    }
}
