//! `DeiT` (Touvron et al., 2021): a `ViT` with a second learned token, which learnt what a teacher answers.

use super::{
    image_encoder::{ImageClasses, ImageEncoder, vit_body},
    vit::KEYS,
};
use crate::attention::{Naming, Preset, VIT};

pub(super) static DEIT: ImageEncoder = ImageEncoder {
    types: &["deit"],
    preset: Preset { naming: Naming::Deit, ..VIT },
    keys: KEYS,
    base: "deit.",
    names: vit_body!("deit", ("input.distillation_token", "deit.embeddings.distillation_token")),
    classes: ImageClasses {
        classes: "DeiTForImageClassification",
        states: "DeiTModel",
        taught: Some("DeiTForImageClassificationWithTeacher"),
    },
    own: ImageClasses {
        classes: "HeadroomDeitForImageClassification",
        states: "HeadroomDeitModel",
        taught: Some("HeadroomDeitForImageClassificationWithTeacher"),
    },
    norm_last: "a DeiT with norm last",
    always_says_answers: false,
    distils: true,
    pooler: ["deit.pooler.", "pooler."],
    unused: &["deit.embeddings.mask_token"],
};
