use std::path::PathBuf;

use headroom_engine::{
    config::counted,
    hub::{FetchRequest, HubFacts, RepoFacts, Transfer},
    protocol::{Command, Event, JobRef, Request, Ticket, commands, events},
};

use super::{FollowedJob, followed_job::follows_job, request_cache::RequestCache};
use crate::{format, messages::Messages};

/// What a hub was asked about a model.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// The request; its answer has it.
    pub ticket: Ticket,
    /// What was asked about.
    pub request: FetchRequest,
    /// What the hub says, or why nothing can be said; neither while that is to come.
    pub answer: Option<Result<Box<RepoFacts>, String>>,
}

/// A fetch that goes on, or did not come to its end.
#[derive(Clone, Debug)]
pub struct FetchRun {
    /// Job that the engine was asked for.
    pub job: FollowedJob,
    /// What is fetched.
    pub request: FetchRequest,
    /// How far it is, once that is known.
    pub progress: Option<Transfer>,
}

follows_job!(FetchRun);

/// What the window knows of a hub: nothing is sent to one unless [`Self::inspect`] or [`Self::fetch`] is called.
#[derive(Default)]
pub struct HubState {
    here: RequestCache<(), HubFacts>,
    /// The newest question about a model.
    pub inspection: Option<Inspection>,
    /// Fetches that go on, were stopped or failed, the newest last.
    pub fetches: Vec<FetchRun>,
    /// Folder of the model that was fetched last, until it is shown.
    fetched: Option<PathBuf>,
    /// Tickets of questions that were taken back.
    dropped: Vec<Ticket>,
    outgoing: Vec<Request>,
}

impl HubState {
    /// Where the hub is and what of it is on this machine, or why that cannot be said; neither while that is to come. The hub is
    /// not asked.
    pub fn here(&mut self) -> Result<Option<&HubFacts>, String> {
        if let Some(why) = self.here.failure(&()) {
            return Err(why.to_owned());
        }
        Ok(self.here.get(&(), || Command::DescribeHub))
    }

    /// Looks at this machine again: other programs fetch too.
    pub fn look_again(&mut self) {
        if self.here.failure(&()).is_some() {
            self.here.forget(&());
        }
        self.here.refresh(&(), || Command::DescribeHub);
    }

    /// Asks the hub what it knows about a model; an older question is taken back.
    pub fn inspect(&mut self, request: FetchRequest) {
        self.stop_inspection();
        let asked = Request::from(commands::Inspect { request: request.clone() });
        self.inspection = Some(Inspection { ticket: asked.ticket, request, answer: None });
        self.outgoing.push(asked);
    }

    /// Takes the question back, where it has no answer yet.
    pub fn stop_inspection(&mut self) {
        if let Some(open) = self.inspection.take_if(|inspection| inspection.answer.is_none()) {
            self.dropped.push(open.ticket);
            self.outgoing.push(commands::Cancel { job: JobRef::Ticket(open.ticket) }.into());
        }
    }

    /// Fetches a model, or goes on where a fetch ended.
    pub fn fetch(&mut self, request: FetchRequest) {
        if self.is_fetching(&request) {
            return;
        }
        self.fetches.retain(|run| run.request != request);
        let title = format!("Fetch of {}", request.name);
        let job = FollowedJob::start(title, commands::Fetch { request: request.clone() }, &mut self.outgoing);
        self.fetches.push(FetchRun { job, request, progress: None });
    }

    /// Whether this is being fetched.
    pub fn is_fetching(&self, request: &FetchRequest) -> bool {
        self.fetches.iter().any(|run| run.request == *request && run.phase.is_open())
    }

    /// Ends a fetch; what came is kept.
    pub fn stop(&mut self, ticket: Ticket) {
        if let Some(run) = self.fetches.iter_mut().find(|run| run.ticket == ticket) {
            run.job.cancel(&mut self.outgoing);
        }
    }

    /// Shows a fetch no longer that ended.
    pub fn dismiss(&mut self, ticket: Ticket) {
        self.fetches.retain(|run| run.ticket != ticket || run.phase.is_open());
    }

    /// Folder of a model that was fetched to its end, once.
    pub(super) fn take_fetched(&mut self) -> Option<PathBuf> {
        self.fetched.take()
    }

    pub(super) fn take_requests(&mut self) -> Vec<Request> {
        let mut all = std::mem::take(&mut self.outgoing);
        all.extend(self.here.take_requests());
        all
    }

    /// Whether the panel shows where it asked why this request failed.
    pub(super) fn says(&self, ticket: Ticket) -> bool {
        self.here.asked(ticket) || self.inspection.as_ref().is_some_and(|asked| asked.ticket == ticket)
    }

    /// Returns true if this question was taken back, so that there is nothing to complain about.
    pub(super) fn was_stopped(&self, ticket: Ticket) -> bool {
        self.dropped.contains(&ticket)
    }

    /// Takes in that a request failed; false where it is none of these.
    pub(super) fn fail(&mut self, ticket: Ticket, why: &str) -> bool {
        if let Some(asked) = self.inspection.as_mut().filter(|asked| asked.ticket == ticket) {
            asked.answer = Some(Err(why.to_owned()));
            return true;
        }
        if self.fetches.iter().any(|run| run.ticket == ticket) {
            // What came is kept.
            self.look_again();
            return true;
        }
        self.here.fail(ticket, why)
    }

    /// Takes an event of a request in; gives back what is none of its business.
    pub(super) fn apply(&mut self, ticket: Option<Ticket>, event: Event, messages: &mut Messages) -> Option<Event> {
        match event {
            Event::HubDescribed(events::HubDescribed { facts }) => self.here.answer((), *facts),
            Event::Inspected(events::Inspected { facts }) => {
                if let Some(asked) = self.inspection.as_mut().filter(|asked| Some(asked.ticket) == ticket) {
                    asked.answer = Some(Ok(facts));
                }
            }
            Event::Fetching(events::Fetching { transfer, .. }) => {
                if let Some(run) = self.fetches.iter_mut().find(|run| Some(run.ticket) == ticket) {
                    run.progress = Some(transfer);
                }
            }
            Event::Fetched(events::Fetched { fetched, bytes, downloaded, seconds }) => {
                let is_ours = |run: &mut FetchRun| Some(run.ticket) == ticket;
                self.fetches.extract_if(.., is_ours).next()?;
                let how = match downloaded {
                    0 => "all of it was here".to_owned(),
                    _ => format!("{} downloaded in {}", format::bytes(downloaded), format::duration(seconds)),
                };
                let size = format!("{}, {}", counted(fetched.files.len() as u64, "file"), format::bytes(bytes));
                messages.push_info(format!("Fetched {}: {size}; {how}.", fetched.name));
                // What was said of it says how much was missing.
                self.inspection.take_if(|asked| asked.request.name == fetched.name);
                self.look_again();
                self.fetched = Some(fetched.path);
            }
            other => return Some(other),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use headroom_engine::{
        hub::{Fetched, RepoKind},
        protocol::{JobCommand, Notice},
    };

    use super::*;
    use crate::state::{Phase, State, SubjectId};

    fn request(name: &str) -> FetchRequest {
        FetchRequest::of(name.parse().unwrap())
    }

    fn sent(state: &mut State) -> Vec<Request> {
        state.take_requests()
    }

    fn fetching(name: &str, bytes: u64) -> Event {
        Event::Fetching(events::Fetching {
            name: name.parse().unwrap(),
            transfer: Transfer {
                file: "model.safetensors".to_owned(),
                number: 2,
                count: 3,
                bytes,
                total_bytes: 100,
                bytes_per_sec: 10.0,
            },
        })
    }

    #[test]
    fn a_fetch_is_followed_to_its_end_and_the_model_opened() {
        let mut state = State::default();
        state.hub.fetch(request("org/a"));
        state.hub.fetch(request("org/b"));
        state.hub.fetch(request("org/a"));
        let tickets: Vec<Ticket> = sent(&mut state).into_iter().map(|request| request.ticket).collect();
        assert_eq!(tickets.len(), 2, "what is being fetched is not asked for twice");
        state.apply(Notice { ticket: Some(tickets[1]), event: fetching("org/b", 40) });
        let progress = state.hub.fetches[1].progress.clone().unwrap();
        assert_eq!((progress.share(), progress.left_secs()), (0.4, Some(6.0)));
        assert!(state.hub.fetches[0].progress.is_none());
        let fetched = Fetched {
            kind: RepoKind::Model,
            name: "org/b".parse().unwrap(),
            commit: "0".repeat(40).parse().unwrap(),
            path: "/cache/b".into(),
            files: Vec::new(),
        };
        let event =
            Event::Fetched(events::Fetched { fetched: Box::new(fetched), bytes: 100, downloaded: 60, seconds: 2.0 });
        state.apply(Notice { ticket: Some(tickets[1]), event: event.clone() });
        assert_eq!(state.models.take_opened(), Some(SubjectId::Directory("/cache/b".into())));
        assert_eq!(state.hub.fetches.len(), 1);
        // One that nobody here asked for opens nothing.
        state.apply(Notice { ticket: Some(Ticket::new()), event });
        assert_eq!(state.models.take_opened(), None);
    }

    #[test]
    fn what_was_stopped_is_no_failure_and_goes_on() {
        let mut state = State::default();
        state.hub.fetch(request("org/a"));
        let ticket = sent(&mut state)[0].ticket;
        state.hub.stop(ticket);
        state.hub.stop(ticket);
        let asked = sent(&mut state);
        assert!(
            matches!(&asked[..], [Request { command: Command::Cancel(commands::Cancel { job: JobRef::Ticket(transfer) }), .. }] if *transfer == ticket)
        );
        let before = state.messages.len();
        let event =
            Event::Failed(events::Failed { run: None, why: "It was stopped.".to_owned(), what_to_do: String::new() });
        state.apply(Notice { ticket: Some(ticket), event });
        assert_eq!((&state.hub.fetches[0].phase, state.messages.len()), (&Phase::Done { stopped: true }, before));
        state.hub.fetch(request("org/a"));
        assert_eq!(state.hub.fetches.len(), 1, "the new one takes its place");
        let asked =
            sent(&mut state).into_iter().find(|asked| matches!(asked.command, Command::Job(JobCommand::Fetch(_))));
        let event = Event::Refused(events::Refused { why: "It is not there.".to_owned() });
        state.apply(Notice { ticket: Some(asked.unwrap().ticket), event });
        assert_eq!(state.hub.fetches[0].phase, Phase::Failed("It is not there.".to_owned()));
        assert_eq!(state.messages.len(), before + 1, "another panel may be open: the message says it too");
        let ticket = state.hub.fetches[0].ticket;
        state.hub.dismiss(ticket);
        assert!(state.hub.fetches.is_empty());
    }

    #[test]
    fn a_new_question_takes_the_old_one_back() {
        let mut state = State::default();
        state.hub.inspect(request("org/a"));
        let first = sent(&mut state)[0].ticket;
        state.hub.inspect(request("org/b"));
        let asked = sent(&mut state);
        assert!(
            matches!(asked[0].command, Command::Cancel(commands::Cancel { job: JobRef::Ticket(transfer) }) if transfer == first)
                && asked.len() == 2
        );
        let before = state.messages.len();
        state.apply(Notice {
            ticket: Some(first),
            event: Event::Refused(events::Refused { why: "It was stopped.".to_owned() }),
        });
        let event = Event::Refused(events::Refused { why: "The hub has no model.".to_owned() });
        state.apply(Notice { ticket: Some(asked[1].ticket), event });
        let answer = state.hub.inspection.as_ref().unwrap().answer.as_ref();
        assert_eq!(answer.unwrap().as_ref().unwrap_err(), "The hub has no model.");
        assert_eq!(state.messages.len(), before, "the panel says it");
    }
}
