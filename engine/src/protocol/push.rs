use serde::{Deserialize, Serialize};

use super::{job::progress_of_transfer, target::Target};

use crate::{
    hub::{PushContents, RepoName, Transfer},
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

/// Says what a [`super::commands::Push`] would send, without asking a hub; answered by [`super::Event::PushPreviewed`].
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
    /// Progress of the transfer.
    #[serde(flatten)]
    pub transfer: Transfer,
}

/// Answer to [`super::commands::Push`].
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

progress_of_transfer!(Pushing);
