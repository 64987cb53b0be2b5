use candle_core::Device;

use super::TrainError;
use crate::{attention::Cost, data::memory, model::give_memory_back};

/// Need against what is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryCheck {
    /// Estimated need in bytes.
    pub needed: u64,
    /// Free bytes on the device, when known.
    pub free: Option<u64>,
}

impl MemoryCheck {
    /// Compares an estimate with the device's free memory.
    pub fn new(cost: &Cost, device: &Device) -> Self {
        Self { needed: cost.memory_bytes, free: free_memory(device) }
    }

    /// Refuses what cannot fit.
    pub fn require(self) -> Result<(), TrainError> {
        match self.free {
            Some(free) if self.needed > free => Err(TrainError::Memory { needed: self.needed, free }),
            _ => Ok(()),
        }
    }
}

/// Free memory of a device in bytes; `None` where it cannot be asked. What a GPU's pool keeps for later use is given back
/// first.
pub fn free_memory(device: &Device) -> Option<u64> {
    if !device.is_cpu() {
        // What was freed last may still be on its way.
        device.synchronize().ok()?;
        give_memory_back(device);
    }
    unclaimed_memory(device)
}

/// Memory of a device that nobody holds, in bytes; `None` where it cannot be asked. On a GPU it shrinks to what the peak left
/// over.
pub fn unclaimed_memory(device: &Device) -> Option<u64> {
    match device {
        Device::Cpu => memory::free_bytes(),
        #[cfg(feature = "cuda")]
        Device::Cuda(cuda) => cuda.cuda_stream().context().mem_get_info().ok().map(|(free, _)| free as u64),
        #[cfg(feature = "metal")]
        Device::Metal(metal) => {
            let metal = metal.metal_device();
            Some(metal.recommended_max_working_set_size().saturating_sub(metal.current_allocated_size()) as u64)
        }
        #[cfg(not(all(feature = "cuda", feature = "metal")))]
        _ => None,
    }
}
