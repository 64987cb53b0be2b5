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
        pool::keep_what_is_freed(cuda);
    }
    Ok(device)
}

/// Gives memory that a GPU's pool keeps for later use back to the driver, so that it counts as free. Nothing where there is
/// no such pool.
pub fn give_memory_back(device: &Device) {
    #[cfg(feature = "cuda")]
    if let Device::Cuda(cuda) = device {
        pool::give_back(cuda);
    }
    #[cfg(not(feature = "cuda"))]
    let _ = device;
}

/// The pool that a GPU's memory is taken from.
#[cfg(feature = "cuda")]
#[expect(unsafe_code, reason = "the driver's own interface is all there is")]
mod pool {
    use candle_core::{
        CudaDevice,
        cuda_backend::cudarc::driver::{DriverError, result, sys},
    };

    fn of(device: &CudaDevice) -> Result<sys::CUmemoryPool, DriverError> {
        // SAFETY: the device is that of a living context.
        unsafe { result::device::get_default_mem_pool(device.cuda_stream().context().cu_device()) }
    }

    /// Without this every wait for the GPU gives all freed memory back, and the next step asks for it anew.
    pub fn keep_what_is_freed(device: &CudaDevice) {
        let mut all = u64::MAX;
        let threshold = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // A device without pools works as before.
        // SAFETY: the pool is the device's own, and the attribute's value has 64 bits.
        let _ = of(device)
            .and_then(|pool| unsafe { result::mem_pool::set_attribute(pool, threshold, (&raw mut all).cast()) });
    }

    pub fn give_back(device: &CudaDevice) {
        // SAFETY: the pool is the device's own; what is in use stays.
        let _ = of(device).and_then(|pool| unsafe { result::mem_pool::trim_to(pool, 0) });
    }
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
