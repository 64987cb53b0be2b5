//! What a spectrum does and does not know, in plain words.

use headroom_engine::{
    analysis::{ScoreSpectra, SpectrumMethod},
    config::counted,
};

use crate::widgets::format;

/// Less than this share of the energy beyond the known eigenvalues is rounding.
const LITTLE: f64 = 5e-4;

/// Sentences about how the spectra were found; whether each is a warning.
pub fn words(spectra: &ScoreSpectra) -> Vec<(String, bool)> {
    let network = &spectra.network;
    let mut all = Vec::new();
    let method = match spectra.method {
        SpectrumMethod::Exact => "Eigenvalues of the covariance itself: exact.".to_owned(),
        SpectrumMethod::Gram => "Eigenvalues from the products of the samples with each other: exact.".to_owned(),
        SpectrumMethod::Sketch { rank } => format!(
            "The largest eigenvalues from a random sketch of {}: never too large, the last of them too small. \
             The whole energy is exact.",
            counted(rank, "direction")
        ),
    };
    all.push((format!("{method} Second moments: no mean is subtracted."), false));
    if network.is_rank_deficient() {
        all.push((
            format!(
                "There {} {} for {}: eigenvalues beyond the samples are zero for that reason alone, \
                 and more text may need more components.",
                if network.samples == 1 { "was" } else { "were" },
                counted(network.samples, "sample"),
                counted(network.dimension, "dimension")
            ),
            true,
        ));
    }
    if network.missing() > LITTLE {
        all.push((
            format!(
                "The {} known eigenvalues hold {} of the energy; {} lie beyond them.",
                format::count(network.values.len() as u64),
                format::percent(1.0 - network.missing()),
                format::percent(network.missing())
            ),
            true,
        ));
    }
    if spectra.row_mean_energy > 0.0 {
        all.push((
            format!(
                "{} of the energy is in the means of rows, which the softmax does not see.",
                format::percent(spectra.row_mean_energy)
            ),
            false,
        ));
    }
    all
}
