//! Numbers in single precision whose products are of bf16 pairs.
#![expect(unsafe_code, reason = "a view of numbers is a view of what they are made of")]
#![expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]

use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub};

/// An `f32` that is rounded to bf16 (8 bits of precision, to nearest, ties to even) where it is a factor of a matrix product;
/// sums are in `f32`, and so is everything else.
///
/// Where the processor does not multiply pairs ([`crate::multiplies_pairs`]), products are those of `f32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
#[repr(transparent)]
pub struct Paired(pub f32);

macro_rules! operation {
    ($($trait:ident $function:ident $operator:tt),*) => {
        $(impl $trait for Paired {
            type Output = Self;

            #[inline(always)]
            fn $function(self, other: Self) -> Self {
                Self(self.0 $operator other.0)
            }
        })*
    };
}

operation!(Add add +, Sub sub -, Mul mul *, Div div /);

impl AddAssign for Paired {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl MulAssign for Paired {
    #[inline(always)]
    fn mul_assign(&mut self, other: Self) {
        self.0 *= other.0;
    }
}

impl Neg for Paired {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl Paired {
    /// The same numbers.
    pub fn of_slice(numbers: &[f32]) -> &[Self] {
        // SAFETY: `Paired` is transparent over `f32`.
        unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), numbers.len()) }
    }

    /// The same numbers.
    pub fn of_slice_mut(numbers: &mut [f32]) -> &mut [Self] {
        // SAFETY: `Paired` is transparent over `f32`.
        unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), numbers.len()) }
    }

    /// The same numbers, without a copy.
    pub fn into_singles(numbers: Vec<Self>) -> Vec<f32> {
        let mut numbers = std::mem::ManuallyDrop::new(numbers);
        // SAFETY: `Paired` is transparent over `f32`, so that the allocation is one of `f32`; nobody else frees it.
        unsafe { Vec::from_raw_parts(numbers.as_mut_ptr().cast(), numbers.len(), numbers.capacity()) }
    }
}

pub fn slice_of_singles(numbers: &[Paired]) -> &[f32] {
    // SAFETY: `Paired` is transparent over `f32`.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), numbers.len()) }
}
