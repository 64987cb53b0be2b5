//! What GPUs there are and what they do: for the list of devices and for the monitor. A program built without a GPU's
//! feature, or on a machine without one, finds none.

#[cfg(all(feature = "metal", target_os = "macos"))]
mod apple;
#[cfg(feature = "cuda")]
mod nvidia;
mod reader;

pub use reader::GpuReading;
pub(crate) use reader::{Gpu, GpuReader};

/// The reader of every GPU that this build knows of.
pub(crate) fn reader() -> Box<dyn GpuReader> {
    let readers: Vec<Box<dyn GpuReader>> = vec![
        #[cfg(feature = "cuda")]
        Box::new(nvidia::Nvidia::new()),
        #[cfg(all(feature = "metal", target_os = "macos"))]
        Box::new(apple::Apple::new()),
    ];
    Box::new(readers)
}

/// Every GPU that this build knows of and that is there. Computes nothing on them.
pub(crate) fn gpus() -> Vec<Gpu> {
    let lists: Vec<Vec<Gpu>> = vec![
        #[cfg(feature = "cuda")]
        nvidia::Nvidia::new().gpus(),
        #[cfg(all(feature = "metal", target_os = "macos"))]
        apple::Apple::new().gpus(),
    ];
    lists.concat()
}
