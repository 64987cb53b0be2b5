//! The Gaussian error linear unit.

use candle_core::{Result, Tensor};

use super::composed;
use super::element::{Reading, by_dtype, is_fused, tensor};
use super::tracked::{Backward, Computed, tracked1};
use super::{Affine, Gelu, gpu, kernels, threaded};

/// The Gaussian error linear unit of every element (Hendrycks and Gimpel, 2016). In `f32` within 2e-7 |x| of the exact
/// value.
///
/// # Errors
/// If the element type is not a floating-point one.
pub fn gelu(x: &Tensor, kind: Gelu) -> Result<Tensor> {
    if gpu::has_kernels(x) {
        return gpu::gelu(x, None, kind);
    }
    if !is_fused(x) {
        return composed::gelu(x, kind);
    }
    let x = x.contiguous()?;
    let y = by_dtype!(x.dtype(), T => {
        let kernel = match kind {
            Gelu::Exact => kernels::gelu_exact,
            Gelu::Tanh => kernels::gelu_tanh,
        };
        Computed::values(threaded::map::<T>(Reading::of(&x).slice()?, kernel), x.shape())
    });
    tracked1(&x, y, GeluOp { kind })
}

/// [`gelu()`] of a linear map of every row; the bias is added in the same pass where that saves one.
///
/// # Shapes
/// `x` `[.., inputs]`; result `[.., outputs]`.
///
/// # Errors
/// If the shapes or the element types do not fit.
pub fn gelu_of_linear(x: &Tensor, map: &Affine, kind: Gelu) -> Result<Tensor> {
    match &map.bias {
        Some(bias) if gpu::has_kernels(x) && bias.dims() == [map.sizes()?.1] => {
            let inner = Affine { bias: None, ..map.clone() };
            gpu::gelu(&inner.forward(x)?, Some(bias), kind)
        }
        _ => gelu(&map.forward(x)?, kind),
    }
}

struct GeluOp {
    kind: Gelu,
}

impl Backward<1> for GeluOp {
    const NAME: &'static str = "gelu";

    fn backward(&self, [x]: [&Tensor; 1], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 1]> {
        by_dtype!(x.dtype(), T => {
            let kernel = match self.kind {
                Gelu::Exact => kernels::gelu_exact_gradient,
                Gelu::Tanh => kernels::gelu_tanh_gradient,
            };
            let (x_values, dy_values) = (Reading::of(x), Reading::of(dy));
            let dx = threaded::map_gradient::<T>(x_values.slice()?, dy_values.slice()?, kernel);
            Ok([Some(tensor(dx, x.shape())?)])
        })
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device, Var};

    use super::super::testing::{
        DTYPES, assert_differences, assert_matches, assert_same_for_any_threads, values, variable,
    };
    use super::*;

    const KINDS: [Gelu; 2] = [Gelu::Exact, Gelu::Tanh];

    #[test]
    fn matches_the_reference() {
        for kind in KINDS {
            for (dtype, tolerance) in DTYPES {
                for shape in [&[2, 7, 5][..], &[1], &[3, 1001]] {
                    let v = [Var::from_tensor(&(variable(1, shape, dtype).as_tensor() * 2.0).unwrap()).unwrap()];
                    assert_matches(&v, tolerance, |v| gelu(&v[0], kind), |v| composed::gelu(&v[0], kind));
                }
            }
        }
    }

    #[test]
    fn an_empty_tensor_stays_empty() {
        assert_eq!(gelu(&variable(1, &[0, 3], DType::F32), Gelu::Exact).unwrap().dims(), [0, 3]);
    }

    #[test]
    fn known_values() {
        // x Φ(x) from tables of the normal distribution; the tanh form from its definition.
        let x = Tensor::new(&[1.0_f64, -1.0, 3.0, 0.0], &Device::Cpu).unwrap();
        let exact = values(&gelu(&x, Gelu::Exact).unwrap());
        for (y, known) in exact.iter().zip([0.841_344_746_068_542_9, -0.158_655_253_931_457, 2.995_950_305_905_11, 0.0])
        {
            assert!((y - known).abs() < 1e-13, "{y} instead of {known}");
        }
        let tanh = values(&gelu(&x, Gelu::Tanh).unwrap());
        for (y, x) in tanh.iter().zip([1.0_f64, -1.0, 3.0, 0.0]) {
            let u = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3));
            let known = 0.5 * x * (1.0 + u.tanh());
            assert!((y - known).abs() < 1e-14, "{y} instead of {known}");
        }
    }

    #[test]
    fn matches_finite_differences() {
        for kind in KINDS {
            assert_differences(&[variable(1, &[30], DType::F64)], |v| gelu(&v[0], kind));
        }
    }

    #[test]
    fn extreme_values_stay_finite() {
        for kind in KINDS {
            let x = Var::new(&[1e4_f32, -1e4, 1e19, -1e19, 50.0, -50.0], &Device::Cpu).unwrap();
            let y = gelu(&x, kind).unwrap();
            assert_eq!(
                values(&y).iter().map(|&y| y.abs()).collect::<Vec<_>>(),
                [1e4, 0.0, f64::from(1e19_f32), 0.0, 50.0, 0.0]
            );
            let gradients = y.sum_all().unwrap().backward().unwrap();
            assert_eq!(values(gradients.get(&x).unwrap()), [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
            let nan = Tensor::new(&[f32::NAN], &Device::Cpu).unwrap();
            assert!(values(&gelu(&nan, kind).unwrap())[0].is_nan(), "a NaN must not be hidden");
        }
    }

    #[test]
    fn takes_strided_inputs() {
        let v = [variable(1, &[5, 3, 6], DType::F32)];
        let view = |v: &[Tensor]| v[0].transpose(0, 2)?.narrow(1, 1, 2);
        assert_matches(&v, 1e-5, |v| gelu(&view(v)?, Gelu::Exact), |v| composed::gelu(&view(v)?, Gelu::Exact));
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        assert_same_for_any_threads(&[variable(1, &[50_001], DType::F32)], |v| gelu(&v[0], Gelu::Tanh));
    }
}
