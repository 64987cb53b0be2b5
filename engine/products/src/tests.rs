//! Every way against sums in double precision, at sizes that fit nothing.

use std::sync::{Mutex, PoisonError};

use super::*;
use crate::instructions::{Instructions, detect, limit};

/// What is limited is limited for all threads.
static ALONE: Mutex<()> = Mutex::new(());

struct Dice(u32);

impl Dice {
    fn next(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 as f32 / u32::MAX as f32 - 0.5
    }

    fn numbers(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.next()).collect()
    }
}

/// Rounded to 8 bits, ties to even, by whole numbers.
fn rounded(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff_0000)
}

fn each_way(f: impl Fn()) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for most in [Instructions::Usual, Instructions::Wide, Instructions::Pairs] {
        if most <= detect() {
            limit(most);
            f();
        }
    }
    limit(detect());
}

/// A matrix in one of four layouts: rows, columns, rows with air between them, or with air between the elements too.
fn laid_out<T>(numbers: &[T], rows: usize, columns: usize, layout: usize) -> Matrix<'_, T> {
    match layout {
        0 => Matrix::new(numbers, rows, columns, columns, 1),
        1 => Matrix::new(numbers, rows, columns, 1, rows),
        2 => Matrix::new(numbers, rows, columns, columns + 5, 1),
        _ => Matrix::new(numbers, rows, columns, 3 * columns, 3),
    }
}

fn at(matrix: Matrix<'_, f32>, row: usize, column: usize) -> f32 {
    matrix.data[row * matrix.row_stride + column * matrix.column_stride]
}

const SIZES: [[usize; 3]; 13] = [
    [1, 1, 1],
    [3, 5, 7],
    [8, 8, 1],
    [12, 32, 16],
    [13, 33, 17],
    [25, 70, 301],
    [9, 97, 2],
    [40, 100, 64],
    [129, 65, 513],
    [260, 31, 40],
    [11, 16, 1_100],
    [24, 2_100, 9],
    [500, 8, 33],
];

/// Air after each row of an output, which is to stay as it is.
const AIR: usize = 3;

fn hold_against_sums(is_paired: bool) {
    let mut dice = Dice(2_463_534_242);
    for [rows, columns, inner] in SIZES {
        let (left, right) = (dice.numbers(3 * rows * inner + 5 * rows), dice.numbers(3 * inner * columns + 5 * inner));
        let beginning: Vec<f32> = (0..columns).map(|column| 0.25 * (column % 7) as f32 - 0.5).collect();
        for (layouts, start) in (0..16).flat_map(|layouts| (0..3).map(move |start| (layouts, start))) {
            let (a, b) = (laid_out(&left, rows, inner, layouts % 4), laid_out(&right, inner, columns, layouts / 4));
            let stride = columns + AIR;
            let mut out = vec![1.5_f32; rows * stride];
            if is_paired {
                let view = MatrixMut::strided(Paired::of_slice_mut(&mut out), rows, columns, stride);
                let a = laid_out(Paired::of_slice(&left), rows, inner, layouts % 4);
                let b = laid_out(Paired::of_slice(&right), inner, columns, layouts / 4);
                let row = Start::Row(Paired::of_slice(&beginning));
                product_on(view, a, b, [Start::Zeros, Start::There, row][start]);
            } else {
                let start = [Start::Zeros, Start::There, Start::Row(&beginning)][start];
                product_on(MatrixMut::strided(&mut out, rows, columns, stride), a, b, start);
            }
            let is_rounded = is_paired && multiplies_pairs() && rows.min(columns) >= LEAST_SIDE;
            let factor = |x: f32| f64::from(if is_rounded { rounded(x) } else { x });
            for (row, out) in out.chunks(stride).enumerate() {
                for (column, &found) in out.iter().take(columns).enumerate() {
                    let sum: f64 = (0..inner).map(|k| factor(at(a, row, k)) * factor(at(b, k, column))).sum();
                    let expected = sum + [0.0, 1.5, f64::from(beginning[column])][start];
                    let slack = 3e-6 * (inner as f64).sqrt() + 3e-7;
                    assert!(
                        (f64::from(found) - expected).abs() < slack,
                        "{rows} x {inner} x {columns}, layouts {layouts}, start {start}: {found} at {row}, {column}, not {expected}"
                    );
                }
                assert!(out[columns..].iter().all(|&x| x == 1.5), "what is beside the output was written");
            }
        }
    }
}

#[test]
fn products_are_those_of_a_slow_sum() {
    each_way(|| hold_against_sums(false));
}

#[test]
fn products_of_pairs_are_those_of_rounded_factors_where_the_processor_multiplies_them() {
    each_way(|| hold_against_sums(true));
}

#[test]
fn double_precision_is_exact_for_whole_numbers() {
    let numbers = |count: usize| -> Vec<f64> { (0..count).map(|i| ((i * 7919) % 101) as f64 - 50.0).collect() };
    let (x, y) = (numbers(200), numbers(300));
    let (a, b) = (Matrix::new(&x, 7, 5, 20, 3), Matrix::new(&y, 9, 5, 30, 2).transposed());
    let mut out = vec![1.0; 63];
    product(MatrixMut::new(&mut out, 7, 9), a, b, true);
    for (index, found) in out.into_iter().enumerate() {
        let sum: f64 = (0..5).map(|k| x[index / 9 * 20 + k * 3] * y[index % 9 * 30 + k * 2]).sum();
        assert_eq!(found, sum + 1.0);
    }
}

#[test]
fn a_cut_output_has_the_same_bits() {
    each_way(|| {
        let mut dice = Dice(99);
        let [rows, columns, inner] = [333, 210, 700];
        let (left, right) = (dice.numbers(rows * inner), dice.numbers(inner * columns));
        let of = |is_paired: bool, cut: usize| {
            let mut out = vec![0.0_f32; rows * columns];
            if is_paired {
                let a = Matrix::row_major(Paired::of_slice(&left), rows, inner);
                let b = Matrix::row_major(Paired::of_slice(&right), inner, columns);
                in_parts(MatrixMut::new(Paired::of_slice_mut(&mut out), rows, columns), a, b, cut);
            } else {
                let a = Matrix::row_major(&left, rows, inner);
                in_parts(MatrixMut::new(&mut out, rows, columns), a, Matrix::row_major(&right, inner, columns), cut);
            }
            out
        };
        for is_paired in [false, true] {
            let whole = of(is_paired, 0);
            for cut in [96, 100, 192] {
                assert_eq!(of(is_paired, cut), whole, "cut at {cut}");
            }
        }
    });
}

/// A product in four parts, or in one where nothing is cut.
fn in_parts<T: Factor>(out: MatrixMut<'_, T>, a: Matrix<'_, T>, b: Matrix<'_, T>, cut: usize) {
    if cut == 0 {
        return product(out, a, b, false);
    }
    let (top, bottom) = out.split_rows(cut);
    for (out, a) in [(top, a.row_block(0, cut)), (bottom, a.row_block(cut, a.rows() - cut))] {
        let (left, right) = out.split_columns(cut);
        product(left, a, b.column_block(0, cut), false);
        product(right, a, b.column_block(cut, b.columns() - cut), false);
    }
}

/// Rows of the left factor that are read as they lie, and those that are copied since neighbours are on one page each or in the same
/// sets of the cache.
#[test]
fn how_the_left_factor_lies_changes_no_bit() {
    let [rows, inner, columns] = [31, 45, 70];
    let mut dice = Dice(5);
    let (left, right) = (dice.numbers(rows * inner), dice.numbers(inner * columns));
    let b = Matrix::row_major(&right, inner, columns);
    each_way(|| {
        let of = |a: Matrix<'_, f32>| {
            let mut out = vec![0.0_f32; rows * columns];
            product(MatrixMut::new(&mut out, rows, columns), a, b, false);
            out
        };
        let expected = of(Matrix::row_major(&left, rows, inner));
        for (row_step, column_step) in [(47, 1), (512, 1), (6_000, 1), (1, 37), (1, 1_024), (1, 5_000), (91, 2)] {
            let mut apart = vec![f32::NAN; (rows - 1) * row_step + (inner - 1) * column_step + 1];
            for (place, x) in left.iter().enumerate() {
                apart[place / inner * row_step + place % inner * column_step] = *x;
            }
            let found = of(Matrix::new(&apart, rows, inner, row_step, column_step));
            let far = found.iter().zip(&expected).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max);
            // The `gemm` crate sums in another order where it does not copy.
            #[cfg(target_arch = "x86_64")]
            let slack = if has_wide_vectors() { 0.0 } else { 1e-5 };
            #[cfg(not(target_arch = "x86_64"))]
            let slack = 1e-5;
            assert!(far <= slack, "steps of {row_step} and {column_step}: {far}");
        }
    });
}

#[test]
fn a_row_to_start_with_is_there_where_nothing_is_summed() {
    each_way(|| {
        let mut out = vec![3.0_f32; 90];
        let row: Vec<f32> = (0..10).map(|column| column as f32).collect();
        let (a, b) = (Matrix::row_major(&[], 9, 0), Matrix::row_major(&[], 0, 10));
        product_on(MatrixMut::new(&mut out, 9, 10), a, b, Start::Row(&row));
        assert!(out.chunks(10).all(|found| found == row));
    });
}

#[test]
#[should_panic(expected = "row that a product of 10 columns starts with")]
fn a_row_of_another_length_is_refused() {
    let mut out = vec![0.0_f32; 90];
    let (a, b) = (Matrix::row_major(&[1.0; 9], 9, 1), Matrix::row_major(&[1.0; 10], 1, 10));
    product_on(MatrixMut::new(&mut out, 9, 10), a, b, Start::Row(&[1.0; 9]));
}

#[test]
fn nothing_to_sum_gives_zeros() {
    each_way(|| {
        let mut out = vec![3.0_f32; 90];
        product(MatrixMut::new(&mut out, 9, 10), Matrix::row_major(&[], 9, 0), Matrix::row_major(&[], 0, 10), false);
        assert_eq!(out, [0.0; 90]);
        product(
            MatrixMut::new(&mut [], 0, 10),
            Matrix::row_major(&[], 0, 4),
            Matrix::row_major(&[0.0; 40], 4, 10),
            false,
        );
    });
}

#[test]
fn what_is_no_number_stays_none() {
    each_way(|| {
        for wrong in [f32::NAN, f32::INFINITY] {
            let mut left = vec![0.5; 16 * 20];
            left[3 * 20 + 7] = wrong;
            let right = vec![1.0; 20 * 16];
            let mut out = vec![0.0; 256];
            let a = Matrix::row_major(Paired::of_slice(&left), 16, 20);
            let b = Matrix::row_major(Paired::of_slice(&right), 20, 16);
            product(MatrixMut::new(Paired::of_slice_mut(&mut out), 16, 16), a, b, false);
            let is_wrong = |x: &f32| if wrong.is_nan() { x.is_nan() } else { *x == wrong };
            assert!(out[48..64].iter().all(is_wrong), "{:?}", &out[48..64]);
            assert!(out[..48].iter().chain(&out[64..]).all(|x| *x == 10.0));
        }
    });
}

#[test]
fn vectors_of_numbers_are_taken_over() {
    let numbers = vec![Paired(1.0), Paired(-2.5)];
    assert_eq!(Paired::into_singles(numbers), [1.0, -2.5]);
    assert_eq!(Paired::of_slice(&[4.0]), [Paired(4.0)]);
}

#[test]
fn long_products_that_lie_in_any_way_are_those_of_a_slow_sum() {
    // More than one block along every side.
    let [rows, inner, columns] = [205, 1_030, 1_060];
    let mut dice = Dice(7);
    let (left, right) = (dice.numbers(rows * inner), dice.numbers(inner * columns));
    let expected: Vec<f64> = {
        let mut sums = vec![0.0; rows * columns];
        for (row, sums) in sums.chunks_mut(columns).enumerate() {
            for k in 0..inner {
                let factor = f64::from(rounded(left[row * inner + k]));
                let line = &right[k * columns..(k + 1) * columns];
                sums.iter_mut().zip(line).for_each(|(sum, x)| *sum += factor * f64::from(rounded(*x)));
            }
        }
        sums
    };
    let turned = |x: &[f32], rows: usize| -> Vec<f32> {
        let columns = x.len() / rows;
        (0..x.len()).map(|i| rounded(x[i % rows * columns + i / rows])).collect()
    };
    let straight = |x: &[f32]| x.iter().copied().map(rounded).collect::<Vec<f32>>();
    let (a, b) = ([straight(&left), turned(&left, rows)], [straight(&right), turned(&right, inner)]);
    each_way(|| {
        for (layouts, is_paired) in (0..4).flat_map(|layouts| [(layouts, false), (layouts, true)]) {
            let (a, b) = (&a[layouts % 2], &b[layouts / 2]);
            let mut out = vec![0.0; rows * columns];
            if is_paired {
                let a = laid_out(Paired::of_slice(a), rows, inner, layouts % 2);
                let b = laid_out(Paired::of_slice(b), inner, columns, layouts / 2);
                product(MatrixMut::new(Paired::of_slice_mut(&mut out), rows, columns), a, b, false);
            } else {
                let b = laid_out(b, inner, columns, layouts / 2);
                product(MatrixMut::new(&mut out, rows, columns), laid_out(a, rows, inner, layouts % 2), b, false);
            }
            let far = out.iter().zip(&expected).map(|(x, y)| (f64::from(*x) - y).abs()).fold(0.0, f64::max);
            assert!(far < 1e-4, "layouts {layouts}, pairs {is_paired}: {far}");
        }
    });
}
