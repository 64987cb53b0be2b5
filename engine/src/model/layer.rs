use candle_core::{Result, Tensor};

use crate::{
    attention::{Dropout, compatibility::StandardAttention, keeps_maps},
    config::NormPlacement,
    ops::{
        self, Affine, AttentionParts, FeedForwardParts, Frame, Gelu, Gradients, HeadMap, LayerParts, MapMemory,
        MaskSpec, Norm, NormAt,
    },
};

/// Attention and feed-forward, each added to the residual stream.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub attention: StandardAttention,
    pub attention_norm: Norm,
    pub feed_forward_in: Affine,
    pub feed_forward_out: Affine,
    pub feed_forward_norm: Norm,
    pub activation: Gelu,
    pub placement: NormPlacement,
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
    /// Whether whole parts of the model are single operations; otherwise they are composed of small ones.
    pub in_blocks: bool,
}

/// Dropout sites of a layer: maps, attention output, feed-forward output.
const SITES: u32 = 3;

/// The dropout site of the embeddings; those of layer 0 follow.
pub(super) const EMBEDDING_SITE: u32 = 0;

/// The first dropout site of a layer.
fn first_site(layer: usize) -> u32 {
    EMBEDDING_SITE + 1 + SITES * layer as u32
}

impl Layer {
    /// This layer as part of a stack; it is number `layer`, for sequences of `tokens`.
    pub fn parts(&self, layer: usize, tokens: usize, pass: &Pass<'_>) -> LayerParts {
        let site = first_site(layer);
        let frame = |norm: &Norm, site: u32| Frame {
            norm: norm.clone(),
            at: match self.placement {
                NormPlacement::Pre => NormAt::First,
                NormPlacement::Post => NormAt::Last,
            },
            dropout: pass.dropout.block(site),
        };
        LayerParts {
            attention: Some(AttentionParts {
                frame: frame(&self.attention_norm, site + 1),
                projections: self.attention.projections.parts(),
                heads: vec![HeadMap::Computed; self.attention.heads],
                head_size: self.attention.output.sizes().map_or(0, |(inputs, _)| inputs / self.attention.heads),
                output: self.attention.output.clone(),
                mask: pass.mask.clone(),
                dropout: pass.dropout.block(site),
                memory: if keeps_maps(tokens) { MapMemory::Keep } else { MapMemory::Recompute },
            }),
            feed_forward: FeedForwardParts {
                frame: frame(&self.feed_forward_norm, site + 2),
                inner: self.feed_forward_in.clone(),
                outer: self.feed_forward_out.clone(),
                activation: self.activation,
            },
        }
    }

    /// The residual stream after this layer, composed of small operations, and the attention maps.
    ///
    /// Norm first: `x + f(norm(x))`. Norm last: `norm(x + f(x))`.
    ///
    /// # Shapes
    /// `x` `[b, t, d]`; results `[b, t, d]` and `[b, h, t, t]`.
    pub fn forward(&self, x: &Tensor, layer: usize, pass: &Pass<'_>) -> Result<(Tensor, Tensor)> {
        let site = first_site(layer);
        let Pass { mask, dropout, .. } = pass;
        let mut maps = None;
        let x = self.sublayer(x, &self.attention_norm, |x| {
            let attended = self.attention.forward(x, mask, dropout, site)?;
            maps = Some(attended.maps);
            dropout.apply(&attended.output, site + 1)
        })?;
        let x = self.sublayer(&x, &self.feed_forward_norm, |x| {
            let inner = ops::gelu(&self.feed_forward_in.forward(x)?, self.activation)?; // [b, t, f]
            dropout.apply(&self.feed_forward_out.forward(&inner)?, site + 2)
        })?;
        let maps = maps.ok_or_else(|| candle_core::Error::Msg("An attention layer gave no map.".to_owned()))?;
        Ok((x, maps))
    }

    fn sublayer(&self, x: &Tensor, norm: &Norm, f: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
        match self.placement {
            NormPlacement::Pre => x + f(&norm.forward(x)?)?,
            NormPlacement::Post => norm.forward(&(x + f(x)?)?),
        }
    }
}
