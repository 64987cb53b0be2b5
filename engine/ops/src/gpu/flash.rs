//! The attention core as kernels of its own: neither scores nor maps are ever in memory. In 16 bits, and in single precision, whose
//! products are made of three of TF32, or are TF32's where products may be.

use candle_core::{DType, Device, Result, Tensor};

use super::{
    buffer::{Buffer, address},
    device::{has_kernels, run, timed},
    launch::{FLASH_SIZES, Launch, Module},
};
use crate::tracked::{Backward, tracked1, tracked3};
use crate::{MaskSpec, kernels::DropoutMask, profile::Work};

/// Threads of a block.
const THREADS: u32 = 128;
/// The most blocks in the second dimension of a grid.
const MOST_BLOCKS: usize = 65_535;
/// Bytes that are copied at a time, and begin at a multiple of as many.
const ALIGNED: usize = 16;

/// What goes over the rows of a head, some of them a block.
#[derive(Clone, Copy, Debug)]
enum Kernel {
    Forward,
    Queries,
    Keys,
}

impl Kernel {
    /// Its name, the rows of a block and its threads for heads of a size, as in `kernels/flash.cu` and
    /// `kernels/flash_single.cu`.
    fn of(self, size: usize, dtype: DType, products: TileProducts) -> (String, usize, u32) {
        let name = match self {
            Self::Forward => "forward",
            Self::Queries => "queries",
            Self::Keys => "keys",
        };
        if dtype != DType::F32 {
            let rows = if size > 64 { 64 } else { 128 };
            return (format!("flash_{name}_{size}"), rows, THREADS);
        }
        let products = match products {
            TileProducts::Exact => "exact",
            TileProducts::Rounded => "fast",
        };
        let rows = if matches!(self, Self::Forward) { 128 } else { 64 };
        let threads = if size > 64 { 2 * THREADS } else { THREADS };
        (format!("single_{name}_{size}_{products}"), rows, threads)
    }
}

/// What products of single precision in tiles are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TileProducts {
    /// Three of TF32: as good as those of single precision.
    Exact,
    /// One of TF32.
    Rounded,
}

impl TileProducts {
    /// As other products of the device are.
    fn of(device: &Device) -> Self {
        if are_products_rounded(device) { Self::Rounded } else { Self::Exact }
    }
}

/// Whether a device rounds factors of products of single precision to TF32.
fn are_products_rounded(device: &Device) -> bool {
    match device {
        #[cfg(feature = "cuda")]
        Device::Cuda(cuda) => {
            use candle_core::cuda_backend::cudarc::cublas::sys::{cublasGetMathMode, cublasMath_t};
            let products = cuda.cublas_handle();
            let mut mode = 0_u32;
            // SAFETY: the handle is that of the device, which is held here.
            #[expect(unsafe_code, reason = "the library's own interface is all there is")]
            let asked = unsafe { cublasGetMathMode(*products.handle(), (&raw mut mode).cast()) };
            asked.result().is_ok() && mode == cublasMath_t::CUBLAS_TF32_TENSOR_OP_MATH as u32
        }
        _ => false,
    }
}

/// How many of everything there are.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    batch: usize,
    heads: usize,
    queries: usize,
    keys: usize,
    size: usize,
    /// What lies between the rows of queries, of keys and values, and of results, where all heads of a position lie beside each
    /// other; none = heads lie apart.
    rows: Option<[usize; 3]>,
}

/// Where everything begins.
#[derive(Clone, Copy, Debug)]
struct Places {
    q: u64,
    k: u64,
    v: u64,
    y: u64,
}

/// Whether there are kernels for these: numbers of 16 or 32 bits, heads of one of some sizes, a GPU with tensor units that multiply
/// them.
pub(super) fn is_for([q, k, v]: [&Tensor; 3]) -> Result<bool> {
    let (size, rows) = (q.dim(3)?, q.dim(2)?.max(k.dim(2)?));
    for tensor in [q, k, v] {
        if !address(tensor)?.is_multiple_of(ALIGNED as u64) && tensor.device().is_cuda() {
            return Ok(false);
        }
    }
    Ok(v.dim(3)? == size && is_for_heads(q, size, rows))
}

fn is_for_heads(like: &Tensor, size: usize, rows: usize) -> bool {
    matches!(like.dtype(), DType::F16 | DType::BF16 | DType::F32)
        && FLASH_SIZES.contains(&size)
        && rows.div_ceil(32) <= MOST_BLOCKS
        && has_tensor_units(like.device())
}

/// Whether a GPU is of a generation (Ampere) that multiplies every format of 16 bits in its tensor units.
fn has_tensor_units(device: &Device) -> bool {
    match device {
        #[cfg(feature = "cuda")]
        Device::Cuda(cuda) => {
            let capability = cuda.cuda_stream().context().compute_capability();
            capability.is_ok_and(|(major, _)| major >= 8)
        }
        _ => device.is_cpu(),
    }
}

/// Whether [`joint_core`] is for what heads of this size read of `x` `[b, t, d]`.
pub fn has_joint_core(x: &Tensor, size: usize) -> bool {
    has_kernels(x) && x.rank() == 3 && is_for_heads(x, size, x.dims()[1])
}

/// The attention core of a sequence to itself, of queries, keys and values that lie side by side.
///
/// # Shapes
/// `qkv` `[b, t, 3 h d]`; result `[b, t, h d]`.
///
/// # Errors
/// If the device fails.
pub fn joint_core(qkv: &Tensor, heads: usize, with: CoreMask) -> Result<Tensor> {
    let qkv = aligned(&qkv.contiguous()?)?;
    let (batch, t, width) = qkv.dims3()?;
    let of_one = width / 3;
    let y = Buffer::new(qkv.device(), (batch, t, of_one), qkv.dtype())?;
    let rows = Some([width, width, of_one]);
    let sizes = Sizes { batch, heads, queries: t, keys: t, size: of_one / heads, rows };
    let places = side_by_side(address(&qkv)?, of_one * qkv.dtype().size_in_bytes(), y.address()?);
    let flash = Flash::forward(&qkv, sizes, places, with, TileProducts::of(qkv.device()))?;
    tracked1(&qkv, y, flash)
}

/// Parts of so many bytes, from a place on.
fn side_by_side(first: u64, bytes: usize, y: u64) -> Places {
    let bytes = bytes as u64;
    Places { q: first, k: first + bytes, v: first + 2 * bytes, y }
}

/// A tensor whose memory begins where pieces of 16 bytes do.
fn aligned(x: &Tensor) -> Result<Tensor> {
    let is_aligned = address(x)?.is_multiple_of(ALIGNED as u64) || !x.device().is_cuda();
    // A copy as it lies would begin where this one does.
    if is_aligned { Ok(x.clone()) } else { x.force_contiguous() }
}

/// See [`super::attention_core`]; inputs are contiguous.
///
/// # Errors
/// If the device fails.
pub(super) fn attention_core(tensors: [&Tensor; 3], with: CoreMask) -> Result<Tensor> {
    core_of(tensors, with, TileProducts::of(tensors[0].device()))
}

/// The same with products of a kind.
///
/// # Errors
/// If the device fails.
pub(super) fn core_of([q, k, v]: [&Tensor; 3], with: CoreMask, products: TileProducts) -> Result<Tensor> {
    let y = Buffer::new(q.device(), q.shape(), q.dtype())?;
    let ((batch, heads, queries, size), keys) = (q.dims4()?, k.dim(2)?);
    let sizes = Sizes { batch, heads, queries, keys, size, rows: None };
    let places = Places { q: address(q)?, k: address(k)?, v: address(v)?, y: y.address()? };
    let flash = Flash::forward(q, sizes, places, with, products)?;
    tracked3([q, k, v], y, flash)
}

struct Flash {
    sizes: Sizes,
    with: CoreMask,
    products: TileProducts,
    /// What the probabilities of each query were divided by, as a logarithm. `[b, h, t]`
    log_sums: Tensor,
}

impl Flash {
    /// Writes the result.
    fn forward(like: &Tensor, sizes: Sizes, places: Places, with: CoreMask, products: TileProducts) -> Result<Self> {
        let Sizes { batch, heads, queries, .. } = sizes;
        let log_sums = Buffer::new(like.device(), (batch, heads, queries), DType::F32)?;
        let flash = Self { sizes, with, products, log_sums: log_sums.into_tensor() };
        let launch = flash.launch(Kernel::Forward, like.dtype(), places)?;
        timed(like, "attention: core", flash.work(like.dtype(), 2), || run(like.device(), &launch))?;
        Ok(flash)
    }

    /// A launch over all rows of all heads.
    fn launch(&self, kernel: Kernel, dtype: DType, places: Places) -> Result<Launch> {
        let Sizes { batch, heads, queries, keys, size, .. } = self.sizes;
        let (name, of_block, threads) = kernel.of(size, dtype, self.products);
        let rows = if matches!(kernel, Kernel::Keys) { keys } else { queries };
        self.fields(&name, dtype, [batch * heads, rows.div_ceil(of_block)], threads, places)
    }

    /// A launch with the fields that every kernel has; `y` is what the forward pass writes, or wrote.
    fn fields(&self, kernel: &str, dtype: DType, grid: [usize; 2], threads: u32, of: Places) -> Result<Launch> {
        let Self { sizes: Sizes { heads, queries, keys, size, rows, .. }, with, log_sums, .. } = self;
        let CoreMask { scale, mask, dropout } = with;
        let module = if dtype == DType::F32 { Module::Single(*size) } else { Module::Flash(*size) };
        let launch = Launch::of_module(module, kernel, dtype, grid, threads)?
            .with(of.q)
            .with(of.k)
            .with(of.v)
            .with(of.y)
            .with(address(log_sums)?)
            .with(mask.keys.as_ref().map_or(Ok(0), address)?)
            .size(*keys)
            .size(*heads)
            .size(*queries)
            .size(*keys)
            // The last query sees every key.
            .signed(*keys as i64 - *queries as i64)
            .with(u64::from(mask.causal))
            .real(*scale);
        let launch = rows.unwrap_or([0; 3]).into_iter().fold(launch, Launch::size);
        Ok(launch.dropout(dropout.as_ref()))
    }

    /// Of so many products with every pair that is seen.
    fn work(&self, dtype: DType, products: usize) -> Work {
        let Sizes { batch, heads, queries, keys, size, .. } = self.sizes;
        let seen = if self.with.mask.causal { keys.div_ceil(2) } else { keys };
        Work::product_of(dtype.size_in_bytes(), [queries, size, seen]).times(batch * heads * products)
    }

    /// Writes the gradients of those for which `wanted` says so: of the queries, and of keys and values. `of` is where things
    /// lie, `to` where their gradients are to lie.
    fn gradients(&self, dy: &Tensor, of: Places, to: Places, wanted: [bool; 2]) -> Result<()> {
        let (device, dtype) = (dy.device(), dy.dtype());
        let Sizes { batch, heads, queries, size, .. } = self.sizes;
        let dy = aligned(dy)?;
        let products = Buffer::new(device, (batch, heads, queries), DType::F32)?;
        let rows = batch * heads * queries;
        let with_gradients = |launch: Launch| -> Result<Launch> {
            let launch = launch.with(address(&dy)?).with(products.address()?);
            Ok(launch.with(to.q).with(to.k).with(to.v).size(rows))
        };
        let (name, of_block) =
            if dtype == DType::F32 { ("single_products", 512 / size) } else { ("flash_products", 1024 / size) };
        let grid = [rows.div_ceil(of_block), 1];
        let of_rows = with_gradients(self.fields(&format!("{name}_{size}"), dtype, grid, THREADS, of)?)?;
        let of_queries = with_gradients(self.launch(Kernel::Queries, dtype, of)?)?;
        let of_keys = with_gradients(self.launch(Kernel::Keys, dtype, of)?)?;
        timed(&dy, "attention: core, gradient", self.work(dtype, 7), || {
            run(device, &of_rows)?;
            if wanted[0] {
                run(device, &of_queries)?;
            }
            if wanted[1] {
                run(device, &of_keys)?;
            }
            Ok(())
        })
    }
}

impl Backward<3> for Flash {
    const NAME: &'static str = "attention core in tiles";

    fn backward(&self, [q, k, v]: [&Tensor; 3], y: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let of = |like: &Tensor| Buffer::new(q.device(), like.shape(), like.dtype());
        let (dq, dk, dv) = (of(q)?, of(k)?, of(v)?);
        let places = Places { q: address(q)?, k: address(k)?, v: address(v)?, y: address(y)? };
        let to = Places { q: dq.address()?, k: dk.address()?, v: dv.address()?, y: 0 };
        self.gradients(dy, places, to, [q.track_op(), k.track_op() || v.track_op()])?;
        let kept = |is_wanted: bool, gradient: Buffer| is_wanted.then(|| gradient.into_tensor());
        Ok([kept(q.track_op(), dq), kept(k.track_op(), dk), kept(v.track_op(), dv)])
    }
}

impl Backward<1> for Flash {
    const NAME: &'static str = "attention core of one tensor, in tiles";

    fn backward(&self, [qkv]: [&Tensor; 1], y: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 1]> {
        let gradient = Buffer::new(qkv.device(), qkv.shape(), qkv.dtype())?;
        let of_one = self.sizes.heads * self.sizes.size * qkv.dtype().size_in_bytes();
        let places = side_by_side(address(qkv)?, of_one, address(y)?);
        self.gradients(dy, places, side_by_side(gradient.address()?, of_one, 0), [true; 2])?;
        Ok([Some(gradient.into_tensor())])
    }
}

/// What is done to scores on their way to probabilities.
#[derive(Clone, Debug)]
pub struct CoreMask {
    /// What scores are multiplied with.
    pub scale: f64,
    /// Which keys are seen.
    pub mask: MaskSpec,
    /// Which probabilities are dropped; none = no dropout.
    pub dropout: Option<DropoutMask>,
}
