use std::hint::black_box;

#[cfg(target_arch = "x86_64")]
use super::super::dispatch::{Level, level};
use super::{Places, Rows, multiply_add};

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

/// The sums of a tile, lane by lane; see `combined` of `combine`.
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
