use std::{collections::BTreeMap, path::PathBuf, time::Instant};

use headroom_engine::{
    attention::ModelFacts,
    config::{Problem, counted},
    data::DataPreview,
    machine::DeviceInfo,
    objective::ConfusionMatrix,
    protocol::{Command, Request, RunEdit, Ticket, commands},
    store::{
        CheckpointRecord, DamagedRun, ExampleOutcomes, OutcomeKind, RunId, RunRecord, RunState, RunSummary,
        SnapshotData, TextSample, snapshot_kinds,
    },
};

use super::{
    AdviceState, AnalysisState, AnswersState, CurrentRun, FlatConfigs, GenerateState, HubState, MapsState,
    MistakesState, ModelsState, PurgeState, SamplingNoiseCache, Selection, SeriesCache, SpeedState, StartFacts,
    SubjectId, SystemLoad, UploadsState, folder_name, grouped_of::GroupedOf, request_cache::RequestCache,
};
use crate::{
    compare::{NotJudged, is_of_race, why_not_judged},
    format::Names,
    messages::{Level, Messages},
    settings::Settings,
};

/// Everything that the panels show.
#[derive(Default)]
pub struct State {
    /// All runs, newest first.
    pub runs: Vec<RunSummary>,
    /// Whether the first list of runs has come.
    pub runs_loaded: bool,
    /// Runs whose records cannot be read.
    pub damaged: Vec<DamagedRun>,
    /// What was deleted and can be removed for good.
    pub purge: PurgeState,
    /// Whole records of runs that were asked for with [`State::want_record`].
    pub records: BTreeMap<RunId, RunRecord>,
    /// Flat configs of the runs that were asked for with [`State::want_configs`].
    pub configs: FlatConfigs,
    /// Checkpoints of runs whose record came, by step.
    pub checkpoints: BTreeMap<RunId, Vec<CheckpointRecord>>,
    /// Folders that hold the files of runs whose record came.
    pub folders: BTreeMap<RunId, PathBuf>,
    /// Text samples of runs that were asked for with [`State::want_samples`].
    pub samples: BTreeMap<RunId, Vec<TextSample>>,
    /// Outcomes of single examples of runs that were asked for with [`State::want_outcomes`]; none where none were recorded.
    pub outcomes: BTreeMap<(RunId, OutcomeKind), Option<Box<ExampleOutcomes>>>,
    /// Noise of the validation sample that was derived from them.
    pub(super) sampling: SamplingNoiseCache,
    /// Mixing matrices of the newest step, by layer, of runs that were asked for with [`State::want_mixing`].
    pub mixing: BTreeMap<RunId, Vec<SnapshotData>>,
    /// Which classes runs took for which at their newest evaluation, with its step; none where a run does not classify. Of runs that
    /// were asked for with [`State::want_confusion`].
    pub confusion: BTreeMap<RunId, Option<(u64, ConfusionMatrix)>>,
    /// The snapshots of such that are to come.
    pub(super) confusion_to_come: BTreeMap<i64, RunId>,
    /// Matrices that were asked for and have not all come: their keys, and those that came.
    pub(super) mixing_to_come: BTreeMap<RunId, (Vec<i64>, Vec<SnapshotData>)>,
    /// What is known of runs that this program started.
    pub started: BTreeMap<RunId, StartFacts>,
    /// Curves.
    pub series: SeriesCache,
    /// Analyses of attention.
    pub analysis: AnalysisState,
    /// Runs that were advised.
    pub advice: AdviceState,
    /// Attention maps.
    pub maps: MapsState,
    /// What is known of a hub, and what is fetched from it.
    pub hub: HubState,
    /// What of models would be uploaded, and what is.
    pub uploads: UploadsState,
    /// What is known of models, and conversions.
    pub models: ModelsState,
    /// Texts that are generated.
    pub generate: GenerateState,
    /// What models with a task were asked.
    pub answers: AnswersState,
    /// What a classifier gets wrong.
    pub mistakes: MistakesState,
    /// Benchmarks and measurements.
    pub speed: SpeedState,
    /// Which runs are shown, pinned, hovered.
    pub selection: Selection,
    /// What computes now.
    pub current: Option<CurrentRun>,
    /// Runs that wait, in order.
    pub waiting: Vec<RunId>,
    /// Where each of them stands among all that waits.
    pub waiting_places: Vec<usize>,
    /// What happened.
    pub messages: Messages,
    /// The machine's load.
    pub system: Option<SystemLoad>,
    /// Devices, once asked for.
    pub devices: Vec<DeviceInfo>,
    /// The newest answer about what a config alone cannot tell.
    pub check: Option<CheckAnswer>,
    /// The store's name, for the top bar.
    pub store_name: String,
    /// The engine has ended: nothing can be started any more.
    pub engine_ended: bool,
    /// What runs were put together of, the last time.
    pub(super) grouped_of: Option<GroupedOf>,
    /// What the runs of the table are called: no two have the same name.
    pub(super) labels: BTreeMap<RunId, String>,
    /// The same names, to be told apart where there is no room for all of one.
    pub(super) run_names: Names,
    /// Names of runs that were queued and may not be in the list yet.
    pub(super) names: BTreeMap<RunId, String>,
    /// The tag of a race that was queued and whose runs are not in the table yet: its first becomes the baseline.
    pub(super) expected_race: Option<String>,
    /// Runs that began while the runs of a tag alone are shown, and are not in the table yet.
    pub(super) undecided: Vec<RunId>,
    /// Runs that were deleted and can be brought back, newest last.
    pub(super) deleted: Vec<Deleted>,
    /// How often something was deleted.
    pub(super) deletions: u64,
    /// Runs whose deletion was undone and that are not in the table yet.
    pub(super) returning: Vec<Deleted>,
    /// What was asked of runs: their records, samples and mixing matrices.
    pub(super) asked: RequestCache<(RunId, Asked)>,
    /// Exports of models that were asked for, and what came of them.
    pub(super) exports: BTreeMap<Ticket, Option<Result<(), String>>>,
    /// What follows from events; sent after draining.
    pub(super) outgoing: Vec<Request>,
}

/// What was asked of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Asked {
    Confusion,
    Mixing,
    Outcomes(OutcomeKind),
    Record,
    Samples,
}

impl Asked {
    pub(super) fn of(self, run: &RunId) -> Command {
        let run = run.clone();
        match self {
            Self::Confusion => commands::LoadSnapshots { run, kind: snapshot_kinds::CONFUSION.to_owned() }.into(),
            Self::Mixing => commands::LoadSnapshots { run, kind: snapshot_kinds::MIXING.to_owned() }.into(),
            Self::Outcomes(kind) => commands::LoadOutcomes { run, kind }.into(),
            Self::Record => commands::LoadRun { run }.into(),
            Self::Samples => commands::LoadSamples { run }.into(),
        }
    }
}

/// Answer to a check of a config.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckAnswer {
    /// Which state of the config it is about.
    pub revision: u64,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// Free memory on the chosen device, when known.
    pub free_bytes: Option<u64>,
    /// Facts about its model.
    pub facts: ModelFacts,
    /// The beginning of the table or of the images that the config names, if these can be read.
    pub preview: Option<DataPreview>,
}

/// A run that was deleted, and how it was shown.
pub(super) struct Deleted {
    pub run: RunId,
    pub name: String,
    /// Counts deletions: those of one stroke come back together.
    pub deletion: u64,
    pub was_visible: bool,
    pub was_focused: bool,
    pub was_baseline: bool,
    /// Its place among the line styles.
    pub style: Option<usize>,
}

impl State {
    /// What a run or a model directory is called.
    pub fn subject_name(&self, of: &SubjectId) -> String {
        match of {
            SubjectId::Run(run) => self.run_name(run),
            SubjectId::Directory(path) => folder_name(path),
        }
    }

    /// The run's line in the table.
    pub fn run(&self, run: &RunId) -> Option<&RunSummary> {
        self.runs.iter().find(|summary| summary.id == *run)
    }

    /// What the run is called wherever it is shown: its name, with what tells it from others of that name; its id while
    /// the name is not known.
    pub fn run_name(&self, run: &RunId) -> String {
        self.labels
            .get(run)
            .cloned()
            .or_else(|| self.run(run).map(|summary| summary.name.clone()))
            .or_else(|| self.names.get(run).cloned())
            .or_else(|| self.current.as_ref().filter(|current| current.run == *run).map(|current| current.name.clone()))
            .unwrap_or_else(|| run.to_string())
    }

    /// What all runs are called: whoever shortens a name leaves what tells it from these.
    pub fn run_names(&self) -> &Names {
        &self.run_names
    }

    /// The newest run that another program on the store trains.
    pub fn running_elsewhere(&self) -> Option<&RunSummary> {
        let is_here = |run: &RunSummary| self.current.as_ref().is_some_and(|current| current.run == run.id);
        let is_training = |run: &RunSummary| matches!(run.state, RunState::Running | RunState::Paused);
        self.runs.iter().find(|run| is_training(run) && !is_here(run))
    }

    /// What runs out on the machine while something trains, which that would end; as [`SystemLoad::shortages`].
    pub fn shortages(&self) -> Vec<(&'static str, String)> {
        let trains = self.current.is_some() || self.running_elsewhere().is_some();
        self.system.as_ref().filter(|_| trains).map(SystemLoad::shortages).unwrap_or_default()
    }

    /// Asks for a run's whole record, once; it comes into `records`.
    pub fn want_record(&mut self, run: &RunId) {
        if !self.records.contains_key(run) {
            self.asked.want(&(run.clone(), Asked::Record), || Asked::Record.of(run));
        }
    }

    /// Wants the configs of all runs, a few at a time; they come into `configs`. Returns how many are still missing.
    pub fn want_configs(&mut self) -> usize {
        let mut configs = std::mem::take(&mut self.configs);
        let missing = configs.want_all(self);
        self.configs = configs;
        missing
    }

    /// Asks for the export of a model; what comes of it is there for [`State::take_export`].
    pub fn ask_export(&mut self, command: impl Into<Command>) -> Ticket {
        let request = Request::from(command);
        let ticket = request.ticket;
        self.exports.insert(ticket, None);
        self.outgoing.push(request);
        ticket
    }

    /// What came of an export, or why it failed, once: then it is forgotten.
    pub fn take_export(&mut self, ticket: Ticket) -> Option<Result<(), String>> {
        let answer = self.exports.get_mut(&ticket)?.take()?;
        self.exports.remove(&ticket);
        Some(answer)
    }

    /// Asks for a run's text samples, once; they come into `samples`, and new ones follow.
    pub fn want_samples(&mut self, run: &RunId) {
        if !self.samples.contains_key(run) {
            self.asked.want(&(run.clone(), Asked::Samples), || Asked::Samples.of(run));
        }
    }

    /// Asks for the outcomes of the single examples of a run's best or last evaluation, once; they come into `outcomes`, and
    /// newer ones follow.
    pub fn want_outcomes(&mut self, run: &RunId, kind: OutcomeKind) {
        if !self.outcomes.contains_key(&(run.clone(), kind)) {
            let asked = Asked::Outcomes(kind);
            self.asked.want(&(run.clone(), asked), || asked.of(run));
        }
    }

    /// Asks for a run's mixing matrices, once; they come into `mixing`, and newer ones follow.
    pub fn want_mixing(&mut self, run: &RunId) {
        if !self.mixing.contains_key(run) {
            self.asked.want(&(run.clone(), Asked::Mixing), || Asked::Mixing.of(run));
        }
    }

    /// Asks for a run's newest confusion matrix, once; it comes into `confusion`, and newer ones follow.
    pub fn want_confusion(&mut self, run: &RunId) {
        if !self.confusion.contains_key(run) {
            self.asked.want(&(run.clone(), Asked::Confusion), || Asked::Confusion.of(run));
        }
    }

    /// A race with this tag is being queued: its runs alone are shown, and its first is pinned once it is in the table.
    pub fn expect_race(&mut self, tag: String) {
        self.selection.hold(tag.clone(), []);
        self.selection.baseline = None;
        self.expected_race = Some(tag);
    }

    /// Deletes runs so that one Undo brings all of them back.
    pub fn delete_runs(&mut self, runs: &[RunId]) {
        let what = match runs {
            [] => return,
            [run] => format!("the run \"{}\". Undo brings it back.", self.run_name(run)),
            _ => format!("{}. Undo brings them back.", counted(runs.len() as u64, "run")),
        };
        self.messages.push_info(format!("Deleted {what}"));
        self.deletions += 1;
        for run in runs {
            let selection = &self.selection;
            self.deleted.push(Deleted {
                run: run.clone(),
                name: self.run_name(run),
                deletion: self.deletions,
                was_visible: selection.is_visible(run),
                was_focused: selection.focused.as_ref() == Some(run),
                was_baseline: selection.baseline.as_ref() == Some(run),
                style: selection.styles.places().get(run).copied(),
            });
            self.outgoing.push(commands::Edit { run: run.clone(), edit: RunEdit::Delete }.into());
        }
        if let Some(gone) = self.selection.focused.as_ref().filter(|focused| runs.contains(focused)) {
            // Its neighbour takes its place, so that nothing jumps.
            let place = self.runs.iter().position(|run| run.id == *gone).unwrap_or_default();
            let left = |run: &&RunSummary| !runs.contains(&run.id) && !run.archived;
            let after = self.runs.iter().skip(place).find(left);
            let next = after.or_else(|| self.runs.iter().take(place).rev().find(left));
            self.selection.focused = next.map(|run| run.id.clone());
        }
    }

    /// Brings the runs that were deleted last back; returns what they are called.
    pub fn undo_delete(&mut self) -> Option<String> {
        let last = self.deleted.last()?.deletion;
        let back: Vec<Deleted> = self.deleted.extract_if(.., |deleted| deleted.deletion == last).collect();
        let what = match back.as_slice() {
            [one] => format!("the run \"{}\"", one.name),
            all => counted(all.len() as u64, "run"),
        };
        self.messages.push_info(format!("Brought {what} back."));
        for deleted in back {
            self.outgoing.push(commands::Edit { run: deleted.run.clone(), edit: RunEdit::Undelete }.into());
            self.returning.push(deleted);
        }
        Some(what)
    }

    /// The runs of a tag are shown alone. A baseline that is none of them is unpinned; of a race the first is pinned.
    pub fn show_tag(&mut self, tag: &str) {
        let has_tag = |run: &&RunSummary| !run.archived && run.tags.iter().any(|own| own == tag);
        let tagged: Vec<&RunSummary> = self.runs.iter().filter(has_tag).collect();
        let first = tagged.iter().min_by_key(|run| run.number).map(|run| run.id.clone());
        let ids: Vec<RunId> = tagged.into_iter().map(|run| run.id.clone()).collect();
        if !self.selection.baseline.as_ref().is_some_and(|run| ids.contains(run)) {
            self.selection.baseline = first.filter(|_| is_of_race(tag));
        }
        self.selection.hold(tag.to_owned(), ids);
    }

    /// These runs alone are shown, to be compared. A pinned baseline that is none of them stays beside them where it is of their
    /// race, or all are of none and can be held against it; else the first of them takes its place. Either is said.
    pub fn compare_only(&mut self, runs: &[RunId]) {
        self.selection.show_only(runs.iter().cloned());
        let chosen: Vec<&RunSummary> = self.runs.iter().filter(|run| self.selection.is_visible(&run.id)).collect();
        let other = self.selection.baseline.as_ref().filter(|pinned| !self.selection.is_visible(pinned));
        let pinned = other.and_then(|pinned| self.run(pinned));
        let first = chosen.iter().min_by_key(|run| run.number);
        let (Some(pinned), Some(first)) = (pinned, first) else { return };
        let (old, new, first) = (self.run_name(&pinned.id), self.run_name(&first.id), first.id.clone());
        match self.why_apart(pinned, &chosen) {
            None => {
                let what = format!("\"{old}\" stays beside these runs: it is the pinned baseline.");
                self.messages.push(Level::Info, what, "Unpin it to compare these runs alone.", None);
            }
            Some(why) => {
                self.selection.baseline = Some(first);
                let what = format!("\"{new}\" is the baseline of these runs: \"{old}\", which was pinned, {why}.");
                self.messages.push(Level::Info, what, "Pin that one again to compare with it.", None);
            }
        }
    }

    /// Why a run is no baseline of these runs; none where it is one.
    fn why_apart(&self, pinned: &RunSummary, runs: &[&RunSummary]) -> Option<&'static str> {
        let is_shared = |tag: &String| is_of_race(tag) && runs.iter().all(|run| run.tags.contains(tag));
        if pinned.tags.iter().any(is_shared) {
            return None;
        }
        if let Some(why) = runs.iter().find_map(|run| why_not_judged(pinned, run)) {
            return Some(match why {
                NotJudged::Objective => "has another objective",
                NotJudged::Text => "was measured on other text or in other tokens",
                NotJudged::Rows { .. } => "was evaluated on other examples",
            });
        }
        let is_raced = |run: &RunSummary| run.tags.iter().any(|tag| is_of_race(tag));
        if is_raced(pinned) || runs.iter().any(|run| is_raced(run)) {
            return Some("is not of their race");
        }
        let length = |run: &RunSummary| self.records.get(&run.id)?.config.pointer("/data/sequence_length").cloned();
        let is_other = |own: &serde_json::Value| runs.iter().filter_map(|run| length(run)).any(|length| length != *own);
        length(pinned).as_ref().is_some_and(is_other).then_some("has another length")
    }

    /// Whether there is a deleted run that Undo brings back.
    pub fn can_undo_delete(&self) -> bool {
        !self.deleted.is_empty()
    }

    /// A new frame of the window begins: which runs look how is settled before any panel draws one.
    pub fn begin_frame(&mut self, settings: &Settings) {
        self.series.begin_frame();
        self.selection.begin_frame();
        self.selection.give_styles(&self.runs);
        self.group_shown(settings);
    }

    /// What follows from events and from what panels want.
    pub fn take_requests(&mut self) -> Vec<Request> {
        let mut requests = std::mem::take(&mut self.outgoing);
        requests.extend(self.asked.take_requests());
        requests.extend(self.series.take_loads(Instant::now()));
        requests.extend(self.speed.take_requests());
        requests.extend(self.analysis.take_requests());
        requests.extend(self.advice.take_requests());
        requests.extend(self.maps.take_requests());
        requests.extend(self.generate.take_requests());
        requests.extend(self.answers.take_requests());
        requests.extend(self.mistakes.take_requests());
        requests.extend(self.hub.take_requests());
        requests.extend(self.models.take_requests());
        requests.extend(self.uploads.take_requests());
        requests
    }
}
