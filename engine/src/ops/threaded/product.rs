//! Matrix products over threads.

use rayon::prelude::*;

use headroom_products::LEAST_SIDE;

use crate::ops::kernels::{Matrix, MatrixMut, Real, part, product};

/// Pieces for each thread. One: every piece packs the other operand anew.
const PIECES_PER_THREAD: usize = 1;
/// Multiplications that are worth a task of their own.
const PIECE_WORK: usize = 1 << 21;
/// The narrowest piece. It must exceed 64: `gemm` takes another way for outputs up to 64 by 64.
const PIECE_SIDE: usize = 96;
/// Pieces are multiples of this: of tiles of products through panels, and of the blocks of `gemm`.
const PIECE_STEP: usize = 96;

/// `out = a b`, or `out += a b`, cut along the longer side of the output.
pub fn parallel_product<T: Real>(out: MatrixMut<'_, T>, a: Matrix<'_, T>, b: Matrix<'_, T>, accumulate: bool) {
    in_pieces(out, a, b, |_, _| (), accumulate);
}

/// `out = a b + bias`, the bias added to every row.
///
/// # Panics
/// If the shapes do not fit.
pub fn parallel_product_with_bias<T: Real>(out: MatrixMut<'_, T>, a: Matrix<'_, T>, b: Matrix<'_, T>, bias: &[T]) {
    assert_eq!(bias.len(), out.columns(), "bias of a product of {} columns", out.columns());
    let fill = |out: &mut MatrixMut<'_, T>, first_column: usize| {
        out.fill_rows(part(bias, first_column, out.columns()));
    };
    in_pieces(out, a, b, fill, true);
}

/// The product in one piece for each of some tasks; `prepare` is called with every piece and its first column.
///
/// An element of the output is the same sum in the same order however the output is cut: the inner dimension is cut by its
/// length alone, unless an output is tiny, and pieces never are. Tests hold one thread against
/// several, bit for bit.
fn in_pieces<T: Real>(
    out: MatrixMut<'_, T>,
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    prepare: impl Fn(&mut MatrixMut<'_, T>, usize) + Sync,
    accumulate: bool,
) {
    let (rows, columns) = (out.rows(), out.columns());
    let side = rows.max(columns);
    let threads = rayon::current_num_threads();
    let pieces = if threads == 1 || rows.min(columns) < LEAST_SIDE {
        1
    } else {
        let worth = rows.saturating_mul(columns).saturating_mul(a.columns()) / PIECE_WORK;
        (threads * PIECES_PER_THREAD).min(worth).min(side / PIECE_SIDE).max(1)
    };
    if pieces == 1 {
        let mut out = out;
        prepare(&mut out, 0);
        product(out, a, b, accumulate);
        return;
    }
    let size = side.div_ceil(pieces).next_multiple_of(PIECE_STEP);
    let mut parts = Vec::with_capacity(pieces);
    let (mut rest, mut first) = (out, 0);
    while first < side {
        // The last piece takes what would be too narrow after it.
        let count = if side - first < size + PIECE_SIDE { side - first } else { size };
        let part;
        if rows >= columns {
            (part, rest) = rest.split_rows(count);
            parts.push((part, 0, a.row_block(first, count), b));
        } else {
            (part, rest) = rest.split_columns(count);
            parts.push((part, first, a, b.column_block(first, count)));
        }
        first += count;
    }
    parts.into_par_iter().with_max_len(1).for_each(|(mut out, first_column, a, b)| {
        prepare(&mut out, first_column);
        product(out, a, b, accumulate);
    });
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
