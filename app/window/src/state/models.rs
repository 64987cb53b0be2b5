use std::path::{Path, PathBuf};

use headroom_engine::{
    attention::{ModelFacts, ModelPlan},
    checkpoint::DirectoryFacts,
    config::{DataConfig, RunConfig},
    convert::Conversion,
    protocol::{Event, ModelCost, Request, Target, Ticket, Which, commands, events},
    store::RunId,
};

use super::{FollowedJob, SubjectId, followed_job::follows_job, request_cache::RequestCache};
use crate::messages::Messages;

/// Models and previews that are kept.
const KEPT: usize = 64;

/// What is to be converted, and how.
#[derive(Clone, Debug)]
pub struct ConversionRequest {
    /// Which model.
    pub target: Target,
    /// It in words.
    pub name: String,
    /// What it is to become.
    pub conversion: Conversion,
    /// The directory to make.
    pub to: PathBuf,
    /// The text on which both are compared; none: the run's own, if there is one.
    pub data: Option<Box<DataConfig>>,
    /// Examples of it.
    pub examples: usize,
    /// Tokens of each; none: as the model was trained.
    pub tokens: Option<usize>,
}

/// A conversion that goes on or went.
#[derive(Clone, Debug)]
pub struct ConversionRun {
    /// Job that the engine was asked for.
    pub job: FollowedJob,
    /// What was asked for.
    pub asked: ConversionRequest,
    /// [`Event::Converted`], at the end.
    pub outcome: Option<Box<Event>>,
}

follows_job!(ConversionRun);

/// What a conversion would come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preview {
    /// What the model costs now.
    pub before: ModelCost,
    /// What it would cost; none where that depends on a text.
    pub after: Option<ModelCost>,
}

/// What the Models panel shows: what files of models say, what conversions would come to, and those that were made.
pub struct ModelsState {
    facts: RequestCache<String, DirectoryFacts>,
    plans: RequestCache<String, ModelPlan>,
    /// Facts about the models of configs.
    of_configs: RequestCache<String, ModelFacts>,
    previews: RequestCache<String, Preview>,
    /// The conversions of this window, the newest last.
    pub conversions: Vec<ConversionRun>,
    /// The model that the panel is to show next.
    opened: Option<SubjectId>,
    /// The conversion that its form is to say then, on examples of so many tokens.
    set_up: Option<(Conversion, usize)>,
    outgoing: Vec<Request>,
}

impl Default for ModelsState {
    fn default() -> Self {
        Self {
            facts: RequestCache::keeping(KEPT),
            plans: RequestCache::keeping(KEPT),
            of_configs: RequestCache::keeping(KEPT),
            previews: RequestCache::keeping(KEPT),
            conversions: Vec::new(),
            opened: None,
            set_up: None,
            outgoing: Vec::new(),
        }
    }
}

/// The folder of a model, where one of its files is named: that is seen by its name alone, since no disk is read here.
fn folder_of(path: PathBuf) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let is_file = [".bin", ".json", ".model", ".safetensors", ".txt"].iter().any(|ending| name.ends_with(ending));
    match path.parent().filter(|_| is_file) {
        Some(folder) => folder.to_owned(),
        None => path,
    }
}

/// What answers are found by: everything that crosses the door can be written.
fn key(of: &impl serde::Serialize) -> String {
    serde_json::to_string(of).unwrap_or_default()
}

impl ModelsState {
    /// What the files of a model say, or why they cannot be read; neither while that is to come.
    pub fn facts(&mut self, target: &Target) -> Result<Option<&DirectoryFacts>, String> {
        let key = key(target);
        if let Some(why) = self.facts.failure(&key) {
            return Err(why.to_owned());
        }
        Ok(self.facts.get(&key, || commands::DescribeModel { target: target.clone() }))
    }

    /// The plan of a model, or why it cannot be read; neither while that is to come.
    pub fn plan(&mut self, target: &Target) -> Result<Option<&ModelPlan>, String> {
        let key = key(target);
        if let Some(why) = self.plans.failure(&key) {
            return Err(why.to_owned());
        }
        Ok(self.plans.get(&key, || commands::ReadPlan { target: target.clone() }))
    }

    /// Facts about the model of a config, by which its costs are counted; none while they are being read.
    pub fn of_config(&mut self, config: &RunConfig, base_dir: &Path) -> Option<&ModelFacts> {
        let command = || commands::ReadFacts { config: Box::new(config.clone()), base_dir: base_dir.to_owned() };
        self.of_configs.get(&key(&(config, base_dir)), command)
    }

    /// Reads both again: they may have changed, or be there now.
    pub fn read_again(&mut self, target: &Target) {
        self.facts.forget(&key(target));
        self.plans.forget(&key(target));
    }

    /// A run has another checkpoint, its best one or not: its newest model, or its best, is in another folder now.
    pub(super) fn checkpointed(&mut self, run: &RunId, is_best: bool) {
        let of_best = is_best.then_some(Which::Best);
        for which in [Which::Last].into_iter().chain(of_best) {
            self.read_again(&Target::Run { run: run.clone(), which });
        }
    }

    /// Lets the panel show the model of this folder, or the one that this file belongs to. Its files are read anew.
    pub fn open(&mut self, path: PathBuf) {
        let folder = folder_of(path);
        self.read_again(&Target::Directory(folder.clone()));
        self.opened = Some(SubjectId::Directory(folder));
    }

    /// Lets the panel show a model with a conversion of it set up, on examples of so many tokens.
    pub fn set_up(&mut self, of: SubjectId, conversion: Conversion, tokens: usize) {
        self.opened = Some(of);
        self.set_up = Some((conversion, tokens));
    }

    /// The conversion that is to be set up, once.
    pub fn take_set_up(&mut self) -> Option<(Conversion, usize)> {
        self.set_up.take()
    }

    /// The model that is to be shown, once.
    pub fn take_opened(&mut self) -> Option<SubjectId> {
        self.opened.take()
    }

    /// What a conversion would come to, or why it cannot be. While that is to come, what is known of the last one that was asked
    /// for.
    pub fn preview(&mut self, target: &Target, conversion: &Conversion) -> Result<Option<Preview>, String> {
        let key = key(&(target, conversion));
        if let Some(why) = self.previews.failure(&key) {
            return Err(why.to_owned());
        }
        let command = || commands::PreviewConversion { target: target.clone(), conversion: conversion.clone() };
        Ok(self.previews.get(&key, command).copied())
    }

    /// Asks for a conversion.
    pub fn convert(&mut self, asked: ConversionRequest) {
        let base_dir = asked.to.parent().map(Path::to_path_buf).unwrap_or_default();
        let request = commands::Convert {
            target: asked.target.clone(),
            conversion: asked.conversion.clone(),
            to: asked.to.clone(),
            data: asked.data.clone(),
            examples: asked.examples,
            tokens: asked.tokens,
            threads: None,
            base_dir,
        };
        let job = FollowedJob::start(format!("Conversion of {}", asked.name), request, &mut self.outgoing);
        self.conversions.push(ConversionRun { job, asked, outcome: None });
    }

    /// Shows a conversion that has ended no longer.
    pub fn dismiss(&mut self, number: usize) {
        if self.conversions.get(number).is_some_and(|run| !run.phase.is_open()) {
            self.conversions.remove(number);
        }
    }

    /// Whether one is to come.
    pub fn is_converting(&self) -> bool {
        self.conversions.iter().any(|run| run.phase.is_open())
    }

    /// Ends what goes on; nothing is written then.
    pub fn stop(&mut self) {
        self.conversions.iter_mut().for_each(|run| run.job.cancel(&mut self.outgoing));
    }

    /// Whether the panel shows where it asked why this request failed.
    pub(super) fn says(&self, ticket: Ticket) -> bool {
        self.facts.asked(ticket)
            || self.plans.asked(ticket)
            || self.of_configs.asked(ticket)
            || self.previews.asked(ticket)
    }

    pub(super) fn take_requests(&mut self) -> Vec<Request> {
        let mut all = std::mem::take(&mut self.outgoing);
        all.extend(self.facts.take_requests());
        all.extend(self.plans.take_requests());
        all.extend(self.of_configs.take_requests());
        all.extend(self.previews.take_requests());
        all
    }

    /// Takes in that a request failed; false where it is none of these.
    pub(super) fn fail(&mut self, ticket: Ticket, why: &str) -> bool {
        self.facts.fail(ticket, why)
            || self.plans.fail(ticket, why)
            || self.of_configs.fail(ticket, why)
            || self.previews.fail(ticket, why)
    }

    /// Takes an event of a request in; others are none of its business.
    pub(super) fn apply(&mut self, ticket: Option<Ticket>, event: Event, messages: &mut Messages) -> Option<Event> {
        match event {
            Event::ModelDescribed(events::ModelDescribed { target, facts }) => self.facts.answer(key(&target), *facts),
            Event::FactsRead(events::FactsRead { config, base_dir, facts }) => {
                self.of_configs.answer(key(&(&config, &base_dir)), *facts);
            }
            Event::PlanRead(events::PlanRead { target, plan }) => self.plans.answer(key(&target), *plan),
            Event::ConversionPreviewed(events::ConversionPreviewed { target, conversion, before, after }) => {
                self.previews.answer(key(&(&target, &conversion)), Preview { before, after });
            }
            event @ Event::Converted(_) => {
                if let Some(run) = self.run(ticket) {
                    run.outcome = Some(Box::new(event));
                    run.job.end(false);
                    messages.push_info(format!("Converted {}: {}.", run.asked.name, run.asked.to.display()));
                    let made = key(&Target::Directory(run.asked.to.clone()));
                    self.facts.forget(&made);
                    self.plans.forget(&made);
                }
            }
            other => return Some(other),
        }
        None
    }

    fn run(&mut self, ticket: Option<Ticket>) -> Option<&mut ConversionRun> {
        self.conversions.iter_mut().find(|run| Some(run.ticket) == ticket)
    }
}

#[cfg(test)]
mod tests {
    use headroom_engine::{convert::ToGrouped, protocol::Notice};

    use headroom_engine::protocol::JobRef;

    use super::*;
    use crate::state::Phase;
    use headroom_engine::protocol::Command;

    fn asked(to: &str) -> ConversionRequest {
        ConversionRequest {
            target: Target::Directory("model".into()),
            name: "model".to_owned(),
            conversion: Conversion::Grouped(ToGrouped { kv_heads: 2 }),
            to: to.into(),
            data: None,
            examples: 8,
            tokens: None,
        }
    }

    #[test]
    fn a_conversion_is_followed_and_stopped() {
        let mut state = crate::state::State::default();
        state.models.convert(asked("a"));
        state.models.convert(asked("b"));
        let tickets: Vec<Ticket> = state.take_requests().into_iter().map(|request| request.ticket).collect();
        let going = Event::Converting(events::Converting {
            attention: "encoder.0.self".to_owned(),
            number: 1,
            count: 4,
            start: 0,
            sweep: 10,
            relative_error: 0.25,
        });
        state.apply(Notice { ticket: Some(tickets[1]), event: going });
        assert_eq!(state.models.conversions[0].phase, Phase::Waiting);
        assert!(
            state.models.conversions[1].progress().0.contains("encoder.0.self")
                && state.models.conversions[1].progress().1 == 0.25
        );
        let done = Event::Converted(events::Converted {
            target: "model".to_owned(),
            conversion: asked("a").conversion,
            path: "a".into(),
            bytes: 1,
            parameters_before: 2,
            parameters: 1,
            attentions: Vec::new(),
            found: None,
            price: None,
            unpriced: None,
            left_out: Vec::new(),
            seconds: 0.5,
        });
        state.apply(Notice { ticket: Some(tickets[0]), event: done });
        assert!(state.models.conversions[0].outcome.is_some() && state.models.is_converting());
        assert!(state.messages.newest_first().any(|message| message.what.starts_with("Converted model: ")));
        state.models.dismiss(1);
        assert_eq!(state.models.conversions.len(), 2, "one that goes on stays");
        state.models.stop();
        let sent: Vec<Command> = state.take_requests().into_iter().map(|request| request.command).collect();
        assert!(
            matches!(&sent[..], [Command::Cancel(commands::Cancel { job: JobRef::Ticket(conversion) })] if *conversion == tickets[1])
        );
        let before = state.messages.len();
        state.apply(Notice {
            ticket: Some(tickets[1]),
            event: Event::Refused(events::Refused { why: "It was stopped.".to_owned() }),
        });
        assert_eq!(state.models.conversions[1].phase, Phase::Done { stopped: true });
        assert_eq!(state.messages.len(), before);
        state.models.dismiss(0);
        assert_eq!(state.models.conversions.len(), 1);
    }

    #[test]
    fn a_file_of_a_model_stands_for_its_folder() {
        for (path, folder) in [
            ("/m/bert", "/m/bert"),
            ("/m/bert.v2", "/m/bert.v2"),
            ("/m/bert/config.json", "/m/bert"),
            ("/m/bert/model-00001-of-00002.safetensors", "/m/bert"),
            ("/m/bert/pytorch_model.bin", "/m/bert"),
        ] {
            let mut state = ModelsState::default();
            state.open(path.into());
            let folder = SubjectId::Directory(folder.into());
            assert_eq!((state.take_opened(), state.take_opened()), (Some(folder), None));
        }
    }

    #[test]
    fn a_model_is_read_once_and_again_when_asked() {
        let mut state = crate::state::State::default();
        let target = Target::Directory("model".into());
        assert!(state.models.facts(&target).unwrap().is_none() && state.models.facts(&target).unwrap().is_none());
        let asked = state.take_requests();
        assert_eq!(asked.len(), 1);
        let event = Event::Refused(events::Refused { why: "There is no model.".to_owned() });
        state.apply(Notice { ticket: Some(asked[0].ticket), event });
        assert_eq!(state.models.facts(&target).unwrap_err(), "There is no model.");
        state.models.read_again(&target);
        assert!(state.models.facts(&target).unwrap().is_none());
        assert_eq!(state.take_requests().len(), 1);
    }

    #[test]
    fn the_best_and_the_newest_model_of_a_run_are_read_again_after_a_checkpoint() {
        let run: RunId = "000000000a".parse().unwrap();
        let mut state = ModelsState::default();
        let all = [Which::Best, Which::Last, Which::Step(5)].map(|which| Target::Run { run: run.clone(), which });
        let plan = ModelPlan::resolve(&RunConfig::default(), 9).unwrap();
        let asked = |is_best: Option<bool>| {
            if let Some(is_best) = is_best {
                state.checkpointed(&run, is_best);
            }
            for target in &all {
                let _ = state.plan(target);
            }
            let requests = state.plans.take_requests();
            for target in &all {
                state.plans.answer(key(target), plan.clone());
            }
            requests.len()
        };
        assert_eq!([None, None, Some(false), Some(true)].map(asked), [3, 0, 1, 2]);
    }
}
