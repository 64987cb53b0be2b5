use candle_core::Tensor;
use serde::{Deserialize, Serialize};

use super::{
    AnalysisError,
    eigen::{Dense, Eigen, eigen, eigenvalues},
};
use crate::model::Model;

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

impl CapturedVariance {
    /// Of every layer of a model, whatever makes its queries and keys: what stands for `W_Q` and `W_K` is the map from
    /// the stream to the vectors whose product is the score.
    ///
    /// # Errors
    /// If weights are not finite.
    pub fn of(model: &Model) -> Result<Self, AnalysisError> {
        let layer = |number: usize| {
            let Some(attention) = model.projections(number) else { return Ok(LayerEnergies::default()) };
            let weights = attention.head_weights()?;
            let dense = |[query, key]: &[Tensor; 2]| Ok((matrix(query)?, matrix(key)?));
            let maps = weights.iter().map(dense).collect::<Result<Vec<_>, AnalysisError>>()?;
            let (queries, keys): (Vec<Dense>, Vec<Dense>) = maps.into_iter().unzip();
            let places = attention.heads.computing();
            let heads = places.map(|place| attention.heads.attending[place]).collect();
            Ok(LayerEnergies { heads, ..LayerEnergies::of(&queries, &keys)? })
        };
        Ok(Self { layers: (0..model.plan().stack.layers).map(layer).collect::<Result<_, AnalysisError>>()? })
    }
}

impl LayerEnergies {
    /// Of the `W_Q` and `W_K` of the heads of a layer, `[d, r]` each.
    pub(super) fn of(queries: &[Dense], keys: &[Dense]) -> Result<Self, AnalysisError> {
        let each = |maps: &[Dense]| maps.iter().map(shares).collect::<Result<Vec<_>, _>>();
        let products = queries.iter().zip(keys).map(|(query, key)| product_shares(query, key));
        let (all_queries, all_keys) = (Dense::side_by_side(queries), Dense::side_by_side(keys));
        Ok(Self {
            heads: (0..queries.len()).collect(),
            query: each(queries)?,
            key: each(keys)?,
            product: products.collect::<Result<_, _>>()?,
            all_queries: shares(&all_queries)?,
            all_keys: shares(&all_keys)?,
            all_products: product_shares(&all_queries, &all_keys)?,
        })
    }
}

/// Shares of the sum of the squared singular values of a matrix in the first k of them.
fn shares(matrix: &Dense) -> Result<Vec<f64>, AnalysisError> {
    let gram =
        if matrix.rows < matrix.columns { matrix.times_transposed(matrix) } else { matrix.transposed_times(matrix) };
    Ok(running_shares(&eigenvalues(&gram.values, gram.rows)?))
}

/// The same of `a bᵀ`, both `[d, r]`.
fn product_shares(a: &Dense, b: &Dense) -> Result<Vec<f64>, AnalysisError> {
    if a.columns >= a.rows {
        return shares(&a.times_transposed(b));
    }
    // The squared singular values of A Bᵀ are the eigenvalues of G^½ BᵀB G^½ with G = AᵀA = V L Vᵀ, and so of
    // L^½ Vᵀ BᵀB V L^½.
    let gram = a.transposed_times(a);
    let Eigen { values, vectors } = eigen(&gram.values, gram.rows)?;
    let roots: Vec<f64> = values.iter().map(|value| value.max(0.0).sqrt()).collect();
    let root = vectors.scale_columns(&roots); // V L^½
    let mixed = b.times(&root); // B V L^½
    Ok(running_shares(&eigenvalues(&mixed.transposed_times(&mixed).values, root.columns)?))
}

fn running_shares(values: &[f64]) -> Vec<f64> {
    let total: f64 = values.iter().map(|value| value.max(0.0)).sum();
    let shares = values.iter().scan(0.0, |sum, value| {
        *sum += value.max(0.0);
        Some(if total > 0.0 { *sum / total } else { f64::NAN })
    });
    shares.collect()
}

/// The numbers of a matrix.
fn matrix(tensor: &Tensor) -> Result<Dense, AnalysisError> {
    let (rows, columns) = tensor.dims2()?;
    let values: Vec<f64> = tensor.flatten_all()?.to_vec1()?;
    if values.iter().any(|value| !value.is_finite()) {
        return Err(AnalysisError::Impossible(
            "The weights of queries or keys are not finite: the model has diverged. Choose an earlier checkpoint."
                .to_owned(),
        ));
    }
    Ok(Dense { rows, columns, values })
}
