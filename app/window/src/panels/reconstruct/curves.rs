//! Errors over the number of pairs.

use std::{collections::BTreeMap, sync::Arc};

use egui::{ComboBox, Ui};
use headroom_engine::analysis::{
    Analysis,
    reconstruction::{Reconstruction, ScopeReconstruction},
};
use serde::{Deserialize, Serialize};

use crate::{
    export::Figure,
    findings::{ErrorLine, METHODS, UNRELIABLE, computed_pairs, error_lines, rising},
    format::with_capital,
    plot::{Axis, Quantity, Scale, Series},
    theme::{self, Dash},
    widgets::{Chart, ChartLine, ChartView, ViewLine},
};

/// Its title, also of the exported figure.
pub const TITLE: &str = "Error of restored scores";

/// Its usual height in points.
pub const HEIGHT: f32 = 300.0;

/// Errors below this have no place on a logarithmic axis: they are rounding.
const LEAST: f64 = 1e-6;

/// Horizontal axis of the errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlay {
    /// The number of computed pairs, k.
    #[default]
    Pairs,
    /// Computed pairs of the map as a share of all.
    Share,
    /// FLOPs of scores relative to all pairs.
    Flops,
}

impl Overlay {
    const ALL: [Self; 3] = [Self::Pairs, Self::Share, Self::Flops];

    fn label(self) -> &'static str {
        match self {
            Self::Pairs => "pairs per query",
            Self::Share => "share of all pairs",
            Self::Flops => "FLOPs of scores",
        }
    }

    fn axis(self) -> Axis {
        match self {
            Self::Pairs => Axis::new("Pairs per query, k").quantity(Quantity::Count),
            Self::Share => Axis::new("Computed pairs, share of all").quantity(Quantity::Fraction),
            Self::Flops => Axis::new("FLOPs of scores, relative to all pairs"),
        }
    }

    /// The place of every k.
    fn places(self, found: &Reconstruction) -> Vec<f64> {
        match self {
            Self::Pairs => (0..=found.tokens).map(|k| k as f64).collect(),
            Self::Share => {
                let computed = computed_pairs(found);
                let all = computed.last().copied().unwrap_or(1.0).max(1.0);
                computed.into_iter().map(|pairs| pairs / all).collect()
            }
            Self::Flops => rising(&found.score_flops).to_vec(),
        }
    }
}

/// How the curves are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    over: Overlay,
    is_linear: bool,
    hides_fitted: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { over: Overlay::Pairs, is_linear: false, hides_fitted: false }
    }
}

impl Options {
    /// Draws the choices into a row.
    pub fn ui(&mut self, ui: &mut Ui) {
        ui.label("Over");
        let combo = ComboBox::from_id_salt("over").width(140.0).selected_text(self.over.label()).show_ui(ui, |ui| {
            for over in Overlay::ALL {
                ui.selectable_value(&mut self.over, over, over.label());
            }
        });
        combo.response.accessible_name("Horizontal axis of the errors");
        let mut is_log = !self.is_linear;
        if ui.checkbox(&mut is_log, "Log errors").changed() {
            self.is_linear = !is_log;
        }
        let mut shows = !self.hides_fitted;
        let shown = ui.checkbox(&mut shows, "Fitted").on_hover_text(
            "Errors on the examples from which pairs, maps and directions were chosen, dashed: too optimistic where \
             these are few",
        );
        if shown.changed() {
            self.hides_fitted = !shows;
        }
    }
}

/// The curves, made anew only when what they show changes.
#[derive(Default)]
pub struct Curves {
    of: Option<(Arc<Analysis>, usize, Options)>,
    view: ChartView,
    places: Vec<f64>,
}

impl Curves {
    /// Brings the curves up to date.
    pub fn update(&mut self, analysis: &Arc<Analysis>, found: &Reconstruction, scope: usize, options: Options) {
        let is_same = self
            .of
            .as_ref()
            .is_some_and(|(known, at, how)| Arc::ptr_eq(known, analysis) && (*at, *how) == (scope, options));
        if !is_same && let Some(shown) = found.scopes.get(scope) {
            self.of = Some((Arc::clone(analysis), scope, options));
            self.places = options.over.places(found);
            self.view.lines = lines(found, shown, &self.places, options);
        }
    }

    /// Draws the chart, so high, with a mark at k.
    pub fn ui(&mut self, ui: &mut Ui, k: usize, options: Options, height: f32) {
        self.view.marks = self.places.get(k).map(|place| (*place, format!("k = {k}"))).into_iter().collect();
        self.view.show(ui, chart(options).height(height));
    }

    /// The chart as it is exported.
    pub fn figure(&mut self, options: Options, metadata: BTreeMap<String, String>) -> Figure {
        self.view.figure(chart(options), metadata)
    }
}

fn chart(options: Options) -> Chart<'static> {
    Chart::new("errors", TITLE, &[])
        .x_axis(options.over.axis())
        .y_axis(
            Axis::new("Squared error, share of the scores' squares")
                .quantity(Quantity::Fraction)
                .scale(Scale::log_if(!options.is_linear)),
        )
        .smoothing(0.0)
        .height(HEIGHT)
        .legend(true)
        .empty_text("No layer before the last computes scores, so there are no FLOPs to compare")
}

fn lines(found: &Reconstruction, scope: &ScopeReconstruction, places: &[f64], options: Options) -> Vec<ViewLine> {
    if places.is_empty() {
        return Vec::new();
    }
    let reliable = scope.reliable_pairs(found.tokens);
    let mut all = Vec::new();
    for (number, (name, curve)) in (0..).zip(METHODS.into_iter().zip([&scope.greedy, &scope.eigen, &scope.random])) {
        // A projection needs all scores first, so it has no FLOPs to save; nor is it fitted to scores: its errors have no pole.
        let is_projection = number == 1;
        if !is_projection || options.over != Overlay::Flops {
            let reliable = if is_projection { found.tokens } else { reliable };
            all.extend(error_lines(name, number, places, curve, reliable));
        }
    }
    if let Some(whole) = found.whole.as_ref().filter(|_| options.over != Overlay::Pairs) {
        let share = |k: usize| k as f64 / whole.pairs.max(1) as f64;
        let places: Vec<f64> = match options.over {
            Overlay::Flops => rising(&whole.flops).to_vec(),
            Overlay::Share | Overlay::Pairs => (0..=whole.pairs).map(share).collect(),
        };
        let most = if options.over == Overlay::Flops { 2.0 } else { f64::INFINITY };
        // Its restoring soon costs more than all pairs: what lies far beyond them says nothing.
        let within = places.iter().take_while(|place| **place <= most).count();
        let places = places.get(..within).unwrap_or_default();
        all.extend(error_lines("pairs of the whole map", 3, places, &whole.greedy, whole.reliable_pairs()));
    }
    all.retain(|line| line.dash != Dash::Dashed || !options.hides_fitted);
    all.into_iter().filter_map(|line| drawn(line, options)).collect()
}

/// A line as it is drawn; none where errors that are not reliable have no place on the axis.
fn drawn(line: ErrorLine, options: Options) -> Option<ViewLine> {
    let ErrorLine { method, is_held_out, points, number, dash, is_reliable } = line;
    let text = match (is_reliable, is_held_out) {
        (false, _) => UNRELIABLE,
        (true, true) => "held out",
        (true, false) => "fitted",
    };
    let series: Series = points.into_iter().filter(|(_, error)| options.is_linear || *error > LEAST).collect();
    let colour = theme::run_style(number).0;
    if !is_reliable && series.is_empty() {
        return None;
    }
    let colour = if is_reliable { colour } else { theme::pale(colour) };
    let width = if number == 0 && is_held_out && is_reliable { 3.0 } else { ChartLine::WIDTH };
    Some(ViewLine::new(with_capital(&format!("{method}, {text}")), series, colour).drawn(dash, width))
}

#[cfg(test)]
mod tests {
    use headroom_engine::analysis::reconstruction::{ErrorCurve, WholeCurves};

    use super::*;

    #[test]
    fn curves_stand_at_pairs_shares_or_flops() {
        let curve = ErrorCurve { fitted: vec![1.0, 0.25, 0.0], held_out: vec![1.0, 0.5, 0.0] };
        let scope = ScopeReconstruction {
            samples: 4,
            greedy: curve.clone(),
            eigen: curve.clone(),
            random: curve.clone(),
            ..ScopeReconstruction::default()
        };
        let whole = WholeCurves {
            pairs: 3,
            greedy: ErrorCurve { fitted: vec![1.0; 4], held_out: vec![] },
            flops: vec![0.0, 1.5, 3.0, 1.0],
            ..WholeCurves::default()
        };
        let found = Reconstruction {
            tokens: 2,
            is_causal: true,
            scopes: vec![scope.clone()],
            whole: Some(whole),
            score_flops: vec![0.0, 1.25, 1.0],
            ..Reconstruction::default()
        };
        let of = |over: Overlay, is_linear: bool| {
            let options = Options { over, is_linear, ..Options::default() };
            lines(&found, &scope, &over.places(&found), options)
        };
        let pairs = of(Overlay::Pairs, false);
        let names: Vec<&str> = pairs.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names.len(), 6, "{names:?}");
        assert_eq!(pairs[0].series.points().collect::<Vec<_>>(), [(0.0, 1.0), (1.0, 0.5)], "nought has no logarithm");
        let share = of(Overlay::Share, true);
        assert_eq!(share[0].series.x(), [0.0, 2.0 / 3.0, 1.0], "the first of two queries sees one key");
        assert_eq!(share[6].series.x().len(), 4);
        let flops = of(Overlay::Flops, true);
        assert_eq!((flops.len(), flops[0].series.x()), (5, &[0.0, 1.25][..]), "beyond, all pairs cost less");
        assert_eq!(flops[4].series.x(), [0.0, 1.5], "far beyond all pairs");
        // From two maps one pair can be fitted: beyond, the line is another one.
        let scope = ScopeReconstruction { samples: 2, ..scope.clone() };
        let options = Options { is_linear: true, ..Options::default() };
        let few = lines(&found, &scope, &Overlay::Pairs.places(&found), options);
        let told: Vec<(&str, usize)> = few.iter().map(|line| (line.name.as_str(), line.series.x().len())).collect();
        assert_eq!(
            told[..3],
            [("Best pairs, held out", 2), ("Best pairs, too few samples", 2), ("Best pairs, fitted", 3)]
        );
        assert_eq!((few[1].series.x()[0], few.len()), (1.0, 8), "eigenvectors are whole");
        assert!(few[0].colour != few[1].colour);
    }
}
