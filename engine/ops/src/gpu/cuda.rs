//! Kernels on an NVIDIA GPU.

use candle_core::{CudaDevice, CudaStorage, Layout, Result};

use super::launch::Launch;

#[cfg(feature = "cuda")]
mod driver {
    use std::cell::RefCell;
    use std::collections::HashMap;
    use std::sync::{Mutex, PoisonError};

    use candle_core::{
        CudaDevice, CudaStorage, Error, Layout, Result, bail,
        cuda_backend::{
            CudaDType, CudaStorageSlice, DeviceId,
            cudarc::{
                cublaslt::{CudaBlasLT, Matmul, MatmulConfig, result::CublasError, sys::cublasStatus_t},
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

    /// The generation that a module is compiled for; later ones compile that to their own instructions on loading.
    fn architecture(device: &CudaDevice, module: Module) -> &'static str {
        // Ampere, whose tensor units multiply every format of 16 bits, and Turing before it.
        let capability = device.cuda_stream().context().compute_capability();
        match module {
            Module::Plain if capability.is_ok_and(|(major, _)| major < 8) => "compute_75",
            Module::Plain | Module::Flash(_) | Module::Single(_) => "compute_80",
        }
    }

    /// The name under which candle keeps the kernels once they are loaded.
    fn name(module: Module) -> &'static str {
        match module {
            Module::Plain => "headroom",
            Module::Flash(32) => "headroom_flash_32",
            Module::Flash(64) => "headroom_flash_64",
            Module::Flash(_) => "headroom_flash_128",
            Module::Single(32) => "headroom_single_32",
            Module::Single(64) => "headroom_single_64",
            Module::Single(_) => "headroom_single_128",
        }
    }

    /// The kernels of a module in NVIDIA's assembly language, compiled once a process for each generation.
    fn compiled(device: &CudaDevice, module: Module) -> Result<&'static str> {
        static COMPILED: Mutex<Option<HashMap<(Module, &'static str), &'static str>>> = Mutex::new(None);
        let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        let compiled = compiled.get_or_insert_default();
        let architecture = architecture(device, module);
        if let Some(kernels) = compiled.get(&(module, architecture)) {
            return Ok(kernels);
        }
        let options = CompileOptions { arch: Some(architecture), ..CompileOptions::default() };
        let kernels = match compile_ptx_with_opts(source_of(module), options) {
            // There are a few modules at most, each of which is kept to the end.
            Ok(kernels) => String::leak(kernels.to_src()),
            Err(CompileError::CompileError { log, .. }) => {
                bail!("The GPU's compiler (NVRTC) refused Headroom's kernels: {}", log.to_string_lossy())
            }
            Err(other) => bail!("The GPU's compiler (NVRTC) refused Headroom's kernels: {other:?}"),
        };
        compiled.insert((module, architecture), kernels);
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
                device.get_or_load_custom_func(kernel, name(module), compiled(device, module)?)?.into_cuda_function();
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

    thread_local! {
        /// The library of products with more than a product, for the device that this thread used last.
        static PRODUCTS: RefCell<Option<(DeviceId, CudaBlasLT)>> = RefCell::default();
    }

    /// What the library takes for scratch memory.
    const SCRATCH_BYTES: usize = 33_554_432;
    /// Where operands must begin for every kernel of the library to take them.
    const ALIGNED: u64 = 256;

    pub fn product_with_bias(
        [(x, x_layout), (y, y_layout), (bias, bias_layout)]: [(&CudaStorage, &Layout); 3],
        [rows, inner, columns]: [usize; 3],
    ) -> Result<Option<CudaStorage>> {
        let size = 2 * columns;
        let is_transposed = match y_layout.stride() {
            &[stride, 1] if stride == columns => false,
            &[1, stride] if stride == inner => true,
            _ => return Ok(None),
        };
        for (storage, layout) in [(x, x_layout), (y, y_layout), (bias, bias_layout)] {
            if !(address(storage)? + 2 * layout.start_offset() as u64).is_multiple_of(ALIGNED) {
                return Ok(None);
            }
        }
        if !x_layout.is_contiguous() || !bias_layout.is_contiguous() || !size.is_multiple_of(16) || inner % 8 != 0 {
            return Ok(None);
        }
        let config = MatmulConfig {
            transa: is_transposed,
            transb: false,
            transc: false,
            m: columns as u64,
            n: rows as u64,
            k: inner as u64,
            alpha: 1.0,
            lda: if is_transposed { inner } else { columns } as i64,
            ldb: inner as i64,
            beta: 0.0,
            ldc: columns as i64,
            stride_a: None,
            stride_b: None,
            stride_c: None,
            stride_bias: None,
            batch_size: None,
        };
        let offsets = [x_layout, y_layout, bias_layout].map(Layout::start_offset);
        match (&x.slice, &y.slice, &bias.slice) {
            (CudaStorageSlice::BF16(a), CudaStorageSlice::BF16(b), CudaStorageSlice::BF16(c)) => {
                multiplied(&x.device, config, [a, b, c], offsets)
            }
            (CudaStorageSlice::F16(a), CudaStorageSlice::F16(b), CudaStorageSlice::F16(c)) => {
                multiplied(&x.device, config, [a, b, c], offsets)
            }
            _ => Ok(None),
        }
    }

    /// None where the library has no such product.
    fn multiplied<T: CudaDType + DeviceRepr>(
        device: &CudaDevice,
        config: MatmulConfig,
        [x, y, bias]: [&CudaSlice<T>; 3],
        offsets: [usize; 3],
    ) -> Result<Option<CudaStorage>>
    where
        CudaBlasLT: Matmul<T>,
    {
        PRODUCTS.with_borrow_mut(|products| {
            if !products.as_ref().is_some_and(|(of, _)| *of == device.id()) {
                // The library would end the program if there were none.
                // SAFETY: it is given back as it is.
                #[expect(unsafe_code, reason = "filling what is given back would cost a pass")]
                drop(unsafe { device.alloc::<u8>(SCRATCH_BYTES) }?);
                *products = Some((device.id(), CudaBlasLT::new(device.cuda_stream()).map_err(Error::wrap)?));
            }
            let Some((_, library)) = products else { return Ok(None) };
            // SAFETY: the product writes all of it.
            #[expect(unsafe_code, reason = "filling what is overwritten would cost a pass")]
            let mut result = unsafe { device.alloc::<T>((config.m * config.n) as usize) }?;
            let [x, y, bias] =
                [(x, offsets[0]), (y, offsets[1]), (bias, offsets[2])].map(|(of, first)| of.slice(first..));
            // SAFETY: the caller checked that the operands have these sizes and lie so.
            #[expect(unsafe_code, reason = "the library works on addresses")]
            let done = unsafe { library.matmul(config, &y, &x, &mut result, Some(&bias), None) };
            match done {
                Ok(()) => Ok(Some(T::wrap_cuda_slice(result, device.clone()))),
                Err(CublasError(
                    cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED
                    | cublasStatus_t::CUBLAS_STATUS_INVALID_VALUE
                    | cublasStatus_t::CUBLAS_STATUS_ARCH_MISMATCH,
                )) => Ok(None),
                // The device failed: what comes after it would only fail less clearly.
                Err(error) => Err(Error::wrap(error)),
            }
        })
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
    use candle_core::{CudaDevice, CudaStorage, Error, Layout, Result, bail};

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

    pub fn product_with_bias(_: [(&CudaStorage, &Layout); 3], _: [usize; 3]) -> Result<Option<CudaStorage>> {
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

/// One product of two matrices of 16 bits, `[m, k]` and `[k, n]`, with a bias `[n]` added to every row before it is rounded; none
/// where the vendor's library has no such product.
///
/// # Errors
/// If there is not enough memory.
pub fn product_with_bias(operands: [(&CudaStorage, &Layout); 3], sizes: [usize; 3]) -> Result<Option<CudaStorage>> {
    driver::product_with_bias(operands, sizes)
}
