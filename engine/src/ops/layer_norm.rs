//! Layer normalisation.

use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor, bail};

use super::composed;
use super::element::{Element, Reading, by_dtype, check_dtype, is_fused, output, slice, tensor};
use super::threaded;

/// `y = (x - mean) / sqrt(variance + epsilon) * gain + bias` over the last dimension, with the biased variance
/// (Ba, Kiros and Hinton, 2016).
///
/// # Shapes
/// `x` `[.., d]`, `gain` and `bias` `[d]`; result as `x`.
///
/// # Errors
/// If the shapes or the element types do not fit.
pub fn layer_norm(x: &Tensor, gain: &Tensor, bias: &Tensor, epsilon: f64) -> Result<Tensor> {
    let width = x.dims().last().copied().unwrap_or(0);
    if gain.dims() != [width] || bias.dims() != [width] {
        bail!(
            "Layer norm over an input of shape {:?} was given a gain of shape {:?} and a bias of shape {:?}.",
            x.shape(),
            gain.shape(),
            bias.shape()
        )
    }
    check_dtype("layer norm", "gain", gain, x.dtype())?;
    check_dtype("layer norm", "bias", bias, x.dtype())?;
    if !is_fused(x) {
        return composed::layer_norm(x, gain, bias, epsilon);
    }
    x.contiguous()?.apply_op3(&gain.contiguous()?, &bias.contiguous()?, LayerNorm { epsilon })
}

struct LayerNorm {
    epsilon: f64,
}

impl LayerNorm {
    fn forward<T: Element>(
        &self,
        x: (&CpuStorage, &Layout),
        gain: (&CpuStorage, &Layout),
        bias: (&CpuStorage, &Layout),
    ) -> Result<(CpuStorage, Shape)> {
        let (gain, bias) = (slice::<T>(gain.0, gain.1)?, slice::<T>(bias.0, bias.1)?);
        Ok(output(threaded::layer_norm(slice(x.0, x.1)?, gain, bias, self.epsilon), x.1.shape()))
    }
}

impl CustomOp3 for LayerNorm {
    fn name(&self) -> &'static str {
        "layer norm"
    }

    fn cpu_fwd(
        &self,
        s1: &CpuStorage,
        l1: &Layout,
        s2: &CpuStorage,
        l2: &Layout,
        s3: &CpuStorage,
        l3: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        match s1 {
            CpuStorage::F64(_) => self.forward::<f64>((s1, l1), (s2, l2), (s3, l3)),
            _ => self.forward::<f32>((s1, l1), (s2, l2), (s3, l3)),
        }
    }

    fn bwd(
        &self,
        x: &Tensor,
        gain: &Tensor,
        bias: &Tensor,
        _: &Tensor,
        dy: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let dy = dy.contiguous()?;
        by_dtype!(x.dtype(), T => {
            let (x_values, gain_values, dy_values) = (Reading::of(x), Reading::of(gain), Reading::of(&dy));
            let gradients = threaded::layer_norm_backward::<T>(
                x_values.slice()?,
                gain_values.slice()?,
                dy_values.slice()?,
                self.epsilon,
                x.track_op(),
            );
            let dx = if x.track_op() { Some(tensor(gradients.x, x.shape())?) } else { None };
            let dgain = if gain.track_op() { Some(tensor(gradients.gain, gain.shape())?) } else { None };
            let dbias = if bias.track_op() { Some(tensor(gradients.bias, bias.shape())?) } else { None };
            Ok((dx, dgain, dbias))
        })
    }
}
