//! Fetching into the second cache what is read next, while something else is multiplied.
#![expect(unsafe_code, reason = "a hint to the processor, which reads nothing")]
#![expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]

use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};

use super::sizes::LANES;

/// The most lines that are fetched at a time.
const MOST: usize = 4;

/// Runs of neighbouring numbers that are still to be fetched.
pub struct Ahead {
    at: *const f32,
    /// From one run to the next.
    stride: usize,
    /// Lines of a run.
    lines: usize,
    /// Runs that are left, and lines of the first of them that were fetched.
    runs: usize,
    fetched: usize,
    /// Lines that are fetched at a time.
    share: usize,
}

impl Ahead {
    /// `runs` runs of `length` numbers, in equal shares over so many times.
    pub fn new(data: &[f32], [stride, runs, length]: [usize; 3], times: usize) -> Self {
        // One more where they do not begin with a line.
        let lines = if length == 0 { 0 } else { (length - 1).div_ceil(LANES) + 1 };
        let runs = if lines == 0 { 0 } else { runs };
        let share = (runs * lines).div_ceil(times.max(1)).min(MOST);
        Self { at: data.as_ptr(), stride, lines, runs, fetched: 0, share }
    }

    /// Brings the next lines on their way into the second cache.
    #[inline(always)]
    pub fn fetch(&mut self) {
        for _ in 0..self.share {
            if self.runs == 0 {
                return;
            }
            // SAFETY: an address is never read here, wherever it is.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(self.at.wrapping_add(self.fetched * LANES).cast()) };
            self.fetched += 1;
            if self.fetched == self.lines {
                (self.at, self.runs, self.fetched) = (self.at.wrapping_add(self.stride), self.runs - 1, 0);
            }
        }
    }
}
