//! What attention and feed-forward share as sub-layers: a norm, the stream, dropout.

use rayon::prelude::*;

use super::CHUNK;
use super::affine::NormSlots;
use super::buffer::{Buffer, Pooled};
use super::rows::{NormWeights, Rows, Slab, add_to_stream};
use crate::kernels::DropoutMask;
use crate::profile::{Work, span};

/// Where the norm of a sub-layer `f` stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormAt {
    /// `x + f(norm(x))`
    First,
    /// `norm(x + f(x))`
    Last,
}

/// The frame of a sub-layer.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a, T> {
    /// Its norm.
    pub norm: NormWeights<'a, T>,
    /// Where that stands.
    pub at: NormAt,
    /// What is dropped from the output of `f`.
    pub dropout: Option<DropoutMask>,
}

/// What the frame keeps for the backward pass.
#[derive(Debug)]
pub struct FrameState<T: Pooled> {
    /// The input of `f`, where that is not the stream itself.
    input: Option<Rows<T>>,
    /// The stream before a norm that comes last.
    sum: Option<Buffer<T>>,
}

impl<T: Pooled> FrameState<T> {
    /// The input of `f`; `x` is the stream.
    pub fn input<'a>(&'a self, x: Slab<'a, T>) -> Slab<'a, T> {
        self.input.as_ref().map_or(x, Rows::view)
    }
}

impl<T: Pooled> Frame<'_, T> {
    /// What `f` is given.
    pub fn enter(&self, x: Slab<'_, T>) -> FrameState<T> {
        let work = Work::pass::<T>(2 * x.rows() * x.width());
        let input = (self.at == NormAt::First).then(|| span("norm", work, || self.norm.normalised(x)));
        FrameState { input, sum: None }
    }

    /// The stream after the sub-layer, in place of the output `y` of `f`.
    pub fn leave(&self, x: &[T], y: &mut [T], width: usize, state: &mut FrameState<T>) {
        let work = Work::pass::<T>(3 * y.len());
        span("residual sum", work, || add_to_stream(y, x, width, self.dropout.as_ref()));
        if self.at == NormAt::Last {
            let mut sum = Buffer::take(y.len());
            span("norm", work, || {
                sum.par_chunks_mut(CHUNK).zip(y.par_chunks(CHUNK)).for_each(|(sum, y)| sum.copy_from_slice(y));
                self.norm.write_normalised(Slab::dense(&sum, width), y);
            });
            state.sum = Some(sum);
        }
    }

    /// The gradient of the sum of stream and `f`, which goes past `f`; nothing where that is `dy` itself.
    pub fn backward_leave(
        &self,
        dy: &[T],
        width: usize,
        state: &FrameState<T>,
        slots: &mut NormSlots<'_, T>,
    ) -> Option<Buffer<T>> {
        let sum = state.sum.as_ref()?;
        let mut ds = Buffer::take(dy.len());
        let gradients = span("norm, gradient", Work::pass::<T>(3 * dy.len()), || {
            self.norm.backward(Slab::dense(sum, width), Slab::dense(dy, width), None, &mut ds)
        });
        slots.add(&gradients);
        Some(ds)
    }

    /// The gradient of the output of `f`: what `ds` is after dropout, in rows that products like, and their sum.
    pub fn backward_dropout(&self, ds: &[T], width: usize) -> (Rows<T>, Vec<T>) {
        let slab = Slab::dense(ds, width);
        let mut df = Rows::take(slab.rows(), width);
        let sums = span("residual sum, gradient", Work::pass::<T>(2 * ds.len()), || {
            df.for_each_row_summed(|row, df| {
                df.copy_from_slice(slab.row(row));
                if let Some(mask) = &self.dropout {
                    mask.apply(df, row * width);
                }
            })
        });
        (df, sums)
    }

    /// The gradient of the stream before the sub-layer, from that of the input of `f` and what went past it.
    pub fn backward_enter(
        &self,
        x: Slab<'_, T>,
        dinput: &Rows<T>,
        ds: &[T],
        dx: &mut [T],
        slots: &mut NormSlots<'_, T>,
    ) {
        match self.at {
            NormAt::First => {
                let gradients = span("norm, gradient", Work::pass::<T>(4 * ds.len()), || {
                    self.norm.backward(x, dinput.view(), Some(ds), dx)
                });
                slots.add(&gradients);
            }
            NormAt::Last => {
                let width = x.width();
                let (dinput, ds) = (dinput.view(), Slab::dense(ds, width));
                super::rows::for_each_row(dx, width, width, |row, dx| {
                    crate::kernels::add(dinput.row(row), ds.row(row), dx);
                });
            }
        }
    }
}
