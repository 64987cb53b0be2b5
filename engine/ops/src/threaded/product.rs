//! Matrix products over threads.

use rayon::prelude::*;

use headroom_products::LEAST_SIDE;

use crate::kernels::{Matrix, MatrixMut, Real, Start, product, product_on};

/// Pieces for each thread. One: every piece copies what it is made of.
const PIECES_PER_THREAD: usize = 1;
/// Multiplications that are worth a task of their own.
const PIECE_WORK: usize = 1 << 21;
/// The narrowest piece. It must exceed 64: `gemm` takes another way for outputs up to 64 by 64.
const PIECE_SIDE: usize = 96;
/// Pieces are multiples of this, the last one aside: rows and columns of some tiles.
const PIECE_STEP: [usize; 2] = [24, 32];

/// `out = a b`, or `out += a b`, in pieces.
pub fn parallel_product<T: Real>(out: MatrixMut<'_, T>, a: Matrix<'_, T>, b: Matrix<'_, T>, accumulate: bool) {
    in_pieces(out, a, b, Start::adding(accumulate));
}

/// `out = a b + bias`, the bias added to every row.
///
/// # Panics
/// If the shapes do not fit.
pub fn parallel_product_with_bias<T: Real>(out: MatrixMut<'_, T>, a: Matrix<'_, T>, b: Matrix<'_, T>, bias: &[T]) {
    assert_eq!(bias.len(), out.columns(), "bias of a product of {} columns", out.columns());
    in_pieces(out, a, b, Start::Row(bias));
}

/// The product on top of a start, in one piece for each of some tasks.
///
/// An element of the output is the same sum in the same order however the output is cut: the inner dimension is cut by its
/// length alone, unless an output is tiny, and pieces never are. Tests hold one thread against
/// several, bit for bit.
fn in_pieces<T: Real>(out: MatrixMut<'_, T>, a: Matrix<'_, T>, b: Matrix<'_, T>, start: Start<'_, T>) {
    let (rows, columns) = (out.rows(), out.columns());
    let threads = rayon::current_num_threads();
    let pieces = if threads == 1 || rows.min(columns) < LEAST_SIDE {
        1
    } else {
        let worth = rows.saturating_mul(columns).saturating_mul(a.columns()) / PIECE_WORK;
        (threads * PIECES_PER_THREAD).min(worth)
    };
    let [of_rows, of_columns] = grid([rows, columns], pieces);
    if of_rows * of_columns == 1 {
        product_on(out, a, b, start);
        return;
    }
    let mut parts = Vec::with_capacity(of_rows * of_columns);
    let mut rest = out;
    for (first_row, below) in cuts(rows, of_rows, PIECE_STEP[0]) {
        let mut strip;
        (strip, rest) = rest.split_rows(below);
        for (first_column, beside) in cuts(columns, of_columns, PIECE_STEP[1]) {
            let part;
            (part, strip) = strip.split_columns(beside);
            let factors = (a.row_block(first_row, below), b.column_block(first_column, beside));
            parts.push((part, factors, start.columns(first_column, beside)));
        }
    }
    parts.into_par_iter().with_max_len(1).for_each(|(out, (a, b), start)| product_on(out, a, b, start));
}

/// Into how many pieces the rows and the columns of an output are cut: as many in all as are not too narrow, at most `most`, and of the
/// ways to cut into so many the one for which least is copied. A piece copies its rows of the left factor and its columns of the right one.
fn grid(sides: [usize; 2], most: usize) -> [usize; 2] {
    let is_wide = |(side, pieces): (usize, usize)| pieces == 1 || side / pieces >= PIECE_SIDE;
    let ways = |pieces: usize| {
        (1..=pieces)
            .filter(move |of_rows| pieces.is_multiple_of(*of_rows))
            .map(move |of_rows| [of_rows, pieces / of_rows])
    };
    let fits = |way: &[usize; 2]| sides.into_iter().zip(*way).all(is_wide);
    let copied = |[of_rows, of_columns]: &[usize; 2]| of_rows * sides[1] + of_columns * sides[0];
    let best = |pieces: usize| ways(pieces).filter(fits).min_by_key(copied);
    (2..=most).rev().find_map(best).unwrap_or([1, 1])
}

/// The first and the number of rows or columns of each of so many pieces, of which [`grid`] found that none is narrow; all but the last
/// one are multiples of a step.
fn cuts(side: usize, pieces: usize, step: usize) -> impl Iterator<Item = (usize, usize)> {
    let even = side.div_ceil(pieces).next_multiple_of(step);
    let is_last_wide = (pieces - 1) * even + PIECE_SIDE <= side;
    let size = if is_last_wide { even } else { side / pieces / step * step };
    (0..pieces).map(move |piece| {
        let first = piece * size;
        (first, if piece + 1 == pieces { side - first } else { size })
    })
}

/// `batch * heads` matrices to read, with any strides.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a, T> {
    data: &'a [T],
    dims: [usize; 4],
    strides: [usize; 4],
}

impl<'a, T: Real> Batch<'a, T> {
    /// A view of `data`, which starts at the first element, as `[batch, heads, rows, columns]`.
    ///
    /// # Panics
    /// If the last element lies outside of `data`.
    pub fn new(data: &'a [T], dims: [usize; 4], strides: [usize; 4]) -> Self {
        check_strides("matrices of heads", data.len(), dims, strides);
        Self { data, dims, strides }
    }

    /// Batch, heads, rows, columns.
    pub fn dims(&self) -> [usize; 4] {
        self.dims
    }

    /// Rows and columns of each matrix exchanged.
    pub fn transposed(self) -> Self {
        let ([b, h, r, c], [sb, sh, sr, sc]) = (self.dims, self.strides);
        Self { dims: [b, h, c, r], strides: [sb, sh, sc, sr], ..self }
    }

    /// The matrix of head `index % heads` of batch `index / heads`.
    fn matrix(&self, index: usize) -> Matrix<'a, T> {
        let [_, heads, rows, columns] = self.dims;
        let [batch_stride, head_stride, row_stride, column_stride] = self.strides;
        // Without elements there is no place where they begin.
        let start =
            if rows * columns == 0 { 0 } else { (index / heads) * batch_stride + (index % heads) * head_stride };
        Matrix::new(self.data.split_at(start).1, rows, columns, row_stride, column_stride)
    }
}

/// Fails unless the last element of `[batch, heads, rows, columns]` with these strides lies inside of `length` elements.
pub(super) fn check_strides(name: &str, length: usize, dims: [usize; 4], strides: [usize; 4]) {
    let last: usize = dims.iter().zip(strides).map(|(dim, stride)| dim.saturating_sub(1) * stride).sum();
    assert!(
        dims.contains(&0) || last < length,
        "{name}: {dims:?} with strides {strides:?} need more than {length} elements"
    );
}

/// `out[b, h] = x[b, h] y[b, h]` for every batch and head, a task each; `out` is contiguous.
///
/// # Panics
/// If the shapes do not fit.
pub fn batched_product<T: Real>(out: &mut [T], x: Batch<'_, T>, y: Batch<'_, T>) {
    let ([batch, heads, rows, inner], columns) = (x.dims, y.dims[3]);
    assert_eq!(y.dims, [batch, heads, inner, columns], "second factor of a product of heads with {:?}", x.dims);
    assert_eq!(out.len(), batch * heads * rows * columns, "result of a product of heads {:?} {:?}", x.dims, y.dims);
    if rows * columns == 0 {
        return;
    }
    if batch * heads == 1 {
        parallel_product(MatrixMut::new(out, rows, columns), x.matrix(0), y.matrix(0), false);
        return;
    }
    out.par_chunks_mut(rows * columns).enumerate().for_each(|(index, out)| {
        product(MatrixMut::new(out, rows, columns), x.matrix(index), y.matrix(index), false);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_cut_so_that_least_is_copied() {
        assert_eq!(grid([2048, 1024], 1), [1, 1]);
        assert_eq!(grid([2048, 1024], 2), [2, 1]);
        assert_eq!(grid([1024, 8192], 2), [1, 2]);
        assert_eq!(grid([2048, 2048], 16), [4, 4]);
        assert_eq!(grid([2048, 256], 8), [8, 1]);
        assert_eq!(grid([4096, 512], 16), [8, 2]);
        // Too narrow for as many as there are threads.
        assert_eq!(grid([256, 256], 5), [2, 2]);
        assert_eq!(grid([100, 100], 8), [1, 1]);
        assert_eq!(grid([0, 300], 2), [1, 2]);
    }

    #[test]
    fn cuts_leave_nothing_out_and_no_piece_is_narrow() {
        for (side, pieces, step) in [
            (256, 2, 32),
            (2048, 2, 24),
            (300, 3, 24),
            (8192, 7, 32),
            (192, 2, 24),
            (193, 2, 24),
            (200, 2, 32),
            (97, 1, 24),
        ] {
            let cuts: Vec<(usize, usize)> = cuts(side, pieces, step).collect();
            assert_eq!(cuts.len(), pieces);
            let mut next = 0;
            for &(first, count) in &cuts {
                assert_eq!(first, next);
                assert!(count >= PIECE_SIDE, "{side} in {pieces}: {count}");
                next += count;
            }
            assert_eq!(next, side);
        }
        assert_eq!(cuts(256, 2, 32).collect::<Vec<_>>(), [(0, 128), (128, 128)]);
    }
}
