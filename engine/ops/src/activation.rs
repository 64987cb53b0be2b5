//! What stands between two linear maps.

use candle_core::{Result, Tensor};
use serde::{Deserialize, Serialize};

use super::{Affine, Gelu, gelu, gelu_of_linear};

/// A function of every element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// The Gaussian error linear unit.
    Gelu(Gelu),
    /// `max(x, 0)`.
    Relu,
    /// `x / (1 + exp(-x))` (Elfwing et al., 2018); "swish" in some configurations.
    Silu,
    /// `tanh(x)`.
    Tanh,
}

impl Activation {
    /// The unit that fused operations know; none of the others.
    pub fn gelu(self) -> Option<Gelu> {
        match self {
            Self::Gelu(kind) => Some(kind),
            Self::Relu | Self::Silu | Self::Tanh => None,
        }
    }

    /// The activation of every element of `x`.
    ///
    /// # Errors
    /// If the element type is not a floating-point one.
    pub fn of(self, x: &Tensor) -> Result<Tensor> {
        match self {
            Self::Gelu(kind) => gelu(x, kind),
            Self::Relu => x.relu(),
            Self::Silu => x.silu(),
            Self::Tanh => x.tanh(),
        }
    }

    /// The activation of a linear map of every row. `[.., inputs]` to `[.., outputs]`
    ///
    /// # Errors
    /// If the shapes or the element types do not fit.
    pub fn of_linear(self, x: &Tensor, map: &Affine) -> Result<Tensor> {
        match self {
            Self::Gelu(kind) => gelu_of_linear(x, map, kind),
            Self::Relu | Self::Silu | Self::Tanh => self.of(&map.forward(x)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use candle_core::DType;

    use super::super::testing::{assert_differences, variable};
    use super::*;

    #[test]
    fn gradients_agree_with_finite_differences() {
        let x = variable(3, &[4, 5], DType::F64);
        for activation in [Activation::Gelu(Gelu::Exact), Activation::Relu, Activation::Silu, Activation::Tanh] {
            assert_differences(std::slice::from_ref(&x), |v| activation.of(&v[0]));
        }
    }
}
