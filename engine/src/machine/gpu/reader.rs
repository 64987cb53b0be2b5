use serde::{Deserialize, Serialize};

use crate::config::DeviceChoice;

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

/// A GPU on which runs can compute.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Gpu {
    /// Its name in a config.
    pub(crate) choice: DeviceChoice,
    /// What it is, in the driver's words.
    pub(crate) name: String,
    /// Its memory, where known.
    pub(crate) memory_bytes: Option<u64>,
    /// Free memory, where known.
    pub(crate) free_bytes: Option<u64>,
    /// The driver's version, where known.
    pub(crate) driver: Option<String>,
}

/// Reads what the GPUs do.
pub(crate) trait GpuReader {
    /// A reading of each GPU that answers.
    fn read(&mut self) -> Vec<GpuReading>;

    /// Energy that a GPU has used since some moment, in joules; none where it does not tell.
    fn joules(&mut self, _gpu: DeviceChoice) -> Option<f64> {
        None
    }
}

/// Several readers are one.
impl GpuReader for Vec<Box<dyn GpuReader>> {
    fn read(&mut self) -> Vec<GpuReading> {
        self.iter_mut().flat_map(|reader| reader.read()).collect()
    }

    fn joules(&mut self, gpu: DeviceChoice) -> Option<f64> {
        self.iter_mut().find_map(|reader| reader.joules(gpu))
    }
}
