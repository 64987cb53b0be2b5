//! A linear map as models hold it.

use candle_core::{Result, Tensor};

use super::{linear, linear_transposed};

pub use super::threaded::Orientation;

/// A linear map with bias, `y = x W + b`.
#[derive(Clone, Debug)]
pub struct Affine {
    /// The matrix, as [`Orientation`] says.
    pub weight: Tensor,
    /// The bias. `[outputs]`
    pub bias: Tensor,
    /// How `weight` is laid out.
    pub orientation: Orientation,
}

impl Affine {
    /// The map of every row.
    ///
    /// # Shapes
    /// `x` `[.., inputs]`; result `[.., outputs]`.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        match self.orientation {
            Orientation::InputsFirst => linear(x, &self.weight, Some(&self.bias)),
            Orientation::OutputsFirst => linear_transposed(x, &self.weight, Some(&self.bias)),
        }
    }

    /// The map to `count` of the outputs, from `first` on.
    pub fn outputs(&self, first: usize, count: usize) -> Result<Self> {
        let outputs = match self.orientation {
            Orientation::InputsFirst => 1,
            Orientation::OutputsFirst => 0,
        };
        Ok(Self {
            weight: self.weight.narrow(outputs, first, count)?,
            bias: self.bias.narrow(0, first, count)?,
            orientation: self.orientation,
        })
    }
}
