use headroom_engine::{
    config::counted,
    hub::{PushContents, Pushed, RepoName, Transfer},
    protocol::{Event, Request, Target, Ticket, commands, events},
};

use super::{FollowedJob, followed_job::follows_job, request_cache::RequestCache};
use crate::{format, messages::Messages};

/// What would be uploaded of models: lists that are kept.
const KEPT: usize = 16;

/// What is to be uploaded, and where to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadRequest {
    /// Which model.
    pub target: Target,
    /// It in words.
    pub model: String,
    /// Where to; without an owner it is the one of the token.
    pub name: RepoName,
    /// Whether everybody may read it.
    pub public: bool,
}

/// An upload that goes on or went.
#[derive(Clone, Debug)]
pub struct UploadRun {
    /// Job that the engine was asked for.
    pub job: FollowedJob,
    /// What was asked for.
    pub asked: UploadRequest,
    /// How far it is, once something is being sent.
    pub progress: Option<Transfer>,
    /// What is there, at the end.
    pub pushed: Option<Box<Pushed>>,
}

follows_job!(UploadRun);

/// Uploads to a hub: what of a model would be sent, and what is on its way or was sent by this window. Nothing leaves unless
/// [`Self::upload`] is called.
pub struct UploadsState {
    contents: RequestCache<String, PushContents>,
    /// The newest last.
    pub runs: Vec<UploadRun>,
    outgoing: Vec<Request>,
}

impl Default for UploadsState {
    fn default() -> Self {
        Self { contents: RequestCache::keeping(KEPT), runs: Vec::new(), outgoing: Vec::new() }
    }
}

/// What answers are found by: everything that crosses the door can be written.
fn key(target: &Target) -> String {
    serde_json::to_string(target).unwrap_or_default()
}

impl UploadsState {
    /// What of a model would be sent, or why nothing can be; neither while that is to come. No hub is asked.
    pub fn contents(&mut self, target: &Target) -> Result<Option<&PushContents>, String> {
        let key = key(target);
        if let Some(why) = self.contents.failure(&key) {
            return Err(why.to_owned());
        }
        Ok(self.contents.get(&key, || commands::PreviewPush { target: target.clone() }))
    }

    /// Looks again what would be sent: files change.
    pub fn look_again(&mut self, target: &Target) {
        self.contents.forget(&key(target));
    }

    /// Uploads a model.
    pub fn upload(&mut self, asked: UploadRequest) {
        if self.is_uploading(&asked.name) {
            return;
        }
        // What was said of an earlier attempt at the same is out of date.
        self.runs.retain(|run| run.asked.name != asked.name);
        let (target, name, public) = (asked.target.clone(), asked.name.clone(), asked.public);
        let title = format!("Upload of {}", asked.model);
        let job = FollowedJob::start(title, commands::Push { target, name, public }, &mut self.outgoing);
        self.runs.push(UploadRun { job, asked, progress: None, pushed: None });
    }

    /// Whether something is being uploaded to this name.
    pub fn is_uploading(&self, name: &RepoName) -> bool {
        self.runs.iter().any(|run| run.asked.name == *name && run.phase.is_open())
    }

    /// Ends an upload; the hub is then as it was.
    pub fn stop(&mut self, ticket: Ticket) {
        if let Some(run) = self.runs.iter_mut().find(|run| run.ticket == ticket) {
            run.job.cancel(&mut self.outgoing);
        }
    }

    /// Shows an upload no longer that ended.
    pub fn dismiss(&mut self, ticket: Ticket) {
        self.runs.retain(|run| run.ticket != ticket || run.phase.is_open());
    }

    pub(super) fn take_requests(&mut self) -> Vec<Request> {
        let mut all = std::mem::take(&mut self.outgoing);
        all.extend(self.contents.take_requests());
        all
    }

    /// Whether the panel shows where it asked why this request failed.
    pub(super) fn says(&self, ticket: Ticket) -> bool {
        self.contents.asked(ticket)
    }

    /// Takes in that a request failed; false where it is none of these.
    pub(super) fn fail(&mut self, ticket: Ticket, why: &str) -> bool {
        self.contents.fail(ticket, why)
    }

    /// Takes an event of a request in; others are none of its business.
    pub(super) fn apply(&mut self, ticket: Option<Ticket>, event: Event, messages: &mut Messages) -> Option<Event> {
        match event {
            Event::PushPreviewed(events::PushPreviewed { target, contents, .. }) => {
                self.contents.answer(key(&target), *contents);
            }
            Event::Pushing(events::Pushing { transfer, .. }) => {
                if let Some(run) = self.run(ticket) {
                    run.progress = Some(transfer);
                }
            }
            Event::Pushed(events::Pushed { pushed, seconds, .. }) => {
                let run = self.run(ticket)?;
                let took = format::duration(seconds);
                messages.push_info(if pushed.commit.is_some() {
                    let files = counted(pushed.files.len(), "file");
                    let sent = format::bytes(pushed.sent);
                    format!("Uploaded {} to {}: {files}, {sent} sent in {took}.", run.asked.model, pushed.url)
                } else {
                    format!("{} has all of {} already.", pushed.url, run.asked.model)
                });
                run.pushed = Some(pushed);
                run.job.end(false);
            }
            other => return Some(other),
        }
        None
    }

    fn run(&mut self, ticket: Option<Ticket>) -> Option<&mut UploadRun> {
        self.runs.iter_mut().find(|run| Some(run.ticket) == ticket)
    }
}

#[cfg(test)]
mod tests {
    use headroom_engine::{
        checkpoint::FileFacts,
        protocol::{JobCommand, JobRef, Notice},
    };

    use super::*;
    use crate::state::{Phase, State};
    use headroom_engine::protocol::Command;

    fn asked(name: &str) -> UploadRequest {
        let target = Target::Directory("model".into());
        UploadRequest { target, model: "model".to_owned(), name: name.parse().unwrap(), public: false }
    }

    fn pushed(name: &str) -> Event {
        let pushed = Pushed {
            name: name.parse().unwrap(),
            url: format!("https://hub/{name}"),
            commit: Some("0".repeat(40).parse().unwrap()),
            is_new: true,
            public: false,
            files: vec!["config.json".to_owned(), "model.safetensors".to_owned()],
            bytes: 100,
            sent: 60,
            left_out: Vec::new(),
        };
        Event::Pushed(events::Pushed { target: "model".to_owned(), pushed: Box::new(pushed), seconds: 2.0 })
    }

    #[test]
    fn an_upload_is_followed_to_its_end() {
        let mut state = State::default();
        state.uploads.upload(asked("org/a"));
        state.uploads.upload(asked("org/b"));
        state.uploads.upload(asked("org/a"));
        let sent = state.take_requests();
        assert_eq!(sent.len(), 2, "what is being uploaded is not uploaded twice");
        assert!(
            matches!(&sent[1].command, Command::Job(JobCommand::Push(commands::Push { public: false, name, .. })) if name.as_str() == "org/b")
        );
        let going = Event::Pushing(events::Pushing {
            name: "org/b".parse().unwrap(),
            transfer: Transfer {
                file: "model.safetensors".to_owned(),
                number: 0,
                count: 1,
                bytes: 40,
                total_bytes: 100,
                bytes_per_sec: 10.0,
            },
        });
        state.apply(Notice { ticket: Some(sent[1].ticket), event: going });
        let progress = state.uploads.runs[1].progress.clone().unwrap();
        assert_eq!((progress.share(), progress.left_secs()), (0.4, Some(6.0)));
        assert!(state.uploads.runs[0].progress.is_none());
        let before = state.messages.len();
        state.apply(Notice { ticket: Some(sent[1].ticket), event: pushed("org/b") });
        let run = &state.uploads.runs[1];
        assert_eq!((&run.phase, state.messages.len()), (&Phase::Done { stopped: false }, before + 1));
        assert_eq!(run.pushed.as_ref().unwrap().url, "https://hub/org/b");
        // One that nobody here asked for changes nothing.
        state.apply(Notice { ticket: Some(Ticket::new()), event: pushed("org/a") });
        assert!(state.uploads.runs[0].pushed.is_none() && state.messages.len() == before + 1);
        state.uploads.dismiss(sent[0].ticket);
        state.uploads.dismiss(sent[1].ticket);
        assert_eq!(state.uploads.runs.len(), 1, "what goes on stays");
    }

    #[test]
    fn what_was_stopped_is_no_failure_and_what_failed_is_tried_again() {
        let mut state = State::default();
        state.uploads.upload(asked("org/a"));
        let ticket = state.take_requests()[0].ticket;
        state.uploads.stop(ticket);
        state.uploads.stop(ticket);
        let sent = state.take_requests();
        assert!(
            matches!(&sent[..], [Request { command: Command::Cancel(commands::Cancel { job: JobRef::Ticket(transfer) }), .. }] if *transfer == ticket)
        );
        let before = state.messages.len();
        let event =
            Event::Failed(events::Failed { run: None, why: "It was stopped.".to_owned(), what_to_do: String::new() });
        state.apply(Notice { ticket: Some(ticket), event });
        assert_eq!((&state.uploads.runs[0].phase, state.messages.len()), (&Phase::Done { stopped: true }, before));
        state.uploads.upload(asked("org/a"));
        assert_eq!(state.uploads.runs.len(), 1, "the new one takes its place");
        let ticket = state.take_requests()[0].ticket;
        let event = Event::Refused(events::Refused { why: "It needs a token.".to_owned() });
        state.apply(Notice { ticket: Some(ticket), event });
        assert_eq!(state.uploads.runs[0].phase, Phase::Failed("It needs a token.".to_owned()));
        assert_eq!(state.messages.len(), before + 1, "another panel may be open: the message says it too");
    }

    #[test]
    fn what_would_be_sent_is_asked_once_and_again_when_files_change() {
        let mut state = State::default();
        let target = Target::Directory("model".into());
        for _ in 0..2 {
            assert!(state.uploads.contents(&target).unwrap().is_none());
        }
        let sent = state.take_requests();
        assert!(matches!(&sent[..], [Request { command: Command::PreviewPush(_), .. }]), "{sent:?}");
        let before = state.messages.len();
        let event = Event::Refused(events::Refused { why: "It has no weights.".to_owned() });
        state.apply(Notice { ticket: Some(sent[0].ticket), event });
        assert_eq!(state.uploads.contents(&target).unwrap_err(), "It has no weights.");
        assert_eq!(state.messages.len(), before, "the panel says it");
        state.uploads.look_again(&target);
        assert!(state.uploads.contents(&target).unwrap().is_none());
        let sent = state.take_requests();
        let file = FileFacts { name: "config.json".to_owned(), bytes: 7 };
        let contents = PushContents { files: vec![file], left_out: Vec::new() };
        let event = Event::PushPreviewed(events::PushPreviewed {
            target: target.clone(),
            bytes: 7,
            contents: Box::new(contents),
        });
        state.apply(Notice { ticket: Some(sent[0].ticket), event });
        assert_eq!(state.uploads.contents(&target).unwrap().unwrap().bytes(), 7);
    }
}
