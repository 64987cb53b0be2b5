//! The one door to the `gemm` crate.
#![expect(unsafe_code, reason = "gemm takes pointers; the views hold what makes its calls sound")]

use crate::{Matrix, MatrixMut, Start};

/// `out = start + a b`; the shapes fit.
pub fn product<T: Gemm>(mut out: MatrixMut<'_, T>, a: Matrix<'_, T>, b: Matrix<'_, T>, start: Start<'_, T>) {
    if let Start::Row(row) = start {
        out.fill_rows(row);
    }
    let accumulate = !matches!(start, Start::Zeros);
    // SAFETY: `Matrix::new` and `MatrixMut::new` checked that every element of the views lies in its slice, blocks
    // only shrink them, and the caller has compared the shapes. The output is not shared: `MatrixMut` is exclusive.
    // `Gemm` is implemented for `f32` and `f64` only, which `gemm` knows.
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

/// A number that `gemm` knows.
pub trait Gemm: Copy + 'static {
    /// 1.
    const ONE: Self;
}

impl Gemm for f32 {
    const ONE: Self = 1.0;
}

impl Gemm for f64 {
    const ONE: Self = 1.0;
}
