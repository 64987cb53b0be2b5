use std::time::{Duration, Instant};

/// Lets something be told some thirty times a second at most: more often nobody can look, and every event is stored or sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    last: Option<Instant>,
}

impl Pace {
    /// The least time between two tellings.
    const LEAST: Duration = Duration::from_millis(33);

    /// Whether something may be told now; then the time begins anew. The first time it always may.
    pub(crate) fn is_due(&mut self) -> bool {
        self.is_due_for(1)
    }

    /// The same where so many share the time.
    pub(crate) fn is_due_for(&mut self, sharing: usize) -> bool {
        let least = Self::LEAST.saturating_mul(u32::try_from(sharing).unwrap_or(u32::MAX));
        let is_due = self.last.is_none_or(|last| last.elapsed() >= least);
        if is_due {
            self.last = Some(Instant::now());
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_at_once_and_then_not_before_its_time() {
        let mut pace = Pace::default();
        assert!(pace.is_due());
        assert!(!pace.is_due_for(1_000_000), "nobody waits that long in a test");
        std::thread::sleep(Pace::LEAST);
        assert!(pace.is_due());
    }
}
