use std::time::{Duration, Instant};

/// Changes of the same field within this time are one step.
const SAME_EDIT: Duration = Duration::from_millis(1200);
/// Steps that are kept.
const KEPT: usize = 200;

/// What the draft was before each change.
#[derive(Default)]
pub struct History<T> {
    past: Vec<T>,
    future: Vec<T>,
    last: Option<(&'static str, Instant)>,
}

impl<T: Clone> History<T> {
    /// Remembers what the draft was before a change. Changes of one field in quick succession (typing) are one step. Whether this
    /// change begins one.
    pub fn record(&mut self, before: T, field: &'static str, now: Instant) -> bool {
        let goes_on = self.last.is_some_and(|(last, at)| last == field && now.duration_since(at) < SAME_EDIT);
        self.last = Some((field, now));
        self.future.clear();
        if goes_on && !self.past.is_empty() {
            return false;
        }
        if self.past.len() == KEPT {
            self.past.remove(0);
        }
        self.past.push(before);
        true
    }

    /// Remembers what the draft was before it was replaced as a whole: a step of its own.
    pub fn replace(&mut self, before: T, now: Instant) {
        self.last = None;
        self.record(before, "", now);
        self.last = None;
    }

    /// Goes a step back: gives the draft of then for the one of now.
    pub fn undo(&mut self, now: &T) -> Option<T> {
        let then = self.past.pop()?;
        self.future.push(now.clone());
        self.last = None;
        Some(then)
    }

    /// Goes a step forth again.
    pub fn redo(&mut self, now: &T) -> Option<T> {
        let then = self.future.pop()?;
        self.past.push(now.clone());
        self.last = None;
        Some(then)
    }

    /// Whether there is a step back.
    pub fn can_undo(&self) -> bool {
        !self.past.is_empty()
    }

    /// Whether there is a step forth.
    pub fn can_redo(&self) -> bool {
        !self.future.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use headroom_engine::config::RunConfig;

    use super::*;

    fn layers(layers: usize) -> RunConfig {
        let mut config = RunConfig::default();
        config.model.layers = layers;
        config
    }

    #[test]
    fn undo_and_redo_walk_the_same_path() {
        let start = Instant::now();
        let mut history = History::default();
        history.record(layers(1), "model.layers", start);
        history.record(layers(2), "model.heads", start);
        assert_eq!(history.undo(&layers(3)), Some(layers(2)));
        assert_eq!(history.undo(&layers(2)), Some(layers(1)));
        assert_eq!(history.undo(&layers(1)), None);
        assert_eq!(history.redo(&layers(1)), Some(layers(2)));
        assert_eq!(history.redo(&layers(2)), Some(layers(3)));
        assert_eq!(history.redo(&layers(3)), None);
    }

    #[test]
    fn typing_is_one_step_and_a_new_change_ends_redo() {
        let start = Instant::now();
        let mut history = History::default();
        history.record(layers(1), "model.layers", start);
        history.record(layers(12), "model.layers", start + SAME_EDIT / 2);
        history.record(layers(128), "model.layers", start + SAME_EDIT * 2);
        assert_eq!(history.undo(&layers(5)), Some(layers(128)));
        assert_eq!(history.undo(&layers(128)), Some(layers(1)));
        assert!(history.can_redo() && !history.can_undo());
        history.replace(layers(7), start);
        history.replace(layers(8), start);
        assert_eq!(history.undo(&layers(9)), Some(layers(8)));
        assert_eq!(history.undo(&layers(8)), Some(layers(7)));
        history.record(layers(1), "model.heads", start);
        assert!(!history.can_redo());
    }
}
