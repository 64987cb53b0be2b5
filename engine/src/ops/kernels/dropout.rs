//! Dropout whose mask is computed, never stored (Srivastava et al., 2014; inverted form).

use super::dispatch::vectorised;
use super::philox::philox4x32;

/// The random word at or above which an element is kept, so that it is dropped with the given probability in [0, 1].
pub fn keep_threshold(probability: f64) -> u64 {
    (probability * 4_294_967_296.0).round() as u64
}

vectorised! {
    /// `y = x * scale` where the element's random word is not below `threshold`, else zero.
    ///
    /// Element `i` of the slice belongs to word `i % 4` of block `first_block + i / 4`; the block is the low word of
    /// the counter and the low 24 bits of its second word, `counter` gives the rest.
    pub fn dropout<T>(
        xs: &[T],
        key: [u32; 2],
        counter: [u32; 4],
        first_block: u64,
        threshold: u64,
        scale: T,
        ys: &mut [T],
    ) {
        // Sixteen blocks at a time fill the vectors; the arrays are turned so that each word has its own.
        const BLOCKS: usize = 16;
        for (group, (xs, ys)) in xs.chunks(4 * BLOCKS).zip(ys.chunks_mut(4 * BLOCKS)).enumerate() {
            let mut words = [[0_u32; 4]; BLOCKS];
            let first = first_block + (group * BLOCKS) as u64;
            for (lane, words) in words.iter_mut().enumerate() {
                let block = first + lane as u64;
                let high = counter[1] | ((block >> 32) as u32 & 0x00FF_FFFF);
                *words = philox4x32([block as u32, high, counter[2], counter[3]], key);
            }
            for ((y, &x), &word) in ys.iter_mut().zip(xs).zip(words.as_flattened()) {
                *y = if u64::from(word) < threshold { T::ZERO } else { x * scale };
            }
        }
    }
}
