//! How redundant attention is, as numbers: similarity of maps, spectra of scores, subspaces, captured variance.
//!
//! Pure functions from tensors to small results, and sums that take examples as they come, so that ten thousand of them
//! are never in memory at once. Results are plain data with the derived quantities that figures show. Formulas and
//! conventions: *Reuse Transformers* (similarity), *Eigen analysis of self-attention* (spectra, reconstruction),
//! *Multi-head attention: collaborate instead of concatenate* (captured variance). Uses `model` and what is below it.

mod captured;
mod eigen;
mod error;
mod measure;
mod moments;
mod nystroem;
pub mod reconstruction;
mod report;
mod similarity;
mod similarity_sum;
mod spec;
mod spectra;
mod spectra_sum;
mod spectrum;
#[cfg(test)]
mod tests;

pub use captured::{CapturedVariance, LayerEnergies};
pub use error::AnalysisError;
pub use measure::Measure;
pub use report::Analysis;
pub use similarity::Similarity;
pub use similarity_sum::{MapBatch, SimilaritySum};
pub use spec::{AnalysisSpec, SpectrumSpec};
pub use spectra::{ScoreSpectra, SpectrumMethod};
pub use spectra_sum::{ScoreBatch, ScoreShape, SpectraSum};
pub use spectrum::Spectrum;
