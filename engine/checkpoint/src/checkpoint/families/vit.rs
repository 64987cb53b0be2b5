//! `ViT` (Dosovitskiy et al., 2021): a classifier of images.

use super::{
    image_encoder::{ImageClasses, ImageEncoder, vit_body},
    size_keys::{BERT_KEYS, Fixed, SizeKeys},
};
use crate::attention::VIT as PRESET;

/// The keys of BERT, but for those of tokens.
pub(super) const KEYS: SizeKeys = SizeKeys {
    positions: None,
    token_types: None,
    written: &[("qkv_bias", Fixed::Flag(true))],
    demanded: &[("qkv_bias", Fixed::Flag(true))],
    ..BERT_KEYS
};

pub(super) static VIT: ImageEncoder = ImageEncoder {
    types: &["vit"],
    preset: PRESET,
    keys: KEYS,
    base: "vit.",
    names: vit_body!(
        "vit",
        // No ViT has these: a norm after the embeddings where norms come last, and what leaves out pairs.
        ("encoder.embedding_norm", "vit.embeddings.LayerNorm"),
        ("encoder.coverage", "vit.encoder.coverage"),
        ("encoder.restore", "vit.encoder.restore")
    ),
    classes: ImageClasses { classes: "ViTForImageClassification", states: "ViTModel", taught: None },
    own: ImageClasses { classes: "HeadroomVision", states: "HeadroomVisionModel", taught: None },
    norm_last: "a ViT with norm last",
    always_says_answers: true,
    distils: false,
    pooler: ["vit.pooler.", "pooler."],
    unused: &["vit.embeddings.mask_token"],
};
