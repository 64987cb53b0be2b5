//! The loss of language modelling.

use std::sync::{Arc, OnceLock};

use candle_core::{CpuStorage, CustomOp1, DType, Layout, Result, Shape, Tensor, bail};

use super::composed;
use super::element::{Element, Reading, by_dtype, is_fused, output, slice, tensor};
use super::threaded;

/// The label of a position that does not count.
pub const IGNORED_LABEL: i64 = -100;

/// The mean of `-log softmax(logits)[label]` in nats over the rows whose label is not [`IGNORED_LABEL`]; zero if none
/// counts. Of the forward pass only one number a row is kept.
///
/// # Shapes
/// `logits` `[n, v]`, `labels` `[n]` of type `i64`; result a scalar.
///
/// # Errors
/// If a label is neither [`IGNORED_LABEL`] nor in `0..v`, or the shapes or types do not fit.
pub fn cross_entropy(logits: &Tensor, labels: &Tensor) -> Result<Tensor> {
    let (rows, width) = logits.dims2()?;
    if labels.dims() != [rows] || labels.dtype() != DType::I64 {
        bail!(
            "The labels of logits of shape {:?} must be of shape [{rows}] and type I64, not {:?} and {:?}.",
            logits.shape(),
            labels.shape(),
            labels.dtype()
        )
    }
    let labels = labels.to_vec1::<i64>()?;
    let is_legal = |label: i64| label == IGNORED_LABEL || usize::try_from(label).is_ok_and(|label| label < width);
    if let Some((row, label)) = labels.iter().enumerate().find(|&(_, &label)| !is_legal(label)) {
        bail!("Label {label} of row {row} is outside of the vocabulary, which has {width} entries.")
    }
    if !is_fused(logits) {
        return composed::cross_entropy(logits, &labels);
    }
    let op = CrossEntropyOp { labels: labels.into(), width, log_sum_exp: OnceLock::new() };
    logits.contiguous()?.apply_op1(op)
}

struct CrossEntropyOp {
    labels: Arc<[i64]>,
    width: usize,
    /// Set by the forward pass.
    log_sum_exp: OnceLock<Vec<f64>>,
}

impl CrossEntropyOp {
    fn forward<T: Element>(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let result = threaded::cross_entropy::<T>(slice(storage, layout)?, &self.labels, self.width);
        self.log_sum_exp.get_or_init(|| result.log_sum_exp);
        Ok(output(vec![<T as candle_core::WithDType>::from_f64(result.loss)], ()))
    }
}

impl CustomOp1 for CrossEntropyOp {
    fn name(&self) -> &'static str {
        "cross-entropy"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        match storage {
            CpuStorage::F64(_) => self.forward::<f64>(storage, layout),
            _ => self.forward::<f32>(storage, layout),
        }
    }

    fn bwd(&self, logits: &Tensor, _: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        let gradient = gradient.to_dtype(DType::F64)?.to_scalar::<f64>()?;
        let Some(log_sum_exp) = self.log_sum_exp.get() else {
            bail!("The backward pass of cross-entropy came before its forward pass.")
        };
        by_dtype!(logits.dtype(), T => {
            let values = Reading::of(logits);
            let dx = threaded::cross_entropy_backward::<T>(
                values.slice()?,
                &self.labels,
                log_sum_exp,
                self.width,
                gradient,
            );
            Ok(Some(tensor(dx, logits.shape())?))
        })
    }
}
