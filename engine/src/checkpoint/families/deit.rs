//! `DeiT` (Touvron et al., 2021): a `ViT` with a second learned token, which learnt what a teacher answers.

use serde_json::{Value, json};

use super::{Family, FileNames, Keys, Own, Ties, bert_sizes, keys::Ending, vit::image_shape};
use crate::{
    attention::{InputPlan, ModelPlan, Naming, OutputPlan, Preset, StackName, VIT},
    checkpoint::{CheckpointError, special_tokens::SpecialTokens},
    config::{Cache, NormPlacement},
    model::{NameRow, NameTable},
};

pub(super) struct Deit;

const NAMES: &[NameRow] = &[
    ("input.patches", "deit.embeddings.patch_embeddings.projection"),
    ("input.class_token", "deit.embeddings.cls_token"),
    ("input.distillation_token", "deit.embeddings.distillation_token"),
    ("encoder.positions.weight", "deit.embeddings.position_embeddings"),
    ("encoder.{}.self.norm", "deit.encoder.layer.{}.layernorm_before"),
    ("encoder.{}.self.output", "deit.encoder.layer.{}.attention.output.dense"),
    ("encoder.{}.self", "deit.encoder.layer.{}.attention.attention"),
    ("encoder.{}.feed_forward.norm", "deit.encoder.layer.{}.layernorm_after"),
    ("encoder.{}.feed_forward.in", "deit.encoder.layer.{}.intermediate.dense"),
    ("encoder.{}.feed_forward.out", "deit.encoder.layer.{}.output.dense"),
    ("encoder.final_norm", "deit.layernorm"),
    ("head.pooler", "deit.pooler.dense"),
];

/// One classifier, or two of which one learnt from a teacher.
const ALONE: &[NameRow] = &[("head.classes", "classifier")];
const TAUGHT: &[NameRow] = &[("head.classes", "cls_classifier"), ("head.distilled", "distillation_classifier")];

const TEACHER_CLASS: &str = "DeiTForImageClassificationWithTeacher";
const OWN_TEACHER: &str = "HeadroomDeitForImageClassificationWithTeacher";
const OWN_STATES: &str = "HeadroomDeitModel";
const OWN: &str = "HeadroomDeitForImageClassification";

fn distils(plan: &ModelPlan) -> bool {
    matches!(plan.head, OutputPlan::Classes { distils: true, .. })
}

impl Family for Deit {
    fn model_types(&self) -> &'static [&'static str] {
        &["deit"]
    }

    fn own_classes(&self) -> &'static [&'static str] {
        &[OWN_TEACHER, OWN, OWN_STATES]
    }

    fn own_class(&self, plan: &ModelPlan) -> &'static str {
        match plan.head {
            OutputPlan::States { .. } => OWN_STATES,
            _ if distils(plan) => OWN_TEACHER,
            _ => OWN,
        }
    }

    fn ties(&self) -> Option<Ties> {
        None
    }

    fn class(&self, plan: &ModelPlan) -> Result<(&'static str, &'static str), &'static str> {
        match plan.stack.norm {
            NormPlacement::Pre if matches!(plan.head, OutputPlan::States { .. }) => Ok(("deit", "DeiTModel")),
            NormPlacement::Pre => {
                Ok(("deit", if distils(plan) { TEACHER_CLASS } else { "DeiTForImageClassification" }))
            }
            NormPlacement::Post => Err("a DeiT with norm last"),
        }
    }

    fn settings(&self, plan: &ModelPlan, _: &SpecialTokens) -> Value {
        let mut settings = bert_sizes(plan);
        settings.insert("qkv_bias".to_owned(), json!(true));
        Value::Object(settings)
    }

    fn plan(&self, keys: &Keys<'_>, own: &Own) -> Result<ModelPlan, CheckpointError> {
        let norm = own.norm.unwrap_or(NormPlacement::Pre);
        let mut preset = Preset { naming: Naming::Deit, norm, ..VIT };
        preset.activation = keys.activation("hidden_act", "gelu")?;
        keys.demand("qkv_bias", &[json!(true)])?;
        let (input, side) = keys.patches()?;
        let InputPlan::Patches { image, patch, channels, .. } = input else {
            return Err(keys.wrong("patch_size", "there"));
        };
        let sizes = keys.bert_sizes(side * side + 2)?;
        preset.norm_epsilon = keys.epsilon("layer_norm_eps", &preset)?;
        let distils = keys.class().is_some_and(|class| [TEACHER_CLASS, OWN_TEACHER].contains(&class));
        let attention = keys.with_pruned(own, &sizes)?;
        let head = match keys.ending(&[]) {
            Ending::States if !keys.holds("classifier.") => {
                OutputPlan::States { pools: keys.holds("pooler.") || keys.holds("deit.pooler.") }
            }
            Ending::Other if !distils && !self.own_classes().contains(&keys.class().unwrap_or_default()) => {
                keys.without_head(false)
            }
            _ => OutputPlan::Classes { classes: keys.classes()?, pooler: None, distils },
        };
        Ok(ModelPlan {
            naming: preset.naming,
            input: InputPlan::Patches { image, patch, channels, distils: true },
            encoder: None,
            stack: keys.stack(&preset, StackName::Encoder, &sizes, &attention, None)?,
            head,
            cache: Cache::default(),
        })
    }

    fn names(&self, plan: &ModelPlan) -> FileNames {
        FileNames {
            tables: vec![NameTable(&[NAMES]), NameTable(if distils(plan) { &[TAUGHT] } else { &[ALONE] })],
            base: "deit.",
            wrapper: None,
            is_base: matches!(plan.head, OutputPlan::States { .. }),
            others: &["classifier.", "cls_classifier.", "distillation_classifier."],
            unused: if matches!(plan.head, OutputPlan::States { pools: true }) {
                &["deit.embeddings.mask_token"]
            } else {
                &["deit.embeddings.mask_token", "deit.pooler."]
            },
            unused_ends: &[],
        }
    }

    fn file_shape(&self, plan: &ModelPlan, name: &str, shape: &[usize]) -> Option<Vec<usize>> {
        image_shape(plan, name, shape)
    }
}
