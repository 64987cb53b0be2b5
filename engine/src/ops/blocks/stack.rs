use std::sync::{Arc, Mutex, PoisonError};

use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor, bail};

use super::attention::{AttentionParts, AttentionPiece};
use super::feed_forward::{FeedForwardParts, FeedForwardPiece};
use super::open::{NormGuards, Number, OpenNorm, check_norm, has_blocks, taken};
use crate::ops::element::{Reading, by_dtype, output, slice, tensor};
use crate::ops::profile::{Work, span};
use crate::ops::threaded::{AttentionState, Buffer, FeedForwardState, Slab};
use crate::ops::{Gradients, Norm};

/// One layer: attention, then feed-forward.
#[derive(Clone, Debug)]
pub struct LayerParts {
    /// The first sub-layer.
    pub attention: AttentionParts,
    /// The second.
    pub feed_forward: FeedForwardParts,
}

/// What is to be given back beside the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The attention maps of every layer, from before dropout.
    pub maps: bool,
    /// The stream after every layer.
    pub hidden: bool,
}

/// What a stack of layers gives.
#[derive(Clone, Debug)]
pub struct Stacked {
    /// The stream after all layers. `[b, t, d]`
    pub stream: Tensor,
    /// A tensor a layer, if wanted. `[b, h, t, t]`
    pub maps: Vec<Tensor>,
    /// A tensor a layer, if wanted; the last one after the last norm. `[b, t, d]`
    pub hidden: Vec<Tensor>,
}

/// Layers one after the other, and a norm after the last where there is one.
///
/// Gradients of parameters go to `gradients`; without it, nothing is kept for a backward pass. What the backward pass
/// of a layer needs is freed as soon as that is done.
///
/// # Shapes
/// `x` `[b, t, d]`.
///
/// # Errors
/// If `x` is not for blocks ([`has_blocks`]), or the shapes of the parts do not fit it.
pub fn stack(
    x: &Tensor,
    layers: Vec<LayerParts>,
    last_norm: Option<Norm>,
    gradients: Option<&Gradients>,
    wanted: Wanted,
) -> Result<Stacked> {
    let (b, t, d) = x.dims3()?;
    if !has_blocks(x) {
        bail!("Layers as single operations take f32 and f64 on the CPU.")
    }
    if let Some(norm) = &last_norm {
        check_norm(norm, d)?;
    }
    let piece = |parts: LayerParts| {
        Ok((AttentionPiece::new(parts.attention, [b, t, d])?, FeedForwardPiece::new(parts.feed_forward, d)?))
    };
    let layers = layers.into_iter().map(piece).collect::<Result<Vec<_>>>()?;
    let map_shapes: Vec<[usize; 4]> = layers.iter().map(|(attention, _)| attention.map_shape()).collect();
    by_dtype!(x.dtype(), T => {
        let beside = Arc::new(Mutex::new(Beside::<T>::default()));
        let op = StackOp {
            layers,
            last_norm,
            width: d,
            gradients: gradients.cloned(),
            wanted,
            state: Mutex::new(None),
            beside: Arc::clone(&beside),
        };
        let stream = x.contiguous()?.apply_op1(op)?;
        let Beside { maps, mut hidden } =
            std::mem::take(&mut *beside.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(last) = hidden.last_mut() {
            *last = Vec::new();
        }
        let maps = maps.into_iter().zip(map_shapes).map(|(maps, shape)| tensor(maps, shape.as_slice()));
        let count = hidden.len();
        let hidden = hidden.into_iter().enumerate().map(|(layer, hidden)| {
            // The last one is the stream that is given back, on its graph.
            if layer + 1 == count { Ok(stream.clone()) } else { tensor(hidden, (b, t, d)) }
        });
        Ok(Stacked { maps: maps.collect::<Result<_>>()?, hidden: hidden.collect::<Result<_>>()?, stream })
    })
}

/// What the forward pass gives on the side.
#[derive(Debug)]
struct Beside<T> {
    maps: Vec<Vec<T>>,
    hidden: Vec<Vec<T>>,
}

impl<T> Default for Beside<T> {
    fn default() -> Self {
        Self { maps: Vec::new(), hidden: Vec::new() }
    }
}

/// What the backward pass of a layer needs.
struct LayerState<T: Number> {
    attention: AttentionState<T>,
    /// The stream between the sub-layers.
    middle: Buffer<T>,
    feed_forward: FeedForwardState<T>,
    /// The stream after the layer.
    after: Buffer<T>,
}

struct StackOp<T: Number> {
    layers: Vec<(AttentionPiece, FeedForwardPiece)>,
    last_norm: Option<Norm>,
    width: usize,
    gradients: Option<Gradients>,
    wanted: Wanted,
    state: Mutex<Option<Vec<LayerState<T>>>>,
    beside: Arc<Mutex<Beside<T>>>,
}

impl<T: Number> StackOp<T> {
    fn forward(&self, x: &[T]) -> Result<Vec<T>> {
        let is_training = self.gradients.is_some();
        let mut states: Vec<LayerState<T>> = Vec::new();
        let mut beside = Beside::default();
        for (attention, feed_forward) in &self.layers {
            let before: &[T] = states.last().map_or(x, |state| &state.after);
            let (mut middle, mut after) = (Buffer::take(x.len()), Buffer::take(x.len()));
            let attention = attention.forward(before, &mut middle, is_training, self.wanted.maps)?;
            if self.wanted.maps {
                beside.maps.extend(attention.maps().map(<[T]>::to_vec));
            }
            let feed_forward = feed_forward.forward(&middle, &mut after)?;
            if self.wanted.hidden {
                beside.hidden.push(after.to_vec());
            }
            if !is_training {
                states.clear();
            }
            states.push(LayerState { attention, middle, feed_forward, after });
        }
        let last: &[T] = states.last().map_or(x, |state| &state.after);
        let mut y = vec![T::ZERO; x.len()];
        match &self.last_norm {
            Some(norm) => {
                let open = OpenNorm::of(norm);
                let norm = open.weights::<T>()?;
                let work = Work::pass::<T>(2 * x.len());
                span("norm", work, || norm.write_normalised(Slab::dense(last, self.width), &mut y));
            }
            None => y.copy_from_slice(last),
        }
        if is_training {
            *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Some(states);
        }
        *self.beside.lock().unwrap_or_else(PoisonError::into_inner) = beside;
        Ok(y)
    }

    fn backward(&self, x: &[T], dy: &[T], gradients: &Gradients) -> Result<Vec<T>> {
        let mut states = taken(&self.state)?;
        let mut gradient = Buffer::take(x.len());
        match &self.last_norm {
            Some(norm) => {
                let last: &[T] = states.last().map_or(x, |state| &state.after);
                let (open, mut guards) = (OpenNorm::of(norm), NormGuards::of(gradients, norm));
                let (weights, slab) = (open.weights::<T>()?, Slab::dense(last, self.width));
                let found = span("norm, gradient", Work::pass::<T>(3 * x.len()), || {
                    weights.backward(slab, Slab::dense(dy, self.width), None, &mut gradient)
                });
                guards.slots().add(&found);
            }
            None => gradient.copy_from_slice(dy),
        }
        let mut other = Buffer::take(x.len());
        for (attention, feed_forward) in self.layers.iter().rev() {
            let Some(state) = states.pop() else { bail!("A layer kept nothing for its backward pass.") };
            drop(state.after);
            feed_forward.backward(&state.middle, state.feed_forward, &gradient, &mut other, gradients)?;
            drop(state.middle);
            let before: &[T] = states.last().map_or(x, |state| &state.after);
            attention.backward(before, state.attention, &other, &mut gradient, gradients)?;
        }
        Ok(gradient.to_vec())
    }
}

impl<T: Number> CustomOp1 for StackOp<T> {
    fn name(&self) -> &'static str {
        "stack of layers"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        Ok(output(self.forward(slice::<T>(storage, layout)?)?, layout.shape()))
    }

    fn bwd(&self, x: &Tensor, _: &Tensor, dy: &Tensor) -> Result<Option<Tensor>> {
        let Some(gradients) = &self.gradients else { bail!("Layers without a set of gradients cannot go backward.") };
        let dy = dy.contiguous()?;
        let (x_values, dy_values) = (Reading::of(x), Reading::of(&dy));
        let dx = self.backward(x_values.slice()?, dy_values.slice()?, gradients)?;
        Ok(Some(tensor(dx, x.shape())?))
    }
}
