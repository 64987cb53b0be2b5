use serde::{Deserialize, Serialize};

use super::{AttentionGroup, GroupTime};
use crate::speed::Spread;

/// The parts of one run, from sources to texts, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GenerationTime {
    /// From the sources to the last token.
    pub total_secs: f64,
    /// Of it: until the first token was chosen.
    pub reading_secs: f64,
}

/// What was measured of one cache at one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GenerationMeasurement {
    /// Every run that counts.
    pub times: Vec<GenerationTime>,
    /// Of whole runs, in seconds.
    pub total_secs: Spread,
    /// Median time until the first token was chosen: what it takes to read the sources.
    pub reading_secs: f64,
    /// Texts of a run, one for each source.
    pub texts: u64,
    /// New tokens of each text.
    pub tokens: u64,
    /// Trainable numbers of the model.
    pub parameters: u64,
    /// Bytes that were kept between tokens, room for tokens to come included.
    pub cache_bytes: u64,
    /// The same by the cost model.
    pub predicted_cache_bytes: u64,
    /// Memory of the whole run by estimate.
    pub predicted_memory_bytes: u64,
    /// What attention to the source took in a step of all rows, as the mean over the steps of one run more.
    pub groups: Vec<GroupTime>,
    /// What the same attention took while the sources were read: keys and values that are built once.
    pub reading_groups: Vec<GroupTime>,
    /// A step of that run, with everything that is not attention to the source.
    pub step_secs: f64,
}

impl GenerationMeasurement {
    /// Texts a second (samples/s), their sources' reading included.
    pub fn samples_per_sec(&self) -> f64 {
        self.texts as f64 / self.total_secs.median
    }

    /// Time of a new token of one text, without the reading of its source: of the tokens after the first.
    pub fn token_secs(&self) -> f64 {
        let later = self.tokens.saturating_sub(1).max(1);
        (self.total_secs.median - self.reading_secs).max(0.0) / (later * self.texts.max(1)) as f64
    }

    /// Time of attention to the source for a new token of one text, all beams together.
    pub fn attention_secs(&self) -> f64 {
        self.groups.iter().map(|group| group.seconds).sum::<f64>() / self.texts.max(1) as f64
    }

    /// One of the groups in a step.
    pub fn group(&self, group: AttentionGroup) -> Option<&GroupTime> {
        self.groups.iter().find(|found| found.group == group)
    }
}
