use proptest::prelude::*;
use safetensors::{Dtype, SafeTensors};

use super::{
    direct::{RowReconstruction, WholeReconstruction},
    flops::RelativeFlops,
    *,
};
use crate::{
    attention::ModelPlan,
    config::{ModelKind, RunConfig},
};

/// A golden file: numbers of an independent implementation in double precision.
struct Golden(Vec<u8>);

impl Golden {
    fn read(name: &str) -> Self {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/partial");
        Self(std::fs::read(format!("{folder}/{name}.safetensors")).unwrap())
    }

    fn get(&self, name: &str) -> Vec<f64> {
        let file = SafeTensors::deserialize(&self.0).unwrap();
        let tensor = file.tensor(name).unwrap_or_else(|_| panic!("no tensor {name}"));
        let eight = tensor.data().chunks_exact(8).map(|eight| eight.try_into().unwrap());
        match tensor.dtype() {
            Dtype::F64 => eight.map(f64::from_le_bytes).collect(),
            _ => eight.map(|eight| i64::from_le_bytes(eight) as f64).collect(),
        }
    }

    fn indices(&self, name: &str) -> Vec<usize> {
        self.get(name).into_iter().map(|index| index as usize).collect()
    }

    fn case(&self, name: &str) -> serde_json::Value {
        let (_, header) = SafeTensors::read_metadata(&self.0).unwrap();
        let case: serde_json::Value = serde_json::from_str(&header.metadata().as_ref().unwrap()["case"]).unwrap();
        case[name].clone()
    }

    fn sizes(&self, name: &str) -> Vec<usize> {
        self.case(name).as_array().unwrap().iter().map(|size| size.as_u64().unwrap() as usize).collect()
    }
}

/// Within `tolerance` of the largest number expected.
fn check(what: &str, got: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(0.0_f64, |a, x| a.max(x.abs()));
    for (place, (a, b)) in got.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= tolerance * largest, "{what} at {place}: {a} instead of {b}");
    }
}

fn second_moment(samples: &[f64], n: usize) -> Vec<f64> {
    let mut c = vec![0.0; n * n];
    for sample in samples.chunks_exact(n) {
        for i in 0..n {
            for j in 0..n {
                c[i * n + j] += sample[i] * sample[j];
            }
        }
    }
    let count = (samples.len() / n) as f64;
    c.into_iter().map(|sum| sum / count).collect()
}

fn restored(map: &RestorationMap, vector: &[f64]) -> Vec<f64> {
    let computed: Vec<f64> = map.chosen.iter().map(|&entry| vector[entry]).collect();
    map.restore(&computed)
}

/// FLOPs of scores by rows relative to all, as the paper counts them (table 1): the computed entries as restored too.
fn published(n: usize, k: usize, d: usize) -> f64 {
    relative(n, d).scores[k] + (k * k) as f64 / (n * d) as f64
}

/// The same of k̄ pairs of the whole map.
fn published_whole(n: usize, k: usize, d: usize) -> f64 {
    relative(n, d).whole(n, n * n)[k] + (k * k) as f64 / (n * n * d) as f64
}

/// As the cost model counts, for heads of size `d`.
fn relative(n: usize, d: usize) -> RelativeFlops {
    let mut config = RunConfig::default();
    let model = &mut config.model;
    (model.kind, model.layers, model.heads, model.width) = (ModelKind::Encoder, 2, 1, d);
    config.data.sequence_length = n;
    RelativeFlops::of(&ModelPlan::resolve(&config, 10).unwrap(), n)
}

#[test]
fn rows_are_those_of_the_goldens() {
    for name in ["a", "b"] {
        let golden = Golden::read(name);
        let n = golden.case("n").as_u64().unwrap() as usize;
        let mut covariances = RowCovariances::new(n, false);
        // In parts of other sizes: samples are a sum.
        for part in golden.get("samples").chunks(7 * n * n) {
            covariances.add(part);
        }
        let rows: Vec<f64> = (0..n).flat_map(|query| covariances.row(query)).collect();
        check("Q", &rows, &golden.get("Q"), 1e-10);
        let found = RowReconstruction::new(&covariances).unwrap();
        let orders = golden.indices("order_rows");
        for (query, order) in orders.chunks(n - 1).enumerate() {
            assert_eq!(found.rows[query].greedy.order[..n - 1], *order, "{name} query {query}");
        }
        let residuals: Vec<f64> = found.rows.iter().flat_map(|row| row.greedy.residual[..n].to_vec()).collect();
        check("resid_rows", &residuals, &golden.get("resid_rows"), 1e-9);
        check("norm_err_rows", &found.errors(), &golden.get("norm_err_rows"), 1e-9);
        check("ep_err_rows", &found.eigen_errors()[1..], &golden.get("ep_err_rows")[..n - 1], 1e-9);
        let ratios = golden.case("flops_ratio_per_query");
        let d_k = golden.case("dk").as_u64().unwrap() as usize;
        for k in golden.sizes("ks") {
            let maps = covariances.maps(k);
            let all: Vec<f64> = maps.iter().flat_map(|map| map.weights.clone()).collect();
            check("R", &all, &golden.get(&format!("k{k}.R")), 1e-9);
            let basis = covariances.bases(k).unwrap();
            let kept: f64 =
                (0..n).map(|query| covariances.kept(query, &basis[query * k * n..(query + 1) * k * n])).sum();
            assert!((1.0 - kept / found.trace - found.eigen_errors()[k]).abs() < 1e-9);
            let (mut recon, mut projected) = (Vec::new(), Vec::new());
            for map in golden.get("test").chunks(n * n) {
                for (query, row) in map.chunks(n).enumerate() {
                    recon.extend(restored(&maps[query], row));
                    let mut sum = vec![0.0; n];
                    for vector in basis[query * k * n..(query + 1) * k * n].chunks(n) {
                        let product: f64 = vector.iter().zip(row).map(|(a, b)| a * b).sum();
                        sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += product * x);
                    }
                    projected.extend(sum);
                }
            }
            check("recon", &recon, &golden.get(&format!("k{k}.recon")), 1e-9);
            check("ep", &projected, &golden.get(&format!("k{k}.ep")), 1e-9);
            let ratio = ratios[k.to_string()].as_f64().unwrap();
            assert!((published(n, k, d_k) - ratio).abs() < 1e-12);
            assert_eq!(found.chosen(k).iter().map(|chosen| usize::from(*chosen)).sum::<usize>(), n * k);
        }
    }
}

#[test]
fn whole_maps_are_those_of_the_goldens() {
    for name in ["a", "b"] {
        let golden = Golden::read(name);
        let n = golden.case("n").as_u64().unwrap() as usize;
        let c = golden.get("C");
        check("C", &second_moment(&golden.get("samples"), n * n), &c, 1e-10);
        let order = golden.indices("order_whole");
        let found = WholeReconstruction::new(c.clone(), n, order.len()).unwrap();
        assert_eq!(found.greedy.order, order);
        check("resid_whole", &found.greedy.residual, &golden.get("resid_whole"), 1e-9);
        check("norm_err_whole", &found.errors(), &golden.get("norm_err_whole"), 1e-9);
        let ep: Vec<f64> = found.eigen_errors.iter().map(|error| error / found.trace()).collect();
        check("ep_err_whole", &ep, &golden.get("ep_err_whole"), 1e-9);
        let ratios = golden.case("flops_ratio_whole");
        let d_k = golden.case("dk").as_u64().unwrap() as usize;
        for k in golden.sizes("kbars") {
            let map = RestorationMap::optimal(&c, n * n, n * n, &order[..k]);
            check("R", &map.weights, &golden.get(&format!("kbar{k}.R")), 1e-9);
            let recon: Vec<f64> = golden.get("test").chunks(n * n).flat_map(|a| restored(&map, a)).collect();
            check("recon", &recon, &golden.get(&format!("kbar{k}.recon")), 1e-9);
            let ratio = ratios[k.to_string()].as_f64().unwrap();
            assert!((published_whole(n, k, d_k) - ratio).abs() < 1e-12);
        }
    }
}

#[test]
fn a_covariance_of_deficient_rank_ends_the_choice() {
    let golden = Golden::read("rankdef");
    let (c, order) = (golden.get("C"), golden.indices("order"));
    for most in [3, 4, 6, 100] {
        let found = greedy(&mut c.clone(), 6, most);
        assert_eq!(found.order, order);
        check("resid", &found.residual, &golden.get("resid"), 1e-9);
    }
    let samples = golden.get("samples");
    // More entries than there is to know: those that say nothing new get no weight.
    for more in [vec![], vec![0], vec![0, 4]] {
        let chosen: Vec<usize> = order.iter().copied().chain(more.into_iter().filter(|e| !order.contains(e))).collect();
        let map = RestorationMap::optimal(&c, 6, 6, &chosen);
        assert!(map.weights.iter().all(|weight| weight.is_finite()));
        let recon: Vec<f64> = samples.chunks(6).take(5).flat_map(|a| restored(&map, a)).collect();
        check("recon", &recon, &golden.get("recon"), 1e-9);
    }
}

#[test]
fn published_ratios_of_cost_follow() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/params_flops.json"));
    let table: serde_json::Value = serde_json::from_str(&text.unwrap()).unwrap();
    let size = |row: &serde_json::Value, name: &str| row[name].as_u64().unwrap() as usize;
    for row in table["partial_per_query"].as_array().unwrap() {
        let ratio = published(size(row, "n"), size(row, "k"), size(row, "d_head"));
        assert!((ratio - row["ratio"].as_f64().unwrap()).abs() < 1e-12);
    }
    for row in table["partial_whole"].as_array().unwrap() {
        let ratio = published_whole(size(row, "n"), size(row, "kbar"), size(row, "d_head"));
        assert!((ratio - row["ratio"].as_f64().unwrap()).abs() < 1e-12);
    }
}

#[test]
fn nothing_to_choose_from_is_no_fault() {
    assert_eq!(greedy(&mut [], 0, 3), Greedy { order: vec![], residual: vec![0.0] });
    assert_eq!(greedy(&mut [0.0; 9], 3, 3), Greedy { order: vec![], residual: vec![0.0] });
    let maps = RowCovariances::new(3, false).maps(2);
    // Without samples the first keys are taken, and nothing follows from them.
    assert_eq!(maps[1], RestorationMap { chosen: vec![0, 1], restored: vec![2], weights: vec![0.0; 2] });
    let found = RowReconstruction::new(&RowCovariances::new(3, true)).unwrap();
    assert_eq!((found.errors(), found.eigen_errors(), found.is_rank_deficient()), (vec![0.0; 3], vec![0.0; 3], true));
    let mut broken = RowCovariances::new(2, false);
    broken.add(&[1.0, f64::NAN, 0.0, 1.0]);
    assert!(!broken.is_finite() && RowReconstruction::new(&broken).is_none() && broken.bases(1).is_none());
    let ties = greedy(&mut [2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0], 3, 3);
    assert_eq!(ties.order, [0, 1, 2]);
}

#[test]
#[should_panic(expected = "a covariance of 3 entries has 8 numbers")]
fn a_covariance_that_is_not_square_is_refused() {
    let _ = RestorationMap::optimal(&[0.0; 8], 3, 3, &[0]);
}

#[test]
#[should_panic(expected = "chosen entries [0, 3] of 3")]
fn an_entry_that_is_not_there_is_refused() {
    let _ = RestorationMap::optimal(&[0.0; 16], 4, 3, &[0, 3]);
}

/// Maps with structure: a few patterns mixed, and noise.
fn maps() -> impl Strategy<Value = (usize, Vec<f64>)> {
    (2_usize..7, 1_usize..5, 5_usize..20).prop_flat_map(|(n, patterns, samples)| {
        let number = -1.0..1.0_f64;
        let pattern = prop::collection::vec(number.clone(), patterns * n * n);
        let weights = prop::collection::vec(number.clone(), samples * patterns);
        let noise = prop::collection::vec(number, samples * n * n);
        (pattern, weights, noise).prop_map(move |(pattern, weights, noise)| {
            let mut all = Vec::new();
            for (weights, noise) in weights.chunks(patterns).zip(noise.chunks(n * n)) {
                let mixed = |place: usize| -> f64 {
                    (0..patterns).map(|p| weights[p] * pattern[p * n * n + place]).sum::<f64>() + 0.1 * noise[place]
                };
                all.extend((0..n * n).map(mixed));
            }
            (n, all)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_residual_trace_is_the_measured_squared_error((n, samples) in maps()) {
        let size = n * n;
        let c = second_moment(&samples, size);
        let count = (samples.len() / size) as f64;
        let scale = samples.iter().map(|x| x * x).sum::<f64>() / count;
        let found = WholeReconstruction::new(c.clone(), n, size).unwrap();
        for (k, residual) in found.greedy.residual.iter().enumerate() {
            let map = RestorationMap::optimal(&c, size, size, &found.greedy.order[..k]);
            let error = |a: &[f64]| restored(&map, a).iter().zip(a).map(|(x, y)| (x - y) * (x - y)).sum::<f64>();
            let measured = samples.chunks(size).map(error).sum::<f64>() / count;
            // Pairs that are chosen may nearly depend on each other: what rounding leaves grows with the map.
            prop_assert!((map.error(&c, size) - residual).abs() < 1e-5 * scale);
            prop_assert!((measured - residual).abs() < 1e-5 * scale, "{k}: {measured} and {residual}");
            // No other map of as many numbers is better than the eigenvectors'.
            let eigen = if k == 0 { found.trace() } else { found.eigen_errors[k - 1] };
            prop_assert!(eigen <= residual + 1e-9 * scale);
        }
        let residual = &found.greedy.residual;
        prop_assert!(residual.windows(2).all(|pair| pair[1] <= pair[0] + 1e-12 * scale));
    }

    #[test]
    fn rows_know_only_what_their_query_sees((n, samples) in maps(), causal in any::<bool>(), k in 1_usize..6) {
        let mut covariances = RowCovariances::new(n, causal);
        covariances.add(&samples);
        let found = RowReconstruction::new(&covariances).unwrap();
        let (errors, eigen) = (found.errors(), found.eigen_errors());
        prop_assert!(errors.windows(2).chain(eigen.windows(2)).all(|pair| pair[1] <= pair[0] + 1e-12));
        prop_assert!(errors.iter().zip(&eigen).all(|(error, eigen)| eigen <= &(error + 1e-9)));
        prop_assert!((errors[0] - 1.0).abs() < 1e-12);
        for (query, map) in covariances.maps(k).into_iter().enumerate() {
            let visible = if causal { query + 1 } else { n };
            prop_assert_eq!(map.chosen.len(), k.min(visible));
            let mut all: Vec<usize> = map.chosen.iter().chain(&map.restored).copied().collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..visible).collect::<Vec<_>>());
            prop_assert!(map.weights.iter().all(|weight| weight.is_finite()));
        }
    }
}
