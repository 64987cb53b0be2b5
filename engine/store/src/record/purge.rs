use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeletedKind {
    /// A run, with its files.
    Run,
    /// A benchmark.
    Benchmark,
    /// An analysis that was made on demand.
    Analysis,
}

impl DeletedKind {
    /// The word for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Benchmark => "benchmark",
            Self::Analysis => "analysis",
        }
    }
}

/// Something that was deleted and can still be brought back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deleted {
    /// What it is.
    pub kind: DeletedKind,
    /// Its number among its kind.
    pub number: i64,
    /// Its id as it stands in the store; a damaged one may hold anything.
    pub id: String,
    /// Its name as it stands in the store.
    pub name: String,
    /// When it was deleted, unix milliseconds.
    pub deleted_ms: i64,
    /// Bytes of its files.
    pub bytes: u64,
    /// The folder that goes with it; none where there is none.
    pub folder: Option<PathBuf>,
    /// Why it stays, as a sentence; none where it goes.
    pub refused: Option<String>,
}

/// What came of a purge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PurgeReport {
    /// What is gone for good.
    pub purged: Vec<Deleted>,
    /// What stayed, each with the reason.
    pub refused: Vec<Deleted>,
}

impl PurgeReport {
    /// Bytes of files that are gone.
    pub fn bytes(&self) -> u64 {
        self.purged.iter().map(|gone| gone.bytes).sum()
    }
}
