use candle_core::{Error, Result, Tensor, bail};

use super::norm::StreamNorm;

use crate::{
    attention::{
        Dropout,
        compatibility::{HeadAttention, Lenders},
    },
    config::{MapMemoryChoice, NormPlacement},
    ops::{
        self, Activation, Affine, AttentionParts, BlockDropout, FeedForwardParts, Frame, Gradients, LayerParts,
        MapMemory, MaskSpec, NormAt, Products,
    },
};

/// Attention and feed-forward, each added to the residual stream.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    /// With its norm; none in a layer without attention.
    pub attention: Option<(HeadAttention, StreamNorm)>,
    /// Attention to the states of the encoder, with its norm; none where there is none.
    pub cross: Option<(HeadAttention, StreamNorm)>,
    pub feed_forward: FeedForward,
    pub placement: NormPlacement,
}

/// The feed-forward block of a layer.
#[derive(Clone, Debug)]
pub(super) struct FeedForward {
    pub inner: Affine,
    /// Of a gated block: what goes through the activation, and is multiplied with the inner numbers.
    pub gate: Option<Affine>,
    pub outer: Affine,
    pub activation: Activation,
    pub norm: StreamNorm,
}

impl FeedForward {
    /// `out(activation(in(x)))`, or with a gate `out(activation(gate(x)) in(x))`. `[b, t, d]`
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let inner = match &self.gate {
            None => self.activation.of_linear(x, &self.inner)?,
            Some(gate) => (self.activation.of_linear(x, gate)? * self.inner.forward(x)?)?,
        }; // [b, t, f]
        self.outer.forward(&inner)
    }
}

/// What is the same for every layer of a forward pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass<'a> {
    /// Which keys a position sees.
    pub mask: &'a MaskSpec,
    /// Dropout, if any.
    pub dropout: &'a Dropout,
    /// Where gradients of parameters will go; none = nothing is kept for a backward pass.
    pub gradients: Option<&'a Gradients>,
    /// What single operations keep of attention maps.
    pub map_memory: MapMemoryChoice,
    /// Whether the caller asks for attention maps.
    pub keep_maps: bool,
    /// Whether whole parts of the model are single operations; otherwise they are composed of small ones.
    pub in_blocks: bool,
    /// What matrix products of single operations are made of.
    pub products: Products,
}

impl Pass<'_> {
    /// What single operations keep of the maps of sequences of `tokens`.
    fn map_memory(&self, tokens: usize) -> MapMemory {
        if self.map_memory.keeps(tokens) { MapMemory::Keep } else { MapMemory::Recompute }
    }
}

/// What the layers of a decoder have of the encoder before it.
#[derive(Debug)]
pub(super) struct Memory<'a> {
    /// Its last states. `[b, m, d]`
    pub states: &'a Tensor,
    /// Which of them are seen.
    pub mask: MaskSpec,
    /// The maps of cross-attention so far.
    pub lenders: Lenders,
}

/// What a layer composed of small operations gives.
#[derive(Debug)]
pub(super) struct LayerOutput {
    /// The residual stream. `[b, t, d]`
    pub stream: Tensor,
    /// The maps of the heads that attend; none in a layer without attention, and where nobody asks for them and the
    /// attention core has none to show. `[b, h, t, t]`
    pub maps: Option<Tensor>,
    /// Those of cross-attention. `[b, h, t, m]`
    pub cross_maps: Option<Tensor>,
}

/// The first dropout site of a model.
pub(super) const EMBEDDING_SITE: u32 = 0;

/// Dropout sites of a layer without cross-attention: maps, attention output, feed-forward output.
pub(super) const SITES: u32 = 3;

/// Those of cross-attention, which follow: maps, output.
pub(super) const CROSS_SITES: u32 = 2;

impl Layer {
    /// This layer as part of a stack, with dropout sites from `site` on, for sequences of `tokens`. `memory` says which
    /// states of an encoder are seen, and how many there are.
    ///
    /// # Errors
    /// If its design is none that single operations know.
    pub fn parts(
        &self,
        site: u32,
        tokens: usize,
        pass: &Pass<'_>,
        memory: Option<(&MaskSpec, usize)>,
    ) -> Result<LayerParts> {
        let frame = |norm: &StreamNorm, site: u32| {
            Ok::<_, Error>(Frame {
                norm: norm.layer()?.clone(),
                at: match self.placement {
                    NormPlacement::Pre => NormAt::First,
                    NormPlacement::Post => NormAt::Last,
                },
                dropout: pass.dropout.block(site),
            })
        };
        let attend = |(attention, norm): &(HeadAttention, StreamNorm), mask: &MaskSpec, site: u32, keys: usize| {
            Ok::<_, Error>(AttentionParts {
                frame: frame(norm, site + 1)?,
                projections: attention.projections.clone(),
                heads: attention.heads.maps.clone(),
                head_size: attention.heads.head_size,
                output: attention.output.clone(),
                mask: mask.clone(),
                dropout: pass.dropout.block(site),
                memory: pass.map_memory(keys),
            })
        };
        let attention = self.attention.as_ref().map(|own| attend(own, pass.mask, site, tokens)).transpose()?;
        let cross = self.cross.as_ref().zip(memory);
        let cross = cross.map(|(cross, (mask, keys))| attend(cross, mask, site + SITES, keys)).transpose()?;
        let Some(activation) = self.feed_forward.activation.gelu().filter(|_| self.feed_forward.gate.is_none()) else {
            bail!("A feed-forward block of another design than BERT's is no part of a single operation.")
        };
        let feed_forward = FeedForwardParts {
            frame: frame(&self.feed_forward.norm, site + 2)?,
            inner: self.feed_forward.inner.clone(),
            outer: self.feed_forward.outer.clone(),
            activation,
        };
        Ok(LayerParts { attention, cross, feed_forward })
    }

    /// This layer, composed of small operations, with dropout sites from `site` on.
    ///
    /// Norm first: `x + f(norm(x))`. Norm last: `norm(x + f(x))`.
    ///
    /// # Shapes
    /// `x` `[b, t, d]`.
    pub fn forward(
        &self,
        x: &Tensor,
        site: u32,
        pass: &Pass<'_>,
        lenders: &mut Lenders,
        memory: Option<&mut Memory<'_>>,
    ) -> Result<LayerOutput> {
        let Pass { mask, dropout, .. } = pass;
        let (mut maps, mut cross_maps) = (None, None);
        let mut stream = if let Some((attention, norm)) = &self.attention {
            self.sublayer(x, norm, dropout.block(site + 1), |x| {
                if !pass.keep_maps {
                    let memory = pass.map_memory(x.dim(1)?);
                    let drop = dropout.block(site);
                    if let Some(output) = attention.forward_in_core(x, None, mask, drop.as_ref(), memory, lenders)? {
                        return Ok(output);
                    }
                }
                let attended = attention.forward(x, None, mask, dropout, site, lenders)?;
                maps = Some(attended.maps);
                Ok(attended.output)
            })?
        } else {
            lenders.push(None, mask, None);
            x.clone()
        };
        if let Some(Memory { states, mask, lenders }) = memory {
            if let Some((attention, norm)) = &self.cross {
                let site = site + SITES;
                stream = self.sublayer(&stream, norm, dropout.block(site + 1), |x| {
                    ops::profile::in_cross(|| {
                        if !pass.keep_maps {
                            let (memory, drop) = (pass.map_memory(states.dim(1)?), dropout.block(site));
                            let other = Some(*states);
                            let found = attention.forward_in_core(x, other, mask, drop.as_ref(), memory, lenders)?;
                            if let Some(output) = found {
                                return Ok(output);
                            }
                        }
                        let attended = attention.forward(x, Some(*states), mask, dropout, site, lenders)?;
                        cross_maps = Some(attended.maps);
                        Ok(attended.output)
                    })
                })?;
            } else {
                lenders.push(None, mask, None);
            }
        }
        let stream =
            self.sublayer(&stream, &self.feed_forward.norm, dropout.block(site + 2), |x| self.feed_forward.forward(x))?;
        Ok(LayerOutput { stream, maps, cross_maps })
    }

    /// The maps of all `heads` heads of cross-attention, as [`Layer::all_maps`]. `[b, H, t, m]`
    pub fn all_cross_maps(&self, maps: Option<&Tensor>, x: &Tensor, keys: usize, heads: usize) -> Result<Tensor> {
        let (b, t, _) = x.dims3()?;
        match self.cross.as_ref().zip(maps) {
            Some(((attention, _), maps)) => attention.all_heads(maps),
            None => Tensor::zeros((b, heads, t, keys), x.dtype(), x.device()),
        }
    }

    /// The maps of all `heads` heads, borrowed ones copied, zeros for heads that do not exist. `maps` is what
    /// [`Layer::forward`] gave for `x`. `[b, H, t, t]`
    pub fn all_maps(&self, maps: Option<&Tensor>, x: &Tensor, heads: usize) -> Result<Tensor> {
        let (b, t, _) = x.dims3()?;
        match self.attention.as_ref().zip(maps) {
            Some(((attention, _), maps)) => attention.all_heads(maps),
            None => Tensor::zeros((b, heads, t, t), x.dtype(), x.device()),
        }
    }

    fn sublayer(
        &self,
        x: &Tensor,
        norm: &StreamNorm,
        drop: Option<BlockDropout>,
        f: impl FnOnce(&Tensor) -> Result<Tensor>,
    ) -> Result<Tensor> {
        match self.placement {
            NormPlacement::Pre => ops::residual(x, &f(&norm.forward(x)?)?, drop.as_ref()),
            NormPlacement::Post => norm.forward(&ops::residual(x, &f(x)?, drop.as_ref())?),
        }
    }
}
