use std::time::Instant;

use super::pace::Pace;
use crate::hub::Transfer;

/// When to tell of the progress, and how fast it is.
#[derive(Default)]
pub(crate) struct TransferSpeed {
    begun: Option<(Instant, u64)>,
    pace: Pace,
}

impl TransferSpeed {
    /// The progress with its bytes a second since the beginning, where it is to be told; what was there before the first call does
    /// not count.
    pub(crate) fn told(&mut self, transfer: &Transfer) -> Option<Transfer> {
        let (begun, before) = *self.begun.get_or_insert_with(|| (Instant::now(), transfer.bytes));
        if !self.pace.is_due() {
            return None;
        }
        let seconds = begun.elapsed().as_secs_f64();
        let speed = if seconds > 0.0 { transfer.bytes.saturating_sub(before) as f64 / seconds } else { 0.0 };
        Some(Transfer { bytes_per_sec: speed, ..transfer.clone() })
    }
}
