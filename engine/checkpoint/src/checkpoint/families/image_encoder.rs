//! Families of encoders that read images, as data.

use serde_json::Value;

use super::{Family, FileNames, Keys, Own, Ties, keys::Ending, size_keys::SizeKeys};
use crate::{
    attention::{InputPlan, ModelPlan, OutputPlan, Preset, StackName},
    checkpoint::{CheckpointError, special_tokens::SpecialTokens},
    config::{Cache, NormPlacement},
    model::NameRow,
};

/// A family of encoders of images.
pub(super) struct ImageEncoder {
    /// Its type of models in files.
    pub types: &'static [&'static str],
    /// With norms first.
    pub preset: Preset,
    pub keys: SizeKeys,
    /// Beginning of the names of the base model.
    pub base: &'static str,
    pub names: &'static [NameRow],
    pub classes: ImageClasses,
    /// Classes of models with attention of our own.
    pub own: ImageClasses,
    /// The reason why `transformers` has no such model with norms last.
    pub norm_last: &'static str,
    /// See [`Family::always_says_answers`].
    pub always_says_answers: bool,
    /// True if a second learned token stands before the patches, which learnt what a teacher answers.
    pub distils: bool,
    /// The pooler of the base model: in whole models, and in those of the base alone.
    pub pooler: [&'static str; 2],
    /// Beginnings of tensors that no model needs.
    pub unused: &'static [&'static str],
}

/// Names of the classes of a family, by the end of a model.
pub(super) struct ImageClasses {
    pub classes: &'static str,
    pub states: &'static str,
    /// Two classifiers, one of which learnt from a teacher.
    pub taught: Option<&'static str>,
}

/// Names of the tensors of a body as `ViT` has it, below the name of its base model.
macro_rules! vit_body {
    ($base:literal, $($other:expr),*) => {
        &[
            ("input.patches", concat!($base, ".embeddings.patch_embeddings.projection")),
            ("input.class_token", concat!($base, ".embeddings.cls_token")),
            ("encoder.positions.weight", concat!($base, ".embeddings.position_embeddings")),
            ("encoder.{}.self.norm", concat!($base, ".encoder.layer.{}.layernorm_before")),
            ("encoder.{}.self.output", concat!($base, ".encoder.layer.{}.attention.output.dense")),
            ("encoder.{}.self", concat!($base, ".encoder.layer.{}.attention.attention")),
            ("encoder.{}.feed_forward.norm", concat!($base, ".encoder.layer.{}.layernorm_after")),
            ("encoder.{}.feed_forward.in", concat!($base, ".encoder.layer.{}.intermediate.dense")),
            ("encoder.{}.feed_forward.out", concat!($base, ".encoder.layer.{}.output.dense")),
            ("encoder.final_norm", concat!($base, ".layernorm")),
            ("head.pooler", concat!($base, ".pooler.dense")),
            $($other),*
        ]
    };
}
pub(super) use vit_body;

/// One classifier, or two of which one learnt from a teacher.
const ALONE: &[NameRow] = &[("head.classes", "classifier")];
const TAUGHT: &[NameRow] = &[("head.classes", "cls_classifier"), ("head.distilled", "distillation_classifier")];

impl ImageClasses {
    fn of(&self, plan: &ModelPlan) -> &'static str {
        match plan.head {
            OutputPlan::States { .. } => self.states,
            OutputPlan::Classes { distils: true, .. } => self.taught.unwrap_or(self.classes),
            _ => self.classes,
        }
    }
}

impl Family for ImageEncoder {
    fn model_types(&self) -> &'static [&'static str] {
        self.types
    }

    fn own_classes(&self) -> Vec<&'static str> {
        [self.own.classes, self.own.states].into_iter().chain(self.own.taught).collect()
    }

    fn own_class(&self, plan: &ModelPlan) -> &'static str {
        self.own.of(plan)
    }

    fn ties(&self) -> Option<Ties> {
        None
    }

    fn class(&self, plan: &ModelPlan) -> Result<(&'static str, &'static str), &'static str> {
        match plan.stack.norm {
            NormPlacement::Pre => Ok((self.types[0], self.classes.of(plan))),
            NormPlacement::Post => Err(self.norm_last),
        }
    }

    fn always_says_answers(&self) -> bool {
        self.always_says_answers
    }

    fn settings(&self, plan: &ModelPlan, _: &SpecialTokens) -> Value {
        Value::Object(self.keys.write(plan))
    }

    fn plan(&self, keys: &Keys<'_>, own: &Own) -> Result<ModelPlan, CheckpointError> {
        let mut preset = Preset { norm: own.norm.unwrap_or(self.preset.norm), ..self.preset };
        let (image, patch, channels) = keys.patches()?;
        let side = image / patch;
        let positions = side * side + if self.distils { 2 } else { 1 };
        let sizes = self.keys.read(keys, &mut preset, positions)?;
        let attention = keys.with_pruned(own, &sizes)?;
        let class = keys.class().unwrap_or_default();
        let distils = [self.classes.taught, self.own.taught].contains(&Some(class));
        let head = match keys.ending(&[]) {
            Ending::States if !keys.holds("classifier.") => {
                OutputPlan::States { pools: self.pooler.iter().any(|start| keys.holds(start)) }
            }
            Ending::Other if !distils && !self.own_classes().contains(&class) => keys.without_head(false),
            _ => OutputPlan::Classes { classes: keys.classes()?, pooler: None, distils },
        };
        Ok(ModelPlan {
            naming: preset.naming,
            input: InputPlan::Patches { image, patch, channels, distils: self.distils },
            encoder: None,
            stack: keys.stack(&preset, StackName::Encoder, &sizes, &attention, None)?,
            head,
            cache: Cache::default(),
        })
    }

    fn names(&self, plan: &ModelPlan) -> FileNames {
        let is_taught = matches!(plan.head, OutputPlan::Classes { distils: true, .. });
        let unused_pooler = !matches!(plan.head, OutputPlan::States { pools: true });
        FileNames {
            tables: vec![self.names, if is_taught { TAUGHT } else { ALONE }],
            base: self.base,
            wrapper: None,
            is_base: matches!(plan.head, OutputPlan::States { .. }),
            others: &["classifier.", "cls_classifier.", "distillation_classifier."],
            unused: self.unused.iter().copied().chain(Some(self.pooler[0]).filter(|_| unused_pooler)).collect(),
            unused_ends: &[],
        }
    }

    /// Patches are convolved.
    fn file_shape(&self, plan: &ModelPlan, name: &str, shape: &[usize]) -> Option<Vec<usize>> {
        match (name, plan.input) {
            ("encoder.positions.weight", _) => Some([&[1][..], shape].concat()),
            ("input.class_token" | "input.distillation_token", _) => Some([&[1, 1][..], shape].concat()),
            ("input.patches.weight", InputPlan::Patches { patch, channels, .. }) => {
                Some(vec![plan.stack.width, channels, patch, patch])
            }
            _ => None,
        }
    }
}
