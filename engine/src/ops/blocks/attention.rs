use std::sync::{Arc, Mutex, PoisonError};

use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor, bail};

use super::open::{
    AffineGuards, BlockDropout, Frame, NormGuards, Number, OpenAffine, OpenFrame, check_affine, check_norm, has_blocks,
    taken,
};
use crate::ops::element::{Reading, by_dtype, output, slice, tensor};
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

/// The stream after a self-attention sub-layer, and its maps from before dropout where `wants_maps`.
///
/// Gradients of parameters go to `gradients`; without it, nothing is kept for a backward pass.
///
/// # Shapes
/// `x` `[b, t, d]`; results `[b, t, d]` and `[b, h, t, t]`.
///
/// # Errors
/// If `x` is not for blocks ([`has_blocks`]), or the shapes of the parts do not fit it.
pub fn attention_block(
    x: &Tensor,
    parts: AttentionParts,
    gradients: Option<&Gradients>,
    wants_maps: bool,
) -> Result<(Tensor, Option<Tensor>)> {
    let (b, t, d) = x.dims3()?;
    if !has_blocks(x) {
        bail!("An attention block takes f32 and f64 on the CPU.")
    }
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
    let keys = match &parts.mask.keys {
        Some(keys) if keys.dims() != [b, t] => {
            bail!("A key mask of shape {:?} does not fit an input of shape {:?}.", keys.shape(), x.shape())
        }
        Some(keys) => Some(keys.flatten_all()?.to_vec1::<u8>()?),
        None => None,
    };
    by_dtype!(x.dtype(), T => {
        let maps = Arc::new(Mutex::new(None));
        let given = wants_maps.then(|| Arc::clone(&maps));
        let heads = parts.heads;
        let op = AttentionOp::<T> {
            parts,
            sizes: [b, t, d],
            keys,
            gradients: gradients.cloned(),
            state: Mutex::new(None),
            maps: given,
        };
        let y = x.contiguous()?.apply_op1(op)?;
        let maps = maps.lock().unwrap_or_else(PoisonError::into_inner).take();
        let maps = maps.map(|maps: Vec<T>| tensor(maps, (b, heads, t, t))).transpose()?;
        Ok((y, maps))
    })
}

struct AttentionOp<T: Number> {
    parts: AttentionParts,
    /// `b`, `t`, `d`
    sizes: [usize; 3],
    keys: Option<Vec<u8>>,
    gradients: Option<Gradients>,
    state: Mutex<Option<AttentionState<T>>>,
    /// Where a copy of the maps goes.
    maps: Option<Arc<Mutex<Option<Vec<T>>>>>,
}

impl<T: Number> AttentionOp<T> {
    /// Calls `f` with the weights open.
    fn with_block<R>(&self, f: impl FnOnce(&AttentionBlock<'_, T>) -> Result<R>) -> Result<R> {
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

impl<T: Number> CustomOp1 for AttentionOp<T> {
    fn name(&self) -> &'static str {
        "attention block"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let x = slice::<T>(storage, layout)?;
        let keeps = self.maps.is_some() || (self.gradients.is_some() && self.parts.memory == MapMemory::Keep);
        let (y, state) = self.with_block(|block| Ok(block.forward(x, self.sizes[2], keeps)))?;
        if let (Some(place), Some(maps)) = (&self.maps, state.maps()) {
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(maps.to_vec());
        }
        if self.gradients.is_some() {
            *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Some(state);
        }
        Ok(output(y, self.sizes.as_slice()))
    }

    fn bwd(&self, x: &Tensor, _: &Tensor, dy: &Tensor) -> Result<Option<Tensor>> {
        let Some(gradients) = &self.gradients else {
            bail!("An attention block without a set of gradients cannot go backward.")
        };
        let state = taken(&self.state)?;
        let dy = dy.contiguous()?;
        let (x_values, dy_values) = (Reading::of(x), Reading::of(&dy));
        let mut norm = NormGuards::of(gradients, &self.parts.frame.norm);
        let mut projections: Vec<AffineGuards<'_>> =
            self.parts.projections.iter().map(|affine| AffineGuards::of(gradients, affine)).collect();
        let mut output = AffineGuards::of(gradients, &self.parts.output);
        let mut slots = AttentionSlots {
            norm: norm.slots(),
            projections: projections.iter_mut().map(AffineGuards::slots).collect(),
            output: output.slots(),
        };
        let dx = self.with_block(|block| {
            Ok(block.backward(x_values.slice()?, self.sizes[2], state, dy_values.slice()?, &mut slots))
        })?;
        Ok(Some(tensor(dx, x.shape())?))
    }
}
