//! Cumulative energy over the number of components.

use std::{collections::BTreeMap, sync::Arc};

use egui::{Color32, Ui};
use headroom_engine::{
    analysis::{Analysis, ScoreSpectra, Spectrum},
    config::counted,
    store::{AnalysisSummary, RunId},
};

use super::options::{Beside, HEIGHTS, Options};
use crate::{
    context::PanelContext,
    export::Figure,
    findings::layer_name,
    format::{self, with_capital},
    panels::analysis::Subject,
    plot::{Axis, Quantity, Scale, Series},
    theme::{self, Dash, LineStyle},
    widgets::{Chart, ChartView, HeightHandle, SpareHeight, ViewLine},
};

/// Its title, also of the exported figure.
pub const TITLE: &str = "Energy in the first components";
/// Its usual height in points.
const HEIGHT: f32 = 300.0;
/// Steps that are overlaid.
const MOST_STEPS: usize = 7;
/// Runs that are overlaid.
const MOST_RUNS: usize = 12;

/// An analysis that stands beside the one that is shown, with its name and style.
struct Other {
    analysis: Arc<Analysis>,
    name: String,
    colour: Color32,
    dash: Dash,
}

/// What the curves are of, and how they are drawn.
type Of = (Options, Vec<Arc<Analysis>>, Vec<(Color32, Dash)>);

/// The curves, made anew only when what they show changes.
#[derive(Default)]
pub struct Curves {
    of: Option<Of>,
    view: ChartView,
}

impl Curves {
    /// Brings the curves up to date. `steps` are all steps of the run.
    pub fn update(
        &mut self,
        subject: &Subject,
        analysis: &Arc<Analysis>,
        steps: &[u64],
        options: Options,
        cx: &mut PanelContext<'_>,
    ) {
        let others = match options.beside {
            Beside::Layers => Vec::new(),
            Beside::Steps => other_steps(subject, analysis, steps, cx),
            Beside::Runs => other_runs(subject, cx),
            Beside::OnDemand => on_demand(subject, analysis, cx),
        };
        let all: Vec<Arc<Analysis>> =
            std::iter::once(analysis).chain(others.iter().map(|other| &other.analysis)).cloned().collect();
        // Beside others each run looks as it does alone: seeds of one config are told apart.
        let alone = subject.id.run().filter(|_| options.beside == Beside::Runs);
        let own = alone.map_or_else(|| subject.style(cx.state), |run| cx.state.selection.style_alone(run));
        let drawn: Vec<(Color32, Dash)> = std::iter::once((own.colour, own.dash))
            .chain(others.iter().map(|other| (other.colour, other.dash)))
            .collect();
        let is_same = self.of.as_ref().is_some_and(|(known, before, styles)| {
            (known, styles) == (&options, &drawn)
                && before.len() == all.len()
                && before.iter().zip(&all).all(|(a, b)| Arc::ptr_eq(a, b))
        });
        if !is_same {
            self.of = Some((options, all, drawn));
            self.view.lines = lines((subject, own), analysis, &others, options);
        }
    }

    /// Draws the chart, and the handle that changes its height.
    pub fn ui(&mut self, ui: &mut Ui, options: Options, height: &mut Option<f32>, spare: SpareHeight) {
        let now = spare.of(*height, HEIGHT);
        self.view.show(ui, chart(options).height(now));
        HeightHandle::new("cumulative energy", HEIGHTS).show(ui, height, now);
    }

    /// The chart as it is exported.
    pub fn figure(&mut self, options: Options, metadata: BTreeMap<String, String>) -> Figure {
        self.view.figure(chart(options), metadata)
    }
}

fn chart(options: Options) -> Chart<'static> {
    let x = if options.is_share {
        Axis::new("Share of all n² components").quantity(Quantity::Fraction)
    } else {
        Axis::new("Components").quantity(Quantity::Count)
    };
    Chart::new("energy", TITLE, &[])
        .x_axis(x.scale(Scale::log_if(options.log_x)))
        .y_axis(Axis::new("Share of the energy").quantity(Quantity::Fraction))
        .smoothing(0.0)
        .height(HEIGHT)
        .legend(true)
        .empty_text("This analysis has no spectrum")
}

/// Steps spread evenly over those that there are, the first and the last among them.
fn spread(steps: &[u64], most: usize) -> Vec<u64> {
    if steps.len() <= most {
        return steps.to_vec();
    }
    let last = steps.len() - 1;
    let places = (0..most).map(|place| (place * last + (most - 1) / 2) / (most - 1));
    places.filter_map(|place| steps.get(place).copied()).collect()
}

fn other_steps(subject: &Subject, analysis: &Analysis, steps: &[u64], cx: &mut PanelContext<'_>) -> Vec<Other> {
    let Some(run) = subject.id.run() else { return Vec::new() };
    let chosen = spread(steps, MOST_STEPS);
    let last = chosen.len().saturating_sub(1).max(1) as f32;
    let found = chosen.iter().enumerate().filter(|(_, step)| Some(**step) != analysis.step);
    found
        .filter_map(|(place, step)| {
            Some(Other {
                analysis: cx.state.analysis.at(run, *step)?,
                name: format!("Step {}", format::count(*step)),
                colour: theme::ramp(place as f32 / last),
                dash: Dash::Solid,
            })
        })
        .collect()
}

fn other_runs(subject: &Subject, cx: &mut PanelContext<'_>) -> Vec<Other> {
    let others: Vec<RunId> = cx
        .state
        .runs
        .iter()
        .filter(|other| subject.id.run() != Some(&other.id) && cx.state.selection.is_visible(&other.id))
        .map(|other| other.id.clone())
        .take(MOST_RUNS)
        .collect();
    let found = others.into_iter().filter_map(|other| {
        let newest = cx.state.analysis.steps(&other)?.last().copied()?;
        let LineStyle { colour, dash, .. } = cx.state.selection.style_alone(&other);
        let analysis = cx.state.analysis.at(&other, newest)?;
        Some(Other { analysis, name: cx.state.run_name(&other), colour, dash })
    });
    found.collect()
}

/// What was found on demand of it, but for what is shown.
fn on_demand(subject: &Subject, analysis: &Arc<Analysis>, cx: &mut PanelContext<'_>) -> Vec<Other> {
    let own: Vec<_> = cx.state.analysis.on_demand(&subject.id).into_iter().take(MOST_RUNS).collect();
    let last = own.len().saturating_sub(1).max(1) as f32;
    let other = |(place, found): (usize, AnalysisSummary)| {
        let result = cx.state.analysis.result(&found.id)?;
        (!Arc::ptr_eq(&result, analysis)).then(|| Other {
            analysis: result,
            name: told(found.step, found.tokens, &found.data),
            colour: theme::ramp(place as f32 / last),
            dash: Dash::Solid,
        })
    };
    own.into_iter().enumerate().filter_map(other).collect()
}

/// What tells an analysis from others of its run.
fn told(step: Option<u64>, tokens: u64, data: &str) -> String {
    let step = step.map_or_else(String::new, |step| format!("step {}, ", format::count(step)));
    with_capital(&format!("{step}{}, {data}", counted(tokens, "token")))
}

fn curve(spectrum: &Spectrum, options: Options) -> Series {
    places(spectrum, spectrum.cumulative(), options)
}

/// Shares at their components, or at the part of all components.
fn places(spectrum: &Spectrum, shares: Vec<f64>, options: Options) -> Series {
    let points = shares.into_iter().zip(1_u32..);
    let scale = if options.is_share { spectrum.dimension as f64 } else { 1.0 };
    points.map(|(share, k)| (f64::from(k) / scale, share)).collect()
}

fn query_curve(spectra: &ScoreSpectra, options: Options) -> Series {
    let n = spectra.tokens as f64;
    let scale = if options.is_share { 1.0 / n } else { n };
    spectra.query_curve().into_iter().zip(1_u32..).map(|(share, i)| (f64::from(i) * scale, share)).collect()
}

fn lines(
    (subject, style): (&Subject, LineStyle),
    analysis: &Analysis,
    others: &[Other],
    options: Options,
) -> Vec<ViewLine> {
    let Some(spectra) = &analysis.spectra else { return Vec::new() };
    let LineStyle { colour, dash, .. } = style;
    // Among runs a line looks as its run does everywhere; else dashes tell the network's own curves apart.
    let dash = if options.beside == Beside::Runs { dash } else { Dash::Solid };
    let name = match options.beside {
        Beside::Layers => "Network".to_owned(),
        Beside::Steps => {
            analysis.step.map_or_else(|| "Shown".to_owned(), |step| format!("Step {}", format::count(step)))
        }
        Beside::Runs => subject.name.clone(),
        Beside::OnDemand => told(analysis.step, analysis.tokens as u64, &analysis.data),
    };
    let own = |name: &str, series: Series, dash: Dash| ViewLine::new(name, series, colour).drawn(dash, 2.0);
    let mut lines = vec![ViewLine { width: 3.0, ..own(&name, curve(&spectra.network, options), dash) }];
    if spectra.network.bounds.is_some() {
        let series = places(&spectra.network, spectra.network.cumulative_at_most(), options);
        lines.push(own(&format!("{name}, at most"), series, Dash::Dotted));
    }
    if let Some(without) = spectra.row_mean_subtracted.as_ref().filter(|_| options.without_row_means) {
        lines.push(own("Without row means", curve(without, options), Dash::Dashed));
    }
    if options.with_queries && !spectra.queries.is_empty() {
        lines.push(own("Per query", query_curve(spectra, options), Dash::Dotted));
    }
    if options.beside == Beside::Layers {
        let count = spectra.layers.len();
        let layers = spectra.layers.iter().enumerate().filter(|(_, spectrum)| spectrum.samples > 0);
        lines.extend(
            layers.map(|(layer, spectrum)| {
                ViewLine::of_order((layer, count), layer_name(layer), curve(spectrum, options))
            }),
        );
    }
    lines.extend(others.iter().filter_map(|other| {
        let series = curve(&other.analysis.spectra.as_ref()?.network, options);
        Some(ViewLine { dash: other.dash, ..ViewLine::new(&other.name, series, other.colour) })
    }));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_spread_from_the_first_to_the_last() {
        assert_eq!(spread(&[1, 2, 3], 7), [1, 2, 3]);
        let steps: Vec<u64> = (1..=100).collect();
        let found = spread(&steps, 7);
        assert_eq!((found.len(), found[0], found[6]), (7, 1, 100));
        assert!(found.windows(2).all(|pair| (15..=18).contains(&(pair[1] - pair[0]))), "{found:?}");
    }

    #[test]
    fn curves_stand_at_their_components_or_at_the_share_of_all() {
        let spectrum =
            Spectrum { dimension: 16, samples: 99, trace: 4.0, values: vec![2.0, 1.0], ..Spectrum::default() };
        let count = curve(&spectrum, Options::default());
        assert_eq!(count.points().collect::<Vec<_>>(), [(1.0, 0.5), (2.0, 0.75)]);
        let share = curve(&spectrum, Options { is_share: true, ..Options::default() });
        assert_eq!(share.x(), [1.0 / 16.0, 2.0 / 16.0]);
    }
}
