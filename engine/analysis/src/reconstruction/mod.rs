//! Reconstruction of scores from partial computation (Eigen analysis of self-attention, section 3.1).
//!
//! A vector a of scores (a query's row, or a whole map row by row) has the second-moment matrix `C = E[a aᵀ]`, no mean
//! subtracted. Some of its entries P are computed, the others follow from them by a linear map `R a_P`. [`greedy()`]
//! chooses P (equation 9), [`RestorationMap`] is the best R for it (equation 7), and the trace of the residual
//! covariance (equation 8) is the mean squared error of that. [`RowCovariances`] takes samples as they come.
//! [`ReconstructionSum`] makes a [`Reconstruction`] of the scores of a model as examples come: errors on the examples that
//! everything was chosen from and on held-out ones, beside those of projecting on as many eigenvectors, which is the best
//! that any linear method can do, and what puts any map together from k pairs a query ([`Reconstruction::rebuild`]).

mod choice;
mod curve;
#[cfg(any(test, feature = "testing"))]
pub mod direct;
mod eigen;
mod flops;
mod follow;
mod greedy;
mod rebuilt;
mod report;
mod restoration;
mod row_covariances;
mod scope;
mod sum;
#[cfg(test)]
mod sum_tests;
#[cfg(test)]
mod tests;
mod vector;
mod whole_sum;

pub use curve::ErrorCurve;
pub use eigen::EigenProjection;
pub use greedy::{Greedy, greedy};
pub use rebuilt::RebuiltMap;
pub use report::{Reconstruction, WholeCurves};
pub use restoration::RestorationMap;
pub use row_covariances::RowCovariances;
pub use scope::{Scope, ScopeReconstruction, reliable_pairs};
pub use sum::ReconstructionSum;
