//! Masked softmax over attention scores.

use rayon::prelude::*;

use super::rows_per_chunk;
use crate::kernels::{Real, part, softmax_gradient_row, softmax_row};

/// The shape and mask of scores `[batch, heads, queries, keys]`.
#[derive(Clone, Copy, Debug)]
pub struct SoftmaxShape<'a> {
    /// Rows that belong to one batch element: heads times queries.
    pub rows_per_batch: usize,
    /// Queries.
    pub queries: usize,
    /// Keys, the length of a row.
    pub keys: usize,
    /// Whether key `j` is hidden from query `i` where `j > i + keys - queries`.
    pub causal: bool,
    /// `[batch, keys]`: zero where a key is hidden from every query.
    pub visible_keys: Option<&'a [u8]>,
}

impl SoftmaxShape<'_> {
    /// Fails unless the scores and the mask are as large as the sizes say.
    fn check(&self, scores: usize) {
        let Self { rows_per_batch, queries, keys, visible_keys, .. } = *self;
        assert!(
            rows_per_batch.is_multiple_of(queries.max(1)) && scores.is_multiple_of((rows_per_batch * keys).max(1)),
            "scores of a softmax: {scores} elements are no {rows_per_batch} rows of {queries} queries and {keys} keys"
        );
        if let Some(visible) = visible_keys.filter(|_| rows_per_batch > 0) {
            let expected = scores / rows_per_batch;
            assert_eq!(visible.len(), expected, "key mask of a softmax over {keys} keys");
        }
    }
}

/// `softmax(scale * scores)` of each row over its visible keys.
///
/// # Panics
/// If the shapes do not fit.
pub fn softmax<T: Real>(scores: &[T], scale: f64, shape: SoftmaxShape<'_>) -> Vec<T> {
    shape.check(scores.len());
    let mut probabilities = vec![T::ZERO; scores.len()];
    let width = shape.keys;
    if width == 0 {
        return probabilities;
    }
    let rows = rows_per_chunk(width);
    let tasks = probabilities.par_chunks_mut(rows * width).zip(scores.par_chunks(rows * width)).enumerate();
    tasks.for_each(|(task, (ys, xs))| {
        for (row, (y, x)) in ys.chunks_exact_mut(width).zip(xs.chunks_exact(width)).enumerate() {
            let row = task * rows + row;
            let visible = if shape.causal {
                // Without enough keys the first queries see none.
                (row % shape.queries + 1 + width).saturating_sub(shape.queries)
            } else {
                width
            };
            let batch = row / shape.rows_per_batch;
            let keys = shape.visible_keys.map(|keys| part(keys, batch * width, width));
            y.copy_from_slice(x);
            let _ = softmax_row(y, T::of(scale), visible, keys);
        }
    });
    probabilities
}

/// The gradient of the scores from the probabilities; hidden places get none since they are zero.
///
/// # Panics
/// If the shapes do not fit.
pub fn softmax_backward<T: Real>(probabilities: &[T], gradient: &[T], scale: f64, width: usize) -> Vec<T> {
    assert_eq!(gradient.len(), probabilities.len(), "gradient of the output of a softmax");
    assert!(gradient.len().is_multiple_of(width.max(1)), "probabilities: rows of {width} in {}", gradient.len());
    let mut dx = vec![T::ZERO; probabilities.len()];
    if width == 0 {
        return dx;
    }
    let chunk = rows_per_chunk(width) * width;
    dx.par_chunks_mut(chunk).zip(probabilities.par_chunks(chunk)).zip(gradient.par_chunks(chunk)).for_each(
        |((dx, y), dy)| {
            let rows = dx.chunks_exact_mut(width).zip(y.chunks_exact(width)).zip(dy.chunks_exact(width));
            for ((dx, y), dy) in rows {
                softmax_gradient_row(y, dy, T::of(scale), dx);
            }
        },
    );
    dx
}
