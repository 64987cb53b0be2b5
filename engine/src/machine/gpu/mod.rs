//! What GPUs there are and what they do: for the list of devices and for the monitor. A program built without a GPU's
//! feature, or on a machine without one, finds none.

#[cfg(all(feature = "metal", target_os = "macos"))]
mod apple;
#[cfg(feature = "cuda")]
mod nvidia;
mod reader;

pub use reader::GpuReading;
pub(crate) use reader::{Gpu, GpuReader, gpus, reader};
