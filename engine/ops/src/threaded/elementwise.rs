//! Whole slices, a chunk a task.

use rayon::prelude::*;

use super::CHUNK;
use crate::kernels::{self, AdamWScalars, DropoutMask, Real};

/// `y = kernel(x)`.
pub fn map<T: Real>(x: &[T], kernel: fn(&[T], &mut [T])) -> Vec<T> {
    let mut y = vec![T::ZERO; x.len()];
    y.par_chunks_mut(CHUNK).zip(x.par_chunks(CHUNK)).for_each(|(y, x)| kernel(x, y));
    y
}

/// `dx = kernel(x, dy)`.
///
/// # Panics
/// If `dy` has another size.
pub fn map_gradient<T: Real>(x: &[T], dy: &[T], kernel: fn(&[T], &[T], &mut [T])) -> Vec<T> {
    assert_eq!(dy.len(), x.len(), "gradient of the output of an elementwise operation");
    let mut dx = vec![T::ZERO; x.len()];
    dx.par_chunks_mut(CHUNK)
        .zip(x.par_chunks(CHUNK))
        .zip(dy.par_chunks(CHUNK))
        .for_each(|((dx, x), dy)| kernel(x, dy, dx));
    dx
}

/// Inverted dropout by a mask; see [`DropoutMask`].
pub fn dropout<T: Real>(x: &[T], mask: &DropoutMask) -> Vec<T> {
    let mut y = vec![T::ZERO; x.len()];
    y.par_chunks_mut(CHUNK).zip(x.par_chunks(CHUNK)).enumerate().for_each(|(task, (y, x))| {
        y.copy_from_slice(x);
        mask.apply(y, task * CHUNK);
    });
    y
}

/// `x *= factor`.
pub fn scale<T: Real>(x: &mut [T], factor: f64) {
    x.par_chunks_mut(CHUNK).for_each(|x| kernels::scale(x, T::of(factor)));
}

/// `x = value`.
pub fn fill<T: Real>(x: &mut [T], value: T) {
    x.par_chunks_mut(CHUNK).for_each(|x| x.fill(value));
}

/// `sums += x`.
///
/// # Panics
/// If `x` has another size.
pub fn add_assign<T: Real>(sums: &mut [T], x: &[T]) {
    assert_eq!(x.len(), sums.len(), "what is added to a tensor");
    sums.par_chunks_mut(CHUNK).zip(x.par_chunks(CHUNK)).for_each(|(sums, x)| kernels::add_assign(sums, x));
}

/// The sum of squares in double precision, added chunk by chunk.
pub fn sum_of_squares<T: Real>(x: &[T]) -> f64 {
    let partial: Vec<f64> = x.par_chunks(CHUNK).map(kernels::sum_of_squares).collect();
    partial.iter().sum()
}

/// Whether there is neither NaN nor infinity.
pub fn all_finite<T: Real>(x: &[T]) -> bool {
    // A zero times anything finite is zero; times anything else it is NaN.
    x.par_chunks(CHUNK).all(|x| x.iter().all(|&x| x * T::ZERO == T::ZERO))
}

/// One `AdamW` update of a parameter; see [`kernels::adamw`].
///
/// # Panics
/// If gradient or moments have another size.
pub fn adamw<T: Real>(parameter: &mut [T], gradient: &[T], m: &mut [T], v: &mut [T], scalars: &AdamWScalars<f64>) {
    for (name, length) in [("gradient", gradient.len()), ("first moment", m.len()), ("second moment", v.len())] {
        assert_eq!(length, parameter.len(), "{name} of a parameter");
    }
    let scalars = AdamWScalars::of(scalars);
    parameter
        .par_chunks_mut(CHUNK)
        .zip(gradient.par_chunks(CHUNK))
        .zip(m.par_chunks_mut(CHUNK).zip(v.par_chunks_mut(CHUNK)))
        .for_each(|((p, g), (m, v))| kernels::adamw(p, g, m, v, &scalars));
}
