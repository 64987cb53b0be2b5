use std::sync::{Mutex, PoisonError};

use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor, bail};

use super::open::{
    AffineGuards, Frame, NormGuards, Number, OpenAffine, OpenFrame, check_affine, check_norm, has_blocks, taken,
};
use crate::ops::element::{Reading, by_dtype, output, slice, tensor};
use crate::ops::kernels::{gelu_exact_with_slope, gelu_tanh_with_slope};
use crate::ops::threaded::{FeedForwardBlock, FeedForwardSlots, FeedForwardState};
use crate::ops::{Affine, Gelu, Gradients};

/// A feed-forward sub-layer, `gelu(x W₁ + b₁) W₂ + b₂` in its frame.
#[derive(Clone, Debug)]
pub struct FeedForwardParts {
    /// Norm, and dropout of the output.
    pub frame: Frame,
    /// To the inner width.
    pub inner: Affine,
    /// Back to the stream.
    pub outer: Affine,
    /// The activation.
    pub activation: Gelu,
}

/// The stream after a feed-forward sub-layer.
///
/// Gradients of parameters go to `gradients`; without it, nothing is kept for a backward pass.
///
/// # Shapes
/// `x` and result `[.., d]`.
///
/// # Errors
/// If `x` is not for blocks ([`has_blocks`]), or the shapes of the parts do not fit it.
pub fn feed_forward_block(x: &Tensor, parts: FeedForwardParts, gradients: Option<&Gradients>) -> Result<Tensor> {
    if !has_blocks(x) {
        bail!("A feed-forward block takes f32 and f64 on the CPU.")
    }
    let width = x.dims().last().copied().unwrap_or(0);
    check_norm(&parts.frame.norm, width)?;
    let inner = parts.inner.bias.elem_count();
    check_affine("first map", &parts.inner, width, inner)?;
    check_affine("second map", &parts.outer, inner, width)?;
    by_dtype!(x.dtype(), T => {
        let op = FeedForwardOp::<T> { parts, width, gradients: gradients.cloned(), state: Mutex::new(None) };
        x.contiguous()?.apply_op1(op)
    })
}

struct FeedForwardOp<T: Number> {
    parts: FeedForwardParts,
    width: usize,
    gradients: Option<Gradients>,
    state: Mutex<Option<FeedForwardState<T>>>,
}

impl<T: Number> FeedForwardOp<T> {
    /// Calls `f` with the weights open.
    fn with_block<R>(&self, f: impl FnOnce(&FeedForwardBlock<'_, T>) -> Result<R>) -> Result<R> {
        let FeedForwardParts { frame, inner, outer, activation } = &self.parts;
        let (frame, inner, outer) = (OpenFrame::of(frame)?, OpenAffine::of(inner), OpenAffine::of(outer));
        f(&FeedForwardBlock {
            frame: frame.frame()?,
            inner: inner.weights()?,
            outer: outer.weights()?,
            activation: match activation {
                Gelu::Exact => gelu_exact_with_slope,
                Gelu::Tanh => gelu_tanh_with_slope,
            },
        })
    }
}

impl<T: Number> CustomOp1 for FeedForwardOp<T> {
    fn name(&self) -> &'static str {
        "feed-forward block"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let x = slice::<T>(storage, layout)?;
        let (y, state) = self.with_block(|block| Ok(block.forward(x, self.width)))?;
        if self.gradients.is_some() {
            *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Some(state);
        }
        Ok(output(y, layout.shape()))
    }

    fn bwd(&self, x: &Tensor, _: &Tensor, dy: &Tensor) -> Result<Option<Tensor>> {
        let Some(gradients) = &self.gradients else {
            bail!("A feed-forward block without a set of gradients cannot go backward.")
        };
        let state = taken(&self.state)?;
        let dy = dy.contiguous()?;
        let (x_values, dy_values) = (Reading::of(x), Reading::of(&dy));
        let mut norm = NormGuards::of(gradients, &self.parts.frame.norm);
        let mut inner = AffineGuards::of(gradients, &self.parts.inner);
        let mut outer = AffineGuards::of(gradients, &self.parts.outer);
        let mut slots = FeedForwardSlots { norm: norm.slots(), inner: inner.slots(), outer: outer.slots() };
        let dx = self.with_block(|block| {
            Ok(block.backward(x_values.slice()?, self.width, state, dy_values.slice()?, &mut slots))
        })?;
        Ok(Some(tensor(dx, x.shape())?))
    }
}
