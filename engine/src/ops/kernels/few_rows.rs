//! Products in which one side has few rows, as in a step of decoding: the other side, weights or what a cache keeps, is read
//! from memory once and as it lies, without being packed, and wherever its rows are.
//!
//! Like `gemm`, and unlike the other kernels, these use fused multiply-adds where the processor has them.

use std::hint::black_box;

#[cfg(target_arch = "x86_64")]
use super::dispatch::{Level, level};

/// Where rows begin in a slice.
#[derive(Clone, Copy, Debug)]
pub enum Places<'a> {
    /// One every `stride` elements.
    Every {
        /// Where the first begins.
        first: usize,
        /// From one to the next.
        stride: usize,
        /// How many there are.
        count: usize,
    },
    /// Row `i` begins at `rows[i] * stride + first`.
    Listed {
        /// The rows.
        rows: &'a [u32],
        /// Elements of a row.
        stride: usize,
        /// Where a row's columns begin.
        first: usize,
    },
}

impl Places<'_> {
    /// How many rows there are.
    #[inline]
    pub fn count(&self) -> usize {
        match self {
            Self::Every { count, .. } => *count,
            Self::Listed { rows, .. } => rows.len(),
        }
    }

    /// The same rows, `more` elements further on.
    pub fn from(self, more: usize) -> Self {
        match self {
            Self::Every { first, stride, count } => Self::Every { first: first + more, stride, count },
            Self::Listed { rows, stride, first } => Self::Listed { rows, stride, first: first + more },
        }
    }

    /// Where a row begins.
    #[inline]
    pub fn at(&self, row: usize) -> usize {
        match *self {
            Self::Every { first, stride, .. } => first + row * stride,
            Self::Listed { rows, stride, first } => rows[row] as usize * stride + first,
        }
    }
}

/// Rows of a slice.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Where they lie.
    pub data: &'a [f32],
    /// Where each begins.
    pub places: Places<'a>,
}

impl<'a> Rows<'a> {
    /// `count` rows, one every `stride` elements.
    pub fn every(data: &'a [f32], first: usize, stride: usize, count: usize) -> Self {
        Self { data, places: Places::Every { first, stride, count } }
    }

    /// The first `width` numbers of a row.
    #[inline]
    pub fn row(&self, row: usize, width: usize) -> &'a [f32] {
        &self.data[self.places.at(row)..][..width]
    }
}

/// `out[i, j] = a[i] · b[j]` over `width` numbers; row i of `out` begins at `outs.at(i)`.
///
/// # Panics
/// If a row lies outside of its slice.
pub fn dots(a: Rows<'_>, b: Rows<'_>, width: usize, out: &mut [f32], outs: Places<'_>) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,fma")]
        fn avx512(a: Rows<'_>, b: Rows<'_>, width: usize, out: &mut [f32], outs: Places<'_>) {
            dots_body::<16, true>(a, b, width, out, outs);
        }
        #[target_feature(enable = "avx2")]
        fn avx2(a: Rows<'_>, b: Rows<'_>, width: usize, out: &mut [f32], outs: Places<'_>) {
            dots_body::<8, false>(a, b, width, out, outs);
        }
        #[expect(unsafe_code, reason = "calls code compiled for features found at run time")]
        match level() {
            // SAFETY: `level` answers `Avx512` only where the processor has all of these, and every such processor has
            // fused multiply-adds.
            Level::Avx512 => unsafe { avx512(a, b, width, out, outs) },
            // SAFETY: `level` answers `Avx2` only where the processor has AVX2.
            Level::Avx2 => unsafe { avx2(a, b, width, out, outs) },
            Level::Plain => dots_body::<8, false>(a, b, width, out, outs),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    dots_body::<8, false>(a, b, width, out, outs);
}

/// `out[i] = Σ_j a[i, j] b[j]`, rows of `columns` numbers, or `out[i] += …` where `accumulate` is set; a row of `a` has as many
/// numbers as `b` has rows.
///
/// # Panics
/// If a row lies outside of its slice.
pub fn combine(a: Rows<'_>, b: Rows<'_>, columns: usize, out: &mut [f32], outs: Places<'_>, accumulate: bool) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,fma")]
        fn avx512(a: Rows<'_>, b: Rows<'_>, columns: usize, out: &mut [f32], outs: Places<'_>, accumulate: bool) {
            combine_body::<16, true>(a, b, columns, out, outs, accumulate);
        }
        #[target_feature(enable = "avx2")]
        fn avx2(a: Rows<'_>, b: Rows<'_>, columns: usize, out: &mut [f32], outs: Places<'_>, accumulate: bool) {
            combine_body::<8, false>(a, b, columns, out, outs, accumulate);
        }
        #[expect(unsafe_code, reason = "calls code compiled for features found at run time")]
        match level() {
            // SAFETY: as in `dots`.
            Level::Avx512 => unsafe { avx512(a, b, columns, out, outs, accumulate) },
            // SAFETY: as in `dots`.
            Level::Avx2 => unsafe { avx2(a, b, columns, out, outs, accumulate) },
            Level::Plain => combine_body::<8, false>(a, b, columns, out, outs, accumulate),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    combine_body::<8, false>(a, b, columns, out, outs, accumulate);
}

#[expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]
#[inline(always)]
fn multiply_add<const FUSED: bool>(x: f32, y: f32, sum: f32) -> f32 {
    if FUSED { x.mul_add(y, sum) } else { x * y + sum }
}

/// Numbers of a row from which on a few rows go through those of `b` one by one.
const LONG_ROW: usize = 128;

/// Blocks of rows of `b`, over which all rows of `a` go before the next is read.
#[expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]
#[inline(always)]
fn dots_body<const L: usize, const FUSED: bool>(
    a: Rows<'_>,
    b: Rows<'_>,
    width: usize,
    out: &mut [f32],
    outs: Places<'_>,
) {
    let (rows, columns) = (a.places.count(), b.places.count());
    if width >= LONG_ROW && rows <= 4 {
        // One row of `b` after the other: one stream through memory.
        macro_rules! stream {
            ($r:literal) => {{
                let of_a: [&[f32]; $r] = std::array::from_fn(|i| a.row(i, width));
                for j in 0..columns {
                    let products = dot_rows::<L, $r, FUSED>(of_a, b.row(j, width));
                    for (i, product) in products.into_iter().enumerate() {
                        out[outs.at(i) + j] = product;
                    }
                }
            }};
        }
        match rows {
            0 => {}
            1 => {
                let (of_a, start) = (a.row(0, width), outs.at(0));
                for (j, out) in out[start..start + columns].iter_mut().enumerate() {
                    *out = dot_row::<L, FUSED>(of_a, b.row(j, width));
                }
            }
            2 => stream!(2),
            3 => stream!(3),
            _ => stream!(4),
        }
        return;
    }
    let mut j = 0;
    while j < columns {
        let count = (columns - j).min(4);
        // Past the end the last row stands in; its products are not written.
        let of_b: [&[f32]; 4] = std::array::from_fn(|at| b.row(j + at.min(count - 1), width));
        let mut i = 0;
        while i < rows {
            let left = rows - i;
            macro_rules! tile {
                ($r:literal) => {{
                    let of_a: [&[f32]; $r] = std::array::from_fn(|at| a.row(i + at, width));
                    let products = if $r == 1 {
                        dots_tile::<L, $r, FUSED, false>(of_a, of_b, width)
                    } else {
                        dots_tile::<L, $r, FUSED, true>(of_a, of_b, width)
                    };
                    for (at, products) in products.iter().enumerate() {
                        let start = outs.at(i + at) + j;
                        out[start..start + count].copy_from_slice(&products[..count]);
                    }
                    i += $r;
                }};
            }
            match left {
                1 => tile!(1),
                // Where a vector is half as long there are half as many registers too.
                _ if L < 16 => tile!(2),
                2 => tile!(2),
                3 => tile!(3),
                _ => tile!(4),
            }
        }
        j += count;
    }
}

/// The product of two rows, in four sums a lane: more of it can be on its way from memory.
#[expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]
#[inline(always)]
fn dot_row<const L: usize, const FUSED: bool>(a: &[f32], b: &[f32]) -> f32 {
    let (a_blocks, a_rest) = a.as_chunks::<L>();
    let (b_blocks, b_rest) = b.as_chunks::<L>();
    let (a_fours, a_left) = a_blocks.as_chunks::<4>();
    let (b_fours, b_left) = b_blocks.as_chunks::<4>();
    let mut sums = [[0.0_f32; L]; 4];
    for (x, y) in a_fours.iter().zip(b_fours) {
        for ((sums, x), y) in sums.iter_mut().zip(x).zip(y) {
            for lane in 0..L {
                sums[lane] = multiply_add::<FUSED>(x[lane], y[lane], sums[lane]);
            }
        }
    }
    for ((sums, x), y) in sums.iter_mut().zip(a_left).zip(b_left) {
        for lane in 0..L {
            sums[lane] = multiply_add::<FUSED>(x[lane], y[lane], sums[lane]);
        }
    }
    let sums = black_box(sums);
    let mut lanes = [0.0_f32; L];
    for lane in 0..L {
        lanes[lane] = (sums[0][lane] + sums[1][lane]) + (sums[2][lane] + sums[3][lane]);
    }
    let mut product = sum_of_lanes(lanes);
    for (x, y) in a_rest.iter().zip(b_rest) {
        product = multiply_add::<FUSED>(*x, *y, product);
    }
    product
}

/// The sum of some numbers, by halves.
#[expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]
#[inline(always)]
fn sum_of_lanes<const L: usize>(mut lanes: [f32; L]) -> f32 {
    let mut half = L;
    while half > 1 {
        half /= 2;
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
    }
    lanes[0]
}

/// The products of a few rows with one.
#[expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]
#[inline(always)]
fn dot_rows<const L: usize, const R: usize, const FUSED: bool>(a: [&[f32]; R], b: &[f32]) -> [f32; R] {
    let (b_blocks, b_rest) = b.as_chunks::<L>();
    let a_blocks = a.map(|a| &a.as_chunks::<L>().0[..b_blocks.len()]);
    let mut sums = [[0.0_f32; L]; R];
    for (block, y) in b_blocks.iter().enumerate() {
        for (sums, a) in sums.iter_mut().zip(&a_blocks) {
            let x = &a[block];
            for lane in 0..L {
                sums[lane] = multiply_add::<FUSED>(x[lane], y[lane], sums[lane]);
            }
        }
    }
    // Otherwise the compiler makes sums lanes of a vector, for which it shuffles every number it reads.
    let sums = black_box(sums);
    let mut products = [0.0; R];
    for ((product, sums), a) in products.iter_mut().zip(&sums).zip(&a) {
        *product = sum_of_lanes(*sums);
        for (x, y) in a[b_blocks.len() * L..].iter().zip(b_rest) {
            *product = multiply_add::<FUSED>(*x, *y, *product);
        }
    }
    products
}

#[expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]
#[inline(always)]
fn dots_tile<const L: usize, const R: usize, const FUSED: bool, const IN_LANES: bool>(
    a: [&[f32]; R],
    b: [&[f32]; 4],
    width: usize,
) -> [[f32; 4]; R] {
    let blocks = width / L;
    let a_blocks: [&[[f32; L]]; R] = a.map(|row| &row.as_chunks::<L>().0[..blocks]);
    let b_blocks: [&[[f32; L]]; 4] = b.map(|row| &row.as_chunks::<L>().0[..blocks]);
    let sums = dots_summed::<L, R, FUSED>(a_blocks, b_blocks);
    // Otherwise the compiler makes the four rows of `b` lanes of a vector, for which it shuffles every number it reads.
    let sums = if IN_LANES { black_box(sums) } else { sums };
    let mut products = [[0.0_f32; 4]; R];
    for ((products, sums), a) in products.iter_mut().zip(&sums).zip(&a) {
        for ((product, lanes), b) in products.iter_mut().zip(sums).zip(&b) {
            *product = sum_of_lanes(*lanes);
            for (x, y) in a[blocks * L..width].iter().zip(&b[blocks * L..width]) {
                *product = multiply_add::<FUSED>(*x, *y, *product);
            }
        }
    }
    products
}

/// The sums of a tile, lane by lane; see [`combined`].
#[expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]
#[inline(always)]
fn dots_summed<const L: usize, const R: usize, const FUSED: bool>(
    a: [&[[f32; L]]; R],
    b: [&[[f32; L]]; 4],
) -> [[[f32; L]; 4]; R] {
    let count = b[0].len();
    let (a, b) = (a.map(|a| &a[..count]), b.map(|b| &b[..count]));
    let mut sums = [[[0.0_f32; L]; 4]; R];
    for block in 0..count {
        let y = [b[0][block], b[1][block], b[2][block], b[3][block]];
        for i in 0..R {
            let x = a[i][block];
            for k in 0..4 {
                for lane in 0..L {
                    sums[i][k][lane] = multiply_add::<FUSED>(x[lane], y[k][lane], sums[i][k][lane]);
                }
            }
        }
    }
    sums
}

/// Rows of `b` that are copied together where many rows of `a` meet them.
const PACKED_ROWS: usize = 64;
/// And columns: both together stay in the first cache.
const PACKED_COLUMNS: usize = 64;
/// Rows of `a` from which on sums stay in registers; fewer go over rows of `b` from one end to the other, four at a time.
const ROWS_IN_REGISTERS: usize = 8;
/// Columns of these that are gone over together: they stay in the first cache.
const COLUMNS_AT_ONCE: usize = 1024;
/// Rows of `b` that lie no further apart than this many numbers are read as they lie.
const NEAR: usize = 2 * PACKED_COLUMNS;

/// Where many rows of `a` meet rows of `b` that lie far apart, and so in few places of the caches, blocks of these are copied side
/// by side first. Sums are the same either way.
#[expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]
#[inline(always)]
fn combine_body<const L: usize, const FUSED: bool>(
    a: Rows<'_>,
    b: Rows<'_>,
    columns: usize,
    out: &mut [f32],
    outs: Places<'_>,
    accumulate: bool,
) {
    let count = b.places.count();
    let is_near = matches!(b.places, Places::Every { stride, .. } if stride <= NEAR);
    if a.places.count() < ROWS_IN_REGISTERS && !is_near {
        add_rows::<FUSED>(a, b, columns, out, outs, accumulate);
        return;
    }
    if is_near || count == 0 {
        combine_block::<L, FUSED>(a, b, (0, count), (0, columns), out, outs, accumulate);
        return;
    }
    let mut packed = [0.0_f32; PACKED_ROWS * PACKED_COLUMNS];
    let mut column = 0;
    while column < columns {
        let width = PACKED_COLUMNS.min(columns - column);
        let mut first = 0;
        while first < count {
            let rows = PACKED_ROWS.min(count - first);
            for (row, to) in packed.chunks_exact_mut(width).take(rows).enumerate() {
                let start = b.places.at(first + row) + column;
                to.copy_from_slice(&b.data[start..][..width]);
            }
            // As if the rows before were there too.
            let block = Rows::every(&packed, 0, width, rows);
            combine_block::<L, FUSED>(
                a,
                block,
                (first, first + rows),
                (column, width),
                out,
                outs,
                accumulate || first > 0,
            );
            first += rows;
        }
        column += width;
    }
}

/// Adds rows of `b` to a few sums.
#[expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]
#[inline(always)]
fn add_rows<const FUSED: bool>(
    a: Rows<'_>,
    b: Rows<'_>,
    columns: usize,
    out: &mut [f32],
    outs: Places<'_>,
    accumulate: bool,
) {
    let (rows, count) = (a.places.count(), b.places.count());
    let mut first = 0;
    while first < columns {
        let width = COLUMNS_AT_ONCE.min(columns - first);
        let column = |j: usize| &b.data[b.places.at(j) + first..][..width];
        if !accumulate {
            (0..rows).for_each(|i| out[outs.at(i) + first..][..width].fill(0.0));
        }
        let mut j = 0;
        while j + 4 <= count {
            let [b0, b1, b2, b3] = std::array::from_fn(|at| column(j + at));
            for i in 0..rows {
                let x = &a.row(i, count)[j..j + 4];
                let sums = &mut out[outs.at(i) + first..][..width];
                for c in 0..width {
                    let sum = multiply_add::<FUSED>(x[0], b0[c], sums[c]);
                    let sum = multiply_add::<FUSED>(x[1], b1[c], sum);
                    let sum = multiply_add::<FUSED>(x[2], b2[c], sum);
                    sums[c] = multiply_add::<FUSED>(x[3], b3[c], sum);
                }
            }
            j += 4;
        }
        for j in j..count {
            let b = column(j);
            for i in 0..rows {
                let x = a.row(i, count)[j];
                let sums = &mut out[outs.at(i) + first..][..width];
                for c in 0..width {
                    sums[c] = multiply_add::<FUSED>(x, b[c], sums[c]);
                }
            }
        }
        first += width;
    }
}

/// Some columns of the sums over rows `from..to`, of which row `from` is the first of `b`, in strips that all rows of `a` go over
/// before the next is read: what is summed stays in registers.
#[expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]
#[inline(always)]
fn combine_block<const L: usize, const FUSED: bool>(
    a: Rows<'_>,
    b: Rows<'_>,
    js: (usize, usize),
    (column, columns): (usize, usize),
    out: &mut [f32],
    outs: Places<'_>,
    accumulate: bool,
) {
    let mut c = 0;
    macro_rules! strips {
        ($v:literal) => {
            while c + $v * L <= columns {
                combine_strip::<L, $v, FUSED>(a, b, js, (c, column + c), out, outs, accumulate);
                c += $v * L;
            }
        };
    }
    if L >= 16 {
        strips!(4);
    }
    strips!(2);
    strips!(1);
    if c + 8 <= columns {
        combine_strip::<8, 1, FUSED>(a, b, js, (c, column + c), out, outs, accumulate);
        c += 8;
    }
    if c + 4 <= columns {
        combine_strip::<4, 1, FUSED>(a, b, js, (c, column + c), out, outs, accumulate);
        c += 4;
    }
    while c < columns {
        combine_strip::<1, 1, FUSED>(a, b, js, (c, column + c), out, outs, accumulate);
        c += 1;
    }
}

/// All rows of a strip of `V * L` columns, which are others in `b` than in `out`.
#[expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]
#[inline(always)]
fn combine_strip<const L: usize, const V: usize, const FUSED: bool>(
    a: Rows<'_>,
    b: Rows<'_>,
    js: (usize, usize),
    columns: (usize, usize),
    out: &mut [f32],
    outs: Places<'_>,
    accumulate: bool,
) {
    let rows = a.places.count();
    let mut i = 0;
    while i < rows {
        macro_rules! tile {
            ($r:literal) => {{
                let of_a: [&[f32]; $r] = std::array::from_fn(|at| a.row(i + at, js.1));
                let starts: [usize; $r] = std::array::from_fn(|at| outs.at(i + at));
                combine_tile::<L, $r, V, FUSED>(of_a, b, js, columns, out, starts, accumulate);
                i += $r;
            }};
        }
        match rows - i {
            1 => tile!(1),
            2 | 3 => tile!(2),
            _ => tile!(4),
        }
    }
}

#[expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]
#[inline(always)]
fn combine_tile<const L: usize, const R: usize, const V: usize, const FUSED: bool>(
    a: [&[f32]; R],
    b: Rows<'_>,
    (from, to): (usize, usize),
    (of_b, column): (usize, usize),
    out: &mut [f32],
    starts: [usize; R],
    accumulate: bool,
) {
    let mut sums = [[[0.0_f32; L]; V]; R];
    if accumulate {
        for i in 0..R {
            let before = out[starts[i] + column..][..V * L].as_chunks::<L>().0;
            sums[i].copy_from_slice(&before[..V]);
        }
    }
    let sums = combined::<L, R, V, FUSED>(sums, a.map(|row| &row[from..to]), b, of_b);
    for i in 0..R {
        let out = out[starts[i] + column..][..V * L].as_chunks_mut::<L>().0;
        out[..V].copy_from_slice(&sums[i]);
    }
}

/// Sums with more rows added to them. They are handed in and out, and loops count, because the compiler keeps them in registers
/// only so.
#[expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]
#[expect(clippy::needless_range_loop, reason = "see above")]
#[inline(always)]
fn combined<const L: usize, const R: usize, const V: usize, const FUSED: bool>(
    mut sums: [[[f32; L]; V]; R],
    a: [&[f32]; R],
    b: Rows<'_>,
    of_b: usize,
) -> [[[f32; L]; V]; R] {
    for j in 0..a[0].len() {
        let start = b.places.at(j) + of_b;
        let y = b.data[start..][..V * L].as_chunks::<L>().0;
        for i in 0..R {
            let x = a[i][j];
            for v in 0..V {
                for lane in 0..L {
                    sums[i][v][lane] = multiply_add::<FUSED>(x, y[v][lane], sums[i][v][lane]);
                }
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::super::{force_level, supported_levels};
    use super::*;

    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        (0..count).map(|i| (((i + seed) * 7919) % 101) as f32 / 10.0 - 5.0).collect()
    }

    /// Whole tenths of small numbers: sums differ by rounding alone.
    fn assert_near(got: &[f32], expected: &[f64]) {
        assert_eq!(got.len(), expected.len());
        for (got, expected) in got.iter().zip(expected) {
            assert!((f64::from(*got) - expected).abs() <= 2e-6 * expected.abs().max(100.0), "{got} and {expected}");
        }
    }

    #[test]
    fn products_are_those_of_single_numbers_wherever_rows_lie() {
        for level in supported_levels() {
            force_level(level);
            for (rows, columns, width) in [
                (1, 1, 1),
                (1, 9, 64),
                (2, 5, 17),
                (3, 4, 33),
                (4, 7, 16),
                (9, 13, 70),
                (33, 3, 5),
                // Rows so long that a few go through those of the other side one by one, and that columns are cut.
                (1, 3, 300),
                (2, 9, 1100),
                (3, 5, 200),
                (4, 6, 130),
                (6, 5, 130),
                (9, 100, 300),
                (9, 0, 5),
            ] {
                let (a_data, b_data) = (numbers(rows * (width + 3) + 2, 1), numbers(2 * columns * (width + 1) + 5, 5));
                let listed: Vec<u32> = (0..columns).map(|j| (2 * ((j * 5) % columns)) as u32).collect();
                let a = Rows::every(&a_data, 2, width + 3, rows);
                let b = Rows { data: &b_data, places: Places::Listed { rows: &listed, stride: width + 1, first: 4 } };
                let outs = Places::Every { first: 1, stride: columns + 2, count: rows };
                let mut out = vec![7.0; rows * (columns + 2) + 1];
                dots(a, b, width, &mut out, outs);
                let mut expected = vec![7.0; out.len()];
                for i in 0..rows {
                    for j in 0..columns {
                        let (x, y) = (a.row(i, width), b.row(j, width));
                        expected[1 + i * (columns + 2) + j] =
                            x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
                    }
                }
                assert_near(&out, &expected);

                // The other way round: rows of coefficients times the same rows.
                let coefficients = numbers(rows * columns, 3);
                let a = Rows::every(&coefficients, 0, columns, rows);
                let outs = Places::Every { first: 3, stride: width + 1, count: rows };
                let mut out = vec![2.0; rows * (width + 1) + 3];
                let mut expected = vec![2.0; out.len()];
                for i in 0..rows {
                    for c in 0..width {
                        let product =
                            |j: usize| f64::from(coefficients[i * columns + j]) * f64::from(b.row(j, width)[c]);
                        expected[3 + i * (width + 1) + c] = (0..columns).map(product).sum();
                    }
                }
                combine(a, b, width, &mut out, outs, false);
                assert_near(&out, &expected);
                combine(a, b, width, &mut out, outs, true);
                let places = |i: usize| (3..3 + rows * (width + 1)).contains(&i) && (i - 3) % (width + 1) < width;
                let twice: Vec<f64> =
                    expected.iter().enumerate().map(|(i, x)| if places(i) { 2.0 * x } else { *x }).collect();
                assert_near(&out, &twice);
            }
        }
    }

    #[test]
    fn nothing_to_sum_gives_zeros() {
        let mut out = [3.0; 4];
        combine(
            Rows::every(&[], 0, 0, 2),
            Rows::every(&[], 0, 2, 0),
            2,
            &mut out,
            Places::Every { first: 0, stride: 2, count: 2 },
            false,
        );
        assert_eq!(out, [0.0; 4]);
    }
}
