use headroom_engine::{
    analysis::{Analysis, LayerEnergies, Spectrum, SpectrumMethod},
    config::counted,
};

use super::{count_words, method_words, share_words};
use crate::format;

/// The shares of energy of which tables say how many components hold them.
const SHARES: [f64; 3] = [0.80, 0.90, 0.95];

/// What a layer is called: `L3`.
pub fn layer_name(layer: usize) -> String {
    format!("L{layer}")
}

/// That heads which borrow are left out of what is said of the most similar ones.
pub fn left_out_words(borrowers: usize, heads: usize) -> String {
    let borrow = if borrowers == 1 { "borrows its map" } else { "borrow their maps" };
    format!("{borrowers} of {heads} heads {borrow}: equal to the lender's by construction, so such pairs are left out.")
}

/// The main findings, a sentence each.
pub fn summary(analysis: &Analysis) -> Vec<String> {
    let mut lines = Vec::new();
    for similarity in &analysis.similarity {
        let (near, far) = similarity.near_and_far();
        let apart = if far.is_finite() {
            format!(", layers further apart {}", format::significant(far, 3))
        } else {
            String::new()
        };
        lines.push(format!(
            "Similarity by {}: neighbouring layers {}{apart} (mean of the most similar heads; 1 = the same map).",
            similarity.measure.label(),
            if near.is_nan() { "none".to_owned() } else { format::significant(near, 3) }
        ));
    }
    if let Some(similarity) = analysis.similarity.first().filter(|similarity| similarity.borrowers() > 0) {
        lines.push(left_out_words(similarity.borrowers(), similarity.layers * similarity.heads));
    }
    if let Some(spectra) = &analysis.spectra {
        let count = spectra.network.dimension.div_ceil(100);
        lines.push(format!(
            "Scores of {} in {}: the largest 1 % ({}) of {} hold {} of the energy; {}.",
            counted(spectra.tokens, "token"),
            counted(spectra.network.samples, "sample"),
            format::count(count as u64),
            counted(spectra.network.dimension, "eigenvalue"),
            share_words(&spectra.network, count),
            components_words(&spectra.network)
        ));
        lines.push(format!(
            "{:.1} % of the energy is in the means of rows, which the softmax ignores{}.",
            100.0 * spectra.row_mean_energy,
            match &spectra.row_mean_subtracted {
                Some(rest) => format!("; without them {}", components_words(rest)),
                None => String::new(),
            }
        ));
        if !matches!(spectra.method, SpectrumMethod::Exact | SpectrumMethod::Gram) {
            lines.push(method_words(spectra));
        }
    }
    for projection in &analysis.projections {
        let at = |k: usize| projection.network.get(k - 1).copied();
        let known: Vec<String> = [1, 16, 64, 256]
            .into_iter()
            .filter_map(|k| Some(format!("{:.1} % in the first {k}", 100.0 * at(k)?)))
            .collect();
        lines.push(format!("Energy in the space of {}: {}.", projection.onto, known.join(", ")));
    }
    lines.extend(analysis.reconstruction.iter().flat_map(super::reconstruction::summary));
    lines.extend(analysis.notes.iter().cloned());
    lines
}

/// How many components hold 80, 90 and 95 %.
fn components_words(spectrum: &Spectrum) -> String {
    let parts = SHARES.map(|share| format!("{} for {:.0} %", count_words(spectrum, share), 100.0 * share));
    parts.join(", ")
}

/// A row a layer: its name, the similarity of its best head to the layer before, components for 80, 90 and 95 % of the
/// energy of its scores, and dimensions for 90 % of that of its query, key and product weights. A dash where there is
/// nothing.
pub fn layer_table(analysis: &Analysis) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let headings =
        vec!["layer", "like the one before", "80 %", "90 %", "95 %", "W_Q 90 %", "W_K 90 %", "W_Q W_K^T 90 %"];
    let similarity = analysis.similarity.first();
    let spectra = analysis.spectra.as_ref().map(|spectra| &spectra.layers);
    let captured = analysis.captured.as_ref().map(|captured| &captured.layers);
    let layers = [similarity.map(|found| found.layers), spectra.map(Vec::len), captured.map(Vec::len)];
    let layers = layers.into_iter().flatten().max().unwrap_or(0);
    let dash = || "-".to_owned();
    let matrix = similarity.map(|similarity| (similarity.layer_matrix(), similarity.layers));
    let row = |layer: usize| {
        let before = matrix.as_ref().filter(|_| layer > 0).and_then(|(matrix, count)| {
            matrix.get(layer * count + layer - 1).copied().filter(|value| value.is_finite())
        });
        let mut cells = vec![layer_name(layer), before.map_or_else(dash, |value| format!("{value:.3}"))];
        let spectrum = spectra.and_then(|layers| layers.get(layer)).filter(|spectrum| spectrum.samples > 0);
        cells.extend(SHARES.map(|share| {
            spectrum.map_or_else(dash, |spectrum| count_words(spectrum, share).replace("more than", ">"))
        }));
        let energies = captured.and_then(|layers| layers.get(layer));
        let curves = energies.map(|layer| [&layer.all_queries, &layer.all_keys, &layer.all_products]);
        cells.extend((0..3).map(|place| {
            let curve = curves.and_then(|curves| curves.get(place).copied());
            curve
                .and_then(|curve| LayerEnergies::dimensions_for(curve, 0.9))
                .map_or_else(dash, |count| count.to_string())
        }));
        cells
    };
    (headings, (0..layers).map(row).collect())
}

#[cfg(test)]
mod tests {
    use headroom_engine::analysis::{CapturedVariance, Measure, ScoreSpectra, Similarity};

    use super::*;

    #[test]
    fn findings_are_said_in_words_and_in_a_row_a_layer() {
        let spectrum =
            Spectrum { dimension: 400, samples: 800, trace: 10.0, values: vec![8.5, 1.0, 0.25], ..Spectrum::default() };
        let spectra = ScoreSpectra {
            tokens: 20,
            examples: 100,
            method: SpectrumMethod::Iterated { directions: 3 },
            network: spectrum.clone(),
            layers: vec![spectrum, Spectrum::default()],
            heads: Vec::new(),
            queries: Vec::new(),
            row_mean_subtracted: None,
            row_mean_energy: 0.25,
            patterns: Vec::new(),
            overlaps: Vec::new(),
        };
        let mean = vec![1.0, 0.75, 0.75, 1.0];
        let layer = LayerEnergies { all_queries: vec![0.5, 0.9, 1.0], ..LayerEnergies::default() };
        let analysis = Analysis {
            similarity: vec![Similarity {
                measure: Measure::TotalVariation,
                layers: 2,
                heads: 1,
                examples: 9,
                mean,
                origins: Vec::new(),
            }],
            spectra: Some(spectra),
            captured: Some(CapturedVariance { layers: vec![layer] }),
            notes: vec!["A note.".to_owned()],
            ..Analysis::default()
        };
        let text = summary(&analysis).join("\n");
        for expected in [
            "neighbouring layers 0.750 (mean",
            "the largest 1 % (4) of 400 eigenvalues hold 97.5 to 100.0 % of the energy; 1 for 80 %, 2 for 90 %, 2 for \
             95 %.",
            "25.0 % of the energy is in the means of rows",
            "The largest eigenvalues by iteration, right to 0.1 % (up to 3 directions).",
            "A note.",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        let (headings, rows) = layer_table(&analysis);
        assert!(rows.iter().all(|row| row.len() == headings.len()));
        assert_eq!(rows[0], ["L0", "-", "1", "2", "2", "2", "-", "-"]);
        assert_eq!(rows[1], ["L1", "0.750", "-", "-", "-", "-", "-", "-"]);
    }
}
