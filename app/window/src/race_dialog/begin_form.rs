//! Models to begin with: directories and runs, raced on the data, the task and the training of one config.

use egui::{Button, Grid, Id, RichText, Spinner, TextEdit, Ui};
use headroom_engine::{
    attention::{ModelFacts, ModelPlan},
    config::{Beginning, Entrant, Problem, RunConfig, fields_of},
    protocol::Which,
    store::RunRecord,
};

use super::{
    priced::Priced,
    variants::{costs_ui, reason_ui},
};
use crate::{
    common::mark_path,
    context::PanelContext,
    file_dialogs::{Answer, Ask, Pick, current_folder, typed_path},
    panels::{configure::told, run_choices_ui},
    state::SubjectId,
    theme,
    widgets::entered,
};

/// What its file dialog is called.
const KEY: &str = "race.models";

/// What is known of a model that was chosen.
#[derive(Clone, Debug, PartialEq)]
enum Known {
    /// It is being read.
    Reading,
    /// Config of the run, and the plan of the model.
    Beginning(Box<Beginning>, Box<ModelPlan>),
    /// Why nothing begins with it.
    Unfit(String),
}

/// The models that are chosen and what comes of them.
pub struct BeginForm {
    base: RunConfig,
    /// Facts about its data.
    facts: ModelFacts,
    /// The path that is typed.
    typed: String,
    chosen: Vec<SubjectId>,
    /// What was known of them when they were last priced.
    known: Vec<Known>,
    /// A price for each that is known.
    priced: Vec<Priced>,
    /// Why there are none.
    why_none: Option<String>,
}

impl BeginForm {
    /// None yet, for a config whose data, task and training all share.
    pub fn new(base: &RunConfig) -> Self {
        let (base, typed) = (base.clone(), String::new());
        let facts = ModelFacts::default();
        Self { base, facts, typed, chosen: Vec::new(), known: Vec::new(), priced: Vec::new(), why_none: None }
    }

    /// Takes in what was found out about the model of the config.
    pub fn know(&mut self, facts: &ModelFacts) {
        if self.facts != *facts {
            self.facts = facts.clone();
            self.price();
        }
    }

    /// The race is called this.
    pub fn rename(&mut self, name: &str) {
        if self.base.name != name {
            name.clone_into(&mut self.base.name);
            self.price();
        }
    }

    /// What races: models that are known, the first of them the baseline.
    pub fn entrants(&self) -> Vec<&Priced> {
        self.priced.iter().collect()
    }

    /// Whether some are still to be read.
    pub fn is_reading(&self) -> bool {
        self.known.contains(&Known::Reading)
    }

    /// Draws it.
    pub fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        self.add_ui(ui, cx);
        let names = self.names(cx);
        let is_same = |(known, name): (&Known, &String)| matches!(known, Known::Beginning(of, _) if of.name == *name);
        if self.known.len() != names.len() || !self.known.iter().zip(&names).all(is_same) {
            let known = names.into_iter().zip(&self.chosen).map(|(name, of)| known(of, name, cx)).collect();
            if self.known != known {
                self.known = known;
                self.price();
            }
        }
        let palette = theme::palette(ui.visuals());
        if let Some(why) = &self.why_none {
            ui.label(RichText::new(why).color(palette.error));
        }
        if self.chosen.is_empty() {
            ui.label(
                RichText::new(
                    "Add models that were trained before: what was converted, exported or fetched, or runs of this store. Each keeps its \
                     own shape, attention and tokens, and its curves begin with an evaluation of it as it is.",
                )
                .color(palette.weak),
            );
            return;
        }
        let mut gone = None;
        Grid::new("models").num_columns(5).spacing([14.0, 5.0]).show(ui, |ui| {
            for title in ["", "Begins with", "Parameters", "FLOPs per step", ""] {
                ui.label(RichText::new(title).small().color(palette.weak));
            }
            ui.end_row();
            let mut priced = self.priced.iter();
            let mut base = None;
            for (place, (of, known)) in self.chosen.iter().zip(&self.known).enumerate() {
                let name = cx.state.subject_name(of);
                let remove = ui.small_button("×").on_hover_text("Takes it out of the race");
                if remove.accessible_name(format!("Take {name} out, place {}", place + 1)).clicked() {
                    gone = Some(place);
                }
                let whole = match of {
                    SubjectId::Directory(path) => path.display().to_string(),
                    SubjectId::Run(run) => format!("The best checkpoint of the run {run}"),
                };
                ui.label(RichText::new(&name).strong()).on_hover_text(whole);
                match known {
                    Known::Reading => {
                        ui.horizontal(|ui| {
                            ui.add(Spinner::new().size(14.0));
                            ui.label("Reading the model…");
                        });
                    }
                    Known::Unfit(why) => {
                        ui.label(RichText::new("cannot begin").color(palette.error));
                        reason_ui(ui, why, why);
                    }
                    Known::Beginning(..) => {
                        if let Some(own) = priced.next() {
                            costs_ui(ui, own, base);
                            if base.is_none() && own.cost.is_some() {
                                ui.label(RichText::new("baseline").color(palette.weak));
                            }
                            base = base.or(own.cost);
                        }
                    }
                }
                ui.end_row();
            }
        });
        if let Some(place) = gone {
            self.chosen.remove(place);
            self.known.remove(place);
            self.price();
        }
    }

    /// The path of a directory, typed or browsed for, and the runs.
    fn add_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let mut added = None;
        ui.horizontal(|ui| {
            if let Some(Answer::Picked(path)) = cx.dialogs.take(KEY) {
                added = Some(SubjectId::Directory(path));
            }
            let label = ui.label("Model directory");
            let edit = TextEdit::singleline(&mut self.typed).id(Id::unique(KEY)).desired_width(260.0);
            let field = ui.add(edit.hint_text("path of a folder")).labelled_by(label.id);
            let is_entered = entered(ui, &field);
            mark_path(ui, field, &self.typed, KEY, cx.dialogs);
            let add = ui.add_enabled(!self.typed.trim().is_empty(), Button::new("Add"));
            if (add.accessible_name("Add the model directory").clicked() || is_entered) && !self.typed.trim().is_empty()
            {
                added = Some(SubjectId::Directory(typed_path(&self.typed, &current_folder())));
                self.typed.clear();
            }
            let browse = ui.add_enabled(!cx.dialogs.is_busy(KEY), Button::new("Browse…"));
            if browse.accessible_name("Browse for a model directory").clicked() {
                cx.dialogs.pick(KEY, Ask::new(Pick::Folder, "A model directory"));
            }
            let made: Vec<_> = cx.state.models.conversions.iter().filter(|run| run.outcome.is_some()).collect();
            if !made.is_empty() {
                ui.menu_button("Add a conversion", |ui| {
                    for run in made {
                        let path = run.asked.to.clone();
                        let of = SubjectId::Directory(path.clone());
                        if ui.button(cx.state.subject_name(&of)).on_hover_text(path.display().to_string()).clicked() {
                            added = Some(of);
                            ui.close();
                        }
                    }
                });
            }
            let runs =
                egui::containers::menu::MenuConfig::new().close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside);
            egui::containers::menu::MenuButton::new("Add a run").config(runs).ui(ui, |ui| {
                if let Some(run) = run_choices_ui(ui, None, |run| run.steps_done > 0, cx) {
                    added = Some(SubjectId::Run(run));
                }
            });
        });
        if let Some(of) = added.filter(|of| !self.chosen.contains(of)) {
            self.chosen.push(of);
        }
    }

    /// What each is called: by its folder or run, and where two are called the same by its path.
    fn names(&self, cx: &PanelContext<'_>) -> Vec<String> {
        let names: Vec<String> = self.chosen.iter().map(|of| cx.state.subject_name(of)).collect();
        let is_alone = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
        let whole = |of: &SubjectId| match of {
            SubjectId::Directory(path) => path.display().to_string(),
            SubjectId::Run(run) => run.to_string(),
        };
        let named = |(of, name): (&SubjectId, &String)| if is_alone(name) { name.clone() } else { whole(of) };
        without_family(self.chosen.iter().zip(&names).map(named).collect())
    }

    fn price(&mut self) {
        let beginning = |known: &Known| match known {
            Known::Beginning(beginning, plan) => Some((beginning.as_ref().clone(), plan.as_ref().clone())),
            Known::Reading | Known::Unfit(_) => None,
        };
        let (beginnings, plans): (Vec<Beginning>, Vec<ModelPlan>) = self.known.iter().filter_map(beginning).unzip();
        match Beginning::entrants(&self.base, &beginnings) {
            Ok(entrants) => {
                let labels = fields_of(&self.base);
                let priced = |(entrant, plan): (Entrant, ModelPlan)| {
                    // The facts about a model are of its own config, whatever else the base begins with.
                    let config = entrant.config.clone().unwrap_or_else(|_| self.base.clone());
                    Priced::of(entrant, (&config, &self.facts.with_initial(&plan)), &labels)
                };
                self.priced = entrants.into_iter().zip(plans).map(priced).collect();
                self.why_none = None;
            }
            Err(why) => (self.priced, self.why_none) = (Vec::new(), Some(why.to_string())),
        }
    }
}

/// Names of runs of one race without what that race is called.
fn without_family(names: Vec<String>) -> Vec<String> {
    let family = |name: &String| name.split_once(": ").map(|(family, _)| format!("{family}: "));
    match names.first().and_then(family) {
        Some(family)
            if names.len() > 1 && names.iter().all(|name| name.len() > family.len() && name.starts_with(&family)) =>
        {
            names.into_iter().map(|name| name.split_at(family.len()).1.to_owned()).collect()
        }
        _ => names,
    }
}

/// What is known of a model; asked for while it is not.
fn known(of: &SubjectId, name: String, cx: &mut PanelContext<'_>) -> Known {
    if let SubjectId::Run(run) = of {
        cx.state.want_record(run);
        match (cx.state.records.contains_key(run), cx.state.checkpoints.get(run)) {
            (true, Some(kept)) if !kept.is_empty() => {}
            (true, _) => return Known::Unfit("It has no checkpoint.".to_owned()),
            (false, _) => return Known::Reading,
        }
    }
    let (plan, trains) = match cx.state.models.plan(&of.target(Which::Best)) {
        Ok(None) => return Known::Reading,
        Ok(Some(plan)) => (Box::new(plan.clone()), plan.config_to_train_further()),
        Err(why) => return Known::Unfit(why),
    };
    let (initial, found) = match of {
        SubjectId::Directory(path) => {
            (path.display().to_string(), trains.map_err(|why| format!("It cannot be trained further: {why}.")))
        }
        SubjectId::Run(run) => {
            let config = cx.state.records.get(run).map(RunRecord::json_config);
            let found = match config {
                Some(Ok(RunConfig { model, attention, .. })) => Ok((model, attention)),
                Some(Err(why)) => Err(all_told(&why.problems())),
                None => return Known::Reading,
            };
            (run.to_string(), found)
        }
    };
    match found {
        Ok((model, attention)) => Known::Beginning(Box::new(Beginning { name, initial, model, attention }), plan),
        Err(why) => Known::Unfit(why),
    }
}

/// What is wrong with the config of a run, under the labels of the fields.
fn all_told(problems: &[Problem]) -> String {
    let labels = fields_of(&RunConfig::default());
    problems.iter().map(|problem| told(problem, &labels)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_one_race_are_called_without_it() {
        let names = |all: &[&str]| without_family(all.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(names(&["r: standard, seed 1", "r: full"]), ["standard, seed 1", "full"]);
        assert_eq!(names(&["r: standard", "q: full"]), ["r: standard", "q: full"]);
        assert_eq!(names(&["r: standard"]), ["r: standard"], "one alone");
        assert_eq!(names(&["r: ", "r: full"]), ["r: ", "r: full"], "nothing would be left");
    }
}
