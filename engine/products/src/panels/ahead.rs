//! Fetching into the second cache what is copied next, while something else is multiplied.
#![expect(unsafe_code, reason = "a hint to the processor, which reads nothing")]
#![expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]

use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};

use super::{DEPTH, LANES};

/// The most lines that are fetched during one tile: one for every vector of words along it.
const MOST: usize = DEPTH / LANES;

/// Where they begin.
pub type Lines = [*const f32; MOST];

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
    /// `runs` runs of `length` numbers, in equal shares over `times` tiles.
    pub fn new(data: &[f32], [stride, runs, length]: [usize; 3], times: usize) -> Self {
        // One more where they do not begin with a line.
        let lines = if length == 0 { 0 } else { (length - 1).div_ceil(LANES) + 1 };
        let runs = if lines == 0 { 0 } else { runs };
        Self { at: data.as_ptr(), stride, lines, runs, fetched: 0, share: (runs * lines).div_ceil(times.max(1)) }
    }

    /// The lines to fetch during the next tile; `otherwise` stands where there are no more.
    #[inline]
    pub fn next(&mut self, otherwise: *const u32) -> Lines {
        let mut lines = [otherwise.cast(); MOST];
        let mut left = self.share.min(MOST);
        let mut place = 0;
        while left > 0 && self.runs > 0 {
            let now = left.min(self.lines - self.fetched);
            for line in self.fetched..self.fetched + now {
                lines[place] = self.at.wrapping_add(line * LANES);
                place += 1;
            }
            left -= now;
            self.fetched += now;
            if self.fetched == self.lines {
                (self.at, self.runs, self.fetched) = (self.at.wrapping_add(self.stride), self.runs - 1, 0);
            }
        }
        lines
    }
}

/// Brings a line on its way into the second cache.
#[inline(always)]
pub fn fetch(line: *const f32) {
    // SAFETY: an address is never read here, wherever it is.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(line.cast()) };
}
