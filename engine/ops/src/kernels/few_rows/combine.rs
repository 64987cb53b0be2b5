#[cfg(target_arch = "x86_64")]
use super::super::dispatch::{Level, level};
use super::{Places, Rows, multiply_add};

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
            // SAFETY: as in `few_rows::dots`.
            Level::Avx512 => unsafe { avx512(a, b, columns, out, outs, accumulate) },
            // SAFETY: as in `few_rows::dots`.
            Level::Avx2 => unsafe { avx2(a, b, columns, out, outs, accumulate) },
            Level::Plain => combine_body::<8, false>(a, b, columns, out, outs, accumulate),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    combine_body::<8, false>(a, b, columns, out, outs, accumulate);
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
