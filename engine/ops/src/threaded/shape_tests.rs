//! Every operation refuses shapes that do not fit, in words that name the tensor.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::affine::AffineWeights;
use super::core::{CoreGradients, CoreInput, CoreShape, KeptMaps};
use super::derived::{BlockMatrices, Derivation, DerivationSlots, Scaled};
use super::heads::{Columns, CoreHead, CoreHeads, HeadScores, OwnScores, Side};
use super::linear::Orientation;
use super::rows::{NormWeights, Rows, Slab};
use super::softmax::SoftmaxShape;
use super::*;
use crate::kernels::{AdamWScalars, MatrixMut, gelu_exact_gradient, gelu_exact_with_slope};
use crate::pair_sets::PairSets;

const ZEROS: [f64; 64] = [0.0; 64];

fn zeros(count: usize) -> &'static [f64] {
    &ZEROS[..count]
}

/// What an operation says before it computes anything.
#[track_caller]
fn assert_refused<R>(words: &str, operation: impl FnOnce() -> R) {
    let Err(payload) = catch_unwind(AssertUnwindSafe(operation)) else { panic!("taken: {words}") };
    let said = payload.downcast_ref::<String>().cloned();
    let said = said.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string)).unwrap();
    assert!(said.contains(words), "\"{said}\" does not say \"{words}\"");
}

#[test]
fn norms_and_softmax_refuse_other_shapes() {
    let norm = |x: usize, bias: usize| drop(layer_norm(zeros(x), zeros(3), zeros(bias), 1e-5));
    assert_refused("input of a layer norm: rows of 3 in 7", || norm(7, 3));
    assert_refused("bias of a layer norm of width 3", || norm(6, 2));
    assert_refused("gradient of the output of a layer norm", || {
        drop(layer_norm_backward(zeros(6), zeros(3), zeros(3), 1e-5, true));
    });
    let keys = [1_u8; 5];
    let shape = SoftmaxShape { rows_per_batch: 4, queries: 2, keys: 3, causal: false, visible_keys: None };
    assert_refused("scores of a softmax: 13 elements are no 4 rows of 2 queries and 3 keys", || {
        drop(softmax(zeros(13), 1.0, shape));
    });
    assert_refused("key mask of a softmax over 3 keys", || {
        drop(softmax(zeros(24), 1.0, SoftmaxShape { visible_keys: Some(&keys), ..shape }));
    });
    assert_refused("gradient of the output of a softmax", || drop(softmax_backward(zeros(6), zeros(3), 1.0, 3)));
    assert_refused("matrix of 3 columns in 7", || drop(column_sums(zeros(7), 3)));
}

#[test]
fn losses_and_embeddings_refuse_other_shapes() {
    assert_refused("logits of 2 labels and 3 classes", || drop(cross_entropy(zeros(5), &[0, 1], 3)));
    assert_refused("labels of a cross-entropy: below 3", || drop(cross_entropy(zeros(6), &[0, 3], 3)));
    assert_refused("normalisers of a cross-entropy", || {
        drop(cross_entropy_backward(zeros(6), &[0, 1], &[0.0], 3, 1.0));
    });
    let head = |labels: &[i64], bias: usize| {
        let hidden = Slab::dense(zeros(6), 3);
        drop(HeadLoss { hidden, table: zeros(12), bias: Some(zeros(bias)), labels, smoothing: 0.0 }.forward(true));
    };
    assert_refused("labels of a head: below 4", || head(&[0, 4], 4));
    assert_refused("labels of a head", || head(&[0], 4));
    assert_refused("bias of a head: 4", || head(&[0, 1], 3));
    assert_refused("gradient of 2 embedded ids of width 3", || {
        drop(embedding_backward(zeros(5), &[0, 1], 4, 3));
    });
    assert_refused("ids of an embedding table: below 4", || drop(embedding_backward(zeros(6), &[0, 4], 4, 3)));
    assert_refused("elements 12..15 of 12", || drop(embedding(zeros(12), &[4], 3)));
    let embed = |ids: &[u32], width: usize| {
        let norm = NormWeights { gain: zeros(width), bias: zeros(width), epsilon: 1e-5 };
        let tables = vec![(zeros(12), &[0_u32, 1][..]), (zeros(12), ids)];
        drop(Embed { tables, width: 3, norm: Some(norm), dropout: None }.forward());
    };
    assert_refused("ids of embedding table 1", || embed(&[0], 3));
    assert_refused("ids of embedding table 1: below 4", || embed(&[0, 4], 3));
    assert_refused("gain and bias of the norm of the embeddings: 3", || embed(&[0, 1], 2));
}

#[test]
fn products_and_elementwise_operations_refuse_other_shapes() {
    assert_refused("bias of a linear map: 2", || {
        drop(linear(zeros(6), zeros(6), Some(zeros(3)), [2, 3, 2], Orientation::InputsFirst));
    });
    let batch = |dims: [usize; 4]| Batch::new(zeros(24), dims, [12, 6, 3, 1]);
    assert_refused("matrices of heads: [2, 2, 3, 3]", || batch([2, 2, 3, 3]));
    assert_refused("second factor of a product of heads", || {
        batched_product(&mut [0.0; 16], batch([2, 2, 2, 3]), batch([2, 2, 2, 2]));
    });
    assert_refused("result of a product of heads", || {
        batched_product(&mut [0.0; 15], batch([2, 2, 2, 3]), batch([2, 2, 2, 3]).transposed());
    });
    assert_refused("gradient of the output of an elementwise operation", || {
        drop(map_gradient(zeros(3), zeros(2), gelu_exact_gradient));
    });
    assert_refused("what is added to a tensor", || add_assign(&mut [0.0; 3], zeros(2)));
    let scalars = AdamWScalars {
        gradient_scale: 1.0,
        beta1: 0.9,
        one_minus_beta1: 0.1,
        beta2: 0.9,
        one_minus_beta2: 0.1,
        inverse_sqrt_correction2: 1.0,
        epsilon: 1e-8,
        step_size: 0.1,
        shrink: 1.0,
    };
    assert_refused("second moment of a parameter", || {
        adamw(&mut [0.0; 3], zeros(3), &mut [0.0; 3], &mut [0.0; 2], &scalars);
    });
    assert_refused("rows of 3 in 7 elements", || Slab::dense(zeros(7), 3));
    assert_refused("columns 2..4 of 3", || Slab::dense(zeros(6), 3).columns(2, 2));
    assert_refused("elements 6..9 of 6", || Slab::dense(zeros(6), 3).row(2));
    assert_refused("rows beside 2 x 3", || {
        Rows::<f64>::take(2, 3).for_each_row_with(&mut Rows::take(2, 2), |_, _| ());
    });
}

#[test]
fn partial_scores_refuse_other_shapes() {
    let pairs = PairSets::even(3, 2, false).unwrap();
    let rows = |size: usize| HeadRows::new(zeros(12), [1, 2, 3, size], [6, 3 * size, size]);
    assert_refused("vectors of heads: [1, 2, 3, 3]", || rows(3));
    let scores = |size: usize, restore: usize| drop(partial_scores(rows(2), rows(size), zeros(restore), &pairs));
    assert_refused("keys of partial scores of queries [1, 2, 3, 2]", || scores(1, 6));
    assert_refused("R of partial scores: 3 x 2", || scores(2, 5));
    assert_refused("pairs of partial scores: chosen for 3 tokens, not for 2", || {
        let short = HeadRows::new(zeros(8), [1, 2, 2, 2], [8, 4, 2]);
        drop(partial_scores(short, short, zeros(6), &pairs));
    });
    assert_refused("gradient of partial scores: 2 maps of 3 x 3", || {
        let both = [zeros(18), zeros(17)];
        drop(partial_scores_backward(rows(2), rows(2), zeros(6), &pairs, both, true));
    });
}

#[test]
fn blocks_refuse_other_shapes() {
    let affine = |outputs: usize, inputs: usize| AffineWeights {
        weight: zeros(inputs * outputs),
        bias: Some(zeros(outputs)),
        outputs,
        orientation: Orientation::InputsFirst,
    };
    let feed_forward = |norm: usize, outer: usize| {
        let norm = NormWeights { gain: zeros(norm), bias: zeros(norm), epsilon: 1e-5 };
        let frame = Frame { norm, at: NormAt::First, dropout: None };
        let activation = gelu_exact_with_slope;
        let block = FeedForwardBlock { frame, inner: affine(4, 3), outer: affine(outer, 4), activation };
        drop(block.forward(zeros(6), &mut [0.0; 6], 3));
    };
    feed_forward(3, 3);
    assert_refused("gain and bias of the norm of a feed-forward block: 3", || feed_forward(2, 3));
    assert_refused("outputs of the second map of a feed-forward block", || feed_forward(3, 2));
    let derivation = |slots: usize| {
        let matrices = vec![BlockMatrices { first: 0, size: 2, matrices: zeros(4), adds: false }];
        let scaled = Scaled { runs: &[], factors: Vec::new(), cleared: &[] };
        let derivation = Derivation { matrices, scaled, maps: Vec::new() };
        let mut slots = DerivationSlots { tensors: (0..slots).map(|_| None).collect(), maps: Vec::new() };
        let mut dprojected = Rows::take(2, 2);
        derivation.backward(Slab::dense(zeros(4), 2), Slab::dense(zeros(4), 2), &mut dprojected, &mut slots);
    };
    derivation(1);
    assert_refused("gradients of the tensors of a derived matrix", || derivation(0));
}

#[test]
fn attention_refuses_columns_and_maps_that_are_not_there() {
    let columns = |first: usize| Columns { side: Side::Projected, first, count: 2 };
    let own = |value: usize, key: usize, bias: Option<Columns>| CoreHead {
        scores: HeadScores::Own(OwnScores {
            query: columns(0),
            key: Columns { count: key, ..columns(2) },
            bias,
            place: 0,
        }),
        value: columns(value),
    };
    let forward = |head: CoreHead, keys: Option<&[u8]>, mixed: usize| {
        let heads = CoreHeads::new(vec![head]);
        let (batch, tokens, head_size) = (1, 3, 2);
        let shape = CoreShape {
            batch,
            tokens,
            keys: tokens,
            heads: &heads,
            head_size,
            scale: 1.0,
            causal: true,
            visible_keys: keys,
            dropout: None,
        };
        let (projected, derived) = (Slab::dense(zeros(18), 6), Rows::<f64>::take(3, 0));
        let input = CoreInput { projected, derived: derived.view(), memory: None, lent: Vec::new() };
        let mut out = [0.0; 6];
        let kept = shape.forward(&input, MatrixMut::new(&mut out, 3, 2), true);
        let (mut dprojected, mut dderived) = (Rows::take(3, mixed), Rows::take(3, 0));
        let (projected, derived) = (dprojected.output(), dderived.output());
        let gradients = CoreGradients { projected, derived, memory: None, lent: Vec::new(), own: None };
        let kept = if keys.is_some() { KeptMaps::Whole(Buffer::take(8)) } else { kept };
        shape.backward(&input, &kept, Slab::dense(zeros(6), 2), gradients);
    };
    forward(own(4, 2, None), None, 6);
    assert_refused("Projected columns 6..8 of attention: 6", || forward(own(6, 2, None), None, 6));
    assert_refused("key columns of a head of attention", || forward(own(4, 1, None), None, 6));
    assert_refused("bias columns of a head of attention", || forward(own(4, 2, Some(columns(4))), None, 6));
    assert_refused("key mask of attention: 3", || forward(own(4, 2, None), Some(&[1, 1]), 6));
    assert_refused("kept attention maps", || forward(own(4, 2, None), Some(&[1, 1, 1]), 6));
    assert_refused("gradient of the Projected columns of attention", || forward(own(4, 2, None), None, 5));
    let lent = CoreHead { scores: HeadScores::Lent { lender: 0, place: 0 }, value: columns(4) };
    assert_refused("map 0 lent by layer 0 of the lenders, which has 0", || forward(lent, None, 6));
}
