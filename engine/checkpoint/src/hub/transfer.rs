use serde::{Deserialize, Serialize};

use crate::text::floats;

/// Progress of a download or an upload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transfer {
    /// The file in progress.
    pub file: String,
    /// Its number, from 0.
    pub number: usize,
    /// All of them; of an upload the large ones.
    pub count: usize,
    /// Bytes of them that arrived.
    pub bytes: u64,
    /// Bytes of all of them, as far as that is known.
    pub total_bytes: u64,
    /// Speed so far; 0 where that is not known yet.
    #[serde(with = "floats")]
    pub bytes_per_sec: f64,
}

impl Transfer {
    /// Share of the bytes that arrived, 0..=1.
    pub fn share(&self) -> f64 {
        if self.total_bytes == 0 { 0.0 } else { (self.bytes as f64 / self.total_bytes as f64).min(1.0) }
    }

    /// Seconds to its end at the speed so far.
    pub fn left_secs(&self) -> Option<f64> {
        let left = self.total_bytes.saturating_sub(self.bytes) as f64;
        (self.bytes_per_sec > 0.0 && left > 0.0).then(|| left / self.bytes_per_sec)
    }
}
