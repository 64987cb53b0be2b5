//! What is fetched from a hub.

use serde::{Deserialize, Serialize};

use super::names::{RepoKind, RepoName, RepoPath, Revision};

/// What is to be brought here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchRequest {
    /// What it holds.
    pub kind: RepoKind,
    /// Its name.
    pub name: RepoName,
    /// Which state of it.
    pub revision: Revision,
    /// Files and folders of it; all that are of use where there are none.
    pub only: Vec<RepoPath>,
}

impl FetchRequest {
    /// A model, as its main branch is.
    pub fn of(name: RepoName) -> Self {
        Self { kind: RepoKind::Model, name, revision: Revision::default(), only: Vec::new() }
    }
}
