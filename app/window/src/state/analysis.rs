use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use headroom_engine::{
    analysis::{Analysis, AnalysisSpec},
    config::{DataConfig, RunConfig},
    protocol::{Command, Event, Request, Subspace, Ticket, Which, commands, events},
    store::{AnalysisId, AnalysisSummary, RunId},
};

use super::{FollowedJob, SubjectId, followed_job::follows_job, request_cache::RequestCache};
use crate::{messages::Messages, widgets::HeadMarks};

/// Analyses of runs while they trained that are kept in memory; the ones that were used the longest ago go first.
const KEPT: usize = 600;
/// Analyses on demand that are kept in memory.
const KEPT_ON_DEMAND: usize = 24;

/// An analysis that was asked for here and has not ended.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingAnalysis {
    /// Its job, whose id is the analysis's.
    pub job: FollowedJob,
    /// Its id.
    pub analysis: AnalysisId,
    /// What is analysed.
    pub of: SubjectId,
    /// Whether scores are restored from some of their pairs: what it is called once it is done.
    restores: bool,
    /// Whether the panels show it once it is there.
    opens: bool,
}
follows_job!(PendingAnalysis);

/// An answer of the engine that panels of analyses wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnalysisPart {
    /// The list of analyses on demand.
    List,
    /// The steps at which a run kept an analysis.
    Steps(RunId),
    /// What a run kept at a step.
    Live(RunId, u64),
    /// An analysis on demand.
    OnDemand(AnalysisId),
}

/// Groups of similar heads of a run, to be marked on the head map of Configure.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkedHeads {
    /// The run, by name.
    pub run: String,
    /// Layers of its model.
    pub layers: usize,
    /// Heads of each.
    pub heads: usize,
    /// The least similarity of two heads of a group, 0 to 1.
    pub threshold: f64,
    /// The groups.
    pub marks: HeadMarks,
    /// The run's config, where it is known.
    pub config: Option<Box<RunConfig>>,
}

/// Analyses: those that runs kept while they trained, and those that were asked for.
pub struct AnalysisState {
    /// Analyses that wait or are being computed, in their order.
    pub pending: Vec<PendingAnalysis>,
    /// Why the last analysis that was asked for of a model failed; until another one is asked for, or it is dismissed.
    failed: BTreeMap<SubjectId, String>,
    /// What is marked on the head map of Configure.
    pub marked: Option<MarkedHeads>,
    /// Whether a run that has a control is shown beside it.
    pub beside_control: bool,
    /// The steps at which runs kept an analysis while they trained, ascending.
    steps: RequestCache<RunId, Vec<u64>>,
    /// What they kept.
    live: RequestCache<(RunId, u64), Arc<Analysis>>,
    list: RequestCache<(), Vec<AnalysisSummary>>,
    /// What was found on demand.
    found: RequestCache<AnalysisId, Arc<Analysis>>,
    /// Which analysis on demand is shown of a run or a model directory; none: what the run kept while it trained.
    opened: BTreeMap<SubjectId, AnalysisId>,
    /// Paths of other texts than those of the runs, as they were typed.
    other_texts: BTreeMap<RunId, String>,
    deleted: Vec<AnalysisId>,
    outgoing: Vec<Request>,
}

impl Default for AnalysisState {
    fn default() -> Self {
        Self {
            pending: Vec::new(),
            failed: BTreeMap::new(),
            marked: None,
            beside_control: false,
            steps: RequestCache::default(),
            live: RequestCache::keeping(KEPT),
            list: RequestCache::default(),
            found: RequestCache::keeping(KEPT_ON_DEMAND),
            opened: BTreeMap::new(),
            other_texts: BTreeMap::new(),
            deleted: Vec::new(),
            outgoing: Vec::new(),
        }
    }
}

impl AnalysisState {
    /// The steps at which a run kept an analysis, ascending; asked for, once, while they are not known.
    pub fn steps(&mut self, run: &RunId) -> Option<Vec<u64>> {
        self.steps.get(run, || commands::LoadLiveAnalyses { run: run.clone() }).cloned()
    }

    /// What a run kept at a step; asked for, once, while it is not there.
    pub fn at(&mut self, run: &RunId, step: u64) -> Option<Arc<Analysis>> {
        self.live.get(&(run.clone(), step), || commands::LoadLiveAnalysis { run: run.clone(), step }).cloned()
    }

    /// Of how many maps of scores the analyses during training are, as far as that is known: of those of the first; what a text
    /// holds does not change. Asked for, once.
    pub fn kept_samples(&mut self, run: &RunId) -> Option<u64> {
        let first = self.steps(run)?.first().copied()?;
        let found = self.at(run, first)?;
        Some(found.spectra.as_ref()?.network.samples)
    }

    /// The path of another text than the run's own that analyses of it read, as it was typed; empty: its own.
    pub fn other_text(&self, run: &RunId) -> &str {
        self.other_texts.get(run).map_or("", String::as_str)
    }

    /// What is typed there.
    pub fn set_other_text(&mut self, run: &RunId, typed: String) {
        if typed.is_empty() {
            self.other_texts.remove(run);
        } else {
            self.other_texts.insert(run.clone(), typed);
        }
    }

    /// Why there is no answer, where it failed.
    pub fn failure(&self, part: &AnalysisPart) -> Option<&str> {
        match part {
            AnalysisPart::List => self.list.failure(&()),
            AnalysisPart::Steps(run) => self.steps.failure(run),
            AnalysisPart::Live(run, step) => self.live.failure(&(run.clone(), *step)),
            AnalysisPart::OnDemand(analysis) => self.found.failure(analysis),
        }
    }

    /// Asks again for what failed.
    pub fn retry(&mut self, part: &AnalysisPart) {
        match part {
            AnalysisPart::List => self.list.forget(&()),
            AnalysisPart::Steps(run) => self.steps.forget(run),
            AnalysisPart::Live(run, step) => self.live.forget(&(run.clone(), *step)),
            AnalysisPart::OnDemand(analysis) => self.found.forget(analysis),
        }
    }

    /// The steps of a run have come.
    pub fn take_steps(&mut self, run: RunId, mut steps: Vec<u64>) {
        steps.sort_unstable();
        steps.dedup();
        self.live.retain(|(of, step), _| *of != run || steps.contains(step));
        self.steps.answer(run, steps);
    }

    /// A run kept one more.
    pub fn take_step(&mut self, run: &RunId, step: u64) {
        // One of a step that was done again replaces what was there.
        self.live.forget(&(run.clone(), step));
        let Some(steps) = self.steps.peek(run) else { return };
        if let Err(place) = steps.binary_search(&step) {
            let mut steps = steps.clone();
            steps.insert(place, step);
            self.steps.answer(run.clone(), steps);
        }
    }

    /// A new attempt of a run begins after `step`: what an earlier one found later is not current any more.
    pub(super) fn rewind(&mut self, run: &RunId, step: u64) {
        self.live.retain(|(of, at), _| of != run || *at <= step);
        if let Some(steps) = self.steps.peek(run) {
            let steps = steps.iter().copied().filter(|at| *at <= step).collect();
            self.steps.answer(run.clone(), steps);
        }
    }

    /// What a run kept at a step has come.
    pub fn take(&mut self, run: RunId, step: u64, analysis: Analysis) {
        self.live.answer((run, step), Arc::new(analysis));
    }

    /// Forgets runs that are no more.
    pub(super) fn retain(&mut self, exists: impl Fn(&RunId) -> bool) {
        self.steps.retain(|run, _| exists(run));
        self.live.retain(|(run, _), _| exists(run));
    }

    /// What was found on demand of a run or a model directory, the newest first; asked for, once.
    pub fn on_demand(&mut self, of: &SubjectId) -> Vec<AnalysisSummary> {
        self.all_on_demand().filter(|found| of.is_of(found)).cloned().collect()
    }

    /// The model directories of which something was found on demand, the newest first; asked for, once.
    pub fn directories(&mut self) -> Vec<PathBuf> {
        let mut all = Vec::new();
        for found in self.all_on_demand().filter(|found| found.run.is_none()) {
            let path = PathBuf::from(&found.target);
            if path.is_absolute() && !all.contains(&path) {
                all.push(path);
            }
        }
        all
    }

    fn all_on_demand(&mut self) -> impl Iterator<Item = &AnalysisSummary> {
        let Self { list, deleted, .. } = self;
        let all = list.get(&(), || Command::ListAnalyses).into_iter().flatten();
        all.filter(|found| !deleted.contains(&found.id))
    }

    /// Whether the list of what was found on demand has come.
    pub fn has_list(&self) -> bool {
        self.list.peek(&()).is_some()
    }

    /// What was found on demand; asked for, once, while it is not there.
    pub fn result(&mut self, analysis: &AnalysisId) -> Option<Arc<Analysis>> {
        self.found.get(analysis, || commands::LoadAnalysis { analysis: analysis.clone() }).cloned()
    }

    /// The analysis on demand that is shown of a run or a model directory.
    pub fn opened(&self, of: &SubjectId) -> Option<AnalysisId> {
        self.opened.get(of).cloned()
    }

    /// Shows an analysis on demand of a run or a model directory, or what the run kept while it trained.
    pub fn open(&mut self, of: &SubjectId, analysis: Option<AnalysisId>) {
        match analysis {
            Some(analysis) => self.opened.insert(of.clone(), analysis),
            None => self.opened.remove(of),
        };
    }

    /// The newest analysis of a run on its held-out text, read in order or shuffled.
    pub fn by_order(&mut self, run: &RunId, shuffled: bool) -> Option<AnalysisSummary> {
        let of = |found: &&AnalysisSummary| found.shuffled == Some(shuffled);
        self.on_demand(&run.into()).iter().find(of).cloned()
    }

    /// Why the analysis that was asked for last of it failed.
    pub fn last_failure(&self, of: &SubjectId) -> Option<&str> {
        self.failed.get(of).map(String::as_str)
    }

    /// Says no longer why it failed.
    pub fn dismiss_failure(&mut self, of: &SubjectId) {
        self.failed.remove(of);
    }

    /// Whether an analysis of it waits or is being computed.
    pub fn is_pending(&self, of: &SubjectId) -> bool {
        self.pending.iter().any(|pending| pending.of == *of)
    }

    /// Queues an analysis of a run's checkpoint, or of a model directory of this name, on this text (none: the run's held-out one);
    /// it is shown once it is there.
    pub fn analyse(
        &mut self,
        (of, name): (&SubjectId, &str),
        which: Which,
        data: Option<Box<DataConfig>>,
        spec: AnalysisSpec,
        subspaces: Vec<Subspace>,
        base_dir: PathBuf,
    ) -> AnalysisId {
        let analysis = AnalysisId::new();
        self.failed.remove(of);
        let restores = spec.reconstruction.is_some();
        let command = commands::Analyse {
            analysis: analysis.clone(),
            target: of.target(which),
            data,
            spec: Box::new(spec),
            subspaces,
            base_dir,
        };
        let job = FollowedJob::start_as(&analysis, title_of(name), command, &mut self.outgoing);
        self.pending.push(PendingAnalysis { job, analysis: analysis.clone(), of: of.clone(), restores, opens: true });
        analysis
    }

    /// The same of the best checkpoint, on text in order or shuffled; it belongs beside others, so it is not shown by itself.
    pub fn analyse_beside(&mut self, run: &RunId, name: &str, shuffled: bool, base_dir: PathBuf) {
        let spec = AnalysisSpec { shuffled: Some(shuffled), ..AnalysisSpec::default() };
        let analysis = self.analyse((&run.into(), name), Which::Best, None, spec, Vec::new(), base_dir);
        if let Some(pending) = self.pending.iter_mut().find(|pending| pending.analysis == analysis) {
            pending.opens = false;
        }
    }

    /// Cancels an analysis; nothing of it is kept.
    pub fn cancel(&mut self, analysis: &AnalysisId) {
        if let Some(pending) = self.pending.iter_mut().find(|pending| pending.analysis == *analysis) {
            pending.job.cancel(&mut self.outgoing);
        }
    }

    /// Deletes an analysis on demand so that Undo brings it back.
    pub fn delete(&mut self, analysis: &AnalysisId, messages: &mut Messages) {
        messages.push_info("Deleted the analysis. Undo brings it back.");
        self.deleted.push(analysis.clone());
        self.opened.retain(|_, opened| opened != analysis);
        self.outgoing.push(commands::DeleteAnalysis { analysis: analysis.clone(), deleted: true }.into());
    }

    /// Brings the analysis that was deleted last back. False if there is none.
    pub fn undo_delete(&mut self, messages: &mut Messages) -> bool {
        let Some(analysis) = self.deleted.pop() else { return false };
        messages.push_info("Brought the analysis back.");
        self.outgoing.push(commands::DeleteAnalysis { analysis, deleted: false }.into());
        true
    }

    pub(super) fn fail(&mut self, ticket: Ticket, why: &str) -> bool {
        self.steps.fail(ticket, why)
            || self.live.fail(ticket, why)
            || self.list.fail(ticket, why)
            || self.found.fail(ticket, why)
    }

    pub(super) fn take_requests(&mut self) -> Vec<Request> {
        let mut requests = std::mem::take(&mut self.outgoing);
        requests.extend(self.steps.take_requests());
        requests.extend(self.live.take_requests());
        requests.extend(self.list.take_requests());
        requests.extend(self.found.take_requests());
        requests
    }

    /// Subject of an analysis that is queued by this event, or ends with it.
    pub(super) fn subject_of(&self, event: &Event) -> Option<SubjectId> {
        match event {
            Event::AnalyseQueued(events::AnalyseQueued { run, .. }) => Some(run.clone()?.into()),
            Event::AnalyseEnded(events::AnalyseEnded { analysis, .. }) => {
                let pending = self.pending.iter().find(|pending| pending.analysis == *analysis);
                pending.map(|pending| pending.of.clone())
            }
            _ => None,
        }
    }

    /// Takes an event of an analysis in; others are none of its business. `name` is what its subject is called.
    pub(super) fn apply(
        &mut self,
        ticket: Option<Ticket>,
        event: Event,
        name: &str,
        messages: &mut Messages,
    ) -> Option<Event> {
        match event {
            Event::LiveAnalyses(events::LiveAnalyses { run, steps }) => self.take_steps(run, steps),
            Event::LiveAnalysis(events::LiveAnalysis { run, result }) => {
                if let Some(step) = result.step {
                    self.take(run, step, *result);
                }
            }
            Event::Snapshot(events::Snapshot { run, step, .. }) => self.take_step(&run, step),
            Event::Analyses(events::Analyses { analyses }) => {
                self.opened.retain(|_, opened| analyses.iter().any(|known| known.id == *opened));
                self.list.answer((), analyses);
            }
            // Asked for with runs that had to be trained first.
            Event::AnalyseQueued(events::AnalyseQueued { analysis, run: Some(run), .. })
                if !self.pending.iter().any(|pending| pending.analysis == analysis) =>
            {
                let job = FollowedJob::waiting(ticket?, Some(analysis.clone()), title_of(name));
                let (restores, opens) = (false, false);
                self.pending.push(PendingAnalysis { job, analysis, of: run.into(), restores, opens });
            }
            Event::Analysed(events::Analysed { analysis, result }) => self.found.answer(analysis, Arc::from(result)),
            Event::AnalyseEnded(events::AnalyseEnded { analysis, complete, why, unwritten, .. }) => {
                if let Some(why) = unwritten {
                    messages.push_warning(format!("The analysis is not kept. {why}"), "");
                }
                let place = self.pending.iter().position(|pending| pending.analysis == analysis)?;
                let pending = self.pending.remove(place);
                match why {
                    Some(why) => {
                        self.failed.insert(pending.of.clone(), why.clone());
                        messages.push_error(why, "");
                    }
                    None if complete && pending.restores => {
                        messages.push_info(format!("Reconstructed the scores of {name}."));
                    }
                    None if complete => messages.push_info(format!("Analysed {name}.")),
                    None => messages.push_info("The analysis was cancelled; nothing of it is kept."),
                }
                if complete && pending.opens {
                    self.opened.insert(pending.of, analysis);
                }
                self.list.refresh(&(), || Command::ListAnalyses);
            }
            other => return Some(other),
        }
        None
    }
}

fn title_of(name: &str) -> String {
    format!("Analysis of {name}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use headroom_engine::protocol::JobCommand;

    fn asked(state: &mut AnalysisState) -> Vec<Command> {
        state.take_requests().into_iter().map(|request| request.command).collect()
    }

    fn run() -> RunId {
        "1k7qz00001".parse().unwrap()
    }

    #[test]
    fn everything_is_asked_for_once() {
        let mut state = AnalysisState::default();
        for _ in 0..3 {
            assert_eq!((state.steps(&run()), state.at(&run(), 100)), (None, None));
        }
        let commands = asked(&mut state);
        assert!(matches!(
            &commands[..],
            [Command::LoadLiveAnalyses(_), Command::LoadLiveAnalysis(commands::LoadLiveAnalysis { step: 100, .. })]
        ));
        state.take_steps(run(), vec![200, 100]);
        assert_eq!(state.steps(&run()), Some(vec![100, 200]));
        state.take(run(), 100, Analysis { examples: 7, ..Analysis::default() });
        assert_eq!(state.at(&run(), 100).map(|found| found.examples), Some(7));
        assert!(asked(&mut state).is_empty());
    }

    #[test]
    fn new_steps_join_and_a_step_that_was_done_again_is_read_again() {
        let mut state = AnalysisState::default();
        state.take_step(&run(), 100);
        assert!(!state.steps.knows(&run()), "of a run that nobody looks at nothing is kept");
        state.take_steps(run(), vec![100, 300]);
        state.take_step(&run(), 200);
        state.take_step(&run(), 300);
        assert_eq!(state.steps(&run()), Some(vec![100, 200, 300]));
        state.take(run(), 300, Analysis::default());
        state.take_step(&run(), 300);
        assert_eq!(state.at(&run(), 300), None);
        assert!(matches!(
            &asked(&mut state)[..],
            [Command::LoadLiveAnalysis(commands::LoadLiveAnalysis { step: 300, .. })]
        ));
    }

    #[test]
    fn memory_is_bounded_and_what_was_looked_at_stays() {
        let mut state = AnalysisState::default();
        state.take(run(), 0, Analysis::default());
        for step in 1..=KEPT as u64 + 50 {
            state.take(run(), step, Analysis::default());
            assert!(state.at(&run(), 0).is_some(), "step 0 is looked at all the time");
        }
        assert_eq!(state.live.len(), KEPT);
        state.retain(|_| false);
        assert_eq!(state.live.len(), 0);
    }

    #[test]
    fn a_look_on_demand_is_opened_once_it_is_there_and_a_failed_one_says_why() {
        let (mut state, mut messages) = (AnalysisState::default(), Messages::default());
        let look = |state: &mut AnalysisState| {
            state.analyse(
                (&run().into(), "a run"),
                Which::Best,
                None,
                AnalysisSpec::default(),
                Vec::new(),
                PathBuf::new(),
            )
        };
        let first = look(&mut state);
        assert!(matches!(&asked(&mut state)[..], [Command::Job(JobCommand::Analyse(_))]));
        let result = Box::new(Analysis { examples: 9, ..Analysis::default() });
        state.apply(
            None,
            Event::Analysed(events::Analysed { analysis: first.clone(), result }),
            "a run",
            &mut messages,
        );
        state.apply(
            None,
            Event::AnalyseEnded(events::AnalyseEnded {
                analysis: first.clone(),
                complete: true,
                why: None,
                is_refusal: false,
                unwritten: Some("The disk is full.".to_owned()),
            }),
            "a run",
            &mut messages,
        );
        assert!(messages.newest_first().any(|message| message.what == "Analysed a run."));
        let not_kept = "The analysis is not kept. The disk is full.";
        assert!(messages.newest_first().any(|message| message.what == not_kept));
        assert_eq!((state.pending.len(), state.opened(&run().into())), (0, Some(first.clone())));
        assert_eq!(state.result(&first).map(|found| found.examples), Some(9));
        let second = look(&mut state);
        state.cancel(&second);
        assert!(state.pending[0].is_stopping);
        let why = Some("The scores of layer 1 are not finite.".to_owned());
        state.apply(
            None,
            Event::AnalyseEnded(events::AnalyseEnded {
                analysis: second,
                complete: false,
                why,
                is_refusal: false,
                unwritten: None,
            }),
            "a run",
            &mut messages,
        );
        assert_eq!(state.opened(&run().into()), Some(first.clone()), "what was shown stays");
        assert_eq!(state.last_failure(&run().into()), Some("The scores of layer 1 are not finite."));
        state.dismiss_failure(&run().into());
        assert_eq!(state.last_failure(&run().into()), None);
        assert!(messages.newest_first().any(|message| message.what.contains("not finite")));
        state.delete(&first, &mut messages);
        assert_eq!(state.opened(&run().into()), None);
        assert!(state.undo_delete(&mut messages) && !state.undo_delete(&mut messages));
    }
}
