use std::collections::BTreeMap;

use headroom_engine::protocol::{Command, Request, Ticket};

/// Answers and failures that a cache keeps unless it is told otherwise.
const MOST_SETTLED: usize = 4_096;
/// Requests without an answer that a cache remembers.
const MOST_WAITING: usize = 1_024;

/// What was asked of the engine and what it answered, by what it is about. Nothing is asked for again while its answer is to
/// come or after it failed, until somebody says so. Answers and failures, and requests without an answer, are each kept up to
/// a number; the one that was used the longest ago is forgotten first, and asked for again when somebody wants it.
pub(super) struct RequestCache<K, V = ()> {
    entries: BTreeMap<K, Entry<V>>,
    /// Answers and failures that are kept.
    most: usize,
    uses: u64,
    outgoing: Vec<Request>,
}

struct Entry<V> {
    /// The newest answer; stays while it is asked for anew.
    value: Option<V>,
    used: u64,
    phase: Phase,
}

impl<V> Entry<V> {
    /// Whether there is an answer, be it an old one, or a failure.
    fn is_settled(&self) -> bool {
        self.value.is_some() || matches!(self.phase, Phase::Failed { .. })
    }
}

enum Phase {
    Waiting {
        ticket: Ticket,
        command: Command,
        /// Something changed after it was asked: the answer may have been read before that.
        is_stale: bool,
    },
    Answered,
    Failed {
        why: String,
    },
}

impl<K, V> Default for RequestCache<K, V> {
    fn default() -> Self {
        Self::keeping(MOST_SETTLED)
    }
}

impl<K, V> RequestCache<K, V> {
    /// One that keeps at most so many answers and failures.
    pub(super) fn keeping(most: usize) -> Self {
        Self { entries: BTreeMap::new(), most, uses: 0, outgoing: Vec::new() }
    }

    /// What is to be sent.
    pub(super) fn take_requests(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.outgoing)
    }
}

impl<K: Clone + Ord, V> RequestCache<K, V> {
    /// The answer; asked for while it is not there.
    pub(super) fn get<C: Into<Command>>(&mut self, key: &K, command: impl FnOnce() -> C) -> Option<&V> {
        self.uses += 1;
        let is_there = self.entries.get_mut(key).is_some_and(|entry| {
            entry.used = self.uses;
            entry.value.is_some()
        });
        if !is_there {
            self.want(key, command);
        }
        self.peek(key)
    }

    /// The answer, if it is there.
    pub(super) fn peek(&self, key: &K) -> Option<&V> {
        self.entries.get(key).and_then(|entry| entry.value.as_ref())
    }

    /// Why there is no answer.
    pub(super) fn failure(&self, key: &K) -> Option<&str> {
        match &self.entries.get(key)?.phase {
            Phase::Failed { why } => Some(why),
            Phase::Waiting { .. } | Phase::Answered => None,
        }
    }

    /// Whether it was ever asked for or answered.
    #[cfg(test)]
    pub(super) fn knows(&self, key: &K) -> bool {
        self.entries.contains_key(key)
    }

    /// Whether an answer is to come.
    pub(super) fn is_waiting(&self, key: &K) -> bool {
        self.entries.get(key).is_some_and(|entry| matches!(entry.phase, Phase::Waiting { .. }))
    }

    /// Asks, unless an answer is to come or it failed.
    pub(super) fn want<C: Into<Command>>(&mut self, key: &K, command: impl FnOnce() -> C) {
        if !self.is_waiting(key) && self.failure(key).is_none() {
            self.ask(key, command().into());
        }
    }

    /// Asks anew: something changed. An answer that is under way is followed by one more question.
    pub(super) fn refresh<C: Into<Command>>(&mut self, key: &K, command: impl FnOnce() -> C) {
        match self.entries.get_mut(key).map(|entry| &mut entry.phase) {
            Some(Phase::Waiting { is_stale, .. }) => *is_stale = true,
            _ => self.ask(key, command().into()),
        }
    }

    fn ask(&mut self, key: &K, command: Command) {
        let request = Request::from(command.clone());
        let phase = Phase::Waiting { ticket: request.ticket, command, is_stale: false };
        self.outgoing.push(request);
        self.uses += 1;
        match self.entries.get_mut(key) {
            Some(entry) => (entry.phase, entry.used) = (phase, self.uses),
            None => drop(self.entries.insert(key.clone(), Entry { value: None, used: self.uses, phase })),
        }
        self.make_room();
    }

    /// Forgets what was used the longest ago where there is too much.
    fn make_room(&mut self) {
        for (is_settled, most) in [(true, self.most), (false, MOST_WAITING)] {
            let of_kind = || self.entries.iter().filter(|(_, entry)| entry.is_settled() == is_settled);
            if of_kind().count() > most
                && let Some(oldest) = of_kind().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone())
            {
                self.entries.remove(&oldest);
            }
        }
    }

    /// Takes an answer in, whether or not it was asked for.
    pub(super) fn answer(&mut self, key: K, value: V) {
        self.uses += 1;
        let entry = Entry { value: Some(value), used: self.uses, phase: Phase::Answered };
        let before = self.entries.insert(key.clone(), entry);
        if let Some(Entry { phase: Phase::Waiting { command, is_stale: true, .. }, .. }) = before {
            self.ask(&key, command);
        }
        self.make_room();
    }

    /// Whether an answer with this ticket is waited for.
    pub(super) fn asked(&self, asked: Ticket) -> bool {
        let is_meant = |entry: &Entry<V>| matches!(&entry.phase, Phase::Waiting { ticket, .. } if *ticket == asked);
        self.entries.values().any(is_meant)
    }

    /// Takes a failure in; false where no answer with this ticket is waited for.
    pub(super) fn fail(&mut self, failed: Ticket, why: &str) -> bool {
        let is_meant = |phase: &Phase| matches!(phase, Phase::Waiting { ticket, .. } if *ticket == failed);
        match self.entries.values_mut().find(|entry| is_meant(&entry.phase)) {
            Some(entry) => {
                entry.phase = Phase::Failed { why: why.to_owned() };
                self.make_room();
                true
            }
            None => false,
        }
    }

    /// Forgets an answer or a failure: it is asked for again when somebody wants it.
    pub(super) fn forget(&mut self, key: &K) {
        self.entries.remove(key);
    }

    /// Forgets all but these.
    pub(super) fn retain(&mut self, mut keeps: impl FnMut(&K, Option<&V>) -> bool) {
        self.entries.retain(|key, entry| keeps(key, entry.value.as_ref()));
    }

    /// The number of answers that are kept.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.values().filter(|entry| entry.value.is_some()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> Command {
        Command::ListRuns
    }

    #[test]
    fn everything_is_asked_for_once_and_again_when_it_changed_meanwhile() {
        let mut cache = RequestCache::<&str, u64>::default();
        assert!(cache.get(&"a", question).is_none() && cache.get(&"a", question).is_none());
        assert_eq!(cache.take_requests().len(), 1);
        cache.refresh(&"a", question);
        assert!(cache.take_requests().is_empty(), "one question at a time");
        cache.answer("a", 1);
        assert_eq!(cache.peek(&"a"), Some(&1));
        assert_eq!(cache.take_requests().len(), 1, "the answer may be older than the change");
        cache.answer("a", 2);
        assert_eq!(cache.get(&"a", question), Some(&2));
        assert!(!cache.is_waiting(&"a") && cache.take_requests().is_empty());
        cache.refresh(&"a", question);
        assert_eq!(cache.get(&"a", question), Some(&2), "it stays until the next comes");
        assert_eq!(cache.take_requests().len(), 1);
    }

    #[test]
    fn a_failure_is_known_by_its_ticket_and_not_asked_for_again_by_itself() {
        let mut cache = RequestCache::<u64, u64>::default();
        cache.want(&1, question);
        cache.want(&2, question);
        let tickets: Vec<Ticket> = cache.take_requests().into_iter().map(|request| request.ticket).collect();
        assert!(!cache.fail(Ticket::new(), "another's"));
        assert!(cache.fail(tickets[1], "it is gone") && !cache.fail(tickets[1], "twice"));
        assert_eq!((cache.failure(&1), cache.failure(&2)), (None, Some("it is gone")));
        assert!(cache.get(&2, question).is_none() && cache.take_requests().is_empty());
        cache.forget(&2);
        assert!(cache.get(&2, question).is_none() && cache.take_requests().len() == 1);
    }

    #[test]
    fn what_was_used_the_longest_ago_is_forgotten_first() {
        let mut cache = RequestCache::<u64, u64>::keeping(3);
        cache.answer(0, 0);
        for key in 1..20 {
            cache.answer(key, key);
            assert!(cache.get(&0, question).is_some(), "it is used all the time");
        }
        assert_eq!((cache.len(), cache.take_requests().len()), (3, 0));
        cache.retain(|key, _| *key == 0);
        assert_eq!(cache.len(), 1);
    }

    #[test]
    fn failures_and_requests_without_an_answer_are_bounded_too() {
        let mut cache = RequestCache::<u64, u64>::keeping(3);
        for key in 0..20 {
            cache.want(&key, question);
            let ticket = cache.take_requests()[0].ticket;
            assert!(cache.fail(ticket, "it is gone"));
        }
        assert_eq!((cache.entries.len(), cache.failure(&19)), (3, Some("it is gone")));
        assert!(cache.failure(&0).is_none(), "it is asked for again when somebody wants it");
        let mut silent = RequestCache::<usize, u64>::default();
        for key in 0..MOST_WAITING + 5 {
            silent.want(&key, question);
        }
        assert_eq!(silent.entries.len(), MOST_WAITING);
        assert!(!silent.is_waiting(&4) && silent.is_waiting(&5));
        silent.answer(0, 7);
        assert_eq!(silent.peek(&0), Some(&7), "a late answer is taken in");
    }
}
