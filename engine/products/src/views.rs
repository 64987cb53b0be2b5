//! Matrices over slices: any strides to read, rows to write.
#![expect(unsafe_code, reason = "blocks of columns of one slice cannot be slices")]

use std::marker::PhantomData;

use crate::paired::{Paired, slice_of_singles};

/// A matrix to read: any two strides over a slice.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) row_stride: usize,
    pub(crate) column_stride: usize,
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

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
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

impl<'a> Matrix<'a, Paired> {
    /// The same elements as what they are made of.
    pub(crate) fn singles(self) -> Matrix<'a, f32> {
        let Self { data, rows, columns, row_stride, column_stride } = self;
        Matrix { data: slice_of_singles(data), rows, columns, row_stride, column_stride }
    }
}

/// A row-major matrix to write, or a block of columns or rows of one.
#[derive(Debug)]
pub struct MatrixMut<'a, T> {
    pub(crate) data: *mut T,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) row_stride: usize,
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

impl<'a> MatrixMut<'a, Paired> {
    /// The same elements as what they are made of.
    pub(crate) fn singles(self) -> MatrixMut<'a, f32> {
        let Self { data, rows, columns, row_stride, owner: _ } = self;
        MatrixMut { data: data.cast(), rows, columns, row_stride, owner: PhantomData }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "needs more than")]
    fn a_view_past_its_slice_is_refused() {
        let _ = Matrix::new(&[0.0_f32; 10], 3, 4, 4, 1);
    }
}
