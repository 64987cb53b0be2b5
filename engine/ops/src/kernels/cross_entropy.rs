//! The pieces of cross-entropy from logits for one row.

use super::dispatch::vectorised;
use super::lanes;

vectorised! {
    /// `log(sum(e^x))` over one row, in double precision after the sum.
    pub fn log_sum_exp<T>(xs: &[T]) -> f64 {
        let largest = lanes::largest(xs);
        let shift = if largest > T::NEG_INFINITY { largest } else { T::ZERO };
        let total = lanes::sum(xs, |x| (x - shift).exponential());
        shift.as_f64() + total.as_f64().ln()
    }
}

vectorised! {
    /// `x = scale * softmax(x)` over one row, in place, with one exponential an element; gives `log(sum(e^x))` of
    /// what was there.
    pub fn cross_entropy_gradient_in_place<T>(xs: &mut [T], scale: T) -> f64 {
        let largest = lanes::largest(xs);
        let shift = if largest > T::NEG_INFINITY { largest } else { T::ZERO };
        let total = lanes::sum_of_exponentials(xs, shift);
        let factor = scale / total;
        for x in xs {
            *x *= factor;
        }
        shift.as_f64() + total.as_f64().ln()
    }
}

vectorised! {
    /// The index of the first largest element, or zero if there is none.
    pub fn index_of_largest<T>(xs: &[T]) -> usize {
        let largest = lanes::largest(xs);
        xs.iter().position(|&x| x == largest).unwrap_or(0)
    }
}

vectorised! {
    /// `dx = scale * e^(x - log_sum_exp)`: the gradient of a row but for `-scale` at its label.
    pub fn cross_entropy_gradient<T>(xs: &[T], log_sum_exp: T, scale: T, dxs: &mut [T]) {
        for (dx, &x) in dxs.iter_mut().zip(xs) {
            *dx = scale * (x - log_sum_exp).exponential();
        }
    }
}
