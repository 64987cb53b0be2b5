use std::path::{Path, PathBuf};

use headroom_engine::{
    hub::name_of_snapshot,
    protocol::{Target, Which},
    store::{AnalysisSummary, RunId},
};

/// Whose attention panels of analyses show.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SubjectId {
    /// A run's.
    Run(RunId),
    /// That of the model in a directory; an absolute path.
    Directory(PathBuf),
}

impl SubjectId {
    /// The run, if it is one's.
    pub fn run(&self) -> Option<&RunId> {
        match self {
            Self::Run(run) => Some(run),
            Self::Directory(_) => None,
        }
    }

    /// Its model; of a run the one of this checkpoint.
    pub fn target(&self, which: Which) -> Target {
        match self {
            Self::Run(run) => Target::Run { run: run.clone(), which },
            Self::Directory(path) => Target::Directory(path.clone()),
        }
    }

    /// Whether an analysis is of it.
    pub fn is_of(&self, found: &AnalysisSummary) -> bool {
        match self {
            Self::Run(run) => found.run.as_ref() == Some(run),
            Self::Directory(path) => found.run.is_none() && Path::new(&found.target) == path,
        }
    }
}

/// What a model directory is called: the model's name on its hub where it was fetched, else the folder's own.
pub fn folder_name(folder: &Path) -> String {
    if let Some(name) = name_of_snapshot(folder) {
        return name.to_string();
    }
    folder.file_name().map_or_else(|| folder.display().to_string(), |name| name.to_string_lossy().into_owned())
}

impl From<RunId> for SubjectId {
    fn from(run: RunId) -> Self {
        Self::Run(run)
    }
}

impl From<&RunId> for SubjectId {
    fn from(run: &RunId) -> Self {
        Self::Run(run.clone())
    }
}
