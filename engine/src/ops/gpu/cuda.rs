//! Kernels on an NVIDIA GPU.

use candle_core::{CudaDevice, CudaStorage, Result};

use super::launch::Launch;

#[cfg(feature = "cuda")]
mod driver {
    use std::cell::RefCell;
    use std::collections::HashMap;
    use std::sync::{Mutex, PoisonError};

    use candle_core::{
        CudaDevice, CudaStorage, Error, Result, bail,
        cuda_backend::{
            CudaStorageSlice, DeviceId,
            cudarc::{
                driver::{CudaFunction, CudaSlice, DevicePtr, DeviceRepr, LaunchConfig, PushKernelArg},
                nvrtc::{CompileError, CompileOptions, compile_ptx_with_opts},
            },
        },
    };

    use super::super::{
        launch::{Launch, MOST_ARGUMENTS, Module},
        source::source_of,
    };

    /// The structure of any kernel: it reads as many of these as it has fields.
    #[repr(transparent)]
    struct Arguments([u64; MOST_ARGUMENTS]);

    // SAFETY: plain numbers, laid out as in C.
    #[expect(unsafe_code, reason = "what a kernel takes by value must be declared so")]
    unsafe impl DeviceRepr for Arguments {}

    /// The oldest generation that takes what is compiled for it; later ones compile that to their own instructions on loading.
    fn architecture(module: Module) -> &'static str {
        match module {
            // Turing.
            Module::Plain => "compute_75",
            // Ampere, whose tensor units multiply every format of 16 bits.
            Module::Flash(_) => "compute_80",
        }
    }

    /// The name under which candle keeps the kernels once they are loaded.
    fn name(module: Module) -> &'static str {
        match module {
            Module::Plain => "headroom",
            Module::Flash(32) => "headroom_flash_32",
            Module::Flash(64) => "headroom_flash_64",
            Module::Flash(_) => "headroom_flash_128",
        }
    }

    /// The kernels of a module in NVIDIA's assembly language, compiled once a process.
    fn compiled(module: Module) -> Result<&'static str> {
        static COMPILED: Mutex<Option<HashMap<Module, &'static str>>> = Mutex::new(None);
        let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        let compiled = compiled.get_or_insert_default();
        if let Some(kernels) = compiled.get(&module) {
            return Ok(kernels);
        }
        let options = CompileOptions { arch: Some(architecture(module)), ..CompileOptions::default() };
        let kernels = match compile_ptx_with_opts(source_of(module), options) {
            // There are four modules at most, each of which is kept to the end.
            Ok(kernels) => String::leak(kernels.to_src()),
            Err(CompileError::CompileError { log, .. }) => {
                bail!("The GPU's compiler (NVRTC) refused Headroom's kernels: {}", log.to_string_lossy())
            }
            Err(other) => bail!("The GPU's compiler (NVRTC) refused Headroom's kernels: {other:?}"),
        };
        compiled.insert(module, kernels);
        Ok(kernels)
    }

    thread_local! {
        /// The kernels of the device that this thread used last: asking the driver by name takes longer than a launch.
        static KNOWN: RefCell<(Option<DeviceId>, HashMap<String, CudaFunction>)> = RefCell::default();
    }

    fn function(device: &CudaDevice, module: Module, kernel: &str) -> Result<CudaFunction> {
        KNOWN.with_borrow_mut(|(of, known)| {
            if *of != Some(device.id()) {
                known.clear();
                *of = Some(device.id());
            }
            if let Some(function) = known.get(kernel) {
                return Ok(function.clone());
            }
            let function =
                device.get_or_load_custom_func(kernel, name(module), compiled(module)?)?.into_cuda_function();
            known.insert(kernel.to_owned(), function.clone());
            Ok(function)
        })
    }

    pub fn run(device: &CudaDevice, launch: &Launch) -> Result<()> {
        let Launch { module, kernel, grid, block, arguments } = launch;
        let mut fields = [0; MOST_ARGUMENTS];
        match fields.get_mut(..arguments.len()) {
            Some(fields) => fields.copy_from_slice(arguments),
            None => bail!("The kernel {kernel} was given {} arguments.", arguments.len()),
        }
        let function = function(device, *module, kernel)?;
        let fields = Arguments(fields);
        let stream = device.cuda_stream();
        let mut call = stream.launch_builder(&function);
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

    use super::super::{launch::Launch, source::source_of};

    pub fn run(_: &CudaDevice, launch: &Launch) -> Result<()> {
        let Launch { module, kernel, grid, block, .. } = launch;
        bail!(
            "The kernel {kernel} ({grid:?} blocks of {block} threads, {} bytes of source) cannot run: this program was built \
             without NVIDIA support.",
            source_of(*module).len()
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
