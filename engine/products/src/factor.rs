//! The numbers that are multiplied, and which way each of them goes.

use crate::{LEAST_SIDE, Matrix, MatrixMut, Paired, elsewhere, instructions, paired};

/// A number of which matrices are multiplied.
pub trait Factor: Copy + 'static {
    /// `out = a b`, or `out += a b`; the shapes fit.
    #[doc(hidden)]
    fn multiply(out: MatrixMut<'_, Self>, a: Matrix<'_, Self>, b: Matrix<'_, Self>, accumulate: bool);
}

impl Factor for f32 {
    fn multiply(out: MatrixMut<'_, Self>, a: Matrix<'_, Self>, b: Matrix<'_, Self>, accumulate: bool) {
        #[cfg(target_arch = "x86_64")]
        if instructions::has_wide_vectors() && is_for_panels(&out, a) && lies_turned(a) {
            return crate::panels::singles(out, a, b, accumulate);
        }
        elsewhere::product(out, a, b, accumulate);
    }
}

impl Factor for f64 {
    fn multiply(out: MatrixMut<'_, Self>, a: Matrix<'_, Self>, b: Matrix<'_, Self>, accumulate: bool) {
        elsewhere::product(out, a, b, accumulate);
    }
}

impl Factor for Paired {
    fn multiply(out: MatrixMut<'_, Self>, a: Matrix<'_, Self>, b: Matrix<'_, Self>, accumulate: bool) {
        let (out, a, b) = (paired::singles_mut(out), paired::singles(a), paired::singles(b));
        #[cfg(target_arch = "x86_64")]
        if instructions::multiplies_pairs() && is_for_panels(&out, a) {
            return crate::panels::pairs(out, a, b, accumulate);
        }
        f32::multiply(out, a, b, accumulate);
    }
}

/// Whether rows of the left factor lie beside each other, as in a product that gives the gradient of weights. Where they do not,
/// `gemm` is as fast (`rates.rs` measures it).
#[cfg(target_arch = "x86_64")]
fn lies_turned(a: Matrix<'_, f32>) -> bool {
    a.row_stride == 1 && a.column_stride > 1
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
    T::multiply(out, a, b, accumulate);
}
