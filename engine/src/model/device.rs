use candle_core::{DType, Device};

use super::ModelError;
use crate::config::{DeviceChoice, Precision, RunConfig};

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

/// Has a GPU round the factors of products of 32-bit numbers to TF32, as `torch.backends.cuda.matmul.allow_tf32` does.
fn round_factors(device: &Device) -> Result<(), String> {
    #[cfg(feature = "cuda")]
    if let Device::Cuda(cuda) = device {
        use candle_core::cuda_backend::cudarc::cublas::sys::{
            cublasMath_t::CUBLAS_TF32_TENSOR_OP_MATH, cublasSetMathMode,
        };
        let products = cuda.cublas_handle();
        // SAFETY: the handle is that of the device, which is held here.
        #[expect(unsafe_code, reason = "the library's own interface is all there is")]
        let set = unsafe { cublasSetMathMode(*products.handle(), CUBLAS_TF32_TENSOR_OP_MATH) };
        return set.result().map_err(|error| format!("its products cannot be made in TF32 ({error:?})"));
    }
    Err(format!("{:?} does not multiply TF32", device.location()))
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

/// The most memory of a GPU that tensors of this program took at one time since it started, in bytes; none on a processor, and
/// where the driver does not tell.
pub fn device_peak_bytes(device: &Device) -> Option<u64> {
    match device {
        #[cfg(feature = "cuda")]
        Device::Cuda(cuda) => pool::peak(cuda),
        _ => None,
    }
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

    pub fn peak(device: &CudaDevice) -> Option<u64> {
        let mut bytes = 0_u64;
        let most = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH;
        // SAFETY: the pool is the device's own, and the attribute's value has 64 bits.
        of(device)
            .and_then(|pool| unsafe { result::mem_pool::get_attribute(pool, most, (&raw mut bytes).cast()) })
            .ok()?;
        Some(bytes)
    }

    pub fn give_back(device: &CudaDevice) {
        // SAFETY: the pool is the device's own; what is in use stays.
        let _ = of(device).and_then(|pool| unsafe { result::mem_pool::trim_to(pool, 0) });
    }
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
        assert_eq!(device_peak_bytes(&Device::Cpu), None);
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
