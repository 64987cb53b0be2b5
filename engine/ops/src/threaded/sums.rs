//! Sums over rows in a fixed order.

use rayon::prelude::*;

use crate::kernels::{Real, add_assign};

/// Rows whose sum is one partial result.
const ROWS: usize = 64;

/// The sum of the rows of a matrix with `width` columns.
///
/// # Panics
/// If it is no whole number of rows.
pub fn column_sums<T: Real>(xs: &[T], width: usize) -> Vec<T> {
    if width == 0 {
        return Vec::new();
    }
    assert!(xs.len().is_multiple_of(width), "matrix of {width} columns in {} elements", xs.len());
    let partial: Vec<Vec<T>> = xs
        .par_chunks(ROWS * width)
        .map(|rows| {
            let mut sums = vec![T::ZERO; width];
            for row in rows.chunks_exact(width) {
                add_assign(&mut sums, row);
            }
            sums
        })
        .collect();
    in_order(partial, width)
}

/// The sum of vectors of one width, first to last.
///
/// # Panics
/// If one has another width.
pub fn in_order<T: Real>(partial: Vec<Vec<T>>, width: usize) -> Vec<T> {
    let mut partial = partial.into_iter();
    let mut sums = partial.next().unwrap_or_else(|| vec![T::ZERO; width]);
    for part in partial {
        assert_eq!(part.len(), sums.len(), "partial sum of {} columns", sums.len());
        add_assign(&mut sums, &part);
    }
    sums
}
