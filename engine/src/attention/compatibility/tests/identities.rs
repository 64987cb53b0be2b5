//! Ways to score that are the same as another one with other weights.

use candle_core::{DType, Device, Tensor};

use super::{
    super::{HeadAttention, LayerCoverage, LayerHeads, Lenders, family::score, grouped},
    NO_DROPOUT, affine, assert_close, layer, normal, numbers,
};
use crate::{
    config::{Biases, Compatibility, Grouped, Latent, Standard},
    ops::{Affine, HeadProjections, MaskSpec, Orientation},
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

/// `D_k` adds the same number to all scores of a row.
#[test]
fn a_key_bias_changes_no_map() {
    let attention = layer(&Compatibility::default(), plain(), false, 1);
    let HeadProjections::Separate { scores: Some([query, key]), value, .. } = &attention.projections else {
        unreachable!()
    };
    let without = HeadProjections::Separate {
        scores: Some([query.clone(), Affine { bias: None, ..key.clone() }]),
        value: value.clone(),
        groups: None,
    };
    let x = normal(&[B, T, WIDTH], 1.0, 1);
    let raw = |projections: &HeadProjections| {
        score(projections, &plain(), &LayerCoverage::Full, &x, &x).unwrap().raw.unwrap().whole().unwrap()
    };
    let difference = (raw(&attention.projections) - raw(&without)).unwrap().abs().unwrap();
    assert!(numbers(&difference).iter().any(|x| *x > 0.1), "the bias is there");
    assert_same(&attention, &HeadAttention { projections: without, ..attention.clone() });
}

#[test]
fn joined_and_transposed_projections_say_the_same() {
    let joined = layer(&Compatibility::default(), plain(), true, 2);
    let HeadProjections::Fused(all) = &joined.projections else { unreachable!() };
    let part = |i: usize| all.outputs(i * WIDTH, WIDTH).unwrap();
    let transposed = |map: Affine| Affine {
        weight: map.weight.t().unwrap().contiguous().unwrap(),
        orientation: Orientation::OutputsFirst,
        ..map
    };
    let projections = HeadProjections::Separate {
        scores: Some([part(0), transposed(part(1))]),
        value: transposed(part(2)),
        groups: None,
    };
    let output = transposed(joined.output.clone());
    assert_same(&joined, &HeadAttention { projections, output, heads: plain(), coverage: LayerCoverage::Full });
}

/// As many groups as heads is standard attention; fewer are standard attention with the same columns repeated.
#[test]
fn groups_are_repeated_keys_and_values() {
    for kv_heads in [1, 2, 4] {
        let grouped = layer(&Compatibility::Grouped(Grouped { kv_heads }), plain(), false, 3);
        let HeadProjections::Separate { scores: Some([query, key]), value, .. } = &grouped.projections else {
            unreachable!()
        };
        assert_eq!(key.sizes().unwrap(), (WIDTH, kv_heads * D_K));
        let repeated = |map: &Affine| {
            let parts: Vec<Affine> = (0..H).map(|head| map.outputs(head * kv_heads / H * D_K, D_K).unwrap()).collect();
            let weights: Vec<&Tensor> = parts.iter().map(|part| &part.weight).collect();
            let biases: Vec<&Tensor> = parts.iter().map(|part| part.bias.as_ref().unwrap()).collect();
            affine(Tensor::cat(&weights, 1).unwrap(), Some(Tensor::cat(&biases, 0).unwrap()))
        };
        let projections = HeadProjections::Separate {
            scores: Some([query.clone(), repeated(key)]),
            value: repeated(value),
            groups: None,
        };
        assert_same(&grouped, &HeadAttention { projections, ..grouped.clone() });
    }
}

/// The latent absorbed into the maps from it is standard attention without a key bias.
#[test]
fn a_latent_is_a_product_of_matrices() {
    let latent = layer(&Compatibility::Latent(Latent { rank: 5 }), plain(), false, 4);
    let HeadProjections::Latent { scores: Some([query, key]), latent: down, value } = &latent.projections else {
        unreachable!()
    };
    let absorbed = |map: &Affine| affine(down.weight.matmul(&map.weight).unwrap(), map.bias.clone());
    let projections = HeadProjections::Separate {
        scores: Some([query.clone(), absorbed(key)]),
        value: absorbed(value),
        groups: None,
    };
    assert_same(&latent, &HeadAttention { projections, ..latent.clone() });
}

#[test]
fn biases_are_where_they_are_asked_for() {
    let has = |biases| {
        let attention = layer(&Compatibility::Standard(Standard { biases }), plain(), true, 5);
        match attention.projections {
            HeadProjections::Fused(all) => vec![all.bias.is_some()],
            HeadProjections::Separate { scores: Some([query, key]), value, .. } => {
                [query, key, value].iter().map(|map| map.bias.is_some()).collect()
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(has(Biases::All), [true]);
    assert_eq!(has(Biases::WithoutKey), [true, false, true]);
    assert_eq!(has(Biases::None), [false, false, false]);
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
        lends_until: None,
    };
    let attention = layer(&Compatibility::Grouped(Grouped { kv_heads: 2 }), heads, false, 7);
    let HeadProjections::Separate { scores: Some([query, key]), value, groups: Some(groups) } = &attention.projections
    else {
        unreachable!()
    };
    assert_eq!([query, key, value].map(|map| map.sizes().unwrap().1), [D_K, D_K, 2 * D_K]);
    assert_eq!((groups.keys.as_slice(), groups.values.as_slice()), ([0].as_slice(), [0, 1, 1].as_slice()));
    let x = Tensor::zeros((1, 2, WIDTH), DType::F64, &Device::Cpu).unwrap();
    let scored = grouped::score(
        Some(&[query.clone(), key.clone()]),
        value,
        groups,
        &attention.heads,
        &LayerCoverage::Full,
        &x,
        &x,
    )
    .unwrap();
    assert_eq!(
        (scored.raw.unwrap().whole().unwrap().dims(), scored.values.dims()),
        ([1, 1, 2, 2].as_slice(), [1, 3, 2, D_K].as_slice())
    );
}
