use candle_core::{Result, Tensor};

use crate::{
    attention::{Affine, Dropout, compatibility::StandardAttention},
    config::NormPlacement,
    ops::{self, Gelu, MaskSpec},
};

/// A layer norm with gain and bias.
#[derive(Clone, Debug)]
pub(super) struct Norm {
    pub gain: Tensor,
    pub bias: Tensor,
    pub epsilon: f64,
}

impl Norm {
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        ops::layer_norm(x, &self.gain, &self.bias, self.epsilon)
    }
}

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

/// Dropout sites of a layer: maps, attention output, feed-forward output.
const SITES: u32 = 3;

/// The dropout site of the embeddings; those of layer 0 follow.
pub(super) const EMBEDDING_SITE: u32 = 0;

impl Layer {
    /// The residual stream after this layer, and the attention maps.
    ///
    /// Norm first: `x + f(norm(x))`. Norm last: `norm(x + f(x))`.
    ///
    /// # Shapes
    /// `x` `[b, t, d]`; results `[b, t, d]` and `[b, h, t, t]`.
    pub fn forward(&self, x: &Tensor, layer: usize, mask: &MaskSpec, dropout: &Dropout) -> Result<(Tensor, Tensor)> {
        let site = EMBEDDING_SITE + 1 + SITES * layer as u32;
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
