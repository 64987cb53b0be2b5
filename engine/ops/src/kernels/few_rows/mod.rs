//! Products in which one side has few rows, as in a step of decoding: the other side, weights or what a cache keeps, is read
//! from memory once and as it lies, without being packed, and wherever its rows are.
//!
//! Like `gemm`, and unlike the other kernels, these use fused multiply-adds where the processor has them.

mod combine;
mod dots;

pub use combine::combine;
pub use dots::dots;

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

#[expect(clippy::inline_always, reason = "must be compiled with its caller's vectors")]
#[inline(always)]
fn multiply_add<const FUSED: bool>(x: f32, y: f32, sum: f32) -> f32 {
    if FUSED { x.mul_add(y, sum) } else { x * y + sum }
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
