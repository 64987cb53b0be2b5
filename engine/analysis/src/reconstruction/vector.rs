use faer::{Accum, Mat, MatRef, Par, linalg::matmul::matmul};

use super::{
    EigenProjection,
    curve::Errors,
    follow::{Followed, follow},
    greedy,
};
use crate::ops::random::{Purpose, Stream};

/// What comes of computing some entries of a vector and restoring the others, for every number of them.
#[derive(Clone, Debug, Default)]
pub(super) struct VectorErrors {
    /// All entries, the most informative first.
    pub(super) order: Vec<usize>,
    /// Computed in that order.
    pub(super) greedy: Errors,
    /// Projected on as many eigenvectors instead.
    pub(super) eigen: Errors,
    /// Computed in an order by chance, with the best map for it.
    pub(super) random: Errors,
    /// What restores the vector from the first k of the order, for any k.
    pub(super) lower: Vec<f32>,
}

impl VectorErrors {
    /// Of a vector with second moments `c`, measured on those of other samples too. `number` tells the orders by chance of
    /// several vectors apart. None if a number is not finite.
    ///
    /// # Shapes
    /// `c`, `held_out` `[n, n]`.
    pub(super) fn new(c: &[f64], held_out: Option<&[f64]>, n: usize, number: u64, keeps_factor: bool) -> Option<Self> {
        let projection = EigenProjection::new(c, n, n)?;
        if held_out.is_some_and(|held_out| held_out.iter().any(|value| !value.is_finite())) {
            return None;
        }
        let order = whole_order(greedy(&mut c.to_vec(), n, n).order, n);
        let Followed { errors, lower } = follow(c, held_out, n, &order, keeps_factor);
        let mut by_chance: Vec<usize> = (0..n).collect();
        Stream::new(SEED, Purpose::RandomPairs, number).shuffle(&mut by_chance);
        let random = follow(c, held_out, n, &by_chance, false).errors;
        let whole: f64 = (0..n).map(|entry| c[entry * n + entry]).sum();
        let eigen = Errors {
            fitted: std::iter::once(whole).chain(projection.errors()).collect(),
            held_out: held_out.map(|held_out| left_over(held_out, &projection.basis, n)).unwrap_or_default(),
        };
        Some(Self { order, greedy: errors, eigen, random, lower })
    }
}

/// Always the same orders by chance: two analyses of the same scores give the same numbers.
const SEED: u64 = 0;

/// The order with the entries behind it that say nothing new.
fn whole_order(mut order: Vec<usize>, n: usize) -> Vec<usize> {
    let mut is_in = vec![false; n];
    for &entry in &order {
        is_in[entry] = true;
    }
    order.extend((0..n).filter(|&entry| !is_in[entry]));
    order
}

/// What of the second moments `c` is outside of the first 0, 1, ..., n directions of a basis, one a row.
fn left_over(c: &[f64], basis: &[f64], n: usize) -> Vec<f64> {
    let (moments, directions) = (MatRef::from_row_major_slice(c, n, n), MatRef::from_row_major_slice(basis, n, n));
    let mut product = Mat::<f64>::zeros(n, n);
    matmul(product.as_mut(), Accum::Replace, directions, moments, 1.0, Par::Seq);
    let mut left: f64 = (0..n).map(|entry| c[entry * n + entry]).sum();
    let mut all = vec![left];
    for direction in 0..n {
        let energy: f64 = (0..n).map(|entry| product[(direction, entry)] * basis[direction * n + entry]).sum();
        left -= energy;
        all.push(if direction + 1 == n { 0.0 } else { left.max(0.0) });
    }
    all
}
