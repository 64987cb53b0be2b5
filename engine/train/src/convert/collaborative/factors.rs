use crate::analysis::Dense;

/// What heads share, and how each mixes it: `T_i ≈ W~_Q diag(m_i) W~_Kᵀ`.
#[derive(Clone, Debug, PartialEq)]
pub struct Factors {
    /// A mixing row `m_i` for each head. `[H, D]`
    pub mixing: Dense,
    /// `W~_Q`. `[d, D]`
    pub query: Dense,
    /// `W~_K`. `[d, D]`
    pub key: Dense,
}

impl Factors {
    /// Shared width D.
    pub fn width(&self) -> usize {
        self.mixing.columns
    }

    pub(super) fn all(&self) -> [&Dense; 3] {
        [&self.mixing, &self.query, &self.key]
    }

    fn all_mut(&mut self) -> [&mut Dense; 3] {
        [&mut self.mixing, &mut self.query, &mut self.key]
    }

    /// Scales each column of the three factors so that all have the same norm, which changes no product; and the columns of
    /// `beside` by the same numbers.
    pub(super) fn balance(&mut self, beside: &mut [&mut Self]) {
        let norms = self.all().map(column_norms);
        let scales = norms.clone().map(|own| {
            let columns = own.iter().enumerate();
            let scale = |(column, norm): (usize, &f64)| {
                let product: f64 = norms.iter().filter_map(|norms| norms.get(column)).product();
                if product > 0.0 && product.is_finite() { product.cbrt() / norm } else { 1.0 }
            };
            columns.map(scale).collect::<Vec<f64>>()
        });
        for factors in beside.iter_mut().map(|factors| &mut **factors).chain([self]) {
            for (factor, scale) in factors.all_mut().into_iter().zip(&scales) {
                *factor = std::mem::take(factor).scale_columns(scale);
            }
        }
    }

    /// Mixing columns of length 1 times the root of the heads' number, so that a mean weight is about 1, and queries and keys
    /// of equal norm: sizes that do well in 32 bits.
    pub(super) fn normalised(mut self) -> Self {
        let [mixing, query, key] = self.all().map(column_norms);
        let target = (self.mixing.rows.max(1) as f64).sqrt();
        let (mut scales, columns) = ([Vec::new(), Vec::new(), Vec::new()], mixing.iter().zip(&query).zip(&key));
        for ((m, q), k) in columns {
            let rest = q * k * m / target;
            let scale =
                if rest > 0.0 && rest.is_finite() { [target / m, rest.sqrt() / q, rest.sqrt() / k] } else { [1.0; 3] };
            for (all, scale) in scales.iter_mut().zip(scale) {
                all.push(scale);
            }
        }
        for (factor, scale) in self.all_mut().into_iter().zip(&scales) {
            *factor = std::mem::take(factor).scale_columns(scale);
        }
        self
    }
}

/// The length of every column.
fn column_norms(matrix: &Dense) -> Vec<f64> {
    let mut squares = vec![0.0; matrix.columns];
    for row in matrix.values.chunks_exact(matrix.columns.max(1)) {
        for (square, value) in squares.iter_mut().zip(row) {
            *square += value * value;
        }
    }
    squares.into_iter().map(f64::sqrt).collect()
}

/// The products of all columns of a factor. `[D, D]`
pub(super) fn gram(factor: &Dense) -> Dense {
    factor.transposed_times(factor)
}

/// Two matrices, element by element.
pub(super) fn times_each(mut a: Dense, b: &Dense) -> Dense {
    for (a, b) in a.values.iter_mut().zip(&b.values) {
        *a *= b;
    }
    a
}

/// `Σ_ij a_ij b_ij`
pub(super) fn inner(a: &Dense, b: &Dense) -> f64 {
    dot(&a.values, &b.values)
}

/// `a + weight (a - before)`
pub(super) fn beyond(a: &Dense, before: &Dense, weight: f64) -> Dense {
    let values = a.values.iter().zip(&before.values).map(|(a, before)| a + weight * (a - before)).collect();
    Dense { values, ..*a }
}

/// The sum of the products of two lists.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
