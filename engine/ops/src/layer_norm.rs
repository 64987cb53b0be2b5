//! Layer normalisation.

use candle_core::{Result, Tensor, bail};

use super::composed;
use super::element::{Reading, by_dtype, check_dtype, is_fused, tensor};
use super::tracked::{Backward, Computed, tracked3};
use super::{gpu, threaded};

/// `y = (x - mean) / sqrt(variance + epsilon) * gain + bias` over the last dimension, with the biased variance
/// (Ba, Kiros and Hinton, 2016).
///
/// # Shapes
/// `x` `[.., d]`, `gain` and `bias` `[d]`; result as `x`.
///
/// # Errors
/// If the shapes or the element types do not fit.
pub fn layer_norm(x: &Tensor, gain: &Tensor, bias: &Tensor, epsilon: f64) -> Result<Tensor> {
    let width = x.dims().last().copied().unwrap_or(0);
    if gain.dims() != [width] || bias.dims() != [width] {
        bail!(
            "Layer norm over an input of shape {:?} was given a gain of shape {:?} and a bias of shape {:?}.",
            x.shape(),
            gain.shape(),
            bias.shape()
        )
    }
    check_dtype("layer norm", "gain", gain, x.dtype())?;
    check_dtype("layer norm", "bias", bias, x.dtype())?;
    if gpu::has_kernels(x) {
        return gpu::layer_norm(x, gain, bias, epsilon);
    }
    if !is_fused(x) {
        return composed::layer_norm(x, gain, bias, epsilon);
    }
    let (x, gain, bias) = (x.contiguous()?, gain.contiguous()?, bias.contiguous()?);
    let y = by_dtype!(x.dtype(), T => {
        let (x_values, gain_values, bias_values) = (Reading::of(&x), Reading::of(&gain), Reading::of(&bias));
        let y = threaded::layer_norm::<T>(x_values.slice()?, gain_values.slice()?, bias_values.slice()?, epsilon);
        Computed::values(y, x.shape())
    });
    tracked3([&x, &gain, &bias], y, LayerNorm { epsilon })
}

struct LayerNorm {
    epsilon: f64,
}

impl Backward<3> for LayerNorm {
    const NAME: &'static str = "layer norm";

    fn backward(&self, [x, gain, bias]: [&Tensor; 3], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 3]> {
        by_dtype!(x.dtype(), T => {
            let (x_values, gain_values, dy_values) = (Reading::of(x), Reading::of(gain), Reading::of(dy));
            let gradients = threaded::layer_norm_backward::<T>(
                x_values.slice()?,
                gain_values.slice()?,
                dy_values.slice()?,
                self.epsilon,
                x.track_op(),
            );
            let dx = if x.track_op() { Some(tensor(gradients.x, x.shape())?) } else { None };
            let dgain = if gain.track_op() { Some(tensor(gradients.gain, gain.shape())?) } else { None };
            let dbias = if bias.track_op() { Some(tensor(gradients.bias, bias.shape())?) } else { None };
            Ok([dx, dgain, dbias])
        })
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device, Var};
    use proptest::prelude::*;

    use super::super::testing::{
        DTYPES, assert_close, assert_differences, assert_matches, assert_same_for_any_threads, numbers, variable,
    };
    use super::*;

    fn inputs(rows: &[usize], d: usize, dtype: DType) -> Vec<Var> {
        let mut shape = rows.to_vec();
        shape.push(d);
        vec![variable(1, &shape, dtype), variable(2, &[d], dtype), variable(3, &[d], dtype)]
    }

    fn check(rows: &[usize], d: usize) {
        for (dtype, tolerance) in DTYPES {
            assert_matches(
                &inputs(rows, d, dtype),
                // A row of two can be almost constant, and its gradient large.
                4.0 * tolerance,
                |v| layer_norm(&v[0], &v[1], &v[2], 1e-2),
                |v| composed::layer_norm(&v[0], &v[1], &v[2], 1e-2),
            );
        }
    }

    #[test]
    fn matches_the_reference() {
        check(&[2, 7], 5);
        check(&[], 33);
        check(&[3], 1);
        check(&[5, 67], 130);
    }

    #[test]
    fn matches_candle_nn() {
        let v = inputs(&[4, 3], 37, DType::F32);
        let reference = candle_nn::ops::layer_norm_slow(&v[0], &v[1], &v[2], 1e-5).unwrap();
        assert_close(&layer_norm(&v[0], &v[1], &v[2], 1e-5).unwrap(), &reference, 2e-6, "layer norm");
    }

    #[test]
    fn matches_finite_differences() {
        assert_differences(&inputs(&[2, 3], 5, DType::F64), |v| layer_norm(&v[0], &v[1], &v[2], 1e-5));
    }

    #[test]
    fn a_large_mean_costs_no_digits_and_a_constant_row_is_its_bias() {
        let x = numbers(1, &[3, 40], DType::F32);
        let (ones, zeros) = (x.ones_like().unwrap().get(0).unwrap(), x.zeros_like().unwrap().get(0).unwrap());
        let shifted = ((&x * 16.0).unwrap().round().unwrap() + 4096.0).unwrap();
        let centred = (&shifted - 4096.0).unwrap();
        let y = layer_norm(&shifted, &ones, &zeros, 1e-5).unwrap();
        assert_close(&y, &layer_norm(&centred, &ones, &zeros, 1e-5).unwrap(), 1e-3, "a shifted row");
        let constant = Tensor::full(1e4_f32, (2, 40), &Device::Cpu).unwrap();
        let y = layer_norm(&constant, &ones, &x.get(0).unwrap(), 1e-5).unwrap();
        assert_close(&y, &x.narrow(0, 0, 1).unwrap().broadcast_as((2, 40)).unwrap(), 1e-6, "a constant row");
    }

    #[test]
    fn takes_strided_inputs_and_broadcast_gradients() {
        for (dtype, tolerance) in DTYPES {
            let v = vec![variable(1, &[5, 3, 6], dtype), variable(2, &[9], dtype), variable(3, &[9], dtype)];
            let views = |v: &[Tensor]| -> Result<[Tensor; 3]> {
                Ok([v[0].transpose(0, 2)?, v[1].narrow(0, 2, 5)?, v[2].narrow(0, 4, 5)?])
            };
            assert_matches(
                &v,
                tolerance,
                |v| views(v).and_then(|[x, g, b]| layer_norm(&x, &g, &b, 1e-2)),
                |v| views(v).and_then(|[x, g, b]| composed::layer_norm(&x, &g, &b, 1e-2)),
            );
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        assert_same_for_any_threads(&inputs(&[333], 130, DType::F32), |v| layer_norm(&v[0], &v[1], &v[2], 1e-5));
    }

    #[test]
    fn gradients_of_gain_and_bias_need_none_of_the_input() {
        let v = inputs(&[70], 5, DType::F64);
        let x = v[0].as_detached_tensor();
        let loss = |x: &Tensor| layer_norm(x, &v[1], &v[2], 1e-5).unwrap().sqr().unwrap().sum_all().unwrap();
        let (alone, together) = (loss(&x).backward().unwrap(), loss(&v[0]).backward().unwrap());
        for parameter in &v[1..] {
            assert_close(alone.get(parameter).unwrap(), together.get(parameter).unwrap(), 0.0, "a gradient");
        }
    }

    #[test]
    fn no_rows_give_no_rows() {
        let v = inputs(&[0], 4, DType::F32);
        assert_eq!(layer_norm(&v[0], &v[1], &v[2], 1e-5).unwrap().dims(), [0, 4]);
    }

    #[test]
    fn misfits_are_refused() {
        let (x, wide) = (numbers(1, &[2, 3], DType::F32), numbers(2, &[4], DType::F32));
        assert!(layer_norm(&x, &wide, &wide, 1e-5).unwrap_err().to_string().contains("[4]"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn matches_the_reference_for_any_shape(rows in 1_usize..70, d in 1_usize..70) {
            check(&[rows], d);
        }
    }
}
