use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// A linear map from the entries of a vector that are computed to those that are not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RestorationMap {
    /// Entries that are computed, P, in the order of R's columns.
    pub chosen: Vec<usize>,
    /// The others, ascending: the order of R's rows.
    pub restored: Vec<usize>,
    /// R, row by row. `[restored, chosen]`
    pub weights: Vec<f64>,
}

impl RestorationMap {
    /// The map with the least mean squared error, `R = C[P̄, P] C[P, P]⁻¹` (Eigen analysis, equation 7), for entries
    /// `chosen` of the first `entries` of a vector with covariance `c`. No intercept: C is a second moment.
    ///
    /// An entry whose variance the entries before it leave nothing of gets no weight: it adds nothing to what they say.
    ///
    /// # Shapes
    /// `c` `[n, n]`, row by row, `entries <= n`.
    pub fn optimal(c: &[f64], n: usize, entries: usize, chosen: &[usize]) -> Self {
        let at = |row: usize, column: usize| c.get(row * n + column).copied().unwrap_or(0.0);
        let is_chosen = |entry: &usize| chosen.contains(entry);
        let restored: Vec<usize> = (0..entries).filter(|entry| !is_chosen(entry)).collect();
        let factor = Factor::new(chosen.len(), |i, j| match (chosen.get(i), chosen.get(j)) {
            (Some(&i), Some(&j)) => at(i, j),
            _ => 0.0,
        });
        let row = |&entry: &usize| factor.solve(chosen.iter().map(|&column| at(entry, column)).collect());
        let weights: Vec<Vec<f64>> = restored.par_iter().with_min_len(16).map(row).collect();
        Self { chosen: chosen.to_vec(), restored, weights: weights.concat() }
    }

    /// The mean squared error of the restored entries, summed over them: the trace of `C[P̄, P̄] - R C[P, P̄]` (equation
    /// 8). `c` `[n, n]`.
    pub fn error(&self, c: &[f64], n: usize) -> f64 {
        let at = |row: usize, column: usize| c.get(row * n + column).copied().unwrap_or(0.0);
        let rows = self.restored.iter().zip(self.weights.chunks(self.chosen.len().max(1)));
        let known = |(&entry, weights): (&usize, &[f64])| {
            let known: f64 = weights.iter().zip(&self.chosen).map(|(weight, &chosen)| weight * at(chosen, entry)).sum();
            (at(entry, entry) - known).max(0.0)
        };
        if self.chosen.is_empty() {
            self.restored.iter().map(|&entry| at(entry, entry)).sum()
        } else {
            rows.map(known).sum()
        }
    }

    /// R with identity rows for the entries that are computed, F: `â = F a_P`. `[entries, chosen]`
    pub fn whole(&self) -> Vec<f64> {
        let k = self.chosen.len();
        let mut whole = vec![0.0; (k + self.restored.len()) * k];
        for (column, &entry) in self.chosen.iter().enumerate() {
            if let Some(one) = whole.get_mut(entry * k + column) {
                *one = 1.0;
            }
        }
        for (&entry, row) in self.restored.iter().zip(self.weights.chunks(k.max(1))) {
            if let Some(place) = whole.get_mut(entry * k..(entry + 1) * k) {
                place.copy_from_slice(row);
            }
        }
        whole
    }

    /// A vector put together from its computed entries `a_P`, given in the order of [`Self::chosen`].
    pub fn restore(&self, computed: &[f64]) -> Vec<f64> {
        let k = self.chosen.len();
        let mut vector = vec![0.0; k + self.restored.len()];
        for (&entry, &value) in self.chosen.iter().zip(computed) {
            if let Some(place) = vector.get_mut(entry) {
                *place = value;
            }
        }
        for (row, &entry) in self.restored.iter().enumerate() {
            let weights = self.weights.get(row * k..(row + 1) * k).unwrap_or_default();
            if let Some(place) = vector.get_mut(entry) {
                *place = weights.iter().zip(computed).map(|(weight, value)| weight * value).sum();
            }
        }
        vector
    }
}

/// `L Lᵀ` of a symmetric matrix, without the rows and columns that depend on those before them.
struct Factor {
    size: usize,
    /// Row by row; empty rows of zeros where nothing was left.
    lower: Vec<f64>,
}

/// A pivot below this share of its diagonal entry is rounding.
const DEPENDENT: f64 = 1e-13;

impl Factor {
    fn new(size: usize, at: impl Fn(usize, usize) -> f64) -> Self {
        let mut lower = vec![0.0; size * size];
        for i in 0..size {
            for j in 0..=i {
                let (before, own) = lower.split_at(i * size);
                let row = own.get(..j).unwrap_or_default();
                let other = if j == i { row } else { before.get(j * size..j * size + j).unwrap_or_default() };
                let rest = at(i, j) - row.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
                let pivot = before.get(j * size + j).copied().unwrap_or(0.0);
                let value = if j < i {
                    if pivot > 0.0 { rest / pivot } else { 0.0 }
                } else if rest > DEPENDENT * at(i, i) {
                    rest.sqrt()
                } else {
                    0.0
                };
                if let Some(place) = lower.get_mut(i * size + j) {
                    *place = value;
                }
            }
        }
        Self { size, lower }
    }

    /// `x` with `L Lᵀ x = b`, zero at dependent entries.
    fn solve(&self, mut b: Vec<f64>) -> Vec<f64> {
        let size = self.size;
        let at = |row: usize, column: usize| self.lower.get(row * size + column).copied().unwrap_or(0.0);
        for i in 0..size {
            let (solved, rest) = b.split_at_mut(i);
            let row = self.lower.get(i * size..i * size + i).unwrap_or_default();
            let known: f64 = row.iter().zip(&*solved).map(|(a, b)| a * b).sum();
            if let Some(x) = rest.first_mut() {
                *x = if at(i, i) > 0.0 { (*x - known) / at(i, i) } else { 0.0 };
            }
        }
        for i in (0..size).rev() {
            let (rest, solved) = b.split_at_mut(i + 1);
            let known: f64 = solved.iter().enumerate().map(|(j, x)| at(i + 1 + j, i) * x).sum();
            if let Some(x) = rest.last_mut() {
                *x = if at(i, i) > 0.0 { (*x - known) / at(i, i) } else { 0.0 };
            }
        }
        b
    }
}
