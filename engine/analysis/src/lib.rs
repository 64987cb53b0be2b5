//! How redundant attention is, as numbers: similarity of maps, spectra of scores, subspaces, captured variance.
//!
//! Pure functions from tensors to small results, and sums that take examples as they come, so that ten thousand of them
//! are never in memory at once. Results are plain data with the derived quantities that figures show. Formulas and
//! conventions: *Reuse Transformers* (similarity), *Eigen analysis of self-attention* (spectra, reconstruction),
//! *Multi-head attention: collaborate instead of concatenate* (captured variance). Uses `model` and what is below it.

use headroom_config::{config, text};
use headroom_data as data;
use headroom_model::{attention, model, objective};
use headroom_ops as ops;

mod analyse;
mod arrays;
mod captured;
mod eigen;
mod error;
mod finish;
mod krylov;
mod measure;
mod moments;
mod nystroem;
mod packing;
mod projection;
pub mod reconstruction;
mod report;
mod samples;
mod similarity;
mod similarity_sum;
mod solve;
mod spec;
mod spectra;
mod spectra_sum;
mod spectrum;
mod sums;
#[cfg(test)]
mod tests;
mod view;

pub use analyse::{AnalysisContext, Basis, Doing, NOT_YET, analyse, examples_at_once};
pub use arrays::{NamedArray, PackedAnalysis};
pub use captured::{CapturedVariance, LayerEnergies};
pub use eigen::{Dense, Eigen, eigen};
pub use error::AnalysisError;
pub use measure::Measure;
pub use projection::{Projection, ProjectionSum};
pub use report::{Analysis, Topic};
pub use similarity::Similarity;
pub use similarity_sum::{MapBatch, SimilaritySum};
pub use spec::{AnalysisSpec, ReconstructionSpec, SpectrumSpec};
pub use spectra::{ScoreSpectra, SpectrumMethod};
pub use spectra_sum::{ScoreBatch, SpectraSum};
pub use spectrum::{Bounds, Spectrum};
pub use sums::ScoreShape;
pub use view::{MapThumbnails, MapView, THUMBNAIL};
