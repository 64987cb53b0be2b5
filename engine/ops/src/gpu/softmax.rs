//! Softmax over attention scores with scale, mask and dropout.

use candle_core::{Result, Tensor};

use super::{
    buffer::{Buffer, address},
    device::{passes, run, timed},
    launch::Launch,
};
use crate::tracked::{Backward, tracked1};
use crate::{MaskSpec, kernels::DropoutMask};

/// Rows of scores, and where they lie among all of an attention: some queries, the first keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    /// Heads of a batch entry.
    pub heads: usize,
    /// Queries of each head here.
    pub queries: usize,
    /// Keys of each row here.
    pub keys: usize,
    /// The first of the queries among all.
    pub first_query: usize,
    /// Queries of each head altogether.
    pub all_queries: usize,
    /// Keys of each row altogether.
    pub all_keys: usize,
}

impl Rows {
    /// All of an attention of `heads` heads.
    pub fn all(heads: usize, queries: usize, keys: usize) -> Self {
        Self { heads, queries, keys, first_query: 0, all_queries: queries, all_keys: keys }
    }
}

/// `softmax(scale * scores)` over the visible keys, some elements then dropped. `scores` `[b, h, queries, keys]`,
/// `key_mask` contiguous, `[b, all keys]`.
///
/// # Errors
/// If the device fails.
pub(super) fn probabilities(
    scores: &Tensor,
    scale: f64,
    (causal, key_mask): (bool, Option<&Tensor>),
    rows: Rows,
    dropout: Option<&DropoutMask>,
) -> Result<Buffer> {
    let device = scores.device();
    let y = Buffer::new(device, scores.shape(), scores.dtype())?;
    // The last query sees every key.
    let reach = (rows.first_query + rows.all_keys) as i64 - rows.all_queries as i64;
    let count = scores.elem_count() / rows.keys;
    let launch = Launch::rows_or_warps("softmax", scores.dtype(), count, rows.keys)?
        .with(address(scores)?)
        .with(y.address()?)
        .with(key_mask.map_or(Ok(0), address)?)
        .size(rows.all_keys)
        .real(scale)
        .size(rows.keys)
        .size(rows.heads * rows.queries)
        .size(rows.queries)
        .signed(reach)
        .with(u64::from(causal))
        .size(rows.all_queries)
        .size(rows.first_query)
        .size(rows.all_keys)
        .dropout(dropout)
        .size(count);
    timed(scores, "attention: softmax", passes(scores, 2), || run(device, &launch))?;
    Ok(y)
}

/// The gradient of the scores, from the probabilities before dropout and the gradient of those after it.
///
/// # Errors
/// If the device fails.
pub(super) fn score_gradient(
    probabilities: &Tensor,
    gradient: &Tensor,
    scale: f64,
    rows: Rows,
    dropout: Option<&DropoutMask>,
) -> Result<Buffer> {
    let device = gradient.device();
    let dx = Buffer::new(device, gradient.shape(), gradient.dtype())?;
    let count = gradient.elem_count() / rows.keys;
    let launch = Launch::rows_or_warps("softmax_gradient", gradient.dtype(), count, rows.keys)?
        .with(address(probabilities)?)
        .with(address(gradient)?)
        .with(dx.address()?)
        .real(scale)
        .size(rows.keys)
        .size(rows.queries)
        .size(rows.all_queries)
        .size(rows.first_query)
        .size(rows.all_keys)
        .dropout(dropout)
        .size(count);
    timed(gradient, "attention: softmax, gradient", passes(gradient, 3), || run(device, &launch))?;
    Ok(dx)
}

/// See [`crate::masked_softmax`]; shapes were checked by the caller.
///
/// # Errors
/// If the device fails.
pub fn masked_softmax(scores: &Tensor, scale: f64, mask: &MaskSpec) -> Result<Tensor> {
    let scores = scores.contiguous()?;
    let (_, h, t, s) = scores.dims4()?;
    let rows = Rows::all(h, t, s);
    let keys = mask.keys.as_ref().map(Tensor::contiguous).transpose()?;
    let y = probabilities(&scores, scale, (mask.causal, keys.as_ref()), rows, None)?;
    tracked1(&scores, y, Softmax { scale, rows })
}

struct Softmax {
    scale: f64,
    rows: Rows,
}

impl Backward<1> for Softmax {
    const NAME: &'static str = "masked softmax";

    fn backward(&self, _: [&Tensor; 1], y: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 1]> {
        Ok([Some(score_gradient(y, dy, self.scale, self.rows, None)?.into_tensor())])
    }
}
