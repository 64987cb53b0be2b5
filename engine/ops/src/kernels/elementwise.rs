//! Scaling, adding and measuring whole slices.

use super::dispatch::vectorised;

vectorised! {
    /// `xs *= factor`.
    pub fn scale<T>(xs: &mut [T], factor: T) {
        for x in xs {
            *x *= factor;
        }
    }
}

vectorised! {
    /// `sums += xs`.
    pub fn add_assign<T>(sums: &mut [T], xs: &[T]) {
        for (sum, &x) in sums.iter_mut().zip(xs) {
            *sum += x;
        }
    }
}

vectorised! {
    /// `products *= xs`.
    pub fn multiply_assign<T>(products: &mut [T], xs: &[T]) {
        for (product, &x) in products.iter_mut().zip(xs) {
            *product *= x;
        }
    }
}

vectorised! {
    /// `sums += xs * ys`.
    pub fn add_product<T>(sums: &mut [T], xs: &[T], ys: &[T]) {
        for ((sum, &x), &y) in sums.iter_mut().zip(xs).zip(ys) {
            *sum += x * y;
        }
    }
}

vectorised! {
    /// `sums = xs + ys`.
    pub fn add<T>(xs: &[T], ys: &[T], sums: &mut [T]) {
        for ((sum, &x), &y) in sums.iter_mut().zip(xs).zip(ys) {
            *sum = x + y;
        }
    }
}

vectorised! {
    /// The sum of squares in double precision, in fixed lanes that are folded pairwise.
    pub fn sum_of_squares<T>(xs: &[T]) -> f64 {
        const LANES: usize = 32;
        let mut lanes = [0.0_f64; LANES];
        let blocks = xs.chunks_exact(LANES);
        let rest = blocks.remainder();
        for block in blocks {
            for (lane, &x) in lanes.iter_mut().zip(block) {
                let x = x.as_f64();
                *lane += x * x;
            }
        }
        for (lane, &x) in lanes.iter_mut().zip(rest) {
            let x = x.as_f64();
            *lane += x * x;
        }
        let mut width = LANES;
        while width > 1 {
            width /= 2;
            let (low, high) = lanes.split_at_mut(width);
            for (low, high) in low.iter_mut().zip(high) {
                *low += *high;
            }
        }
        lanes[0]
    }
}
