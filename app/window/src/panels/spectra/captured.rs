//! Captured variance: how many dimensions hold the energy of query and key weights.

use std::{collections::BTreeMap, sync::Arc};

use egui::{ComboBox, RichText, Ui};
use headroom_engine::analysis::{Analysis, CapturedVariance, LayerEnergies};

use super::options::HEIGHTS;
use crate::{
    export::Figure,
    format,
    plot::{Axis, Quantity, Series},
    theme::{self, Dash},
    widgets::{Chart, ChartView, HeightHandle, SpareHeight, ViewLine},
};

/// The three kinds of weights.
pub const KINDS: [(&str, &str); 3] = [
    ("Captured variance of queries", "W_Q"),
    ("Captured variance of keys", "W_K"),
    ("Captured variance of queries and keys", "W_Q W_K^T"),
];

/// The least width of one of the charts, so that its title has room, in points.
const ACROSS: f32 = 300.0;
/// Their usual height in points.
const HEIGHT: f32 = 220.0;

/// The curves, made anew only when the analysis or the choice changes.
#[derive(Default)]
pub struct Captured {
    of: Option<(Arc<Analysis>, Option<usize>)>,
    views: [ChartView; 3],
    /// The layer; none: the means of all layers.
    pub layer: Option<usize>,
}

/// The curves of the heads, and that of all of them together, of a kind.
fn of_kind(layer: &LayerEnergies, kind: usize) -> (&[Vec<f64>], &[f64]) {
    match kind {
        0 => (&layer.query, &layer.all_queries),
        1 => (&layer.key, &layer.all_keys),
        _ => (&layer.product, &layer.all_products),
    }
}

/// The mean of curves; a curve that ended holds all.
fn mean(curves: &[Vec<f64>]) -> Vec<f64> {
    let longest = curves.iter().map(Vec::len).max().unwrap_or(0);
    let at = |k: usize| curves.iter().map(move |curve| curve.get(k).or(curve.last()).copied().unwrap_or(f64::NAN));
    (0..longest).map(|k| at(k).sum::<f64>() / curves.len() as f64).collect()
}

fn series(curve: &[f64]) -> Series {
    curve.iter().zip(1_u32..).map(|(share, k)| (f64::from(k), *share)).collect()
}

impl Captured {
    /// Brings the curves up to date.
    pub fn update(&mut self, analysis: &Arc<Analysis>, captured: &CapturedVariance) {
        self.layer = self.layer.filter(|layer| *layer < captured.layers.len());
        let is_same =
            self.of.as_ref().is_some_and(|(known, layer)| Arc::ptr_eq(known, analysis) && *layer == self.layer);
        if !is_same {
            self.of = Some((Arc::clone(analysis), self.layer));
            for (kind, view) in self.views.iter_mut().enumerate() {
                view.lines = lines(captured, self.layer, kind);
            }
        }
    }

    /// Draws the chooser of the layer, the three charts with the handle that changes their height, and the numbers; how many rows the
    /// charts stand in.
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        captured: &CapturedVariance,
        height: &mut Option<f32>,
        spare: SpareHeight,
    ) -> usize {
        let palette = theme::palette(ui.visuals());
        ui.horizontal_wrapped(|ui| {
            ui.label(RichText::new("Captured variance of weights").color(palette.strong))
                .on_hover_text("Sum of the first k squared singular values over the sum of all, not centred");
            let text = self.layer.map_or_else(|| "All layers, means".to_owned(), |layer| format!("L{layer}"));
            let combo = ComboBox::from_id_salt("layer").selected_text(text).show_ui(ui, |ui| {
                ui.selectable_value(&mut self.layer, None, "All layers, means");
                for layer in 0..captured.layers.len() {
                    ui.selectable_value(&mut self.layer, Some(layer), format!("L{layer}"));
                }
            });
            combo.response.accessible_name("Layer of the captured variance");
        });
        let now = spare.of(*height, HEIGHT);
        let across = ((ui.available_width() / ACROSS) as usize).clamp(1, KINDS.len());
        let kinds: Vec<usize> = (0..KINDS.len()).collect();
        for (row, views) in kinds.chunks(across).zip(self.views.chunks_mut(across)) {
            ui.columns(across, |columns| {
                for ((ui, kind), view) in columns.iter_mut().zip(row).zip(views) {
                    view.show(ui, chart(*kind).height(now));
                }
            });
        }
        HeightHandle::new("captured variance", HEIGHTS).show(ui, height, now);
        for words in numbers(captured, self.layer) {
            ui.label(words);
        }
        KINDS.len().div_ceil(across)
    }

    /// One of the charts as it is exported.
    pub fn figure(&mut self, kind: usize, metadata: BTreeMap<String, String>) -> Option<Figure> {
        let mut figure = self.views.get_mut(kind)?.figure(chart(kind), metadata);
        if let Some(layer) = self.layer {
            figure.title = format!("{}, L{layer}", figure.title);
        }
        Some(figure)
    }
}

fn chart(kind: usize) -> Chart<'static> {
    const SALTS: [&str; 3] = ["captured queries", "captured keys", "captured products"];
    let (title, _) = KINDS.get(kind).copied().unwrap_or_default();
    Chart::new(SALTS.get(kind).copied().unwrap_or_default(), title, &[])
        .x_axis(Axis::new("Dimensions k").quantity(Quantity::Count))
        .y_axis(Axis::new("Share of the energy").quantity(Quantity::Fraction))
        .smoothing(0.0)
        .height(HEIGHT)
        .legend(true)
        .empty_text("No weights of that kind")
}

fn lines(captured: &CapturedVariance, layer: Option<usize>, kind: usize) -> Vec<ViewLine> {
    let mut lines = if let Some(layer) = layer.and_then(|layer| captured.layers.get(layer)) {
        let (heads, all) = of_kind(layer, kind);
        let colour = theme::run_colour(0);
        let faint = theme::mix(colour, theme::BACKDROP, 0.7);
        let named = heads.iter().zip(&layer.heads);
        let mut lines: Vec<ViewLine> = named
            .map(|(curve, head)| ViewLine::new(format!("H{head}"), series(curve), faint).drawn(Dash::Solid, 1.0))
            .collect();
        lines.push(ViewLine::new("Mean of heads", series(&mean(heads)), colour).drawn(Dash::Solid, 3.0));
        let together = ViewLine::new("All heads together", series(all), theme::run_colour(1));
        lines.push(together.drawn(Dash::Dashed, 2.0));
        lines
    } else {
        let count = captured.layers.len();
        let of = |(place, layer): (usize, &LayerEnergies)| {
            let series = series(&mean(of_kind(layer, kind).0));
            ViewLine::of_order((place, count), format!("L{place}, mean of heads"), series)
        };
        captured.layers.iter().enumerate().map(of).collect()
    };
    lines.retain(|line| !line.series.is_empty());
    lines
}

/// How many dimensions hold 90 % of the energy, a sentence a kind.
fn numbers(captured: &CapturedVariance, layer: Option<usize>) -> Vec<String> {
    let chosen = |place: usize| layer.is_none_or(|layer| layer == place);
    let layers = || captured.layers.iter().enumerate().filter(|(place, _)| chosen(*place)).map(|(_, layer)| layer);
    let mean_of = |values: Vec<f64>| {
        (!values.is_empty()).then(|| format::fixed(values.iter().sum::<f64>() / values.len() as f64, 1))
    };
    let sentence = |(kind, (_, symbol)): (usize, (&str, &str))| {
        let needed = |curve: &[f64]| LayerEnergies::dimensions_for(curve, 0.9).map(|k| k as f64);
        let heads = mean_of(layers().flat_map(|layer| of_kind(layer, kind).0).filter_map(|c| needed(c)).collect())?;
        let all = mean_of(layers().filter_map(|layer| needed(of_kind(layer, kind).1)).collect())?;
        let (of_head, of_all) = layers().next().map_or((0, 0), |layer| {
            let (heads, all) = of_kind(layer, kind);
            (heads.first().map_or(0, Vec::len), all.len())
        });
        Some(format!(
            "90 % of {symbol}: {heads} of {of_head} dimensions of a head, {all} of {of_all} of all heads together."
        ))
    };
    KINDS.into_iter().enumerate().filter_map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer() -> LayerEnergies {
        LayerEnergies {
            heads: vec![0, 2],
            query: vec![vec![0.5, 1.0], vec![0.7, 0.9, 1.0]],
            key: vec![vec![1.0], vec![1.0]],
            product: vec![vec![0.95, 1.0], vec![0.95, 1.0]],
            all_queries: vec![0.4, 0.8, 0.95, 1.0],
            all_keys: vec![1.0],
            all_products: vec![0.5, 1.0],
        }
    }

    #[test]
    fn the_mean_runs_over_heads_and_a_curve_that_ended_holds_all() {
        let found = mean(&layer().query);
        for (found, expected) in found.iter().zip([0.6, 0.95, 1.0]) {
            assert!((found - expected).abs() < 1e-12);
        }
        assert!(mean(&[]).is_empty());
    }

    #[test]
    fn heads_are_named_by_their_number_and_borrowers_have_none() {
        let captured = CapturedVariance { layers: vec![layer(), LayerEnergies::default()] };
        let names: Vec<String> = lines(&captured, Some(0), 0).into_iter().map(|line| line.name).collect();
        assert_eq!(names, ["H0", "H2", "Mean of heads", "All heads together"]);
        assert!(lines(&captured, Some(1), 0).is_empty());
        assert_eq!(lines(&captured, None, 2).len(), 1, "a layer in which no head scores has no curve");
        let told = numbers(&captured, Some(0));
        assert_eq!(told[0], "90 % of W_Q: 2.0 of 2 dimensions of a head, 3.0 of 4 of all heads together.");
        assert!(numbers(&captured, Some(1)).is_empty());
    }
}
