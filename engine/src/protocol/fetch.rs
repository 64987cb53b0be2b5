use serde::{Deserialize, Serialize};

use crate::{
    hub::{FetchRequest, RepoName},
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
    /// The file in progress.
    pub file: String,
    /// Its number, from 0.
    pub number: usize,
    /// All of them.
    pub count: usize,
    /// Bytes of all files that are here.
    pub bytes: u64,
    /// Bytes of all files, as far as the hub says it.
    pub total_bytes: u64,
    /// How fast it came so far.
    #[serde(with = "floats")]
    pub bytes_per_sec: f64,
}

/// Answer to [`super::Command::Fetch`].
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
