use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::ops::part;

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
    ///
    /// # Panics
    /// If `c` is not square, or an entry is not among those.
    pub fn optimal(c: &[f64], n: usize, entries: usize, chosen: &[usize]) -> Self {
        check_covariance(c, n, entries);
        assert!(chosen.iter().all(|&entry| entry < entries), "chosen entries {chosen:?} of {entries}");
        let at = |row: usize, column: usize| c[row * n + column];
        let is_chosen = |entry: &usize| chosen.contains(entry);
        let restored: Vec<usize> = (0..entries).filter(|entry| !is_chosen(entry)).collect();
        let factor = Factor::new(chosen.len(), |i, j| at(chosen[i], chosen[j]));
        let row = |&entry: &usize| factor.solve(chosen.iter().map(|&column| at(entry, column)).collect());
        let weights: Vec<Vec<f64>> = restored.par_iter().with_min_len(16).map(row).collect();
        Self { chosen: chosen.to_vec(), restored, weights: weights.concat() }
    }

    /// The mean squared error of the restored entries, summed over them: the trace of `C[P̄, P̄] - R C[P, P̄]` (equation
    /// 8). `c` `[n, n]`.
    ///
    /// # Panics
    /// If `c` is not square, or has fewer entries.
    pub fn error(&self, c: &[f64], n: usize) -> f64 {
        check_covariance(c, n, self.entries());
        let at = |row: usize, column: usize| c[row * n + column];
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

    /// Entries of the vector; fails unless each is computed or restored and R has a number for every two.
    pub(super) fn entries(&self) -> usize {
        let (chosen, restored) = (self.chosen.len(), self.restored.len());
        assert_eq!(self.weights.len(), restored * chosen, "R of a restoration: {restored} x {chosen}");
        let entries = chosen + restored;
        let mut all = self.chosen.iter().chain(&self.restored);
        assert!(all.all(|&entry| entry < entries), "entries of a restoration: below {entries}");
        entries
    }
}

/// Fails unless a covariance is square and has so many entries.
fn check_covariance(c: &[f64], n: usize, entries: usize) {
    assert_eq!(c.len(), n * n, "a covariance of {n} entries has {} numbers", c.len());
    assert!(entries <= n, "{entries} entries of a covariance of {n}");
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
                let row = part(own, 0, j);
                let other = if j == i { row } else { part(before, j * size, j) };
                let rest = at(i, j) - row.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
                let value = if j < i {
                    let pivot = before[j * size + j];
                    if pivot > 0.0 { rest / pivot } else { 0.0 }
                } else if rest > DEPENDENT * at(i, i) {
                    rest.sqrt()
                } else {
                    0.0
                };
                lower[i * size + j] = value;
            }
        }
        Self { size, lower }
    }

    /// `x` with `L Lᵀ x = b`, zero at dependent entries.
    fn solve(&self, mut b: Vec<f64>) -> Vec<f64> {
        let size = self.size;
        assert_eq!(b.len(), size, "right side of {size} equations");
        let at = |row: usize, column: usize| self.lower[row * size + column];
        for i in 0..size {
            let (solved, rest) = b.split_at_mut(i);
            let known: f64 = part(&self.lower, i * size, i).iter().zip(&*solved).map(|(a, b)| a * b).sum();
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
