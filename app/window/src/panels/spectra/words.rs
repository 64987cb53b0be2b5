//! What a spectrum does and does not know, in plain words.

use headroom_engine::{analysis::ScoreSpectra, config::counted};

use crate::{
    findings::{between, method_words},
    format,
};

/// Less than this share of the energy beyond the known eigenvalues is rounding.
const LITTLE: f64 = 5e-4;

/// Sentences about how the spectra were found; whether each is a warning.
pub fn words(spectra: &ScoreSpectra) -> Vec<(String, bool)> {
    let network = &spectra.network;
    let mut all = Vec::new();
    let method = method_words(spectra);
    all.push((format!("{method} Second moments: no mean is subtracted."), spectra.is_sketched()));
    if network.is_rank_deficient() {
        all.push((
            format!(
                "There {} {} for {}: eigenvalues beyond the samples are zero for that reason alone, \
                 and more text may need more components.",
                if network.samples == 1 { "was" } else { "were" },
                counted(network.samples, "sample"),
                counted(network.visible.unwrap_or(network.dimension), "dimension")
            ),
            true,
        ));
        all.push((
            format!(
                "A sample is the map of a head for an example. Of fewer than these {}, fewer components would hold the \
                 energy: compare analyses of as many.",
                counted(spectra.examples, "example")
            ),
            false,
        ));
    }
    if network.missing() > LITTLE {
        all.push((
            format!(
                "The {} known eigenvalues hold {} of the energy; the rest lies beyond them.",
                format::count(network.values.len() as u64),
                between(network.share_between(network.values.len()), format::percent)
            ),
            true,
        ));
    }
    if spectra.row_mean_energy > 0.0 {
        all.push((
            format!(
                "{} of the energy is in the means of rows, which the softmax ignores.",
                format::percent(spectra.row_mean_energy)
            ),
            false,
        ));
    }
    all
}
