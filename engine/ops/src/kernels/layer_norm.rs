//! Layer normalisation of one row (Ba, Kiros and Hinton, 2016).

use super::dispatch::vectorised;
use super::lanes;

vectorised! {
    /// `y = (x - mean) / sqrt(variance + epsilon) * gain + bias` over one row.
    pub fn layer_norm_row<T>(xs: &[T], gain: &[T], bias: &[T], epsilon: T, ys: &mut [T]) {
        let (mean, inverse_deviation) = moments(xs, epsilon);
        for (((y, &x), &g), &b) in ys.iter_mut().zip(xs).zip(gain).zip(bias) {
            *y = (x - mean) * inverse_deviation * g + b;
        }
    }
}

vectorised! {
    /// Adds one row to the gradients of gain and bias, and writes the row's own gradient where `dxs` has room for it
    /// (an empty `dxs` asks for none).
    ///
    /// With `n = (x - mean) / deviation` and `e = dy * gain`: `dx = (e - mean(e) - n mean(e n)) / deviation`,
    /// `dgain += dy n`, `dbias += dy`.
    pub fn layer_norm_gradient_row<T>(
        xs: &[T],
        gain: &[T],
        dys: &[T],
        epsilon: T,
        dxs: &mut [T],
        dgain: &mut [T],
        dbias: &mut [T],
    ) {
        let (mean, inverse_deviation) = moments(xs, epsilon);
        for (((dg, db), &x), &dy) in dgain.iter_mut().zip(dbias.iter_mut()).zip(xs).zip(dys) {
            *dg += dy * ((x - mean) * inverse_deviation);
            *db += dy;
        }
        if dxs.is_empty() {
            return;
        }
        // The two means over the row, of e and of e n; e is kept in dx.
        for ((dx, &dy), &g) in dxs.iter_mut().zip(dys).zip(gain) {
            *dx = dy * g;
        }
        let count = T::of(xs.len() as f64);
        let mean_e = lanes::sum(dxs, |e| e) / count;
        let mean_en = lanes::sum2(dxs, xs, |e, x| e * ((x - mean) * inverse_deviation)) / count;
        for (dx, &x) in dxs.iter_mut().zip(xs) {
            let n = (x - mean) * inverse_deviation;
            *dx = inverse_deviation * (*dx - mean_e - n * mean_en);
        }
    }
}

/// The mean and the inverse deviation, in two passes so that a large mean costs no digits.
#[expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]
#[inline(always)]
fn moments<T: super::Real>(xs: &[T], epsilon: T) -> (T, T) {
    let count = T::of(xs.len() as f64);
    let mean = lanes::sum(xs, |x| x) / count;
    let variance = lanes::sum(xs, |x| (x - mean) * (x - mean)) / count;
    (mean, T::ONE / (variance + epsilon).square_root())
}
