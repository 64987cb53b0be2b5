use serde::{Deserialize, Serialize};

/// What a GPU does at a moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuReading {
    /// The name in the config, such as `cuda:0`.
    pub device: String,
    /// Memory in use: by all programs on an NVIDIA GPU, by this one on an Apple GPU.
    pub memory_bytes: u64,
    /// All its memory, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_bytes: Option<u64>,
    /// Share of the last moments in which it computed, 0..=100, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
}
