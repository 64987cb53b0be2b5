use candle_core::{Result, Tensor};

use crate::ops;

/// How the weight of a linear map is laid out in memory and in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orientation {
    /// `[inputs, outputs]`: GPT-2's `Conv1D`.
    InputsFirst,
    /// `[outputs, inputs]`: BERT's `Linear`.
    OutputsFirst,
}

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
            Orientation::InputsFirst => ops::linear(x, &self.weight, Some(&self.bias)),
            Orientation::OutputsFirst => ops::linear_transposed(x, &self.weight, Some(&self.bias)),
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
