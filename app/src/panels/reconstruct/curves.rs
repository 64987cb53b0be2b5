//! Errors over the number of pairs.

use std::{collections::BTreeMap, sync::Arc};

use egui::{Color32, ComboBox, Ui};
use headroom_engine::analysis::{
    Analysis,
    reconstruction::{ErrorCurve, Reconstruction, ScopeReconstruction},
};
use serde::{Deserialize, Serialize};

use crate::{
    export::Figure,
    findings::{UNRELIABLE, computed_pairs, parted, rising},
    plot::{Axis, Quantity, Scale, Series},
    theme::{self, Dash},
    widgets::{Chart, ChartLine, ChartState, SharedX},
};

/// Its title, also of the exported figure.
pub const TITLE: &str = "Error of restored scores";

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

struct Line {
    name: String,
    series: Series,
    colour: Color32,
    dash: Dash,
    width: f32,
}

/// The curves, made anew only when what they show changes.
#[derive(Default)]
pub struct Curves {
    of: Option<(Arc<Analysis>, usize, Options)>,
    lines: Vec<Line>,
    places: Vec<f64>,
    state: ChartState,
    shared: SharedX,
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
            self.lines = lines(found, shown, &self.places, options);
        }
    }

    /// Draws the chart, with a mark at k.
    pub fn ui(&mut self, ui: &mut Ui, k: usize, options: Options) {
        let marks = self.marks(k);
        let mut state = std::mem::take(&mut self.state);
        let mut shared = std::mem::take(&mut self.shared);
        chart(&self.drawn(&marks), options).show(ui, &mut state, &mut shared);
        (self.state, self.shared) = (state, shared);
    }

    fn marks(&self, k: usize) -> Vec<(f64, String)> {
        self.places.get(k).map(|place| (*place, format!("k = {k}"))).into_iter().collect()
    }

    fn drawn<'a>(&'a self, marks: &'a [(f64, String)]) -> Vec<ChartLine<'a>> {
        let mut all = Vec::with_capacity(self.lines.len());
        for (place, Line { name, series, colour, dash, width }) in self.lines.iter().enumerate() {
            let marks = if place == 0 { marks } else { &[] };
            let line = ChartLine::new(place as u64, name, series);
            all.push(ChartLine { colour: *colour, dash: *dash, width: *width, marks, ..line });
        }
        all
    }

    /// The chart as it is exported.
    pub fn figure(&mut self, k: usize, options: Options, metadata: BTreeMap<String, String>) -> Figure {
        let marks = self.marks(k);
        let mut state = std::mem::take(&mut self.state);
        let figure = chart(&self.drawn(&marks), options).figure(&mut state, &self.shared, metadata);
        self.state = state;
        figure
    }
}

fn chart<'a>(lines: &'a [ChartLine<'a>], options: Options) -> Chart<'a> {
    Chart::new("errors", TITLE, lines)
        .x_axis(options.over.axis())
        .y_axis(
            Axis::new("Squared error, share of the scores' squares")
                .quantity(Quantity::Fraction)
                .scale(Scale::log_if(!options.is_linear)),
        )
        .smoothing(0.0)
        .height(300.0)
        .legend(true)
        .empty_text("No layer before the last computes scores, so there are no FLOPs to compare")
}

fn lines(found: &Reconstruction, scope: &ScopeReconstruction, places: &[f64], options: Options) -> Vec<Line> {
    let series = |places: &[f64], errors: &[f64]| -> Series {
        let points = places.iter().copied().zip(errors.iter().copied());
        points.filter(|(_, error)| options.is_linear || *error > LEAST).collect()
    };
    let mut all = Vec::new();
    let mut add = |name: &str, number: u64, places: &[f64], curve: &ErrorCurve, reliable: usize| {
        let colour = theme::run_style(number).0;
        let width = if number == 0 { 3.0 } else { ChartLine::WIDTH };
        let has_held_out = !curve.held_out.is_empty();
        if has_held_out {
            let (sound, rest) = parted(&curve.held_out, reliable);
            let held_out = series(places, &sound);
            all.push(Line { name: format!("{name}, held out"), series: held_out, colour, dash: Dash::Solid, width });
            let rest = series(places.get(reliable..).unwrap_or_default(), &rest);
            if !rest.is_empty() {
                let (colour, dash, width) = (theme::pale(colour), Dash::Dotted, ChartLine::WIDTH);
                all.push(Line { name: format!("{name}, {UNRELIABLE}"), series: rest, colour, dash, width });
            }
        }
        if !has_held_out || !options.hides_fitted {
            let dash = if has_held_out { Dash::Dashed } else { Dash::Solid };
            let series = series(places, &curve.fitted);
            all.push(Line { name: format!("{name}, fitted"), series, colour, dash, width: ChartLine::WIDTH });
        }
    };
    if places.is_empty() {
        return Vec::new();
    }
    let reliable = scope.reliable_pairs(found.tokens);
    add("Best pairs", 0, places, &scope.greedy, reliable);
    // A projection needs all scores first: it has no FLOPs to save.
    if options.over != Overlay::Flops {
        // Nor are they fitted to scores: their errors have no pole.
        add("Eigenvectors", 1, places, &scope.eigen, found.tokens);
    }
    add("Pairs by chance", 2, places, &scope.random, reliable);
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
        add("Pairs of the whole map", 3, places, &whole.greedy, whole.reliable_pairs());
    }
    all
}

#[cfg(test)]
mod tests {
    use headroom_engine::analysis::reconstruction::WholeCurves;

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
