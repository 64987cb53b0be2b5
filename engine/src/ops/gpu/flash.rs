//! The attention core in 16 bits as kernels of its own: neither scores nor maps are ever in memory.

use candle_core::{DType, Device, Result, Shape, Tensor};

use super::{
    attention::CoreMask,
    buffer::{Buffer, address},
    device::{run, timed},
    launch::{FLASH_SIZES, Launch, Module},
};
use crate::ops::profile::Work;
use crate::ops::tracked::{Backward, tracked3};

/// Queries or keys of a block, as in `kernels/flash.cu`.
const ROWS: usize = 64;
/// Threads of a block.
const THREADS: u32 = 128;
/// Rows of a block where a warp has one.
const WARPS: usize = 4;
/// The most blocks in the second dimension of a grid.
const MOST_BLOCKS: usize = 65_535;

/// Whether there are kernels for these: numbers of 16 bits, heads of one of some sizes, a GPU with tensor units that multiply them.
pub(super) fn is_for([q, k, v]: [&Tensor; 3]) -> Result<bool> {
    let (size, rows) = (q.dim(3)?, q.dim(2)?.max(k.dim(2)?));
    // Sixteen bytes are copied at a time.
    for tensor in [q, k, v] {
        if !address(tensor)?.is_multiple_of(16) && tensor.device().is_cuda() {
            return Ok(false);
        }
    }
    Ok(matches!(q.dtype(), DType::F16 | DType::BF16)
        && FLASH_SIZES.contains(&size)
        && v.dim(3)? == size
        && rows.div_ceil(ROWS) <= MOST_BLOCKS
        && has_tensor_units(q.device()))
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

/// See [`super::attention_core`]; inputs are contiguous.
///
/// # Errors
/// If the device fails.
pub(super) fn attention_core([q, k, v]: [&Tensor; 3], with: CoreMask) -> Result<Tensor> {
    let y = Buffer::new(q.device(), q.shape(), q.dtype())?;
    let (b, h, t, _) = q.dims4()?;
    let log_sums = Buffer::new(q.device(), (b, h, t), DType::F32)?;
    let flash = Flash { with, log_sums: log_sums.into_tensor() };
    let launch = flash.fields("flash_forward", [q, k, v], y.address()?, [b * h, t.div_ceil(ROWS)])?;
    timed(q, "attention: core", flash.work(q, k, 2)?, || run(q.device(), &launch))?;
    tracked3([q, k, v], y, flash)
}

struct Flash {
    with: CoreMask,
    /// What the probabilities of each query were divided by, as a logarithm. `[b, h, t]`
    log_sums: Tensor,
}

impl Flash {
    /// A launch with the fields that every kernel has; `y` is what the forward pass writes, or wrote.
    fn fields(&self, kernel: &str, [q, k, v]: [&Tensor; 3], y: u64, grid: [usize; 2]) -> Result<Launch> {
        let ((_, heads, queries, size), keys) = (q.dims4()?, k.dim(2)?);
        let Self { with: CoreMask { scale, mask, dropout }, log_sums } = self;
        Ok(Launch::of_module(Module::Flash(size), &format!("{kernel}_{size}"), q.dtype(), grid, THREADS)?
            .with(address(q)?)
            .with(address(k)?)
            .with(address(v)?)
            .with(y)
            .with(address(log_sums)?)
            .with(mask.keys.as_ref().map_or(Ok(0), address)?)
            .size(keys)
            .size(heads)
            .size(queries)
            .size(keys)
            // The last query sees every key.
            .signed(keys as i64 - queries as i64)
            .with(u64::from(mask.causal))
            .real(*scale)
            .dropout(dropout.as_ref()))
    }

    /// Of so many products with every pair that is seen.
    fn work(&self, q: &Tensor, k: &Tensor, products: usize) -> Result<Work> {
        let ((b, h, queries, size), keys) = (q.dims4()?, k.dim(2)?);
        let seen = if self.with.mask.causal { keys.div_ceil(2) } else { keys };
        Ok(Work::product_of(q.dtype().size_in_bytes(), [queries, size, seen]).times(b * h * products))
    }
}

impl Backward<3> for Flash {
    const NAME: &'static str = "attention core in tiles";

    fn backward(&self, [q, k, v]: [&Tensor; 3], y: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let ((b, h, queries, _), keys) = (q.dims4()?, k.dim(2)?);
        let device = q.device();
        let is_aligned = address(dy)?.is_multiple_of(16) || !device.is_cuda();
        let dy = &if is_aligned { dy.clone() } else { dy.copy()? };
        let of = |like: &Tensor| Buffer::new(device, Shape::from(like.dims()), like.dtype());
        let products = Buffer::new(device, (b, h, queries), DType::F32)?;
        let (dq, dk, dv) = (of(q)?, of(k)?, of(v)?);
        let (y, rows) = (address(y)?, b * h * queries);
        let launch = |kernel: &str, grid: [usize; 2]| {
            let launch = self.fields(kernel, [q, k, v], y, grid)?.with(address(dy)?).with(products.address()?);
            Ok::<_, candle_core::Error>(launch.with(dq.address()?).with(dk.address()?).with(dv.address()?).size(rows))
        };
        let of_rows = launch("flash_products", [rows.div_ceil(WARPS), 1])?;
        let of_queries = launch("flash_queries", [b * h, queries.div_ceil(ROWS)])?;
        let of_keys = launch("flash_keys", [b * h, keys.div_ceil(ROWS)])?;
        timed(q, "attention: core, gradient", self.work(q, k, 7)?, || {
            run(device, &of_rows)?;
            if q.track_op() {
                run(device, &of_queries)?;
            }
            if k.track_op() || v.track_op() {
                run(device, &of_keys)?;
            }
            Ok(())
        })?;
        let kept = |is_wanted: bool, gradient: Buffer| is_wanted.then(|| gradient.into_tensor());
        Ok([kept(q.track_op(), dq), kept(k.track_op(), dk), kept(v.track_op(), dv)])
    }
}
