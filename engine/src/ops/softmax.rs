//! Softmax over attention scores, with its scale and its mask.

use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp1, DType, Layout, Result, Shape, Tensor, bail};

use super::composed;
use super::element::{Element, Reading, by_dtype, is_fused, output, slice, tensor};
use super::threaded::{self, SoftmaxShape};

/// Which keys each query may attend to.
#[derive(Clone, Debug, Default)]
pub struct MaskSpec {
    /// Whether key `j` is visible to query `i` only where `j <= i + (s - t)`: the last query sees every key.
    pub causal: bool,
    /// `[b, s]` of `u8`: one where a key may be attended to, zero where no query sees it (padding).
    pub keys: Option<Tensor>,
}

/// `softmax(scale * scores)` over the visible keys.
///
/// What is hidden gets a probability of exactly zero, whatever its score; a row that sees nothing is all zeros.
///
/// # Shapes
/// `scores` `[b, h, t, s]`; result the same.
///
/// # Errors
/// If the mask is not `u8` of shape `[b, s]`.
pub fn masked_softmax(scores: &Tensor, scale: f64, mask: &MaskSpec) -> Result<Tensor> {
    let (b, h, t, s) = scores.dims4()?;
    if let Some(keys) = &mask.keys {
        if keys.dims() != [b, s] || keys.dtype() != DType::U8 {
            bail!(
                "The key mask of scores of shape {:?} must be of shape [{b}, {s}] and type U8, not {:?} and {:?}.",
                scores.shape(),
                keys.shape(),
                keys.dtype()
            )
        }
    }
    if !is_fused(scores) {
        return composed::masked_softmax(scores, scale, mask);
    }
    let keys = match &mask.keys {
        Some(keys) => Some(keys.flatten_all()?.to_vec1::<u8>()?.into()),
        None => None,
    };
    let op = MaskedSoftmax { scale, causal: mask.causal, keys, rows_per_batch: h * t, queries: t, width: s };
    scores.contiguous()?.apply_op1(op)
}

/// Softmax over the last dimension, without a mask.
///
/// # Errors
/// If `x` has no dimension or the element type is not a floating-point one.
pub fn softmax(x: &Tensor) -> Result<Tensor> {
    let Some((&s, leading)) = x.dims().split_last() else { bail!("Softmax needs at least one dimension.") };
    let rows: usize = leading.iter().product();
    masked_softmax(&x.reshape((1, 1, rows, s))?, 1.0, &MaskSpec::default())?.reshape(x.shape())
}

struct MaskedSoftmax {
    scale: f64,
    causal: bool,
    /// `[b, s]`.
    keys: Option<Arc<[u8]>>,
    /// Heads times queries.
    rows_per_batch: usize,
    queries: usize,
    /// Keys.
    width: usize,
}

impl MaskedSoftmax {
    fn forward<T: Element>(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let shape = SoftmaxShape {
            rows_per_batch: self.rows_per_batch,
            queries: self.queries,
            keys: self.width,
            causal: self.causal,
            visible_keys: self.keys.as_deref(),
        };
        Ok(output(threaded::softmax::<T>(slice(storage, layout)?, self.scale, shape), layout.shape()))
    }
}

impl CustomOp1 for MaskedSoftmax {
    fn name(&self) -> &'static str {
        "masked softmax"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        match storage {
            CpuStorage::F64(_) => self.forward::<f64>(storage, layout),
            _ => self.forward::<f32>(storage, layout),
        }
    }

    fn bwd(&self, scores: &Tensor, probabilities: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        let gradient = gradient.contiguous()?;
        by_dtype!(scores.dtype(), T => {
            let (probabilities, gradient) = (Reading::of(probabilities), Reading::of(&gradient));
            let dx = threaded::softmax_backward::<T>(
                probabilities.slice()?,
                gradient.slice()?,
                self.scale,
                self.width,
            );
            Ok(Some(tensor(dx, scores.shape())?))
        })
    }
}
