//! The loss of language modelling.

use std::sync::{Mutex, PoisonError};

use candle_core::{Result, Tensor, bail};

use super::{
    buffer::{Buffer, address},
    columns::{add_bias, column_sums},
    device::{passes, run, timed},
    launch::{Launch, wide},
};
use crate::tracked::{Backward, tracked1, tracked2, tracked3};
use crate::{IGNORED_LABEL, profile::Work};

/// See [`crate::cross_entropy()`]; labels were checked by the caller.
///
/// # Errors
/// If the device fails.
pub fn cross_entropy(logits: &Tensor, labels: &[i64]) -> Result<Tensor> {
    let logits = logits.contiguous()?;
    let (rows, width) = logits.dims2()?;
    let (loss, rows, _) = Rows::judged(&logits, labels, [rows, width, width])?;
    tracked1(&logits, loss, CrossEntropy(rows))
}

/// The same without a graph, with the losses of the rows, zero for those that do not count.
///
/// # Errors
/// If the device fails.
pub fn cross_entropy_by_row(logits: &Tensor, labels: &[i64]) -> Result<(Tensor, Tensor)> {
    let logits = logits.contiguous()?;
    let (rows, width) = logits.dims2()?;
    let (loss, _, losses) = Rows::judged(&logits, labels, [rows, width, width])?;
    Ok((loss.into_tensor(), losses.into_tensor()))
}

/// See [`crate::vocabulary_loss`]; labels were checked by the caller. Rows of logits are made of whole eights, since the
/// vendor's products are several times slower where rows begin at odd places, and become their gradients where they lie.
///
/// # Errors
/// If the device fails.
pub fn vocabulary_loss(hidden: &Tensor, table: &Tensor, bias: Option<&Tensor>, labels: &[i64]) -> Result<Tensor> {
    let (hidden, table) = (hidden.contiguous()?, table.contiguous()?);
    let ((count, inputs), width) = (hidden.dims2()?, table.dim(0)?);
    let stride = width.next_multiple_of(8);
    let whole_table = lengthened(&table, stride)?;
    let sizes = [1, count, inputs, stride];
    let work = Work::product_of(hidden.dtype().size_in_bytes(), [count, inputs, width]);
    let logits = timed(&hidden, "head: logits", work, || {
        Buffer::product(&hidden.detach(), &whole_table.t()?, sizes, (count, stride))
    })?;
    let bias = bias.map(Tensor::contiguous).transpose()?;
    if let Some(bias) = &bias {
        add_bias(&logits, count * stride, &lengthened(bias, stride)?)?;
    }
    let logits = logits.into_tensor();
    let (loss, rows, _) = Rows::judged(&logits, labels, [count, width, stride])?;
    let head = Head { rows, whole_table, logits: Mutex::new(Some(logits)) };
    match &bias {
        Some(bias) => tracked3([&hidden, &table, bias], loss, head),
        None => tracked2([&hidden, &table], loss, head),
    }
}

/// A table with rows of zeros behind it, without a graph.
fn lengthened(table: &Tensor, rows: usize) -> Result<Tensor> {
    let table = table.detach();
    let missing = rows - table.dim(0)?;
    if missing == 0 {
        return Ok(table);
    }
    let mut shape = table.dims().to_vec();
    shape[0] = missing;
    Tensor::cat(&[&table, &Tensor::zeros(shape, table.dtype(), table.device())?], 0)
}

/// What is kept of the rows of logits.
struct Rows {
    /// `[rows]` of `i64`
    labels: Tensor,
    /// `[rows]`
    log_sum_exp: Tensor,
    inverse_count: f64,
    width: usize,
    stride: usize,
}

impl Rows {
    /// The loss of so many rows of `width` logits, each `stride` numbers after the one before; and the losses of the rows.
    fn judged(logits: &Tensor, labels: &[i64], [rows, width, stride]: [usize; 3]) -> Result<(Buffer, Self, Buffer)> {
        let (device, dtype) = (logits.device(), logits.dtype());
        let counted = labels.iter().filter(|&&label| label != IGNORED_LABEL).count();
        let inverse_count = 1.0 / counted.max(1) as f64;
        let labels = Tensor::from_slice(labels, rows, device)?;
        let log_sum_exp = Buffer::new(device, rows, wide(dtype))?;
        let losses = Buffer::new(device, rows, wide(dtype))?;
        let launch = Launch::rows("cross_entropy", dtype, rows, width)?
            .with(address(logits)?)
            .with(address(&labels)?)
            .with(log_sum_exp.address()?)
            .with(losses.address()?)
            .size(width)
            .size(stride);
        timed(logits, "loss", passes(logits, 1), || run(device, &launch))?;
        let loss = Buffer::new(device, (), wide(dtype))?;
        let launch = Launch::grid("mean", wide(dtype), [1, 1])?
            .with(losses.address()?)
            .with(loss.address()?)
            .size(rows)
            .real(inverse_count);
        run(device, &launch)?;
        let kept = Self { labels, log_sum_exp: log_sum_exp.into_tensor(), inverse_count, width, stride };
        Ok((loss, kept, losses))
    }

    /// Writes the gradient of the logits, which may be where they are, from that of the loss.
    fn gradient(&self, logits: &Tensor, gradient: &Tensor, dx: u64) -> Result<()> {
        let launch = Launch::rows("cross_entropy_gradient", logits.dtype(), self.labels.elem_count(), self.width)?
            .with(address(logits)?)
            .with(address(&self.labels)?)
            .with(address(&self.log_sum_exp)?)
            .with(address(gradient)?)
            .with(dx)
            .size(self.width)
            .size(self.stride)
            .real(self.inverse_count);
        timed(logits, "loss, gradient", passes(logits, 2), || run(logits.device(), &launch))
    }
}

struct CrossEntropy(Rows);

impl Backward<1> for CrossEntropy {
    const NAME: &'static str = "cross-entropy";

    fn backward(&self, [logits]: [&Tensor; 1], _: &Tensor, gradient: &Tensor) -> Result<[Option<Tensor>; 1]> {
        let dx = Buffer::new(logits.device(), logits.shape(), logits.dtype())?;
        self.0.gradient(logits, gradient, dx.address()?)?;
        Ok([Some(dx.into_tensor())])
    }
}

struct Head {
    rows: Rows,
    /// `[stride, inputs]`
    whole_table: Tensor,
    /// Until they become their gradient. `[rows, stride]`
    logits: Mutex<Option<Tensor>>,
}

impl Head {
    fn gradients(&self, hidden: &Tensor, table: &Tensor, gradient: &Tensor) -> Result<(Tensor, [Option<Tensor>; 2])> {
        let logits = self.logits.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(logits) = logits else { bail!("The loss of a head can go backward once.") };
        self.rows.gradient(&logits, gradient, address(&logits)?)?;
        let slopes = logits;
        let sizes = [hidden.dim(0)?, hidden.dim(1)?, self.rows.width];
        let work = Work::product_of(hidden.dtype().size_in_bytes(), sizes);
        let name = "head: gradients";
        let dx = || timed(hidden, name, work, || slopes.matmul(&self.whole_table));
        let dw = || {
            let whole = timed(hidden, name, work, || slopes.t()?.matmul(&hidden.detach()))?;
            whole.narrow(0, 0, self.rows.width)
        };
        let gradients = [hidden.track_op().then(dx).transpose()?, table.track_op().then(dw).transpose()?];
        Ok((slopes, gradients))
    }
}

impl Backward<2> for Head {
    const NAME: &'static str = "loss of a head";

    fn backward(&self, [hidden, table]: [&Tensor; 2], _: &Tensor, gradient: &Tensor) -> Result<[Option<Tensor>; 2]> {
        Ok(self.gradients(hidden, table, gradient)?.1)
    }
}

impl Backward<3> for Head {
    const NAME: &'static str = "loss of a head with bias";

    fn backward(
        &self,
        [hidden, table, bias]: [&Tensor; 3],
        _: &Tensor,
        gradient: &Tensor,
    ) -> Result<[Option<Tensor>; 3]> {
        let (slopes, [dx, dw]) = self.gradients(hidden, table, gradient)?;
        let db =
            if bias.track_op() { Some(column_sums(&slopes, None)?.0.narrow(0, 0, self.rows.width)?) } else { None };
        Ok([dx, dw, db])
    }
}
