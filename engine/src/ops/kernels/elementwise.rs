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
    /// `sums = xs + ys`.
    pub fn add<T>(xs: &[T], ys: &[T], sums: &mut [T]) {
        for ((sum, &x), &y) in sums.iter_mut().zip(xs).zip(ys) {
            *sum = x + y;
        }
    }
}

vectorised! {
    /// The sum of squares in double precision, in eight fixed lanes.
    pub fn sum_of_squares<T>(xs: &[T]) -> f64 {
        const LANES: usize = 8;
        let mut lanes = [0.0_f64; LANES];
        for block in xs.chunks(LANES) {
            for (lane, &x) in lanes.iter_mut().zip(block) {
                let x = x.as_f64();
                *lane += x * x;
            }
        }
        ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]))
    }
}
