//! The panel itself.

use egui::{RichText, Ui};
use headroom_engine::{
    advise::Proposal,
    analysis::{AnalysisSpec, ReconstructionSpec, Topic},
    config::RunConfig,
    jobs::choose_checkpoint,
    protocol::Which,
    store::RunId,
};

use super::{
    chart::Charts,
    conversions::conversions_ui,
    derived::{Advised, Derived},
    memory::Memory,
    outcome::Outcomes,
    parts::{CHARTS, PairsWish, dimensions_ui, heads_ui, pairs_ui},
    saving::{Source, saving_ui},
};
use crate::{
    common::{Exportable, working_ui},
    context::{Panel, PanelContext},
    export::Figure,
    file_dialogs::current_folder,
    findings,
    format::{self, with_capital},
    panels::analysis::{About, AnalysisFrame, FoundAnalysis, Subject, export_menu_ui, notes_ui, provenance},
    theme,
    widgets::HeadSpot,
};

/// Below this width the parts stand below each other.
const NARROW: f32 = 860.0;
/// From this width on what is advised stands beside the parts, and not below them.
const WIDE: f32 = 1800.0;

const ABOUT: About = About {
    name: "adviser",
    without_runs: "What a trained model could save is shown here, from measurements of it.",
    without_analysis: "Which heads could borrow their maps, how many dimensions could be shared and how many pairs \
                       are enough \
                       follows from an analysis of a trained model's attention.",
    is_of_reconstructions: false,
};

/// Shows what a trained model could save.
#[derive(Default)]
pub struct AdviserPanel {
    frame: AnalysisFrame<Memory>,
    derived: Derived,
    charts: Charts,
    outcomes: Outcomes,
    /// The config of the run that is shown, read once; or why it cannot be.
    config: Option<(RunId, Result<RunConfig, String>)>,
    /// The head whose reason is shown.
    pointed: Option<HeadSpot>,
}

impl Panel for AdviserPanel {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let mut frame = std::mem::take(&mut self.frame);
        frame.ui(ui, cx, &ABOUT, |frame, ui, subject, memory, cx| {
            // A row that is wider than the panel makes nothing below it wider.
            let width = ui.available_width();
            let shown = frame.header_ui(ui, subject, &ABOUT, cx, |_, _| ());
            let drawn = ui.vertical(|ui| {
                ui.set_max_width(width);
                if let Some(run) = subject.id.run() {
                    self.outcomes.ui(ui, run, cx);
                }
                let found = frame.found_ui(ui, subject, shown, &ABOUT, cx)?;
                let figure = self.analysis_ui(ui, subject, &found, memory, cx)?;
                Some(Exportable::Figure(Box::new(figure)))
            });
            drawn.inner
        });
        self.frame = frame;
    }

    fn export(&mut self, cx: &mut PanelContext<'_>) -> bool {
        let has_any = self.frame.has_figures(&ABOUT, cx);
        self.charts.wanted = has_any.then_some(0);
        has_any
    }

    fn back(&mut self, _cx: &mut PanelContext<'_>) -> bool {
        self.frame.back() || self.pointed.take().is_some()
    }
}

impl AdviserPanel {
    fn analysis_ui(
        &mut self,
        ui: &mut Ui,
        subject: &Subject,
        found: &FoundAnalysis,
        memory: &mut Memory,
        cx: &mut PanelContext<'_>,
    ) -> Option<Figure> {
        let (analysis, shown) = (&found.analysis, found.id.as_ref());
        let palette = theme::palette(ui.visuals());
        if let Some(run) = subject.id.run()
            && self.config.as_ref().is_none_or(|(known, _)| known != run)
        {
            let Some(record) = cx.state.records.get(run) else {
                working_ui(ui, "Reading the run…");
                return None;
            };
            self.config = Some((run.clone(), record.run_config().map_err(|error| error.to_string())));
        }
        let (words, metadata) = provenance(subject, analysis, cx);
        ui.horizontal_wrapped(|ui| {
            ui.label(format!("What this model could save. {}.", with_capital(&words)));
            self.charts.wanted = export_menu_ui(ui, CHARTS.into_iter().enumerate()).or(self.charts.wanted);
        });
        if analysis.step == Some(0) {
            let is_training = cx.state.current.as_ref().is_some_and(|current| subject.id.run() == Some(&current.run));
            // While it trains there may be no other one yet.
            let steps = subject.id.run().and_then(|run| cx.state.analysis.steps(run));
            let is_alone = steps.is_some_and(|steps| steps.len() < 2);
            let (words, colour) = if is_training {
                ("Nothing is learnt before the first step: the next analysis tells more.", palette.weak)
            } else if is_alone {
                (
                    "Nothing is learnt before the first step, and the run ended before the next analysis: analyse its checkpoint.",
                    palette.warning,
                )
            } else {
                ("Nothing is learnt before the first step: choose a later one.", palette.warning)
            };
            ui.label(RichText::new(words).color(colour));
        }
        ui.add_space(4.0);
        let config = self.config.as_ref().map(|(_, config)| config);
        let found = match (&subject.run, config) {
            (Some(run), Some(Ok(config))) => {
                // Until a checkpoint was read, costs are those of the parameters that were counted.
                let plan = cx.state.models.plan(&subject.id.target(Which::Best)).ok().flatten();
                self.derived.update(Advised::Run(run, config, plan), analysis, memory)
            }
            (Some(_), Some(Err(why))) => Err(format!("The config of the run cannot be read. {why}")),
            (Some(_), None) => return None,
            (None, _) => match cx.state.models.plan(&subject.id.target(Which::Best)) {
                Ok(Some(plan)) => self.derived.update(Advised::Model(plan), analysis, memory),
                Ok(None) => {
                    working_ui(ui, "Reading the model…");
                    return None;
                }
                Err(why) => Err(why),
            },
        };
        let (known, now) = match found {
            Ok(found) => found,
            Err(why) => {
                ui.label(RichText::new(format!("No advice can be given. {why}")).color(palette.error));
                notes_ui(ui, analysis, &[Topic::Analysis]);
                return None;
            }
        };
        let (charts, pointed) = (&mut self.charts, &mut self.pointed);
        *pointed = pointed.filter(|at| at.layer < now.grid.layers() && at.head < now.grid.heads());
        let kept = subject.id.run().and_then(|run| cx.state.checkpoints.get(run));
        let best = kept.and_then(|all| choose_checkpoint(all, Which::Best).ok());
        let of_errors = known.adviser.errors().is_ok().then_some(analysis.as_ref());
        let sources = findings::sources_words(analysis, of_errors, best.map(|best| best.step));
        let has_errors = known.adviser.errors().is_ok();
        // The one that is shown has them of another text, if it has any.
        let others = cx.state.analysis.on_demand(&subject.id).into_iter();
        let reconstructed = others.filter(|_| !has_errors).find(|other| other.reconstructs && Some(&other.id) != shown);
        let other = reconstructed.as_ref().map(|found| match found.step {
            Some(step) => format!("step {}", format::count(step)),
            None => format::date_time(found.created_ms as f64 / 1e3),
        });
        let about_pairs = (sources.as_slice(), other.as_deref());
        let saving = |ui: &mut Ui, memory: &mut Memory, cx: &mut PanelContext<'_>| match (
            &now.advice.proposal,
            &subject.run,
            config,
        ) {
            (Proposal::Convert(_), ..) => conversions_ui(ui, &subject.id, known, now, cx),
            (Proposal::Train(_), Some(run), Some(Ok(given))) => {
                saving_ui(ui, &Source { run, given, words: &words, step: analysis.step }, now, memory, cx);
            }
            (Proposal::Train(_), ..) => {}
        };
        let mut wish = None;
        if ui.available_width() >= WIDE {
            ui.columns(3, |columns| {
                if let [first, second, third] = columns {
                    first.vertical(|ui| heads_ui(ui, known, now, memory, charts, pointed));
                    second.vertical(|ui| {
                        dimensions_ui(ui, known, now, memory, charts);
                        ui.separator();
                        wish = pairs_ui(ui, known, now, memory, about_pairs, charts);
                    });
                    third.vertical(|ui| saving(ui, memory, cx));
                }
            });
        } else if ui.available_width() >= NARROW {
            ui.columns(2, |columns| {
                if let [left, right] = columns {
                    // Columns set their text to both edges; what stands in one of them does not.
                    left.vertical(|ui| heads_ui(ui, known, now, memory, charts, pointed));
                    right.vertical(|ui| {
                        dimensions_ui(ui, known, now, memory, charts);
                        ui.separator();
                        wish = pairs_ui(ui, known, now, memory, about_pairs, charts);
                        ui.separator();
                        saving(ui, memory, cx);
                    });
                }
            });
        } else {
            heads_ui(ui, known, now, memory, charts, pointed);
            ui.separator();
            dimensions_ui(ui, known, now, memory, charts);
            ui.separator();
            wish = pairs_ui(ui, known, now, memory, about_pairs, charts);
            ui.separator();
            saving(ui, memory, cx);
        }
        // A chart that was not drawn does not leave later, unasked.
        self.charts.wanted = None;
        if let (Some(PairsWish::Show), Some(found)) = (&wish, reconstructed) {
            cx.state.analysis.open(&subject.id, Some(found.id));
        }
        if matches!(wish, Some(PairsWish::Analyse)) && !cx.state.analysis.is_pending(&subject.id) {
            let reconstruction = ReconstructionSpec { whole: false, ..ReconstructionSpec::default() };
            let spec = AnalysisSpec { reconstruction: Some(reconstruction), ..AnalysisSpec::default() };
            let (spec, data) = if subject.run.is_some() {
                (spec, None)
            } else {
                // The same examples of the same text, as long as those that costs are counted for.
                let examples = usize::try_from(analysis.examples).unwrap_or(usize::MAX);
                let spec = AnalysisSpec { examples, tokens: Some(analysis.tokens), ..spec };
                (spec, analysis.text.clone().or_else(|| subject.data(cx)))
            };
            let name = cx.state.subject_name(&subject.id);
            cx.state.analysis.analyse((&subject.id, &name), Which::Best, data, spec, Vec::new(), current_folder());
        }
        notes_ui(ui, analysis, &[Topic::Analysis]);
        let figure = self.charts.leaving.take()?;
        Some(Figure { subtitle: with_capital(&words), metadata, ..figure })
    }
}
