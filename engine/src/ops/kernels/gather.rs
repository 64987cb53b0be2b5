//! Products of one vector with some rows of a matrix.

use super::dispatch::vectorised;
use super::lanes;

vectorised! {
    /// `out[c] = x · rows[chosen[c]]`, where row `j` starts at `j stride` and is as long as `x`. Rows outside of `rows`
    /// count as zero.
    pub fn gathered_products<T>(x: &[T], rows: &[T], stride: usize, chosen: &[u32], out: &mut [T]) {
        for (out, &key) in out.iter_mut().zip(chosen) {
            let first = key as usize * stride;
            let row = rows.get(first..first + x.len()).unwrap_or(&[]);
            *out = lanes::sum2(x, row, |x, y| x * y);
        }
    }
}

vectorised! {
    /// `sum += weights[c] rows[chosen[c]]` over all c; rows as in [`gathered_products`].
    pub fn add_gathered<T>(sum: &mut [T], rows: &[T], stride: usize, chosen: &[u32], weights: &[T]) {
        for (&weight, &key) in weights.iter().zip(chosen) {
            let first = key as usize * stride;
            let row = rows.get(first..first + sum.len()).unwrap_or(&[]);
            for (sum, &x) in sum.iter_mut().zip(row) {
                *sum += weight * x;
            }
        }
    }
}

vectorised! {
    /// `rows[chosen[c]] += weights[c] x` for all c, where rows lie side by side.
    pub fn scatter_added<T>(rows: &mut [T], x: &[T], chosen: &[u32], weights: &[T]) {
        for (&weight, &key) in weights.iter().zip(chosen) {
            let first = key as usize * x.len();
            let row = rows.get_mut(first..first + x.len()).unwrap_or(&mut []);
            for (row, &x) in row.iter_mut().zip(x) {
                *row += weight * x;
            }
        }
    }
}
