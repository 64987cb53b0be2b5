//! What a word of a panel is, and how two words are multiplied.
#![expect(unsafe_code, reason = "instructions that only some processors have")]
#![expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]

use std::arch::x86_64::{
    __m512, __m512bh, __m512i, _mm512_castps_si512, _mm512_castsi512_ps, _mm512_cvtepu16_epi32, _mm512_cvtne2ps_pbh,
    _mm512_cvtneps_pbh, _mm512_dpbf16_ps, _mm512_fmadd_ps, _mm512_or_si512, _mm512_slli_epi32,
};

use super::{
    pack::{self, Side},
    tile::{self, Lying, Strip},
};

/// What stands in a word of a panel.
pub trait Word: Copy {
    /// Places of the inner dimension in a word.
    const PLACES: usize;

    /// Copies rows of the left factor into panels, and says how they lie there.
    fn pack_rows(panels: &mut [u32], side: Side<'_>) -> Lying;

    /// Copies columns of the right factor into panels.
    fn pack_columns(panels: &mut [u32], side: Side<'_>);

    /// Computes a strip of the output.
    fn strip(strip: Strip<'_>);
}

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

macro_rules! word {
    ($word:ty, $features:literal) => {
        impl Word for $word {
            const PLACES: usize = <Self as Steps>::PLACES;

            fn pack_rows(panels: &mut [u32], side: Side<'_>) -> Lying {
                #[target_feature(enable = $features)]
                fn with_vectors(panels: &mut [u32], side: Side<'_>) -> Lying {
                    // SAFETY: this function has the instructions.
                    unsafe { pack::rows::<$word>(panels, side) }
                }
                // SAFETY: panels are used only where the processor has the instructions.
                unsafe { with_vectors(panels, side) }
            }

            fn pack_columns(panels: &mut [u32], side: Side<'_>) {
                #[target_feature(enable = $features)]
                fn with_vectors(panels: &mut [u32], side: Side<'_>) {
                    // SAFETY: this function has the instructions.
                    unsafe { pack::columns::<$word>(panels, side) }
                }
                // SAFETY: panels are used only where the processor has the instructions.
                unsafe { with_vectors(panels, side) }
            }

            fn strip(strip: Strip<'_>) {
                #[target_feature(enable = $features)]
                fn with_vectors(strip: Strip<'_>) {
                    // SAFETY: this function has the instructions.
                    unsafe { tile::compute::<$word>(strip) }
                }
                // SAFETY: panels are used only where the processor has the instructions.
                unsafe { with_vectors(strip) }
            }
        }
    };
}

word!(Single, "avx2,avx512f,avx512bw,avx512dq,avx512vl");
word!(Pair, "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16");
