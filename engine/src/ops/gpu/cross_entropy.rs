//! The loss of language modelling.

use candle_core::{Result, Tensor};

use super::{
    buffer::{Buffer, address},
    device::{passes, run, timed},
    launch::{Launch, wide},
};
use crate::ops::IGNORED_LABEL;
use crate::ops::tracked::{Backward, tracked1};

/// See [`crate::ops::cross_entropy()`]; labels were checked by the caller.
///
/// # Errors
/// If the device fails.
pub fn cross_entropy(logits: &Tensor, labels: &[i64]) -> Result<Tensor> {
    let logits = logits.contiguous()?;
    let (rows, width) = logits.dims2()?;
    let (device, dtype) = (logits.device(), logits.dtype());
    let counted = labels.iter().filter(|&&label| label != IGNORED_LABEL).count();
    let inverse_count = 1.0 / counted.max(1) as f64;
    let labels = Tensor::from_slice(labels, rows, device)?;
    let log_sum_exp = Buffer::new(device, rows, wide(dtype))?;
    let losses = Buffer::new(device, rows, wide(dtype))?;
    let launch = Launch::rows("cross_entropy", dtype, rows, width)?
        .with(address(&logits)?)
        .with(address(&labels)?)
        .with(log_sum_exp.address()?)
        .with(losses.address()?)
        .size(width);
    timed(&logits, "loss", passes(&logits, 1), || run(device, &launch))?;
    let loss = Buffer::new(device, (), wide(dtype))?;
    let launch = Launch::grid("mean", wide(dtype), [1, 1])?
        .with(losses.address()?)
        .with(loss.address()?)
        .size(rows)
        .real(inverse_count);
    run(device, &launch)?;
    tracked1(&logits, loss, CrossEntropy { labels, log_sum_exp: log_sum_exp.into_tensor(), inverse_count })
}

struct CrossEntropy {
    /// `[rows]` of `i64`
    labels: Tensor,
    /// `[rows]`
    log_sum_exp: Tensor,
    inverse_count: f64,
}

impl Backward<1> for CrossEntropy {
    const NAME: &'static str = "cross-entropy";

    fn backward(&self, [logits]: [&Tensor; 1], _: &Tensor, gradient: &Tensor) -> Result<[Option<Tensor>; 1]> {
        let (rows, width) = logits.dims2()?;
        let dx = Buffer::new(logits.device(), logits.shape(), logits.dtype())?;
        let launch = Launch::rows("cross_entropy_gradient", logits.dtype(), rows, width)?
            .with(address(logits)?)
            .with(address(&self.labels)?)
            .with(address(&self.log_sum_exp)?)
            .with(address(gradient)?)
            .with(dx.address()?)
            .size(width)
            .real(self.inverse_count);
        timed(logits, "loss, gradient", passes(logits, 2), || run(logits.device(), &launch))?;
        Ok([Some(dx.into_tensor())])
    }
}
