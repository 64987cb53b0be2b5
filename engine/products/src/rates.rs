//! How fast products are at the shapes of a training step: `cargo test --release -p headroom-products rates -- --ignored
//! --nocapture`.
//!
//! Each shape goes through the `gemm` crate and through panels in turns, on one thread; the best of some repeats counts.

use std::time::Instant;

use super::{Matrix, MatrixMut, Start, elsewhere, instructions::has_wide_vectors, multiplies_pairs, panels};

const REPEATS: usize = 7;

/// How the left and the right factor lie: as they are multiplied, or turned.
type Layout = (bool, bool);

/// Shapes of the standard model: 2,048 tokens of width 256, feed-forward 1,024, 1,024 rows of 8,192 logits.
const SHAPES: [(&str, [usize; 3], Layout); 15] = [
    ("in the cache", [384, 384, 384], (false, false)),
    ("projections", [2048, 256, 768], (false, false)),
    ("output", [2048, 256, 256], (false, false)),
    ("feed-forward, wide", [2048, 256, 1024], (false, false)),
    ("feed-forward, narrow", [2048, 1024, 256], (false, false)),
    ("logits", [1024, 256, 8192], (false, true)),
    ("input gradient, wide", [2048, 1024, 256], (false, true)),
    ("input gradient, narrow", [2048, 256, 1024], (false, true)),
    ("input gradient, projections", [2048, 768, 256], (false, true)),
    ("input gradient, logits", [1024, 8192, 256], (false, false)),
    ("weight gradient, wide", [256, 2048, 1024], (true, false)),
    ("weight gradient, narrow", [1024, 2048, 256], (true, false)),
    ("weight gradient, projections", [256, 2048, 768], (true, false)),
    ("weight gradient, output", [256, 2048, 256], (true, false)),
    ("weight gradient, logits", [8192, 1024, 256], (true, false)),
];

/// Rows of working memory are lengthened where columns would share a few sets of the cache.
fn stride(columns: usize, is_weight: bool) -> usize {
    if !is_weight && columns.is_multiple_of(256) { columns + 16 } else { columns }
}

fn matrix<T>(data: &[T], rows: usize, columns: usize, is_turned: bool, is_weight: bool) -> Matrix<'_, T> {
    if is_turned {
        Matrix::new(data, columns, rows, stride(rows, is_weight), 1).transposed()
    } else {
        Matrix::new(data, rows, columns, stride(columns, is_weight), 1)
    }
}

fn best(work: &mut dyn FnMut()) -> f64 {
    work();
    let secs = (0..REPEATS).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    });
    secs.fold(f64::INFINITY, f64::min)
}

#[test]
#[ignore = "measures for some seconds"]
fn rates() {
    assert!(has_wide_vectors(), "panels are for processors with 512-bit vectors");
    println!("GFLOP/s at rows, inner, columns       gemm   panels    pairs");
    let mut totals = [0.0_f64; 3];
    for (name, [rows, inner, columns], (left_turned, right_turned)) in SHAPES {
        // Whole numbers, of which bf16 loses nothing, and whose sums are exact in any order.
        let a: Vec<f32> = (0..(rows + 16) * (inner + 16)).map(|i| (i % 17) as f32 - 8.0).collect();
        let b: Vec<f32> = (0..(inner + 16) * (columns + 16)).map(|i| (i % 13) as f32 - 6.0).collect();
        let (left, right) =
            (matrix(&a, rows, inner, left_turned, false), matrix(&b, inner, columns, right_turned, !left_turned));
        let of = |multiply: &dyn Fn(MatrixMut<'_, f32>)| {
            let mut out = vec![0.0_f32; rows * columns];
            let secs = best(&mut || multiply(MatrixMut::new(&mut out, rows, columns)));
            (out, secs)
        };
        let (expected, by_gemm) = of(&|out| elsewhere::product(out, left, right, Start::Zeros));
        let mut all = vec![by_gemm];
        let mut hold = |(found, secs): (Vec<f32>, f64)| {
            assert!(found == expected, "{name}");
            all.push(secs);
        };
        hold(of(&|out| panels::singles(out, left, right, Start::Zeros)));
        if multiplies_pairs() {
            hold(of(&|out| panels::pairs(out, left, right, Start::Zeros)));
        }
        let rate = |secs: f64| 2.0 * (rows * inner * columns) as f64 / secs / 1e9;
        let words = all.iter().map(|secs| format!("{:8.1}", rate(*secs))).collect::<Vec<_>>().join(" ");
        println!("{name:28} {rows:5} {inner:5} {columns:5} {words}");
        for (total, secs) in totals.iter_mut().zip(all) {
            *total += secs;
        }
    }
    println!("milliseconds of all: {}", totals.map(|secs| format!("{:.1}", secs * 1e3)).join(", "));
}

/// What a tile takes at several lengths of the inner dimension: the slope is that of a step along it, and what is left at length 0 is
/// what stands around the steps.
#[test]
#[ignore = "measures for some seconds"]
fn tiles() {
    assert!(has_wide_vectors(), "panels are for processors with 512-bit vectors");
    println!("ns a tile, in rows x columns of outputs, at inner lengths");
    for [rows, columns] in [[2_016, 1_024], [2_016, 256], [252, 256]] {
        let of_length = |inner: usize| {
            let (row_step, out_step) = (inner + 16, columns + 16);
            let (a, b) = (vec![1.0_f32; rows * row_step], vec![1.0_f32; inner * columns]);
            let mut out = vec![0.0_f32; rows * out_step];
            let times = (1 << 28) / (rows * inner * columns) + 1;
            let secs = best(&mut || {
                for _ in 0..times {
                    let out = MatrixMut::strided(&mut out, rows, columns, out_step);
                    let a = Matrix::new(&a, rows, inner, row_step, 1);
                    panels::singles(out, a, Matrix::row_major(&b, inner, columns), Start::Zeros);
                }
            });
            let tiles = times * (rows / 12) * (columns / 32);
            format!("{inner}: {:6.0}", secs / tiles as f64 * 1e9)
        };
        println!("{rows:5} x {columns:5} {}", [32, 64, 128, 256].map(of_length).join("  "));
    }
}
