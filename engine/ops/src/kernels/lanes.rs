//! Reductions with a fixed number of lanes: the same order of additions whatever the vector width.

use super::Real;

/// Independent running values of a reduction; two 512-bit vectors of `f32`.
const LANES: usize = 32;

/// The sum of `f(element)`, the lanes folded pairwise at the end.
#[expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]
#[inline(always)]
pub fn sum<T: Real>(xs: &[T], f: impl Fn(T) -> T) -> T {
    let mut lanes = [T::ZERO; LANES];
    let blocks = xs.chunks_exact(LANES);
    let rest = blocks.remainder();
    for block in blocks {
        for (lane, &x) in lanes.iter_mut().zip(block) {
            *lane += f(x);
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(rest) {
        *lane += f(x);
    }
    fold(lanes)
}

/// Replaces every element by `e^(element - shift)` and gives the sum of them all.
#[expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]
#[inline(always)]
pub fn sum_of_exponentials<T: Real>(xs: &mut [T], shift: T) -> T {
    let mut lanes = [T::ZERO; LANES];
    let mut blocks = xs.chunks_exact_mut(LANES);
    for block in &mut blocks {
        for (lane, x) in lanes.iter_mut().zip(block) {
            *x = (*x - shift).exponential();
            *lane += *x;
        }
    }
    for (lane, x) in lanes.iter_mut().zip(blocks.into_remainder()) {
        *x = (*x - shift).exponential();
        *lane += *x;
    }
    fold(lanes)
}

/// The sum of `f(x, y)` over two slices of the same length.
#[expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]
#[inline(always)]
pub fn sum2<T: Real>(xs: &[T], ys: &[T], f: impl Fn(T, T) -> T) -> T {
    let mut lanes = [T::ZERO; LANES];
    let (x_blocks, y_blocks) = (xs.chunks_exact(LANES), ys.chunks_exact(LANES));
    let (x_rest, y_rest) = (x_blocks.remainder(), y_blocks.remainder());
    for (x_block, y_block) in x_blocks.zip(y_blocks) {
        for ((lane, &x), &y) in lanes.iter_mut().zip(x_block).zip(y_block) {
            *lane += f(x, y);
        }
    }
    for ((lane, &x), &y) in lanes.iter_mut().zip(x_rest).zip(y_rest) {
        *lane += f(x, y);
    }
    fold(lanes)
}

/// The largest element; minus infinity if there is none. NaN is passed over.
#[expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]
#[inline(always)]
pub fn largest<T: Real>(xs: &[T]) -> T {
    let mut lanes = [T::NEG_INFINITY; LANES];
    let blocks = xs.chunks_exact(LANES);
    let rest = blocks.remainder();
    for block in blocks {
        for (lane, &x) in lanes.iter_mut().zip(block) {
            *lane = if x > *lane { x } else { *lane };
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(rest) {
        *lane = if x > *lane { x } else { *lane };
    }
    largest_lane(lanes)
}

/// Multiplies every element by `scale` and gives the largest of them then, as [`largest`] does.
#[expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]
#[inline(always)]
pub fn scale_to_largest<T: Real>(xs: &mut [T], scale: T) -> T {
    let mut lanes = [T::NEG_INFINITY; LANES];
    let mut blocks = xs.chunks_exact_mut(LANES);
    for block in &mut blocks {
        for (lane, x) in lanes.iter_mut().zip(block) {
            *x *= scale;
            *lane = if *x > *lane { *x } else { *lane };
        }
    }
    for (lane, x) in lanes.iter_mut().zip(blocks.into_remainder()) {
        *x *= scale;
        *lane = if *x > *lane { *x } else { *lane };
    }
    largest_lane(lanes)
}

#[expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]
#[inline(always)]
fn largest_lane<T: Real>(lanes: [T; LANES]) -> T {
    let mut best = T::NEG_INFINITY;
    for lane in lanes {
        best = if lane > best { lane } else { best };
    }
    best
}

#[expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]
#[inline(always)]
fn fold<T: Real>(mut lanes: [T; LANES]) -> T {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            let other = lanes[lane + width];
            lanes[lane] += other;
        }
        width /= 2;
    }
    lanes[0]
}
