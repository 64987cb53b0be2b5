use std::sync::{Mutex, PoisonError};

use candle_core::{Result, Tensor, bail};

use super::attention::{AttentionParts, AttentionPiece};
use super::feed_forward::{FeedForwardParts, FeedForwardPiece};
use super::open::{Locked, Number, Opened, check_norm, has_blocks, norm_tensors, taken};
use super::projections::HeadMap;
use crate::ops::element::{Reading, by_dtype, tensor};
use crate::ops::profile::{Work, span};
use crate::ops::threaded::{
    AttentionState, Buffer, FeedForwardState, KeptMaps, LentGradient, LentGradients, LentMaps, Slab,
};
use crate::ops::tracked::{Backward, Computed, tracked1};
use crate::ops::{Gradients, Norm};

/// One layer: attention, then feed-forward.
#[derive(Clone, Debug)]
pub struct LayerParts {
    /// The first sub-layer; none where a layer does not attend.
    pub attention: Option<AttentionParts>,
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
    /// A tensor a layer, if wanted: a map for every head that attends. `[b, h, t, t]`
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
        let attention = parts.attention.map(|attention| AttentionPiece::new(attention, [b, t, d])).transpose()?;
        Ok((attention, FeedForwardPiece::new(parts.feed_forward, d)?))
    };
    let layers = layers.into_iter().map(piece).collect::<Result<Vec<_>>>()?;
    let loans = Loans::new(&layers)?;
    let heads = |attention: &Option<AttentionPiece>| attention.as_ref().map_or(0, |piece| piece.maps().len());
    let map_shapes: Vec<[usize; 4]> = layers.iter().map(|(attention, _)| [b, heads(attention), t, t]).collect();
    let x = x.contiguous()?;
    by_dtype!(x.dtype(), T => {
        let op = StackOp {
            layers,
            loans,
            last_norm,
            sizes: [b, t, d],
            gradients: gradients.cloned(),
            wanted,
            state: Mutex::new(None),
        };
        let (y, Beside { maps, mut hidden }) = op.forward(Reading::of(&x).slice::<T>()?)?;
        let stream = tracked1(&x, Computed::values(y, x.shape()), op)?;
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

/// Who lends a map to whom.
struct Loans {
    /// For every layer, the heads whose maps are borrowed later, by their number among those that compute, and the last
    /// layer that borrows from it.
    layers: Vec<(Vec<usize>, Option<usize>)>,
}

impl Loans {
    fn new(layers: &[(Option<AttentionPiece>, FeedForwardPiece)]) -> Result<Self> {
        let mut loans = Self { layers: vec![(Vec::new(), None); layers.len()] };
        for (number, (attention, _)) in layers.iter().enumerate() {
            for map in attention.iter().flat_map(AttentionPiece::maps) {
                let HeadMap::Borrowed { layer, computed } = *map else { continue };
                let lender = layers.iter().take(number).nth(layer).and_then(|(attention, _)| attention.as_ref());
                if lender.is_none_or(|lender| computed >= lender.computed()) {
                    bail!("Layer {number} borrows map {computed} of layer {layer}, which does not have it to lend.")
                }
                let (places, last) = &mut loans.layers[layer];
                if !places.contains(&computed) {
                    places.push(computed);
                }
                *last = Some(number);
            }
        }
        Ok(loans)
    }

    fn places(&self, layer: usize) -> &[usize] {
        &self.layers[layer].0
    }

    fn last_use(&self, layer: usize) -> Option<usize> {
        self.layers[layer].1
    }
}

/// What the backward pass of a layer needs.
struct LayerState<T: Number> {
    attention: Option<AttentionState<T>>,
    /// The stream between the sub-layers; none where the layer does not attend.
    middle: Option<Buffer<T>>,
    feed_forward: FeedForwardState<T>,
    /// The stream after the layer.
    after: Buffer<T>,
}

struct StackOp<T: Number> {
    layers: Vec<(Option<AttentionPiece>, FeedForwardPiece)>,
    loans: Loans,
    last_norm: Option<Norm>,
    /// `b`, `t`, `d`
    sizes: [usize; 3],
    gradients: Option<Gradients>,
    wanted: Wanted,
    state: Mutex<Option<Vec<LayerState<T>>>>,
}

/// The maps of the layers that lend to `piece`; `maps` gives those that a layer computed.
fn lent_to<'a, T: Number>(
    piece: &AttentionPiece,
    maps: impl Fn(usize) -> Option<LentMaps<'a, T>>,
) -> Result<Vec<LentMaps<'a, T>>> {
    let lent = piece.lenders().iter().map(|&layer| match maps(layer) {
        Some(maps) => Ok(maps),
        None => bail!("Layer {layer} lends a map that it did not keep."),
    });
    lent.collect()
}

impl<T: Number> StackOp<T> {
    /// The maps of every head of a layer that attends, those that it borrows too.
    fn all_maps(
        &self,
        piece: &AttentionPiece,
        own: Option<LentMaps<'_, T>>,
        lent: &[LentMaps<'_, T>],
    ) -> Result<Vec<T>> {
        let [batch, tokens, _] = self.sizes;
        let mut maps = Vec::with_capacity(batch * piece.maps().len() * tokens * tokens);
        for example in 0..batch {
            let mut place = 0;
            for map in piece.maps() {
                let (from, number) = match *map {
                    HeadMap::Computed => {
                        place += 1;
                        (own, place - 1)
                    }
                    HeadMap::Borrowed { layer, computed } => {
                        let lender = piece.lenders().iter().position(|lender| *lender == layer);
                        (lender.and_then(|lender| lent.get(lender).copied()), computed)
                    }
                };
                let Some(from) = from else { bail!("A layer kept no map {number} to give back.") };
                maps.extend(from.map(example, number, tokens * tokens));
            }
        }
        Ok(maps)
    }

    /// The stream after all layers, and what is wanted beside it; the states are kept where there will be a backward pass.
    fn forward(&self, x: &[T]) -> Result<(Vec<T>, Beside<T>)> {
        let is_training = self.gradients.is_some();
        let mut states: Vec<LayerState<T>> = Vec::new();
        // Maps that are lent later, where the states of layers are not kept.
        let mut shelf: Vec<Option<(KeptMaps<T>, usize)>> = Vec::new();
        let mut beside = Beside { maps: Vec::new(), hidden: Vec::new() };
        for (number, (attention, feed_forward)) in self.layers.iter().enumerate() {
            let before: &[T] = states.last().map_or(x, |state| &state.after);
            let lends = self.loans.last_use(number).is_some();
            let (mut kept, mut middle) = (None, None);
            if let Some(piece) = attention {
                let lent = lent_to(piece, |layer| {
                    let shelved = shelf.get(layer).and_then(Option::as_ref);
                    let state = || states.get(layer).and_then(|state| state.attention.as_ref());
                    match shelved {
                        Some((maps, computed)) => maps.whole(*computed),
                        None if is_training => state().and_then(AttentionState::maps),
                        None => None,
                    }
                })?;
                let mut after = Buffer::take(x.len());
                let wants_maps = self.wanted.maps || lends;
                let state = piece.forward(before, &mut after, lent.clone(), is_training, wants_maps)?;
                if self.wanted.maps {
                    beside.maps.push(self.all_maps(piece, state.maps(), &lent)?);
                }
                (kept, middle) = (Some(state), Some(after));
            } else if self.wanted.maps {
                beside.maps.push(Vec::new());
            }
            let mut after = Buffer::take(x.len());
            let feed_forward = feed_forward.forward(middle.as_deref().unwrap_or(before), &mut after)?;
            if self.wanted.hidden {
                beside.hidden.push(after.to_vec());
            }
            if !is_training {
                states.clear();
                shelf.push(kept.take().filter(|_| lends).map(AttentionState::into_maps));
                for (layer, maps) in shelf.iter_mut().enumerate() {
                    if self.loans.last_use(layer).is_none_or(|last| last <= number) {
                        *maps = None;
                    }
                }
            }
            states.push(LayerState { attention: kept, middle, feed_forward, after });
        }
        let last: &[T] = states.last().map_or(x, |state| &state.after);
        let mut y = vec![T::ZERO; x.len()];
        match &self.last_norm {
            Some(norm) => {
                let opened = Opened::of(norm_tensors(norm));
                let norm = opened.values::<T>()?.norm(norm)?;
                let work = Work::pass::<T>(2 * x.len());
                span("norm", work, || norm.write_normalised(Slab::dense(last, self.sizes[2]), &mut y));
            }
            None => y.copy_from_slice(last),
        }
        if is_training {
            *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Some(states);
        }
        Ok((y, beside))
    }

    fn go_back(&self, x: &[T], dy: &[T], gradients: &Gradients) -> Result<Vec<T>> {
        let mut states = taken(&self.state)?;
        let mut gradient = Buffer::take(x.len());
        match &self.last_norm {
            Some(norm) => {
                let last: &[T] = states.last().map_or(x, |state| &state.after);
                let opened = Opened::of(norm_tensors(norm));
                let mut locked = Locked::of(gradients, norm_tensors(norm));
                let (weights, slab) = (opened.values::<T>()?.norm(norm)?, Slab::dense(last, self.sizes[2]));
                let found = span("norm, gradient", Work::pass::<T>(3 * x.len()), || {
                    weights.backward(slab, Slab::dense(dy, self.sizes[2]), None, &mut gradient)
                });
                locked.slots().norm()?.add(&found);
            }
            None => gradient.copy_from_slice(dy),
        }
        let mut other = Buffer::take(x.len());
        let [batch, tokens, _] = self.sizes;
        let mut borrowed: Vec<Option<LentGradient<T>>> = self.layers.iter().map(|_| None).collect();
        for (number, (attention, feed_forward)) in self.layers.iter().enumerate().rev() {
            let Some(mut state) = states.pop() else { bail!("A layer kept nothing for its backward pass.") };
            drop(state.after);
            let before: &[T] = states.last().map_or(x, |state| &state.after);
            let middle = state.middle.as_deref().unwrap_or(before);
            feed_forward.backward(middle, state.feed_forward, &gradient, &mut other, gradients)?;
            drop(state.middle);
            let (Some(piece), Some(kept)) = (attention, state.attention.take()) else {
                std::mem::swap(&mut gradient, &mut other);
                continue;
            };
            let lent = lent_to(piece, |layer| states.get(layer)?.attention.as_ref()?.maps())?;
            let own = borrowed[number].take();
            let mut lenders: Vec<(usize, LentGradient<T>)> = Vec::new();
            for &layer in piece.lenders() {
                let found = borrowed[layer].take();
                let places = self.loans.places(layer);
                lenders.push((layer, found.unwrap_or_else(|| LentGradient::take(places, batch, tokens * tokens))));
            }
            let lent_gradients = LentGradients {
                lenders: lenders.iter_mut().map(|(_, gradient)| gradient).collect(),
                own: own.as_ref(),
            };
            piece.backward(before, kept, lent, &other, &mut gradient, gradients, lent_gradients)?;
            for (layer, gradient) in lenders {
                borrowed[layer] = Some(gradient);
            }
        }
        Ok(gradient.to_vec())
    }
}

impl<T: Number> Backward<1> for StackOp<T> {
    const NAME: &'static str = "stack of layers";

    fn backward(&self, [x]: [&Tensor; 1], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 1]> {
        let Some(gradients) = &self.gradients else { bail!("Layers without a set of gradients cannot go backward.") };
        let (x_values, dy_values) = (Reading::of(x), Reading::of(dy));
        let dx = self.go_back(x_values.slice()?, dy_values.slice()?, gradients)?;
        Ok([Some(tensor(dx, x.shape())?)])
    }
}
