//! Handles and memory of a whole card.

use candle_core::Device;

/// Has a GPU round the factors of products of 32-bit numbers to TF32, as `torch.backends.cuda.matmul.allow_tf32` does.
pub fn round_factors(device: &Device) -> Result<(), String> {
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

/// Opens a GPU with one stream of its own, on which all its work is put in order. The per-thread streams that candle takes
/// by itself would let a tensor that one thread made be read by another before it is there.
pub fn open_cuda(ordinal: usize) -> candle_core::Result<Device> {
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
        let _ = of(device).and_then(|pool| {
            // SAFETY: the pool is the device's own, and the attribute's value has 64 bits.
            unsafe { result::mem_pool::set_attribute(pool, threshold, (&raw mut all).cast()) }
        });
    }

    pub fn peak(device: &CudaDevice) -> Option<u64> {
        let mut bytes = 0_u64;
        let most = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH;
        of(device)
            .and_then(|pool| {
                // SAFETY: the pool is the device's own, and the attribute's value has 64 bits.
                unsafe { result::mem_pool::get_attribute(pool, most, (&raw mut bytes).cast()) }
            })
            .ok()?;
        Some(bytes)
    }

    pub fn give_back(device: &CudaDevice) {
        let _ = of(device).and_then(|pool| {
            // SAFETY: the pool is the device's own; what is in use stays.
            unsafe { result::mem_pool::trim_to(pool, 0) }
        });
    }
}
