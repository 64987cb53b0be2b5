//! Words of panels: how factors are packed into them, and how a strip is computed.
#![expect(unsafe_code, reason = "instructions that only some processors have")]

use super::{
    pack::{self, Side},
    steps::{Pair, Single, Steps},
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
