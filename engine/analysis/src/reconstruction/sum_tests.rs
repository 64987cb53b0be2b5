//! Scores of known rank, streamed: what comes out is what the direct functions give, and what is measured sample by sample.

use super::{direct::RowReconstruction, *};
use crate::{
    AnalysisError, ReconstructionSpec, ScoreBatch, ScoreShape,
    attention::{HeadAt, ModelPlan},
    config::{ModelConfig, ModelKind, RunConfig},
    ops::random::{Purpose, Stream},
};

const N: usize = 9;
const HEADS: usize = 2;

fn shape(is_causal: bool, examples: usize) -> ScoreShape {
    ScoreShape { computing: vec![vec![0, 1], vec![], vec![1]], heads: HEADS, tokens: N, is_causal, examples }
}

fn plan(is_causal: bool) -> ModelPlan {
    let kind = if is_causal { ModelKind::Decoder } else { ModelKind::Encoder };
    let config = RunConfig {
        model: ModelConfig { kind, layers: 3, heads: HEADS, width: 8, feed_forward: 8, ..ModelConfig::default() },
        ..RunConfig::default()
    };
    ModelPlan::resolve(&config, 40).unwrap()
}

/// Maps of three patterns mixed, and noise: `[maps, n, n]`.
fn planted(maps: usize, rank: usize, noise: f64, index: u64) -> Vec<f32> {
    let mut patterns = Stream::new(5, Purpose::Test, 0);
    let patterns: Vec<Vec<f64>> = (0..rank).map(|_| (0..N * N).map(|_| patterns.normal()).collect()).collect();
    let mut stream = Stream::new(6, Purpose::Test, index);
    let mut all = Vec::new();
    for _ in 0..maps {
        let weights: Vec<f64> = (0..rank).map(|_| stream.normal()).collect();
        all.extend((0..N * N).map(|place| {
            let mixed: f64 = patterns.iter().zip(&weights).map(|(pattern, weight)| weight * pattern[place]).sum();
            (mixed + noise * stream.normal()) as f32
        }));
    }
    all
}

/// The scores of `examples` examples by layers, in batches of three.
fn summed(sum: &mut ReconstructionSum, examples: usize, rank: usize, noise: f64) -> [Vec<f32>; 2] {
    let (first, last) = (planted(examples * 2, rank, noise, 1), planted(examples, rank, noise, 2));
    let (mut halves, size) = ([Vec::new(), Vec::new()], N * N);
    for start in (0..examples).step_by(3) {
        let count = 3.min(examples - start);
        let layers =
            [&first[start * 2 * size..(start + count) * 2 * size], &[], &last[start * size..(start + count) * size]];
        let numbers: Vec<u64> = (start as u64..(start + count) as u64).collect();
        sum.add(&ScoreBatch { layers: &layers, examples: count }, &numbers).unwrap();
    }
    for example in 0..examples {
        halves[example % 2].extend(&first[example * 2 * size..(example + 1) * 2 * size]);
        halves[example % 2].extend(&last[example * size..(example + 1) * size]);
    }
    halves
}

fn found(is_causal: bool, spec: &ReconstructionSpec, sizes: (usize, usize, f64)) -> (Reconstruction, [Vec<f32>; 2]) {
    let (examples, rank, noise) = sizes;
    let mut sum = ReconstructionSum::new(shape(is_causal, examples), spec, None).unwrap();
    let halves = summed(&mut sum, examples, rank, noise);
    (sum.finish(&plan(is_causal), &|_| (), &|| false).unwrap().0, halves)
}

fn covariances(maps: &[f32], is_causal: bool) -> RowCovariances {
    let mut covariances = RowCovariances::new(N, is_causal);
    covariances.add(&maps.iter().copied().map(f64::from).collect::<Vec<f64>>());
    covariances
}

fn close(a: &[f64], b: &[f64], tolerance: f64, what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    let largest = a.iter().zip(b).fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()));
    assert!(largest <= tolerance, "{what}: off by {largest:e}\n{a:?}\n{b:?}");
}

#[test]
fn curves_are_those_of_the_direct_functions_and_held_out_ones_are_measured() {
    for is_causal in [false, true] {
        let spec = ReconstructionSpec { layers: true, head: Some(HeadAt::new(2, 1)), whole: true };
        let (found, [fitted, held_out]) = found(is_causal, &spec, (40, 3, 0.3));
        assert_eq!((found.examples, found.held_out_examples), (20, 20));
        let scopes: Vec<Scope> = found.scopes.iter().map(|scope| scope.scope).collect();
        let layer = |layer| Scope::Layer { layer };
        assert_eq!(scopes, [Scope::Network, layer(0), layer(2), Scope::Head { at: HeadAt::new(2, 1) }]);
        let network = &found.scopes[0];
        assert_eq!((network.samples, network.held_out_samples, found.scopes[3].samples), (60, 60, 20));
        let own = covariances(&fitted, is_causal);
        let direct = RowReconstruction::new(&own).unwrap();
        close(&network.greedy.fitted[..N], &direct.errors(), 1e-9, "greedy");
        close(&network.eigen.fitted[..N], &direct.eigen_errors(), 1e-9, "eigenvectors");
        assert!((network.trace - direct.trace).abs() < 1e-9 * direct.trace);
        // Held out: sample by sample, with the maps for each k.
        let samples = held_out.len() / (N * N);
        for k in 0..=N {
            let maps = own.maps(k);
            let (mut error, mut whole) = (0.0, 0.0);
            for map in held_out.chunks(N * N) {
                for (query, restoration) in maps.iter().enumerate() {
                    let row: Vec<f64> = map[query * N..(query + 1) * N].iter().copied().map(f64::from).collect();
                    let computed: Vec<f64> = restoration.chosen.iter().map(|&key| row[key]).collect();
                    let visible = if is_causal { query + 1 } else { N };
                    let restored = restoration.restore(&computed);
                    error += row.iter().take(visible).zip(&restored).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
                    whole += row.iter().take(visible).map(|score| score * score).sum::<f64>();
                }
            }
            assert!((network.greedy.held_out[k] - error / whole).abs() < 1e-9, "k = {k}");
            assert!((network.held_out_trace - whole / samples as f64).abs() < 1e-9 * whole);
            let basis = own.bases(k).unwrap();
            let other = covariances(&held_out, is_causal);
            let kept: f64 = (0..N).map(|query| other.kept(query, &basis[query * k * N..(query + 1) * k * N])).sum();
            let left = 1.0 - kept / network.held_out_trace;
            assert!((network.eigen.held_out[k] - left).abs() < 1e-9, "eigenvectors held out, k = {k}");
        }
        for scope in &found.scopes {
            for curve in [&scope.greedy, &scope.eigen, &scope.random] {
                for errors in [&curve.fitted, &curve.held_out] {
                    assert_eq!((errors.len(), errors[0]), (N + 1, 1.0));
                    assert!(errors[N].abs() < 1e-12, "with all pairs nothing is left: {errors:?}");
                }
            }
            let worse = |k: usize| scope.random.fitted[k] >= scope.greedy.fitted[k] - 1e-12;
            assert!((0..4).all(worse) && scope.random.fitted[1] > scope.greedy.fitted[1]);
            assert!(
                scope.greedy.fitted.iter().zip(&scope.eigen.fitted).all(|(greedy, eigen)| eigen <= &(greedy + 1e-12))
            );
        }
        // The order is the greedy choice's.
        let chosen = direct.chosen(3);
        let ranks: Vec<u8> = network.ranks.iter().map(|rank| u8::from((0.0..3.0).contains(rank))).collect();
        assert_eq!(ranks, chosen);
        assert_eq!(network.ranks.iter().any(|rank| *rank < 0.0), is_causal, "hidden keys have no rank");
        let whole = found.whole.as_ref().unwrap();
        let pairs = if is_causal { N * (N + 1) / 2 } else { N * N };
        // Sixty maps have rank sixty: more pairs have no error on other text.
        let told = if is_causal { pairs + 1 } else { 60 };
        assert_eq!((whole.pairs, whole.greedy.held_out.len(), whole.flops.len()), (pairs, told, pairs + 1));
        assert!(
            whole.greedy.fitted[N] < network.greedy.fitted[1] + 1e-9,
            "the whole map needs no more pairs than rows"
        );
    }
}

#[test]
fn what_was_fitted_flatters() {
    // Much noise and few samples: what holds of them does not hold of others.
    let spec = ReconstructionSpec { layers: true, ..ReconstructionSpec::default() };
    let (found, _) = found(false, &spec, (12, 1, 2.0));
    let sum = |errors: &[f64]| errors.iter().sum::<f64>();
    for scope in &found.scopes {
        for curve in [&scope.greedy, &scope.eigen, &scope.random] {
            assert!(sum(&curve.held_out) > sum(&curve.fitted), "{:?}: {curve:?}", scope.scope);
        }
    }
}

#[test]
fn scores_of_known_rank_are_restored_from_as_many_pairs_also_of_other_text() {
    let (found, _) = found(false, &ReconstructionSpec::default(), (30, 3, 0.0));
    let network = &found.scopes[0];
    for errors in [&network.greedy.fitted, &network.greedy.held_out, &network.eigen.held_out] {
        assert!(errors[2] > 1e-3 && errors[3] < 1e-6, "rank 3: {errors:?}");
    }
    assert_eq!(network.greedy.least(0.01), Some(3));
    let whole = found.whole.unwrap();
    assert!(whole.greedy.held_out[3] < 1e-6 && whole.greedy.held_out[2] > 1e-3);
}

#[test]
fn layers_add_up_to_the_network() {
    let sizes = (12, 3, 0.5);
    let (alone, _) = found(true, &ReconstructionSpec::default(), sizes);
    let (layered, _) = found(true, &ReconstructionSpec { layers: true, ..ReconstructionSpec::default() }, sizes);
    close(&alone.scopes[0].greedy.held_out, &layered.scopes[0].greedy.held_out, 1e-9, "held out");
    close(&alone.scopes[0].random.fitted, &layered.scopes[0].random.fitted, 1e-9, "by chance");
    assert_eq!(alone.scopes[0].ranks, layered.scopes[0].ranks);
}

#[test]
fn maps_are_rebuilt_as_the_best_map_says() {
    for is_causal in [false, true] {
        let (found, [fitted, held_out]) = found(is_causal, &ReconstructionSpec::default(), (40, 3, 0.3));
        let (own, scores) = (covariances(&fitted, is_causal), &held_out[..N * N]);
        let mut before = f64::INFINITY;
        for k in [0, 1, 4, N] {
            let rebuilt = found.rebuild(0, scores, k).unwrap();
            let (mut error, mut squares) = (0.0, 0.0);
            for (query, map) in own.maps(k).iter().enumerate() {
                let row: Vec<f64> = scores[query * N..(query + 1) * N].iter().copied().map(f64::from).collect();
                let restored = map.restore(&map.chosen.iter().map(|&key| row[key]).collect::<Vec<f64>>());
                let visible = own.visible(query);
                for key in 0..N {
                    let got = rebuilt.rebuilt_scores[query * N + key];
                    if key >= visible {
                        assert!(got.is_nan() && rebuilt.map[query * N + key].is_nan());
                        continue;
                    }
                    assert!((f64::from(got) - restored[key]).abs() < 1e-4, "k = {k}, {query}, {key}");
                    error += (restored[key] - row[key]).powi(2);
                    squares += row[key].powi(2);
                }
                let sum: f32 = rebuilt.rebuilt_map[query * N..query * N + visible].iter().sum();
                assert!((sum - 1.0).abs() < 1e-5);
            }
            assert!((rebuilt.score_error - error / squares).abs() < 1e-5, "k = {k}");
            assert!((0.0..=1.0).contains(&rebuilt.map_distance) && rebuilt.largest_distance >= rebuilt.map_distance);
            assert!(rebuilt.map_distance <= before + 0.05, "more pairs, a better map");
            before = rebuilt.map_distance;
        }
        assert_eq!(before, 0.0, "with all pairs it is the same map");
        let short: Vec<f32> = (0..16).map(|place| scores[place / 4 * N + place % 4]).collect();
        let shorter = found.rebuild(0, &short, 2);
        assert_eq!(shorter.is_ok(), is_causal, "{shorter:?}");
        if let Err(why) = shorter {
            assert!(why.contains("chosen for 9 tokens, this text has 4"), "{why}");
        }
        assert!(found.rebuild(0, &[f32::NAN; N * N], 2).unwrap_err().contains("not finite"));
        assert!(found.light().rebuild(0, scores, 2).unwrap_err().contains("was not kept"));
    }
}

#[test]
fn flops_are_those_of_the_cost_model() {
    let (found, _) = found(false, &ReconstructionSpec::default(), (4, 2, 0.5));
    let m = 4.0; // width 8, two heads
    let n = N as f64;
    assert_eq!((found.score_flops.len(), found.score_flops[0], found.score_flops[N]), (N + 1, 0.0, 1.0));
    for k in 1..N {
        let k = k as f64;
        assert!((found.score_flops[k as usize] - (k * m + k * (n - k)) / (n * m)).abs() < 1e-12);
    }
    assert!(found.forward_flops[1] < 1.0 && found.forward_flops[N] == 1.0);
    let whole = found.whole.unwrap();
    assert!((whole.flops[2] - 2.0 * (m + n * n - 2.0) / (n * n * m)).abs() < 1e-12);
}

#[test]
fn what_does_not_fit_is_refused_or_left_out_with_the_numbers() {
    let large = ScoreShape { tokens: 512, ..shape(false, 10) };
    let every = ReconstructionSpec { layers: true, ..ReconstructionSpec::default() };
    let error = ReconstructionSum::new(large.clone(), &every, Some(1 << 30)).unwrap_err().to_string();
    assert!(error.contains("second moments") && error.contains("1024 MiB are free"), "{error}");
    let limited = ReconstructionSum::new(ScoreShape { tokens: 128, ..large }, &every, Some(80 << 20)).unwrap();
    assert!(
        limited.notes().iter().any(|note| note.contains("only the network is analysed") && note.contains("80 MiB"))
    );
    assert!(limited.notes().iter().any(|note| note.contains("128 tokens have 16384 pairs")), "{:?}", limited.notes());
    for (layer, head, words) in [(1, 0, "computes no scores"), (2, 0, "computes no scores"), (7, 0, "has layers 0 to")]
    {
        let spec = ReconstructionSpec { head: Some(HeadAt::new(layer, head)), ..ReconstructionSpec::default() };
        let error = ReconstructionSum::new(shape(false, 4), &spec, None).unwrap_err().to_string();
        assert!(error.contains(&format!("ead {head} of layer {layer}")) && error.contains(words), "{error}");
    }
    let nothing = ScoreShape { computing: vec![vec![], vec![]], ..shape(false, 4) };
    assert!(ReconstructionSum::new(nothing, &ReconstructionSpec::default(), None).is_err());
}

#[test]
fn few_examples_and_broken_scores_are_told_of() {
    let finished = |examples| {
        let mut sum = ReconstructionSum::new(shape(true, examples), &ReconstructionSpec::default(), None).unwrap();
        summed(&mut sum, examples, 2, 0.1);
        sum.finish(&plan(true), &|_| (), &|| false)
    };
    assert!(matches!(finished(0), Err(AnalysisError::NoExamples)));
    let (one, notes) = finished(1).unwrap();
    assert!(one.scopes[0].greedy.held_out.is_empty() && notes.iter().any(|note| note.contains("only one example")));
    assert!(one.scopes[0].is_rank_deficient(N) && notes.iter().any(|note| note.contains("chosen from 3 maps")));
    assert!(one.scopes[0].greedy.honest()[3..].iter().all(|error| *error < 1e-9), "three samples have rank three");
    assert_eq!((one.scopes[0].reliable_pairs(N), one.scopes[0].reliable_pairs(1)), (1, 1), "three maps fit one pair");
    assert!(notes.iter().any(|note| note.contains("marked where more than 1 pair are computed")), "{notes:?}");
    let (four, notes) = finished(4).unwrap();
    assert_eq!(four.scopes[0].greedy.held_out.len(), 6, "six maps have rank six: nothing is told of more pairs");
    assert!(notes.iter().any(|note| note.contains("chosen from 6 maps")));
    let mut sum = ReconstructionSum::new(shape(true, 1), &ReconstructionSpec::default(), None).unwrap();
    let (mut broken, last) = (planted(2, 2, 0.1, 1), planted(1, 2, 0.1, 2));
    let add = |sum: &mut ReconstructionSum, broken: &[f32]| {
        sum.add(&ScoreBatch { layers: &[broken, &[], &last], examples: 1 }, &[0])
    };
    broken[N * N + 1] = f32::NAN;
    add(&mut sum, &broken).unwrap();
    broken[N * N] = f32::INFINITY;
    let error = add(&mut sum, &broken).unwrap_err().to_string();
    assert!(
        error.contains("scores of layer 0, head 1 are not finite"),
        "what a causal query does not see is no matter: {error}"
    );
    let stopped = ReconstructionSum::new(shape(false, 4), &ReconstructionSpec::default(), None).map(|mut sum| {
        summed(&mut sum, 4, 2, 0.1);
        sum.finish(&plan(false), &|_| (), &|| true)
    });
    assert!(matches!(stopped.unwrap(), Err(AnalysisError::Stopped)));
}

/// Whole maps chosen from 512 examples had an error of 8.8e8 at 512 pairs: what rounding left of a variance was divided by.
#[test]
fn no_error_is_told_beyond_the_rank_of_the_fit_and_rounding_is_not_divided_by() {
    let spec = ReconstructionSpec { whole: true, ..ReconstructionSpec::default() };
    let (found, _) = found(false, &spec, (20, 2, 0.1));
    let whole = found.whole.unwrap();
    assert_eq!((whole.samples, whole.pairs), (30, N * N));
    for curve in [&whole.greedy, &whole.eigen, &whole.random] {
        assert_eq!((curve.fitted.len(), curve.held_out.len()), (N * N + 1, 30));
        assert!(curve.held_out.iter().all(|error| error.is_finite()));
    }
    // As many samples as pairs, and more: every number has a meaning.
    let (found, _) = self::found(false, &spec, (60, 2, 0.1));
    assert_eq!(found.whole.unwrap().greedy.held_out.len(), N * N + 1);
    // The moments of 200 samples of 230 entries: past the rank nothing but rounding is left.
    let (samples, n) = (200, 230);
    let mut stream = Stream::new(7, Purpose::Test, 3);
    let mut moments = || -> Vec<f64> {
        let rows: Vec<Vec<f64>> = (0..samples).map(|_| (0..n).map(|_| stream.normal()).collect()).collect();
        let at = |i: usize, j: usize| rows.iter().map(|row| row[i] * row[j]).sum::<f64>() / samples as f64;
        (0..n * n).map(|place| at(place / n, place % n)).collect()
    };
    let (fitted, held_out) = (moments(), moments());
    let errors = vector::VectorErrors::new(&fitted, Some(&held_out), n, 0, false).unwrap();
    for curve in [&errors.greedy, &errors.random] {
        let at_rank = curve.held_out[samples];
        assert!(
            curve.held_out[samples..].iter().all(|error| *error <= at_rank * 1.0001),
            "{:?}",
            &curve.held_out[samples..]
        );
    }
}
