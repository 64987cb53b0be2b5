use headroom_engine::analysis::{Analysis, Similarity};

use super::figure_parts::{about, program, query_key_map};
use crate::{
    export::MapFigure,
    plot::{HeatAxis, HeatData, HeatScale, Tone},
    theme::ColourMap,
};

/// Layers against layers: the similarity of their two most similar heads, from 0 to 1.
pub fn similarity_map(similarity: &Similarity) -> MapFigure {
    let data = HeatData::from_f64(similarity.layers, similarity.layers, &similarity.layer_matrix());
    let axes = (HeatAxis::numbered("Layer", "L"), HeatAxis::numbered("Layer", "L"));
    let tone = Tone::between(ColourMap::Viridis, HeatScale::Linear, 0.0, 1.0);
    MapFigure::new(String::new(), data, axes, tone).value("Similarity")
}

/// Components of scores as patterns of queries and keys, in their order.
pub fn component_maps(analysis: &Analysis) -> Vec<MapFigure> {
    let spectra = analysis.spectra.iter();
    let patterns = spectra.flat_map(|spectra| spectra.patterns.iter().map(move |pattern| (pattern, spectra.tokens)));
    let figure = |(place, (pattern, tokens)): (usize, (&Vec<f32>, usize))| {
        let data = HeatData::new(tokens, tokens, pattern.clone());
        let tone = Tone::fitting(ColourMap::Difference, HeatScale::Linear, data.extent());
        query_key_map(format!("Component {}", place + 1), data, tone).value("Weight")
    };
    patterns.enumerate().map(figure).collect()
}

/// Every map of an analysis as a figure, with a name that is fit for a file.
pub fn maps(analysis: &Analysis) -> Vec<(String, MapFigure)> {
    let mut found = Vec::new();
    for similarity in &analysis.similarity {
        let title = format!("Most similar heads of two layers, {}", similarity.measure.label());
        let notes = vec![similarity.measure.formula().to_owned()];
        let figure = MapFigure { title, notes, ..similarity_map(similarity) };
        found.push((format!("similarity-{}", similarity.measure), figure));
    }
    for (place, figure) in component_maps(analysis).into_iter().enumerate() {
        let title = format!("{} of the scores", figure.title);
        found.push((format!("component-{}", place + 1), MapFigure { title, ..figure }));
    }
    found.extend(super::reconstruction::maps(analysis));
    found.into_iter().map(|(name, figure)| (name, figure.origin(about(analysis), program()))).collect()
}
