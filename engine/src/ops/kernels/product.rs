//! Matrix products over strided views: the one door to the `gemm` crate.
#![expect(unsafe_code, reason = "gemm takes pointers; the views here hold what makes its calls sound")]

use std::marker::PhantomData;

use super::Real;

/// A matrix to read: any two strides over a slice.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a, T> {
    data: &'a [T],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a, T> Matrix<'a, T> {
    /// `rows` by `columns` elements of `data` at `row * row_stride + column * column_stride`.
    ///
    /// # Panics
    /// If the last element lies outside of `data`.
    pub fn new(data: &'a [T], rows: usize, columns: usize, row_stride: usize, column_stride: usize) -> Self {
        assert!(
            rows == 0 || columns == 0 || (rows - 1) * row_stride + (columns - 1) * column_stride < data.len(),
            "a matrix of {rows} x {columns} with strides {row_stride}, {column_stride} needs more than {} elements",
            data.len()
        );
        Self { data, rows, columns, row_stride, column_stride }
    }

    /// All of `data`, row after row.
    pub fn row_major(data: &'a [T], rows: usize, columns: usize) -> Self {
        Self::new(data, rows, columns, columns, 1)
    }

    /// Rows and columns exchanged.
    pub fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// `count` rows from `first`.
    pub fn row_block(self, first: usize, count: usize) -> Self {
        assert!(first + count <= self.rows, "rows {first}..{} of {}", first + count, self.rows);
        // Without elements there is no place where they begin.
        let start = if count == 0 || self.columns == 0 { 0 } else { first * self.row_stride };
        Self { data: self.data.split_at(start).1, rows: count, ..self }
    }

    /// `count` columns from `first`.
    pub fn column_block(self, first: usize, count: usize) -> Self {
        self.transposed().row_block(first, count).transposed()
    }
}

/// A row-major matrix to write, or a block of columns or rows of one.
#[derive(Debug)]
pub struct MatrixMut<'a, T> {
    data: *mut T,
    rows: usize,
    columns: usize,
    row_stride: usize,
    owner: PhantomData<&'a mut [T]>,
}

// SAFETY: a `MatrixMut` is the only way to its elements for as long as it lives, like the `&mut [T]` it came from:
// splitting consumes it and gives parts without a common element.
unsafe impl<T: Send> Send for MatrixMut<'_, T> {}

impl<T: Copy> MatrixMut<'_, T> {
    /// Writes `row` into every row.
    ///
    /// # Panics
    /// If it does not have as many elements.
    pub fn fill_rows(&mut self, row: &[T]) {
        assert_eq!(row.len(), self.columns, "a row of {} columns was given {} elements", self.columns, row.len());
        for index in 0..self.rows {
            // SAFETY: the elements of a row lie side by side inside of the slice that `self` was made of, which is
            // exclusively its own; `row` is another slice.
            unsafe {
                std::ptr::copy_nonoverlapping(row.as_ptr(), self.data.add(index * self.row_stride), self.columns);
            }
        }
    }
}

impl<'a, T> MatrixMut<'a, T> {
    /// All of `data`, row after row.
    ///
    /// # Panics
    /// If `data` does not have `rows * columns` elements.
    pub fn new(data: &'a mut [T], rows: usize, columns: usize) -> Self {
        assert_eq!(data.len(), rows * columns, "the output has another size than its shape");
        Self { data: data.as_mut_ptr(), rows, columns, row_stride: columns, owner: PhantomData }
    }

    /// `rows` by `columns` elements of `data`, each row `row_stride` after the one before.
    ///
    /// # Panics
    /// If the rows overlap, or the last element lies outside of `data`.
    pub fn strided(data: &'a mut [T], rows: usize, columns: usize, row_stride: usize) -> Self {
        assert!(columns <= row_stride || rows <= 1, "rows of {columns} elements, {row_stride} apart, overlap");
        assert!(
            rows == 0 || columns == 0 || (rows - 1) * row_stride + columns <= data.len(),
            "an output of {rows} x {columns} with a row stride of {row_stride} needs more than {} elements",
            data.len()
        );
        Self { data: data.as_mut_ptr(), rows, columns, row_stride, owner: PhantomData }
    }

    /// The same elements, lent for a while.
    pub fn lend(&mut self) -> MatrixMut<'_, T> {
        MatrixMut { owner: PhantomData, ..*self }
    }

    /// `count` rows from `first`, lent for a while.
    pub fn lend_rows(&mut self, first: usize, count: usize) -> MatrixMut<'_, T> {
        self.lend().split_rows(first).1.split_rows(count).0
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The rows before `at`, and the rest.
    pub fn split_rows(self, at: usize) -> (Self, Self) {
        assert!(at <= self.rows, "row {at} of {}", self.rows);
        let below = self.data.wrapping_add(at * self.row_stride);
        (Self { rows: at, ..self }, Self { data: below, rows: self.rows - at, ..self })
    }

    /// The columns before `at`, and the rest.
    pub fn split_columns(self, at: usize) -> (Self, Self) {
        assert!(at <= self.columns, "column {at} of {}", self.columns);
        let right = self.data.wrapping_add(at);
        (Self { columns: at, ..self }, Self { data: right, columns: self.columns - at, ..self })
    }
}

/// `out = a b`, or `out += a b` where `accumulate` is set, on the calling thread.
///
/// # Panics
/// If the shapes do not fit.
pub fn product<T: Real>(out: MatrixMut<'_, T>, a: Matrix<'_, T>, b: Matrix<'_, T>, accumulate: bool) {
    assert!(
        out.rows == a.rows && out.columns == b.columns && a.columns == b.rows,
        "a {} x {} matrix times a {} x {} matrix does not give {} x {}",
        a.rows,
        a.columns,
        b.rows,
        b.columns,
        out.rows,
        out.columns
    );
    // SAFETY: `Matrix::new` and `MatrixMut::new` checked that every element of the views lies in its slice, blocks
    // only shrink them, and the shapes fit as asserted above. The output is not shared: `MatrixMut` is exclusive.
    // `Real` is implemented for `f32` and `f64` only, which `gemm` knows.
    unsafe {
        gemm::gemm(
            out.rows,
            out.columns,
            a.columns,
            out.data,
            1,
            out.row_stride as isize,
            accumulate,
            a.data.as_ptr(),
            a.column_stride as isize,
            a.row_stride as isize,
            b.data.as_ptr(),
            b.column_stride as isize,
            b.row_stride as isize,
            T::ONE,
            T::ONE,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize) -> Vec<f64> {
        (0..count).map(|i| ((i * 7919) % 101) as f64 - 50.0).collect()
    }

    fn naive(a: Matrix<'_, f64>, b: Matrix<'_, f64>) -> Vec<f64> {
        let mut out = Vec::new();
        for i in 0..a.rows {
            for j in 0..b.columns {
                out.push(
                    (0..a.columns)
                        .map(|k| {
                            a.data[i * a.row_stride + k * a.column_stride]
                                * b.data[k * b.row_stride + j * b.column_stride]
                        })
                        .sum(),
                );
            }
        }
        out
    }

    #[test]
    fn strides_transposes_and_blocks_are_respected() {
        let (x, y) = (numbers(200), numbers(300));
        // Whole numbers: every order of additions gives the same sum.
        let a = Matrix::new(&x, 7, 5, 20, 3);
        let b = Matrix::new(&y, 9, 5, 30, 2).transposed();
        let mut out = vec![1.0; 63];
        product(MatrixMut::new(&mut out, 7, 9), a, b, false);
        assert_eq!(out, naive(a, b));
        product(MatrixMut::new(&mut out, 7, 9), a, b, true);
        assert_eq!(out, naive(a, b).iter().map(|v| 2.0 * v).collect::<Vec<_>>());

        let mut parts = vec![0.0; 63];
        let (left, right) = MatrixMut::new(&mut parts, 7, 9).split_columns(4);
        product(left, a, b.column_block(0, 4), false);
        let (top, bottom) = right.split_rows(3);
        product(top, a.row_block(0, 3), b.column_block(4, 5), false);
        product(bottom, a.row_block(3, 4), b.column_block(4, 5), false);
        assert_eq!(parts, naive(a, b));
    }

    #[test]
    fn nothing_to_sum_gives_zeros() {
        let mut out = vec![3.0_f32; 6];
        product(MatrixMut::new(&mut out, 2, 3), Matrix::row_major(&[], 2, 0), Matrix::row_major(&[], 0, 3), false);
        assert_eq!(out, [0.0; 6]);
    }

    #[test]
    #[should_panic(expected = "needs more than")]
    fn a_view_past_its_slice_is_refused() {
        let _ = Matrix::new(&[0.0_f32; 10], 3, 4, 4, 1);
    }
}
