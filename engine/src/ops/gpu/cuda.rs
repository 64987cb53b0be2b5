//! Kernels on an NVIDIA GPU.

use candle_core::{CudaDevice, CudaStorage, Result};

use super::launch::Launch;

#[cfg(feature = "cuda")]
mod driver {
    use std::sync::OnceLock;

    use candle_core::{
        CudaDevice, CudaStorage, Error, Result, bail,
        cuda_backend::{
            CudaStorageSlice,
            cudarc::{
                driver::{CudaSlice, DevicePtr, DeviceRepr, LaunchConfig, PushKernelArg},
                nvrtc::{CompileError, CompileOptions, compile_ptx_with_opts},
            },
        },
    };

    use super::super::{
        launch::{Launch, MOST_ARGUMENTS},
        source::SOURCE,
    };

    /// The structure of any kernel: it reads as many of these as it has fields.
    #[repr(transparent)]
    struct Arguments([u64; MOST_ARGUMENTS]);

    // SAFETY: plain numbers, laid out as in C.
    #[expect(unsafe_code, reason = "what a kernel takes by value must be declared so")]
    unsafe impl DeviceRepr for Arguments {}

    /// Every card since Turing takes what is compiled for it, and compiles it to its own instructions on loading.
    const ARCHITECTURE: &str = "compute_75";

    /// The name under which candle keeps the kernels once they are loaded.
    const MODULE: &str = "headroom";

    /// The kernels in NVIDIA's assembly language, compiled once a process.
    fn compiled() -> Result<&'static str> {
        static COMPILED: OnceLock<std::result::Result<String, String>> = OnceLock::new();
        let compiled = COMPILED.get_or_init(|| {
            let options = CompileOptions { arch: Some(ARCHITECTURE), ..CompileOptions::default() };
            match compile_ptx_with_opts(SOURCE, options) {
                Ok(kernels) => Ok(kernels.to_src()),
                Err(CompileError::CompileError { log, .. }) => Err(log.to_string_lossy().into_owned()),
                Err(other) => Err(format!("{other:?}")),
            }
        });
        match compiled {
            Ok(kernels) => Ok(kernels),
            Err(why) => bail!("The GPU's compiler (NVRTC) refused Headroom's kernels: {why}"),
        }
    }

    pub fn run(device: &CudaDevice, launch: &Launch) -> Result<()> {
        let Launch { kernel, grid, block, arguments } = launch;
        let mut fields = [0; MOST_ARGUMENTS];
        match fields.get_mut(..arguments.len()) {
            Some(fields) => fields.copy_from_slice(arguments),
            None => bail!("The kernel {kernel} was given {} arguments.", arguments.len()),
        }
        let function = device.get_or_load_custom_func(kernel, MODULE, compiled()?)?;
        let fields = Arguments(fields);
        let mut call = function.builder();
        call.arg(&fields);
        let sizes = LaunchConfig { grid_dim: (grid[0], grid[1], 1), block_dim: (*block, 1, 1), shared_mem_bytes: 0 };
        // SAFETY: the addresses are those of tensors and buffers of this device that live until the call is queued, of the
        // sizes that the kernel is told; memory is given back in the order of the one stream.
        #[expect(unsafe_code, reason = "a kernel works on addresses")]
        let launched = unsafe { call.launch(sizes) };
        launched.map(drop).map_err(Error::wrap)
    }

    pub fn address(storage: &CudaStorage) -> Result<u64> {
        fn of<T>(slice: &CudaSlice<T>) -> u64 {
            slice.device_ptr(slice.stream()).0
        }
        Ok(match &storage.slice {
            CudaStorageSlice::U8(slice) => of(slice),
            CudaStorageSlice::U32(slice) => of(slice),
            CudaStorageSlice::I64(slice) => of(slice),
            CudaStorageSlice::F32(slice) => of(slice),
            CudaStorageSlice::F64(slice) => of(slice),
            CudaStorageSlice::F16(slice) => of(slice),
            CudaStorageSlice::BF16(slice) => of(slice),
            _ => bail!("Kernels read no such elements."),
        })
    }
}

#[cfg(not(feature = "cuda"))]
mod driver {
    use candle_core::{CudaDevice, CudaStorage, Error, Result, bail};

    use super::super::{launch::Launch, source::SOURCE};

    pub fn run(_: &CudaDevice, launch: &Launch) -> Result<()> {
        let Launch { kernel, grid, block, .. } = launch;
        bail!(
            "The kernel {kernel} ({grid:?} blocks of {block} threads, {} bytes of source) cannot run: this program was built \
             without NVIDIA support.",
            SOURCE.len()
        )
    }

    pub fn address(_: &CudaStorage) -> Result<u64> {
        Err(Error::NotCompiledWithCudaSupport)
    }
}

/// Launches a kernel on a GPU.
///
/// # Errors
/// If the kernels cannot be compiled, or the driver refuses.
pub fn run(device: &CudaDevice, launch: &Launch) -> Result<()> {
    driver::run(device, launch)
}

/// Where a storage begins.
///
/// # Errors
/// If its elements are of a type that no kernel reads.
pub fn address(storage: &CudaStorage) -> Result<u64> {
    driver::address(storage)
}
