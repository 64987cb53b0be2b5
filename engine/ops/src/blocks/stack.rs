use std::sync::{Mutex, PoisonError};

use candle_core::{Result, Tensor, bail};

use super::attention::{AttentionParts, AttentionPiece};
use super::feed_forward::{FeedForwardParts, FeedForwardPiece};
use super::open::{Locked, Number, Opened, check_norm, has_blocks, norm_tensors, taken};
use super::projections::HeadMap;
use crate::element::{Products, Reading, by_numbers, tensor};
use crate::profile::{Work, span};
use crate::threaded::{
    AttentionState, Buffer, FeedForwardState, KeptMaps, LentGradient, LentGradients, LentMaps, Rows, Slab,
};
use crate::tracked::{Backward, Computed, tracked1, tracked2};
use crate::{Gradients, Norm};

/// One layer: attention, attention to another sequence, then feed-forward.
#[derive(Clone, Debug)]
pub struct LayerParts {
    /// The first sub-layer; none where a layer does not attend.
    pub attention: Option<AttentionParts>,
    /// The second; none where nothing else is attended to.
    pub cross: Option<AttentionParts>,
    /// The last.
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
    /// The same of the attention to another sequence, where there is one. `[b, h, t, m]`
    pub cross_maps: Vec<Tensor>,
    /// A tensor a layer, if wanted; the last one after the last norm. `[b, t, d]`
    pub hidden: Vec<Tensor>,
}

/// The sub-layers that attend: to the stream itself, then to another sequence.
const ATTENTIONS: usize = 2;
/// The place of the second among them.
const CROSS: usize = 1;

/// Layers one after the other, and a norm after the last where there is one. `memory` is another sequence that layers attend
/// to, as an encoder's states.
///
/// `products`: what matrix products are made of, forward and backward. Gradients of parameters go to `gradients`; without it,
/// nothing is kept for a backward pass. What the backward pass
/// of a layer needs is freed as soon as that is done.
///
/// # Shapes
/// `x` `[b, t, d]`, `memory` `[b, m, d]`.
///
/// # Errors
/// If `x` is not for blocks ([`has_blocks`]), or the shapes of the parts do not fit it.
pub fn stack(
    x: &Tensor,
    memory: Option<&Tensor>,
    layers: Vec<LayerParts>,
    last_norm: Option<Norm>,
    gradients: Option<&Gradients>,
    products: Products,
    wanted: Wanted,
) -> Result<Stacked> {
    let (b, t, d) = x.dims3()?;
    if !has_blocks(x) {
        bail!("Layers as single operations take f32 and f64 on the CPU.")
    }
    if let Some(norm) = &last_norm {
        check_norm(norm, d)?;
    }
    let memory = memory.map(Tensor::contiguous).transpose()?;
    let attended = memory.as_ref().map(Tensor::dims3).transpose()?;
    if attended.is_some_and(|(batch, _, width)| (batch, width) != (b, d)) {
        bail!("A stream of {b} examples of width {d} cannot attend to a sequence of the shape {attended:?}.")
    }
    let attended = attended.map(|(_, positions, _)| positions);
    let (layers, loans) = checked(layers, [b, t, d], attended)?;
    let shapes = |which: usize, positions: usize| -> Vec<[usize; 4]> {
        let heads = |layer: &LayerPiece| layer.attentions[which].as_ref().map_or(0, |piece| piece.maps().len());
        layers.iter().map(|layer| [b, heads(layer), t, positions]).collect()
    };
    let shapes = [shapes(0, t), shapes(CROSS, attended.unwrap_or(0))];
    let x = x.contiguous()?;
    by_numbers!(x.dtype(), products, T => {
        let op = StackOp {
            layers,
            loans,
            last_norm,
            sizes: [b, t, d],
            gradients: gradients.cloned(),
            wanted,
            state: Mutex::new(None),
        };
        let of_memory = memory.as_ref().map(Reading::of);
        let of_memory = of_memory.as_ref().map(Reading::slice::<T>).transpose()?;
        let (y, Beside { maps, mut hidden }) = op.forward(Reading::of(&x).slice::<T>()?, of_memory, None)?;
        let result = Computed::values(y, x.shape());
        let stream = match &memory {
            Some(memory) => tracked2([&x, memory], result, op)?,
            None => tracked1(&x, result, op)?,
        };
        if let Some(last) = hidden.last_mut() {
            *last = Vec::new();
        }
        let mut maps = maps.into_iter().zip(shapes).map(|(maps, shapes)| {
            maps.into_iter().zip(shapes).map(|(maps, shape)| tensor(maps, shape.as_slice())).collect::<Result<Vec<_>>>()
        });
        let mut next = || maps.next().transpose().map(Option::unwrap_or_default);
        let (maps, cross_maps) = (next()?, next()?);
        let count = hidden.len();
        let hidden = hidden.into_iter().enumerate().map(|(layer, hidden)| {
            // The last one is the stream that is given back, on its graph.
            if layer + 1 == count { Ok(stream.clone()) } else { tensor(hidden, (b, t, d)) }
        });
        Ok(Stacked { maps, cross_maps, hidden: hidden.collect::<Result<_>>()?, stream })
    })
}

/// What a layer has of the positions that it reads.
#[derive(Clone, Copy, Debug)]
pub struct LayerReading<'a, T> {
    /// What its attention is given: the stream, normalised where norms come first.
    pub(crate) input: Slab<'a, T>,
    /// What the maps of its attention make of that, side by side.
    pub(crate) projected: Slab<'a, T>,
}

/// Called with the number of a layer that attends and what it has read.
pub type EachLayer<'a, T> = &'a mut dyn FnMut(usize, LayerReading<'_, T>) -> Result<()>;

/// [`stack`] for texts that a decoder goes on with: no graph, nothing kept, and `each` sees what every layer that attends has of
/// all positions, text after text.
///
/// # Shapes
/// `x` `[b, t, d]`; result the same, row-major.
///
/// # Errors
/// If `x` is not in single precision on the processor, the shapes of the parts do not fit it, or `each` fails.
pub fn read_layers(x: &Tensor, layers: Vec<LayerParts>, each: EachLayer<'_, f32>) -> Result<Vec<f32>> {
    let (b, t, d) = x.dims3()?;
    let (layers, loans) = checked(layers, [b, t, d], None)?;
    let op = StackOp {
        layers,
        loans,
        last_norm: None,
        sizes: [b, t, d],
        gradients: None,
        wanted: Wanted::default(),
        state: Mutex::new(None),
    };
    let x = x.contiguous()?;
    Ok(op.forward(Reading::of(&x).slice()?, None, Some(each))?.0)
}

/// Checks layers, for a stream of `sizes` `b`, `t`, `d` and another sequence of `attended` positions, if there is one.
fn checked(
    layers: Vec<LayerParts>,
    sizes: [usize; 3],
    attended: Option<usize>,
) -> Result<(Vec<LayerPiece>, [Loans; ATTENTIONS])> {
    let piece = |parts: LayerParts| {
        if parts.cross.is_some() && attended.is_none() {
            bail!("A layer attends to another sequence, and there is none.")
        }
        let own = parts.attention.map(|parts| AttentionPiece::new(parts, sizes, None)).transpose()?;
        let cross = parts.cross.map(|parts| AttentionPiece::new(parts, sizes, attended)).transpose()?;
        let [_, _, d] = sizes;
        Ok(LayerPiece { attentions: [own, cross], feed_forward: FeedForwardPiece::new(parts.feed_forward, d)? })
    };
    let layers = layers.into_iter().map(piece).collect::<Result<Vec<_>>>()?;
    let loans = [Loans::new(&layers, 0)?, Loans::new(&layers, CROSS)?];
    Ok((layers, loans))
}

/// A checked layer.
struct LayerPiece {
    attentions: [Option<AttentionPiece>; ATTENTIONS],
    feed_forward: FeedForwardPiece,
}

/// What the forward pass gives on the side.
#[derive(Debug)]
struct Beside<T> {
    maps: [Vec<Vec<T>>; ATTENTIONS],
    hidden: Vec<Vec<T>>,
}

/// Who lends a map to whom.
struct Loans {
    /// For every layer, the heads whose maps are borrowed later, by their number among those that compute, and the last
    /// layer that borrows from it.
    layers: Vec<(Vec<usize>, Option<usize>)>,
}

impl Loans {
    /// Among the attentions of one kind.
    fn new(layers: &[LayerPiece], which: usize) -> Result<Self> {
        let mut loans = Self { layers: vec![(Vec::new(), None); layers.len()] };
        let piece = |layer: usize| layers.get(layer).and_then(|layer| layer.attentions[which].as_ref());
        for number in 0..layers.len() {
            for map in piece(number).into_iter().flat_map(AttentionPiece::maps) {
                let HeadMap::Borrowed { layer, computed } = *map else { continue };
                let lender = piece(layer).filter(|_| layer < number);
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

/// Of each layer, maps that are lent later and how many heads compute there.
type Shelf<T> = Vec<Option<(KeptMaps<T>, usize)>>;

/// What the backward pass of an attention needs.
struct Attended<T: Number> {
    state: AttentionState<T>,
    /// The stream after it.
    after: Buffer<T>,
}

/// What the backward pass of a layer needs.
struct LayerState<T: Number> {
    /// None where the layer does not attend.
    attentions: [Option<Attended<T>>; ATTENTIONS],
    feed_forward: FeedForwardState<T>,
    /// The stream after the layer.
    after: Buffer<T>,
}

/// The stream after some attentions of a layer; `before` is that before the layer.
fn stream_after<'a, T: Number>(before: &'a [T], attentions: &'a [Option<Attended<T>>]) -> &'a [T] {
    attentions.iter().flatten().next_back().map_or(before, |attended| &attended.after)
}

struct StackOp<T: Number> {
    layers: Vec<LayerPiece>,
    loans: [Loans; ATTENTIONS],
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

/// The maps that a layer of some states computed.
fn kept_maps<T: Number>(states: &[LayerState<T>], layer: usize, which: usize) -> Option<LentMaps<'_, T>> {
    states.get(layer)?.attentions[which].as_ref()?.state.maps()
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
        let size = tokens * piece.attended();
        let mut maps = Vec::with_capacity(batch * piece.maps().len() * size);
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
                maps.extend(from.map(example, number, size));
            }
        }
        Ok(maps)
    }

    /// The stream after all layers, and what is wanted beside it; the states are kept where there will be a backward pass.
    /// `each`, if there is one, sees what every layer has of the stream.
    fn forward(
        &self,
        x: &[T],
        memory: Option<&[T]>,
        mut each: Option<EachLayer<'_, T>>,
    ) -> Result<(Vec<T>, Beside<T>)> {
        let is_training = self.gradients.is_some();
        let mut states: Vec<LayerState<T>> = Vec::new();
        // Maps that are lent later, where the states of layers are not kept.
        let mut shelves: [Shelf<T>; ATTENTIONS] = Default::default();
        let mut beside = Beside { maps: Default::default(), hidden: Vec::new() };
        for (number, layer) in self.layers.iter().enumerate() {
            let before: &[T] = states.last().map_or(x, |state| &state.after);
            let mut attentions: [Option<Attended<T>>; ATTENTIONS] = Default::default();
            for (which, piece) in layer.attentions.iter().enumerate() {
                let Some(piece) = piece else {
                    if self.wanted.maps && (which != CROSS || memory.is_some()) {
                        beside.maps[which].push(Vec::new());
                    }
                    continue;
                };
                let lent = lent_to(piece, |layer| match shelves[which].get(layer).and_then(Option::as_ref) {
                    Some((maps, computed)) => maps.whole(*computed),
                    None if is_training => kept_maps(&states, layer, which),
                    None => None,
                })?;
                let stream = stream_after(before, &attentions);
                let mut after = Buffer::take(x.len());
                let wants_maps = self.wanted.maps || self.loans[which].last_use(number).is_some();
                let memory = memory.filter(|_| which == CROSS);
                let state = piece.forward(stream, &mut after, memory, lent.clone(), is_training, wants_maps)?;
                if let Some(each) = each.as_mut().filter(|_| which != CROSS) {
                    let [input, projected] = state.read(Slab::dense(stream, self.sizes[2]));
                    each(number, LayerReading { input, projected })?;
                }
                if self.wanted.maps {
                    beside.maps[which].push(self.all_maps(piece, state.maps(), &lent)?);
                }
                attentions[which] = Some(Attended { state, after });
            }
            let stream = stream_after(before, &attentions);
            let mut after = Buffer::take(x.len());
            let feed_forward = layer.feed_forward.forward(stream, &mut after)?;
            if self.wanted.hidden {
                beside.hidden.push(after.to_vec());
            }
            if !is_training {
                states.clear();
                for (which, shelf) in shelves.iter_mut().enumerate() {
                    let loans = &self.loans[which];
                    let lent = attentions[which].take().filter(|_| loans.last_use(number).is_some());
                    shelf.push(lent.map(|attended| attended.state.into_maps()));
                    for (layer, maps) in shelf.iter_mut().enumerate() {
                        if loans.last_use(layer).is_none_or(|last| last <= number) {
                            *maps = None;
                        }
                    }
                }
            }
            states.push(LayerState { attentions, feed_forward, after });
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

    /// The gradients of the stream and of another sequence that was attended to.
    fn go_back(
        &self,
        x: &[T],
        memory: Option<&[T]>,
        dy: &[T],
        gradients: &Gradients,
    ) -> Result<(Vec<T>, Option<Vec<T>>)> {
        let mut states = taken(&self.state)?;
        let [batch, tokens, d] = self.sizes;
        let mut gradient = Buffer::take(x.len());
        match &self.last_norm {
            Some(norm) => {
                let last: &[T] = states.last().map_or(x, |state| &state.after);
                let opened = Opened::of(norm_tensors(norm));
                let mut locked = Locked::of(gradients, norm_tensors(norm));
                let (weights, slab) = (opened.values::<T>()?.norm(norm)?, Slab::dense(last, d));
                let found = span("norm, gradient", Work::pass::<T>(3 * x.len()), || {
                    weights.backward(slab, Slab::dense(dy, d), None, &mut gradient)
                });
                locked.slots().norm()?.add(&found);
            }
            None => gradient.copy_from_slice(dy),
        }
        let mut of_memory = memory.map(|memory| {
            let mut dmemory = Rows::<T>::take(memory.len() / d.max(1), d);
            dmemory.for_each_row(|_, row| row.fill(T::ZERO));
            (memory, dmemory)
        });
        let mut other = Buffer::take(x.len());
        let none = || self.layers.iter().map(|_| None).collect();
        let mut borrowed: [Vec<Option<LentGradient<T>>>; ATTENTIONS] = [none(), none()];
        for (number, layer) in self.layers.iter().enumerate().rev() {
            let Some(state) = states.pop() else { bail!("A layer kept nothing for its backward pass.") };
            let LayerState { mut attentions, feed_forward, after } = state;
            drop(after);
            let before: &[T] = states.last().map_or(x, |state| &state.after);
            let stream = stream_after(before, &attentions);
            layer.feed_forward.backward(stream, feed_forward, &gradient, &mut other, gradients)?;
            std::mem::swap(&mut gradient, &mut other);
            for (which, piece) in layer.attentions.iter().enumerate().rev() {
                let Some(piece) = piece else { continue };
                let Some(attended) = attentions[which].take() else {
                    bail!("An attention of layer {number} kept nothing for its backward pass.")
                };
                drop(attended.after);
                let lent = lent_to(piece, |layer| kept_maps(&states, layer, which))?;
                let (loans, borrowed) = (&self.loans[which], &mut borrowed[which]);
                let own = borrowed[number].take();
                let size = tokens * piece.attended();
                let mut lenders: Vec<(usize, LentGradient<T>)> = Vec::new();
                for &layer in piece.lenders() {
                    let found = borrowed[layer].take();
                    lenders
                        .push((layer, found.unwrap_or_else(|| LentGradient::take(loans.places(layer), batch, size))));
                }
                let lent_gradients = LentGradients {
                    lenders: lenders.iter_mut().map(|(_, gradient)| gradient).collect(),
                    own: own.as_ref(),
                };
                let memory =
                    of_memory.as_mut().filter(|_| which == CROSS).map(|(memory, gradient)| (*memory, gradient));
                let stream = stream_after(before, &attentions);
                piece.backward(
                    stream,
                    memory,
                    attended.state,
                    lent,
                    &gradient,
                    &mut other,
                    gradients,
                    lent_gradients,
                )?;
                for (layer, gradient) in lenders {
                    borrowed[layer] = Some(gradient);
                }
                std::mem::swap(&mut gradient, &mut other);
            }
        }
        let dmemory = of_memory.map(|(_, gradient)| {
            let rows = gradient.view();
            (0..rows.rows()).flat_map(|row| rows.row(row)).copied().collect()
        });
        Ok((gradient.to_vec(), dmemory))
    }

    /// The gradients of the inputs, which the forward pass kept.
    fn gradients(&self, x: &Tensor, memory: Option<&Tensor>, dy: &Tensor) -> Result<(Tensor, Option<Tensor>)> {
        let Some(gradients) = &self.gradients else { bail!("Layers without a set of gradients cannot go backward.") };
        let (of_x, of_dy, of_memory) = (Reading::of(x), Reading::of(dy), memory.map(Reading::of));
        let of_memory = of_memory.as_ref().map(Reading::slice).transpose()?;
        let (dx, dmemory) = self.go_back(of_x.slice()?, of_memory, of_dy.slice()?, gradients)?;
        let dmemory = dmemory.zip(memory).map(|(gradient, memory)| tensor(gradient, memory.shape())).transpose()?;
        Ok((tensor(dx, x.shape())?, dmemory))
    }
}

/// What both operations of layers are called.
const NAME: &str = "stack of layers";

impl<T: Number> Backward<1> for StackOp<T> {
    const NAME: &'static str = NAME;

    fn backward(&self, [x]: [&Tensor; 1], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 1]> {
        Ok([Some(self.gradients(x, None, dy)?.0)])
    }
}

impl<T: Number> Backward<2> for StackOp<T> {
    const NAME: &'static str = NAME;

    fn backward(&self, [x, memory]: [&Tensor; 2], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 2]> {
        let (dx, dmemory) = self.gradients(x, Some(memory), dy)?;
        Ok([Some(dx), dmemory])
    }
}
