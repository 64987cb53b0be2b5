//! From hidden states to the mean cross-entropy over a vocabulary, without ever holding all logits.

use super::buffer::{Buffer, Pooled};
use super::rows::{Rows, Slab};
use super::{parallel_product, parallel_product_with_bias};
use crate::kernels::{
    self, Matrix, MatrixMut, cross_entropy_gradient_in_place, index_of_largest, log_sum_exp, part_mut,
};

/// Rows whose logits exist at the same time inside of one operation.
pub const HEAD_ROWS: usize = 1024;

/// A head whose matrix is a table of one row for each token.
#[derive(Clone, Copy, Debug)]
pub struct HeadLoss<'a, T> {
    /// `[rows, width]`
    pub hidden: Slab<'a, T>,
    /// `[vocabulary, width]`
    pub table: &'a [T],
    /// `[vocabulary]`
    pub bias: Option<&'a [T]>,
    /// The token that each row should give, below the vocabulary; negative: the row does not count.
    pub labels: &'a [i64],
    /// Share of each label that is spread evenly over the vocabulary.
    pub smoothing: f64,
}

/// Sums over the rows that count.
#[derive(Clone, Debug, Default)]
pub struct HeadSums {
    /// Of `-log softmax(logits)[label]`, in nats, smoothed where that is wanted.
    pub loss: f64,
    /// How many rows count.
    pub counted: usize,
    /// At how many of them the label has the largest logit; counted only where no gradients are wanted.
    pub correct: usize,
    /// Loss of each row that counts, and whether its label has the largest logit; only where no gradients are wanted.
    pub rows: Vec<(f64, bool)>,
}

impl HeadSums {
    /// The mean loss; zero if no row counts.
    pub fn mean_loss(&self) -> f64 {
        if self.counted == 0 { 0.0 } else { self.loss / self.counted as f64 }
    }
}

/// The gradients of the mean loss.
#[derive(Debug)]
pub struct HeadGradients<T: Pooled> {
    /// `[rows, width]`
    pub hidden: Vec<T>,
    /// `[vocabulary, width]`
    pub table: Buffer<T>,
    /// `[vocabulary]`; empty without a bias.
    pub bias: Vec<T>,
}

impl<T: Pooled> HeadGradients<T> {
    /// Multiplies all of them, as the chain rule wants where the loss is not the last thing computed.
    pub fn scale(&mut self, factor: f64) {
        for part in [&mut self.hidden[..], &mut self.table[..], &mut self.bias[..]] {
            super::scale(part, factor);
        }
    }
}

/// What one row gives.
#[derive(Clone, Copy, Default)]
struct RowResult {
    loss: f64,
    is_correct: bool,
}

impl<T: Pooled> HeadLoss<'_, T> {
    /// The sums, and with `wants_gradients` the gradients of the mean: computed at once, chunk by chunk, since logits
    /// would otherwise be kept or computed twice.
    pub fn forward(&self, wants_gradients: bool) -> (HeadSums, Option<HeadGradients<T>>) {
        let (rows, width) = (self.hidden.rows(), self.hidden.width());
        let vocabulary = self.table.len() / width.max(1);
        assert_eq!(self.table.len(), vocabulary * width, "table of a head: rows of {width}");
        assert_eq!(self.labels.len(), rows, "labels of a head");
        assert!(self.bias.is_none_or(|bias| bias.len() == vocabulary), "bias of a head: {vocabulary}");
        assert!(self.labels.iter().all(|&label| label < vocabulary as i64), "labels of a head: below {vocabulary}");
        let counted = self.labels.iter().filter(|&&label| label >= 0).count();
        let mut gradients = wants_gradients.then(|| HeadGradients {
            hidden: vec![T::ZERO; rows * width],
            table: Buffer::take(vocabulary * width),
            bias: vec![T::ZERO; if self.bias.is_some() { vocabulary } else { 0 }],
        });
        let table = Matrix::row_major(self.table, vocabulary, width);
        let scale = T::of(1.0 / counted.max(1) as f64);
        let mut sums = HeadSums { counted, ..HeadSums::default() };
        if rows == 0
            && let Some(gradients) = &mut gradients
        {
            gradients.table.fill(T::ZERO);
        }
        let mut logits = Rows::take(HEAD_ROWS.min(rows), vocabulary);
        let mut results = vec![RowResult::default(); HEAD_ROWS.min(rows)];
        for first in (0..rows).step_by(HEAD_ROWS) {
            let count = HEAD_ROWS.min(rows - first);
            if count < results.len() {
                logits = Rows::take(count, vocabulary);
                results.truncate(count);
            }
            let hidden = self.hidden.matrix().row_block(first, count);
            match self.bias {
                Some(bias) => parallel_product_with_bias(logits.output(), hidden, table.transposed(), bias),
                None => parallel_product(logits.output(), hidden, table.transposed(), false),
            }
            let labels = self.labels.split_at(first).1;
            logits.for_each_row_and(&mut results, |row, logits, result| {
                let label = usize::try_from(labels[row]).ok();
                *result = row_result(logits, label, wants_gradients.then_some(scale), self.smoothing);
            });
            for result in &results {
                sums.loss += result.loss;
                sums.correct += usize::from(result.is_correct);
            }
            if !wants_gradients {
                let counting = labels.iter().zip(&results).filter(|(label, _)| **label >= 0);
                sums.rows.extend(counting.map(|(_, result)| (result.loss, result.is_correct)));
            }
            if let Some(gradients) = &mut gradients {
                let dlogits = logits.view().matrix();
                let part = part_mut(&mut gradients.hidden, first * width, count * width);
                parallel_product(MatrixMut::new(part, count, width), dlogits, table, false);
                let sum = MatrixMut::new(&mut gradients.table, vocabulary, width);
                parallel_product(sum, dlogits.transposed(), hidden, first > 0);
                if self.bias.is_some() {
                    kernels::add_assign(&mut gradients.bias, &logits.view().column_sums());
                }
            }
        }
        (sums, gradients)
    }
}

/// The loss of one row, whose label was checked; its logits become their gradient if there is a scale.
fn row_result<T: Pooled>(logits: &mut [T], label: Option<usize>, scale: Option<T>, smoothing: f64) -> RowResult {
    let Some(label) = label else {
        if scale.is_some() {
            logits.fill(T::ZERO);
        }
        return RowResult::default();
    };
    let logit = logits[label];
    // What the label stands for: the logit of its token, or of all tokens by their shares.
    let target = if smoothing > 0.0 {
        let mean = logits.iter().map(|logit| logit.as_f64()).sum::<f64>() / logits.len() as f64;
        (1.0 - smoothing) * logit.as_f64() + smoothing * mean
    } else {
        logit.as_f64()
    };
    let Some(scale) = scale else {
        let is_correct = index_of_largest(logits) == label;
        return RowResult { loss: log_sum_exp(logits) - target, is_correct };
    };
    let log_sum = cross_entropy_gradient_in_place(logits, scale);
    let mut at_label = scale;
    if smoothing > 0.0 {
        let even = T::of(scale.as_f64() * smoothing / logits.len() as f64);
        for gradient in logits.iter_mut() {
            *gradient += -even;
        }
        at_label = T::of(scale.as_f64() * (1.0 - smoothing));
    }
    logits[label] += -at_label;
    RowResult { loss: log_sum - target, is_correct: false }
}
