//! Where kernels run.

use candle_core::{DType, Device, Result, Tensor, bail};

use super::cuda;
#[cfg(any(test, feature = "testing"))]
use super::emulated;
use super::launch::Launch;
use crate::profile::{self, Work, span};

/// Whether the operations of this module can take a tensor.
pub fn has_kernels(tensor: &Tensor) -> bool {
    let is_device = match tensor.device() {
        Device::Cuda(_) => cfg!(feature = "cuda"),
        #[cfg(any(test, feature = "testing"))]
        Device::Cpu => crate::emulation::is_on(),
        _ => false,
    };
    is_device && tensor.elem_count() > 0 && matches!(tensor.dtype(), DType::F32 | DType::F64 | DType::F16 | DType::BF16)
}

/// Runs an operation on the device of `on` under a name, for the profile of a step: only while one is taken, the device is
/// waited for before and after.
///
/// # Errors
/// As `f`, or if the device fails.
pub fn timed<R>(on: &Tensor, name: &'static str, work: Work, f: impl FnOnce() -> Result<R>) -> Result<R> {
    if !profile::is_on() {
        return f();
    }
    on.device().synchronize()?;
    span(name, work, || {
        let result = f()?;
        on.device().synchronize()?;
        Ok(result)
    })
}

/// The work of reading and writing tensors of the size of `x` so often.
pub fn passes(x: &Tensor, count: usize) -> Work {
    Work::moving(count * x.elem_count(), x.dtype().size_in_bytes())
}

/// Launches a kernel; it has run before anything that is launched later.
///
/// # Errors
/// If the device has no kernels, or refuses the launch.
pub fn run(device: &Device, launch: &Launch) -> Result<()> {
    match device {
        Device::Cuda(device) => cuda::run(device, launch),
        #[cfg(any(test, feature = "testing"))]
        Device::Cpu => emulated::run(launch),
        other => bail!("There are no kernels for the device {:?}.", other.location()),
    }
}
