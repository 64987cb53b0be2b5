//! Copying a factor into panels.
#![expect(unsafe_code, reason = "instructions that only some processors have, on addresses")]
#![expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]

use std::arch::x86_64::{
    __m512i, _MM_HINT_T0, _mm_prefetch, _mm512_loadu_ps, _mm512_mask_storeu_epi32, _mm512_maskz_loadu_ps,
    _mm512_setzero_ps, _mm512_setzero_si512, _mm512_shuffle_i32x4, _mm512_storeu_si512, _mm512_unpackhi_epi32,
    _mm512_unpackhi_epi64, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
};

use super::{
    ahead::Ahead,
    sizes::{COLUMNS, DEPTH, FAR, LANES, PANEL_OF_ROWS, ROW_ROOM, ROWS},
    steps::Steps,
    tile::{Lying, lanes},
};
use crate::Matrix;

/// One factor: lines, which are rows of the left one or columns of the right one, and the places along them.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    data: &'a [f32],
    lines: usize,
    places: usize,
    line_stride: usize,
    place_stride: usize,
}

impl<'a> Side<'a> {
    /// The left factor.
    pub fn rows(matrix: Matrix<'a, f32>) -> Self {
        let Matrix { data, rows, columns, row_stride, column_stride } = matrix;
        Self { data, lines: rows, places: columns, line_stride: row_stride, place_stride: column_stride }
    }

    /// The right one.
    pub fn columns(matrix: Matrix<'a, f32>) -> Self {
        Self::rows(matrix.transposed())
    }
}

/// Bytes that lie so far apart, or a multiple of it, share a few sets of the first cache.
const ALIASED: usize = 2_048;

impl<'a> Side<'a> {
    /// How its lines lie where tiles can read them as they are, if words are single numbers: neighbours along one of the two ways,
    /// those along the other not in the same sets of the cache, and no place farther from the next than [`FAR`].
    pub fn as_it_is(self) -> Option<Lying> {
        let is_apart = |stride: usize| !(stride * size_of::<f32>()).is_multiple_of(ALIASED);
        match (self.line_stride, self.place_stride) {
            (stride, 1) if is_apart(stride) => Some(Lying::Along(stride)),
            (1, stride) if is_apart(stride) && stride <= FAR => Some(Lying::Beside(stride)),
            _ => None,
        }
    }

    /// The words that it is, from `line` on.
    pub fn words(self, line: usize) -> &'a [u32] {
        let data = self.data.split_at(line * self.line_stride).1;
        // SAFETY: both have four bytes and are aligned alike, and every pattern of bits is a word.
        unsafe { std::slice::from_raw_parts(data.as_ptr().cast(), data.len()) }
    }
}

impl Side<'_> {
    /// What of it is to be fetched over `times` tiles; nothing where neighbours are apart.
    pub fn ahead(self, times: usize) -> Ahead {
        let Side { data, lines, places, line_stride, place_stride } = self;
        let runs = match (line_stride, place_stride) {
            (_, 1) => [line_stride, lines, places],
            (1, _) => [place_stride, places, lines],
            _ => [0; 3],
        };
        Ahead::new(data, runs, times)
    }
}

/// Copies columns into panels of [`COLUMNS`], a word of each for every place; words of columns that are not there are zero.
///
/// # Safety
/// The processor must have the instructions.
#[inline(always)]
pub unsafe fn columns<S: Steps>(panels: &mut [u32], side: Side<'_>) {
    let size = side.places.div_ceil(S::PLACES) * COLUMNS;
    // SAFETY: the caller's.
    unsafe {
        match side {
            Side { line_stride: 1, .. } => lines_beside::<S, COLUMNS>(panels, size, side),
            Side { place_stride: 1, .. } => lines_turned::<S, COLUMNS>(panels, size, side),
            _ => one_by_one::<S, COLUMNS>(panels, size, side),
        }
    }
}

/// Copies rows into panels of [`ROWS`], and says how they lie there.
///
/// # Safety
/// The processor must have the instructions.
#[inline(always)]
pub unsafe fn rows<S: Steps>(panels: &mut [u32], side: Side<'_>) -> Lying {
    // SAFETY: the caller's.
    unsafe {
        match side {
            Side { place_stride: 1, .. } => {
                lines_along::<S>(panels, side);
                return Lying::PANEL_ALONG;
            }
            Side { line_stride: 1, .. } => lines_beside::<S, ROWS>(panels, PANEL_OF_ROWS, side),
            _ => one_by_one::<S, ROWS>(panels, PANEL_OF_ROWS, side),
        }
    }
    Lying::PANEL_BESIDE
}

/// The panels of a side, `WIDTH` lines each, `size` words apart, and the lines that belong to each.
fn each_panel<'p, 's, const WIDTH: usize>(
    panels: &'p mut [u32],
    size: usize,
    side: Side<'s>,
) -> impl Iterator<Item = (&'p mut [u32], Side<'s>)> {
    let count = side.lines.div_ceil(WIDTH);
    assert!(panels.len() >= count * size, "room for {count} panels");
    panels.chunks_exact_mut(size).take(count).enumerate().map(move |(number, panel)| {
        let first = number * WIDTH;
        let lines = (side.lines - first).min(WIDTH);
        (panel, Side { data: side.data.split_at(first * side.line_stride).1, lines, ..side })
    })
}

/// Words that are copied of every panel before those after them: what lies beside each other is read together.
const TOGETHER: usize = 8;

/// Neighbouring lines lie side by side: a vector of them is a vector of words.
///
/// # Safety
/// The processor must have the instructions.
#[inline(always)]
unsafe fn lines_beside<S: Steps, const WIDTH: usize>(panels: &mut [u32], size: usize, side: Side<'_>) {
    let words = side.places.div_ceil(S::PLACES);
    for first_word in (0..words).step_by(TOGETHER) {
        for (panel, side) in each_panel::<WIDTH>(panels, size, side) {
            let group =
                panel.chunks_exact_mut(WIDTH).enumerate().skip(first_word).take(TOGETHER.min(words - first_word));
            for (word, out) in group {
                let place = word * S::PLACES;
                // SAFETY: the caller's. Only lanes of lines that are there, at places that are there, are read; what is fetched
                // ahead may be anywhere.
                unsafe {
                    let at = side.data.as_ptr().add(place * side.place_stride);
                    for first in (0..WIDTH).step_by(LANES) {
                        let ahead = at.wrapping_add(TOGETHER * S::PLACES * side.place_stride + first);
                        _mm_prefetch::<_MM_HINT_T0>(ahead.cast());
                        if S::PLACES == 2 {
                            _mm_prefetch::<_MM_HINT_T0>(ahead.wrapping_add(side.place_stride).cast());
                        }
                        let mask = lanes(side.lines, first);
                        let next = if S::PLACES == 2 && place + 1 < side.places {
                            _mm512_maskz_loadu_ps(mask, at.wrapping_add(side.place_stride + first))
                        } else {
                            _mm512_setzero_ps()
                        };
                        let words = S::beside(_mm512_maskz_loadu_ps(mask, at.wrapping_add(first)), next);
                        _mm512_mask_storeu_epi32(out.as_mut_ptr().add(first).cast(), lanes(WIDTH, first), words);
                    }
                }
            }
        }
    }
}

/// Lines that are fetched ahead of those that are copied.
const LINES_AHEAD: usize = 4;

/// A vector of words of one line: of its numbers from `place` on.
///
/// # Safety
/// The processor must have the instructions, and the numbers must be there as far as the side has places.
#[inline(always)]
unsafe fn words_of<S: Steps>(at: *const f32, place: usize, places: usize) -> __m512i {
    // SAFETY: the caller's. Only lanes of places that are there are read.
    unsafe {
        if place + S::PLACES * LANES <= places {
            let next = if S::PLACES == 2 { _mm512_loadu_ps(at.add(LANES)) } else { _mm512_setzero_ps() };
            return S::along(_mm512_loadu_ps(at), next);
        }
        let next = if S::PLACES == 2 {
            _mm512_maskz_loadu_ps(lanes(places, place + LANES), at.wrapping_add(LANES))
        } else {
            _mm512_setzero_ps()
        };
        S::along(_mm512_maskz_loadu_ps(lanes(places, place), at), next)
    }
}

/// Neighbouring places lie side by side, and stay so.
///
/// # Safety
/// The processor must have the instructions.
#[inline(always)]
unsafe fn lines_along<S: Steps>(panels: &mut [u32], side: Side<'_>) {
    let words = side.places.div_ceil(S::PLACES);
    assert!(words <= DEPTH, "room for words of a row");
    for (panel, side) in each_panel::<ROWS>(panels, PANEL_OF_ROWS, side) {
        for (line, out) in panel.chunks_exact_mut(ROW_ROOM).take(side.lines).enumerate() {
            // SAFETY: the caller's; a line has room for whole vectors. What is fetched ahead may be anywhere.
            unsafe {
                for word in (0..words).step_by(LANES) {
                    let place = word * S::PLACES;
                    let at = side.data.as_ptr().add(line * side.line_stride + place);
                    for part in 0..S::PLACES {
                        let ahead = at.wrapping_add(LINES_AHEAD * side.line_stride + part * LANES);
                        _mm_prefetch::<_MM_HINT_T0>(ahead.cast());
                    }
                    let words = words_of::<S>(at, place, side.places);
                    _mm512_storeu_si512(out.as_mut_ptr().add(word).cast(), words);
                }
            }
        }
    }
}

/// Neighbouring places lie side by side: 16 lines of 16 words are turned at a time.
///
/// # Safety
/// The processor must have the instructions.
#[inline(always)]
unsafe fn lines_turned<S: Steps, const WIDTH: usize>(panels: &mut [u32], size: usize, side: Side<'_>) {
    let words = side.places.div_ceil(S::PLACES);
    for (panel, side) in each_panel::<WIDTH>(panels, size, side) {
        if side.lines < WIDTH {
            panel.fill(0);
        }
        for first in (0..side.lines).step_by(LANES) {
            let count = (side.lines - first).min(LANES);
            let written = lanes(side.lines, first);
            for word in (0..words).step_by(LANES) {
                let place = word * S::PLACES;
                // SAFETY: the caller's; only lanes of lines that are there are written. What is fetched ahead may be anywhere.
                unsafe {
                    let mut square = [_mm512_setzero_si512(); LANES];
                    for (line, of_line) in square.iter_mut().take(count).enumerate() {
                        let at = side.data.as_ptr().add((first + line) * side.line_stride + place);
                        _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(LANES * side.line_stride).cast());
                        *of_line = words_of::<S>(at, place, side.places);
                    }
                    turn(&mut square);
                    let out = panel.as_mut_ptr().add(word * WIDTH + first);
                    for (place, of_place) in square.into_iter().take(words - word).enumerate() {
                        _mm512_mask_storeu_epi32(out.add(place * WIDTH).cast(), written, of_place);
                    }
                }
            }
        }
    }
}

/// Any strides.
///
/// # Safety
/// The processor must have the instructions.
#[inline(always)]
unsafe fn one_by_one<S: Steps, const WIDTH: usize>(panels: &mut [u32], size: usize, side: Side<'_>) {
    let words = side.places.div_ceil(S::PLACES);
    for (panel, side) in each_panel::<WIDTH>(panels, size, side) {
        for (word, out) in panel.chunks_exact_mut(WIDTH).take(words).enumerate() {
            let place = word * S::PLACES;
            let mut numbers = [[0.0_f32; WIDTH]; 2];
            for (offset, numbers) in numbers.iter_mut().take(S::PLACES.min(side.places - place)).enumerate() {
                for (line, number) in numbers.iter_mut().take(side.lines).enumerate() {
                    *number = side.data[line * side.line_stride + (place + offset) * side.place_stride];
                }
            }
            // SAFETY: the caller's; the arrays have `WIDTH` numbers.
            unsafe {
                for first in (0..WIDTH).step_by(LANES) {
                    let mask = lanes(WIDTH, first);
                    let [now, next] =
                        [0, 1].map(|offset| _mm512_maskz_loadu_ps(mask, numbers[offset].as_ptr().add(first)));
                    _mm512_mask_storeu_epi32(out.as_mut_ptr().add(first).cast(), mask, S::beside(now, next));
                }
            }
        }
    }
}

/// Rows and columns of 16 by 16 words exchanged.
///
/// # Safety
/// The processor must have the instructions.
#[inline(always)]
unsafe fn turn(square: &mut [__m512i; LANES]) {
    // SAFETY: the caller's.
    unsafe {
        let mut other = [_mm512_setzero_si512(); LANES];
        for i in 0..8 {
            other[2 * i] = _mm512_unpacklo_epi32(square[2 * i], square[2 * i + 1]);
            other[2 * i + 1] = _mm512_unpackhi_epi32(square[2 * i], square[2 * i + 1]);
        }
        for i in 0..4 {
            for half in 0..2 {
                let (a, b) = (other[4 * i + half], other[4 * i + half + 2]);
                square[4 * i + 2 * half] = _mm512_unpacklo_epi64(a, b);
                square[4 * i + 2 * half + 1] = _mm512_unpackhi_epi64(a, b);
            }
        }
        for half in 0..2 {
            for i in 0..4 {
                let (a, b) = (square[8 * half + i], square[8 * half + i + 4]);
                other[8 * half + i] = _mm512_shuffle_i32x4::<0x88>(a, b);
                other[8 * half + i + 4] = _mm512_shuffle_i32x4::<0xdd>(a, b);
            }
        }
        for i in 0..8 {
            square[i] = _mm512_shuffle_i32x4::<0x88>(other[i], other[i + 8]);
            square[i + 8] = _mm512_shuffle_i32x4::<0xdd>(other[i], other[i + 8]);
        }
    }
}
