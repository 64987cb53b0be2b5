//! Scores of some pairs of positions, from which the others of the same query follow.

use std::sync::Arc;

use candle_core::{Result, Tensor, bail};

use super::composed;
use super::element::{Element, Reading, by_dtype, check_dtype, is_fused, tensor};
use super::pair_sets::PairSets;
use super::profile::{Work, span};
use super::threaded::{HeadRows, partial_scores as scores_of, partial_scores_backward};
use super::tracked::{Backward, Computed, tracked3};

/// `q kᵀ` of every head at the computed pairs of each query, not scaled, and `R` times these at its other keys (Eigen
/// analysis of self-attention, section 3.1). A key that a query does not see gets 0.
///
/// Only the computed pairs are multiplied out: `n k d` multiply-accumulates a head, and `n k (n - k)` for the others,
/// instead of `n² d`.
///
/// # Shapes
/// `q`, `k` `[b, h, t, d]`, `restore` `[pairs.restored(), pairs.k()]`; result `[b, h, t, t]`. `t` is the length that the
/// sets are for, or a shorter one where they are causal.
///
/// # Errors
/// If the shapes, the element types or the length do not fit.
pub fn partial_scores(q: &Tensor, k: &Tensor, restore: &Tensor, pairs: &Arc<PairSets>) -> Result<Tensor> {
    let (_, _, t, _) = q.dims4()?;
    if q.dims() != k.dims() {
        bail!("Queries of shape {:?} cannot be compared with keys of shape {:?}.", q.shape(), k.shape())
    }
    if restore.dims() != [pairs.restored(), pairs.k()] {
        bail!(
            "R of {} restored pairs and {} computed ones a query has the shape {:?}.",
            pairs.restored(),
            pairs.k(),
            restore.shape()
        )
    }
    if t > pairs.tokens() || (t < pairs.tokens() && !pairs.is_causal()) {
        bail!("Pairs were chosen for sequences of {} tokens, but this one has {t}.", pairs.tokens())
    }
    check_dtype("partial scores", "keys", k, q.dtype())?;
    check_dtype("partial scores", "map to restored scores", restore, q.dtype())?;
    if !is_fused(q) {
        return composed::partial_scores(q, k, restore, pairs);
    }
    let rows = |x: &Tensor| if x.stride().last() == Some(&1) { Ok(x.clone()) } else { x.contiguous() };
    let (q, k, restore) = (rows(q)?, rows(k)?, restore.contiguous()?);
    let op = PartialScores { pairs: Arc::clone(pairs) };
    let scores = by_dtype!(q.dtype(), T => {
        let (q_values, k_values, restore_values) = (Reading::of(&q), Reading::of(&k), Reading::of(&restore));
        let ((q, dims), (k, _)) = (head_rows::<T>(&q_values)?, head_rows(&k_values)?);
        let restore = restore_values.slice()?;
        let scores = span("attention: partial scores", op.work::<T>(dims), || scores_of(q, k, restore, pairs));
        Computed::values(scores, (dims[0], dims[1], dims[2], dims[2]))
    });
    tracked3([&q, &k, &restore], scores, op)
}

struct PartialScores {
    pairs: Arc<PairSets>,
}

impl PartialScores {
    fn work<T>(&self, [b, h, t, d]: [usize; 4]) -> Work {
        let k = self.pairs.k().min(t);
        Work::product::<T>(1, d, k).times(b * h * t) + Work::product::<T>(b * h, k, t - k).times(t)
    }
}

impl Backward<3> for PartialScores {
    const NAME: &'static str = "partial scores";

    fn backward(
        &self,
        [q, k, restore]: [&Tensor; 3],
        scores: &Tensor,
        dscores: &Tensor,
    ) -> Result<[Option<Tensor>; 3]> {
        by_dtype!(q.dtype(), T => {
            let (q_values, k_values) = (Reading::of(q), Reading::of(k));
            let (restore_values, scores, dscores) = (Reading::of(restore), Reading::of(scores), Reading::of(dscores));
            let ((queries, dims), (keys, _)) = (head_rows::<T>(&q_values)?, head_rows::<T>(&k_values)?);
            let (weights, both) = (restore_values.slice::<T>()?, [scores.slice::<T>()?, dscores.slice::<T>()?]);
            let is_trained = restore.track_op();
            let k_used = self.pairs.k().min(dims[2]);
            // The gradient of a product has one of each factor.
            let restoring = Work::product::<T>(dims[0] * dims[1], k_used, dims[2] - k_used).times(dims[2]);
            let scoring = Work::product::<T>(1, dims[3], k_used).times(dims[0] * dims[1] * dims[2]);
            let work = scoring.times(2) + restoring.times(if is_trained { 2 } else { 1 });
            let found = span("attention: partial scores, gradient", work, || {
                partial_scores_backward(queries, keys, weights, &self.pairs, both, is_trained)
            });
            let drestore = found.restore.map(|gradient| tensor(gradient, restore.shape())).transpose()?;
            Ok([Some(tensor(found.queries, q.shape())?), Some(tensor(found.keys, k.shape())?), drestore])
        })
    }
}

/// The heads of a tensor as they lie in its storage, with their shape.
fn head_rows<'a, T: Element>(values: &'a Reading<'_>) -> Result<(HeadRows<'a, T>, [usize; 4])> {
    let (data, dims, [batch, head, position, _]) = values.strided()?;
    Ok((HeadRows::new(data, dims, [batch, head, position]), dims))
}

/// Every row of scores projected on k directions of its own: `V_iᵀ V_i row_i`.
///
/// # Shapes
/// `scores` `[b, h, t, t]`, `basis` `[n, k, n]` with orthonormal rows or zeros; `t <= n`, and a shorter one only where
/// every direction of a row ends before it (causal bases).
///
/// # Errors
/// If the shapes do not fit.
pub fn project_scores(scores: &Tensor, basis: &Tensor) -> Result<Tensor> {
    let ((b, h, t, keys), (n, _, _)) = (scores.dims4()?, basis.dims3()?);
    if t != keys || t > n {
        bail!("Scores of shape {:?} cannot be projected on directions of {n} keys.", scores.shape())
    }
    let basis = basis.narrow(0, 0, t)?.narrow(2, 0, t)?.contiguous()?; // [t, k, t]
    let rows = scores.permute((2, 0, 1, 3))?.reshape((t, b * h, t))?.contiguous()?;
    let parts = rows.matmul(&basis.transpose(1, 2)?.contiguous()?)?; // [t, b h, k]
    parts.matmul(&basis)?.reshape((t, b, h, t))?.permute((1, 2, 0, 3))?.contiguous()
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device};
    use proptest::prelude::*;

    use super::super::testing::{
        DTYPES, assert_close, assert_differences, assert_matches, assert_same_for_any_threads, numbers, variable,
    };
    use super::super::{attention_scores, split_heads};
    use super::*;

    fn even(tokens: usize, k: usize, causal: bool) -> Arc<PairSets> {
        Arc::new(PairSets::even(tokens, k, causal).unwrap())
    }

    fn check([b, h, n, t, d]: [usize; 5], k: usize, causal: bool) {
        let pairs = even(n, k, causal);
        for (dtype, tolerance) in DTYPES {
            let v = [
                variable(1, &[b, h, t, d], dtype),
                variable(2, &[b, h, t, d], dtype),
                variable(3, &[pairs.restored(), k], dtype),
            ];
            assert_matches(
                &v,
                tolerance,
                |v| partial_scores(&v[0], &v[1], &v[2], &pairs),
                |v| composed::partial_scores(&v[0], &v[1], &v[2], &pairs),
            );
        }
    }

    #[test]
    fn matches_the_reference() {
        check([2, 3, 7, 7, 5], 3, false);
        check([2, 3, 7, 7, 5], 3, true);
        check([2, 3, 7, 4, 5], 3, true);
        check([2, 3, 7, 2, 5], 3, true);
        check([1, 1, 2, 2, 1], 1, false);
        check([2, 4, 40, 40, 33], 39, false);
        check([2, 4, 40, 40, 33], 6, true);
    }

    #[test]
    fn gradients_are_those_of_differences() {
        for causal in [false, true] {
            let pairs = even(6, 2, causal);
            let v = [&[2, 2, 6, 3][..], &[2, 2, 6, 3], &[pairs.restored(), 2]];
            let v: Vec<_> = (1..).zip(v).map(|(index, shape)| variable(index, shape, DType::F64)).collect();
            assert_differences(&v, |v| partial_scores(&v[0], &v[1], &v[2], &pairs));
        }
    }

    #[test]
    fn heads_in_place_and_queries_that_are_keys_match_the_reference() {
        for (dtype, tolerance) in DTYPES {
            let pairs = even(7, 3, true);
            let v = [variable(1, &[2, 7, 15], dtype), variable(2, &[pairs.restored(), 3], dtype)];
            let of = |v: &[Tensor], f: fn(&Tensor, &Tensor, &Tensor, &Arc<PairSets>) -> Result<Tensor>| {
                let x = split_heads(&v[0], 3)?;
                f(&x, &x, &v[1], &pairs)
            };
            let twin = |q: &Tensor, k: &Tensor, r: &Tensor, p: &Arc<PairSets>| composed::partial_scores(q, k, r, p);
            assert_matches(&v, tolerance, |v| of(v, partial_scores), |v| of(v, twin));
        }
    }

    #[test]
    fn computed_pairs_are_the_exact_ones_and_a_fixed_map_gets_no_gradient() {
        let [q, k] = [1, 2].map(|index| numbers(index, &[2, 3, 8, 5], DType::F64));
        let exact = attention_scores(&q, &k).unwrap();
        let pairs = even(8, 3, false);
        let restore = numbers(3, &[pairs.restored(), 3], DType::F64);
        let found = partial_scores(&q, &k, &restore, &pairs).unwrap();
        for (query, row) in pairs.rows().iter().enumerate() {
            for &key in &row.chosen {
                let at = |x: &Tensor| x.narrow(2, query, 1).unwrap().narrow(3, key as usize, 1).unwrap();
                assert_close(&at(&found), &at(&exact), 1e-13, "a computed score");
            }
        }
        let q = variable(1, &[2, 3, 8, 5], DType::F64);
        let found = partial_scores(&q, &k, &restore, &pairs).unwrap();
        let store = found.sqr().unwrap().sum_all().unwrap().backward().unwrap();
        assert!(store.get(&q).is_some() && store.get(&restore).is_none());
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let pairs = even(130, 16, false);
        let shapes: [&[usize]; 3] = [&[2, 3, 130, 32], &[2, 3, 130, 32], &[pairs.restored(), 16]];
        let v: Vec<_> = (1..).zip(shapes).map(|(index, shape)| variable(index, shape, DType::F32)).collect();
        assert_same_for_any_threads(&v, |v| partial_scores(&v[0], &v[1], &v[2], &pairs));
    }

    #[test]
    fn projection_keeps_what_lies_in_the_directions() {
        // Two directions of every row: the first two keys.
        let mut basis = vec![0.0; 4 * 2 * 4];
        for row in basis.chunks_exact_mut(8) {
            (row[0], row[5]) = (1.0, 1.0);
        }
        let basis = Tensor::from_vec(basis, (4, 2, 4), &Device::Cpu).unwrap();
        let scores = numbers(1, &[2, 3, 4, 4], DType::F64);
        let found = project_scores(&scores, &basis).unwrap();
        assert_close(&found.narrow(3, 0, 2).unwrap(), &scores.narrow(3, 0, 2).unwrap(), 1e-14, "kept");
        assert_close(&found.narrow(3, 2, 2).unwrap(), &(found.narrow(3, 2, 2).unwrap() * 0.0).unwrap(), 0.0, "left");
        assert!(project_scores(&numbers(1, &[1, 1, 5, 5], DType::F64), &basis).is_err());
    }

    #[test]
    fn misfits_are_refused() {
        let [q, k] = [[2, 3, 7, 5], [2, 3, 7, 4]].map(|shape| numbers(1, &shape, DType::F32));
        let pairs = even(7, 3, false);
        let restore = numbers(1, &[pairs.restored(), 3], DType::F32);
        let words = |found: Result<Tensor>| found.unwrap_err().to_string();
        assert!(words(partial_scores(&q, &k, &restore, &pairs)).contains("cannot be compared"));
        assert!(words(partial_scores(&q, &q, &restore.narrow(0, 0, 2).unwrap(), &pairs)).contains("has the shape"));
        let short = q.narrow(2, 0, 6).unwrap();
        assert!(words(partial_scores(&short, &short, &restore, &pairs)).contains("sequences of 7 tokens"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn matches_the_reference_for_any_shape(
            b in 1_usize..3, h in 1_usize..4, n in 2_usize..20, d in 1_usize..20, k in 1_usize..19, causal in any::<bool>(),
        ) {
            check([b, h, n, n, d], k.min(n - 1), causal);
        }
    }
}
