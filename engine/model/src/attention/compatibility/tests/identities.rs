//! Ways to score that are the same as another one with other weights.

use candle_core::{DType, Device, Tensor};

use super::{
    super::{HeadAttention, LayerCoverage, LayerHeads, Lenders, PairScoring, family},
    Loaded, NO_DROPOUT, affine, assert_close, layer, layer_and_weights, normal, numbers,
};
use crate::{
    config::{Biases, Compatibility, Grouped, Latent, Standard},
    ops::{Affine, HeadProjections, MaskSpec, Orientation, PieceWeights},
};

const B: usize = 2;
const H: usize = 4;
const T: usize = 7;
const D_K: usize = 3;
const WIDTH: usize = H * D_K;

fn plain() -> LayerHeads {
    LayerHeads::plain(H, D_K)
}

fn output_of(attention: &HeadAttention, x: &Tensor) -> (Tensor, Tensor) {
    let mask = MaskSpec { causal: true, keys: None };
    let got = attention.forward(x, None, &mask, &NO_DROPOUT, 0, &mut Lenders::default()).unwrap();
    (got.maps, got.output)
}

fn assert_same(a: &HeadAttention, b: &HeadAttention) {
    let x = normal(&[B, T, WIDTH], 1.0, 1);
    let ((maps, output), (other_maps, other_output)) = (output_of(a, &x), output_of(b, &x));
    assert_close("maps", &maps, &other_maps, 1e-12);
    assert_close("output", &output, &other_output, 1e-12);
}

/// Standard attention with these maps.
fn standard([query, key, value]: [Affine; 3]) -> HeadProjections {
    let mut loaded = Loaded::default();
    loaded.maps.extend([("query", query), ("key", key), ("value", value)]);
    loaded.with(family(&Compatibility::default()).form(&plain(), false))
}

/// `D_k` adds the same number to all scores of a row.
#[test]
fn a_key_bias_changes_no_map() {
    let (attention, weights) = layer_and_weights(&Compatibility::default(), plain(), false, 1);
    let map = |name: &str| weights.maps[name].clone();
    let key = Affine { bias: None, ..map("key") };
    let without = HeadAttention { projections: standard([map("query"), key, map("value")]), ..attention.clone() };
    let x = normal(&[B, T, WIDTH], 1.0, 1);
    let raw = |attention: &HeadAttention| attention.raw_scores(&x, &x).unwrap().unwrap();
    let difference = (raw(&attention) - raw(&without)).unwrap().abs().unwrap();
    assert!(numbers(&difference).iter().any(|x| *x > 0.1), "the bias is there");
    assert_same(&attention, &without);
}

#[test]
fn joined_and_transposed_projections_say_the_same() {
    let (joined, weights) = layer_and_weights(&Compatibility::default(), plain(), true, 2);
    let part = |i: usize| weights.maps["query_key_value"].outputs(i * WIDTH, WIDTH).unwrap();
    let transposed = |map: Affine| Affine {
        weight: map.weight.t().unwrap().contiguous().unwrap(),
        orientation: Orientation::OutputsFirst,
        ..map
    };
    let projections = standard([part(0), transposed(part(1)), transposed(part(2))]);
    let output = transposed(joined.output.clone());
    assert_same(
        &joined,
        &HeadAttention {
            projections,
            output,
            heads: plain(),
            coverage: LayerCoverage::Full,
            pairs: PairScoring::default(),
        },
    );
}

/// As many groups as heads is standard attention; fewer are standard attention with the same columns repeated.
#[test]
fn groups_are_repeated_keys_and_values() {
    for kv_heads in [1, 2, 4] {
        let (grouped, weights) = layer_and_weights(&Compatibility::Grouped(Grouped { kv_heads }), plain(), false, 3);
        assert_eq!(weights.outputs("key"), kv_heads * D_K);
        let repeated = |name: &str| {
            let map = &weights.maps[name];
            let parts: Vec<Affine> = (0..H).map(|head| map.outputs(head * kv_heads / H * D_K, D_K).unwrap()).collect();
            let weights: Vec<&Tensor> = parts.iter().map(|part| &part.weight).collect();
            let biases: Vec<&Tensor> = parts.iter().map(|part| part.bias.as_ref().unwrap()).collect();
            affine(Tensor::cat(&weights, 1).unwrap(), Some(Tensor::cat(&biases, 0).unwrap()))
        };
        let projections = standard([weights.maps["query"].clone(), repeated("key"), repeated("value")]);
        assert_same(&grouped, &HeadAttention { projections, ..grouped.clone() });
    }
}

/// The latent absorbed into the maps from it is standard attention without a key bias.
#[test]
fn a_latent_is_a_product_of_matrices() {
    let (latent, weights) = layer_and_weights(&Compatibility::Latent(Latent { rank: 5 }), plain(), false, 4);
    let absorbed = |name: &str| {
        let map = &weights.maps[name];
        affine(weights.maps["latent"].weight.matmul(&map.weight).unwrap(), map.bias.clone())
    };
    let projections = standard([weights.maps["query"].clone(), absorbed("key"), absorbed("value")]);
    assert_same(&latent, &HeadAttention { projections, ..latent.clone() });
}

#[test]
fn biases_are_where_they_are_asked_for() {
    let has = |biases| {
        let attention = layer(&Compatibility::Standard(Standard { biases }), plain(), true, 5);
        let has = |weights: &PieceWeights| matches!(weights, PieceWeights::Map(map) if map.bias.is_some());
        let has: Vec<bool> = attention.projections.weights().map(|(_, weights)| has(weights)).collect();
        (has, attention.projections.form().lacks_output_bias)
    };
    assert_eq!(has(Biases::All), (vec![true], false));
    assert_eq!(has(Biases::WithoutKey), (vec![true, false, true], false));
    assert_eq!(has(Biases::None), (vec![false, false, false], true));
}

/// What every way to score gives in self-attention is what it gives for a memory that is the same.
#[test]
fn a_memory_of_ones_own_is_self_attention() {
    let x = normal(&[B, T, WIDTH], 1.0, 1);
    let copy = x.copy().unwrap();
    for compatibility in Compatibility::examples(H, WIDTH) {
        let attention = layer(&compatibility, plain(), false, 6);
        let of = |memory| {
            let mut lenders = Lenders::default();
            attention.forward(&x, memory, &MaskSpec::default(), &NO_DROPOUT, 0, &mut lenders).unwrap().output
        };
        assert_close(compatibility.kind(), &of(Some(&copy)), &of(None), 1e-12);
    }
}

/// Groups of which no head computes have no keys.
#[test]
fn groups_without_a_head_are_not_there() {
    let heads = LayerHeads {
        maps: [vec![crate::ops::HeadMap::Computed], vec![crate::ops::HeadMap::Borrowed { layer: 0, computed: 0 }; 2]]
            .concat(),
        attending: vec![1, 2, 3],
        heads: H,
        head_size: D_K,
        width: H * D_K,
        lends_until: None,
    };
    let (attention, weights) = layer_and_weights(&Compatibility::Grouped(Grouped { kv_heads: 2 }), heads, false, 7);
    assert_eq!(["query", "key", "value"].map(|name| weights.outputs(name)), [D_K, D_K, 2 * D_K]);
    let form = attention.projections.form();
    assert_eq!(form.scores().map(|scores| scores.key.first).collect::<Vec<_>>(), [0]);
    assert_eq!(form.heads.iter().map(|head| head.value.first).collect::<Vec<_>>(), [0, D_K, D_K]);
    let x = Tensor::zeros((1, 2, WIDTH), DType::F64, &Device::Cpu).unwrap();
    assert_eq!(attention.raw_scores(&x, &x).unwrap().unwrap().dims(), [1, 1, 2, 2]);
}
