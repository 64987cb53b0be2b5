use candle_core::{Result, Tensor, bail};

use super::open::{
    AffineGuards, BlockDropout, Frame, NormGuards, Number, OpenAffine, OpenFrame, check_affine, check_norm,
};
use crate::ops::threaded::{AttentionBlock, AttentionSlots, AttentionState, CoreShape};
use crate::ops::{Affine, Gradients, MaskSpec};

/// What the backward pass of a block has of its attention maps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MapMemory {
    /// The maps themselves: fast, and quadratic in the sequence length.
    #[default]
    Keep,
    /// Two numbers a row; scores are multiplied out once more. Bitwise the same results.
    Recompute,
}

/// A self-attention sub-layer in which every head computes.
#[derive(Clone, Debug)]
pub struct AttentionParts {
    /// Norm, and dropout of the output.
    pub frame: Frame,
    /// Queries, keys and values: one map of width `d` to `3 d` with the three side by side, or three maps.
    pub projections: Vec<Affine>,
    /// From the mixed heads back to the stream.
    pub output: Affine,
    /// Heads.
    pub heads: usize,
    /// Which keys a query sees.
    pub mask: MaskSpec,
    /// Dropout of the maps.
    pub dropout: Option<BlockDropout>,
    /// What is kept of the maps.
    pub memory: MapMemory,
}

/// A checked self-attention for a stream of a known shape.
pub(super) struct AttentionPiece {
    parts: AttentionParts,
    /// `b`, `t`, `d`
    sizes: [usize; 3],
    keys: Option<Vec<u8>>,
}

impl AttentionPiece {
    pub fn new(parts: AttentionParts, sizes: [usize; 3]) -> Result<Self> {
        let [b, t, d] = sizes;
        if parts.heads == 0 || d % parts.heads != 0 {
            bail!("A width of {d} cannot be divided into {} heads.", parts.heads)
        }
        check_norm(&parts.frame.norm, d)?;
        match parts.projections.as_slice() {
            [all] => check_affine("projection", all, d, 3 * d)?,
            [_, _, _] => parts.projections.iter().try_for_each(|part| check_affine("projection", part, d, d))?,
            others => bail!("An attention block needs one projection or three, not {}.", others.len()),
        }
        check_affine("output map", &parts.output, d, d)?;
        let keys = |keys: &Tensor| {
            if keys.dims() != [b, t] {
                bail!("A key mask of shape {:?} does not fit {b} examples of {t} positions.", keys.shape())
            }
            keys.flatten_all()?.to_vec1::<u8>()
        };
        let keys = parts.mask.keys.as_ref().map(keys).transpose()?;
        Ok(Self { parts, sizes, keys })
    }

    /// The shape of the maps.
    pub fn map_shape(&self) -> [usize; 4] {
        let [b, t, _] = self.sizes;
        [b, self.parts.heads, t, t]
    }

    /// Writes the stream after the sub-layer; the state has the maps if they are wanted, or to be kept.
    pub fn forward<T: Number>(
        &self,
        x: &[T],
        y: &mut [T],
        is_training: bool,
        wants_maps: bool,
    ) -> Result<AttentionState<T>> {
        let keeps = wants_maps || (is_training && self.parts.memory == MapMemory::Keep);
        self.with_block(|block| Ok(block.forward(x, y, self.sizes[2], keeps)))
    }

    /// Writes the gradient of the stream before, and adds those of the parameters.
    pub fn backward<T: Number>(
        &self,
        x: &[T],
        state: AttentionState<T>,
        dy: &[T],
        dx: &mut [T],
        gradients: &Gradients,
    ) -> Result<()> {
        let mut norm = NormGuards::of(gradients, &self.parts.frame.norm);
        let mut projections: Vec<AffineGuards<'_>> =
            self.parts.projections.iter().map(|affine| AffineGuards::of(gradients, affine)).collect();
        let mut output = AffineGuards::of(gradients, &self.parts.output);
        let mut slots = AttentionSlots {
            norm: norm.slots(),
            projections: projections.iter_mut().map(AffineGuards::slots).collect(),
            output: output.slots(),
        };
        self.with_block(|block| {
            block.backward(x, self.sizes[2], state, dy, dx, &mut slots);
            Ok(())
        })
    }

    /// Calls `f` with the weights open.
    fn with_block<T: Number, R>(&self, f: impl FnOnce(&AttentionBlock<'_, T>) -> Result<R>) -> Result<R> {
        let AttentionParts { frame, projections, output, heads, mask, dropout, .. } = &self.parts;
        let [batch, tokens, width] = self.sizes;
        let frame = OpenFrame::of(frame)?;
        let projections: Vec<OpenAffine<'_>> = projections.iter().map(OpenAffine::of).collect();
        let output = OpenAffine::of(output);
        let head_size = width / heads;
        f(&AttentionBlock {
            frame: frame.frame()?,
            projections: projections.iter().map(OpenAffine::weights).collect::<Result<_>>()?,
            output: output.weights()?,
            core: CoreShape {
                batch,
                tokens,
                heads: *heads,
                head_size,
                scale: 1.0 / (head_size as f64).sqrt(),
                causal: mask.causal,
                visible_keys: self.keys.as_deref(),
                dropout: dropout.as_ref().map(BlockDropout::mask).transpose()?,
            },
        })
    }
}
