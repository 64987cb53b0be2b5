use serde::{Deserialize, Serialize};

use super::Spectrum;

/// How eigenvalues of a covariance of whole maps were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum SpectrumMethod {
    /// The covariance itself.
    Exact,
    /// The products of the samples with each other, which has the same eigenvalues: exact too.
    Gram,
    /// The leading eigenvalues of the covariance by block Lanczos iteration until they are right to one in a thousand;
    /// where that was not reached, a spectrum has bounds.
    Iterated {
        /// Directions of the largest space in which they were found.
        directions: usize,
    },
    /// A random sketch in one pass (Nyström): the largest eigenvalues, never too large, with bounds of what they are at
    /// most; the trace is exact.
    Sketch {
        /// Directions that were kept.
        rank: usize,
    },
}

/// Spectra of the vectorised scores of heads, before the softmax and scaled (Eigen analysis, section 2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScoreSpectra {
    /// Sequence length n.
    pub tokens: usize,
    /// Examples that were averaged over.
    pub examples: u64,
    /// How the eigenvalues of the network and of layers were found.
    pub method: SpectrumMethod,
    /// Of all layers and heads together: `C_a` (equation 2).
    pub network: Spectrum,
    /// Of each layer (equation 3); a layer in which no head scores has no samples.
    pub layers: Vec<Spectrum>,
    /// Of each head, layer by layer, where asked for.
    pub heads: Vec<Spectrum>,
    /// Of the rows of each query over all heads: `Q_a^i` (equation 5), where asked for.
    pub queries: Vec<Spectrum>,
    /// Of the network after the mean over keys was subtracted from every row (appendix C), where asked for.
    pub row_mean_subtracted: Option<Spectrum>,
    /// Share of the energy that is in the means of rows, which the softmax does not see, 0..=1.
    pub row_mean_energy: f64,
    /// The first eigenvectors of the network as patterns of n x n, `[components, n, n]`; the largest entry of each is
    /// positive.
    pub patterns: Vec<Vec<f32>>,
    /// For each layer, the share of its energy in the space of the network's first k eigenvectors, for k = 1, 2, ...
    /// (equation 4, divided by the trace; figure 3).
    pub overlaps: Vec<Vec<f64>>,
}

impl ScoreSpectra {
    /// Whether eigenvalues are from a sketch, so that overlaps, too, are what they are at least.
    pub fn is_sketched(&self) -> bool {
        matches!(self.method, SpectrumMethod::Sketch { .. })
    }

    /// Bounds from the traces for a sketch that was kept without any, as earlier versions did.
    pub(super) fn with_bounds(mut self) -> Self {
        if self.is_sketched() {
            let all = std::iter::once(&mut self.network).chain(&mut self.layers).chain(&mut self.heads);
            all.chain(&mut self.row_mean_subtracted).for_each(Spectrum::bound_by_trace);
        }
        self
    }

    /// Share of the energy in the best space of `i` dimensions for each query, for i = 1, 2, ..; beside the spectrum of
    /// the network this stands at `i n` components (figure 6).
    pub fn query_curve(&self) -> Vec<f64> {
        let trace: f64 = self.queries.iter().map(|query| query.trace).sum();
        let most = self.queries.iter().map(|query| query.values.len()).max().unwrap_or(0);
        let mut total = 0.0;
        let curve = (0..most).map(|place| {
            total += self.queries.iter().filter_map(|query| query.values.get(place)).sum::<f64>();
            total / trace
        });
        curve.collect()
    }

    /// Share of the energy in each query's rows (figure 6).
    pub fn query_fractions(&self) -> Vec<f64> {
        let trace: f64 = self.queries.iter().map(|query| query.trace).sum();
        self.queries.iter().map(|query| query.trace / trace).collect()
    }
}
