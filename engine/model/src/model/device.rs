use candle_core::{DType, Device};

use super::ModelError;
use crate::{
    config::{DeviceChoice, Precision, RunConfig},
    ops::{open_cuda, round_factors},
};

/// Opens the device of a config, whose products are then made in the config's precision: nothing that is multiplied on
/// another handle of the same device is rounded by it.
///
/// # Errors
/// As [`open_device`].
pub fn open_device_of(config: &RunConfig) -> Result<Device, ModelError> {
    let device = open_device(config.device)?;
    if config.precision == Precision::Tf32 {
        round_factors(&device).map_err(|why| ModelError::Device { device: config.device.to_string(), why })?;
    }
    Ok(device)
}

/// Opens a device, with products in full precision: the only place that does.
///
/// # Errors
/// If there is no such device, or this program was built without support for it.
pub fn open_device(choice: DeviceChoice) -> Result<Device, ModelError> {
    let opened = match choice {
        DeviceChoice::Cpu => Ok(Device::Cpu),
        DeviceChoice::Cuda(_) if !cfg!(feature = "cuda") => Err("this program was built without NVIDIA support".into()),
        DeviceChoice::Cuda(ordinal) => open_cuda(ordinal)
            .map_err(|_| format!("there is no NVIDIA GPU {ordinal} on this machine, or its driver does not answer")),
        DeviceChoice::Metal(_) if !cfg!(feature = "metal") => {
            Err("this program was built without Apple GPU support".into())
        }
        DeviceChoice::Metal(ordinal) => {
            Device::new_metal(ordinal).map_err(|_| format!("there is no Apple GPU {ordinal} on this machine"))
        }
    };
    opened.map_err(|why| ModelError::Device { device: choice.to_string(), why })
}

/// The element type that a model computes in.
pub fn dtype(precision: Precision) -> DType {
    match precision {
        Precision::F32 | Precision::Tf32 => DType::F32,
        Precision::F64 => DType::F64,
        Precision::F16 => DType::F16,
        Precision::Bf16 => DType::BF16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_does_not_round_factors_and_has_no_memory_of_its_own() {
        let open = |precision| open_device_of(&RunConfig { precision, ..RunConfig::default() });
        assert!(open(Precision::F32).unwrap().is_cpu());
        let error = open(Precision::Tf32).unwrap_err().to_string();
        assert!(error.contains("TF32"), "{error}");
        assert_eq!(crate::ops::device_peak_bytes(&Device::Cpu), None);
    }

    #[test]
    fn a_device_that_is_not_there_is_refused_by_name() {
        assert!(open_device(DeviceChoice::Cpu).is_ok());
        for choice in [DeviceChoice::Cuda(999), DeviceChoice::Metal(999)] {
            let error = open_device(choice).unwrap_err().to_string();
            assert!(error.starts_with(&format!("Cannot use the device \"{choice}\": th")), "{error}");
            assert!(error.contains(". Use \"cpu\"") && !error.contains(".."), "{error}");
        }
    }
}
