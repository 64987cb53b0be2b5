use serde::{Deserialize, Serialize};

/// Shares of the energy of query and key weights in their first singular directions (Collaborate instead of
/// concatenate, figure 1): `sum of the first k squared singular values / sum of all`, not centred.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CapturedVariance {
    /// A layer each.
    pub layers: Vec<LayerEnergies>,
}

/// What the weights of one layer are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LayerEnergies {
    /// Which heads score, from 0.
    pub heads: Vec<usize>,
    /// Of `W_Q` of each of them, for k = 1, 2, ...
    pub query: Vec<Vec<f64>>,
    /// Of `W_K`.
    pub key: Vec<Vec<f64>>,
    /// Of `W_Q W_Kᵀ`.
    pub product: Vec<Vec<f64>>,
    /// Of all `W_Q` side by side.
    pub all_queries: Vec<f64>,
    /// Of all `W_K` side by side.
    pub all_keys: Vec<f64>,
    /// Of the sum of all `W_Q W_Kᵀ`.
    pub all_products: Vec<f64>,
}

impl LayerEnergies {
    /// The least number of dimensions that hold `share` of a curve's energy.
    pub fn dimensions_for(curve: &[f64], share: f64) -> Option<usize> {
        curve.iter().position(|found| *found >= share - 1e-12).map(|place| place + 1)
    }
}
