//! What the running processor can do.

use std::sync::atomic::{AtomicU8, Ordering};

/// From less to more: each has what is before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Instructions {
    /// What the `gemm` crate finds.
    Usual = 1,
    /// 512-bit vectors.
    Wide = 2,
    /// 512-bit vectors that multiply pairs of bf16.
    Pairs = 3,
}

/// 0 until it was asked for the first time.
static FOUND: AtomicU8 = AtomicU8::new(0);

fn found() -> u8 {
    match FOUND.load(Ordering::Relaxed) {
        0 => {
            let found = detect() as u8;
            FOUND.store(found, Ordering::Relaxed);
            found
        }
        found => found,
    }
}

pub fn detect() -> Instructions {
    #[cfg(target_arch = "x86_64")]
    if cfg!(feature = "wide-vectors")
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
    {
        return if is_x86_feature_detected!("avx512bf16") { Instructions::Pairs } else { Instructions::Wide };
    }
    Instructions::Usual
}

/// Whether the processor has 512-bit vectors, of numbers and of whole numbers of 8 to 64 bits, and this build uses them.
pub fn has_wide_vectors() -> bool {
    found() >= Instructions::Wide as u8
}

/// Whether the processor multiplies pairs of bf16 and this build uses it: products of [`crate::Paired`] then take about half
/// the time of those of `f32`. Elsewhere they are those of `f32`, bit for bit.
pub fn multiplies_pairs() -> bool {
    found() >= Instructions::Pairs as u8
}

/// Makes later products use no more than `most`, which must be what the processor has.
#[cfg(test)]
pub fn limit(most: Instructions) {
    assert!(most <= detect(), "this processor has no {most:?}");
    FOUND.store(most as u8, Ordering::Relaxed);
}
