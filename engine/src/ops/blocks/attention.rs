use candle_core::{Result, Tensor, bail};

use super::open::{
    AffineGuards, BlockDropout, Frame, NormGuards, Number, OpenAffine, OpenFrame, check_affine, check_norm,
};
use super::projections::{HeadMap, HeadProjections};
use super::wiring::Wiring;
use crate::ops::element::Reading;
use crate::ops::gradients::GradientGuard;
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
        let mut norm = NormGuards::of(gradients, &self.parts.frame.norm);
        let guards = |maps: &[Affine]| -> Vec<AffineGuards<'_>> {
            maps.iter().map(|affine| AffineGuards::of(gradients, affine)).collect()
        };
        let mut projections = guards(&self.wiring.projections);
        let mut maps = guards(self.wiring.derivation.maps());
        let mut tensors: Vec<Option<GradientGuard<'_>>> =
            self.wiring.derivation.tensors().into_iter().map(|tensor| gradients.guard(tensor)).collect();
        let mut output = AffineGuards::of(gradients, &self.parts.output);
        let mut slots = AttentionSlots {
            norm: norm.slots(),
            projections: projections.iter_mut().map(AffineGuards::slots).collect(),
            derivation: DerivationSlots {
                tensors: tensors.iter_mut().map(|guard| guard.as_mut().and_then(GradientGuard::slot)).collect(),
                maps: maps.iter_mut().map(AffineGuards::slots).collect(),
            },
            output: output.slots(),
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
        let frame = OpenFrame::of(frame)?;
        let projections: Vec<OpenAffine<'_>> = self.wiring.projections.iter().map(OpenAffine::of).collect();
        let maps = self.wiring.derivation.maps();
        let maps: Vec<OpenAffine<'_>> = maps.iter().map(OpenAffine::of).collect();
        let tensors: Vec<Reading<'_>> = self.wiring.derivation.tensors().into_iter().map(Reading::of).collect();
        let output = OpenAffine::of(output);
        f(&AttentionBlock {
            frame: frame.frame()?,
            projections: projections.iter().map(OpenAffine::weights).collect::<Result<_>>()?,
            derivation: self.wiring.derivation.open(
                &tensors.iter().map(Reading::slice).collect::<Result<Vec<_>>>()?,
                maps.iter().map(OpenAffine::weights).collect::<Result<_>>()?,
            )?,
            output: output.weights()?,
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
