//! The numbers that kernels compute with: `f32` for training, `f64` for checks.

#![expect(clippy::inline_always, reason = "kernels must be compiled with their own vectors throughout")]

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub};

use headroom_products::{Factor, Paired};

/// A floating-point number with the few functions that kernels need.
///
/// The `f32` functions are short polynomials that vectorise, within a few units in the last place; the `f64`
/// functions are exact to rounding and slow.
pub trait Real:
    Factor
    + Copy
    + Debug
    + Send
    + Sync
    + PartialOrd
    + Add<Output = Self>
    + AddAssign
    + Div<Output = Self>
    + Mul<Output = Self>
    + MulAssign
    + Neg<Output = Self>
    + Sub<Output = Self>
    + 'static
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// Below every number.
    const NEG_INFINITY: Self;

    /// The nearest number to `value`.
    fn of(value: f64) -> Self;
    /// This number in double precision.
    fn as_f64(self) -> f64;
    /// e^self; 0 for anything too small, minus infinity included; NaN stays NaN.
    fn exponential(self) -> Self;
    /// The square root.
    fn square_root(self) -> Self;
    /// `self log2(self)`, and 0 for 0 and below.
    fn times_log2(self) -> Self;
    /// The distribution function and the density of the standard normal distribution at this point.
    fn normal(self) -> (Self, Self);
}

impl Real for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const NEG_INFINITY: Self = Self::NEG_INFINITY;

    #[inline(always)]
    fn of(value: f64) -> Self {
        value as Self
    }

    #[inline(always)]
    fn as_f64(self) -> f64 {
        f64::from(self)
    }

    // e^x = 2^n e^r with n = round(x / ln 2) and |r| <= ln(2) / 2, where the Taylor polynomial of degree 7 is off by
    // less than 6e-9. Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits of the mantissa.
    #[inline(always)]
    fn exponential(self) -> Self {
        const ROUND: f32 = 12_582_912.0;
        // 355/512: the product with any exponent is exact.
        const LN_2_HIGH: f32 = 0.693_359_4;
        const LN_2_LOW: f32 = -2.121_944_4e-4;
        let x = if self > 89.0 { 89.0 } else { self };
        let shifted = x * std::f32::consts::LOG2_E + ROUND;
        let n = shifted - ROUND;
        let r = (x - n * LN_2_HIGH) - n * LN_2_LOW;
        let p = 1.0 / 5040.0;
        let p = p * r + 1.0 / 720.0;
        let p = p * r + 1.0 / 120.0;
        let p = p * r + 1.0 / 24.0;
        let p = p * r + 1.0 / 6.0;
        let p = p * r + 0.5;
        let p = p * r * r + r + 1.0;
        // 2^(n-1), doubled after, so that n = 128 still has an exponent.
        let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(126 << 23));
        if x < -86.5 { 0.0 } else { 2.0 * p * power }
    }

    #[inline(always)]
    fn square_root(self) -> Self {
        self.sqrt()
    }

    // x = 2^e m with m in sqrt(1/2) .. sqrt(2); ln m = 2 artanh(s), s = (m - 1) / (m + 1), whose series to s^9 is off by
    // less than 4e-9.
    #[inline(always)]
    fn times_log2(self) -> Self {
        const ROOT_HALF_BITS: u32 = 0x3f35_04f3;
        const MANTISSA: u32 = 0x007f_ffff;
        const TWO_OVER_LN_2: f32 = 2.885_39;
        let bits = self.to_bits().wrapping_sub(ROOT_HALF_BITS);
        let exponent = (bits as i32) >> 23;
        let m = Self::from_bits((bits & MANTISSA).wrapping_add(ROOT_HALF_BITS));
        let s = (m - 1.0) / (m + 1.0);
        let square = s * s;
        let p = 1.0 / 9.0;
        let p = p * square + 1.0 / 7.0;
        let p = p * square + 1.0 / 5.0;
        let p = p * square + 1.0 / 3.0;
        let p = p * square + 1.0;
        let log = exponent as Self + TWO_OVER_LN_2 * s * p;
        if self < Self::MIN_POSITIVE { 0.0 } else { self * log }
    }

    // Abramowitz and Stegun 7.1.26: erfc(z) = (a1 t + .. + a5 t^5) e^(-z^2), t = 1 / (1 + p z), |error| <= 1.5e-7.
    // The exponential is the density's as well.
    #[inline(always)]
    fn normal(self) -> (Self, Self) {
        const P: f32 = 0.327_591_1;
        const INVERSE_SQRT_2_PI: f32 = 0.398_942_3;
        let e = (-0.5 * self * self).exponential();
        let z = self.abs() * std::f32::consts::FRAC_1_SQRT_2;
        let t = 1.0 / (1.0 + P * z);
        let p = 1.061_405_4;
        let p = p * t - 1.453_152;
        let p = p * t + 1.421_413_8;
        let p = p * t - 0.284_496_72;
        let p = p * t + 0.254_829_6;
        let half_tail = 0.5 * p * t * e;
        let cumulative = if self < 0.0 { half_tail } else { 1.0 - half_tail };
        (cumulative, INVERSE_SQRT_2_PI * e)
    }
}

/// Everything but matrix products is as of `f32`.
impl Real for Paired {
    const ZERO: Self = Self(0.0);
    const ONE: Self = Self(1.0);
    const NEG_INFINITY: Self = Self(f32::NEG_INFINITY);

    #[inline(always)]
    fn of(value: f64) -> Self {
        Self(value as f32)
    }

    #[inline(always)]
    fn as_f64(self) -> f64 {
        f64::from(self.0)
    }

    #[inline(always)]
    fn exponential(self) -> Self {
        Self(self.0.exponential())
    }

    #[inline(always)]
    fn square_root(self) -> Self {
        Self(self.0.square_root())
    }

    #[inline(always)]
    fn times_log2(self) -> Self {
        Self(self.0.times_log2())
    }

    #[inline(always)]
    fn normal(self) -> (Self, Self) {
        let (cumulative, density) = self.0.normal();
        (Self(cumulative), Self(density))
    }
}

impl Real for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const NEG_INFINITY: Self = Self::NEG_INFINITY;

    #[inline(always)]
    fn of(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn as_f64(self) -> f64 {
        self
    }

    #[inline(always)]
    fn exponential(self) -> Self {
        self.exp()
    }

    #[inline(always)]
    fn square_root(self) -> Self {
        self.sqrt()
    }

    #[inline(always)]
    fn times_log2(self) -> Self {
        if self > 0.0 { self * self.log2() } else { 0.0 }
    }

    // erf(z) = 2 / sqrt(pi) e^(-z^2) sum 2^n z^(2n+1) / (1 3 5 .. (2n+1)): every term has the sign of z.
    #[inline]
    fn normal(self) -> (Self, Self) {
        let density = (-0.5 * self * self).exp() / std::f64::consts::TAU.sqrt();
        if self.is_nan() {
            return (self, self);
        }
        // Beyond nine deviations the tail is below 2e-19.
        if self.abs() > 9.0 {
            return (if self < 0.0 { 0.0 } else { 1.0 }, density);
        }
        // With z = x / sqrt(2), half of erf(z) is the density times sum x^(2n+1) / (1 3 5 .. (2n+1)).
        let (mut term, mut sum, mut odd) = (self, self, 1.0);
        while term.abs() > 1e-18 * sum.abs() {
            odd += 2.0;
            term *= self * self / odd;
            sum += term;
        }
        (0.5 + density * sum, density)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_is_close_over_its_whole_range() {
        let mut x = -86.4_f32;
        while x < 88.7 {
            let (ours, exact) = (f64::from(x.exponential()), f64::from(x).exp());
            assert!((ours / exact - 1.0).abs() < 3e-7, "e^{x}: {ours} instead of {exact}");
            x += 0.0371;
        }
        assert_eq!(0.0_f32.exponential(), 1.0);
    }

    #[test]
    fn exponential_keeps_its_limits() {
        assert_eq!(f32::NEG_INFINITY.exponential(), 0.0);
        assert_eq!((-1e4_f32).exponential(), 0.0);
        assert_eq!((-3e38_f32).exponential(), 0.0);
        assert_eq!(89.0_f32.exponential(), f32::INFINITY);
        assert_eq!(f32::INFINITY.exponential(), f32::INFINITY);
        assert!(f32::NAN.exponential().is_nan());
    }

    #[test]
    fn times_log2_is_close_over_its_whole_range() {
        let mut x = 1e-37_f32;
        while x < 1e6 {
            let (ours, exact) = (f64::from(x.times_log2()), f64::from(x) * f64::from(x).log2());
            let error = (ours - exact).abs() / f64::from(x);
            assert!(error < 3e-6 * (1.0 + f64::from(x).log2().abs()), "x log2 x at {x}: {ours} instead of {exact}");
            x *= 1.37;
        }
        for zero in [0.0_f32, -1.0, 1e-40] {
            assert_eq!(zero.times_log2(), 0.0);
        }
        assert_eq!(1.0_f32.times_log2(), 0.0);
        assert_eq!(Real::times_log2(0.25_f64), -0.5);
        assert_eq!(Real::times_log2(0.0_f64), 0.0);
    }

    #[test]
    fn normal_matches_known_values() {
        // From tables of the normal distribution.
        for (x, cumulative) in [
            (0.0_f64, 0.5_f64),
            (1.0, 0.841_344_746_068_542_9),
            (-1.0, 0.158_655_253_931_457_05),
            (1.96, 0.975_002_104_851_779_5),
            (3.0, 0.998_650_101_968_369_9),
            (-5.0, 2.866_515_718_791_939e-7),
        ] {
            let (double, _) = Real::normal(x);
            assert!((double - cumulative).abs() < 2e-16 + 1e-13 * cumulative, "f64 at {x}: {double}");
            let (single, _) = Real::normal(x as f32);
            assert!((f64::from(single) - cumulative).abs() < 2e-7, "f32 at {x}: {single}");
        }
    }

    #[test]
    fn normal_keeps_its_limits() {
        for x in [1e4_f32, 1e30] {
            assert_eq!(x.normal(), (1.0, 0.0));
            assert_eq!((-x).normal(), (0.0, 0.0));
        }
        assert_eq!(Real::normal(1e4_f64), (1.0, 0.0));
        assert_eq!(Real::normal(-1e4_f64), (0.0, 0.0));
        assert!(f32::NAN.normal().0.is_nan());
        assert!(Real::normal(f64::NAN).0.is_nan());
    }
}
