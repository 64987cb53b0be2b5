//! The least rate at which bytes must come: a hub that sends one now and then is never silent and never done.

use std::time::{Duration, Instant};

/// Bytes that must come in a minute.
const LEAST_A_MINUTE: f64 = 65_536.0;

/// Said of a transfer that is slower.
pub(super) const TOO_SLOW: &str = "less than 64 KiB a minute come through";

/// Watches that bytes come at 64 KiB a minute at least, over windows of twice the time that a hub may be silent.
#[derive(Debug)]
pub(super) struct Rate {
    window: Duration,
    least: u64,
    since: Instant,
    bytes: u64,
}

impl Rate {
    /// Begins at `bytes`; `patience` is how long the hub may be silent.
    pub(super) fn new(patience: Duration, bytes: u64) -> Self {
        let window = patience * 2;
        let least = (LEAST_A_MINUTE * window.as_secs_f64() / 60.0).ceil() as u64;
        Self { window, least, since: Instant::now(), bytes }
    }

    /// Returns true if too few bytes came in a window that has just ended.
    pub(super) fn is_too_slow(&mut self, bytes: u64) -> bool {
        self.is_too_slow_at(Instant::now(), bytes)
    }

    fn is_too_slow_at(&mut self, now: Instant, bytes: u64) -> bool {
        if now.saturating_duration_since(self.since) < self.window {
            return false;
        }
        let came = bytes.saturating_sub(self.bytes);
        (self.since, self.bytes) = (now, bytes.max(self.bytes));
        came < self.least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_a_second_is_too_slow_and_64_kib_a_minute_are_not() {
        let seconds = |bytes_a_second: u64| {
            let mut rate = Rate::new(Duration::from_secs(30), 100);
            let begun = rate.since;
            (1..=600)
                .find(|second| rate.is_too_slow_at(begun + Duration::from_secs(*second), 100 + second * bytes_a_second))
        };
        assert_eq!(seconds(1), Some(60));
        assert_eq!(seconds(1000), Some(60));
        assert_eq!(seconds(1100), None);
        // The rate is the same where the hub may be silent for longer.
        assert_eq!(Rate::new(Duration::from_mins(1), 0).least, 2 * 65_536);
    }

    #[test]
    fn bytes_that_were_thrown_away_and_came_again_do_not_count() {
        let mut rate = Rate::new(Duration::from_secs(30), 0);
        let begun = rate.since;
        assert!(!rate.is_too_slow_at(begun + Duration::from_mins(1), 1 << 20));
        assert!(rate.is_too_slow_at(begun + Duration::from_mins(2), 1 << 19));
        assert!(rate.is_too_slow_at(begun + Duration::from_mins(3), 1 << 20));
    }
}
