use candle_core::{Result, Tensor};

use super::open::{Frame, Locked, Number, Opened, affine_tensors, check_affine, check_norm, norm_tensors};
use crate::kernels::{gelu_exact_with_slope, gelu_tanh_with_slope};
use crate::threaded::{FeedForwardBlock, FeedForwardSlots, FeedForwardState};
use crate::{Affine, Gelu, Gradients};

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

/// A checked feed-forward for a stream of a known width.
pub(super) struct FeedForwardPiece {
    parts: FeedForwardParts,
    width: usize,
}

impl FeedForwardPiece {
    pub fn new(parts: FeedForwardParts, width: usize) -> Result<Self> {
        check_norm(&parts.frame.norm, width)?;
        let inner = parts.inner.sizes()?.1;
        check_affine("first map", &parts.inner, width, inner)?;
        check_affine("second map", &parts.outer, inner, width)?;
        Ok(Self { parts, width })
    }

    /// In the order in which values and gradients are handed out.
    fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        let FeedForwardParts { frame, inner, outer, .. } = &self.parts;
        norm_tensors(&frame.norm).chain(affine_tensors(inner)).chain(affine_tensors(outer))
    }

    /// Writes the stream after the sub-layer.
    pub fn forward<T: Number>(&self, x: &[T], y: &mut [T]) -> Result<FeedForwardState<T>> {
        self.with_block(|block| Ok(block.forward(x, y, self.width)))
    }

    /// Writes the gradient of the stream before, and adds those of the parameters.
    pub fn backward<T: Number>(
        &self,
        x: &[T],
        state: FeedForwardState<T>,
        dy: &[T],
        dx: &mut [T],
        gradients: &Gradients,
    ) -> Result<()> {
        let mut locked = Locked::of(gradients, self.tensors());
        let mut next = locked.slots();
        let mut slots = FeedForwardSlots {
            norm: next.norm()?,
            inner: next.affine(&self.parts.inner)?,
            outer: next.affine(&self.parts.outer)?,
        };
        self.with_block(|block| {
            block.backward(x, self.width, state, dy, dx, &mut slots);
            Ok(())
        })
    }

    /// Calls `f` with the weights open.
    fn with_block<T: Number, R>(&self, f: impl FnOnce(&FeedForwardBlock<'_, T>) -> Result<R>) -> Result<R> {
        let FeedForwardParts { frame, inner, outer, activation } = &self.parts;
        let opened = Opened::of(self.tensors());
        let mut next = opened.values()?;
        f(&FeedForwardBlock {
            frame: next.frame(frame)?,
            inner: next.affine(inner)?,
            outer: next.affine(outer)?,
            activation: match activation {
                Gelu::Exact => gelu_exact_with_slope,
                Gelu::Tanh => gelu_tanh_with_slope,
            },
        })
    }
}
