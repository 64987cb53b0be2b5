//! A config and its control: the same model trained on its text and on the same text shuffled, each analysed on both.

use std::{collections::BTreeSet, path::Path};

use egui::{Grid, RichText, Ui};
use headroom_engine::{
    analysis::AnalysisSpec,
    attention::ModelFacts,
    config::{Entrant, RunConfig, fields_of, free_tag},
    protocol::{Command, commands},
    store::AnalysisId,
};

use super::{priced::Priced, variants::costs_ui};
use crate::{theme, widgets::number_ui};

/// The most examples of an analysis.
const MOST_EXAMPLES: usize = 100_000;

/// What the control is asked with.
pub struct ControlForm {
    base: RunConfig,
    /// Facts about its model.
    facts: ModelFacts,
    runs: [Priced; 2],
    examples: usize,
}

impl ControlForm {
    /// Of a config, whichever of the two it is itself.
    pub fn new(base: &RunConfig) -> Self {
        let facts = ModelFacts::default();
        let runs = Self::runs(base, &facts);
        Self { base: base.clone(), facts, runs, examples: AnalysisSpec::default().examples }
    }

    /// Takes in what was found out about the model of the config.
    pub fn know(&mut self, facts: &ModelFacts) {
        if self.facts != *facts {
            self.facts = facts.clone();
            self.runs = Self::runs(&self.base, facts);
        }
    }

    fn runs(base: &RunConfig, facts: &ModelFacts) -> [Priced; 2] {
        let labels = fields_of(base);
        let run = |shuffled: bool| {
            let mut config = base.clone();
            config.data.shuffled = shuffled;
            let name = if shuffled { "shuffled" } else { "in order" }.to_owned();
            let problems = config.validate();
            let config = if problems.is_empty() { Ok(config) } else { Err(problems) };
            Priced::of(Entrant { name, overrides: Vec::new(), config }, (base, facts), &labels)
        };
        [run(false), run(true)]
    }

    /// Both are called this.
    pub fn rename(&mut self, name: &str) {
        if self.base.name != name {
            name.clone_into(&mut self.base.name);
        }
    }

    /// The run and its control.
    pub fn entrants(&self) -> Vec<&Priced> {
        self.runs.iter().collect()
    }

    /// Draws it.
    pub fn ui(&mut self, ui: &mut Ui) {
        let weak = theme::palette(ui.visuals()).weak;
        Grid::new("control").num_columns(4).spacing([14.0, 5.0]).show(ui, |ui| {
            for title in ["Text", "Parameters", "FLOPs per step", ""] {
                ui.label(RichText::new(title).small().color(weak));
            }
            ui.end_row();
            for priced in &self.runs {
                ui.label(RichText::new(&priced.entrant.name).strong());
                costs_ui(ui, priced, None);
                ui.end_row();
            }
        });
        ui.add_space(4.0);
        ui.label(
            "In the shuffled text every token stands at a random position: word frequencies are the same, and nothing \
             else is left to learn. Each model is then analysed on both texts, and Redundancy shows the four \
             similarity matrices side by side: what they have in common is not due to language.",
        );
        ui.horizontal(|ui| {
            let label = ui.label("Examples per analysis");
            let drag = number_ui(ui, &mut self.examples, 1..=MOST_EXAMPLES, |drag| drag.speed(8));
            drag.labelled_by(label.id).on_hover_text("Of the held-out text, spread evenly over it");
        });
    }

    /// What the engine is asked, with a label that no run has.
    pub fn command(&self, base_dir: &Path, taken: &BTreeSet<&str>) -> Command {
        commands::CompareDomains {
            config: Box::new(self.base.clone()),
            base_dir: base_dir.to_owned(),
            tag: free_tag("domains", self.base.name.trim(), taken),
            spec: Box::new(AnalysisSpec { examples: self.examples, ..AnalysisSpec::default() }),
            analyses: AnalysisId::distinct(),
        }
        .into()
    }
}
