use egui::{ComboBox, RichText, Ui, vec2};
use headroom_engine::{generate::SourceAttention, protocol::WrittenText};

use crate::{
    export::MapFigure,
    format,
    panels::{analysis::MapStyle, live::drawable},
    plot::{HeatAxis, HeatData, HeatScale},
    theme,
    widgets::{HeatMap, HeatState},
};

/// What a side remembers of its map of attention.
#[derive(Debug, Default)]
pub struct AttentionView {
    /// The layer; none: the mean of all.
    layer: Option<usize>,
    /// What is drawn, and of which layer of which request.
    drawn: Option<((u64, Option<usize>), HeatData)>,
    state: HeatState,
}

/// A layer's part, or the mean of the layers in which a head attends.
fn of_layer(attention: &SourceAttention, layer: Option<usize>) -> Vec<f32> {
    let size = attention.tokens * attention.source;
    let layers: Vec<&[f32]> = attention.values.chunks(size.max(1)).collect();
    if let Some(layer) = layer {
        return layers.get(layer).map(|values| values.to_vec()).unwrap_or_default();
    }
    let mean = |at: usize| {
        let there: Vec<f32> =
            layers.iter().filter_map(|values| values.get(at)).copied().filter(|value| !value.is_nan()).collect();
        there.iter().sum::<f32>() / there.len() as f32
    };
    (0..size).map(mean).collect()
}

impl AttentionView {
    /// Draws what the tokens of a text attended to. `number` tells texts apart. Returns the figure where it is to be exported.
    pub fn ui(&mut self, ui: &mut Ui, text: &WrittenText, number: u64, second: bool) -> Option<MapFigure> {
        let palette = theme::palette(ui.visuals());
        let Some(attention) = text.attention.as_deref() else {
            let words = "The source and the text are too long: the maps of all heads would take more than 256 MiB.";
            ui.label(RichText::new(words).color(palette.weak));
            return None;
        };
        let suffix = if second { ", second setting" } else { "" };
        let mut wants_export = false;
        ui.horizontal_wrapped(|ui| {
            let name = |layer: Option<usize>| {
                layer.map_or_else(|| "Mean of all layers".to_owned(), |layer| format!("Layer {layer}"))
            };
            let combo = ComboBox::from_id_salt(("attention layer", second)).selected_text(name(self.layer));
            let combo = combo.show_ui(ui, |ui| {
                for layer in std::iter::once(None).chain((0..attention.layers).map(Some)) {
                    ui.selectable_value(&mut self.layer, layer, name(layer));
                }
            });
            combo.response.accessible_name(format!("Layer of the attention{suffix}"));
            let export = ui.button("Export…").on_hover_text("PNG, SVG or CSV");
            wants_export = export.accessible_name(format!("Export the attention{suffix}")).clicked();
        });
        self.layer = self.layer.filter(|layer| *layer < attention.layers);
        let key = (number, self.layer);
        if self.drawn.as_ref().is_none_or(|(drawn, _)| *drawn != key) {
            let values = of_layer(attention, self.layer);
            self.drawn = Some((key, HeatData::new(attention.tokens, attention.source, values)));
        }
        let (_, data) = self.drawn.as_ref()?;
        let visible = |words: &[String]| -> Vec<String> {
            words.iter().map(|word| drawable(ui, word).0.replace('\n', " ")).collect()
        };
        let (rows, columns) = (visible(&text.pieces), visible(&text.source));
        let row_axis = HeatAxis::names("Generated token", rows.clone());
        let column_axis = HeatAxis::names("Source", columns.clone());
        let style = MapStyle { scale: HeatScale::SquareRoot, is_whole: false, ..MapStyle::default() };
        let title = "Attention of the generated tokens on the source";
        let figure = MapFigure::new(title, data.clone(), (row_axis, column_axis), style.tone(data.extent()));
        let figure = figure.value("Attention, mean of the heads");
        let word = |words: &[String], at: usize| words.get(at).cloned().unwrap_or_default();
        let cell_name =
            |row: usize, column: usize| format!("\"{}\" on {column} \"{}\"", word(&rows, row), word(&columns, column));
        let name = format!("attention on the source{suffix}");
        let shown = HeatMap::of(&name, &figure)
            .cell_name(&cell_name)
            .room(vec2(ui.available_width(), 320.0))
            .show(ui, &mut self.state);
        let words = shown.hovered.map_or_else(
            || {
                "A row is a generated token; what is missing from 1 in it went to tokens that were generated before."
                    .to_owned()
            },
            |(row, _)| {
                let sum: f32 = (0..data.columns()).map(|column| data.at(row, column)).sum();
                format!("\"{}\": {} of its attention on the source", word(&rows, row), format::percent(f64::from(sum)))
            },
        );
        ui.label(RichText::new(words).small().color(palette.weak));
        wants_export.then(|| self.state.seen_of(figure))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_leaves_out_layers_in_which_no_head_attends() {
        let values = vec![0.2, 0.8, 0.4, 0.6, f32::NAN, f32::NAN, f32::NAN, f32::NAN, 0.6, 0.4, 0.0, 1.0];
        let attention = SourceAttention { layers: 3, tokens: 2, source: 2, values };
        let mean = of_layer(&attention, None);
        assert!(mean.iter().zip([0.4, 0.6, 0.2, 0.8]).all(|(a, b)| (a - b).abs() < 1e-6));
        assert_eq!(of_layer(&attention, Some(2)), [0.6, 0.4, 0.0, 1.0]);
        assert!(of_layer(&attention, Some(1)).iter().all(|value| value.is_nan()));
    }
}
