use serde::{Deserialize, Serialize};

use crate::config::{DeviceChoice, MapMemoryChoice, Precision, RunConfig};

/// What a model is asked to do, as far as its costs depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Workload {
    /// Examples in one forward pass.
    pub batch: usize,
    /// Tokens in an example.
    pub sequence: usize,
    /// Positions of one forward pass that are carried to the vocabulary.
    pub predicted: usize,
    /// Forward passes in one optimiser step; 0 = no training: no backward, gradients or optimiser.
    pub accumulation: usize,
    /// Number format.
    pub precision: Precision,
    /// Whether whole parts of the model are single operations, which keep less: on the CPU.
    pub in_blocks: bool,
    /// Whether attention between projections and output is a single operation: on an NVIDIA GPU.
    #[serde(default)]
    pub in_core: bool,
    /// What single operations keep of attention maps.
    pub map_memory: MapMemoryChoice,
}

impl Workload {
    /// A training step as the config describes it, with as many predictions as its objective asks for.
    pub fn training(config: &RunConfig) -> Self {
        let (batch, sequence) = (config.train.batch, config.data.sequence_length);
        Self {
            batch,
            sequence,
            predicted: config.objective().labelled([batch, sequence]),
            accumulation: config.train.accumulation,
            precision: config.precision.kept_on(config.device),
            in_blocks: config.device == DeviceChoice::Cpu && !config.precision.kept_on(config.device).is_half(),
            in_core: matches!(config.device, DeviceChoice::Cuda(_)),
            map_memory: config.train.map_memory,
        }
    }

    /// A forward pass on the CPU with predictions at every position and nothing after it.
    pub fn inference(batch: usize, sequence: usize, precision: Precision) -> Self {
        let precision = precision.kept_on(DeviceChoice::Cpu);
        Self {
            batch,
            sequence,
            predicted: batch.saturating_mul(sequence),
            accumulation: 0,
            precision,
            in_blocks: !precision.is_half(),
            in_core: false,
            map_memory: MapMemoryChoice::Auto,
        }
    }

    /// True when gradients are computed.
    pub fn is_training(&self) -> bool {
        self.accumulation > 0
    }

    /// Tokens of one forward pass.
    pub fn tokens(&self) -> u64 {
        (self.batch as u64).saturating_mul(self.sequence as u64)
    }
}
