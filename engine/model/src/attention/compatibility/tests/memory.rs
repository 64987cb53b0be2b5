//! Every way to score where queries and keys come from sequences of two lengths, against loops over single numbers.

use candle_core::Tensor;

use super::{
    super::{HeadAttention, LayerHeads, Lenders, family},
    Loaded, NO_DROPOUT, assert_close, layer_and_weights, normal, numbers,
};
use crate::{
    attention::{Draft, HeadAt, HeadPlan},
    config::{Biases, Collaborative, Compatibility, Grouped, Latent, Standard, TiedKv},
    ops::{Affine, HeadMap, MaskSpec, PieceWeights},
};

const B: usize = 2;
const H: usize = 4;
const D_K: usize = 3;
const WIDTH: usize = H * D_K;
/// Queries.
const N: usize = 5;
/// Keys.
const M: usize = 7;

/// Rows of numbers.
type Rows = Vec<Vec<f64>>;

fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn times(a: &[f64], b: &[f64]) -> Vec<f64> {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a * b).collect()
}

/// Block `index` of blocks of `size` numbers.
fn block(x: &[f64], index: usize, size: usize) -> &[f64] {
    &x[index * size..(index + 1) * size]
}

/// A layer as its formulas say it.
struct Formulas<'a> {
    compatibility: &'a Compatibility,
    heads: &'a LayerHeads,
    weights: &'a Loaded,
}

impl Formulas<'_> {
    /// `x W + b` of a named map.
    fn map(&self, name: &str, x: &[f64]) -> Vec<f64> {
        let map = &self.weights.maps[name];
        let weight: Rows = map.weight.to_vec2().unwrap();
        assert_eq!(weight.len(), x.len(), "{name}");
        let mut y = map.bias.as_ref().map_or_else(|| vec![0.0; weight[0].len()], numbers);
        for (x, row) in x.iter().zip(&weight) {
            y.iter_mut().zip(row).for_each(|(y, weight)| *y += x * weight);
        }
        y
    }

    fn tensor(&self, name: &str) -> Vec<f64> {
        numbers(&self.weights.tensors[name])
    }

    /// The heads of the layer that compute, from 0 among all of them.
    fn computing(&self) -> Vec<usize> {
        self.heads.computing().map(|place| self.heads.attending[place]).collect()
    }

    /// Which block of keys or values belongs to head `head`, where those of `users` alone are there.
    fn group(head: usize, users: &[usize], kv_heads: usize) -> usize {
        let mut groups: Vec<usize> = users.iter().map(|user| user * kv_heads / H).collect();
        groups.dedup();
        groups.iter().position(|group| *group == head * kv_heads / H).unwrap()
    }

    /// The score of query row `x` and key row `y` for number `place` of the heads that compute, not scaled.
    fn score(&self, place: usize, x: &[f64], y: &[f64]) -> f64 {
        let pair = |query: &str, key: &str| {
            let (q, k) = (self.map(query, x), self.map(key, y));
            dot(block(&q, place, D_K), block(&k, place, D_K))
        };
        let computing = self.computing();
        match self.compatibility {
            Compatibility::Standard(_) => pair("query", "key"),
            Compatibility::Symmetric(_) => pair("query", "query"),
            Compatibility::Pairwise(_) => {
                let (q, k, u) = (self.map("query", x), self.map("query", y), self.tensor("pairwise"));
                let u = block(&u, place, D_K * D_K);
                let row = |i: usize| dot(block(u, i, D_K), block(&k, place, D_K));
                dot(block(&q, place, D_K), &(0..D_K).map(row).collect::<Vec<_>>())
            }
            Compatibility::SharedWeight(_) => {
                let attending = self.heads.computing().nth(place).unwrap();
                let side = |diagonal: &str, x: &[f64]| {
                    let shared = self.map("shared", x);
                    times(block(&shared, attending, D_K), block(&self.tensor(diagonal), place, D_K))
                };
                dot(&side("query_diagonal", x), &side("key_diagonal", y))
            }
            Compatibility::Collaborative(Collaborative { d_k }) => {
                let mixing = self.tensor("mixing");
                let q = times(&self.map("query", x), block(&mixing, place, *d_k));
                dot(&q, &self.map("key", y)) + self.map("content", y)[place]
            }
            Compatibility::Grouped(Grouped { kv_heads }) => {
                let group = Self::group(computing[place], &computing, *kv_heads);
                let (q, k) = (self.map("query", x), self.map("key", y));
                dot(block(&q, place, D_K), block(&k, group, D_K))
            }
            // Keys are the values of the head.
            Compatibility::TiedKv(_) => {
                let attending = self.heads.computing().nth(place).unwrap();
                dot(block(&self.map("query", x), place, D_K), &self.value(attending, y))
            }
            Compatibility::Latent(Latent { .. }) => {
                let (q, k) = (self.map("query", x), self.map("key", &self.map("latent", y)));
                dot(block(&q, place, D_K), block(&k, place, D_K))
            }
        }
    }

    /// What number `place` of the heads that attend takes of row `y`.
    fn value(&self, place: usize, y: &[f64]) -> Vec<f64> {
        let values = match self.compatibility {
            Compatibility::SharedWeight(_) => times(&self.map("shared", y), &self.tensor("value_diagonal")),
            Compatibility::Latent(_) => self.map("value", &self.map("latent", y)),
            Compatibility::TiedKv(_) => self.map("key_value", y),
            _ => self.map("value", y),
        };
        let block_of = match self.compatibility {
            Compatibility::Grouped(Grouped { kv_heads })
            | Compatibility::TiedKv(TiedKv { kv_heads: Some(kv_heads) }) => {
                Self::group(self.heads.attending[place], &self.heads.attending, *kv_heads)
            }
            _ => place,
        };
        block(&values, block_of, D_K).to_vec()
    }

    /// The maps of one example, of number `place` of the heads that compute.
    fn own_map(&self, place: usize, x: &Rows, y: &Rows, visible: &dyn Fn(usize, usize) -> bool) -> Rows {
        let scale = 1.0 / (D_K as f64).sqrt();
        let row = |i: usize| {
            let weigh = |j: usize| if visible(i, j) { (self.score(place, &x[i], &y[j]) * scale).exp() } else { 0.0 };
            let weights: Vec<f64> = (0..y.len()).map(weigh).collect();
            let sum: f64 = weights.iter().sum();
            weights.iter().map(|weight| weight / sum).collect()
        };
        (0..x.len()).map(row).collect()
    }
}

/// A first layer in which every head computes; a second with two heads that compute, one that borrows, and none in the
/// second place.
fn plans() -> [LayerHeads; 2] {
    let c = Draft::Compute;
    let borrow = Draft::Borrow { from: HeadAt::new(0, 2) };
    let plan = HeadPlan::from_drafts(&[vec![c; H], vec![borrow, Draft::Skip, c, c]]).unwrap();
    [0, 1].map(|layer| LayerHeads::of(&plan, layer, D_K))
}

fn examples() -> Vec<Compatibility> {
    Compatibility::examples(H, WIDTH)
}

fn rows_of(x: &Tensor, example: usize) -> Rows {
    x.get(example).unwrap().to_vec2().unwrap()
}

#[test]
fn queries_and_keys_of_two_sequences_give_what_the_formulas_say() {
    let (x, y) = (normal(&[B, N, WIDTH], 1.0, 1), normal(&[B, M, WIDTH], 1.0, 2));
    for (number, compatibility) in examples().iter().enumerate() {
        for keys in [None, Some([[1_u8, 1, 1, 1, 1, 1, 0], [1, 0, 1, 1, 0, 0, 0]])] {
            let mask = MaskSpec {
                causal: false,
                keys: keys.map(|keys| Tensor::new(&keys, &candle_core::Device::Cpu).unwrap()),
            };
            let mut lenders = Lenders::default();
            // Of the layer before, for each example.
            let mut lent: Vec<Vec<Rows>> = Vec::new();
            for (layer, heads) in plans().into_iter().enumerate() {
                let index = (10 * number + layer) as u64;
                let (attention, weights) = layer_and_weights(compatibility, heads.clone(), false, index);
                let formulas = Formulas { compatibility, heads: &heads, weights: &weights };
                let got = attention.forward(&x, Some(&y), &mask, &NO_DROPOUT, 0, &mut lenders).unwrap();
                let (mut maps, mut mixed) = (Vec::new(), Vec::new());
                let mut own_maps = Vec::new();
                for example in 0..B {
                    let (x, y) = (rows_of(&x, example), rows_of(&y, example));
                    let visible = |_: usize, j: usize| keys.is_none_or(|keys| keys[example][j] == 1);
                    let own: Vec<Rows> =
                        (0..heads.computed()).map(|place| formulas.own_map(place, &x, &y, &visible)).collect();
                    let mut computed = own.iter();
                    let used: Vec<&Rows> = heads
                        .maps
                        .iter()
                        .map(|map| match *map {
                            HeadMap::Computed => computed.next().unwrap(),
                            HeadMap::Borrowed { computed, .. } => &lent[example][computed],
                        })
                        .collect();
                    maps.extend(used.iter().flat_map(|map| map.iter().flatten().copied()));
                    for i in 0..N {
                        for (place, map) in used.iter().enumerate() {
                            let mut sum = vec![0.0; D_K];
                            for (weight, y) in map[i].iter().zip(&y) {
                                let value = formulas.value(place, y);
                                sum.iter_mut().zip(&value).for_each(|(sum, value)| *sum += weight * value);
                            }
                            mixed.extend(sum);
                        }
                    }
                    own_maps.push(own);
                }
                lent = own_maps;
                let what = format!("{compatibility:?}, layer {layer}");
                let tensor = |values: Vec<f64>, shape: &[usize]| {
                    Tensor::from_vec(values, shape, &candle_core::Device::Cpu).unwrap()
                };
                let attending = heads.attending();
                assert_close(&what, &got.maps, &tensor(maps, &[B, attending, N, M]), 1e-12);
                let mixed = tensor(mixed, &[B, N, heads.mixing_width()]);
                assert_close(&what, &got.output, &attention.output.forward(&mixed).unwrap(), 1e-12);
            }
        }
    }
}

/// Of queries `x` and keys `y`, as one number.
fn sum_of(attention: &HeadAttention, x: &Tensor, y: &Tensor) -> Tensor {
    let got = attention.forward(x, Some(y), &MaskSpec::default(), &NO_DROPOUT, 0, &mut Lenders::default()).unwrap();
    (got.output * normal(&[B, N, WIDTH], 1.0, 77)).unwrap().sum_all().unwrap()
}

/// The gradients of both sequences are what a small step along each says.
#[test]
fn gradients_reach_both_sequences() {
    let (x, y) = (normal(&[B, N, WIDTH], 1.0, 1), normal(&[B, M, WIDTH], 1.0, 2));
    for compatibility in examples() {
        let (attention, _) = layer_and_weights(&compatibility, LayerHeads::plain(H, D_K), false, 5);
        let [x_var, y_var] = [&x, &y].map(|x| candle_core::Var::from_tensor(x).unwrap());
        let gradients = sum_of(&attention, &x_var, &y_var).backward().unwrap();
        for (number, var) in [&x_var, &y_var].into_iter().enumerate() {
            let direction = normal(var.dims(), 1.0, 3 + number as u64);
            let along: f64 = numbers(&(gradients.get(var).unwrap() * &direction).unwrap()).iter().sum();
            let moved = |step: f64| {
                let moved = (var.as_tensor() + (&direction * step).unwrap()).unwrap();
                let sum = if number == 0 { sum_of(&attention, &moved, &y) } else { sum_of(&attention, &x, &moved) };
                sum.to_scalar::<f64>().unwrap()
            };
            let step = 1e-5;
            let difference = (moved(step) - moved(-step)) / (2.0 * step);
            // The error of a central difference is of the order of the step squared.
            assert!(
                (along - difference).abs() <= 1e-6 * along.abs().max(1.0),
                "{compatibility:?}, side {number}: {along} and {difference}"
            );
        }
    }
}

/// One matrix for queries, keys and values is cut the same way for a memory.
#[test]
fn joined_projections_take_a_memory_too() {
    let standard = Compatibility::Standard(Standard { biases: Biases::All });
    let (x, y) = (normal(&[B, N, WIDTH], 1.0, 1), normal(&[B, M, WIDTH], 1.0, 2));
    let (joined, weights) = layer_and_weights(&standard, LayerHeads::plain(H, D_K), true, 9);
    let all = &weights.maps["query_key_value"];
    let part = |index: usize| all.outputs(index * WIDTH, WIDTH).unwrap();
    let (mut apart, _) = layer_and_weights(&standard, LayerHeads::plain(H, D_K), false, 9);
    let mut parts = Loaded::default();
    parts.maps.extend([("query", part(0)), ("key", part(1)), ("value", part(2))]);
    apart.projections = parts.with(family(&standard).form(&apart.heads, false));
    apart.output = joined.output.clone();
    assert_close("joined", &sum_of(&joined, &x, &y), &sum_of(&apart, &x, &y), 1e-12);
}

/// Queries that come one after the other, of a sequence of which only what was kept is there.
#[test]
fn a_sequence_that_grows_gives_what_it_gives_at_once() {
    let x = normal(&[B, M, WIDTH], 1.0, 4);
    for compatibility in examples() {
        for joins in [false, true] {
            let mut whole = Lenders::default();
            let mut single: Vec<Lenders> = vec![Lenders::default(); M];
            for (layer, heads) in plans().into_iter().enumerate() {
                let (attention, _) = layer_and_weights(&compatibility, heads, joins, layer as u64);
                let form = attention.projections.form();
                let causal = MaskSpec { causal: true, keys: None };
                let all = attention.forward(&x, None, &causal, &NO_DROPOUT, 0, &mut whole).unwrap().output;
                let mut kept: Vec<Tensor> = Vec::new();
                for (position, lenders) in single.iter_mut().enumerate() {
                    let next = x.narrow(1, position, 1).unwrap();
                    let more = attention.kept(&next).unwrap();
                    let numbers: usize = more.iter().map(|kept| kept.dim(2).unwrap()).sum();
                    assert_eq!(numbers, form.numbers_per_token(), "{compatibility:?}");
                    kept = if position == 0 {
                        more
                    } else {
                        kept.iter().zip(&more).map(|(kept, more)| Tensor::cat(&[kept, more], 1).unwrap()).collect()
                    };
                    let got = attention.forward_kept(&next, &kept, &MaskSpec::default(), lenders).unwrap().output;
                    let what = format!("{compatibility:?}, layer {layer}, position {position}");
                    assert_close(&what, &got, &all.narrow(1, position, 1).unwrap(), 1e-12);
                }
            }
        }
    }
}

/// What each way to score keeps of a token, in numbers.
#[test]
fn a_cache_keeps_what_others_read_of_a_token() {
    let kept = |compatibility: &Compatibility, heads: &LayerHeads| {
        family(compatibility).form(heads, false).numbers_per_token()
    };
    let [plain, reusing] = plans();
    for compatibility in examples() {
        let expected = match &compatibility {
            Compatibility::Standard(_) | Compatibility::Symmetric(_) | Compatibility::Pairwise(_) => {
                [2 * WIDTH, 5 * D_K]
            }
            Compatibility::SharedWeight(_) | Compatibility::TiedKv(TiedKv { kv_heads: None }) => [WIDTH, 3 * D_K],
            Compatibility::Collaborative(Collaborative { d_k }) => [d_k + H + WIDTH, d_k + 2 + 3 * D_K],
            // Heads 2 and 3 compute, 0, 2 and 3 attend.
            Compatibility::Latent(Latent { rank }) => [*rank, *rank],
            // Of two groups: heads 0, 2 and 3 are in both.
            Compatibility::TiedKv(TiedKv { .. }) | Compatibility::Grouped(Grouped { kv_heads: 1 }) => {
                [2 * D_K, 2 * D_K]
            }
            Compatibility::Grouped(Grouped { .. }) => [4 * D_K, 3 * D_K],
        };
        assert_eq!([&plain, &reusing].map(|heads| kept(&compatibility, heads)), expected, "{compatibility:?}");
    }
}

/// The product of the maps of a head makes its scores, but for what biases add.
#[test]
fn scores_are_products_of_the_weights_of_heads() {
    let (x, y) = (normal(&[1, N, WIDTH], 1.0, 1), normal(&[1, M, WIDTH], 1.0, 2));
    for compatibility in examples() {
        for heads in plans() {
            let (mut attention, _) = layer_and_weights(&compatibility, heads, true, 3);
            let plain = |(piece, weights): (&crate::ops::Piece, &PieceWeights)| {
                Ok(match weights {
                    // A content bias is no product.
                    PieceWeights::Map(map) => {
                        let factor = if piece.module == "content" { 0.0 } else { 1.0 };
                        PieceWeights::Map(Affine { weight: (&map.weight * factor)?, bias: None, ..map.clone() })
                    }
                    PieceWeights::Tensor(tensor) => PieceWeights::Tensor(tensor.clone()),
                })
            };
            attention.projections = attention.projections.try_map(plain).unwrap();
            let weights = attention.head_weights().unwrap();
            assert_eq!(weights.len(), attention.heads.computed());
            let scores = attention.raw_scores(&x, &y).unwrap().unwrap();
            for (head, [query, key]) in weights.iter().enumerate() {
                let (x, y) = (x.get(0).unwrap(), y.get(0).unwrap());
                let product = query.matmul(&key.t().unwrap()).unwrap();
                let expected = x.matmul(&product).unwrap().matmul(&y.t().unwrap()).unwrap();
                let own = scores.get(0).unwrap().get(head).unwrap();
                assert_close(&format!("{compatibility:?}, head {head}"), &own, &expected, 1e-12);
            }
        }
    }
}
