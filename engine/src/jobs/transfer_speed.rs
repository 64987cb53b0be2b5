use std::time::Instant;

use super::pace::Pace;

/// When to tell of the progress, and how fast it is.
#[derive(Default)]
pub(crate) struct TransferSpeed {
    begun: Option<(Instant, u64)>,
    pace: Pace,
}

impl TransferSpeed {
    /// Bytes a second since the beginning, where it is to be told; what was there before the first call does not count.
    pub(crate) fn at(&mut self, bytes: u64) -> Option<f64> {
        let (begun, before) = *self.begun.get_or_insert_with(|| (Instant::now(), bytes));
        if !self.pace.is_due() {
            return None;
        }
        let seconds = begun.elapsed().as_secs_f64();
        Some(if seconds > 0.0 { bytes.saturating_sub(before) as f64 / seconds } else { 0.0 })
    }
}
