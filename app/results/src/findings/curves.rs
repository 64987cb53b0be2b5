use headroom_engine::analysis::{Analysis, LayerEnergies, Similarity, Spectrum};

use super::{about, figure_parts::program, layer_name, method_words};
use crate::{
    export::{Figure, FigureAxis, FigureSeries},
    plot::{Axis, Quantity, Scale},
};

/// Every curve of an analysis as a figure, with a name that is fit for a file.
pub fn figures(analysis: &Analysis) -> Vec<(String, Figure)> {
    let mut found = Vec::new();
    if let Some(spectra) = &analysis.spectra {
        let mut curves = bounded("network", &spectra.network);
        let layers = spectra.layers.iter().enumerate().filter(|(_, layer)| layer.samples > 0);
        curves.extend(layers.flat_map(|(layer, spectrum)| bounded(&layer_name(layer), spectrum)));
        found.push((
            "spectrum".to_owned(),
            shares(analysis, "Cumulative energy of attention scores", "Eigenvalues", &curves),
        ));
        let mut bars = bounded_values("network", &spectra.network);
        bars.extend(spectra.row_mean_subtracted.iter().flat_map(|rest| bounded_values("row means subtracted", rest)));
        let mut figure = shares(analysis, "Eigenvalues of attention scores", "Rank of the eigenvalue", &bars);
        figure.y.axis = Axis::new("Share of the energy").scale(Scale::Log);
        let all = || bars.iter().flat_map(|(_, curve)| curve).copied().filter(|value| *value > 0.0);
        figure.y.range = (all().fold(1.0, f64::min), all().fold(0.0, f64::max).max(f64::MIN_POSITIVE));
        found.push(("eigenvalues".to_owned(), figure));
        let curves: Vec<(String, Vec<f64>)> =
            spectra.overlaps.iter().enumerate().map(|(layer, curve)| (layer_name(layer), curve.clone())).collect();
        found.push((
            "overlap".to_owned(),
            shares(analysis, "Energy of layers in the space of the network", "Dimensions of the space", &curves),
        ));
        if !spectra.queries.is_empty() {
            let curves = [("best space of each query".to_owned(), spectra.query_curve())];
            let title = "Energy in the best space of each query";
            found.push(("queries".to_owned(), shares(analysis, title, "Dimensions for each query", &curves)));
        }
    }
    for projection in &analysis.projections {
        let mut curves = vec![("network".to_owned(), projection.network.clone())];
        let layers = projection.layers.iter().enumerate();
        curves.extend(layers.map(|(layer, curve)| (layer_name(layer), curve.clone())));
        let title = format!("Energy in the space of {}", projection.onto);
        let name = format!("subspace-{}", found.len());
        found.push((name, shares(analysis, &title, "Dimensions of the space", &curves)));
    }
    for similarity in &analysis.similarity {
        let title = format!("Heads by similarity to the layer before ({})", similarity.measure.label());
        let mut figure = shares(analysis, &title, "Head, the least similar first", &ranked_curves(similarity));
        figure.y.axis = Axis::new("Similarity");
        found.push((format!("ranked-{}", similarity.measure), figure));
    }
    if let Some(captured) = &analysis.captured {
        type Choose = fn(&LayerEnergies) -> &Vec<f64>;
        let kinds: [(&str, &str, Choose); 3] = [
            ("queries", "query", |layer| &layer.all_queries),
            ("keys", "key", |layer| &layer.all_keys),
            ("products of queries and keys", "product", |layer| &layer.all_products),
        ];
        for (words, name, choose) in kinds {
            let curves: Vec<(String, Vec<f64>)> = captured
                .layers
                .iter()
                .enumerate()
                .map(|(layer, energies)| (layer_name(layer), choose(energies).clone()))
                .collect();
            let title = format!("Captured variance of the weights of {words}, all heads together");
            found.push((format!("captured-{name}"), shares(analysis, &title, "Singular directions", &curves)));
        }
    }
    found.extend(super::reconstruction::figures(analysis));
    found.retain(|(_, figure)| !figure.series.is_empty());
    found
}

/// For each layer but the first, the similarity of its heads to the layer before, ascending.
pub fn ranked_curves(similarity: &Similarity) -> Vec<(String, Vec<f64>)> {
    let named = |(layer, curve)| (format!("{} to {}", layer_name(layer + 1), layer_name(layer)), curve);
    similarity.ranked().into_iter().enumerate().map(named).collect()
}

/// The cumulative energy of a spectrum, and what it is at most where that is not the same.
fn bounded(name: &str, spectrum: &Spectrum) -> Vec<(String, Vec<f64>)> {
    let mut curves = vec![(name.to_owned(), spectrum.cumulative())];
    if spectrum.bounds.is_some() {
        curves.push((format!("{name}, at most"), spectrum.cumulative_at_most()));
    }
    curves
}

/// Eigenvalues as shares of the energy, and what they are at most where that is not the same.
fn bounded_values(name: &str, spectrum: &Spectrum) -> Vec<(String, Vec<f64>)> {
    let shares = |values: &[f64]| values.iter().map(|value| value / spectrum.trace).collect();
    let mut curves = vec![(name.to_owned(), shares(&spectrum.values))];
    if let Some(bounds) = &spectrum.bounds {
        curves.push((format!("{name}, at most"), shares(&bounds.upper)));
    }
    curves
}

/// Shares of energy over a count that begins with 1.
fn shares(analysis: &Analysis, title: &str, x: &str, curves: &[(String, Vec<f64>)]) -> Figure {
    let longest = curves.iter().map(|(_, curve)| curve.len()).max().unwrap_or(1);
    let series = curves.iter().filter(|(_, curve)| !curve.is_empty()).enumerate().map(|(number, (name, curve))| {
        let points = curve.iter().enumerate().map(|(place, value)| (place as f64 + 1.0, *value)).collect();
        FigureSeries::of_run(number as u64, name, points)
    });
    Figure {
        title: title.to_owned(),
        subtitle: about(analysis),
        x: FigureAxis {
            axis: Axis::new(x).quantity(Quantity::Count).scale(Scale::log_if(longest > 32)),
            range: (1.0, (longest as f64).max(2.0)),
        },
        y: FigureAxis { axis: Axis::new("Share of the energy"), range: (0.0, 1.0) },
        series: series.collect(),
        notes: analysis.notes.iter().cloned().chain(analysis.spectra.iter().map(method_words)).collect(),
        metadata: program(),
        ..Figure::default()
    }
}
