use egui::{ComboBox, Ui};
use headroom_engine::{
    analysis::{AnalysisSpec, Measure, SpectrumSpec},
    protocol::{Subspace, Target, Which},
    store::RunId,
};

use super::{FormOptions, FormWords, Subject, formula};
use crate::{
    context::PanelContext,
    format,
    panels::run_picker::{chosen_name, run_choices_ui, run_combo},
};

/// Width of the list of models to project on, in points.
const SPACE: f32 = 150.0;

/// What is found out about a checkpoint, on text in which order.
#[derive(Clone, Debug)]
pub struct AnalysisOptions {
    /// Whether the text is read shuffled; none: as the run read it.
    order: Option<bool>,
    measures: Vec<Measure>,
    has_heads: bool,
    /// Whose space the scores are projected on as well: a run, and the step of its checkpoint; none: the best.
    space: Option<(RunId, Option<u64>)>,
}

impl Default for AnalysisOptions {
    fn default() -> Self {
        Self { order: None, measures: vec![Measure::default()], has_heads: false, space: None }
    }
}

impl FormOptions for AnalysisOptions {
    const WORDS: FormWords = FormWords {
        button: "Analyse…",
        help: "Analyses a checkpoint: more examples, other measures, all queries",
        name: "Analyse a checkpoint",
        checkpoint: "Checkpoint to analyse",
        examples: (1, "Examples of the held-out text, spread evenly over it"),
        tokens: (
            65_536,
            "Tokens of an example, at most as many as the model has positions; 0: as it was trained. Analyses of other \
             lengths can stand beside each other in Spectra",
        ),
        submit: "Analyse",
        now: "Analyse its best checkpoint now",
        what: "analysis",
    };

    fn ui(&mut self, ui: &mut Ui, subject: &Subject, cx: &mut PanelContext<'_>) {
        let order = |order: Option<bool>| match order {
            None if subject.run.is_none() => "text as it is",
            None => "text as trained on",
            Some(false) => "text in order",
            Some(true) => "text shuffled",
        };
        let combo = ComboBox::from_id_salt("order").width(130.0).selected_text(order(self.order)).show_ui(ui, |ui| {
            for choice in [None, Some(false), Some(true)] {
                ui.selectable_value(&mut self.order, choice, order(choice));
            }
        });
        combo.response.accessible_name("Order of the text");
        for measure in Measure::ALL {
            let mut is_wanted = self.measures.contains(&measure);
            let name = format::with_capital(measure.label());
            if ui.checkbox(&mut is_wanted, name).on_hover_text(formula(measure)).changed() {
                if is_wanted {
                    self.measures.push(measure);
                } else {
                    self.measures.retain(|known| *known != measure);
                }
            }
        }
        ui.checkbox(&mut self.has_heads, "Spectra of heads").on_hover_text("Of each head too: takes longer");
        self.space_ui(ui, subject, cx);
    }

    fn spec(&self, spec: AnalysisSpec) -> (AnalysisSpec, Vec<Subspace>) {
        let space = self.space.clone().map(|(run, step)| {
            let which = step.map_or(Which::Best, Which::Step);
            Subspace { target: Target::Run { run, which }, data: None }
        });
        let spec = AnalysisSpec {
            shuffled: self.order,
            similarity: Measure::ALL.into_iter().filter(|measure| self.measures.contains(measure)).collect(),
            spectrum: Some(SpectrumSpec { heads: self.has_heads, ..SpectrumSpec::default() }),
            ..spec
        };
        (spec, space.into_iter().collect())
    }
}

impl AnalysisOptions {
    /// Chooses another model in whose space the scores are measured too: another checkpoint, or a run that is shown.
    fn space_ui(&mut self, ui: &mut Ui, subject: &Subject, cx: &mut PanelContext<'_>) {
        let run = subject.id.run();
        let own = run.into_iter().flat_map(|run| {
            let kept = cx.state.checkpoints.get(run).into_iter().flatten();
            kept.map(|kept| (run.clone(), Some(kept.step)))
        });
        let mut own: Vec<(RunId, Option<u64>)> = own.collect();
        own.dedup();
        let is_there = |space: &(RunId, Option<u64>)| match space {
            (of, None) => run != Some(of) && cx.state.run(of).is_some(),
            step => own.contains(step),
        };
        self.space = self.space.take().filter(is_there);
        let name = |(of, step): &(RunId, Option<u64>)| match step {
            Some(step) => format!("step {}", format::count(*step)),
            None => chosen_name(ui, &cx.state.run_name(of), SPACE, cx),
        };
        let text = self.space.as_ref().map_or_else(|| "no other model".to_owned(), &name);
        ui.add(egui::Label::new("Project on the space of").extend());
        let before = self.space.clone();
        let combo = run_combo("space", SPACE).selected_text(text).truncate().show_ui(ui, |ui| {
            ui.selectable_value(&mut self.space, None, "no other model");
            for (of, step) in own {
                let text = format!("step {}", format::count(step.unwrap_or_default()));
                ui.push_id(&text, |ui| ui.selectable_value(&mut self.space, Some((of, step)), &text));
            }
            ui.separator();
            let chosen = self.space.as_ref().filter(|(_, step)| step.is_none()).map(|(of, _)| of.clone());
            if let Some(other) = run_choices_ui(ui, chosen.as_ref(), |other| run != Some(&other.id), cx) {
                self.space = Some((other, None));
            }
            if self.space != before {
                ui.close();
            }
        });
        combo.response.accessible_name("Space to project on").on_hover_text(
            "How much of the energy lies in the first components of another checkpoint, or of another run that is \
             shown",
        );
    }
}
