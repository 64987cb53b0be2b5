//! The numbers that are multiplied, and which way each of them goes.

use crate::{LEAST_SIDE, Matrix, MatrixMut, Paired, Start, elsewhere, instructions};

/// A number of which matrices are multiplied.
pub trait Factor: Copy + 'static {
    /// `out = start + a b`; the shapes fit.
    #[doc(hidden)]
    fn multiply(out: MatrixMut<'_, Self>, a: Matrix<'_, Self>, b: Matrix<'_, Self>, start: Start<'_, Self>);
}

impl Factor for f32 {
    fn multiply(out: MatrixMut<'_, Self>, a: Matrix<'_, Self>, b: Matrix<'_, Self>, start: Start<'_, Self>) {
        #[cfg(target_arch = "x86_64")]
        if instructions::has_wide_vectors() && is_for_panels(&out, a) {
            return crate::panels::singles(out, a, b, start);
        }
        elsewhere::product(out, a, b, start);
    }
}

impl Factor for f64 {
    fn multiply(out: MatrixMut<'_, Self>, a: Matrix<'_, Self>, b: Matrix<'_, Self>, start: Start<'_, Self>) {
        elsewhere::product(out, a, b, start);
    }
}

impl Factor for Paired {
    fn multiply(out: MatrixMut<'_, Self>, a: Matrix<'_, Self>, b: Matrix<'_, Self>, start: Start<'_, Self>) {
        let (out, a, b, start) = (out.singles(), a.singles(), b.singles(), start.singles());
        #[cfg(target_arch = "x86_64")]
        if instructions::multiplies_pairs() && is_for_panels(&out, a) {
            return crate::panels::pairs(out, a, b, start);
        }
        f32::multiply(out, a, b, start);
    }
}

#[cfg(target_arch = "x86_64")]
fn is_for_panels(out: &MatrixMut<'_, f32>, a: Matrix<'_, f32>) -> bool {
    out.rows.min(out.columns) >= LEAST_SIDE && a.columns > 0
}

/// `out = a b`, or `out += a b` where `accumulate` is set, on the calling thread.
///
/// # Panics
/// If the shapes do not fit.
pub fn product<T: Factor>(out: MatrixMut<'_, T>, a: Matrix<'_, T>, b: Matrix<'_, T>, accumulate: bool) {
    product_on(out, a, b, Start::adding(accumulate));
}

/// `out = start + a b`, on the calling thread.
///
/// # Panics
/// If the shapes do not fit.
pub fn product_on<T: Factor>(out: MatrixMut<'_, T>, a: Matrix<'_, T>, b: Matrix<'_, T>, start: Start<'_, T>) {
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
    if let Start::Row(row) = start {
        assert_eq!(row.len(), out.columns, "row that a product of {} columns starts with", out.columns);
    }
    T::multiply(out, a, b, start);
}
