//! Softmax of one row of attention scores.

use super::dispatch::vectorised;
use super::lanes;

vectorised! {
    /// `y = softmax(scale * x)` over the visible elements of one row; the others become exactly zero.
    ///
    /// The first `visible` elements can be seen, of those only the ones whose key is not zero where `keys` is given.
    /// A row that sees nothing becomes all zeros. What stands in an invisible place has no influence, NaN included.
    pub fn softmax_row<T>(xs: &[T], scale: T, visible: usize, keys: Option<&[u8]>, ys: &mut [T]) {
        let (seen, hidden) = ys.split_at_mut(visible.min(xs.len()));
        hidden.fill(T::ZERO);
        if let Some(keys) = keys {
            for ((y, &x), &key) in seen.iter_mut().zip(xs).zip(keys) {
                *y = if key == 0 { T::NEG_INFINITY } else { x * scale };
            }
        } else {
            for (y, &x) in seen.iter_mut().zip(xs) {
                *y = x * scale;
            }
        }
        let largest = lanes::largest(seen);
        // Nothing visible, or nothing but NaN and minus infinity.
        let shift = if largest > T::NEG_INFINITY { largest } else { T::ZERO };
        for y in seen.iter_mut() {
            *y = (*y - shift).exponential();
        }
        let total = lanes::sum(seen, |y| y);
        let factor = if total == T::ZERO { T::ZERO } else { T::ONE / total };
        for y in seen {
            *y *= factor;
        }
    }
}

vectorised! {
    /// `dx = scale * y (dy - sum(y dy))` over one row; zero wherever `y` is.
    pub fn softmax_gradient_row<T>(ys: &[T], dys: &[T], scale: T, dxs: &mut [T]) {
        let dot = lanes::sum2(ys, dys, |y, dy| y * dy);
        for ((dx, &y), &dy) in dxs.iter_mut().zip(ys).zip(dys) {
            *dx = scale * (y * (dy - dot));
        }
    }
}
