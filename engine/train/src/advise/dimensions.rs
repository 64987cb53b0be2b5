use serde::{Deserialize, Serialize};

use crate::{
    analysis::{CapturedVariance, LayerEnergies},
    config::{Collaborative, Compatibility},
};

/// How many dimensions queries and keys of all heads of a layer could share.
///
/// The energy is that of the product of all heads' weights put side by side, `W_Q W_Kᵀ` (Collaborate instead of concatenate,
/// figure 1): heads that project similarly need few dimensions together. It says nothing about single heads, whose energies can
/// cancel in the sum; `queries` and `keys` say how many dimensions the weights themselves need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DimensionAdvice {
    /// The share of the energy that is to be kept.
    pub share: f64,
    /// The least number of dimensions that keeps it in every layer, `D_k`.
    pub d_k: usize,
    /// The layer that needs them all, the first of several.
    pub layer: usize,
    /// What each layer needs; none where no head scores.
    pub layers: Vec<Option<usize>>,
    /// The least share of the energy of a layer that `d_k` dimensions keep.
    pub kept: f64,
    /// The most dimensions that the weights of queries of a layer need for that share, without those of keys.
    pub queries: usize,
    /// The same of keys.
    pub keys: usize,
    /// Dimensions of a layer's queries together in the trained model.
    pub present: usize,
}

impl DimensionAdvice {
    /// The least shared dimension that keeps `share` of the energy in every layer; none where no head scores. `present`:
    /// columns of a layer's queries in the trained model.
    pub fn new(captured: &CapturedVariance, share: f64, present: usize) -> Option<Self> {
        let needed = |curve: &[f64]| LayerEnergies::dimensions_for(curve, share);
        let layers: Vec<Option<usize>> = captured.layers.iter().map(|layer| needed(&layer.all_products)).collect();
        let d_k = layers.iter().flatten().copied().max()?;
        let kept = captured.layers.iter().filter_map(|layer| kept(layer, d_k)).fold(1.0, f64::min);
        let most = |of: fn(&LayerEnergies) -> &[f64]| {
            captured.layers.iter().filter_map(|layer| needed(of(layer))).max().unwrap_or(0)
        };
        Some(Self {
            share,
            d_k,
            layer: layers.iter().position(|own| *own == Some(d_k)).unwrap_or(0),
            layers,
            kept,
            queries: most(|layer| &layer.all_queries),
            keys: most(|layer| &layer.all_keys),
            present,
        })
    }

    /// Whether they are fewer than the trained model has.
    pub fn is_fewer(&self) -> bool {
        self.d_k < self.present
    }

    /// The answer that a config gives.
    pub fn compatibility(&self) -> Compatibility {
        Compatibility::Collaborative(Collaborative { d_k: self.d_k })
    }
}

/// The share of a layer's energy in so many dimensions; none where no head scores.
fn kept(layer: &LayerEnergies, dimensions: usize) -> Option<f64> {
    let curve = &layer.all_products;
    dimensions
        .checked_sub(1)
        .and_then(|place| curve.get(place))
        .or(curve.last())
        .copied()
        .filter(|kept| kept.is_finite())
}
