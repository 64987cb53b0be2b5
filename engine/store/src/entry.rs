use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{ExampleOutcomes, NewCheckpoint, NewSnapshot, Progress, RunFacts, RunId, RunState, StateDetails};

/// Something a run wrote down, on its way to the database or lying in a spill file. Writing an entry twice does no
/// harm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub(crate) enum Entry {
    Point(Point),
    Progress { run: RunId, progress: Progress },
    Other(Box<OtherEntry>),
}

/// The rarer and larger entries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub(crate) enum OtherEntry {
    Checkpoint { run: RunId, checkpoint: NewCheckpoint, at_ms: i64 },
    Facts { run: RunId, facts: RunFacts },
    Forget { run: RunId, path: PathBuf },
    Outcomes { run: RunId, attempt: u32, outcomes: ExampleOutcomes, is_best: bool, at_ms: i64 },
    Snapshot { run: RunId, attempt: u32, snapshot: NewSnapshot, at_ms: i64 },
    State { run: RunId, state: RunState, details: StateDetails, at_ms: i64 },
}

/// One logged value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Point {
    pub run: RunId,
    #[serde(with = "shared_text")]
    pub series: Arc<str>,
    /// 0: the newest attempt there is.
    pub attempt: u32,
    pub step: u64,
    #[serde(with = "bits")]
    pub value: f64,
    pub wall_ms: u64,
    pub tokens: u64,
}

impl Entry {
    pub fn is_point(&self) -> bool {
        matches!(self, Self::Point(_))
    }

    /// The run that it belongs to.
    pub fn run(&self) -> &RunId {
        match self {
            Self::Point(Point { run, .. }) | Self::Progress { run, .. } => run,
            Self::Other(other) => match other.as_ref() {
                OtherEntry::Checkpoint { run, .. }
                | OtherEntry::Facts { run, .. }
                | OtherEntry::Forget { run, .. }
                | OtherEntry::Outcomes { run, .. }
                | OtherEntry::Snapshot { run, .. }
                | OtherEntry::State { run, .. } => run,
            },
        }
    }
}

impl OtherEntry {
    /// True if `newer` replaces all that this entry writes. Only outcomes of examples are large enough to look for.
    pub fn is_replaced_by(&self, newer: &Self) -> bool {
        match (self, newer) {
            (Self::Outcomes { run, is_best, .. }, Self::Outcomes { run: of, is_best: is_newer_best, .. }) => {
                run == of && (*is_newer_best || !is_best)
            }
            _ => false,
        }
    }
}

impl From<OtherEntry> for Entry {
    fn from(entry: OtherEntry) -> Self {
        Self::Other(Box::new(entry))
    }
}

/// A float as its bits: JSON has no NaN and no infinity.
mod bits {
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(value.to_bits())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        u64::deserialize(deserializer).map(f64::from_bits)
    }
}

mod shared_text {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(text)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
        String::deserialize(deserializer).map(Arc::from)
    }
}
