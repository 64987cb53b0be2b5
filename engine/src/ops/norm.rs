//! A layer norm as models hold it.

use candle_core::{Result, Tensor};

use super::layer_norm;

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
