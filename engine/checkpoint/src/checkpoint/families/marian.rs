//! Marian (Junczys-Dowmunt et al., 2018; Tiedemann and Thottingal, 2020): translation by a BART with fixed positions, no norm after the
//! embeddings, and tokens that are scaled.

use serde_json::Value;

use super::{
    Family, FileNames, Keys, Own, Ties,
    bart::{Bart, encoder_decoder},
};
use crate::{
    attention::{BART, ModelPlan, Naming, OutputPlan, Positions, Preset},
    checkpoint::{CheckpointError, special_tokens::SpecialTokens},
    config::NormPlacement,
};

/// Its names and keys are BART's, without the tables of positions, which are computed.
pub(super) struct Marian;

impl Family for Marian {
    fn model_types(&self) -> &'static [&'static str] {
        &["marian"]
    }

    fn own_classes(&self) -> Vec<&'static str> {
        vec!["HeadroomMarian", "HeadroomMarianModel"]
    }

    fn own_class(&self, plan: &ModelPlan) -> &'static str {
        if matches!(plan.head, OutputPlan::States { .. }) { "HeadroomMarianModel" } else { "HeadroomMarian" }
    }

    fn ties(&self) -> Option<Ties> {
        Bart.ties()
    }

    fn class(&self, plan: &ModelPlan) -> Result<(&'static str, &'static str), &'static str> {
        match plan.stack.norm {
            NormPlacement::Post if matches!(plan.head, OutputPlan::States { .. }) => Ok(("marian", "MarianModel")),
            NormPlacement::Post => Ok(("marian", "MarianMTModel")),
            NormPlacement::Pre => Err("a Marian with norm first"),
        }
    }

    fn always_says_answers(&self) -> bool {
        true
    }

    fn settings(&self, plan: &ModelPlan, special: &SpecialTokens) -> Value {
        let mut settings = Bart.settings(plan, special);
        if let Some(keys) = settings.as_object_mut() {
            keys.insert("decoder_start_token_id".to_owned(), self.start_of_text(special));
            keys.insert("decoder_vocab_size".to_owned(), plan.vocabulary().into());
            keys.insert("share_encoder_decoder_embeddings".to_owned(), true.into());
            keys.insert("static_position_embeddings".to_owned(), true.into());
        }
        settings
    }

    /// A translation begins with padding.
    fn start_of_text(&self, special: &SpecialTokens) -> Value {
        special.id("pad_token")
    }

    fn plan(&self, keys: &Keys<'_>, own: &Own) -> Result<ModelPlan, CheckpointError> {
        keys.demand("share_encoder_decoder_embeddings", &[true.into()])?;
        keys.demand("static_position_embeddings", &[true.into()])?;
        keys.demand("normalize_before", &[false.into()])?;
        keys.demand("normalize_embedding", &[false.into()])?;
        keys.demand("add_final_layer_norm", &[false.into()])?;
        let norm = own.norm.unwrap_or(NormPlacement::Post);
        let mut preset = Preset { naming: Naming::Marian, norm, first_position: 0, ..BART };
        preset.activation = keys.activation("activation_function", "gelu")?;
        preset.design.positions = Positions::Sinusoidal;
        preset.design.embedding.is_scaled = keys.flag("scale_embedding", false)?;
        preset.design.embedding.lacks_norm = true;
        encoder_decoder(keys, own, &preset, &self.own_classes())
    }

    fn names(&self, plan: &ModelPlan) -> FileNames {
        FileNames {
            unused: vec!["model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight"],
            ..Bart.names(plan)
        }
    }

    fn file_shape(&self, plan: &ModelPlan, name: &str, shape: &[usize]) -> Option<Vec<usize>> {
        Bart.file_shape(plan, name, shape)
    }
}
