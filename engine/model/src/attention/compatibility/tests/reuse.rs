//! Maps that are lent.

use candle_core::{Device, Tensor, Var};

use super::{
    super::{HeadAttention, LayerHeads, Lenders},
    NO_DROPOUT, assert_close, layer, layer_and_weights, normal, numbers,
};
use crate::{
    attention::{Draft, Dropout, HeadAt, HeadPlan},
    config::Compatibility,
    ops::{Affine, MaskSpec},
};

const H: usize = 3;
const D_K: usize = 4;
const WIDTH: usize = H * D_K;

/// The second layer has a head that computes and two that borrow in another order.
fn plan() -> HeadPlan {
    let c = Draft::Compute;
    let borrow = |head| Draft::Borrow { from: HeadAt::new(0, head) };
    HeadPlan::from_drafts(&[vec![c; H], vec![borrow(2), c, borrow(0)]]).unwrap()
}

fn layers(compatibility: &Compatibility) -> [HeadAttention; 2] {
    [0, 1].map(|number| layer(compatibility, LayerHeads::of(&plan(), number, D_K), false, number as u64))
}

#[test]
fn maps_are_lent_as_they_are_before_dropout() {
    let x = normal(&[2, 5, WIDTH], 1.0, 1);
    let dropout = Dropout { probability: 0.5, draw: Some((1, 1)) };
    for compatibility in Compatibility::examples(H, WIDTH) {
        let [first, second] = layers(&compatibility);
        let mask = MaskSpec { causal: true, keys: None };
        let mut lenders = Lenders::default();
        let lent = first.forward(&x, None, &mask, &dropout, 1, &mut lenders).unwrap();
        let used = second.forward(&x, None, &mask, &dropout, 2, &mut lenders).unwrap();
        for (place, from) in [(0, 2), (2, 0)] {
            let (used, lent) = (used.maps.narrow(1, place, 1).unwrap(), lent.maps.narrow(1, from, 1).unwrap());
            assert_close(compatibility.kind(), &used, &lent, 0.0);
        }
        let sums = numbers(&used.maps.sum(3).unwrap());
        assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-12));
        assert!(lenders.borrow(0, &mask).is_err(), "maps are forgotten after their last use");
    }
}

#[test]
fn gradients_flow_through_borrowed_maps() {
    let x = normal(&[1, 5, WIDTH], 1.0, 1);
    let [first, second] = layers(&Compatibility::default());
    let (_, mut weights) = layer_and_weights(&Compatibility::default(), first.heads.clone(), false, 0);
    let query = weights.maps.get_mut("query").unwrap();
    let weight = Var::from_tensor(&query.weight).unwrap();
    query.weight = weight.as_tensor().clone();
    let projections = weights.with(first.projections.form().clone());
    let first = HeadAttention { projections, ..first };
    let mask = MaskSpec::default();
    let mut lenders = Lenders::default();
    first.forward(&x, None, &mask, &NO_DROPOUT, 0, &mut lenders).unwrap();
    // The first layer's own output is not used: its queries matter through the second layer alone.
    let output = second.forward(&x, None, &mask, &NO_DROPOUT, 0, &mut lenders).unwrap().output;
    let gradients = output.sqr().unwrap().sum_all().unwrap().backward().unwrap();
    let gradient = gradients.get(&weight).unwrap();
    let largest = |head: usize| {
        let part = gradient.narrow(1, head * D_K, D_K).unwrap();
        numbers(&part).iter().fold(0.0_f64, |most, x| most.max(x.abs()))
    };
    assert!(largest(0) > 1e-6 && largest(2) > 1e-6);
    assert_eq!(largest(1), 0.0, "nobody borrows from head 1");
}

#[test]
fn a_borrower_that_sees_other_keys_is_refused() {
    let x = normal(&[1, 4, WIDTH], 1.0, 1);
    let [first, second] = layers(&Compatibility::default());
    let keys = |values: [u8; 4]| Some(Tensor::new(&[values], &Device::Cpu).unwrap());
    let mask = |causal, keys| MaskSpec { causal, keys };
    let try_with = |lender: &MaskSpec, borrower: &MaskSpec| {
        let mut lenders = Lenders::default();
        first.forward(&x, None, lender, &NO_DROPOUT, 0, &mut lenders).unwrap();
        second.forward(&x, None, borrower, &NO_DROPOUT, 0, &mut lenders).map(|got| got.output)
    };
    let masked = mask(false, keys([1, 1, 1, 0]));
    assert!(try_with(&masked, &mask(false, keys([1, 1, 1, 0]))).is_ok(), "the same keys in another tensor");
    for other in [mask(true, keys([1, 1, 1, 0])), mask(false, None), mask(false, keys([1, 1, 0, 0]))] {
        let error = try_with(&masked, &other).unwrap_err().to_string();
        assert!(error.contains("other keys"), "{error}");
    }
    // Another memory.
    let mut lenders = Lenders::default();
    first.forward(&x, None, &MaskSpec::default(), &NO_DROPOUT, 0, &mut lenders).unwrap();
    let memory = normal(&[1, 6, WIDTH], 1.0, 2);
    assert!(second.forward(&x, Some(&memory), &MaskSpec::default(), &NO_DROPOUT, 0, &mut lenders).is_err());
}

#[test]
fn borrowers_have_no_queries_and_keys() {
    for compatibility in Compatibility::examples(H, WIDTH) {
        let c = Draft::Compute;
        let all = (0..H).map(|head| Draft::Borrow { from: HeadAt::new(0, head) }).collect();
        let plan = HeadPlan::from_drafts(&[vec![c; H], all]).unwrap();
        let attention = layer(&compatibility, LayerHeads::of(&plan, 1, D_K), true, 8);
        let form = attention.projections.form();
        assert_eq!(form.scores().count(), 0);
        let of_scores = ["query", "key", "mixing", "content", "pairwise", "query_diagonal", "key_diagonal"];
        let has_scores = form.pieces.iter().any(|piece| of_scores.contains(&piece.module));
        assert!(!has_scores, "{compatibility:?}");
    }
}

#[test]
fn heads_that_are_not_there_have_zeros() {
    let c = Draft::Compute;
    let plan = HeadPlan::from_drafts(&[vec![c, Draft::Skip, c]]).unwrap();
    let attention = layer(&Compatibility::default(), LayerHeads::of(&plan, 0, D_K), true, 9);
    let sizes = |map: &Affine| map.sizes().unwrap();
    assert_eq!(sizes(&attention.output), (2 * D_K, WIDTH));
    let x = normal(&[2, 5, WIDTH], 1.0, 1);
    let mut lenders = Lenders::default();
    let got = attention.forward(&x, None, &MaskSpec::default(), &NO_DROPOUT, 0, &mut lenders).unwrap();
    let maps = attention.all_heads(&got.maps).unwrap();
    assert_eq!((got.maps.dim(1).unwrap(), maps.dims()), (2, [2, H, 5, 5].as_slice()));
    assert!(numbers(&maps.narrow(1, 1, 1).unwrap()).iter().all(|x| *x == 0.0));
    assert_close("the last head", &maps.narrow(1, 2, 1).unwrap(), &got.maps.narrow(1, 1, 1).unwrap(), 0.0);
}
