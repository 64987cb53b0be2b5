//! Softmax over attention scores, with its scale and its mask.

use candle_core::{Result, Tensor, bail};

use super::composed;
use super::element::{Reading, by_dtype, is_fused, tensor};
use super::gpu;
use super::options::MaskSpec;
use super::threaded::{self, SoftmaxShape};
use super::tracked::{Backward, Computed, tracked1};

/// `softmax(scale * scores)` over the visible keys.
///
/// What is hidden gets a probability of exactly zero, whatever its score; a row that sees nothing is all zeros.
///
/// # Shapes
/// `scores` `[b, h, t, s]`; result the same.
///
/// # Errors
/// If the mask is not `u8` of shape `[b, s]`.
pub fn masked_softmax(scores: &Tensor, scale: f64, mask: &MaskSpec) -> Result<Tensor> {
    let (b, h, t, s) = scores.dims4()?;
    mask.check(b, s)?;
    if gpu::has_kernels(scores) {
        return gpu::masked_softmax(scores, scale, mask);
    }
    if !is_fused(scores) {
        return composed::masked_softmax(scores, scale, mask);
    }
    let keys = mask.keys.as_ref().map(|keys| keys.flatten_all()?.to_vec1::<u8>()).transpose()?;
    let shape =
        SoftmaxShape { rows_per_batch: h * t, queries: t, keys: s, causal: mask.causal, visible_keys: keys.as_deref() };
    let scores = scores.contiguous()?;
    let probabilities = by_dtype!(scores.dtype(), T => {
        Computed::values(threaded::softmax::<T>(Reading::of(&scores).slice()?, scale, shape), scores.shape())
    });
    tracked1(&scores, probabilities, MaskedSoftmax { scale, width: s })
}

/// Softmax over the last dimension, without a mask.
///
/// # Errors
/// If `x` has no dimension or the element type is not a floating-point one.
pub fn softmax(x: &Tensor) -> Result<Tensor> {
    let Some((&s, leading)) = x.dims().split_last() else { bail!("Softmax needs at least one dimension.") };
    let rows: usize = leading.iter().product();
    masked_softmax(&x.reshape((1, 1, rows, s))?, 1.0, &MaskSpec::default())?.reshape(x.shape())
}

struct MaskedSoftmax {
    scale: f64,
    /// Keys.
    width: usize,
}

impl Backward<1> for MaskedSoftmax {
    const NAME: &'static str = "masked softmax";

    fn backward(&self, [scores]: [&Tensor; 1], result: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 1]> {
        by_dtype!(scores.dtype(), T => {
            let (probabilities, gradient) = (Reading::of(result), Reading::of(dy));
            let dx =
                threaded::softmax_backward::<T>(probabilities.slice()?, gradient.slice()?, self.scale, self.width);
            Ok([Some(tensor(dx, scores.shape())?)])
        })
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device, Var};
    use proptest::prelude::*;

    use super::super::random::{Purpose, Stream};
    use super::super::testing::{
        DTYPES, assert_close, assert_differences, assert_matches, assert_same_for_any_threads, numbers, values,
        variable,
    };
    use super::*;

    /// A key mask of zeros and ones.
    fn keys(b: usize, s: usize) -> Tensor {
        let mut stream = Stream::new(5, Purpose::Test, s as u64);
        let bits: Vec<u8> = (0..b * s).map(|_| stream.below(3).min(1) as u8).collect();
        Tensor::from_vec(bits, (b, s), &Device::Cpu).unwrap()
    }

    fn masks(b: usize, s: usize) -> [MaskSpec; 4] {
        [false, true]
            .map(|causal| [None, Some(keys(b, s))].map(|keys| MaskSpec { causal, keys }))
            .concat()
            .try_into()
            .unwrap()
    }

    fn check(b: usize, h: usize, t: usize, s: usize) {
        for mask in masks(b, s) {
            for (dtype, tolerance) in DTYPES {
                assert_matches(
                    &[variable(1, &[b, h, t, s], dtype)],
                    tolerance,
                    |v| masked_softmax(&v[0], 0.7, &mask),
                    |v| composed::masked_softmax(&v[0], 0.7, &mask),
                );
            }
        }
    }

    #[test]
    fn matches_the_reference() {
        check(2, 3, 7, 7);
        check(2, 3, 5, 7);
        // More queries than keys: the first see none.
        check(2, 3, 7, 4);
        check(1, 1, 1, 1);
        check(2, 2, 33, 130);
    }

    #[test]
    fn matches_candle_nn_without_a_mask() {
        for (dtype, tolerance) in DTYPES {
            let v = [variable(1, &[2, 3, 41], dtype)];
            assert_matches(&v, tolerance, |v| softmax(&v[0]), |v| candle_nn::ops::softmax(&v[0], 2));
        }
    }

    #[test]
    fn matches_finite_differences() {
        for mask in masks(2, 5) {
            assert_differences(&[variable(1, &[2, 2, 4, 5], DType::F64)], |v| masked_softmax(&v[0], 0.7, &mask));
        }
    }

    #[test]
    fn a_causal_row_sees_up_to_its_own_place() {
        let scores = Tensor::zeros((1, 1, 2, 4), DType::F32, &Device::Cpu).unwrap();
        let y = masked_softmax(&scores, 1.0, &MaskSpec { causal: true, keys: None }).unwrap();
        let third = 1.0_f32 / 3.0;
        assert_eq!(
            y.flatten_all().unwrap().to_vec1::<f32>().unwrap(),
            [third, third, third, 0.0, 0.25, 0.25, 0.25, 0.25]
        );
    }

    #[test]
    fn a_row_that_sees_nothing_is_zero_and_has_no_gradient() {
        for dtype in [DType::F32, DType::F64] {
            let x = variable(1, &[2, 3, 4, 5], dtype);
            let keys = Tensor::new(&[[0_u8, 0, 0, 0, 0], [1, 0, 1, 1, 0]], &Device::Cpu).unwrap();
            let y = masked_softmax(&x, 1.0, &MaskSpec { causal: false, keys: Some(keys) }).unwrap();
            let gradients = y.sqr().unwrap().sum_all().unwrap().backward().unwrap();
            let dx = gradients.get(&x).unwrap();
            assert!(values(&y.get(0).unwrap()).iter().chain(&values(&dx.get(0).unwrap())).all(|&v| v == 0.0));
            let sums = y.get(1).unwrap().sum(2).unwrap();
            assert_close(&sums, &sums.ones_like().unwrap(), 1e-6, "the sum of a row");
            assert!(values(dx).iter().all(|v| v.is_finite()));
        }
    }

    #[test]
    fn extreme_scores_are_harmless() {
        for dtype in [DType::F32, DType::F64] {
            let x = Var::new(&[1e4_f64, -1e4, 1e4, 0.0], &Device::Cpu).unwrap().to_dtype(dtype).unwrap();
            let x = Var::from_tensor(&x.reshape((1, 1, 1, 4)).unwrap()).unwrap();
            let y = masked_softmax(&x, 1.0, &MaskSpec::default()).unwrap();
            assert_eq!(values(&y), [0.5, 0.0, 0.5, 0.0]);
            let weights = Tensor::new(&[1_f64, 2.0, 3.0, 4.0], &Device::Cpu).unwrap().to_dtype(dtype).unwrap();
            let loss = (y.flatten_all().unwrap() * weights).unwrap().sum_all().unwrap();
            assert_eq!(values(loss.backward().unwrap().get(&x).unwrap()), [-0.5, 0.0, 0.5, 0.0]);
        }
    }

    #[test]
    fn what_is_hidden_has_no_influence() {
        let mask = MaskSpec { causal: true, keys: Some(Tensor::new(&[[1_u8, 0, 1, 1]], &Device::Cpu).unwrap()) };
        let clean = numbers(1, &[1, 1, 4, 4], DType::F32);
        let mut dirty = values(&clean);
        for (i, row) in dirty.chunks_mut(4).enumerate() {
            row[1] = f64::NAN;
            row[i + 1..].fill(f64::INFINITY);
        }
        let dirty = Tensor::from_vec(dirty, (1, 1, 4, 4), &Device::Cpu).unwrap().to_dtype(DType::F32).unwrap();
        let [clean, dirty] = [clean, dirty].map(|x| values(&masked_softmax(&x, 0.5, &mask).unwrap()));
        assert_eq!(clean, dirty);
        let seen = Tensor::full(f32::NAN, (1, 1, 1, 4), &Device::Cpu).unwrap();
        let y = values(&masked_softmax(&seen, 1.0, &MaskSpec::default()).unwrap());
        assert!(y.iter().all(|y| y.is_nan()), "a NaN that is seen must not be hidden");
    }

    #[test]
    fn takes_strided_inputs_and_broadcast_gradients() {
        let mask = MaskSpec { causal: true, keys: Some(keys(4, 7)) };
        let v = [variable(1, &[7, 3, 8, 4], DType::F64)];
        let view = |v: &[Tensor]| v[0].transpose(0, 3)?.narrow(2, 2, 5);
        assert_matches(
            &v,
            1e-11,
            |v| masked_softmax(&view(v)?, 0.7, &mask),
            |v| composed::masked_softmax(&view(v)?, 0.7, &mask),
        );
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let mask = MaskSpec { causal: true, keys: Some(keys(2, 130)) };
        let v = [variable(1, &[2, 3, 130, 130], DType::F32)];
        assert_same_for_any_threads(&v, |v| masked_softmax(&v[0], 0.7, &mask));
    }

    #[test]
    fn empty_scores_stay_empty() {
        for shape in [[0, 2, 3, 4], [1, 2, 0, 4], [1, 2, 3, 0]] {
            let mask = MaskSpec { causal: true, keys: Some(keys(shape[0], shape[3])) };
            assert_eq!(masked_softmax(&variable(1, &shape, DType::F32), 1.0, &mask).unwrap().dims(), shape);
        }
    }

    #[test]
    fn a_mask_of_another_shape_is_refused() {
        let x = numbers(1, &[2, 3, 4, 5], DType::F32);
        let mask = MaskSpec { causal: false, keys: Some(keys(2, 4)) };
        assert!(masked_softmax(&x, 1.0, &mask).unwrap_err().to_string().contains("[2, 5]"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn matches_the_reference_for_any_shape(b in 1_usize..3, h in 1_usize..4, t in 1_usize..12, s in 1_usize..40) {
            check(b, h, t, s);
        }
    }
}
