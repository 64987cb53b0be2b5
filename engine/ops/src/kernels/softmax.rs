//! Softmax of one row of attention scores.

use super::dispatch::vectorised;
use super::lanes;

vectorised! {
    /// `x = softmax(scale * x)` over the visible elements of one row, in place; the others become exactly zero.
    ///
    /// The first `visible` elements can be seen, of those only the ones whose key is not zero where `keys` is given.
    /// A row that sees nothing becomes all zeros. What stands in an invisible place has no influence, NaN included.
    /// Gives what [`softmax_row_again`] needs: the shift, and the factor after the exponential.
    pub fn softmax_row<T>(xs: &mut [T], scale: T, visible: usize, keys: Option<&[u8]>) -> [T; 2] {
        let visible = visible.min(xs.len());
        let (seen, hidden) = xs.split_at_mut(visible);
        hidden.fill(T::ZERO);
        let largest = if let Some(keys) = keys {
            for (x, &key) in seen.iter_mut().zip(keys) {
                *x = if key == 0 { T::NEG_INFINITY } else { *x * scale };
            }
            lanes::largest(seen)
        } else {
            lanes::scale_to_largest(seen, scale)
        };
        // Nothing visible, or nothing but NaN and minus infinity.
        let shift = if largest > T::NEG_INFINITY { largest } else { T::ZERO };
        let total = lanes::sum_of_exponentials(seen, shift);
        let factor = if total == T::ZERO { T::ZERO } else { T::ONE / total };
        for x in seen {
            *x *= factor;
        }
        [shift, factor]
    }
}

vectorised! {
    /// [`softmax_row`] once more from the same scores, bit for bit, with its shift and factor known.
    pub fn softmax_row_again<T>(xs: &mut [T], scale: T, visible: usize, keys: Option<&[u8]>, known: [T; 2]) {
        let [shift, factor] = known;
        let visible = visible.min(xs.len());
        let (seen, hidden) = xs.split_at_mut(visible);
        hidden.fill(T::ZERO);
        if let Some(keys) = keys {
            for (x, &key) in seen.iter_mut().zip(keys) {
                *x = if key == 0 { T::NEG_INFINITY } else { *x };
            }
        }
        for x in seen {
            *x = (*x * scale - shift).exponential() * factor;
        }
    }
}

vectorised! {
    /// `dy = scale * y (dy - sum(y dy))` over one row, in place; zero wherever `y` is.
    pub fn softmax_gradient_in_place<T>(ys: &[T], dys: &mut [T], scale: T) {
        let dot = lanes::sum2(ys, dys, |y, dy| y * dy);
        for (dy, &y) in dys.iter_mut().zip(ys) {
            *dy = scale * (y * (*dy - dot));
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
