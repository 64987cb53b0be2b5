//! Reconstruction of scores from partial computation (Eigen analysis of self-attention, section 3.1).
//!
//! A vector a of scores (a query's row, or a whole map row by row) has the second-moment matrix `C = E[a aᵀ]`, no mean
//! subtracted. Some of its entries P are computed, the others follow from them by a linear map `R a_P`. [`greedy`]
//! chooses P (equation 9), [`RestorationMap`] is the best R for it (equation 7), and the trace of the residual
//! covariance (equation 8) is the mean squared error of that. [`RowCovariances`] takes samples as they come;
//! [`RowReconstruction`] and [`WholeReconstruction`] are the errors as a figure shows them, beside those of projecting on
//! as many eigenvectors, which is the best that any linear method can do. [`ReconstructionSum`] makes a [`Reconstruction`]
//! of the scores of a model as examples come: errors on the examples that everything was chosen from and on held-out ones,
//! and what puts any map together from k pairs a query ([`Reconstruction::rebuild`]).

mod choice;
mod curve;
mod eigen;
mod flops;
mod follow;
mod greedy;
mod rebuilt;
mod report;
mod restoration;
mod row_covariances;
mod rows;
mod scope;
mod sum;
#[cfg(test)]
mod sum_tests;
#[cfg(test)]
mod tests;
mod vector;
mod whole;
mod whole_sum;

pub use choice::RowChoice;
pub use curve::ErrorCurve;
pub use eigen::EigenProjection;
pub use greedy::{Greedy, greedy};
pub use rebuilt::RebuiltMap;
pub use report::{Reconstruction, WholeCurves};
pub use restoration::RestorationMap;
pub use row_covariances::RowCovariances;
pub use rows::RowReconstruction;
pub use scope::{Scope, ScopeReconstruction, reliable_pairs};
pub use sum::ReconstructionSum;
pub use whole::{WholeReconstruction, WholeTooLarge, whole_bytes};

/// Multiply-accumulates of a head's scores by rows, as a share of those of all scores: k of n pairs in each row and the
/// product with R, `(n k d + n k n) / (n² d)` (table 1 of the paper, which counts the computed entries as restored too).
/// Above 1, nothing is saved.
pub fn row_flops_ratio(tokens: usize, pairs: usize, head_size: usize) -> f64 {
    let (n, k, d) = (tokens as f64, pairs as f64, head_size as f64);
    k * (d + n) / (n * d)
}

/// The same for k̄ pairs of the whole map: `(k̄ d + k̄ n²) / (n² d)`.
pub fn whole_flops_ratio(tokens: usize, pairs: usize, head_size: usize) -> f64 {
    let (n, k, d) = (tokens as f64, pairs as f64, head_size as f64);
    k * (d + n * n) / (n * n * d)
}
