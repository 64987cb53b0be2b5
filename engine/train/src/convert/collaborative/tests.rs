//! Decompositions against numbers of an independent implementation, and against the tensor itself.

use std::{collections::HashMap, ops::ControlFlow, path::PathBuf};

use candle_core::{Device, Tensor};
use proptest::prelude::*;

use super::{Factors, Found, HeadMaps, Search, decompose, start};
use crate::{
    analysis::Dense,
    convert::ConvertError,
    ops::random::{Purpose, Stream},
};

struct Golden {
    name: &'static str,
    tensors: HashMap<String, Tensor>,
    case: serde_json::Value,
}

impl Golden {
    fn read(folder: &str, name: &'static str) -> Self {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(folder);
        let path = root.join(format!("{name}.safetensors"));
        let bytes = std::fs::read(&path).unwrap();
        let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
        let case = serde_json::from_str(&header.metadata().as_ref().unwrap()["case"]).unwrap();
        Self { name, tensors: candle_core::safetensors::load(path, &Device::Cpu).unwrap(), case }
    }

    fn get(&self, name: &str) -> Vec<f64> {
        self.tensors[name].flatten_all().unwrap().to_vec1().unwrap()
    }

    /// Heads one after the other, `[H, d, k]`, as heads side by side.
    fn side_by_side(&self, name: &str) -> (Vec<f64>, [usize; 3]) {
        let tensor = &self.tensors[name];
        let (h, d, k) = tensor.dims3().unwrap();
        let turned = tensor.transpose(0, 1).unwrap().contiguous().unwrap();
        (turned.flatten_all().unwrap().to_vec1().unwrap(), [h, d, k])
    }

    fn maps(&self) -> HeadMaps {
        let (query, [h, d, k]) = self.side_by_side("Wq");
        HeadMaps::new(query, self.side_by_side("Wk").0, [d, h * k], k)
    }
}

fn search(d_k: usize) -> Search {
    Search { d_k, random_starts: 0, seed: 3, index: 0, sweeps: 200, tolerance: 1e-7 }
}

fn found(maps: &HeadMaps, search: &Search) -> Found {
    decompose(maps, search, &mut |_, _, _| ControlFlow::Continue(())).unwrap()
}

fn random(seed: u64, count: usize) -> Vec<f64> {
    let mut stream = Stream::new(seed, Purpose::Test, 0);
    (0..count).map(|_| stream.normal()).collect()
}

fn random_maps(seed: u64, heads: usize, width: usize, size: usize) -> HeadMaps {
    let count = width * heads * size;
    HeadMaps::new(random(seed, count), random(seed + 1, count), [width, heads * size], size)
}

fn random_factors(seed: u64, maps: &HeadMaps, d_k: usize) -> Factors {
    let of = |seed: u64, rows: usize| Dense { rows, columns: d_k, values: random(seed, rows * d_k) };
    Factors { mixing: of(seed, maps.heads()), query: of(seed + 1, maps.width()), key: of(seed + 2, maps.width()) }
}

/// The tensor itself, `[H, d, d]`.
fn whole(maps: &HeadMaps) -> Vec<f64> {
    let mut all = Vec::new();
    for head in 0..maps.heads() {
        let [a, b] = [&maps.query, &maps.key].map(|all| all.columns(head * maps.size, maps.size));
        all.extend(a.times_transposed(&b).values);
    }
    all
}

/// What factors stand for, `[H, d, d]`.
fn approximation(factors: &Factors) -> Vec<f64> {
    let rows = factors.mixing.values.chunks_exact(factors.width());
    rows.flat_map(|row| factors.query.clone().scale_columns(row).times_transposed(&factors.key).values).collect()
}

fn norm(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().map(|value| value * value).sum::<f64>().sqrt()
}

fn close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
    for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).abs();
        assert!(error <= tolerance * largest, "{what}[{place}]: {found} instead of {expected}");
    }
}

#[test]
fn errors_are_those_that_an_independent_implementation_reached() {
    for name in ["cp_exact", "cp_noisy"] {
        let golden = Golden::read("captured", name);
        let maps = golden.maps();
        close(&whole(&maps), &golden.get("T"), 1e-12, "T");
        close(&turned(&maps.content_biases(&golden.get("bq")), maps.heads()), &golden.get("v"), 1e-12, "v");
        let ranks: Vec<usize> = serde_json::from_value(golden.case["ranks"].clone()).unwrap();
        for (d_k, expected) in ranks.iter().zip(golden.get("rel_err")) {
            let found = found(&maps, &Search { random_starts: 12, sweeps: 4000, ..search(*d_k) });
            let error = found.relative_error;
            assert!(error <= 1.05 * expected + 1e-3, "{} at {d_k}: {error} instead of {expected}", golden.name);
            if *d_k == maps.exact_width() {
                assert!(error < 1e-14 && found.sweeps == 0);
            }
        }
    }
}

/// `[rows, columns]` to `[columns, rows]`.
fn turned(values: &[f64], columns: usize) -> Vec<f64> {
    Dense { rows: values.len() / columns, columns, values: values.to_vec() }.turned().values
}

#[test]
fn content_biases_and_blocks_of_ones_are_those_of_the_goldens() {
    for name in ["biases_a", "biases_b"] {
        let golden = Golden::read("collaborative", name);
        let maps = golden.maps();
        let factors = Factors::exact(&maps, maps.exact_width()).unwrap();
        close(&factors.mixing.values, &golden.get("M"), 0.0, "M");
        close(&factors.query.values, &golden.get("WQs"), 0.0, "WQs");
        close(&factors.key.values, &golden.get("WKs"), 0.0, "WKs");
        close(&turned(&maps.content_biases(&golden.get("bq")), maps.heads()), &golden.get("v"), 1e-12, "v");
    }
}

#[test]
fn what_goes_through_the_maps_is_what_the_tensor_gives() {
    let (h, d, d_k) = (3, 7, 5);
    let maps = random_maps(1, h, d, 4);
    let tensor = whole(&maps);
    let Factors { mixing, query, key } = random_factors(4, &maps, d_k);
    let (queries, keys) = (maps.of_queries(&query), maps.of_keys(&key));
    let [mut of_both, mut of_keys, mut of_queries] = [vec![0.0; h * d_k], vec![0.0; d * d_k], vec![0.0; d * d_k]];
    for i in 0..h {
        for (a, b) in (0..d).flat_map(|a| (0..d).map(move |b| (a, b))) {
            let t = tensor[(i * d + a) * d + b];
            for r in 0..d_k {
                let [m, q, k] = [(&mixing, i), (&query, a), (&key, b)].map(|(of, row)| of.values[row * d_k + r]);
                of_both[i * d_k + r] += t * q * k;
                of_keys[a * d_k + r] += t * m * k;
                of_queries[b * d_k + r] += t * m * q;
            }
        }
    }
    close(&maps.times_both(&queries, &keys).values, &of_both, 1e-12, "T(Q, K)");
    close(&maps.times_keys(&mixing, &keys).values, &of_keys, 1e-12, "T(M, K)");
    close(&maps.times_queries(&mixing, &queries).values, &of_queries, 1e-12, "T(M, Q)");
    let expected = norm(tensor.iter().copied());
    assert!((maps.norm_squared().sqrt() / expected - 1.0).abs() < 1e-12);
    let factors = Factors { mixing, query, key };
    let left = tensor.iter().zip(approximation(&factors)).map(|(a, b)| a - b);
    assert!((maps.relative_error(&factors) / (norm(left) / expected) - 1.0).abs() < 1e-12);
}

#[test]
fn scaling_columns_changes_no_product() {
    let maps = random_maps(8, 3, 6, 2);
    let factors = random_factors(9, &maps, 4);
    let expected = approximation(&factors);
    let (mut balanced, mut beside) = (factors.clone(), factors.clone());
    balanced.balance(&mut [&mut beside]);
    assert_eq!(balanced, beside);
    let lengths = balanced.all().map(|factor| norm(factor.columns(0, 1).values));
    assert!((lengths[0] / lengths[1] - 1.0).abs() < 1e-12 && (lengths[0] / lengths[2] - 1.0).abs() < 1e-12);
    close(&approximation(&balanced), &expected, 1e-12, "balanced");
    close(&approximation(&factors.normalised()), &expected, 1e-12, "normalised");
}

#[test]
fn the_error_never_rises_and_more_columns_lose_less() {
    let maps = random_maps(20, 4, 12, 3);
    let mut before = f64::INFINITY;
    for d_k in [2, 4, 8, 11] {
        let (mut last, mut of) = (f64::INFINITY, 0);
        let search = Search { random_starts: 2, ..search(d_k) };
        let found = decompose(&maps, &search, &mut |start, _, error| {
            if start != of {
                (last, of) = (f64::INFINITY, start);
            }
            assert!(error <= last && (0.0..=1.0).contains(&error), "{error} after {last}");
            last = error;
            ControlFlow::Continue(())
        });
        let found = found.unwrap();
        assert!(found.relative_error < before, "{} at {d_k}, {before} before", found.relative_error);
        before = found.relative_error;
    }
    // The best without sharing: single heads' singular values alone.
    let alone = maps.relative_error(&start::from_singular_vectors(&maps, 8).unwrap());
    assert!(found(&maps, &search(8)).relative_error < alone && alone < 1.0);
}

#[test]
fn heads_that_are_the_same_share_all_columns() {
    let one = random_maps(30, 1, 9, 3);
    let all = |one: &Dense| Dense::side_by_side(&[one.clone(), one.clone(), one.clone()]).values;
    let maps = HeadMaps::new(all(&one.query), all(&one.key), [9, 9], 3);
    // Singular vectors of all heads are the same three times over: the random beginning finds what they share.
    assert!(found(&maps, &Search { random_starts: 1, ..search(3) }).relative_error < 1e-6);
}

#[test]
fn a_search_is_ended_and_heads_of_zeros_are_nothing_to_search_for() {
    let maps = random_maps(40, 3, 8, 4);
    let mut heard = 0;
    let ended = decompose(&maps, &search(6), &mut |_, _, _| {
        heard += 1;
        if heard == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(matches!(ended, Err(ConvertError::Stopped)) && heard == 3);
    let zeros = HeadMaps::new(vec![0.0; 96], vec![0.0; 96], [8, 12], 4);
    assert_eq!(found(&zeros, &search(6)).relative_error, 0.0);
    let mut wrong = random(41, 96);
    wrong[5] = f64::NAN;
    let wrong = HeadMaps::new(wrong, random(42, 96), [8, 12], 4);
    let told = decompose(&wrong, &search(6), &mut |_, _, _| ControlFlow::Continue(()));
    assert!(matches!(told, Err(ConvertError::NotFinite)));
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let maps = random_maps(50, 4, 128, 32);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| found(&maps, &Search { random_starts: 1, sweeps: 6, ..search(100) }))
    };
    assert_eq!(on(1), on(3));
}

proptest! {
    /// At the width of all heads together nothing is lost, and beyond it neither.
    #[test]
    fn whole_widths_lose_nothing(heads in 1_usize..5, width in 1_usize..9, size in 1_usize..5, beyond in 0_usize..3, seed in 0_u64..99) {
        let maps = random_maps(seed, heads, width, size);
        let found = found(&maps, &search(maps.exact_width() + beyond));
        prop_assert!(found.relative_error < 1e-14);
        close(&approximation(&found.factors), &whole(&maps), 1e-12, "all heads");
    }

    /// The error that is told is that of the factors, and less than that of nothing.
    #[test]
    fn the_error_is_that_of_the_factors(heads in 1_usize..5, width in 2_usize..9, size in 2_usize..5, seed in 0_u64..99) {
        let maps = random_maps(seed, heads, width, size);
        let d_k = (maps.exact_width() / 2).max(1);
        let found = found(&maps, &Search { random_starts: 1, sweeps: 30, ..search(d_k) });
        let tensor = whole(&maps);
        let left = tensor.iter().zip(approximation(&found.factors)).map(|(a, b)| a - b);
        let expected = norm(left) / norm(tensor.iter().copied());
        prop_assert!((found.relative_error - expected).abs() < 1e-9);
        prop_assert!(found.relative_error < 1.0);
    }
}
