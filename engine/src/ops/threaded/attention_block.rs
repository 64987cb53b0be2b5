//! Self-attention as a whole sub-layer.

use super::affine::{AffineSlots, AffineWeights, NormSlots};
use super::buffer::Pooled;
use super::core::{CoreShape, KeptMaps, Projected};
use super::rows::{Rows, Slab};
use super::sublayer::{Frame, FrameState};
use crate::ops::kernels::MatrixMut;
use crate::ops::profile::{Work, span};

/// Weights of a self-attention in which every head computes.
#[derive(Clone, Debug)]
pub struct AttentionBlock<'a, T> {
    /// Norm, dropout of the output.
    pub frame: Frame<'a, T>,
    /// To queries, keys and values: one map with all three outputs side by side, or three.
    pub projections: Vec<AffineWeights<'a, T>>,
    /// From the mixed heads to the stream.
    pub output: AffineWeights<'a, T>,
    /// Sizes, mask, dropout of the maps.
    pub core: CoreShape<'a>,
}

/// Where the gradients go.
#[derive(Debug)]
pub struct AttentionSlots<'a, T> {
    /// Of the norm.
    pub norm: NormSlots<'a, T>,
    /// Of the projections.
    pub projections: Vec<AffineSlots<'a, T>>,
    /// Of the output map.
    pub output: AffineSlots<'a, T>,
}

/// What the backward pass needs.
#[derive(Debug)]
pub struct AttentionState<T: Pooled> {
    frame: FrameState<T>,
    projected: Rows<T>,
    mixed: Rows<T>,
    maps: KeptMaps<T>,
}

impl<T: Pooled> AttentionState<T> {
    /// The maps, if they were kept. `[batch, heads, tokens, tokens]`
    pub fn maps(&self) -> Option<&[T]> {
        match &self.maps {
            KeptMaps::Whole(maps) => Some(maps),
            KeptMaps::Rows(_) => None,
        }
    }
}

impl<T: Pooled> AttentionBlock<'_, T> {
    /// Rows, the work of the output map, and that of one product over all maps.
    fn work(&self, x: Slab<'_, T>) -> (usize, Work, Work) {
        let CoreShape { batch, tokens, heads, head_size, .. } = self.core;
        let output = Work::product::<T>(x.rows(), heads * head_size, x.width());
        (x.rows(), output, Work::product::<T>(tokens, head_size, tokens).times(batch * heads))
    }

    /// Writes the stream after the sub-layer; gives what the backward pass needs, the maps whole if `keep_maps`.
    pub fn forward(&self, x: &[T], y: &mut [T], width: usize, keep_maps: bool) -> AttentionState<T> {
        let slab = Slab::dense(x, width);
        let mut frame = self.frame.enter(slab);
        let mixed_width = self.core.heads * self.core.head_size;
        let mut projected = Rows::take(slab.rows(), 3 * mixed_width);
        let (rows, stream, mixing) = self.work(slab);
        span("attention: projections", Work::product::<T>(rows, width, 3 * mixed_width), || {
            let mut rest = projected.output();
            for projection in &self.projections {
                let part;
                (part, rest) = rest.split_columns(projection.outputs);
                projection.forward(frame.input(slab), part);
            }
        });
        let mut mixed = Rows::take(slab.rows(), mixed_width);
        let maps = span("attention: scores, softmax, mix", mixing.times(2), || {
            self.core.forward(split(projected.view(), mixed_width), mixed.output(), keep_maps)
        });
        span("attention: output", stream, || {
            self.output.forward(mixed.view(), MatrixMut::new(y, slab.rows(), width));
        });
        self.frame.leave(x, y, width, &mut frame);
        AttentionState { frame, projected, mixed, maps }
    }

    /// Writes the gradient of the stream before, from that after.
    pub fn backward(
        &self,
        x: &[T],
        width: usize,
        state: AttentionState<T>,
        dy: &[T],
        dx: &mut [T],
        slots: &mut AttentionSlots<'_, T>,
    ) {
        let slab = Slab::dense(x, width);
        let AttentionState { frame, projected, mixed, maps } = state;
        let past = self.frame.backward_leave(dy, width, &frame, &mut slots.norm);
        let ds = past.as_deref().unwrap_or(dy);
        let df = self.frame.backward_dropout(ds, width);
        let (rows, stream, mixing) = self.work(slab);
        span("attention: output, gradient of weights", stream, || {
            self.output.parameter_gradients(mixed.view(), df.view(), &mut slots.output);
        });
        let mixed_width = mixed.view().width();
        // The mixed values are done with: their memory takes their gradient.
        let mut dmixed = mixed;
        span("attention: output, gradient of input", stream, || {
            self.output.input_gradient(df.view(), dmixed.output(), false);
        });
        drop(df);
        let mut dprojected = Rows::take(slab.rows(), 3 * mixed_width);
        let (dq, rest) = dprojected.output().split_columns(mixed_width);
        let (dk, dv) = rest.split_columns(mixed_width);
        span("attention: scores, softmax, mix, gradient", mixing.times(4), || {
            self.core.backward(split(projected.view(), mixed_width), &maps, dmixed.view(), [dq, dk, dv]);
        });
        drop((maps, projected, dmixed));
        let mut dinput = Rows::take(slab.rows(), width);
        let mut first = 0;
        for (index, (projection, slots)) in self.projections.iter().zip(&mut slots.projections).enumerate() {
            let dpart = dprojected.view().columns(first, projection.outputs);
            let work = Work::product::<T>(rows, width, projection.outputs);
            span("attention: projections, gradient of weights", work, || {
                projection.parameter_gradients(frame.input(slab), dpart, slots);
            });
            span("attention: projections, gradient of input", work, || {
                projection.input_gradient(dpart, dinput.output(), index > 0);
            });
            first += projection.outputs;
        }
        self.frame.backward_enter(slab, &dinput, ds, dx, &mut slots.norm);
    }
}

/// Queries, keys and values that stand side by side.
fn split<T: Pooled>(projected: Slab<'_, T>, width: usize) -> Projected<'_, T> {
    let part = |index: usize| projected.columns(index * width, width);
    Projected { q: part(0), k: part(1), v: part(2) }
}
