//! The linear layer.

use candle_core::{CpuStorage, CustomOp2, CustomOp3, Layout, Result, Shape, Tensor, bail};

use super::composed;
use super::element::{Element, Reading, by_dtype, check_dtype, is_fused, output, slice, tensor};
use super::threaded::{self, Orientation};

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

/// `y = x Wᵀ + b`, the orientation of PyTorch's linear layers and of a head tied to its embedding.
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
    let op = Linear { sizes: [rows, inputs, outputs], shape: shape.into(), orientation };
    if !is_fused(x) {
        return composed::linear(x, weight, bias, orientation == Orientation::OutputsFirst);
    }
    let (x, weight) = (x.contiguous()?, weight.contiguous()?);
    match bias {
        Some(bias) => x.apply_op3(&weight, &bias.contiguous()?, op),
        None => x.apply_op2(&weight, op),
    }
}

struct Linear {
    /// Rows, inputs, outputs.
    sizes: [usize; 3],
    shape: Shape,
    orientation: Orientation,
}

impl Linear {
    fn forward<T: Element>(
        &self,
        x: (&CpuStorage, &Layout),
        weight: (&CpuStorage, &Layout),
        bias: Option<(&CpuStorage, &Layout)>,
    ) -> Result<(CpuStorage, Shape)> {
        let bias = bias.map(|(storage, layout)| slice::<T>(storage, layout)).transpose()?;
        let (x, weight) = (slice::<T>(x.0, x.1)?, slice::<T>(weight.0, weight.1)?);
        Ok(output(threaded::linear(x, weight, bias, self.sizes, self.orientation), self.shape.clone()))
    }

    fn backward(&self, x: &Tensor, weight: &Tensor, dy: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        by_dtype!(x.dtype(), T => {
            let (x_values, weight_values, dy_values) = (Reading::of(x), Reading::of(weight), Reading::of(dy));
            let dy = dy_values.slice::<T>()?;
            let dx = if x.track_op() {
                let dx = threaded::linear_input_gradient(dy, weight_values.slice()?, self.sizes, self.orientation);
                Some(tensor(dx, x.shape())?)
            } else {
                None
            };
            let dw = if weight.track_op() {
                let dw = threaded::linear_weight_gradient(x_values.slice()?, dy, self.sizes, self.orientation);
                Some(tensor(dw, weight.shape())?)
            } else {
                None
            };
            Ok((dx, dw))
        })
    }
}

impl CustomOp2 for Linear {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn cpu_fwd(&self, s1: &CpuStorage, l1: &Layout, s2: &CpuStorage, l2: &Layout) -> Result<(CpuStorage, Shape)> {
        match s1 {
            CpuStorage::F64(_) => self.forward::<f64>((s1, l1), (s2, l2), None),
            _ => self.forward::<f32>((s1, l1), (s2, l2), None),
        }
    }

    fn bwd(&self, x: &Tensor, weight: &Tensor, _: &Tensor, dy: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        self.backward(x, weight, &dy.contiguous()?)
    }
}

impl CustomOp3 for Linear {
    fn name(&self) -> &'static str {
        "linear with bias"
    }

    fn cpu_fwd(
        &self,
        s1: &CpuStorage,
        l1: &Layout,
        s2: &CpuStorage,
        l2: &Layout,
        s3: &CpuStorage,
        l3: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        match s1 {
            CpuStorage::F64(_) => self.forward::<f64>((s1, l1), (s2, l2), Some((s3, l3))),
            _ => self.forward::<f32>((s1, l1), (s2, l2), Some((s3, l3))),
        }
    }

    fn bwd(
        &self,
        x: &Tensor,
        weight: &Tensor,
        bias: &Tensor,
        _: &Tensor,
        dy: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let dy = dy.contiguous()?;
        let (dx, dw) = self.backward(x, weight, &dy)?;
        let db = if bias.track_op() {
            by_dtype!(dy.dtype(), T => {
                let sums = threaded::column_sums(Reading::of(&dy).slice::<T>()?, self.sizes[2]);
                Some(tensor(sums, bias.shape())?)
            })
        } else {
            None
        };
        Ok((dx, dw, db))
    }
}
