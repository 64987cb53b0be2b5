use serde::{Deserialize, Serialize};

use super::Measure;
use crate::attention::HeadAt;

/// What is to be found out about the attention of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AnalysisSpec {
    /// Examples of the held-out text, spread evenly over it; fewer where it has fewer.
    pub examples: usize,
    /// Tokens of an example; none: as the model was trained.
    pub tokens: Option<usize>,
    /// Reads the text with every token at a random place (`true`) or in order (`false`); none: as the run read it.
    pub shuffled: Option<bool>,
    /// Measures by which maps are compared.
    pub similarity: Vec<Measure>,
    /// Spectra of scores.
    pub spectrum: Option<SpectrumSpec>,
    /// Captured variance of query and key weights.
    pub captured: bool,
    /// Restoring scores from some of their pairs.
    pub reconstruction: Option<ReconstructionSpec>,
}

/// Whose scores are restored from some of their pairs. All layers and heads together always are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReconstructionSpec {
    /// Those of each layer for itself too.
    pub layers: bool,
    /// Those of one head for itself too.
    pub head: Option<HeadAt>,
    /// Pairs of whole maps beside pairs of each query, where maps are small enough.
    pub whole: bool,
}

impl Default for ReconstructionSpec {
    fn default() -> Self {
        Self { layers: false, head: None, whole: true }
    }
}

/// Which spectra.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SpectrumSpec {
    /// Eigenvalues that are kept where there are too many dimensions for all.
    pub components: usize,
    /// Eigenvectors of the network that are kept as patterns.
    pub patterns: usize,
    /// All eigenvalues from the covariance itself, whatever its size, where memory allows.
    pub exact: bool,
    /// Of each head too.
    pub heads: bool,
    /// Of the rows of each query too.
    pub queries: bool,
    /// Of the network once more, the mean of every row subtracted.
    pub row_mean_subtracted: bool,
}

impl AnalysisSpec {
    /// What is analysed while a model of this plan trains: similarity, spectra of the network and its layers, captured
    /// variance.
    pub fn live(examples: usize, tokens: usize) -> Self {
        let spectrum = SpectrumSpec {
            components: 64,
            // Small enough to be kept with every analysis.
            patterns: if tokens <= 128 { 3 } else { 0 },
            exact: false,
            heads: false,
            queries: false,
            row_mean_subtracted: false,
        };
        Self {
            examples,
            tokens: Some(tokens),
            shuffled: None,
            similarity: vec![Measure::TotalVariation],
            spectrum: Some(spectrum),
            captured: true,
            reconstruction: None,
        }
    }
}

impl Default for AnalysisSpec {
    fn default() -> Self {
        Self {
            examples: 256,
            tokens: None,
            shuffled: None,
            similarity: vec![Measure::TotalVariation],
            spectrum: Some(SpectrumSpec::default()),
            captured: true,
            reconstruction: None,
        }
    }
}

impl Default for SpectrumSpec {
    fn default() -> Self {
        Self { components: 256, patterns: 6, exact: false, heads: false, queries: true, row_mean_subtracted: true }
    }
}
