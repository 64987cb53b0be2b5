//! A tile of the output.
#![expect(unsafe_code, reason = "instructions that only some processors have, on addresses")]
#![expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]

use std::arch::x86_64::{
    __mmask16, _MM_HINT_T0, _mm_prefetch, _mm512_add_ps, _mm512_loadu_si512, _mm512_mask_storeu_ps,
    _mm512_maskz_loadu_ps, _mm512_set1_epi32, _mm512_setzero_ps,
};

use super::{
    COLUMNS, DEPTH, LANES, PANEL_OF_ROWS, ROW_ROOM, ROWS,
    ahead::{Lines, fetch},
    word::Steps,
};
use crate::MatrixMut;

/// How many words ahead panels are fetched into the first cache.
const AHEAD: usize = 16;

/// How the words of a panel of rows lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lying {
    /// [`ROWS`] of each place beside each other.
    Beside,
    /// Those of each row along it, [`ROW_ROOM`] apart from those of the next.
    Along,
}

/// What a tile is made of.
pub struct Tile<'a> {
    /// At most [`ROWS`] by [`COLUMNS`].
    pub out: MatrixMut<'a, f32>,
    /// A panel of rows.
    pub rows: &'a [u32],
    /// How it lies.
    pub lying: Lying,
    /// A panel of columns.
    pub columns: &'a [u32],
    /// Words of a row or column.
    pub words: usize,
    /// What else is fetched meanwhile.
    pub ahead: Lines,
    /// What is there stays, and the product is added.
    pub adds: bool,
}

/// The lanes of one of the two vectors of a row that has so many columns.
pub fn lanes(columns: usize, first: usize) -> __mmask16 {
    let count = columns.saturating_sub(first).min(LANES);
    if count == LANES { __mmask16::MAX } else { (1 << count) - 1 }
}

/// Computes a tile.
///
/// # Safety
/// The processor must have the instructions.
#[inline(always)]
pub unsafe fn compute<S: Steps>(tile: Tile<'_>) {
    assert!(
        tile.rows.len() >= PANEL_OF_ROWS
            && tile.words <= DEPTH
            && tile.columns.len() >= tile.words * COLUMNS
            && tile.out.columns <= COLUMNS,
        "panels of a tile"
    );
    // SAFETY: the caller's, and what was asserted.
    unsafe {
        match tile.lying {
            Lying::Beside => of_any_rows::<S, 1, ROWS>(tile),
            Lying::Along => of_any_rows::<S, ROW_ROOM, 1>(tile),
        }
    }
}

/// # Safety
/// The processor must have the instructions, the panels so many words, and the output at most [`ROWS`] by [`COLUMNS`].
#[inline(always)]
unsafe fn of_any_rows<S: Steps, const ROW: usize, const WORD: usize>(tile: Tile<'_>) {
    // SAFETY: the caller's.
    unsafe {
        match tile.out.rows {
            12 => of_rows::<S, 12, ROW, WORD>(tile),
            11 => of_rows::<S, 11, ROW, WORD>(tile),
            10 => of_rows::<S, 10, ROW, WORD>(tile),
            9 => of_rows::<S, 9, ROW, WORD>(tile),
            8 => of_rows::<S, 8, ROW, WORD>(tile),
            7 => of_rows::<S, 7, ROW, WORD>(tile),
            6 => of_rows::<S, 6, ROW, WORD>(tile),
            5 => of_rows::<S, 5, ROW, WORD>(tile),
            4 => of_rows::<S, 4, ROW, WORD>(tile),
            3 => of_rows::<S, 3, ROW, WORD>(tile),
            2 => of_rows::<S, 2, ROW, WORD>(tile),
            1 => of_rows::<S, 1, ROW, WORD>(tile),
            rows => unreachable!("a tile of {rows} rows"),
        }
    }
}

/// A tile of `R` rows; the word of a row at a place stands at `ROW` times the row and `WORD` times the place.
///
/// # Safety
/// The processor must have the instructions, the panels so many words, and the output `R` rows of at most [`COLUMNS`] columns.
#[inline(always)]
unsafe fn of_rows<S: Steps, const R: usize, const ROW: usize, const WORD: usize>(tile: Tile<'_>) {
    let Tile { out, rows, columns, words, ahead, adds, .. } = tile;
    // SAFETY: the caller's. Of the output only lanes that it has are read and written.
    unsafe {
        // What is there is on its way while the product is summed.
        for place in 0..R {
            let at = out.data.wrapping_add(place * out.row_stride);
            _mm_prefetch::<_MM_HINT_T0>(at.cast());
            _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(out.columns.max(1) - 1).cast());
        }
        let mut sums = [[_mm512_setzero_ps(); 2]; R];
        let (mut row, mut column) = (rows.as_ptr(), columns.as_ptr());
        let mut left = words;
        let mut ahead = ahead.into_iter();
        while left > 0 {
            if let Some(line) = ahead.next() {
                fetch(line);
            }
            // Words that share a line where they lie along a row.
            let together = left.min(LANES);
            if WORD == 1 {
                for place in 0..R {
                    _mm_prefetch::<_MM_HINT_T0>(row.wrapping_add(place * ROW + LANES).cast());
                }
            }
            for _ in 0..together {
                if WORD > 1 {
                    _mm_prefetch::<_MM_HINT_T0>(row.wrapping_add(AHEAD * WORD).cast());
                }
                let later = column.wrapping_add(AHEAD * COLUMNS);
                _mm_prefetch::<_MM_HINT_T0>(later.cast());
                _mm_prefetch::<_MM_HINT_T0>(later.wrapping_add(LANES).cast());
                let halves = [_mm512_loadu_si512(column.cast()), _mm512_loadu_si512(column.add(LANES).cast())];
                for (place, sums) in sums.iter_mut().enumerate() {
                    let word = _mm512_set1_epi32((*row.add(place * ROW)).cast_signed());
                    sums[0] = S::multiply(sums[0], word, halves[0]);
                    sums[1] = S::multiply(sums[1], word, halves[1]);
                }
                (row, column) = (row.add(WORD), column.add(COLUMNS));
            }
            left -= together;
        }
        let masks = [lanes(out.columns, 0), lanes(out.columns, LANES)];
        for (place, sums) in sums.into_iter().enumerate() {
            for (half, (sum, mask)) in sums.into_iter().zip(masks).enumerate() {
                let at = out.data.wrapping_add(place * out.row_stride + half * LANES);
                let sum = if adds { _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, at)) } else { sum };
                _mm512_mask_storeu_ps(at, mask, sum);
            }
        }
    }
}
