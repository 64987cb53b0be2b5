//! The products of attention, and the heads they work on.

use candle_core::{Result, Tensor, bail};

use super::blocks::{BlockDropout, MapMemory};
use super::composed;
use super::dropout::dropout;
use super::element::{Element, Reading, by_dtype, check_dtype, is_fused, tensor};
use super::gpu::{self, CoreMask, CoreMemory};
use super::options::MaskSpec;
use super::profile::{Work, span};
use super::softmax::masked_softmax;
use super::threaded::{Batch, batched_product};
use super::tracked::{Backward, Computed, tracked2};

/// `q kᵀ` of every head, not scaled. Heads are read where they lie, transposed views included.
///
/// # Shapes
/// `q` `[b, h, t, d]`, `k` `[b, h, s, d]`; result `[b, h, t, s]`.
///
/// # Errors
/// If the shapes or the element types do not fit.
pub fn attention_scores(q: &Tensor, k: &Tensor) -> Result<Tensor> {
    let ((b, h, _, d), dims) = (q.dims4()?, k.dims4()?);
    if (dims.0, dims.1, dims.3) != (b, h, d) {
        bail!("Queries of shape {:?} cannot be compared with keys of shape {:?}.", q.shape(), k.shape())
    }
    check_dtype("attention scores", "keys", k, q.dtype())?;
    if gpu::has_kernels(q) {
        return gpu::attention_scores(q, k);
    }
    if !is_fused(q) {
        return composed::attention_scores(q, k);
    }
    HeadProduct { is_second_transposed: true }.of(q, k)
}

/// `probs v` of every head: each query's mean of the values, weighted by its probabilities.
///
/// # Shapes
/// `probs` `[b, h, t, s]`, `v` `[b, h, s, d]`; result `[b, h, t, d]`.
///
/// # Errors
/// If the shapes or the element types do not fit.
pub fn attention_mix(probs: &Tensor, v: &Tensor) -> Result<Tensor> {
    let ((b, h, _, s), dims) = (probs.dims4()?, v.dims4()?);
    if (dims.0, dims.1, dims.2) != (b, h, s) {
        bail!("Probabilities of shape {:?} cannot mix values of shape {:?}.", probs.shape(), v.shape())
    }
    check_dtype("attention mix", "values", v, probs.dtype())?;
    if gpu::has_kernels(probs) {
        return gpu::attention_mix(probs, v);
    }
    if !is_fused(probs) {
        return composed::attention_mix(probs, v);
    }
    HeadProduct { is_second_transposed: false }.of(probs, v)
}

/// Whether [`attention_core`] is one operation for tensors like this one, and not composed of others.
pub fn has_attention_core(x: &Tensor) -> bool {
    gpu::has_kernels(x)
}

/// `dropout(softmax(scale q kᵀ)) v` of every head over the visible keys. As one operation it holds on to the maps before
/// dropout, or to nothing: then they are computed again in the backward pass, some queries at a time, and never there as
/// a whole (after Dao et al., `FlashAttention`, 2022, with products of whole chunks).
///
/// # Shapes
/// `q` `[b, h, t, d]`, `k` `[b, h, s, d]`, `v` `[b, h, s, d']`; result `[b, h, t, d']`.
///
/// # Errors
/// If the shapes or the element types do not fit.
pub fn attention_core(
    [q, k, v]: [&Tensor; 3],
    scale: f64,
    mask: &MaskSpec,
    drop: Option<&BlockDropout>,
    memory: MapMemory,
) -> Result<Tensor> {
    let ((b, h, t, d), s) = (q.dims4()?, k.dim(2)?);
    if k.dims() != [b, h, s, d] || v.dims4()?.2 != s || v.dims().get(..2) != Some(&[b, h]) {
        bail!("Queries {:?}, keys {:?} and values {:?} are not of one attention.", q.shape(), k.shape(), v.shape())
    }
    mask.check(b, s)?;
    check_dtype("attention core", "keys", k, q.dtype())?;
    check_dtype("attention core", "values", v, q.dtype())?;
    if let Some(drop) = drop {
        drop.check()?;
    }
    let drop = drop.filter(|drop| drop.probability > 0.0);
    if has_attention_core(q) && t * s * d > 0 {
        let dropout = drop.map(|drop| drop.stream.mask(drop.probability));
        let memory = match memory {
            MapMemory::Keep => CoreMemory::Keep,
            MapMemory::Recompute => CoreMemory::Recompute(None),
        };
        return gpu::attention_core([q, k, v], CoreMask { scale, mask: mask.clone(), dropout }, memory);
    }
    let probs = masked_softmax(&attention_scores(q, k)?, scale, mask)?;
    let probs = match drop {
        Some(BlockDropout { probability, stream }) => dropout(&probs, *probability, stream)?,
        None => probs,
    };
    attention_mix(&probs, v)
}

/// Whether [`joint_core`] is for heads of this size of a sequence `x` `[b, t, d]`, without what it would be told there.
pub fn has_joint_core(x: &Tensor, size: usize) -> bool {
    gpu::has_joint_core(x, size)
}

/// [`attention_core`] of a sequence to itself, of queries, keys and values that lie side by side, as one map gives them;
/// the heads of the result do too. Maps are nowhere.
///
/// # Shapes
/// `qkv` `[b, t, 3 h d]`; result `[b, t, h d]`.
///
/// # Errors
/// If the shapes do not fit, or [`has_joint_core`] says that it is not there.
pub fn joint_core(
    qkv: &Tensor,
    heads: usize,
    scale: f64,
    mask: &MaskSpec,
    drop: Option<&BlockDropout>,
) -> Result<Tensor> {
    let (b, t, width) = qkv.dims3()?;
    if heads == 0 || width % (3 * heads) != 0 || !has_joint_core(qkv, width / (3 * heads)) {
        bail!("No kernel attends with {heads} heads to {:?} of type {:?}.", qkv.shape(), qkv.dtype())
    }
    mask.check(b, t)?;
    if let Some(drop) = drop {
        drop.check()?;
    }
    let dropout = drop.filter(|drop| drop.probability > 0.0).map(|drop| drop.stream.mask(drop.probability));
    let keys = mask.keys.as_ref().map(Tensor::contiguous).transpose()?;
    gpu::joint_core(qkv, heads, CoreMask { scale, mask: MaskSpec { keys, ..mask.clone() }, dropout })
}

/// `[b, t, h*d]` as `[b, h, t, d]`: a view on the processor, where products read heads as they lie; copied on an NVIDIA GPU.
///
/// # Errors
/// If the width cannot be divided by the number of heads.
pub fn split_heads(x: &Tensor, heads: usize) -> Result<Tensor> {
    let (b, t, width) = x.dims3()?;
    if heads == 0 || width % heads != 0 {
        bail!("A width of {width} cannot be divided into {heads} heads.")
    }
    if gpu::has_kernels(x) {
        return gpu::split_heads(x, heads);
    }
    x.reshape((b, t, heads, width / heads))?.transpose(1, 2)
}

/// `[b, h, t, d]` as `[b, t, h*d]`, copied into place.
///
/// # Errors
/// If the tensor does not have four dimensions.
pub fn merge_heads(x: &Tensor) -> Result<Tensor> {
    let (b, h, t, d) = x.dims4()?;
    if gpu::has_kernels(x) {
        return gpu::merge_heads(x);
    }
    x.transpose(1, 2)?.reshape((b, t, h * d))
}

/// The product of the last two dimensions, for every batch and head, of `x` with `y` or with `yᵀ`.
struct HeadProduct {
    is_second_transposed: bool,
}

impl HeadProduct {
    fn of(self, x: &Tensor, y: &Tensor) -> Result<Tensor> {
        let product = by_dtype!(x.dtype(), T => {
            let (x_values, y_values) = (Reading::of(x), Reading::of(y));
            let (x, y) = (batch::<T>(&x_values)?, batch::<T>(&y_values)?);
            let (values, shape) = multiplied(self.part(), x, if self.is_second_transposed { y.transposed() } else { y });
            Computed::values(values, shape.as_slice())
        });
        tracked2([x, y], product, self)
    }

    fn part(&self) -> &'static str {
        if self.is_second_transposed { "attention: scores" } else { "attention: mix" }
    }

    fn gradient(&self) -> &'static str {
        if self.is_second_transposed { "attention: scores, gradient" } else { "attention: mix, gradient" }
    }
}

impl Backward<2> for HeadProduct {
    const NAME: &'static str = "product of heads";

    fn backward(&self, [x, y]: [&Tensor; 2], _: &Tensor, dz: &Tensor) -> Result<[Option<Tensor>; 2]> {
        by_dtype!(x.dtype(), T => {
            let (x_values, y_values, dz_values) = (Reading::of(x), Reading::of(y), Reading::of(dz));
            let dz = batch::<T>(&dz_values)?;
            let dx = if x.track_op() {
                let y = batch::<T>(&y_values)?;
                let (dx, shape) = multiplied(self.gradient(), dz, if self.is_second_transposed { y } else { y.transposed() });
                Some(tensor(dx, shape.as_slice())?)
            } else {
                None
            };
            let dy = if y.track_op() {
                let x = batch::<T>(&x_values)?;
                let (dy, shape) = if self.is_second_transposed {
                    multiplied(self.gradient(), dz.transposed(), x)
                } else {
                    multiplied(self.gradient(), x.transposed(), dz)
                };
                Some(tensor(dy, shape.as_slice())?)
            } else {
                None
            };
            Ok([dx, dy])
        })
    }
}

/// The heads of a tensor as they lie in its storage.
fn batch<'a, T: Element>(values: &'a Reading<'_>) -> Result<Batch<'a, T>> {
    let (data, dims, strides) = values.strided()?;
    Ok(Batch::new(data, dims, strides))
}

/// The product and its shape.
fn multiplied<T: Element>(name: &'static str, x: Batch<'_, T>, y: Batch<'_, T>) -> (Vec<T>, [usize; 4]) {
    let ([b, h, rows, inner], [_, _, _, columns]) = (x.dims(), y.dims());
    let mut out = vec![T::ZERO; b * h * rows * columns];
    let work = Work::product::<T>(rows, inner, columns).times(b * h);
    span(name, work, || batched_product(&mut out, x, y));
    (out, [b, h, rows, columns])
}

#[cfg(test)]
mod tests {
    use candle_core::DType;
    use proptest::prelude::*;

    use super::super::testing::{
        DTYPES, assert_close, assert_differences, assert_matches, assert_same_for_any_threads, numbers, values,
        variable,
    };
    use super::*;

    fn check([b, h, t, s, d]: [usize; 5]) {
        for (dtype, tolerance) in DTYPES {
            let v = [variable(1, &[b, h, t, d], dtype), variable(2, &[b, h, s, d], dtype)];
            assert_matches(
                &v,
                tolerance,
                |v| attention_scores(&v[0], &v[1]),
                |v| composed::attention_scores(&v[0], &v[1]),
            );
            let v = [variable(1, &[b, h, t, s], dtype), variable(2, &[b, h, s, d], dtype)];
            assert_matches(&v, tolerance, |v| attention_mix(&v[0], &v[1]), |v| composed::attention_mix(&v[0], &v[1]));
        }
    }

    /// Attention from `[b, t, h*d]` to `[b, t, h*d]`.
    fn whole(v: &[Tensor]) -> Result<Tensor> {
        let [q, k, values] = [0, 1, 2].map(|i| split_heads(&v[i], 3));
        let mask = MaskSpec { causal: true, keys: None };
        let probs = masked_softmax(&attention_scores(&q?, &k?)?, 0.4, &mask)?;
        merge_heads(&attention_mix(&probs, &values?)?)
    }

    fn whole_composed(v: &[Tensor]) -> Result<Tensor> {
        let [q, k, values] = [0, 1, 2].map(|i| split_heads(&v[i], 3));
        let mask = MaskSpec { causal: true, keys: None };
        let probs = composed::masked_softmax(&composed::attention_scores(&q?, &k?)?, 0.4, &mask)?;
        merge_heads(&composed::attention_mix(&probs, &values?)?)
    }

    #[test]
    fn matches_the_reference() {
        check([2, 3, 7, 7, 5]);
        check([2, 3, 4, 9, 5]);
        check([1, 1, 1, 1, 1]);
        check([1, 1, 300, 310, 200]);
        check([2, 2, 70, 65, 33]);
    }

    #[test]
    fn heads_in_place_match_the_reference() {
        for (dtype, tolerance) in DTYPES {
            let v = [1, 2, 3].map(|index| variable(index, &[2, 7, 15], dtype));
            assert_matches(&v, tolerance, whole, whole_composed);
        }
        assert_differences(&[1, 2, 3].map(|index| variable(index, &[2, 4, 6], DType::F64)), whole);
    }

    #[test]
    fn takes_parts_of_a_tensor_and_broadcast_heads() {
        for (dtype, tolerance) in DTYPES {
            let v = [variable(1, &[2, 7, 36], dtype), variable(2, &[2, 1, 7, 4], dtype)];
            let views = |v: &[Tensor]| -> Result<[Tensor; 2]> {
                Ok([split_heads(&v[0].narrow(2, 12, 12)?, 3)?, v[1].broadcast_as((2, 3, 7, 4))?])
            };
            assert_matches(
                &v,
                tolerance,
                |v| views(v).and_then(|[q, k]| attention_scores(&q, &k)),
                |v| views(v).and_then(|[q, k]| composed::attention_scores(&q, &k)),
            );
        }
    }

    #[test]
    fn splitting_and_merging_are_inverse() {
        let x = numbers(1, &[2, 7, 15], DType::F32);
        let heads = split_heads(&x, 3).unwrap();
        assert_eq!(heads.dims(), [2, 3, 7, 5]);
        assert_close(
            &heads.get(1).unwrap().get(2).unwrap(),
            &x.get(1).unwrap().narrow(1, 10, 5).unwrap(),
            0.0,
            "a head",
        );
        assert_close(&merge_heads(&heads).unwrap(), &x, 0.0, "merged heads");
        assert!(split_heads(&x, 4).unwrap_err().to_string().contains("4 heads"));
        assert!(split_heads(&x, 0).is_err());
    }

    #[test]
    fn a_later_token_never_changes_an_earlier_output() {
        let v = [1, 2, 3].map(|index| numbers(index, &[1, 9, 15], DType::F32));
        let cut = |count: usize| values(&whole(&v.clone().map(|x| x.narrow(1, 0, count).unwrap())).unwrap());
        let long = cut(9);
        let mut changed = v.clone();
        for x in &mut changed {
            let tail = (x.narrow(1, 5, 4).unwrap() * 100.0).unwrap();
            *x = Tensor::cat(&[&x.narrow(1, 0, 5).unwrap(), &tail], 1).unwrap();
        }
        assert_eq!(values(&whole(&changed).unwrap())[..5 * 15], long[..5 * 15]);
        assert_eq!(cut(5).len(), 5 * 15);
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let v = [1, 2, 3].map(|index| variable(index, &[2, 130, 96], DType::F32));
        assert_same_for_any_threads(&v, whole);
        let single = [variable(1, &[1, 1, 600, 64], DType::F32), variable(2, &[1, 1, 700, 64], DType::F32)];
        assert_same_for_any_threads(&single, |v| attention_scores(&v[0], &v[1]));
    }

    #[test]
    fn misfits_are_refused() {
        let [q, k] = [[2, 3, 7, 5], [2, 3, 7, 4]].map(|shape| numbers(1, &shape, DType::F32));
        assert!(attention_scores(&q, &k).is_err());
        assert!(attention_mix(&q, &k).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn matches_the_reference_for_any_shape(
            b in 1_usize..3, h in 1_usize..4, t in 1_usize..20, s in 1_usize..20, d in 1_usize..20,
        ) {
            check([b, h, t, s, d]);
        }
    }
}
