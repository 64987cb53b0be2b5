//! One `AdamW` update of a slice (Loshchilov and Hutter, 2019).

use super::Real;
use super::dispatch::vectorised;

/// What is the same for every element of one parameter in one step.
#[derive(Clone, Copy, Debug)]
pub struct AdamWScalars<T> {
    /// What the gradient is multiplied with first: clipping, accumulation.
    pub gradient_scale: T,
    /// β₁.
    pub beta1: T,
    /// 1 - β₁.
    pub one_minus_beta1: T,
    /// β₂.
    pub beta2: T,
    /// 1 - β₂.
    pub one_minus_beta2: T,
    /// 1 / sqrt(1 - β₂^t).
    pub inverse_sqrt_correction2: T,
    /// ε, added after the square root.
    pub epsilon: T,
    /// learning rate / (1 - β₁^t).
    pub step_size: T,
    /// 1 - learning rate * decay; one without decay.
    pub shrink: T,
}

impl<T: Real> AdamWScalars<T> {
    /// From the same in double precision.
    pub fn of(s: &AdamWScalars<f64>) -> Self {
        Self {
            gradient_scale: T::of(s.gradient_scale),
            beta1: T::of(s.beta1),
            one_minus_beta1: T::of(s.one_minus_beta1),
            beta2: T::of(s.beta2),
            one_minus_beta2: T::of(s.one_minus_beta2),
            inverse_sqrt_correction2: T::of(s.inverse_sqrt_correction2),
            epsilon: T::of(s.epsilon),
            step_size: T::of(s.step_size),
            shrink: T::of(s.shrink),
        }
    }
}

vectorised! {
    /// With `g` scaled first: `m = β₁ m + (1-β₁) g`, `v = β₂ v + (1-β₂) g²`, `p = shrink p - step_size m / (sqrt(v) / sqrt(1-β₂^t) + ε)`.
    pub fn adamw<T>(ps: &mut [T], gs: &[T], ms: &mut [T], vs: &mut [T], s: &AdamWScalars<T>) {
        for (((p, &g), m), v) in ps.iter_mut().zip(gs).zip(ms).zip(vs) {
            let g = s.gradient_scale * g;
            *m = s.beta1 * *m + s.one_minus_beta1 * g;
            *v = s.beta2 * *v + s.one_minus_beta2 * (g * g);
            let denominator = (*v).square_root() * s.inverse_sqrt_correction2 + s.epsilon;
            *p = *p * s.shrink - s.step_size * *m / denominator;
        }
    }
}
