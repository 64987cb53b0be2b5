use serde::{Deserialize, Serialize};

use super::{RunId, RunSummary};

/// A run whose record cannot be read: something in it is not what any program of ours writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DamagedRun {
    /// Its number, which names it.
    pub number: i64,
    /// Its id, where that can be read.
    pub id: Option<RunId>,
    /// Its name, where that can be read.
    pub name: Option<String>,
    /// When it was deleted, unix milliseconds; none where it was not.
    pub deleted_ms: Option<i64>,
    /// What is wrong with it, each as a sentence without its full stop.
    pub problems: Vec<String>,
}

impl DamagedRun {
    /// All that is wrong, in one sentence without its full stop.
    pub fn why(&self) -> String {
        self.problems.join("; ")
    }
}

/// The table of runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunList {
    /// Those that can be read, in the order of their making.
    pub runs: Vec<RunSummary>,
    /// Those that cannot.
    pub damaged: Vec<DamagedRun>,
}
