//! Numbers of spectra as words: one where it is known, an interval where it is not.

use headroom_engine::{
    analysis::{ScoreSpectra, Spectrum, SpectrumMethod},
    config::counted,
};

use crate::format;

/// `35.8 %`, or `31.7 to 35.9 %`, each end as `write` writes it.
pub fn between((least, most): (f64, f64), write: impl Fn(f64) -> String) -> String {
    let (low, high) = (write(least), write(most));
    if low == high { high } else { format!("{} to {high}", low.trim_end_matches(" %")) }
}

/// A share with one decimal, `35.8 %`.
pub fn percent_1(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// The energy in the first `k` eigenvalues: `35.8 %`, or `31.7 to 35.9 %`.
pub fn share_words(spectrum: &Spectrum, k: usize) -> String {
    between(spectrum.share_between(k), percent_1)
}

/// The share of the energy in one eigenvalue, numbered from 0; none where it is not known at all.
pub fn component_share(spectrum: &Spectrum, place: usize) -> Option<(f64, f64)> {
    let value = spectrum.values.get(place)? / spectrum.trace;
    let most = spectrum.bounds.as_ref().and_then(|bounds| bounds.upper.get(place));
    Some((value, most.map_or(value, |most| (most / spectrum.trace).max(value))))
}

/// How many eigenvalues hold a share of the energy: `161`, `150 to 161` or `more than 256`.
pub fn count_words(spectrum: &Spectrum, share: f64) -> String {
    let count = |count: usize| format::count(count as u64);
    match spectrum.components_between(share) {
        (least, Some(most)) if least == most => count(most),
        (least, Some(most)) => format!("{} to {}", count(least), count(most)),
        (least, None) => format!("more than {}", count(least - 1)),
    }
}

/// How eigenvalues were found, and what that leaves open, as a sentence.
pub fn method_words(spectra: &ScoreSpectra) -> String {
    let all = std::iter::once(&spectra.network).chain(&spectra.layers).chain(&spectra.row_mean_subtracted);
    let is_open = all.chain(&spectra.heads).any(|spectrum| spectrum.bounds.is_some());
    match spectra.method {
        SpectrumMethod::Exact => "Eigenvalues of the covariance itself: exact.".to_owned(),
        SpectrumMethod::Gram => "Eigenvalues from the products of the samples with each other: exact.".to_owned(),
        SpectrumMethod::Iterated { directions } if is_open => format!(
            "The largest eigenvalues by iteration in {}, where some were not reached: what is not known to 1 % is given \
             as an interval.",
            counted(directions, "direction")
        ),
        SpectrumMethod::Iterated { directions } => format!(
            "The largest eigenvalues by iteration, right to 0.1 % (up to {}).",
            counted(directions, "direction")
        ),
        SpectrumMethod::Sketch { rank } => format!(
            "Eigenvalues from a random sketch of {}, since samples and covariance took too much memory or time: numbers \
             are intervals, curves and overlaps are what they are at least. The whole energy is exact. Fewer examples, or \
             `--exact`, give numbers.",
            counted(rank, "direction")
        ),
    }
}

#[cfg(test)]
mod tests {
    use headroom_engine::analysis::Bounds;

    use super::*;

    #[test]
    fn what_is_known_is_a_number_and_what_is_not_an_interval() {
        let values = vec![6.0, 2.0, 1.0];
        let known = Spectrum { dimension: 9, samples: 50, trace: 10.0, values, ..Spectrum::default() };
        assert_eq!((share_words(&known, 2), count_words(&known, 0.8)), ("80.0 %".to_owned(), "2".to_owned()));
        assert_eq!(count_words(&known, 0.95), "more than 3");
        let bounds = Bounds { upper: vec![6.5, 2.5, 2.0], sums: vec![6.5, 8.5, 9.5] };
        let open = Spectrum { bounds: Some(bounds), ..known };
        assert_eq!(share_words(&open, 2), "80.0 to 85.0 %");
        assert_eq!(
            [0.6, 0.82, 0.85, 0.92, 0.99].map(|share| count_words(&open, share)),
            ["1", "2 to 3", "2 to 3", "more than 2", "more than 3"]
        );
        assert_eq!(component_share(&open, 1), Some((0.2, 0.25)));
        assert_eq!(between((0.204, 0.2041), percent_1), "20.4 %");
    }
}
