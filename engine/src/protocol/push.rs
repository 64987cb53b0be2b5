use serde::{Deserialize, Serialize};

use super::{
    job::{Progress, share_of},
    target::Target,
};

use crate::{
    data::memory,
    hub::{PushContents, RepoName},
    text::floats,
};

/// Uploads a run's checkpoint or a model directory to a hub, beside whatever computes; answered by
/// [`super::Event::Pushing`] as it goes on and by [`super::Event::Pushed`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Push {
    /// Which model.
    pub target: Target,
    /// Where to; without an owner it is the one of the token.
    pub name: RepoName,
    /// Whether everybody may read it.
    pub public: bool,
}

/// Says what a [`super::Command::Push`] would send, without asking a hub; answered by [`super::Event::PushPreviewed`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PreviewPush {
    /// Which model.
    pub target: Target,
}

/// A model is being uploaded. At most some 30 a second.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pushing {
    /// Where to, as given.
    pub name: RepoName,
    /// The file in progress.
    pub file: String,
    /// Its number, from 0.
    pub number: usize,
    /// Large files in all.
    pub count: usize,
    /// Bytes of large files that are there.
    pub bytes: u64,
    /// Bytes of all large files.
    pub total_bytes: u64,
    /// How fast it went so far.
    #[serde(with = "floats")]
    pub bytes_per_sec: f64,
}

/// Answer to [`super::Command::Push`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pushed {
    /// The model, as given.
    pub target: String,
    /// What is there now.
    #[serde(flatten)]
    pub pushed: Box<crate::hub::Pushed>,
    /// Time that it took.
    #[serde(with = "floats")]
    pub seconds: f64,
}

/// Answer to [`super::Command::PreviewPush`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PushPreviewed {
    /// Which model.
    pub target: Target,
    /// What would be sent, and what would not.
    #[serde(flatten)]
    pub contents: Box<PushContents>,
    /// Bytes of all files.
    pub bytes: u64,
}

impl Progress for Pushing {
    fn stage(&self) -> String {
        let (done, all) = (memory::words(self.bytes), memory::words(self.total_bytes));
        format!("{}, {done} of {all}, {}/s", self.file, memory::words(self.bytes_per_sec as u64))
    }

    fn share(&self) -> Option<f64> {
        Some(share_of(self.bytes, self.total_bytes))
    }

    fn line(&self) -> Option<String> {
        Some(format!("{}, {} of {}", self.file, self.number + 1, self.count))
    }
}
