use candle_core::{DType, Device};

use super::ModelError;
use crate::config::{DeviceChoice, Precision};

/// Opens the device of a config: the only place that does.
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

/// A GPU with one stream of its own, on which all its work is put in order. The per-thread streams that candle takes
/// by itself would let a tensor that one thread made be read by another before it is there.
fn open_cuda(ordinal: usize) -> candle_core::Result<Device> {
    let device = Device::new_cuda_with_stream(ordinal)?;
    #[cfg(feature = "cuda")]
    {
        let cuda = device.as_cuda_device()?;
        // SAFETY: events order the work of several streams, and every tensor of this device uses its one stream.
        #[expect(unsafe_code, reason = "two events for each allocation cost time and order nothing here")]
        unsafe {
            cuda.disable_event_tracking();
        }
    }
    Ok(device)
}

/// The element type that a model computes in.
pub fn dtype(precision: Precision) -> DType {
    match precision {
        Precision::F32 => DType::F32,
        Precision::F64 => DType::F64,
        Precision::F16 => DType::F16,
        Precision::Bf16 => DType::BF16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
