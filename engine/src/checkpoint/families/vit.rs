//! `ViT` (Dosovitskiy et al., 2021): a classifier of images.

use serde_json::{Value, json};

use super::{Family, FileNames, Keys, Own, Ties, bert_sizes, keys::Ending};
use crate::{
    attention::{InputPlan, ModelPlan, OutputPlan, Preset, StackName, VIT},
    checkpoint::{CheckpointError, special_tokens::SpecialTokens},
    config::{Cache, NormPlacement},
    model::{NameRow, NameTable},
};

pub(super) struct Vit;

/// `ViTForImageClassification`.
const NAMES: &[NameRow] = &[
    ("input.patches", "vit.embeddings.patch_embeddings.projection"),
    ("input.class_token", "vit.embeddings.cls_token"),
    ("encoder.positions.weight", "vit.embeddings.position_embeddings"),
    ("encoder.{}.self.norm", "vit.encoder.layer.{}.layernorm_before"),
    ("encoder.{}.self.output", "vit.encoder.layer.{}.attention.output.dense"),
    ("encoder.{}.self", "vit.encoder.layer.{}.attention.attention"),
    ("encoder.{}.feed_forward.norm", "vit.encoder.layer.{}.layernorm_after"),
    ("encoder.{}.feed_forward.in", "vit.encoder.layer.{}.intermediate.dense"),
    ("encoder.{}.feed_forward.out", "vit.encoder.layer.{}.output.dense"),
    ("encoder.final_norm", "vit.layernorm"),
    // No ViT has these: a norm after the embeddings where norms come last, and what leaves out pairs.
    ("encoder.embedding_norm", "vit.embeddings.LayerNorm"),
    ("encoder.coverage", "vit.encoder.coverage"),
    ("encoder.restore", "vit.encoder.restore"),
    ("head.classes", "classifier"),
    ("head.pooler", "vit.pooler.dense"),
];

impl Family for Vit {
    fn model_types(&self) -> &'static [&'static str] {
        &["vit"]
    }

    fn own_classes(&self) -> &'static [&'static str] {
        &["HeadroomVision", "HeadroomVisionModel"]
    }

    fn own_class(&self, plan: &ModelPlan) -> &'static str {
        if matches!(plan.head, OutputPlan::States { .. }) { "HeadroomVisionModel" } else { "HeadroomVision" }
    }

    fn ties(&self) -> Option<Ties> {
        None
    }

    fn class(&self, plan: &ModelPlan) -> Result<(&'static str, &'static str), &'static str> {
        match plan.stack.norm {
            NormPlacement::Pre if matches!(plan.head, OutputPlan::States { .. }) => Ok(("vit", "ViTModel")),
            NormPlacement::Pre => Ok(("vit", "ViTForImageClassification")),
            NormPlacement::Post => Err("a ViT with norm last"),
        }
    }

    fn always_says_answers(&self) -> bool {
        true
    }

    fn settings(&self, plan: &ModelPlan, _: &SpecialTokens) -> Value {
        let mut settings = bert_sizes(plan);
        settings.insert("qkv_bias".to_owned(), json!(true));
        Value::Object(settings)
    }

    fn plan(&self, keys: &Keys<'_>, own: &Own) -> Result<ModelPlan, CheckpointError> {
        let mut preset = Preset { norm: own.norm.unwrap_or(NormPlacement::Pre), ..VIT };
        preset.activation = keys.activation("hidden_act", "gelu")?;
        keys.demand("qkv_bias", &[json!(true)])?;
        let (input, side) = keys.patches()?;
        let sizes = keys.bert_sizes(side * side + 1)?;
        preset.norm_epsilon = keys.epsilon("layer_norm_eps", &preset)?;
        let attention = keys.with_pruned(own, &sizes)?;
        let head = match keys.ending(&[]) {
            Ending::States if !keys.holds("classifier.") => {
                OutputPlan::States { pools: keys.holds("pooler.") || keys.holds("vit.pooler.") }
            }
            Ending::Other if !self.own_classes().contains(&keys.class().unwrap_or_default()) => {
                keys.without_head(false)
            }
            _ => OutputPlan::Classes { classes: keys.classes()?, pooler: None, distils: false },
        };
        Ok(ModelPlan {
            naming: preset.naming,
            input,
            encoder: None,
            stack: keys.stack(&preset, StackName::Encoder, &sizes, &attention, None)?,
            head,
            cache: Cache::default(),
        })
    }

    fn names(&self, plan: &ModelPlan) -> FileNames {
        FileNames {
            tables: vec![NameTable(&[NAMES])],
            base: "vit.",
            wrapper: None,
            is_base: matches!(plan.head, OutputPlan::States { .. }),
            others: &["classifier."],
            unused: if matches!(plan.head, OutputPlan::States { pools: true }) {
                &["vit.embeddings.mask_token"]
            } else {
                &["vit.embeddings.mask_token", "vit.pooler."]
            },
            unused_ends: &[],
        }
    }

    fn file_shape(&self, plan: &ModelPlan, name: &str, shape: &[usize]) -> Option<Vec<usize>> {
        image_shape(plan, name, shape)
    }
}

/// The shapes of what reads images: patches are convolved.
pub(super) fn image_shape(plan: &ModelPlan, name: &str, shape: &[usize]) -> Option<Vec<usize>> {
    match (name, plan.input) {
        ("encoder.positions.weight", _) => Some([&[1][..], shape].concat()),
        ("input.class_token" | "input.distillation_token", _) => Some([&[1, 1][..], shape].concat()),
        ("input.patches.weight", InputPlan::Patches { patch, channels, .. }) => {
            Some(vec![plan.stack.width, channels, patch, patch])
        }
        _ => None,
    }
}
