use candle_core::{DType, Tensor};
use serde::{Deserialize, Serialize};

use super::{
    AnalysisError,
    eigen::{Dense, Eigen, eigen, eigenvalues},
};
use crate::{
    attention::compatibility::LayerHeads,
    model::Model,
    ops::{Affine, HeadProjections, Orientation},
};

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
            let (queries, keys) = weight_maps(&attention.projections, &attention.heads)?;
            let places = attention.heads.computing();
            let heads = places.filter_map(|place| attention.heads.attending.get(place).copied()).collect();
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

/// For every head that computes, the maps from the stream to its queries and keys, `[d, r]` each, without biases.
fn weight_maps(projections: &HeadProjections, heads: &LayerHeads) -> Result<(Vec<Dense>, Vec<Dense>), AnalysisError> {
    let size = heads.head_size;
    let computed = heads.computed();
    let blocks = |map: &Dense, first: usize, places: &[usize]| -> Vec<Dense> {
        places.iter().map(|place| map.columns(first + place * size, size)).collect()
    };
    let in_order: Vec<usize> = (0..computed).collect();
    Ok(match projections {
        HeadProjections::Fused(all) => {
            let map = affine(all)?;
            (blocks(&map, 0, &in_order), blocks(&map, computed * size, &in_order))
        }
        HeadProjections::Separate { scores: Some([query, key]), groups, .. } => {
            let keys = groups.as_ref().map_or(&in_order, |groups| &groups.keys);
            (blocks(&affine(query)?, 0, &in_order), blocks(&affine(key)?, 0, keys))
        }
        HeadProjections::Symmetric { query: Some(query), .. } => {
            let queries = blocks(&affine(query)?, 0, &in_order);
            (queries.clone(), queries)
        }
        HeadProjections::Pairwise { query: Some((query, between)), .. } => {
            // Q U Qᵀ: U belongs to the queries here.
            let keys = blocks(&affine(query)?, 0, &in_order);
            let between = numbers(between)?;
            let of_head = |head: usize| {
                let values = between.iter().skip(head * size * size).take(size * size).copied().collect();
                Dense { rows: size, columns: size, values }
            };
            let queries = keys.iter().enumerate().map(|(head, key)| key.times(&of_head(head))).collect();
            (queries, keys)
        }
        HeadProjections::SharedWeight { shared, scores: Some(diagonals), .. } => {
            let places: Vec<usize> = heads.computing().collect();
            let shared = blocks(&affine(shared)?, 0, &places);
            let scaled = |diagonal: &Tensor| -> Result<Vec<Dense>, AnalysisError> {
                let diagonal = numbers(diagonal)?;
                let parts = shared.iter().zip(diagonal.chunks(size.max(1)));
                Ok(parts.map(|(map, diagonal)| map.clone().scale_columns(diagonal)).collect())
            };
            let [query, key] = diagonals;
            (scaled(query)?, scaled(key)?)
        }
        HeadProjections::Collaborative { scores: Some(scores), .. } => {
            let (query, key) = (affine(&scores.query)?, affine(&scores.key)?);
            let mixing = numbers(&scores.mixing)?;
            let mixed = mixing.chunks(query.columns.max(1)).map(|row| query.clone().scale_columns(row));
            (mixed.collect(), vec![key; computed])
        }
        HeadProjections::Latent { scores: Some([query, key]), latent, .. } => {
            let keys = affine(latent)?.times(&affine(key)?);
            (blocks(&affine(query)?, 0, &in_order), blocks(&keys, 0, &in_order))
        }
        // No head computes.
        HeadProjections::Separate { scores: None, .. }
        | HeadProjections::Symmetric { query: None, .. }
        | HeadProjections::Pairwise { query: None, .. }
        | HeadProjections::SharedWeight { scores: None, .. }
        | HeadProjections::Collaborative { scores: None, .. }
        | HeadProjections::Latent { scores: None, .. } => (Vec::new(), Vec::new()),
    })
}

fn numbers(tensor: &Tensor) -> Result<Vec<f64>, AnalysisError> {
    let values: Vec<f64> = tensor.detach().flatten_all()?.to_dtype(DType::F64)?.to_vec1()?;
    if values.iter().any(|value| !value.is_finite()) {
        return Err(AnalysisError::Impossible(
            "The weights of queries or keys are not finite: the model has diverged. Choose an earlier checkpoint."
                .to_owned(),
        ));
    }
    Ok(values)
}

/// The matrix of a map, inputs first.
fn affine(map: &Affine) -> Result<Dense, AnalysisError> {
    let (rows, columns) = map.sizes()?;
    let weight = match map.orientation {
        Orientation::InputsFirst => map.weight.clone(),
        Orientation::OutputsFirst => map.weight.t()?,
    };
    Ok(Dense { rows, columns, values: numbers(&weight)? })
}
