//! Tiles of the output, one strip of them after the other.
#![expect(unsafe_code, reason = "instructions that only some processors have, on addresses")]
#![expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]

use std::arch::x86_64::{
    __m512, __mmask16, _MM_HINT_T0, _mm_prefetch, _mm512_add_ps, _mm512_loadu_ps, _mm512_loadu_si512,
    _mm512_mask_storeu_ps, _mm512_maskz_loadu_ps, _mm512_set1_epi32, _mm512_setzero_ps, _mm512_storeu_ps,
};

use super::{
    ahead::Ahead,
    sizes::{COLUMNS, LANES, ROW_ROOM, ROWS},
    steps::Steps,
};
use crate::{MatrixMut, Start};

/// How many words before the end of a tile the output is fetched: later than all that would take its place in the first cache.
const LATE: usize = 48;

/// How the words of some rows lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lying {
    /// Those of each place beside each other, so far from those of the next.
    Beside(usize),
    /// Those of each row along it, so far from those of the next.
    Along(usize),
}

impl Lying {
    /// In a panel, beside each other.
    pub const PANEL_BESIDE: Self = Self::Beside(ROWS);
    /// In a panel, along.
    pub const PANEL_ALONG: Self = Self::Along(ROW_ROOM);
}

/// Some rows of the output, and what they are made of.
pub struct Strip<'a> {
    /// At most [`ROWS`] rows.
    pub out: MatrixMut<'a, f32>,
    /// Words of its rows.
    pub rows: &'a [u32],
    /// How they lie.
    pub lying: Lying,
    /// Panels of its columns.
    pub columns: &'a [u32],
    /// Words of a row or column.
    pub words: usize,
    /// What the product is added to.
    pub start: Start<'a, f32>,
    /// What else is fetched meanwhile.
    pub ahead: &'a mut Ahead,
}

/// The lanes of one of the two vectors of a row that has so many columns.
pub fn lanes(columns: usize, first: usize) -> __mmask16 {
    let count = columns.saturating_sub(first).min(LANES);
    if count == LANES { __mmask16::MAX } else { (1 << count) - 1 }
}

/// Computes a strip, tile after tile.
///
/// # Safety
/// The processor must have the instructions.
#[inline(always)]
pub unsafe fn compute<S: Steps>(strip: Strip<'_>) {
    let (rows, columns) = (strip.out.rows, strip.out.columns);
    if columns == 0 {
        return;
    }
    assert!(rows > 0 && strip.words > 0, "size of a strip");
    let last = match strip.lying {
        Lying::Beside(step) => (strip.words - 1) * step + rows - 1,
        Lying::Along(step) => (rows - 1) * step + strip.words - 1,
    };
    assert!(last < strip.rows.len(), "words of rows of a strip");
    assert!(columns.next_multiple_of(COLUMNS) * strip.words <= strip.columns.len(), "words of columns of a strip");
    if let Start::Row(row) = strip.start {
        assert_eq!(row.len(), columns, "what a strip starts with");
    }
    // SAFETY: the caller's, and what was asserted.
    unsafe {
        match strip.lying {
            Lying::Beside(step) => of_any_rows::<S, false>(strip, [1, step]),
            Lying::Along(step) => of_any_rows::<S, true>(strip, [step, 1]),
        }
    }
}

/// # Safety
/// The processor must have the instructions, rows and columns so many words, and the output 1 to [`ROWS`] rows.
#[inline(always)]
unsafe fn of_any_rows<S: Steps, const ALONG: bool>(strip: Strip<'_>, steps: [usize; 2]) {
    // SAFETY: the caller's.
    unsafe {
        match strip.out.rows {
            12 => of_rows::<S, 12, ALONG>(strip, steps),
            11 => of_rows::<S, 11, ALONG>(strip, steps),
            10 => of_rows::<S, 10, ALONG>(strip, steps),
            9 => of_rows::<S, 9, ALONG>(strip, steps),
            8 => of_rows::<S, 8, ALONG>(strip, steps),
            7 => of_rows::<S, 7, ALONG>(strip, steps),
            6 => of_rows::<S, 6, ALONG>(strip, steps),
            5 => of_rows::<S, 5, ALONG>(strip, steps),
            4 => of_rows::<S, 4, ALONG>(strip, steps),
            3 => of_rows::<S, 3, ALONG>(strip, steps),
            2 => of_rows::<S, 2, ALONG>(strip, steps),
            1 => of_rows::<S, 1, ALONG>(strip, steps),
            rows => unreachable!("a strip of {rows} rows"),
        }
    }
}

/// A strip of `R` rows; from the word of one row to that of the next, and from one place to the next, it is so far. One of the
/// two is 1: which one is known when this is compiled.
///
/// # Safety
/// The processor must have the instructions, rows and columns so many words, and the output `R` rows.
#[inline(always)]
unsafe fn of_rows<S: Steps, const R: usize, const ALONG: bool>(strip: Strip<'_>, [row_step, place_step]: [usize; 2]) {
    let Strip { out, rows, columns, words, start, ahead, .. } = strip;
    let (row_step, place_step) = if ALONG { (row_step, 1) } else { (1, place_step) };
    let mut panel = columns.as_ptr();
    for first in (0..out.columns).step_by(COLUMNS) {
        let width = (out.columns - first).min(COLUMNS);
        let at = out.data.wrapping_add(first);
        // After the last tile of this strip comes the first one of the next.
        let next_panel =
            if first + COLUMNS < out.columns { panel.wrapping_add(words * COLUMNS) } else { columns.as_ptr() };
        // SAFETY: the caller's. What is fetched ahead may be anywhere.
        unsafe {
            let mut sums = [[_mm512_setzero_ps(); 2]; R];
            let (mut row, mut column) = (rows.as_ptr(), panel);
            let mut left = words;
            let mut is_fetched = false;
            while left > 0 {
                // Words that share a line where they lie along a row; those of the next such group are on their way meanwhile.
                let together = left.min(LANES);
                left -= together;
                let (mut later_row, mut later_column) = if left > 0 {
                    (row.wrapping_add(together * place_step), column.wrapping_add(together * COLUMNS))
                } else {
                    (rows.as_ptr(), next_panel)
                };
                ahead.fetch();
                if left < LATE && !is_fetched {
                    is_fetched = true;
                    for place in 0..R {
                        let at = at.wrapping_add(place * out.row_stride);
                        _mm_prefetch::<_MM_HINT_T0>(at.cast());
                        _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(width - 1).cast());
                    }
                }
                if ALONG {
                    for place in 0..R {
                        _mm_prefetch::<_MM_HINT_T0>(later_row.wrapping_add(place * row_step).cast());
                    }
                }
                for _ in 0..together {
                    if !ALONG {
                        _mm_prefetch::<_MM_HINT_T0>(later_row.cast());
                        later_row = later_row.wrapping_add(place_step);
                    }
                    _mm_prefetch::<_MM_HINT_T0>(later_column.cast());
                    _mm_prefetch::<_MM_HINT_T0>(later_column.wrapping_add(LANES).cast());
                    later_column = later_column.wrapping_add(COLUMNS);
                    let halves = [_mm512_loadu_si512(column.cast()), _mm512_loadu_si512(column.add(LANES).cast())];
                    for (place, sums) in sums.iter_mut().enumerate() {
                        let word = _mm512_set1_epi32((*row.add(place * row_step)).cast_signed());
                        sums[0] = S::multiply(sums[0], word, halves[0]);
                        sums[1] = S::multiply(sums[1], word, halves[1]);
                    }
                    row = row.wrapping_add(place_step);
                    column = column.wrapping_add(COLUMNS);
                }
            }
            finish(sums, at, out.row_stride, width, start.from(first));
        }
        panel = next_panel;
    }
}

/// Writes the sums of a tile on top of its start.
///
/// # Safety
/// The processor must have the instructions, the output as many rows of `width` columns, and a row that it starts with as many
/// numbers.
#[inline(always)]
unsafe fn finish<const R: usize>(
    sums: [[__m512; 2]; R],
    at: *mut f32,
    row_stride: usize,
    width: usize,
    start: Start<'_, f32>,
) {
    // SAFETY: the caller's. Of the output only lanes that it has are read and written.
    unsafe {
        let masks = [lanes(width, 0), lanes(width, LANES)];
        let (is_added_to, beginnings) = match start {
            Start::Zeros => (false, None),
            Start::There => (true, None),
            Start::Row(row) => {
                let of_half = |half: usize| _mm512_maskz_loadu_ps(masks[half], row.as_ptr().wrapping_add(half * LANES));
                (false, Some([of_half(0), of_half(1)]))
            }
        };
        for (place, sums) in sums.into_iter().enumerate() {
            for (half, sum) in sums.into_iter().enumerate() {
                let at = at.wrapping_add(place * row_stride + half * LANES);
                let sum = match beginnings {
                    Some(beginnings) => _mm512_add_ps(beginnings[half], sum),
                    None if !is_added_to => sum,
                    None if width == COLUMNS => _mm512_add_ps(_mm512_loadu_ps(at), sum),
                    None => _mm512_add_ps(_mm512_maskz_loadu_ps(masks[half], at), sum),
                };
                if width == COLUMNS {
                    _mm512_storeu_ps(at, sum);
                } else {
                    _mm512_mask_storeu_ps(at, masks[half], sum);
                }
            }
        }
    }
}
