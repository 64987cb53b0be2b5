//! Facts about this machine: devices, GPUs and what they do, room on its disk.

mod device;
mod disk_space;
mod gpu;

pub use device::{DeviceInfo, cores, devices, free_bytes};
pub(crate) use device::{measured_device, open, open_of};
pub(crate) use disk_space::shortage;
pub use gpu::GpuReading;
pub(crate) use gpu::{GpuReader, reader as gpu_reader};
