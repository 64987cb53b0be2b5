use candle_core::Device;

use super::reader::{Gpu, GpuReader};
use crate::config::DeviceChoice;
use crate::machine::GpuReading;

/// The GPU of an Apple machine. Metal tells how much memory this program has on it, not how busy it is.
pub(super) struct Apple {
    device: Option<Device>,
}

impl Apple {
    pub(super) fn new() -> Self {
        Self { device: Device::new_metal(0).ok() }
    }

    /// Memory that this program holds, and how much it should hold at most.
    fn memory(&self) -> Option<(u64, u64)> {
        let metal = self.device.as_ref()?.as_metal_device().ok()?.metal_device();
        Some((metal.current_allocated_size() as u64, metal.recommended_max_working_set_size() as u64))
    }

    /// The GPU, if there is one.
    pub(super) fn gpus(&self) -> Vec<Gpu> {
        let gpu = |(used, total): (u64, u64)| Gpu {
            choice: DeviceChoice::Metal(0),
            name: "Apple GPU".to_owned(),
            memory_bytes: Some(total),
            free_bytes: Some(total.saturating_sub(used)),
            // Metal comes with the system, which the machine tells.
            driver: None,
        };
        self.memory().map(gpu).into_iter().collect()
    }
}

impl GpuReader for Apple {
    fn read(&mut self) -> Vec<GpuReading> {
        let reading = |(used, total)| GpuReading {
            device: DeviceChoice::Metal(0).to_string(),
            memory_bytes: used,
            total_bytes: Some(total),
            percent: None,
        };
        self.memory().map(reading).into_iter().collect()
    }
}
