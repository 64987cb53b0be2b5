//! Linear maps and layer norms as models hold them.

use candle_core::{Result, Tensor, bail};

use super::{joined, layer_norm, linear, linear_transposed, narrowed};

pub use super::threaded::Orientation;

/// A linear map, `y = x W + b`.
#[derive(Clone, Debug)]
pub struct Affine {
    /// The matrix, as [`Orientation`] says.
    pub weight: Tensor,
    /// The bias, if there is one. `[outputs]`
    pub bias: Option<Tensor>,
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
            Orientation::InputsFirst => linear(x, &self.weight, self.bias.as_ref()),
            Orientation::OutputsFirst => linear_transposed(x, &self.weight, self.bias.as_ref()),
        }
    }

    /// Numbers that it takes and numbers that it gives.
    pub fn sizes(&self) -> Result<(usize, usize)> {
        let (first, second) = self.weight.dims2()?;
        Ok(match self.orientation {
            Orientation::InputsFirst => (first, second),
            Orientation::OutputsFirst => (second, first),
        })
    }

    /// Maps of the same inputs as one, whose outputs lie one after the other; none where only some have a bias, or they lie
    /// differently.
    ///
    /// # Errors
    /// If they take inputs differently.
    pub fn joined(maps: &[&Self]) -> Result<Option<Self>> {
        let Some(first) = maps.first() else { bail!("There are no maps to be joined.") };
        let outputs = match first.orientation {
            Orientation::InputsFirst => 1,
            Orientation::OutputsFirst => 0,
        };
        let weights: Vec<Tensor> = maps.iter().map(|map| map.weight.clone()).collect();
        let biases: Vec<Tensor> = maps.iter().filter_map(|map| map.bias.clone()).collect();
        let is_alike = maps.iter().all(|map| map.orientation == first.orientation);
        if !is_alike || (!biases.is_empty() && biases.len() < maps.len()) {
            return Ok(None);
        }
        let bias = if biases.is_empty() { None } else { Some(joined(&biases, 0)?) };
        Ok(Some(Self { weight: joined(&weights, outputs)?, bias, orientation: first.orientation }))
    }

    /// The map to `count` of the outputs, from `first` on.
    pub fn outputs(&self, first: usize, count: usize) -> Result<Self> {
        let outputs = match self.orientation {
            Orientation::InputsFirst => 1,
            Orientation::OutputsFirst => 0,
        };
        Ok(Self {
            weight: narrowed(&self.weight, outputs, first, count)?,
            bias: self.bias.as_ref().map(|bias| narrowed(bias, 0, first, count)).transpose()?,
            orientation: self.orientation,
        })
    }
}

/// A layer norm with gain and bias.
#[derive(Clone, Debug)]
pub struct Norm {
    /// `[d]`
    pub gain: Tensor,
    /// `[d]`
    pub bias: Tensor,
    /// Added to the variance.
    pub epsilon: f64,
}

impl Norm {
    /// Every row normalised.
    ///
    /// # Shapes
    /// `x` `[.., d]`; result as `x`.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        layer_norm(x, &self.gain, &self.bias, self.epsilon)
    }
}
