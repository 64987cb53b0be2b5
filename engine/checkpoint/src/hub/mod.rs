//! Models and data sets of a hub: what is known of one before anything is downloaded, bringing it here, taking a model there.
//!
//! What is brought lies in the cache that other tools share: `models--ORG--NAME/{blobs,refs,snapshots}` under `HF_HUB_CACHE`, which
//! `huggingface_hub` reads and writes too. A file is written as `blobs/HASH.incomplete`, held against its length and hash, and then
//! renamed; a snapshot links to it; the name of a branch is written last. So whoever reads the cache finds whole files only, and a
//! download that was cut off goes on where it ended.
//!
//! | file | idea |
//! |---|---|
//! | `names` | names, revisions, paths and hashes of strangers, parsed into types that cannot leave their folder |
//! | `settings` | where the hub and the cache are, the token, offline |
//! | `http` | one request at a time on a thread of its own, so that an end is answered at once |
//! | `info` | what the hub says about a repository, and which of its files would be fetched |
//! | `cache` | the folders on disk |
//! | `fetch` | downloads |
//! | `content_range` | which bytes of a file an answer holds |
//! | `rate` | the least rate at which bytes must come |
//! | `data_sets` | files of data sets that were fetched, by their names |
//! | `push` | uploads |
//!
//! Uses `text`, `config`, `data`, `checkpoint`.

mod cache;
mod content_range;
mod data_sets;
mod error;
mod fetch;
mod fetch_request;
mod http;
mod info;
mod model_files;
mod names;
mod push;
mod rate;
mod settings;
mod transfer;

pub use cache::{CachedModel, CachedRepo, HubFacts, InterruptedFetch, cached, describe_hub, name_of_snapshot};
pub use data_sets::{anchored, anchored_data, is_fetched};
pub use error::HubError;
pub use fetch::{Fetched, FetchedFile, fetch};
pub use fetch_request::FetchRequest;
pub use info::{Gating, RemoteArchitecture, RemoteFile, RepoFacts, inspect};
pub use names::{CommitHash, FileHash, RepoKind, RepoName, RepoPath, Revision};
pub use push::{PushContents, PushRequest, Pushed, contents, push};
pub use settings::{HubSettings, Token};
pub use transfer::Transfer;
