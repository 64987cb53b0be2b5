use candle_core::{D, Result, Tensor, bail};

use super::{
    projected::{Memory, recalled},
    scored::Scores,
};
use crate::ops::{HeadProjections, Reach, Reaches, Through, attention_mix, attention_scores};

/// Neighbouring positions that are attended to, as they were kept.
#[derive(Clone, Copy, Debug)]
pub enum Segment<'a> {
    /// What [`HeadAttention::kept`](super::HeadAttention::kept) gave: keys and values are made of it.
    Kept(&'a [Tensor]),
    /// The stream itself, `[b, m, d]`, with what heads read of it: EL-attention, no keys or values are made.
    Stream(&'a Tensor, &'a Reaches),
}

/// A segment whose keys and values are there, as far as it has any.
pub(super) enum Stretch<'a> {
    Projected(Memory),
    Stream(&'a Tensor, &'a Reaches),
}

impl<'a> Segment<'a> {
    pub(super) fn open(self, projections: &HeadProjections) -> Result<Stretch<'a>> {
        Ok(match self {
            Self::Kept(kept) => Stretch::Projected(recalled(projections, kept)?),
            Self::Stream(stream, reaches) => Stretch::Stream(stream, reaches),
        })
    }
}

impl Stretch<'_> {
    /// How many positions there are.
    pub fn positions(&self) -> Result<usize> {
        match self {
            Self::Projected(memory) => memory.values.dim(2),
            Self::Stream(stream, _) => stream.dim(1),
        }
    }

    /// Scores of the heads that compute, neither scaled nor masked. `[b, c, n, w]` to `[b, c, n, m]`
    pub fn scores(&self, q: &Tensor) -> Result<Tensor> {
        match self {
            Self::Projected(Memory { keys: Some(k), content, .. }) => {
                Scores::Products { q: q.clone(), k: k.clone(), content: content.clone() }.whole()
            }
            Self::Projected(_) => bail!("An attention layer has queries without keys."),
            Self::Stream(stream, reaches) => {
                let (expanded, bias) = expanded(q, reaches)?;
                let (b, c, n, d) = expanded.dims4()?;
                // All heads and queries are rows of one product, so that the stream is read once.
                let scores = attention_scores(&expanded.reshape((b, 1, c * n, d))?, &stream.unsqueeze(1)?)?;
                scores.reshape((b, c, n, stream.dim(1)?))?.broadcast_add(&bias)
            }
        }
    }

    /// What all heads mix, of maps that need not sum to one. `[b, h, n, m]` to `[b, h, n, d_k]`
    pub fn mix(&self, maps: &Tensor) -> Result<Tensor> {
        match self {
            Self::Projected(memory) => attention_mix(maps, &memory.values),
            Self::Stream(stream, reaches) => {
                let of_heads = ensemble(maps, stream)?; // [b, h, n, d]
                let (b, h, n, d) = of_heads.dims4()?;
                let values = stacked(&reaches.values)?; // [h, d, d_k]
                let size = values.dim(2)?;
                let values = values.unsqueeze(0)?.broadcast_as((b, h, d, size))?;
                let mixed = attention_mix(&of_heads, &values)?; // [b, h, n, d_k]
                match offsets(&reaches.values, size, maps)? {
                    Some(offsets) => {
                        let share = maps.sum_keepdim(D::Minus1)?; // [b, h, n, 1]
                        mixed
                            + share.broadcast_mul(&offsets.reshape((1, h, 1, size))?)?.broadcast_as((b, h, n, size))?
                    }
                    None => Ok(mixed),
                }
            }
        }
    }
}

/// The queries of all heads as wide as the stream, `Q_i M_iᵀ`, and what their offsets add to every score, `Q_i · o_i` (EL-attention,
/// equation 7). `[b, c, n, w]` to `[b, c, n, d]` and `[b, c, n, 1]`
pub(super) fn expanded(q: &Tensor, reaches: &Reaches) -> Result<(Tensor, Tensor)> {
    let (b, c, _, w) = q.dims4()?;
    let keys = stacked(&reaches.keys)?; // [c, d, w]
    let d = keys.dim(1)?;
    let keys = keys.unsqueeze(0)?.broadcast_as((b, c, d, w))?;
    let mut expanded = attention_scores(q, &keys)?; // [b, c, n, d]
    let mut bias = match offsets(&reaches.keys, w, q)? {
        Some(offsets) => q.broadcast_mul(&offsets.reshape((1, c, 1, w))?)?.sum_keepdim(D::Minus1)?,
        None => q.narrow(3, 0, 1)?.zeros_like()?,
    };
    if !reaches.contents.is_empty() {
        let contents = stacked(&reaches.contents)?.reshape((1, c, 1, d))?;
        expanded = expanded.broadcast_add(&contents)?;
        if let Some(offsets) = offsets(&reaches.contents, 1, q)? {
            bias = bias.broadcast_add(&offsets.reshape((1, c, 1, 1))?)?;
        }
    }
    Ok((expanded, bias))
}

/// What each head mixes of the stream itself. `[b, h, n, m]`, `[b, m, d]` to `[b, h, n, d]`
pub(super) fn ensemble(maps: &Tensor, stream: &Tensor) -> Result<Tensor> {
    let ((b, h, n, m), d) = (maps.dims4()?, stream.dim(2)?);
    attention_mix(&maps.reshape((b, 1, h * n, m))?, &stream.unsqueeze(1)?)?.reshape((b, h, n, d))
}

/// The matrices of all heads. `[heads, count, w]`
fn stacked(reaches: &[Reach]) -> Result<Tensor> {
    let matrix = |reach: &Reach| match &reach.through {
        Through::Matrix(matrix) => Ok(matrix.clone()),
        Through::Same | Through::Factors(_) => bail!("A head reads the stream through no matrix."),
    };
    Tensor::stack(&reaches.iter().map(matrix).collect::<Result<Vec<_>>>()?, 0)
}

/// The offsets of all heads; none where all are zero. `[heads, w]`
fn offsets(reaches: &[Reach], width: usize, like: &Tensor) -> Result<Option<Tensor>> {
    if reaches.iter().all(|reach| reach.offset.is_none()) {
        return Ok(None);
    }
    let offset = |reach: &Reach| match &reach.offset {
        Some(offset) => Ok(offset.clone()),
        None => Tensor::zeros(width, like.dtype(), like.device()),
    };
    Tensor::stack(&reaches.iter().map(offset).collect::<Result<Vec<_>>>()?, 0).map(Some)
}
