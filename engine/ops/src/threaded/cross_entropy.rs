//! Mean cross-entropy from logits, which keeps one number a row.

use rayon::prelude::*;

use super::rows_per_chunk;
use crate::kernels::{Real, cross_entropy_gradient, log_sum_exp};

/// The result of the forward pass.
#[derive(Debug)]
pub struct CrossEntropy {
    /// The mean over the rows that count; zero if none does.
    pub loss: f64,
    /// `log(sum(e^x))` of each row that counts, zero for the others.
    pub log_sum_exp: Vec<f64>,
}

/// The mean of `log(sum(e^x)) - x[label]` over the rows of `width` logits; a negative label leaves its row out. Labels
/// are below `width`.
///
/// # Panics
/// If the shapes do not fit.
pub fn cross_entropy<T: Real>(logits: &[T], labels: &[i64], width: usize) -> CrossEntropy {
    check(logits, labels, width);
    let log_sum_exp: Vec<f64> = logits
        .par_chunks(width.max(1))
        .zip(labels)
        .with_min_len(rows_per_chunk(width))
        .map(|(row, &label)| if label < 0 { 0.0 } else { log_sum_exp(row) })
        .collect();
    // One addition a row, in the order of the rows.
    let (mut total, mut count) = (0.0, 0_usize);
    for ((row, &label), &log_sum) in logits.chunks(width.max(1)).zip(labels).zip(&log_sum_exp) {
        if let Ok(label) = usize::try_from(label) {
            total += log_sum - row[label].as_f64();
            count += 1;
        }
    }
    CrossEntropy { loss: if count == 0 { 0.0 } else { total / count as f64 }, log_sum_exp }
}

/// Fails unless there is a label for each row, which is negative or names one of its logits.
fn check<T>(logits: &[T], labels: &[i64], width: usize) {
    assert_eq!(logits.len(), labels.len() * width, "logits of {} labels and {width} classes", labels.len());
    assert!(labels.iter().all(|&label| label < width as i64), "labels of a cross-entropy: below {width}");
}

/// The gradient of the logits, `gradient / count * (softmax(x) - one_hot(label))`; zero for rows that do not count.
///
/// # Panics
/// If the shapes do not fit.
pub fn cross_entropy_backward<T: Real>(
    logits: &[T],
    labels: &[i64],
    log_sum_exp: &[f64],
    width: usize,
    gradient: f64,
) -> Vec<T> {
    check(logits, labels, width);
    assert_eq!(log_sum_exp.len(), labels.len(), "normalisers of a cross-entropy");
    let mut dx = vec![T::ZERO; logits.len()];
    let count = labels.iter().filter(|&&label| label >= 0).count();
    let scale = T::of(gradient / count.max(1) as f64);
    dx.par_chunks_mut(width.max(1))
        .zip(logits.par_chunks(width.max(1)))
        .zip(labels)
        .zip(log_sum_exp)
        .with_min_len(rows_per_chunk(width))
        .for_each(|(((dx, x), &label), &log_sum)| {
            if let Ok(label) = usize::try_from(label) {
                cross_entropy_gradient(x, T::of(log_sum), scale, dx);
                dx[label] += -scale;
            }
        });
    dx
}
