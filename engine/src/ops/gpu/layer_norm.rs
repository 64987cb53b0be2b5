//! Layer normalisation.

use candle_core::{Result, Tensor};

use super::{
    buffer::{Buffer, address},
    columns::{Normalised, column_sums},
    device::{passes, run, timed},
    launch::{Launch, wide},
};
use crate::ops::tracked::{Backward, tracked3};

/// See [`crate::ops::layer_norm()`]; shapes were checked by the caller. Mean and deviation of each row are kept.
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

impl Backward<3> for LayerNorm {
    const NAME: &'static str = "layer norm";

    fn backward(&self, [x, gain, bias]: [&Tensor; 3], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let Self { mean, inverse_deviation } = self;
        let (device, dtype, width) = (x.device(), x.dtype(), gain.elem_count());
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
