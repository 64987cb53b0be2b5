//! Layer normalisation.

use candle_core::{Result, Tensor};

use super::{
    buffer::{Buffer, address},
    columns::{Normalised, column_sums, totals},
    device::{passes, run, timed},
    launch::{Launch, wide},
};
use crate::tracked::{Backward, tracked3};

/// See [`crate::layer_norm()`]; shapes were checked by the caller. Mean and deviation of each row are kept.
///
/// # Errors
/// If the device fails.
pub fn layer_norm(x: &Tensor, gain: &Tensor, bias: &Tensor, epsilon: f64) -> Result<Tensor> {
    let (x, gain, bias) = (x.contiguous()?, gain.contiguous()?, bias.contiguous()?);
    let (device, dtype, width) = (x.device(), x.dtype(), gain.elem_count());
    let rows = x.elem_count() / width;
    let y = Buffer::new(device, x.shape(), dtype)?;
    let mean = Buffer::new(device, rows, wide(dtype))?;
    let inverse_deviation = Buffer::new(device, rows, wide(dtype))?;
    let launch = Launch::rows_or_warps("layer_norm", dtype, rows, width)?
        .with(address(&x)?)
        .with(address(&gain)?)
        .with(address(&bias)?)
        .with(y.address()?)
        .with(mean.address()?)
        .with(inverse_deviation.address()?)
        .size(width)
        .real(epsilon)
        .size(rows);
    timed(&x, "layer norm", passes(&x, 2), || run(device, &launch))?;
    let kept = LayerNorm { mean: mean.into_tensor(), inverse_deviation: inverse_deviation.into_tensor() };
    tracked3([&x, &gain, &bias], y, kept)
}

struct LayerNorm {
    /// `[rows]`
    mean: Tensor,
    /// `[rows]`
    inverse_deviation: Tensor,
}

/// Threads of a block that finds all gradients, and its rows, as in `kernels/layer_norm.cu`.
const THREADS: usize = 256;
const ROWS_OF_GRADIENTS: usize = 16;

impl LayerNorm {
    /// Those of the input, the gain and the bias, in one pass.
    fn gradients(&self, x: &Tensor, gain: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let Self { mean, inverse_deviation } = self;
        let (device, dtype, width) = (x.device(), x.dtype(), gain.elem_count());
        let rows = x.elem_count() / width;
        let groups = (THREADS / width.div_ceil(4)).min(ROWS_OF_GRADIENTS);
        let blocks = rows.div_ceil(ROWS_OF_GRADIENTS);
        let dx = Buffer::new(device, x.shape(), dtype)?;
        let sums = Buffer::new(device, (2, blocks * groups, width), wide(dtype))?;
        let launch = Launch::grid("layer_norm_gradients", dtype, [blocks, 1])?
            .with(address(x)?)
            .with(address(gain)?)
            .with(address(dy)?)
            .with(address(mean)?)
            .with(address(inverse_deviation)?)
            .with(dx.address()?)
            .size(width)
            .size(rows)
            .with(sums.address()?)
            .size(groups);
        let both = timed(x, "layer norm, gradient", passes(x, 3), || {
            run(device, &launch)?;
            totals(&sums, blocks * groups, 2, ((2, width), dtype), width)
        })?;
        Ok([Some(dx.into_tensor()), Some(both.get(1)?), Some(both.get(0)?)])
    }
}

impl Backward<3> for LayerNorm {
    const NAME: &'static str = "layer norm";

    fn backward(&self, [x, gain, bias]: [&Tensor; 3], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let Self { mean, inverse_deviation } = self;
        let (device, dtype, width) = (x.device(), x.dtype(), gain.elem_count());
        if [x, gain, bias].iter().all(|input| input.track_op()) && width <= 4 * THREADS {
            return self.gradients(x, gain, dy);
        }
        let dx = if x.track_op() {
            let dx = Buffer::new(device, x.shape(), dtype)?;
            let rows = x.elem_count() / width;
            let launch = Launch::rows_or_warps("layer_norm_gradient", dtype, rows, width)?
                .with(address(x)?)
                .with(address(gain)?)
                .with(address(dy)?)
                .with(address(mean)?)
                .with(address(inverse_deviation)?)
                .with(dx.address()?)
                .size(width)
                .size(rows);
            timed(x, "layer norm, gradient", passes(x, 3), || run(device, &launch))?;
            Some(dx.into_tensor())
        } else {
            None
        };
        let (dbias, dgain) = if gain.track_op() || bias.track_op() {
            let (dbias, dgain) = column_sums(dy, Some(Normalised { x, mean, inverse_deviation }))?;
            (bias.track_op().then_some(dbias), dgain.filter(|_| gain.track_op()))
        } else {
            (None, None)
        };
        Ok([dx, dgain, dbias])
    }
}
