use headroom_engine::{
    protocol::{Command, Request, Ticket},
    store::{AdviceRecord, RunId},
};

use super::request_cache::RequestCache;

/// Runs that were advised, with what was predicted of them.
#[derive(Default)]
pub struct AdviceState {
    list: RequestCache<(), Vec<AdviceRecord>>,
}

impl AdviceState {
    /// Asks for the list, once.
    pub fn want(&mut self) {
        self.list.get(&(), || Command::ListAdvice);
    }

    /// What was advised from a run's measurements, the newest first; and what was predicted of the run itself.
    pub fn about(&self, run: &RunId) -> impl Iterator<Item = &AdviceRecord> {
        let records = self.list.peek(&()).into_iter().flatten();
        records.filter(move |record| record.advised.source == *run || record.run == *run)
    }

    pub(super) fn take(&mut self, records: Vec<AdviceRecord>) {
        self.list.answer((), records);
    }

    pub(super) fn fail(&mut self, ticket: Ticket, why: &str) -> bool {
        self.list.fail(ticket, why)
    }

    pub(super) fn take_requests(&mut self) -> Vec<Request> {
        self.list.take_requests()
    }
}
