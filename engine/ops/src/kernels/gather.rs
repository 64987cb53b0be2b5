//! Products of one vector with some rows of a matrix. A row that is not there is a panic.

use super::dispatch::vectorised;
use super::lanes;
use super::part::{part, part_mut};

vectorised! {
    /// `out[c] = x · rows[chosen[c]]`, where row `j` starts at `j stride` and is as long as `x`.
    pub fn gathered_products<T>(x: &[T], rows: &[T], stride: usize, chosen: &[u32], out: &mut [T]) {
        assert_eq!(out.len(), chosen.len(), "products with chosen rows");
        for (out, &key) in out.iter_mut().zip(chosen) {
            *out = lanes::sum2(x, part(rows, key as usize * stride, x.len()), |x, y| x * y);
        }
    }
}

vectorised! {
    /// `sum += weights[c] rows[chosen[c]]` over all c; rows as in [`gathered_products`].
    pub fn add_gathered<T>(sum: &mut [T], rows: &[T], stride: usize, chosen: &[u32], weights: &[T]) {
        assert_eq!(weights.len(), chosen.len(), "weights of chosen rows");
        for (&weight, &key) in weights.iter().zip(chosen) {
            let row = part(rows, key as usize * stride, sum.len());
            for (sum, &x) in sum.iter_mut().zip(row) {
                *sum += weight * x;
            }
        }
    }
}

vectorised! {
    /// `rows[chosen[c]] += weights[c] x` for all c, where rows lie side by side.
    pub fn scatter_added<T>(rows: &mut [T], x: &[T], chosen: &[u32], weights: &[T]) {
        assert_eq!(weights.len(), chosen.len(), "weights of chosen rows");
        for (&weight, &key) in weights.iter().zip(chosen) {
            let row = part_mut(rows, key as usize * x.len(), x.len());
            for (row, &x) in row.iter_mut().zip(x) {
                *row += weight * x;
            }
        }
    }
}
