use serde::{Deserialize, Serialize};

use super::job::{Progress, share_of};
use crate::{
    data::memory,
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

impl Progress for Fetching {
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
