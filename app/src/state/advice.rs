use headroom_engine::{
    store::{AdviceRecord, RunId},
    worker::Command,
};

/// Runs that were advised, with what was predicted of them.
#[derive(Default)]
pub struct AdviceState {
    records: Vec<AdviceRecord>,
    has_asked: bool,
    wishes: Vec<Command>,
}

impl AdviceState {
    /// Asks for the list, once.
    pub fn want(&mut self) {
        if !std::mem::replace(&mut self.has_asked, true) {
            self.wishes.push(Command::ListAdvice);
        }
    }

    /// What was advised from a run's measurements, the newest first; and what was predicted of the run itself.
    pub fn about(&self, run: &RunId) -> impl Iterator<Item = &AdviceRecord> {
        self.records.iter().filter(move |record| record.advised.source == *run || record.run == *run)
    }

    pub(super) fn take(&mut self, records: Vec<AdviceRecord>) {
        self.records = records;
    }

    pub(super) fn take_wishes(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.wishes)
    }
}
