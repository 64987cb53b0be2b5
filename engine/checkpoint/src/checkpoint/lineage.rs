//! Where a converted model came from.

use serde::{Deserialize, Serialize};

/// From what, by what and with which errors a model was made; kept in `headroom.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lineage {
    /// The model directory that it was made from.
    pub from: String,
    /// The run whose checkpoint that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The step of the checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
    /// SHA-256 of its weights, where they were one file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights_sha256: Option<String>,
    /// By what, in words.
    pub by: String,
    /// What each attention lost.
    pub attentions: Vec<AttentionError>,
    /// What that changed in what the model does with a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredChange>,
    /// How the model that it was made from came to be, where that was made from another too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Box<Lineage>>,
}

/// What one attention lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttentionError {
    /// Which, as in `encoder.0.self`.
    pub attention: String,
    /// The norm of what is left of its products `W_Q W_Kᵀ` over their norm, 0..=1.
    pub relative_error: f64,
}

/// What a conversion changed in what a model does with a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredChange {
    /// The text in words.
    pub data: String,
    /// Examples of it.
    pub examples: usize,
    /// Tokens of each.
    pub tokens: usize,
    /// Mean total-variation distance of maps to what they were, 0..=1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map_distance: Option<f64>,
    /// `‖x - x~‖ / ‖x‖` of the stream after the last layer.
    pub output_error: f64,
    /// Mean loss in nats before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_before: Option<f64>,
    /// And now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
}

impl Lineage {
    /// The largest error of an attention; none where there is no attention.
    pub fn largest_error(&self) -> Option<f64> {
        self.attentions.iter().map(|one| one.relative_error).reduce(f64::max)
    }
}
