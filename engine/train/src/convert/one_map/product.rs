//! The products of one head in few coordinates.

use crate::{
    analysis::{AnalysisError, Dense, Eigen, eigen},
    convert::ConvertError,
};

/// Directions weaker than this share of the strongest, squared, are none.
const WEAKEST: f64 = 1e-13;

/// `[W_Q; b_Q] W_Kᵀ` of one head, in coordinates of what its maps span.
pub(super) struct Product {
    /// Orthonormal columns. `[d, r]`
    pub basis: Dense,
    /// `W_Q W_Kᵀ` `[r, r]`
    pub bare: Dense,
    /// `b_Q W_Kᵀ` `[1, r]`
    pub bias: Dense,
    /// `‖T‖²`, of both.
    pub norm_squared: f64,
}

impl Product {
    /// Of a head's queries `[d, d_k]`, their bias, and its keys; the basis spans `others` too.
    ///
    /// # Errors
    /// If weights are not finite, or eigenvalues cannot be computed.
    pub fn new([query, key]: [&Dense; 2], query_bias: &[f64], others: &[Dense]) -> Result<Self, ConvertError> {
        let all: Vec<Dense> = [query, key].into_iter().chain(others).cloned().collect();
        if !all.iter().flat_map(|one| &one.values).chain(query_bias).all(|value| value.is_finite()) {
            return Err(ConvertError::NotFinite);
        }
        // The second time mends what rounding left of the first.
        let basis = orthonormal(&orthonormal(&Dense::side_by_side(&all))?)?;
        let [queries, keys] = [query, key].map(|map| basis.transposed_times(map));
        let bare = queries.times_transposed(&keys);
        let of_bias = Dense { rows: 1, columns: query_bias.len(), values: query_bias.to_vec() };
        let bias = of_bias.times_transposed(&keys);
        let norm_squared = bare.norm_squared() + bias.norm_squared();
        Ok(Self { basis, bare, bias, norm_squared })
    }
}

/// Orthonormal columns that span what these do.
///
/// # Errors
/// If eigenvalues cannot be computed.
pub(super) fn orthonormal(all: &Dense) -> Result<Dense, AnalysisError> {
    let Eigen { values, vectors } = eigen(&all.transposed_times(all).values, all.columns)?;
    let weakest = WEAKEST * values.first().copied().unwrap_or_default();
    let kept = values.into_iter().take_while(|value| *value > weakest);
    let kept: Vec<f64> = kept.map(|value| 1.0 / value.sqrt()).collect();
    Ok(all.times(&vectors.columns(0, kept.len())).scale_columns(&kept))
}
