//! The Gaussian error linear unit, x Φ(x) (Hendrycks and Gimpel, 2016), and its tanh form.

use super::Real;
use super::dispatch::vectorised;

/// sqrt(2 / pi).
const SLOPE: f64 = 0.797_884_560_802_865_4;
/// The cubic coefficient of the tanh form.
const CUBIC: f64 = 0.044_715;
/// Beyond this the tanh is one to the last bit; the clamp keeps cubes from overflowing.
const LIMIT: f64 = 30.0;

vectorised! {
    /// `y = x Φ(x)`.
    pub fn gelu_exact<T>(xs: &[T], ys: &mut [T]) {
        for (y, &x) in ys.iter_mut().zip(xs) {
            *y = x * x.normal().0;
        }
    }
}

vectorised! {
    /// `dx = dy (Φ(x) + x φ(x))`.
    pub fn gelu_exact_gradient<T>(xs: &[T], dys: &[T], dxs: &mut [T]) {
        for ((dx, &x), &dy) in dxs.iter_mut().zip(xs).zip(dys) {
            let (cumulative, density) = x.normal();
            *dx = dy * (cumulative + x * density);
        }
    }
}

vectorised! {
    /// `y = x (1 + tanh(u)) / 2 = x / (1 + e^(-2u))` with `u = sqrt(2/pi) (x + 0.044715 x³)`.
    pub fn gelu_tanh<T>(xs: &[T], ys: &mut [T]) {
        for (y, &x) in ys.iter_mut().zip(xs) {
            *y = x * gate(x).0;
        }
    }
}

vectorised! {
    /// `dx = dy (s + 2 x s (1 - s) du/dx)` with `s = 1 / (1 + e^(-2u))`.
    pub fn gelu_tanh_gradient<T>(xs: &[T], dys: &[T], dxs: &mut [T]) {
        for ((dx, &x), &dy) in dxs.iter_mut().zip(xs).zip(dys) {
            let (s, slope) = gate(x);
            *dx = dy * (s + x * slope);
        }
    }
}

vectorised! {
    /// `y = x Φ(x)`, and in the place of `x` the slope `Φ(x) + x φ(x)` that the backward pass multiplies with.
    pub fn gelu_exact_with_slope<T>(xs: &mut [T], ys: &mut [T]) {
        for (y, x) in ys.iter_mut().zip(xs) {
            let (cumulative, density) = x.normal();
            *y = *x * cumulative;
            *x = cumulative + *x * density;
        }
    }
}

vectorised! {
    /// `y` as [`gelu_tanh`] gives it, and in the place of `x` its slope.
    pub fn gelu_tanh_with_slope<T>(xs: &mut [T], ys: &mut [T]) {
        for (y, x) in ys.iter_mut().zip(xs) {
            let (s, slope) = gate(*x);
            *y = *x * s;
            *x = s + *x * slope;
        }
    }
}

/// The gate `s(x) = 1 / (1 + e^(-2u))` and its slope.
#[expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]
#[inline(always)]
fn gate<T: Real>(x: T) -> (T, T) {
    let limit = T::of(LIMIT);
    let x = if x > limit { limit } else { x };
    let x = if x < -limit { -limit } else { x };
    let square = x * x;
    let minus_two_u = T::of(-2.0 * SLOPE) * x * (T::ONE + T::of(CUBIC) * square);
    let s = T::ONE / (T::ONE + minus_two_u.exponential());
    let two_u_slope = T::of(2.0 * SLOPE) * (T::ONE + T::of(3.0 * CUBIC) * square);
    (s, s * (T::ONE - s) * two_u_slope)
}
