//! What happened, for the message strip and the log.

use std::{
    collections::VecDeque,
    time::{Duration, SystemTime},
};

use headroom_engine::store::RunId;

/// Messages that are kept.
const KEPT: usize = 500;

/// How serious a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Something that was done.
    Info,
    /// Something to know that stops nothing.
    Warning,
    /// Something that failed.
    Error,
}

impl Level {
    /// The level as a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Info => "Note",
            Self::Warning => "Warning",
            Self::Error => "Error",
        }
    }
}

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// How serious it is.
    pub level: Level,
    /// What happened and why, as a sentence.
    pub what: String,
    /// What to do about it; empty when there is nothing to do.
    pub what_to_do: String,
    /// The run, if one is meant.
    pub run: Option<RunId>,
    /// When it came last.
    pub at: SystemTime,
    /// How often it came in a row.
    pub times: u32,
}

/// The log, newest last.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    log: VecDeque<Message>,
    unseen_errors: usize,
    /// Whether the newest one was seen in the log.
    is_seen: bool,
}

impl Messages {
    /// Adds a message; the same one in a row is counted.
    pub fn push(&mut self, level: Level, what: impl Into<String>, what_to_do: impl Into<String>, run: Option<RunId>) {
        let (what, what_to_do, at) = (what.into(), what_to_do.into(), SystemTime::now());
        self.push_message(Message { level, what, what_to_do, run, at, times: 1 });
    }

    /// Adds a message with a time of its own. An error right after another one about the same run is its consequence, and not
    /// counted as one more.
    pub fn push_message(&mut self, message: Message) {
        let follows = message.run.is_some()
            && self.log.back().is_some_and(|last| (last.level, &last.run) == (Level::Error, &message.run));
        if message.level == Level::Error && !follows {
            self.unseen_errors += 1;
        }
        self.is_seen = false;
        if let Some(last) = self.log.back_mut()
            && (last.level, &last.what, &last.run) == (message.level, &message.what, &message.run)
        {
            last.at = message.at;
            last.times = last.times.saturating_add(1);
            return;
        }
        if self.log.len() == KEPT {
            self.log.pop_front();
        }
        self.log.push_back(message);
    }

    /// Something that was done.
    pub fn push_info(&mut self, what: impl Into<String>) {
        self.push(Level::Info, what, "", None);
    }

    /// Something to know.
    pub fn push_warning(&mut self, what: impl Into<String>, what_to_do: impl Into<String>) {
        self.push(Level::Warning, what, what_to_do, None);
    }

    /// Something that failed.
    pub fn push_error(&mut self, what: impl Into<String>, what_to_do: impl Into<String>) {
        self.push(Level::Error, what, what_to_do, None);
    }

    /// The newest message.
    pub fn latest(&self) -> Option<&Message> {
        self.log.back()
    }

    /// The newest message, unless it is an error that was put away: seen in the log, or older than that.
    pub fn current(&self, oldest: Duration) -> Option<&Message> {
        let latest = self.latest()?;
        let is_over = self.is_seen || latest.at.elapsed().is_ok_and(|age| age > oldest);
        (latest.level != Level::Error || !is_over).then_some(latest)
    }

    /// All kept messages, newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = &Message> {
        self.log.iter().rev()
    }

    /// Number of kept messages.
    pub fn len(&self) -> usize {
        self.log.len()
    }

    /// Whether nothing happened yet.
    pub fn is_empty(&self) -> bool {
        self.log.is_empty()
    }

    /// Errors since the log was last opened.
    pub fn unseen_errors(&self) -> usize {
        self.unseen_errors
    }

    /// The log was opened.
    pub fn mark_seen(&mut self) {
        self.unseen_errors = 0;
        self.is_seen = true;
    }

    /// Empties the log.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_put_away_by_looking_at_it_or_by_time_and_nothing_else_is() {
        let minute = Duration::from_mins(1);
        let mut messages = Messages::default();
        let is_there = |messages: &Messages| messages.current(minute).is_some();
        messages.push_error("a", "b");
        assert!(is_there(&messages));
        messages.mark_seen();
        assert!(!is_there(&messages) && messages.latest().is_some());
        messages.push_error("a", "b");
        assert!(is_there(&messages), "it came again");
        let at = SystemTime::now() - Duration::from_secs(61);
        let message =
            |level| Message { level, what: "c".to_owned(), what_to_do: String::new(), run: None, at, times: 1 };
        messages.push_message(message(Level::Error));
        assert!(!is_there(&messages) && messages.unseen_errors() > 0, "it is still counted");
        messages.push_message(message(Level::Warning));
        messages.mark_seen();
        assert!(is_there(&messages));
    }

    #[test]
    fn the_same_message_in_a_row_is_counted_and_old_ones_go() {
        let mut messages = Messages::default();
        messages.push_error("a", "b");
        messages.push_error("a", "b");
        assert_eq!((messages.len(), messages.latest().unwrap().times), (1, 2));
        assert_eq!(messages.unseen_errors(), 2);
        // A run that fails says why, and then that it has ended.
        for run in [RunId::new(), RunId::new()] {
            for what in ["There is no such text.", "\"a\" failed after 0 steps."] {
                messages.push(Level::Error, what, "", Some(run.clone()));
            }
        }
        assert_eq!((messages.unseen_errors(), messages.len()), (4, 5));
        for i in 0..KEPT {
            messages.push_info(i.to_string());
        }
        assert_eq!(messages.len(), KEPT);
        assert!(messages.newest_first().all(|message| message.what != "a"));
    }
}
