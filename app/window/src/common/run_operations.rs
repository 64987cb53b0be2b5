//! What can be done with a run.

use headroom_engine::{
    config::RunConfig,
    protocol::{JobRef, RunEdit, commands},
    store::{RunId, RunRecord, RunState, RunSummary},
};

use crate::{
    context::{Action, PanelContext},
    file_dialogs::current_folder,
    messages::Level,
};

/// Something that can be done with a run at once, without asking back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOperation {
    /// Goes on from its last checkpoint.
    Resume,
    /// Takes it out of the queue.
    Cancel,
    /// Pins it as the baseline, or unpins it.
    Pin,
    /// Puts its config into the Configure panel.
    Configure,
    /// Queues the same config again.
    Repeat,
    /// Queues the same config with the next seed that no run of that name has.
    NextSeed,
    /// Sets up a race or sweep from its config.
    Race,
    /// Puts its config on the clipboard.
    CopyConfig,
    /// Puts it away, or back.
    Archive,
    /// Deletes it; can be undone.
    Delete,
}

impl RunOperation {
    /// What the button says.
    pub fn label(self, run: &RunSummary, is_baseline: bool) -> &'static str {
        match self {
            Self::Resume => "Resume training",
            Self::Cancel => "Take out of the queue",
            Self::Pin if is_baseline => "Unpin the baseline",
            Self::Pin => "Pin as the baseline",
            Self::Configure => "Open in Configure",
            Self::Repeat => "Repeat this run",
            Self::NextSeed => "Repeat with the next seed",
            Self::Race => "Race or sweep from it…",
            Self::CopyConfig => "Copy config as TOML",
            Self::Archive if run.archived => "Take out of the archive",
            Self::Archive => "Archive",
            Self::Delete => "Delete",
        }
    }

    /// What it does, in full.
    pub fn about(self) -> &'static str {
        match self {
            Self::Resume => "Queues the rest of the run; its curve continues exactly from the checkpoint",
            Self::Cancel => "The run will not start; its config stays in the list",
            Self::Pin => "Every other run is compared with the baseline (p)",
            Self::Configure => "Opens the run's config to be changed and started as a new run",
            Self::Repeat => "Queues a new run with the same config and seed: on the CPU the same losses bit for bit",
            Self::NextSeed => "Queues a new run with the same config and a seed that no run of this name has yet",
            Self::Race => "Queues its baseline and variants of it, with the same seeds, data and schedule",
            Self::CopyConfig => "The whole config, every field written out",
            Self::Archive => "Archived runs leave the everyday list and charts; nothing is lost",
            Self::Delete => "Undo (Ctrl+Z) brings it back",
        }
    }

    /// Whether it needs the run's whole record.
    pub fn needs_record(self) -> bool {
        matches!(self, Self::Configure | Self::Repeat | Self::NextSeed | Self::Race | Self::CopyConfig)
    }
}

/// What can be done with a run as it stands, in menu order.
pub fn offered(run: &RunSummary) -> Vec<RunOperation> {
    let mut all = Vec::with_capacity(8);
    if run.is_worth_resuming() {
        all.push(RunOperation::Resume);
    }
    if run.state == RunState::Queued {
        all.push(RunOperation::Cancel);
    }
    all.extend([
        RunOperation::Pin,
        RunOperation::Configure,
        RunOperation::Repeat,
        RunOperation::NextSeed,
        RunOperation::Race,
        RunOperation::CopyConfig,
        RunOperation::Archive,
    ]);
    if run.state.is_ended() {
        all.push(RunOperation::Delete);
    }
    all
}

/// Does it. One that needs the record does nothing until that is loaded.
pub fn perform(operation: RunOperation, id: &RunId, cx: &mut PanelContext<'_>) {
    if operation.needs_record() {
        let Some(record) = cx.state.records.get(id) else {
            cx.state.want_record(id);
            return;
        };
        let config = match record.run_config() {
            Ok(config) => config,
            Err(error) => {
                let why = format!("The config of \"{}\" cannot be read by this version. {error}", record.summary.name);
                cx.act(Action::Say(Level::Error, why, "Copy the config and edit it by hand.".to_owned()));
                return;
            }
        };
        let action = match operation {
            RunOperation::Configure => Action::Configure(Box::new(config), current_folder()),
            RunOperation::NextSeed => {
                Action::Start(Box::new(next_seed(&cx.state.runs, record, config)), current_folder())
            }
            RunOperation::Race => {
                let name = cx.state.run(id).map_or_else(|| config.name.clone(), |run| run.name.clone());
                Action::SetUpRace(Box::new(RunConfig { name, ..config }), current_folder())
            }
            RunOperation::CopyConfig => Action::Copy("The config".to_owned(), record.config_toml.clone()),
            _ => Action::Start(Box::new(config), current_folder()),
        };
        cx.act(action);
        return;
    }
    let run = id.clone();
    match operation {
        RunOperation::Resume => cx.send(commands::ResumeRun { run }),
        RunOperation::Cancel => cx.send(commands::Cancel { job: JobRef::Id(run) }),
        RunOperation::Pin => cx.state.selection.toggle_baseline(id),
        RunOperation::Archive => {
            let archived = cx.state.run(id).is_some_and(|summary| summary.archived);
            if !archived {
                cx.state.selection.put_away(id);
                let what = format!("Archived \"{}\". \"Show archived\" in Runs lists it.", cx.state.run_name(id));
                cx.act(Action::Say(Level::Info, what, String::new()));
            }
            cx.send(commands::Edit { run, edit: RunEdit::Archive(!archived) });
        }
        RunOperation::Delete => cx.act(Action::Delete(run)),
        RunOperation::Configure
        | RunOperation::Repeat
        | RunOperation::NextSeed
        | RunOperation::Race
        | RunOperation::CopyConfig => {}
    }
}

/// The run's config with the smallest larger seed that no run of the same name has.
pub fn next_seed(runs: &[RunSummary], record: &RunRecord, config: RunConfig) -> RunConfig {
    let name = &record.summary.name;
    let taken = |seed: u64| runs.iter().any(|run| run.name == *name && run.seed == seed);
    let mut seed = config.seed.wrapping_add(1);
    while taken(seed) {
        seed = seed.wrapping_add(1);
    }
    RunConfig { seed: seed & (i64::MAX as u64), name: name.clone(), ..config }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples;

    #[test]
    fn only_what_makes_sense_is_offered() {
        let mut run = examples::summary(1, "run");
        for state in RunState::ALL {
            (run.state, run.steps_done) = (state, 7);
            let all = offered(&run);
            let resumable = matches!(state, RunState::Stopped | RunState::Interrupted | RunState::Failed);
            assert_eq!(all.contains(&RunOperation::Resume), resumable, "{state}");
            assert_eq!(all.contains(&RunOperation::Delete), state.is_ended(), "{state}");
            assert_eq!(all.contains(&RunOperation::Cancel), state == RunState::Queued, "{state}");
        }
        // What failed before its first step would fail again in the same way.
        (run.state, run.steps_done) = (RunState::Failed, 0);
        assert!(!offered(&run).contains(&RunOperation::Resume));
        assert!(offered(&run).contains(&RunOperation::Configure));
    }

    #[test]
    fn the_next_seed_is_one_that_no_run_of_the_name_has() {
        let record = examples::record(1, "run");
        let config = record.run_config().unwrap();
        let seeds = |taken: &[u64]| {
            let runs: Vec<_> =
                taken.iter().map(|&seed| RunSummary { seed, ..examples::summary(seed, "run") }).collect();
            next_seed(&runs, &record, config.clone()).seed
        };
        assert_eq!(seeds(&[1]), 2);
        assert_eq!(seeds(&[1, 2, 3, 5]), 4);
        let other = [RunSummary { seed: 2, ..examples::summary(2, "another") }];
        assert_eq!(next_seed(&other, &record, config.clone()).seed, 2);
    }
}
