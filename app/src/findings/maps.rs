use std::collections::BTreeMap;

use headroom_engine::analysis::Analysis;

use super::words::about;
use crate::{
    export::MapFigure,
    plot::{HeatAxis, HeatData, HeatScale, Tone},
    theme::ColourMap,
};

/// Every map of an analysis as a figure, with a name that is fit for a file.
pub fn maps(analysis: &Analysis) -> Vec<(String, MapFigure)> {
    let finished = |figure: MapFigure| MapFigure {
        subtitle: about(analysis),
        metadata: BTreeMap::from([("program".to_owned(), format!("headroom {}", env!("CARGO_PKG_VERSION")))]),
        ..figure
    };
    let mut found = Vec::new();
    for similarity in &analysis.similarity {
        let layers = similarity.layers;
        let data = HeatData::from_f64(layers, layers, &similarity.layer_matrix());
        let axes = (HeatAxis::numbered("Layer", "L"), HeatAxis::numbered("Layer", "L"));
        let tone = Tone::between(ColourMap::Viridis, HeatScale::Linear, 0.0, 1.0);
        let title = format!("Most similar heads of two layers, {}", similarity.measure.label());
        let figure = MapFigure {
            value: "Similarity".to_owned(),
            notes: vec![similarity.measure.formula().to_owned()],
            ..MapFigure::new(title, data, axes, tone)
        };
        found.push((format!("similarity-{}", similarity.measure), finished(figure)));
    }
    let spectra = analysis.spectra.iter();
    let patterns = spectra.flat_map(|spectra| spectra.patterns.iter().map(move |pattern| (pattern, spectra.tokens)));
    for (place, (pattern, tokens)) in patterns.enumerate() {
        let data = HeatData::new(tokens, tokens, pattern.clone());
        let tone = Tone::fitting(ColourMap::Difference, HeatScale::Linear, data.extent());
        let axes = (HeatAxis::numbered("Query", ""), HeatAxis::numbered("Key", ""));
        let title = format!("Component {} of the scores", place + 1);
        let figure = MapFigure { value: "Weight".to_owned(), ..MapFigure::new(title, data, axes, tone) };
        found.push((format!("component-{}", place + 1), finished(figure)));
    }
    found.extend(super::reconstruction::maps(analysis));
    found
}
