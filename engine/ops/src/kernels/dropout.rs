//! Dropout whose mask is computed, never stored (Srivastava et al., 2014; inverted form).

use super::dispatch::vectorised;
use super::philox::philox4x32;

/// The random word at or above which an element is kept, so that it is dropped with the given probability in [0, 1].
pub fn keep_threshold(probability: f64) -> u64 {
    (probability * 4_294_967_296.0).round() as u64
}

/// Names the mask of one place of a model in one forward pass, and how much is dropped.
#[derive(Clone, Copy, Debug)]
pub struct DropoutMask {
    /// The generator's key.
    pub key: [u32; 2],
    /// The generator's counter at block zero.
    pub counter: [u32; 4],
    /// The probability that an element becomes zero, in [0, 1].
    pub probability: f64,
}

impl DropoutMask {
    /// Applies the mask in place to elements that start at `first` of the whole tensor.
    pub fn apply<T: super::Real>(&self, xs: &mut [T], first: usize) {
        let scale = if self.probability < 1.0 { T::of(1.0 / (1.0 - self.probability)) } else { T::ZERO };
        dropout(xs, self.key, self.counter, first as u64, keep_threshold(self.probability), scale);
    }
}

vectorised! {
    /// `x = x * scale` where the element's random word is not below `threshold`, else zero.
    ///
    /// The slice starts at element `first` of the tensor. Element `i` of the tensor belongs to word `i % 4` of block
    /// `i / 4`; the block is the low word of the counter and the low 24 bits of its second word, `counter` gives the
    /// rest.
    pub fn dropout<T>(
        xs: &mut [T],
        key: [u32; 2],
        counter: [u32; 4],
        first: u64,
        threshold: u64,
        scale: T,
    ) {
        // Sixteen blocks at a time fill the vectors; the arrays are turned so that each word has its own.
        const BLOCKS: usize = 16;
        let (mut block, mut skip, mut rest) = (first / 4, (first % 4) as usize, xs);
        while !rest.is_empty() {
            let mut words = [[0_u32; 4]; BLOCKS];
            for (lane, words) in words.iter_mut().enumerate() {
                let block = block + lane as u64;
                let high = counter[1] | ((block >> 32) as u32 & 0x00FF_FFFF);
                *words = philox4x32([block as u32, high, counter[2], counter[3]], key);
            }
            let words = words.as_flattened();
            let (xs, later) = rest.split_at_mut(rest.len().min(words.len() - skip));
            for (x, &word) in xs.iter_mut().zip(words.iter().skip(skip)) {
                *x = if u64::from(word) < threshold { T::ZERO } else { *x * scale };
            }
            (block, skip, rest) = (block + BLOCKS as u64, 0, later);
        }
    }
}
