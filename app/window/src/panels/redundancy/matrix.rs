//! Layers against layers, and the two heads behind a pair.

use egui::{RichText, Ui, vec2};
use headroom_engine::{analysis::Similarity, attention::HeadAt};

use super::derived::Derived;
use crate::{
    export::MapFigure,
    format,
    panels::analysis::{MapStyle, formula, head_name},
    theme,
    widgets::{HeatMap, HeatState},
};

/// Its title, also of the exported figure.
pub const TITLE: &str = "Layers by their most similar heads";

/// The matrix, all of it.
fn whole(similarity: &Similarity, derived: &Derived, style: MapStyle) -> MapFigure {
    MapFigure {
        title: format!("{TITLE}, {}", similarity.measure.label()),
        tone: style.tone(derived.matrix.data.extent()),
        notes: vec![formula(similarity.measure)],
        ..derived.matrix.clone()
    }
}

/// Draws the matrix, at most so high; a click chooses a pair of layers.
pub fn matrix_ui(
    ui: &mut Ui,
    similarity: &Similarity,
    derived: &Derived,
    (style, height): (MapStyle, f32),
    state: &mut HeatState,
    pair: &mut Option<(usize, usize)>,
) {
    let palette = theme::palette(ui.visuals());
    ui.label(RichText::new(TITLE).color(palette.strong));
    let cell_name = |row: usize, column: usize| match similarity.best_pair(row, column) {
        Some((a, b, _)) if row != column => format!("{} and {}", head_name(a), head_name(b)),
        _ if row == column => format!("L{row} with itself"),
        _ => format!("L{row} and L{column}"),
    };
    let shown = HeatMap::of("similarity of layers", &whole(similarity, derived, style))
        .cell_name(&cell_name)
        .selected(*pair)
        .room(vec2(ui.available_width(), height))
        .show(ui, state);
    if shown.clicked.is_some() {
        *pair = shown.clicked;
    }
}

/// The matrix as it is exported.
pub fn figure(similarity: &Similarity, derived: &Derived, style: MapStyle, state: &HeatState) -> MapFigure {
    state.seen_of(whole(similarity, derived, style))
}

/// The two heads behind a pair of layers; a click on one chooses it. True when both are to be shown side by side.
pub fn pair_ui(ui: &mut Ui, similarity: &Similarity, pair: (usize, usize), head: &mut Option<HeadAt>) -> bool {
    let palette = theme::palette(ui.visuals());
    let (row, column) = pair;
    if row == column {
        ui.label(format!("L{row} with itself. Click a cell off the diagonal to see its two heads."));
        return false;
    }
    let Some((a, b, value)) = similarity.best_pair(row, column) else {
        ui.label(if similarity.borrowers() > 0 {
            format!(
                "L{row} and L{column} have maps that one layer computed, or one has none: there is nothing to find."
            )
        } else {
            format!("L{row} or L{column} has no map to compare.")
        });
        return false;
    };
    let drawn = ui.horizontal_wrapped(|ui| {
        ui.label("Most similar in");
        ui.label(RichText::new(format!("L{row} and L{column}:")).color(palette.strong));
        for (at, words) in [(a, "and"), (b, "")] {
            let button = ui.selectable_label(*head == Some(at), RichText::new(head_name(at)).strong());
            if button.on_hover_text("Lists the heads that are similar to it").clicked() {
                *head = Some(at);
            }
            if !words.is_empty() {
                ui.label(words);
            }
        }
        ui.label(format!("with {}", format::fixed(value, 3)));
        ui.button("Show their maps")
            .on_hover_text("Opens Heads with both side by side, on the best checkpoint")
            .clicked()
    });
    drawn.inner
}
