//! The Gaussian error linear unit.

use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor};

use super::composed;
use super::element::{Element, Reading, by_dtype, is_fused, output, slice, tensor};
use super::{kernels, threaded};

/// Which form of the unit a model was made with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gelu {
    /// `x Φ(x)` with the normal distribution function, by the error function: BERT's.
    #[default]
    Exact,
    /// `x (1 + tanh(sqrt(2/pi) (x + 0.044715 x³))) / 2`: GPT-2's, `gelu_new` in its configuration.
    Tanh,
}

/// The Gaussian error linear unit of every element (Hendrycks and Gimpel, 2016). In `f32` within 2e-7 |x| of the exact
/// value.
///
/// # Errors
/// If the element type is not a floating-point one.
pub fn gelu(x: &Tensor, kind: Gelu) -> Result<Tensor> {
    if !is_fused(x) {
        return composed::gelu(x, kind);
    }
    x.contiguous()?.apply_op1(GeluOp { kind })
}

struct GeluOp {
    kind: Gelu,
}

impl GeluOp {
    fn forward<T: Element>(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let kernel = match self.kind {
            Gelu::Exact => kernels::gelu_exact,
            Gelu::Tanh => kernels::gelu_tanh,
        };
        Ok(output(threaded::map::<T>(slice(storage, layout)?, kernel), layout.shape()))
    }
}

impl CustomOp1 for GeluOp {
    fn name(&self) -> &'static str {
        "gelu"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        match storage {
            CpuStorage::F64(_) => self.forward::<f64>(storage, layout),
            _ => self.forward::<f32>(storage, layout),
        }
    }

    fn bwd(&self, x: &Tensor, _: &Tensor, dy: &Tensor) -> Result<Option<Tensor>> {
        let dy = dy.contiguous()?;
        by_dtype!(x.dtype(), T => {
            let kernel = match self.kind {
                Gelu::Exact => kernels::gelu_exact_gradient,
                Gelu::Tanh => kernels::gelu_tanh_gradient,
            };
            let (x_values, dy_values) = (Reading::of(x), Reading::of(&dy));
            let dx = threaded::map_gradient::<T>(x_values.slice()?, dy_values.slice()?, kernel);
            Ok(Some(tensor(dx, x.shape())?))
        })
    }
}
