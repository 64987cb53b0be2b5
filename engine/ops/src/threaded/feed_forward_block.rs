//! Feed-forward as a whole sub-layer.

use super::affine::{AffineSlots, AffineWeights, NormSlots};
use super::buffer::Pooled;
use super::rows::{Rows, Slab};
use super::sublayer::{Frame, FrameState};
use crate::kernels::{self, MatrixMut};
use crate::profile::{Work, span};

/// Weights of `gelu(x W₁ + b₁) W₂ + b₂` in its frame.
#[derive(Clone, Copy, Debug)]
pub struct FeedForwardBlock<'a, T> {
    /// Norm, dropout of the output.
    pub frame: Frame<'a, T>,
    /// To the inner width.
    pub inner: AffineWeights<'a, T>,
    /// Back to the stream.
    pub outer: AffineWeights<'a, T>,
    /// Replaces the inner values by the slope of the activation and gives the activation.
    pub activation: fn(&mut [T], &mut [T]),
}

/// Where the gradients go.
#[derive(Debug)]
pub struct FeedForwardSlots<'a, T> {
    /// Of the norm.
    pub norm: NormSlots<'a, T>,
    /// Of the first map.
    pub inner: AffineSlots<'a, T>,
    /// Of the second map.
    pub outer: AffineSlots<'a, T>,
}

/// What the backward pass needs.
#[derive(Debug)]
pub struct FeedForwardState<T: Pooled> {
    frame: FrameState<T>,
    slope: Rows<T>,
    active: Rows<T>,
}

impl<T: Pooled> FeedForwardBlock<'_, T> {
    /// The work of one of the maps, and of a pass over three tensors of the inner width.
    fn work(&self, x: Slab<'_, T>) -> (Work, Work) {
        let inner = self.inner.outputs;
        (Work::product::<T>(x.rows(), x.width(), inner), Work::pass::<T>(3 * x.rows() * inner))
    }

    /// Fails unless the streams and the weights are as large as each other say.
    fn check(&self, x: usize, streams: [(&str, usize); 2], width: usize) {
        for (name, length) in streams {
            assert_eq!(length, x, "{name} of a feed-forward block");
        }
        assert!(x.is_multiple_of(width.max(1)), "stream of a feed-forward block: rows of {width} in {x}");
        self.frame.norm.check("a feed-forward block", width);
        self.inner.check("first map of a feed-forward block", width);
        self.outer.check("second map of a feed-forward block", self.inner.outputs);
        assert_eq!(self.outer.outputs, width, "outputs of the second map of a feed-forward block");
    }

    /// Writes the stream after the sub-layer; gives what the backward pass needs.
    pub fn forward(&self, x: &[T], y: &mut [T], width: usize) -> FeedForwardState<T> {
        self.check(x.len(), [("stream after", y.len()), ("stream", x.len())], width);
        let slab = Slab::dense(x, width);
        let mut frame = self.frame.enter(slab);
        let mut slope = Rows::take(slab.rows(), self.inner.outputs);
        let (product, pass) = self.work(slab);
        span("feed-forward: first map", product, || self.inner.forward(frame.input(slab), slope.output()));
        let mut active = Rows::take(slab.rows(), self.inner.outputs);
        span("feed-forward: activation", pass, || slope.for_each_row_with(&mut active, self.activation));
        span("feed-forward: second map", product, || {
            self.outer.forward(active.view(), MatrixMut::new(y, slab.rows(), width));
        });
        self.frame.leave(x, y, width, &mut frame);
        FeedForwardState { frame, slope, active }
    }

    /// Writes the gradient of the stream before, from that after.
    pub fn backward(
        &self,
        x: &[T],
        width: usize,
        state: FeedForwardState<T>,
        dy: &[T],
        dx: &mut [T],
        slots: &mut FeedForwardSlots<'_, T>,
    ) {
        self.check(x.len(), [("gradient of the stream after", dy.len()), ("gradient of the stream", dx.len())], width);
        let slab = Slab::dense(x, width);
        let FeedForwardState { frame, slope, active } = state;
        let past = self.frame.backward_leave(dy, width, &frame, &mut slots.norm);
        let ds = past.as_deref().unwrap_or(dy);
        let (df, sums) = self.frame.backward_dropout(ds, width);
        let (product, pass) = self.work(slab);
        span("feed-forward: second map, gradient of weights", product, || {
            self.outer.parameter_gradients_summed(active.view(), (df.view(), &sums), &mut slots.outer);
        });
        let mut dinner = active;
        span("feed-forward: second map, gradient of input", product, || {
            self.outer.input_gradient(df.view(), dinner.output(), false);
        });
        drop(df);
        let slopes = slope.view();
        let sums = span("feed-forward: activation, gradient", pass, || {
            dinner.for_each_row_summed(|row, dinner| kernels::multiply_assign(dinner, slopes.row(row)))
        });
        drop(slope);
        span("feed-forward: first map, gradient of weights", product, || {
            self.inner.parameter_gradients_summed(frame.input(slab), (dinner.view(), &sums), &mut slots.inner);
        });
        let mut dinput = Rows::take(slab.rows(), width);
        span("feed-forward: first map, gradient of input", product, || {
            self.inner.input_gradient(dinner.view(), dinput.output(), false);
        });
        drop(dinner);
        self.frame.backward_enter(slab, &dinput, ds, dx, &mut slots.norm);
    }
}
