//! Where kernels run.

use candle_core::{DType, Device, Result, Tensor, bail};

use super::cuda;
#[cfg(test)]
use super::emulated;
use super::launch::Launch;

/// Whether the operations of this module can take a tensor.
pub fn has_kernels(tensor: &Tensor) -> bool {
    let is_device = match tensor.device() {
        Device::Cuda(_) => cfg!(feature = "cuda"),
        #[cfg(test)]
        Device::Cpu => is_emulating(),
        _ => false,
    };
    is_device && tensor.elem_count() > 0 && matches!(tensor.dtype(), DType::F32 | DType::F64 | DType::F16 | DType::BF16)
}

/// Whether this thread's tensors on the CPU stand in for such on a GPU.
#[cfg(test)]
pub fn is_emulating() -> bool {
    emulated::is_on()
}

/// Launches a kernel; it has run before anything that is launched later.
///
/// # Errors
/// If the device has no kernels, or refuses the launch.
pub fn run(device: &Device, launch: &Launch) -> Result<()> {
    match device {
        Device::Cuda(device) => cuda::run(device, launch),
        #[cfg(test)]
        Device::Cpu => emulated::run(launch),
        other => bail!("There are no kernels for the device {:?}.", other.location()),
    }
}
