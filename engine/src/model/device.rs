use candle_core::{DType, Device};

use super::ModelError;
use crate::config::{DeviceChoice, Precision};

/// Opens the device of a config.
///
/// # Errors
/// If there is no such device, or this program was built without support for it.
pub fn open_device(choice: DeviceChoice) -> Result<Device, ModelError> {
    let opened = match choice {
        DeviceChoice::Cpu => Ok(Device::Cpu),
        DeviceChoice::Cuda(ordinal) => Device::new_cuda(ordinal),
        DeviceChoice::Metal(ordinal) => Device::new_metal(ordinal),
    };
    opened.map_err(|error| match ModelError::from(error) {
        ModelError::Tensor(why) => ModelError::Device { device: choice.to_string(), why },
        other => other,
    })
}

/// The element type of a precision.
pub fn dtype(precision: Precision) -> DType {
    match precision {
        Precision::F32 => DType::F32,
        Precision::F64 => DType::F64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_not_there_is_refused_by_name() {
        assert!(open_device(DeviceChoice::Cpu).is_ok());
        let error = open_device(DeviceChoice::Cuda(999)).unwrap_err().to_string();
        assert!(error.starts_with("Cannot use the device \"cuda:999\""), "{error}");
    }
}
