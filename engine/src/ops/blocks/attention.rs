use candle_core::{Result, Tensor, bail};

use super::open::{
    BlockDropout, Frame, Locked, Number, Opened, affine_tensors, check_affine, check_norm, norm_tensors,
};
use super::projections::{HeadMap, HeadProjections};
use super::wiring::Wiring;
use crate::ops::threaded::{
    AttentionBlock, AttentionSlots, AttentionState, CoreHeads, CoreShape, DerivationSlots, LentGradients, LentMaps,
};
use crate::ops::{Affine, Gradients, MaskSpec};

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

/// A self-attention sub-layer.
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
    /// Dropout of the maps, as elements of `[b, heads, t, t]`.
    pub dropout: Option<BlockDropout>,
    /// What is kept of the maps.
    pub memory: MapMemory,
}

/// A checked self-attention for a stream of a known shape.
pub(super) struct AttentionPiece {
    parts: AttentionParts,
    wiring: Wiring,
    heads: CoreHeads,
    /// `b`, `t`, `d`
    sizes: [usize; 3],
    keys: Option<Vec<u8>>,
}

impl AttentionPiece {
    pub fn new(parts: AttentionParts, sizes: [usize; 3]) -> Result<Self> {
        let [b, t, d] = sizes;
        check_norm(&parts.frame.norm, d)?;
        let wiring = Wiring::new(&parts.projections, &parts.heads, parts.head_size, d)?;
        check_affine("output map", &parts.output, parts.heads.len() * parts.head_size, d)?;
        let keys = |keys: &Tensor| {
            if keys.dims() != [b, t] {
                bail!("A key mask of shape {:?} does not fit {b} examples of {t} positions.", keys.shape())
            }
            keys.flatten_all()?.to_vec1::<u8>()
        };
        let keys = parts.mask.keys.as_ref().map(keys).transpose()?;
        Ok(Self { heads: CoreHeads::new(wiring.heads.clone()), parts, wiring, sizes, keys })
    }

    /// In the order in which values and gradients are handed out.
    fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        let (AttentionParts { frame, output, .. }, Wiring { projections, derivation, .. }) =
            (&self.parts, &self.wiring);
        let own = norm_tensors(&frame.norm).chain(affine_tensors(output));
        let own = own.chain(projections.iter().flat_map(affine_tensors));
        own.chain(derivation.tensors()).chain(derivation.maps().iter().flat_map(affine_tensors))
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

    /// Writes the stream after the sub-layer; the state has the maps if they are wanted, or to be kept. `lent` are the
    /// maps of the layers that lend.
    pub fn forward<T: Number>(
        &self,
        x: &[T],
        y: &mut [T],
        lent: Vec<LentMaps<'_, T>>,
        is_training: bool,
        wants_maps: bool,
    ) -> Result<AttentionState<T>> {
        let keeps = wants_maps || (is_training && self.parts.memory == MapMemory::Keep);
        self.with_block(|block| Ok(block.forward(x, y, self.sizes[2], lent, keeps)))
    }

    /// Writes the gradient of the stream before, and adds those of the parameters and of lent maps.
    #[expect(clippy::too_many_arguments, reason = "the stream and its gradient, twice, and everything that was lent")]
    pub fn backward<T: Number>(
        &self,
        x: &[T],
        state: AttentionState<T>,
        lent: Vec<LentMaps<'_, T>>,
        dy: &[T],
        dx: &mut [T],
        gradients: &Gradients,
        lent_gradients: LentGradients<'_, T>,
    ) -> Result<()> {
        let Wiring { projections, derivation, .. } = &self.wiring;
        let mut locked = Locked::of(gradients, self.tensors());
        let mut next = locked.slots();
        let mut slots = AttentionSlots {
            norm: next.norm()?,
            output: next.affine(&self.parts.output)?,
            projections: projections.iter().map(|map| next.affine(map)).collect::<Result<_>>()?,
            derivation: DerivationSlots {
                tensors: derivation.tensors().map(|_| next.take()).collect::<Result<_>>()?,
                maps: derivation.maps().iter().map(|map| next.affine(map)).collect::<Result<_>>()?,
            },
        };
        self.with_block(|block| {
            block.backward(x, self.sizes[2], state, lent, dy, dx, &mut slots, lent_gradients);
            Ok(())
        })
    }

    /// Calls `f` with the weights open.
    fn with_block<T: Number, R>(&self, f: impl FnOnce(&AttentionBlock<'_, T>) -> Result<R>) -> Result<R> {
        let AttentionParts { frame, output, head_size, mask, dropout, .. } = &self.parts;
        let [batch, tokens, _] = self.sizes;
        let opened = Opened::of(self.tensors());
        let mut next = opened.values()?;
        f(&AttentionBlock {
            frame: next.frame(frame)?,
            output: next.affine(output)?,
            projections: self.wiring.projections.iter().map(|map| next.affine(map)).collect::<Result<_>>()?,
            derivation: self.wiring.derivation.open(&mut next)?,
            core: CoreShape {
                batch,
                tokens,
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
