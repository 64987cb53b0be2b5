use candle_core::{Result, Tensor, bail};

use super::open::{
    BlockDropout, Frame, Locked, Number, Opened, affine_tensors, check_affine, check_norm, norm_tensors,
};
use super::projections::{HeadMap, HeadProjections};
use super::wiring::{ProjectionParts, Wiring};
use crate::threaded::{
    AttentionBlock, AttentionSlots, AttentionState, CoreHeads, CoreShape, LentGradients, LentMaps, Rows, Slab,
};
use crate::{Affine, Gradients, MaskSpec, profile};

/// What the backward pass of a block has of its attention maps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MapMemory {
    /// The maps themselves: fast, and quadratic in the sequence length.
    #[default]
    Keep,
    /// Two numbers a row; scores are multiplied out once more. Bitwise the same results. A layer that lends a map
    /// keeps its maps all the same: borrowers read them.
    Recompute,
}

/// An attention sub-layer: of the stream to itself, or to another sequence.
#[derive(Clone, Debug)]
pub struct AttentionParts {
    /// Norm, and dropout of the output.
    pub frame: Frame,
    /// What makes queries, keys and values.
    pub projections: HeadProjections,
    /// The heads that attend, in order, with where their maps come from.
    pub heads: Vec<HeadMap>,
    /// The size `d_k` of a head.
    pub head_size: usize,
    /// From the mixed heads back to the stream.
    pub output: Affine,
    /// Which keys a query sees.
    pub mask: MaskSpec,
    /// Dropout of the maps, as elements of `[b, heads, t, m]`.
    pub dropout: Option<BlockDropout>,
    /// What is kept of the maps.
    pub memory: MapMemory,
}

/// A checked attention for a stream of a known shape.
pub(super) struct AttentionPiece {
    parts: AttentionParts,
    wiring: Wiring,
    heads: CoreHeads,
    /// `b`, `t`, `d`
    sizes: [usize; 3],
    /// Positions that are attended to, m; t in self-attention.
    attended: usize,
    keys: Option<Vec<u8>>,
}

impl AttentionPiece {
    /// For a stream of `sizes` `b`, `t`, `d`; `memory` are the positions of another sequence that is attended to.
    pub fn new(parts: AttentionParts, sizes: [usize; 3], memory: Option<usize>) -> Result<Self> {
        let [b, t, d] = sizes;
        let attended = memory.unwrap_or(t);
        if memory.is_some() && (attended == 0 || parts.mask.causal) {
            bail!("Attention to another sequence of {attended} positions, of which some are hidden by their place.")
        }
        check_norm(&parts.frame.norm, d)?;
        let wiring = Wiring::new(&parts.projections, &parts.heads, parts.head_size, d, memory.is_some())?;
        check_affine("output map", &parts.output, parts.heads.len() * parts.head_size, d)?;
        let keys = |keys: &Tensor| {
            if keys.dims() != [b, attended] {
                bail!("A key mask of shape {:?} does not fit {b} examples of {attended} positions.", keys.shape())
            }
            keys.flatten_all()?.to_vec1::<u8>()
        };
        let keys = parts.mask.keys.as_ref().map(keys).transpose()?;
        Ok(Self { heads: CoreHeads::new(wiring.heads.clone()), parts, wiring, sizes, attended, keys })
    }

    /// Those of the sub-layer but for what is read of another sequence, in the order in which values and gradients are
    /// handed out.
    fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        let AttentionParts { frame, output, .. } = &self.parts;
        norm_tensors(&frame.norm).chain(affine_tensors(output)).chain(self.wiring.asking.tensors())
    }

    /// Where the maps of the heads come from.
    pub fn maps(&self) -> &[HeadMap] {
        &self.parts.heads
    }

    /// The layers whose maps are borrowed, each once.
    pub fn lenders(&self) -> &[usize] {
        &self.wiring.lenders
    }

    /// How many heads compute a map.
    pub fn computed(&self) -> usize {
        self.heads.computed()
    }

    /// Positions that are attended to.
    pub fn attended(&self) -> usize {
        self.attended
    }

    /// Writes the stream after the sub-layer; the state has the maps if they are wanted, or to be kept. `memory` is the
    /// other sequence that is attended to, if there is one; `lent` are the maps of the layers that lend.
    pub fn forward<T: Number>(
        &self,
        x: &[T],
        y: &mut [T],
        memory: Option<&[T]>,
        lent: Vec<LentMaps<'_, T>>,
        is_training: bool,
        wants_maps: bool,
    ) -> Result<AttentionState<T>> {
        let keeps = wants_maps || (is_training && self.parts.memory == MapMemory::Keep);
        let forward = || self.with_block(|block| Ok(block.forward(x, y, self.sizes[2], memory, lent, keeps)));
        if memory.is_some() { profile::in_cross(forward) } else { forward() }
    }

    /// Writes the gradient of the stream before, and adds those of the parameters, of lent maps and of another sequence
    /// that was attended to.
    #[expect(clippy::too_many_arguments, reason = "the stream and its gradient, twice, and everything that was lent")]
    pub fn backward<T: Number>(
        &self,
        x: &[T],
        memory: Option<(&[T], &mut Rows<T>)>,
        state: AttentionState<T>,
        lent: Vec<LentMaps<'_, T>>,
        dy: &[T],
        dx: &mut [T],
        gradients: &Gradients,
        lent_gradients: LentGradients<'_, T>,
    ) -> Result<()> {
        let (d, is_cross) = (self.sizes[2], memory.is_some());
        let backward = || {
            self.with_block(|block| {
                let (of_memory, dmemory) = memory.unzip();
                let mut locked = Locked::of(gradients, self.tensors());
                let mut next = locked.slots();
                let mut slots = AttentionSlots {
                    norm: next.norm()?,
                    output: next.affine(&self.parts.output)?,
                    asking: self.wiring.asking.slots(&mut next)?,
                };
                let left = block.backward(x, d, of_memory, state, lent, dy, dx, &mut slots, lent_gradients);
                drop(slots);
                // Both sequences may go through the same maps, whose gradients are locked once at a time.
                drop(locked);
                if let (Some(left), Some(x), Some(dx), Some(parts)) = (left, of_memory, dmemory, &self.wiring.memory) {
                    let mut locked = Locked::of(gradients, parts.tensors());
                    let mut slots = parts.slots(&mut locked.slots())?;
                    block.memory_backward(Slab::dense(x, d), left, &mut slots, dx);
                }
                Ok(())
            })
        };
        if is_cross { profile::in_cross(backward) } else { backward() }
    }

    /// Calls `f` with the weights open.
    fn with_block<T: Number, R>(&self, f: impl FnOnce(&AttentionBlock<'_, T>) -> Result<R>) -> Result<R> {
        let AttentionParts { frame, output, head_size, mask, dropout, .. } = &self.parts;
        let [batch, tokens, _] = self.sizes;
        let memory = &self.wiring.memory;
        let opened = Opened::of(self.tensors().chain(memory.iter().flat_map(ProjectionParts::tensors)));
        let mut next = opened.values()?;
        f(&AttentionBlock {
            frame: next.frame(frame)?,
            output: next.affine(output)?,
            asking: self.wiring.asking.open(&mut next)?,
            memory: memory.as_ref().map(|parts| parts.open(&mut next)).transpose()?,
            core: CoreShape {
                batch,
                tokens,
                keys: self.attended,
                heads: &self.heads,
                head_size: *head_size,
                scale: 1.0 / (*head_size as f64).sqrt(),
                causal: mask.causal,
                visible_keys: self.keys.as_deref(),
                dropout: dropout.as_ref().map(BlockDropout::mask).transpose()?,
            },
        })
    }
}
