//! The linear layer.

use candle_core::{Result, Tensor, bail};

use super::composed;
use super::element::{Reading, by_dtype, check_dtype, is_fused, tensor};
use super::gpu;
use super::profile::{Work, span};
use super::threaded::{self, Orientation};
use super::tracked::{Backward, Computed, tracked2, tracked3};

/// `y = x W + b`.
///
/// # Shapes
/// `x` `[.., inputs]`, `weight` `[inputs, outputs]`, `bias` `[outputs]`; result `[.., outputs]`.
///
/// # Errors
/// If the shapes or the element types do not fit.
pub fn linear(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    apply(x, weight, bias, Orientation::InputsFirst)
}

/// `y = x Wᵀ + b`, the orientation of `PyTorch`'s linear layers and of a head tied to its embedding.
///
/// # Shapes
/// `x` `[.., inputs]`, `weight` `[outputs, inputs]`, `bias` `[outputs]`; result `[.., outputs]`.
///
/// # Errors
/// If the shapes or the element types do not fit.
pub fn linear_transposed(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    apply(x, weight, bias, Orientation::OutputsFirst)
}

fn apply(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, orientation: Orientation) -> Result<Tensor> {
    let (first, second) = weight.dims2()?;
    let (inputs, outputs) = match orientation {
        Orientation::InputsFirst => (first, second),
        Orientation::OutputsFirst => (second, first),
    };
    let Some((&width, leading)) = x.dims().split_last() else {
        bail!("A linear layer needs an input with at least one dimension.")
    };
    if width != inputs {
        bail!("A linear layer of {inputs} inputs was given an input of shape {:?}.", x.shape())
    }
    check_dtype("linear", "weight", weight, x.dtype())?;
    if let Some(bias) = bias {
        check_dtype("linear", "bias", bias, x.dtype())?;
        if bias.dims() != [outputs] {
            bail!("A linear layer of {outputs} outputs was given a bias of shape {:?}.", bias.shape())
        }
    }
    let rows = leading.iter().product();
    let mut shape = leading.to_vec();
    shape.push(outputs);
    if gpu::has_kernels(x) {
        return gpu::linear(x, weight, bias, orientation);
    }
    if !is_fused(x) {
        return composed::linear(x, weight, bias, orientation == Orientation::OutputsFirst);
    }
    let (x, weight) = (x.contiguous()?, weight.contiguous()?);
    let bias = bias.map(Tensor::contiguous).transpose()?;
    let op = Linear { sizes: [rows, inputs, outputs], orientation };
    let y = by_dtype!(x.dtype(), T => {
        let (x_values, weight_values, bias_values) = (Reading::of(&x), Reading::of(&weight), bias.as_ref().map(Reading::of));
        let (x, weight) = (x_values.slice::<T>()?, weight_values.slice()?);
        let bias = bias_values.as_ref().map(Reading::slice).transpose()?;
        let y = span("linear map", op.work::<T>(), || threaded::linear(x, weight, bias, op.sizes, orientation));
        Computed::values(y, shape)
    });
    match &bias {
        Some(bias) => tracked3([&x, &weight, bias], y, op),
        None => tracked2([&x, &weight], y, op),
    }
}

struct Linear {
    /// Rows, inputs, outputs.
    sizes: [usize; 3],
    orientation: Orientation,
}

impl Linear {
    fn work<T>(&self) -> Work {
        let [rows, inputs, outputs] = self.sizes;
        Work::product::<T>(rows, inputs, outputs)
    }

    fn gradients(&self, [x, weight]: [&Tensor; 2], dy: &Tensor) -> Result<[Option<Tensor>; 2]> {
        by_dtype!(x.dtype(), T => {
            let (x_values, weight_values, dy_values) = (Reading::of(x), Reading::of(weight), Reading::of(dy));
            let dy = dy_values.slice::<T>()?;
            let dx = if x.track_op() {
                let weight = weight_values.slice()?;
                let dx = span("linear map, gradient of input", self.work::<T>(), || {
                    threaded::linear_input_gradient(dy, weight, self.sizes, self.orientation)
                });
                Some(tensor(dx, x.shape())?)
            } else {
                None
            };
            let dw = if weight.track_op() {
                let x = x_values.slice()?;
                let dw = span("linear map, gradient of weights", self.work::<T>(), || {
                    threaded::linear_weight_gradient(x, dy, self.sizes, self.orientation)
                });
                Some(tensor(dw, weight.shape())?)
            } else {
                None
            };
            Ok([dx, dw])
        })
    }
}

impl Backward<2> for Linear {
    const NAME: &'static str = "linear";

    fn backward(&self, inputs: [&Tensor; 2], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 2]> {
        self.gradients(inputs, dy)
    }
}

impl Backward<3> for Linear {
    const NAME: &'static str = "linear with bias";

    fn backward(&self, [x, weight, bias]: [&Tensor; 3], _: &Tensor, dy: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let [dx, dw] = self.gradients([x, weight], dy)?;
        let db = if bias.track_op() {
            by_dtype!(dy.dtype(), T => {
                let sums = threaded::column_sums(Reading::of(dy).slice::<T>()?, self.sizes[2]);
                Some(tensor(sums, bias.shape())?)
            })
        } else {
            None
        };
        Ok([dx, dw, db])
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

    fn inputs(leading: &[usize], i: usize, o: usize, is_transposed: bool, dtype: DType) -> Vec<Var> {
        let mut shape = leading.to_vec();
        shape.push(i);
        let weight = if is_transposed { [o, i] } else { [i, o] };
        vec![variable(1, &shape, dtype), variable(2, &weight, dtype), variable(3, &[o], dtype)]
    }

    fn check(leading: &[usize], i: usize, o: usize) {
        for (dtype, tolerance) in DTYPES {
            let plain = inputs(leading, i, o, false, dtype);
            assert_matches(
                &plain,
                tolerance,
                |v| linear(&v[0], &v[1], Some(&v[2])),
                |v| composed::linear(&v[0], &v[1], Some(&v[2]), false),
            );
            let transposed = inputs(leading, i, o, true, dtype);
            assert_matches(
                &transposed[..2],
                tolerance,
                |v| linear_transposed(&v[0], &v[1], None),
                |v| composed::linear(&v[0], &v[1], None, true),
            );
        }
    }

    #[test]
    fn matches_the_reference() {
        check(&[2, 7], 5, 3);
        check(&[], 5, 3);
        check(&[1], 1, 1);
        // Cut into several pieces along the rows and along the columns.
        check(&[700], 130, 200);
        check(&[100], 300, 700);
    }

    #[test]
    fn a_small_product_by_hand() {
        let x = Tensor::new(&[[1_f32, 2.0], [3.0, 4.0]], &Device::Cpu).unwrap();
        let w = Tensor::new(&[[1_f32, 0.0, 2.0], [0.0, 1.0, -1.0]], &Device::Cpu).unwrap();
        let b = Tensor::new(&[10_f32, 20.0, 30.0], &Device::Cpu).unwrap();
        let y = [[11_f32, 22.0, 30.0], [13.0, 24.0, 32.0]];
        assert_eq!(linear(&x, &w, Some(&b)).unwrap().to_vec2::<f32>().unwrap(), y);
        let y_transposed = linear_transposed(&x, &w.t().unwrap(), Some(&b)).unwrap();
        assert_eq!(y_transposed.to_vec2::<f32>().unwrap(), y);
    }

    #[test]
    fn matches_finite_differences() {
        let inputs = inputs(&[2, 3], 4, 3, false, DType::F64);
        assert_differences(&inputs, |v| linear(&v[0], &v[1], Some(&v[2])));
        assert_differences(&inputs[..2], |v| linear_transposed(&v[0], &v[1].t()?, None));
    }

    #[test]
    fn takes_strided_inputs() {
        for (dtype, tolerance) in DTYPES {
            let inputs =
                vec![variable(1, &[5, 9, 2], dtype), variable(2, &[4, 10], dtype), variable(3, &[2, 3], dtype)];
            let views = |v: &[Tensor]| -> Result<[Tensor; 3]> {
                Ok([
                    v[0].transpose(0, 2)?,
                    v[1].narrow(1, 3, 5)?.narrow(0, 1, 3)?.t()?,
                    v[2].narrow(0, 1, 1)?.squeeze(0)?,
                ])
            };
            assert_matches(
                &inputs,
                tolerance,
                |v| views(v).and_then(|[x, w, b]| linear(&x, &w, Some(&b))),
                |v| views(v).and_then(|[x, w, b]| composed::linear(&x, &w, Some(&b), false)),
            );
        }
    }

    #[test]
    fn only_tracked_inputs_get_gradients() {
        let x = numbers(1, &[2, 3], DType::F32);
        let w = variable(2, &[3, 4], DType::F32);
        let gradients = linear(&x, &w, None).unwrap().sum_all().unwrap().backward().unwrap();
        assert!(gradients.get(&w).is_some());
        assert!(gradients.get(&x).is_none());
        let frozen = linear(&variable(1, &[2, 3], DType::F32), &w.as_detached_tensor(), None).unwrap();
        frozen.sum_all().unwrap().backward().unwrap();
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        for dtype in [DType::F32, DType::F64] {
            // One side below and one above 64: where `gemm` changes its blocking.
            for (rows, i, o) in [(700, 600, 130), (61, 1100, 700), (513, 257, 61)] {
                let inputs = inputs(&[rows], i, o, false, dtype);
                assert_same_for_any_threads(&inputs, |v| linear(&v[0], &v[1], Some(&v[2])));
            }
        }
    }

    #[test]
    fn no_rows_give_no_rows_and_no_gradient() {
        let v = inputs(&[0], 3, 4, false, DType::F32);
        let y = linear(&v[0], &v[1], Some(&v[2])).unwrap();
        assert_eq!(y.dims(), [0, 4]);
        let op = Linear { sizes: [0, 3, 4], orientation: Orientation::InputsFirst };
        let [_, dw, db] = op.backward([&v[0], &v[1], &v[2]], &y, &y.detach()).unwrap();
        assert_close(&dw.unwrap(), &v[1].zeros_like().unwrap(), 0.0, "the gradient of the weight");
        assert_close(&db.unwrap(), &v[2].zeros_like().unwrap(), 0.0, "the gradient of the bias");
    }

    #[test]
    fn misfits_are_refused() {
        let x = numbers(1, &[2, 3], DType::F32);
        let w = numbers(2, &[4, 3], DType::F32);
        assert!(linear(&x, &w, None).unwrap_err().to_string().contains("4 inputs"));
        let bias = numbers(3, &[3], DType::F32);
        assert!(linear_transposed(&x, &w, Some(&bias)).unwrap_err().to_string().contains("4 outputs"));
        let w = w.to_dtype(DType::F64).unwrap();
        assert!(linear_transposed(&x, &w, None).unwrap_err().to_string().contains("weight"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn matches_the_reference_for_any_shape(b in 1_usize..4, t in 1_usize..40, i in 1_usize..40, o in 1_usize..40) {
            check(&[b, t], i, o);
        }
    }
}
