//! Vectors of words: how they are made and multiplied.
#![expect(unsafe_code, reason = "instructions that only some processors have")]
#![expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]

use std::arch::x86_64::{
    __m512, __m512bh, __m512i, _mm512_castps_si512, _mm512_castsi512_ps, _mm512_cvtepu16_epi32, _mm512_cvtne2ps_pbh,
    _mm512_cvtneps_pbh, _mm512_dpbf16_ps, _mm512_fmadd_ps, _mm512_or_si512, _mm512_slli_epi32,
};

/// The steps that differ, on vectors.
pub trait Steps {
    const PLACES: usize;

    /// `sums + a b`, word by word.
    ///
    /// # Safety
    /// The processor must have the instructions.
    unsafe fn multiply(sums: __m512, a: __m512i, b: __m512i) -> __m512;

    /// The words of 16 rows or columns, from their numbers at one place, and at the next.
    ///
    /// # Safety
    /// As above.
    unsafe fn beside(place: __m512, next: __m512) -> __m512i;

    /// The words of one row or column, from its numbers at 16 places, and at the 16 after them.
    ///
    /// # Safety
    /// As above.
    unsafe fn along(places: __m512, next: __m512) -> __m512i;
}

/// One `f32`.
#[derive(Clone, Copy, Debug)]
pub struct Single;

/// Two bf16 that follow each other along the inner dimension, the first in the low half.
#[derive(Clone, Copy, Debug)]
pub struct Pair;

impl Steps for Single {
    const PLACES: usize = 1;

    #[inline(always)]
    unsafe fn multiply(sums: __m512, a: __m512i, b: __m512i) -> __m512 {
        // SAFETY: the caller's.
        unsafe { _mm512_fmadd_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), sums) }
    }

    #[inline(always)]
    unsafe fn beside(place: __m512, _next: __m512) -> __m512i {
        // SAFETY: the caller's.
        unsafe { _mm512_castps_si512(place) }
    }

    #[inline(always)]
    unsafe fn along(places: __m512, _next: __m512) -> __m512i {
        // SAFETY: the caller's.
        unsafe { _mm512_castps_si512(places) }
    }
}

impl Steps for Pair {
    const PLACES: usize = 2;

    #[inline(always)]
    unsafe fn multiply(sums: __m512, a: __m512i, b: __m512i) -> __m512 {
        // SAFETY: the caller's; both are vectors of 512 bits.
        unsafe {
            _mm512_dpbf16_ps(
                sums,
                std::mem::transmute::<__m512i, __m512bh>(a),
                std::mem::transmute::<__m512i, __m512bh>(b),
            )
        }
    }

    #[inline(always)]
    unsafe fn beside(place: __m512, next: __m512) -> __m512i {
        // SAFETY: the caller's; both are vectors of 256 bits.
        unsafe {
            let low = _mm512_cvtepu16_epi32(std::mem::transmute::<
                std::arch::x86_64::__m256bh,
                std::arch::x86_64::__m256i,
            >(_mm512_cvtneps_pbh(place)));
            let high = _mm512_cvtepu16_epi32(std::mem::transmute::<
                std::arch::x86_64::__m256bh,
                std::arch::x86_64::__m256i,
            >(_mm512_cvtneps_pbh(next)));
            _mm512_or_si512(low, _mm512_slli_epi32::<16>(high))
        }
    }

    #[inline(always)]
    unsafe fn along(places: __m512, next: __m512) -> __m512i {
        // SAFETY: the caller's; both are vectors of 512 bits.
        unsafe { std::mem::transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(next, places)) }
    }
}
