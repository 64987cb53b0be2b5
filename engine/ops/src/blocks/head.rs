use std::sync::Mutex;

use candle_core::{D, DType, Result, Tensor, bail};

use super::open::{Number, has_blocks, taken};
use crate::element::{Products, Reading, by_numbers, tensor};
use crate::kernels::Real as _;
use crate::profile::{Work, span};
use crate::threaded::{HeadGradients, HeadLoss, Slab};
use crate::tracked::{Backward, Computed, tracked1};
use crate::{Gradients, IGNORED_LABEL};

/// A head that compares hidden states with every row of a table, and what it should find.
#[derive(Clone, Debug)]
pub struct HeadParts {
    /// `[v, d]`
    pub table: Tensor,
    /// `[v]`
    pub bias: Option<Tensor>,
    /// The token that each row should give, or [`IGNORED_LABEL`].
    pub labels: Vec<i64>,
    /// Share e of each label that is spread evenly over the whole vocabulary, 0..1: the loss of a row becomes
    /// `(1 - e) (-log p[label]) + e mean(-log p)`. An evaluation leaves it out.
    pub smoothing: f64,
    /// What matrix products are made of.
    pub products: Products,
}

/// Sums over the rows that have a label.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeadResult {
    /// Cross-entropy in nats.
    pub loss_sum: f64,
    /// Rows with a label.
    pub labelled: usize,
    /// Rows whose most probable token is the label.
    pub correct: usize,
    /// Cross-entropy of each row with a label, and whether its most probable token is the label.
    pub rows: Vec<(f64, bool)>,
}

/// The mean cross-entropy in nats of a head over the rows that have a label; zero if none has. Its gradients are
/// computed with it, so that logits exist for some rows at a time only.
///
/// # Shapes
/// `hidden` `[.., d]` of as many rows as there are labels; result a scalar.
///
/// # Errors
/// If `hidden` is not for blocks ([`has_blocks`]), a label is past the table, or the shapes do not fit.
pub fn head_loss(hidden: &Tensor, parts: HeadParts, gradients: Option<&Gradients>) -> Result<Tensor> {
    check(hidden, &parts)?;
    let hidden = hidden.contiguous()?;
    by_numbers!(hidden.dtype(), parts.products, T => {
        let (vocabulary, width) = parts.table.dims2()?;
        let product = Work::product::<T>(parts.labels.len(), width, vocabulary);
        let work = product.times(if gradients.is_some() { 3 } else { 1 });
        let (sums, found) = span("head and loss", work, || {
            with_head(&parts, Reading::of(&hidden).slice::<T>()?, |head| head.forward(gradients.is_some()))
        })?;
        let loss = Computed::values(vec![T::of(sums.mean_loss())], ());
        tracked1(&hidden, loss, HeadOp::<T> { parts, gradients: gradients.cloned(), state: Mutex::new(found) })
    })
}

/// How well a head does, without a graph and without ever holding all logits.
///
/// # Errors
/// As [`head_loss`].
pub fn head_evaluation(hidden: &Tensor, parts: &HeadParts) -> Result<HeadResult> {
    check(hidden, parts)?;
    let hidden = hidden.contiguous()?;
    by_numbers!(hidden.dtype(), parts.products, T => {
        let values = Reading::of(&hidden);
        // Of labels as they are.
        let evaluated = |head: &HeadLoss<'_, T>| HeadLoss { smoothing: 0.0, ..*head }.forward(false);
        let (sums, _) = with_head(parts, values.slice::<T>()?, evaluated)?;
        Ok(HeadResult { loss_sum: sums.loss, labelled: sums.counted, correct: sums.correct, rows: sums.rows })
    })
}

fn check(hidden: &Tensor, parts: &HeadParts) -> Result<()> {
    let width = hidden.dim(D::Minus1)?;
    let rows = hidden.elem_count().checked_div(width).unwrap_or(0);
    let (vocabulary, columns) = parts.table.dims2()?;
    if !has_blocks(hidden) || parts.table.dtype() != hidden.dtype() {
        bail!("A head with its loss takes f32 and f64 on the CPU.")
    }
    if columns != width || parts.labels.len() != rows {
        bail!(
            "A head with a table of shape {:?} and {} labels does not fit hidden states of shape {:?}.",
            parts.table.shape(),
            parts.labels.len(),
            hidden.shape()
        )
    }
    if !(0.0..1.0).contains(&parts.smoothing) {
        bail!("Labels are smoothed by a share from 0 to below 1, not by {}.", parts.smoothing)
    }
    if let Some(bias) = parts.bias.as_ref().filter(|bias| bias.dims() != [vocabulary]) {
        bail!("A head over {vocabulary} tokens has a bias of shape {:?}.", bias.shape())
    }
    let is_legal = |label: i64| label == IGNORED_LABEL || usize::try_from(label).is_ok_and(|label| label < vocabulary);
    if let Some((row, label)) = parts.labels.iter().enumerate().find(|&(_, &label)| !is_legal(label)) {
        bail!("Label {label} of row {row} is outside of the vocabulary, which has {vocabulary} entries.")
    }
    Ok(())
}

fn with_head<T: Number, R>(parts: &HeadParts, hidden: &[T], f: impl FnOnce(&HeadLoss<'_, T>) -> R) -> Result<R> {
    let table = Reading::of(&parts.table);
    let bias = parts.bias.as_ref().map(Reading::of);
    let width = parts.table.dim(1)?;
    Ok(f(&HeadLoss {
        hidden: Slab::dense(hidden, width),
        table: table.slice()?,
        bias: bias.as_ref().map(Reading::slice).transpose()?,
        labels: &parts.labels,
        smoothing: parts.smoothing,
    }))
}

struct HeadOp<T: Number> {
    parts: HeadParts,
    gradients: Option<Gradients>,
    state: Mutex<Option<HeadGradients<T>>>,
}

impl<T: Number> Backward<1> for HeadOp<T> {
    const NAME: &'static str = "head with loss";

    fn backward(&self, [hidden]: [&Tensor; 1], _: &Tensor, gradient: &Tensor) -> Result<[Option<Tensor>; 1]> {
        let Some(gradients) = &self.gradients else { bail!("A head without a set of gradients cannot go backward.") };
        let mut found = taken(&self.state)?;
        let factor = gradient.to_dtype(DType::F64)?.to_scalar::<f64>()?;
        if factor != 1.0 {
            found.scale(factor);
        }
        if let Some(mut guard) = gradients.guard(&self.parts.table)
            && let Some(mut slot) = guard.slot::<T>()
        {
            span("head and loss, gradient", Work::pass::<T>(3 * found.table.len()), || slot.add(&found.table));
        }
        if let Some(mut guard) = self.parts.bias.as_ref().and_then(|bias| gradients.guard(bias))
            && let Some(mut slot) = guard.slot::<T>()
        {
            slot.add(&found.bias);
        }
        Ok([Some(tensor(found.hidden, hidden.shape())?)])
    }
}
