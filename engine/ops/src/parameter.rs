//! A named trained tensor.

use candle_core::Var;

/// A trained tensor as the optimiser sees it.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The name under which it is saved; unique in a model.
    pub name: String,
    /// Its values.
    pub var: Var,
    /// Whether weight decay applies: not to biases and norms.
    pub decay: bool,
    /// The share of the learning rate with which it moves, above 0.
    pub rate: f64,
}
