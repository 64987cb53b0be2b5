//! The mixing matrices M of a collaborative run, a picture a layer: how much each head weighs each of the columns of
//! queries and keys that all heads share.

use std::collections::BTreeMap;

use egui::{RichText, Ui, vec2};
use headroom_engine::{
    attention::{Cell, HeadPlan, ModelPlan},
    config::Compatibility,
    store::{RunId, RunRecord, SnapshotData},
};

use crate::{
    export::MapFigure,
    format,
    plot::{HeatAxis, HeatData, HeatScale, Tone},
    theme::{self, ColourMap},
    widgets::{HeatMap, HeatState},
};

/// The most height of a picture in points.
const HEIGHT: f32 = 230.0;
/// The least height of a picture in points.
const LEAST_HEIGHT: f32 = 130.0;
/// Height of a row.
const ROW: f32 = 15.0;

/// The pictures of the run that is inspected.
#[derive(Default)]
pub struct MixingView {
    /// The config that `plan` is of.
    config: serde_json::Value,
    /// Which heads compute; none where heads do not collaborate.
    plan: Option<HeadPlan>,
    /// The run and step that `maps` are of.
    shown: Option<(RunId, u64)>,
    maps: Vec<Map>,
    states: BTreeMap<u32, HeatState>,
}

/// The matrix of a layer.
struct Map {
    layer: u32,
    heads: HeatAxis,
    data: HeatData,
}

impl MixingView {
    /// Whether the run has such matrices, as far as its config tells.
    pub fn concerns(&mut self, record: &RunRecord) -> bool {
        if self.config != record.config {
            self.config = record.config.clone();
            self.plan = collaborating(record);
            self.shown = None;
        }
        self.plan.is_some()
    }

    /// Draws the newest matrices; what is to be exported.
    pub fn ui(&mut self, ui: &mut Ui, record: &RunRecord, snapshots: Option<&[SnapshotData]>) -> Option<MapFigure> {
        let palette = theme::palette(ui.visuals());
        let Some(snapshots) = snapshots else {
            ui.label("Loading…");
            return None;
        };
        self.update(&record.summary.id, snapshots);
        let Some((_, step)) = self.shown.clone().filter(|_| !self.maps.is_empty()) else {
            ui.label(if record.summary.state.is_ended() {
                "None: it ended before its first live analysis (\"Analyse every\" in Configure)."
            } else {
                "None yet: they are kept with the first live analysis."
            });
            return None;
        };
        let tone = self.tone();
        let text = format!(
            "At step {}. Rows are heads, columns what all heads share. Colours from {} (blue) over 0 to {} (orange).",
            format::count(step),
            format::significant(f64::from(tone.low), 2),
            format::significant(f64::from(tone.high), 2)
        );
        ui.label(RichText::new(text).small().color(palette.weak)).on_hover_text(
            "Scores of head i are x Wq diag(m) Wkᵀ yᵀ, where m is row i. Heads with similar rows score similarly; a \
             column of zeros is used by no head.",
        );
        let columns = shared_columns();
        let mut taken = None;
        for Map { layer, heads, data } in &self.maps {
            ui.horizontal(|ui| {
                ui.label(format!("Layer {layer}"));
                let button = ui.small_button("Export…").on_hover_text("PNG, SVG or CSV");
                if button.accessible_name(format!("Export the mixing matrix of layer {layer}")).clicked() {
                    taken = Some(figure(record, step, (*layer, heads, data), tone));
                }
            });
            let height = (data.rows() as f32 * ROW + 50.0).clamp(LEAST_HEIGHT, HEIGHT);
            let name = format!("mixing of layer {layer}");
            let state = self.states.entry(*layer).or_default();
            let map = HeatMap::new(&name, data).axes(heads, &columns).tone(tone).value("M").stretched();
            map.room(vec2(ui.available_width(), height)).show(ui, state);
        }
        taken
    }

    /// The newest matrices of a run as figures, by layer; none where its heads do not collaborate.
    pub fn figures(record: &RunRecord, snapshots: &[SnapshotData]) -> Vec<(u32, MapFigure)> {
        let mut view = Self::default();
        if !view.concerns(record) {
            return Vec::new();
        }
        view.update(&record.summary.id, snapshots);
        let (step, tone) = (view.shown.as_ref().map_or(0, |(_, step)| *step), view.tone());
        let figure = |map: &Map| (map.layer, figure(record, step, (map.layer, &map.heads, &map.data), tone));
        view.maps.iter().map(figure).collect()
    }

    /// The same colours for every layer, zero in their middle.
    fn tone(&self) -> Tone {
        let most = |map: &Map| map.data.extent().least.abs().max(map.data.extent().most.abs());
        let most = self.maps.iter().map(most).filter(|most| most.is_finite()).fold(f32::MIN_POSITIVE, f32::max);
        Tone::between(ColourMap::Difference, HeatScale::Linear, -most, most)
    }

    fn update(&mut self, run: &RunId, snapshots: &[SnapshotData]) {
        let step = snapshots.iter().map(|one| one.record.step).max().unwrap_or_default();
        let key = (run.clone(), step);
        if self.shown.as_ref() == Some(&key) {
            return;
        }
        if self.shown.as_ref().is_none_or(|(shown, _)| shown != run) {
            self.states.clear();
        }
        self.shown = Some(key);
        let newest = snapshots.iter().filter(|one| one.record.step == step);
        self.maps = newest.filter_map(|one| map(one, self.plan.as_ref()?)).collect();
    }
}

fn shared_columns() -> HeatAxis {
    HeatAxis::numbered("Shared column", "")
}

/// A matrix as it is exported.
fn figure(record: &RunRecord, step: u64, (layer, heads, data): (u32, &HeatAxis, &HeatData), tone: Tone) -> MapFigure {
    let title = format!("Mixing matrix of layer {layer}");
    MapFigure {
        subtitle: format!("{}, step {}", record.summary.name, format::count(step)),
        value: "M".to_owned(),
        is_stretched: true,
        metadata: BTreeMap::from([
            ("run".to_owned(), record.summary.id.to_string()),
            ("config".to_owned(), record.config_toml.clone()),
        ]),
        ..MapFigure::new(title, data.clone(), (heads.clone(), shared_columns()), tone)
    }
}

/// The heads of a run in which they collaborate.
fn collaborating(record: &RunRecord) -> Option<HeadPlan> {
    let config = record.json_config().ok()?;
    if !matches!(config.attention.compatibility, Compatibility::Collaborative(_)) {
        return None;
    }
    // The vocabulary has no say in which heads score.
    ModelPlan::resolve(&config, 1).ok().map(|plan| plan.stack.head_plan)
}

/// The picture of a snapshot: a row for each head that computes.
fn map(snapshot: &SnapshotData, plan: &HeadPlan) -> Option<Map> {
    let layer = snapshot.record.layer?;
    let &[rows, columns] = snapshot.record.shape.as_slice() else { return None };
    let values = snapshot.to_f32()?;
    if rows.checked_mul(columns) != Some(values.len() as u64) {
        // The shape of a store from elsewhere may promise anything.
        return None;
    }
    let cells = plan.row(layer as usize).iter().enumerate();
    let names: Vec<String> =
        cells.filter(|(_, cell)| matches!(cell, Cell::Compute)).map(|(head, _)| format!("H{head}")).collect();
    let data = HeatData::new(rows as usize, columns as usize, values);
    Some(Map { layer, heads: HeatAxis::names("", names), data })
}

#[cfg(test)]
mod tests {
    use headroom_engine::store::SnapshotRecord;

    use super::*;
    use crate::examples;

    fn record(attention: &str) -> RunRecord {
        let mut record = examples::record(3, "run");
        let toml = format!(
            "format = 1\n[model]\nlayers = 2\nheads = 4\nwidth = 16\nfeed_forward = 16\n[attention]\n{attention}\n"
        );
        let config = headroom_engine::config::from_toml(&toml).unwrap();
        record.config = serde_json::to_value(&config).unwrap();
        record
    }

    fn snapshot(step: u64, layer: u32, rows: u64, value: f32) -> SnapshotData {
        let values = vec![value; rows as usize * 3];
        let record = SnapshotRecord {
            id: 1,
            step,
            kind: "mixing".to_owned(),
            layer: Some(layer),
            head: None,
            dtype: "f32".to_owned(),
            shape: vec![rows, 3],
            created_ms: 0,
            bytes: values.len() as u64 * 4,
        };
        SnapshotData { record, data: values.iter().flat_map(|value: &f32| value.to_le_bytes()).collect() }
    }

    #[test]
    fn a_picture_a_layer_of_the_newest_step_with_the_heads_that_compute() {
        let collaborative = "compatibility = { kind = \"collaborative\", d_k = 3 }\n\
            reuse = { kind = \"first\", layers = 1, heads = 3 }";
        let record = record(collaborative);
        let mut view = MixingView::default();
        assert!(view.concerns(&record));
        let id = record.summary.id.clone();
        view.update(&id, &[snapshot(10, 0, 4, 9.0), snapshot(20, 0, 4, -0.5), snapshot(20, 1, 1, 0.25)]);
        let shapes: Vec<_> = view.maps.iter().map(|map| (map.layer, map.data.rows(), map.data.columns())).collect();
        assert_eq!(shapes, [(0, 4, 3), (1, 1, 3)]);
        assert_eq!((view.maps[0].heads.name(3), view.maps[1].heads.name(0)), ("H3".to_owned(), "H0".to_owned()));
        assert_eq!(view.tone().place(0.0), Some(0.5), "zero is neutral");
        assert_eq!(view.tone().place(-0.5), Some(0.0), "layers share their colours");
        view.update(&id, &[snapshot(30, 0, 4, 2.0)]);
        assert_eq!((view.maps.len(), view.maps[0].data.at(0, 0)), (1, 2.0), "it follows the training");
    }

    #[test]
    fn other_runs_have_none() {
        let mut view = MixingView::default();
        assert!(!view.concerns(&record("compatibility = { kind = \"symmetric\" }")));
    }
}
