use headroom_engine::{
    protocol::{Event, Mistake, Request, Target, Ticket, Which, commands, events},
    store::RunId,
};

use super::FollowedJob;

/// Mistakes that are asked for.
const MOST: usize = 500;

/// The held-out examples that a run's best checkpoint puts into another class than their own: of the run that was asked about last.
#[derive(Default)]
pub struct MistakesState {
    asked: Option<(RunId, FollowedJob)>,
    outcome: Option<Result<Vec<Mistake>, String>>,
    outgoing: Vec<Request>,
}

impl MistakesState {
    /// Asks about a run, in place of the one before.
    pub fn ask(&mut self, run: &RunId, name: &str) {
        let request = commands::Evaluate {
            target: Target::Run { run: run.clone(), which: Which::Best },
            data: None,
            labels: Box::default(),
            coverage: None,
            tokens: None,
            noise: Vec::new(),
            noise_seed: 1,
            mistakes: MOST,
            precision: None,
            base_dir: std::path::PathBuf::new(),
        };
        let job = FollowedJob::start(format!("Mistakes of {name}"), request, &mut self.outgoing);
        (self.asked, self.outcome) = (Some((run.clone(), job)), None);
    }

    /// Whether an answer about this run is to come.
    pub fn is_waiting(&self, run: &RunId) -> bool {
        self.outcome.is_none() && self.asked.as_ref().is_some_and(|(asked, _)| asked == run)
    }

    /// The mistakes of this run, or why they are not known; nothing where nobody asked.
    pub fn of(&self, run: &RunId) -> Option<&Result<Vec<Mistake>, String>> {
        self.outcome.as_ref().filter(|_| self.asked.as_ref().is_some_and(|(asked, _)| asked == run))
    }

    /// Job of the question that was asked last.
    pub(super) fn job(&self) -> Option<&FollowedJob> {
        self.asked.as_ref().map(|(_, job)| job)
    }

    /// The same, to be changed.
    pub(super) fn job_mut(&mut self) -> Option<&mut FollowedJob> {
        self.asked.as_mut().map(|(_, job)| job)
    }

    /// The question that was asked last.
    pub fn asked(&self) -> Option<Ticket> {
        self.job().map(|job| job.ticket)
    }

    /// Whether the panel says itself what became of this question.
    pub(super) fn says(&self, ticket: Ticket) -> bool {
        self.job().is_some_and(|job| job.ticket == ticket)
    }

    pub(super) fn fail(&mut self, ticket: Ticket, why: &str) -> bool {
        let is_own = self.says(ticket) && self.outcome.is_none();
        if is_own {
            self.outcome = Some(Err(why.to_owned()));
        }
        is_own
    }

    /// Takes in the answer to its question: true where the event was that.
    pub(super) fn take(&mut self, ticket: Option<Ticket>, event: &Event) -> bool {
        let (Some(ticket), Event::Evaluation(events::Evaluation { mistakes, .. })) = (ticket, event) else {
            return false;
        };
        let is_own = self.says(ticket);
        if is_own {
            self.outcome = Some(Ok(mistakes.clone()));
            if let Some(job) = self.job_mut() {
                job.end(false);
            }
        }
        is_own
    }

    pub(super) fn take_requests(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.outgoing)
    }
}
