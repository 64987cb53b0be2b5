//! The nearest product of one map.

use super::{
    OneMap,
    product::{Product, orthonormal},
};
use crate::{
    analysis::{AnalysisError, Dense, Eigen, eigen},
    convert::products::share,
};

/// The most sweeps of each part of a search.
const SWEEPS: usize = 100;

/// A part of a search ends where so many sweeps in a row gain nothing.
const PATIENCE: usize = 15;

/// A gain of less than this share of what is lost is none.
const LEAST_GAIN: f64 = 1e-6;

/// In the second part of a search each sweep stays near to the one before, by this share of the strongest direction, so that
/// sweeps as a rule do not lose again what was gained.
const STEADY: f64 = 0.1;

/// What a bias costs beside what it brings: directions that scores hardly have would want a huge one.
const RIDGE: f64 = 1e-6;

/// `F N Fᵀ` instead of a head's products.
#[derive(Clone, Debug)]
pub(super) struct Fit {
    /// `F` `[r, d_k]`
    pub factor: Dense,
    /// The bias of the map. `[1, d_k]`
    pub bias: Dense,
    /// `N` `[d_k, d_k]`
    pub inner: Dense,
    /// Sweeps of the search.
    pub sweeps: usize,
}

impl Fit {
    /// With the bias that brings the products' own nearest.
    fn new(product: &Product, factor: Dense, inner: Dense) -> Result<Self, AnalysisError> {
        // b N Fᵀ ≈ c: of b (N Fᵀ) (N Fᵀ)ᵀ = c (N Fᵀ)ᵀ with a ridge.
        let reach = inner.times_transposed(&factor);
        let Eigen { values, vectors } = eigen(&reach.times_transposed(&reach).values, reach.rows)?;
        let ridge = RIDGE * values.iter().sum::<f64>() / values.len().max(1) as f64;
        let inverse: Vec<f64> = values
            .iter()
            .map(|value| if *value + ridge > 0.0 { 1.0 / (value.max(0.0) + ridge) } else { 0.0 })
            .collect();
        let wanted = product.bias.times_transposed(&reach);
        let bias = wanted.times(&vectors).scale_columns(&inverse).times_transposed(&vectors);
        Ok(Self { factor, bias, inner, sweeps: 0 })
    }

    /// `‖T - T~‖²`, without what adds the same to all scores of a row.
    pub fn lost(&self, product: &Product) -> f64 {
        let reach = self.inner.times_transposed(&self.factor);
        let away = |own: &Dense, map: &Dense| sum(own.clone(), &map.times(&reach), -1.0).norm_squared();
        away(&product.bare, &self.factor) + away(&product.bias, &self.bias)
    }
}

/// What a head's values bring to the output, `V O`, in the coordinates of its product.
pub(super) struct Values {
    /// `V O (V O)ᵀ` `[r, r]`
    gram: Dense,
    norm_squared: f64,
}

impl Values {
    /// Of values `[r, d_k]` and the head's rows of the output `[d_k, d]`.
    pub fn new(values: &Dense, output: &Dense) -> Self {
        let mixed = values.times(output);
        let gram = mixed.times_transposed(&mixed);
        let norm_squared = diagonal(&gram).sum();
        Self { gram, norm_squared }
    }

    /// The share of what they bring, squared, that values in the span of these columns cannot.
    pub fn share_lost(&self, factor: &Dense) -> Result<f64, AnalysisError> {
        let span = orthonormal(factor)?;
        let kept: f64 = diagonal(&span.transposed_times(&self.gram).times(&span)).sum();
        Ok(share(self.norm_squared - kept, self.norm_squared).powi(2))
    }
}

/// What is wanted of one map.
struct Wanted<'a> {
    product: &'a Product,
    /// `(T + Tᵀ) / 2`
    even: Dense,
    values: Option<&'a Values>,
    to: OneMap,
    columns: usize,
}

/// The nearest product of one map of `columns` columns, of those that a search finds. `values`: what the map has to hold too.
///
/// # Errors
/// If eigenvalues cannot be computed.
pub(super) fn fit(
    product: &Product,
    to: OneMap,
    columns: usize,
    values: Option<&Values>,
) -> Result<Fit, AnalysisError> {
    let even = even(&product.bare);
    let wanted = Wanted { product, even, values, to, columns };
    let found = match to {
        OneMap::Symmetric => wanted.symmetric()?,
        OneMap::Pairwise | OneMap::SharedWeight => {
            let first = wanted.of_span(wanted.next(None, 0.0)?)?;
            let found = wanted.search(first, 0.0)?;
            wanted.search(found, STEADY)?
        }
    };
    Ok(wide(found, columns))
}

impl Wanted<'_> {
    /// What is lost, as a share of all there is.
    fn lost(&self, fit: &Fit) -> Result<f64, AnalysisError> {
        let scores = share(fit.lost(self.product), self.product.norm_squared).powi(2);
        let values = self.values.map_or(Ok(0.0), |values| values.share_lost(&fit.factor))?;
        Ok(scores + values)
    }

    /// The best that sweeps find from here on.
    fn search(&self, from: Fit, steady: f64) -> Result<Fit, AnalysisError> {
        let mut least = self.lost(&from)?;
        let (mut best, mut current, mut without_gain) = (from.clone(), from, 0);
        for _ in 0..SWEEPS {
            let sweeps = current.sweeps + 1;
            current = Fit { sweeps, ..self.of_span(self.next(Some(&current.factor), steady)?)? };
            let lost = self.lost(&current)?;
            without_gain = if least - lost > LEAST_GAIN * least { 0 } else { without_gain + 1 };
            if lost < least {
                (least, best) = (lost, current.clone());
            }
            best.sweeps = sweeps;
            if without_gain >= PATIENCE {
                break;
            }
        }
        Ok(best)
    }

    /// Orthonormal columns in which more of the products lies than in those of before, as a rule.
    fn next(&self, before: Option<&Dense>, steady: f64) -> Result<Dense, AnalysisError> {
        let Product { bare, bias, norm_squared, .. } = self.product;
        let mixed = |matrix: &Dense| {
            let half = before.map_or_else(|| matrix.clone(), |span| matrix.times(span));
            half.times_transposed(&half)
        };
        let of_bias = bias.transposed_times(bias);
        let mut all = match self.to {
            OneMap::Symmetric | OneMap::Pairwise => sum(sum(of_bias, &mixed(bare), 1.0), &mixed(&bare.turned()), 1.0),
            OneMap::SharedWeight => sum(of_bias, &mixed(&self.even), 2.0),
        };
        if let Some(Values { gram, norm_squared: of_values }) = self.values
            && *of_values > 0.0
        {
            let weight = if *norm_squared > 0.0 { norm_squared / of_values } else { 1.0 };
            all = sum(all, gram, weight);
        }
        if let Some(span) = before.filter(|_| steady > 0.0) {
            let strongest = eigen(&all.values, all.rows)?.values.first().copied().unwrap_or_default();
            all = sum(all, &span.times_transposed(span), steady * strongest);
        }
        let vectors = eigen(&all.values, all.rows)?.vectors;
        Ok(vectors.columns(0, self.columns.min(all.rows)))
    }

    /// The nearest product in the span of orthonormal columns.
    fn of_span(&self, span: Dense) -> Result<Fit, AnalysisError> {
        match self.to {
            OneMap::Symmetric | OneMap::Pairwise => {
                let inner = span.transposed_times(&self.product.bare).times(&span);
                Fit::new(self.product, span, inner)
            }
            OneMap::SharedWeight => {
                let within = span.transposed_times(&self.even).times(&span);
                let Eigen { values, vectors } = eigen(&within.values, span.columns)?;
                Fit::new(self.product, span.times(&vectors), of_diagonal(&values))
            }
        }
    }

    /// `F Fᵀ`: the largest positive eigenvalues of the even part are the nearest to the bare products (Higham, 1988). What the bias
    /// adds is a last row; the last column is free, and taken from the sweep before.
    fn symmetric(&self) -> Result<Fit, AnalysisError> {
        let mut best = self.positive(&self.even)?;
        let mut least = self.lost(&best)?;
        for sweeps in 1..=SWEEPS {
            let found = Fit { sweeps, ..self.positive(&self.bordered(&best))? };
            let lost = self.lost(&found)?;
            let is_gain = least - lost > LEAST_GAIN * least;
            if lost < least {
                (least, best) = (lost, found);
            }
            best.sweeps = sweeps;
            if !is_gain {
                break;
            }
        }
        Ok(best)
    }

    /// The even part of the products with the bias as a last row, and the last column of a fit.
    fn bordered(&self, like: &Fit) -> Dense {
        let rows = self.product.bare.rows;
        let mut all = Dense::zeros(rows + 1, rows + 1);
        for (slots, values) in all.values.chunks_exact_mut(rows + 1).zip(self.even.values.chunks_exact(rows.max(1))) {
            for (slot, value) in slots.iter_mut().zip(values) {
                *slot = *value;
            }
        }
        let border = like.bias.times_transposed(&like.factor);
        for (column, (own, like)) in self.product.bias.values.iter().zip(&border.values).enumerate() {
            let value = f64::midpoint(*own, *like);
            for at in [rows * (rows + 1) + column, column * (rows + 1) + rows] {
                if let Some(slot) = all.values.get_mut(at) {
                    *slot = value;
                }
            }
        }
        if let Some(corner) = all.values.last_mut() {
            *corner = like.bias.norm_squared();
        }
        all
    }

    /// The columns of the largest positive eigenvalues, without what they have in a last row.
    fn positive(&self, even: &Dense) -> Result<Fit, AnalysisError> {
        let Eigen { values, vectors } = eigen(&even.values, even.rows)?;
        let positive = values.into_iter().take(self.columns).take_while(|value| *value > 0.0);
        let roots: Vec<f64> = positive.map(f64::sqrt).collect();
        let mut factor = vectors.columns(0, roots.len()).scale_columns(&roots);
        factor.rows = self.product.bare.rows;
        factor.values.truncate(factor.rows * factor.columns);
        Fit::new(self.product, factor, of_diagonal(&vec![1.0; roots.len()]))
    }
}

/// `a + weight b`
fn sum(mut a: Dense, b: &Dense, weight: f64) -> Dense {
    for (slot, value) in a.values.iter_mut().zip(&b.values) {
        *slot += weight * value;
    }
    a
}

/// `(T + Tᵀ) / 2`
fn even(matrix: &Dense) -> Dense {
    let mut even = sum(matrix.clone(), &matrix.turned(), 1.0);
    even.values.iter_mut().for_each(|value| *value /= 2.0);
    even
}

fn diagonal(matrix: &Dense) -> impl Iterator<Item = f64> {
    matrix.values.iter().step_by(matrix.columns + 1).copied()
}

fn of_diagonal(values: &[f64]) -> Dense {
    let mut matrix = Dense::zeros(values.len(), values.len());
    for (slot, value) in matrix.values.iter_mut().step_by(values.len() + 1).zip(values) {
        *slot = *value;
    }
    matrix
}

/// The same with columns of zeros up to so many.
fn wide(fit: Fit, columns: usize) -> Fit {
    let missing = columns - fit.factor.columns;
    if missing == 0 {
        return fit;
    }
    let with_zeros = |matrix: &Dense| Dense::side_by_side(&[matrix.clone(), Dense::zeros(matrix.rows, missing)]);
    let mut inner = with_zeros(&fit.inner);
    inner.values.resize(columns * columns, 0.0);
    inner.rows = columns;
    inner.columns = columns;
    Fit { factor: with_zeros(&fit.factor), bias: with_zeros(&fit.bias), inner, ..fit }
}
