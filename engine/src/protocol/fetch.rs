use serde::{Deserialize, Serialize};

use super::job::progress_of_transfer;
use crate::{
    hub::{FetchRequest, RepoName, Transfer},
    text::floats,
};

/// Brings a model or a data set of a hub into the cache that other tools share, beside whatever computes; answered by
/// [`super::Event::Fetching`] as it goes on and by [`super::Event::Fetched`]. What is there already is not downloaded again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fetch {
    /// Of what.
    pub request: FetchRequest,
}

/// Something is being fetched. At most some 30 a second.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fetching {
    /// What.
    pub name: RepoName,
    /// Progress of the transfer.
    #[serde(flatten)]
    pub transfer: Transfer,
}

/// Answer to [`super::commands::Fetch`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fetched {
    /// What is here now.
    #[serde(flatten)]
    pub fetched: Box<crate::hub::Fetched>,
    /// Its size.
    pub bytes: u64,
    /// Bytes that had to be downloaded.
    pub downloaded: u64,
    /// Time that it took.
    #[serde(with = "floats")]
    pub seconds: f64,
}

progress_of_transfer!(Fetching);
