use std::fmt::Write;

use candle_core::cuda_backend::cudarc::driver::result;
use nvml_wrapper::{Device, Nvml, error::NvmlError};

use super::reader::{Gpu, GpuReader};
use crate::config::DeviceChoice;
use crate::machine::GpuReading;

/// NVIDIA GPUs: CUDA says which there are, the management library (NVML) what they do.
///
/// The two number them differently (`CUDA_VISIBLE_DEVICES`, fastest first), so a GPU is recognised by its UUID, which
/// both know; that of a part of one (MIG) is spelt otherwise. Without the management library there are names only.
pub(super) struct Nvidia {
    found: Vec<Found>,
    nvml: Option<Nvml>,
}

struct Found {
    choice: DeviceChoice,
    name: String,
    /// Without what stands before it: sixteen bytes in hexadecimal digits, with dashes.
    uuid: String,
}

impl Nvidia {
    /// Asks the driver; finds nothing where there is none. Makes no context, so that it takes no memory on a GPU.
    pub(super) fn new() -> Self {
        let count = result::init().and_then(|()| result::device::get_count()).unwrap_or(0);
        let found: Vec<Found> = (0..count).filter_map(find).collect();
        let nvml = if found.is_empty() { None } else { Nvml::init().ok() };
        Self { found, nvml }
    }

    /// The GPUs, by number.
    pub(super) fn gpus(&self) -> Vec<Gpu> {
        let driver = self.nvml.as_ref().and_then(|nvml| nvml.sys_driver_version().ok());
        self.found
            .iter()
            .map(|found| {
                let memory = self.device(found).and_then(|device| device.memory_info().ok());
                Gpu {
                    choice: found.choice,
                    name: found.name.clone(),
                    memory_bytes: memory.as_ref().map(|memory| memory.total),
                    free_bytes: memory.as_ref().map(|memory| memory.free),
                    driver: driver.clone(),
                }
            })
            .collect()
    }

    fn device(&self, found: &Found) -> Option<Device<'_>> {
        let nvml = self.nvml.as_ref()?;
        let by_uuid =
            |kind: &str| -> Result<Device<'_>, NvmlError> { nvml.device_by_uuid(format!("{kind}-{}", found.uuid)) };
        by_uuid("GPU").or_else(|_| by_uuid("MIG")).ok()
    }
}

impl GpuReader for Nvidia {
    fn read(&mut self) -> Vec<GpuReading> {
        let reading = |found: &Found| {
            let device = self.device(found)?;
            let memory = device.memory_info().ok()?;
            Some(GpuReading {
                device: found.choice.to_string(),
                memory_bytes: memory.used,
                total_bytes: Some(memory.total),
                percent: device.utilization_rates().ok().map(|rates| f64::from(rates.gpu)),
            })
        };
        self.found.iter().filter_map(reading).collect()
    }

    fn joules(&mut self, gpu: DeviceChoice) -> Option<f64> {
        let found = self.found.iter().find(|found| found.choice == gpu)?;
        let millijoules = self.device(found)?.total_energy_consumption().ok()?;
        Some(millijoules as f64 / 1e3)
    }
}

fn find(number: i32) -> Option<Found> {
    let device = result::device::get(number).ok()?;
    Some(Found {
        choice: DeviceChoice::Cuda(number.try_into().ok()?),
        name: result::device::get_name(device).unwrap_or_else(|_| "NVIDIA GPU".to_owned()),
        uuid: written(result::device::get_uuid(device).ok()?.bytes.map(|byte| byte as u8)),
    })
}

/// A UUID as the management library writes it.
fn written(bytes: [u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_written_as_everywhere() {
        let bytes = std::array::from_fn(|index| 0x11 * index as u8);
        assert_eq!(written(bytes), "00112233-4455-6677-8899-aabbccddeeff");
    }

    #[test]
    fn without_a_driver_there_is_nothing_to_read() {
        let mut nvidia = Nvidia::new();
        assert!(nvidia.read().len() <= nvidia.gpus().len());
    }
}
