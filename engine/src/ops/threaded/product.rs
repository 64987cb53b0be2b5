//! Matrix products over threads.

use rayon::prelude::*;

use crate::ops::kernels::{Matrix, MatrixMut, Real, product};

/// The most pieces that one product is cut into.
const MOST_PIECES: usize = 8;
/// Multiplications that are worth a task of their own.
const PIECE_WORK: usize = 1 << 23;
/// The narrowest piece: below this the other operand is packed too often for what is computed with it.
const PIECE_SIDE: usize = 64;
/// Pieces are multiples of this, which the blocks of `gemm` divide.
const PIECE_STEP: usize = 48;

/// `out = a b`, or `out += a b`, cut along the longer side of the output.
///
/// The cut depends on the shape only. (`gemm` chooses its blocking, and with it the order of additions, by the shape
/// that it is given: a cut by the number of threads could change the last bits.)
pub fn parallel_product<T: Real>(out: MatrixMut<'_, T>, a: Matrix<'_, T>, b: Matrix<'_, T>, accumulate: bool) {
    let (rows, columns) = (out.rows(), out.columns());
    let side = rows.max(columns);
    let work = rows * columns * a.columns();
    let pieces = (work / PIECE_WORK).min(side / PIECE_SIDE).clamp(1, MOST_PIECES);
    if pieces == 1 {
        product(out, a, b, accumulate);
        return;
    }
    let size = side.div_ceil(pieces).next_multiple_of(PIECE_STEP);
    let mut parts = Vec::with_capacity(pieces);
    let (mut rest, mut first) = (out, 0);
    while first < side {
        let count = size.min(side - first);
        let part;
        if rows >= columns {
            (part, rest) = rest.split_rows(count);
            parts.push((part, a.row_block(first, count), b));
        } else {
            (part, rest) = rest.split_columns(count);
            parts.push((part, a, b.column_block(first, count)));
        }
        first += count;
    }
    parts.into_par_iter().for_each(|(out, a, b)| product(out, a, b, accumulate));
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
    pub fn new(data: &'a [T], dims: [usize; 4], strides: [usize; 4]) -> Self {
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
        let start = (index / heads) * batch_stride + (index % heads) * head_stride;
        Matrix::new(self.data.get(start..).unwrap_or(&[]), rows, columns, row_stride, column_stride)
    }
}

/// `out[b, h] = x[b, h] y[b, h]` for every batch and head, a task each; `out` is contiguous.
pub fn batched_product<T: Real>(out: &mut [T], x: Batch<'_, T>, y: Batch<'_, T>) {
    let [batch, heads, rows, _] = x.dims;
    let columns = y.dims[3];
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
