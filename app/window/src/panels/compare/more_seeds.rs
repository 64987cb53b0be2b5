//! The button that queues further seeds where differences were not tested.

use std::collections::{BTreeMap, BTreeSet};

use egui::Ui;
use headroom_engine::{
    config::{RunConfig, counted},
    protocol::commands,
    store::{RunId, RunState, RunSummary},
};

use super::{
    lines::Bundle,
    rows::{Measure, Row},
};
use crate::{
    compare::{
        FurtherRun, SEEDS_TO_TEST, Verdict, further_runs, group_all_but, most_seeds_each, name_with_seed,
        untested_sentence, why_not_judged,
    },
    context::{Action, PanelContext},
    file_dialogs::current_folder,
    messages::Level,
    panels::runs::FlatConfigs,
};

/// Runs that the seeds are counted over, by number, and how each stands.
type Print = Vec<(u64, RunState)>;

/// Further seeds of the compared configs; found anew where the runs changed.
#[derive(Default)]
pub(super) struct MoreSeeds {
    of: Print,
    runs: Vec<RunSummary>,
    further: Vec<FurtherRun>,
    /// True if there are several configs: seeds of one alone are held against nothing.
    has_several: bool,
    /// True if some of them wait or train.
    is_coming: bool,
    /// True if they were queued, and the list of runs does not show it yet.
    is_asked: bool,
}

/// Differences of the table that were not tested; none where all were.
pub(super) fn why_untested(rows: &[Row], measures: &[Measure]) -> Option<String> {
    let is_metric = |measure: &Measure| matches!(measure, Measure::Last(_) | Measure::Best(_) | Measure::At(..));
    let seeds = |row: &Row| {
        let mut entries = row.entries.iter().zip(measures).filter(|(_, measure)| is_metric(measure));
        let found = entries.find(|(entry, _)| entry.verdict() == Verdict::NotTested)?;
        found.0.against?.delta.basis.seeds()
    };
    let others = rows.iter().filter(|row| !row.is_baseline);
    let untested: Vec<(&str, (usize, usize))> =
        others.filter_map(|row| Some((row.name.as_str(), seeds(row)?))).collect();
    untested_sentence(&untested)
}

impl MoreSeeds {
    /// Finds which seeds are missing among these bundles, the baseline's first; those of waiting runs of the same names are there.
    pub fn update(&mut self, bundles: &[Bundle], configs: &mut FlatConfigs, cx: &mut PanelContext<'_>) {
        let mut shown: Vec<&RunSummary> = bundles.iter().flat_map(|bundle| &bundle.runs).collect();
        let base = shown.first().copied();
        shown.retain(|run| base.is_none_or(|base| why_not_judged(base, run).is_none()));
        let names: BTreeSet<&str> = shown.iter().map(|run| run.name.as_str()).collect();
        let numbers: BTreeSet<u64> = shown.iter().map(|run| run.number).collect();
        let comes = |run: &&RunSummary| {
            !run.state.is_ended() && names.contains(run.name.as_str()) && !numbers.contains(&run.number)
        };
        let coming: Vec<RunSummary> = cx.state.runs.iter().filter(comes).cloned().collect();
        let of: Print = shown.iter().copied().chain(&coming).map(|run| (run.number, run.state)).collect();
        if of == self.of {
            return;
        }
        let runs: Vec<RunSummary> = shown.into_iter().cloned().chain(coming).collect();
        if configs.want(cx.state, runs.iter().map(|run| run.id.clone())) > 0 {
            return;
        }
        let flat: Vec<_> = runs.iter().filter_map(|run| configs.get(&run.id)).map(AsRef::as_ref).collect();
        let groups = group_all_but(&flat, "seed");
        self.has_several = groups.len() > 1;
        self.is_coming = runs.iter().any(|run| !run.state.is_ended());
        self.further = further_runs(&runs.iter().collect::<Vec<_>>(), &flat, SEEDS_TO_TEST);
        (self.of, self.runs, self.is_asked) = (of, runs, false);
    }

    /// Draws why differences were not tested, and the button that changes it.
    pub fn ui(&mut self, ui: &mut Ui, why: &str, is_grouped: bool, cx: &mut PanelContext<'_>) {
        ui.label(format!("{why}."));
        if !self.has_several {
            return;
        }
        if self.is_asked {
            ui.label("Queueing…");
        } else if self.further.is_empty() {
            let words = match (self.is_coming, is_grouped) {
                (true, _) => "The seeds that are missing wait or train.",
                (false, false) => "Grouped by seed they are tested.",
                (false, true) => "",
            };
            ui.label(words);
        } else {
            let each = most_seeds_each(&self.further);
            let help = format!(
                "With {SEEDS_TO_TEST} seeds of each config differences are tested. Queues {}: the same configs with further seeds.",
                counted(self.further.len() as u64, "run")
            );
            if ui.button(format!("Queue {each} more")).on_hover_text(help).clicked() {
                self.queue(cx);
            }
        }
    }

    fn queue(&mut self, cx: &mut PanelContext<'_>) {
        let mut known: BTreeMap<RunId, RunConfig> = BTreeMap::new();
        let mut configs = Vec::with_capacity(self.further.len());
        for FurtherRun { of, seed } in &self.further {
            let Some(run) = self.runs.get(*of) else { continue };
            let Some(record) = cx.state.records.get(&run.id) else {
                cx.state.want_record(&run.id);
                return;
            };
            let config = match known.get(&run.id) {
                Some(config) => config.clone(),
                None => match record.run_config() {
                    Ok(config) => config,
                    Err(error) => {
                        let why = format!("The config of \"{}\" cannot be read by this version. {error}", run.name);
                        cx.act(Action::Say(Level::Error, why, "Nothing was queued.".to_owned()));
                        return;
                    }
                },
            };
            configs.push(RunConfig { seed: *seed, name: name_with_seed(run, *seed), ..config.clone() });
            known.insert(run.id.clone(), config);
        }
        let tags = |run: &RunSummary| run.tags.iter().cloned().collect::<BTreeSet<String>>();
        let shared = self.runs.iter().map(tags).reduce(|shared, own| shared.intersection(&own).cloned().collect());
        let tags = shared.unwrap_or_default().into_iter().collect();
        let told = format!("Queued {}: further seeds of what is compared.", counted(configs.len() as u64, "run"));
        cx.send(commands::EnqueueAll { configs, base_dir: current_folder(), tags });
        cx.act(Action::Say(Level::Info, told, String::new()));
        self.is_asked = true;
    }
}
