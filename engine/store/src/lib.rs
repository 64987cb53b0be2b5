//! What is kept of runs: their configs, states, curves, snapshots and checkpoints; and benchmarks; in one SQLite file.
//!
//! [`Store`] opens the file and answers questions; every call blocks and none is async. [`StoreWriter`] is for the
//! training thread: it never waits for the disk and never fails. One named thread owns the only writing connection and
//! writes every 250 ms what was logged meanwhile, in one transaction; while the database cannot be written it appends
//! to a spill file beside it, which is brought in later, and holds in memory what cannot be written there either. After
//! an error that leaves doubt about its transaction it opens its connection anew; a database that was removed or replaced
//! under it (`identity`) is copied from the open connection, and what comes after goes to the spill file. Readers have read-only connections of
//! their own.
//!
//! A store may come from anywhere. One file connects to SQLite (`connect`): it refuses links, journals that name another file
//! (`journal`) and schemas that no migration makes (`schema`). Ids and paths in a store are untrusted input: they become [`RunId`] and the like only by
//! parsing, what they name is looked for inside of the open folder without following a link (`inside`), and a row that
//! cannot be read hides itself alone (`fields`). Opening and reading remove nothing of anybody's; what was deleted goes by
//! `purge`, when the user asks.
//!
//! A program that has the store open holds a locked file beside it. A run whose program lost that lock died with it,
//! and becomes interrupted at the next open. The schema is changed only by adding a file to `migrations/`.

use headroom_analysis as analysis;
use headroom_checkpoint::checkpoint;
use headroom_config::{config, text};
#[cfg(test)]
use headroom_model::attention;
use headroom_model::objective;
use headroom_train::{advise, speed, train};

mod advice;
mod analyses;
mod apply;
mod artifacts;
mod benchmarks;
mod clock;
mod configs;
mod connect;
mod curves;
mod dead;
mod edit;
mod entry;
mod error;
mod fault;
mod fields;
mod find;
mod handle;
mod identity;
mod inside;
mod instance;
mod job;
mod journal;
mod kinds;
mod list;
mod network;
mod open;
mod outcome_blobs;
mod outcomes;
mod owners;
mod paths;
mod purge;
mod reader;
mod record;
mod restart;
mod rows;
mod schema;
mod settled;
mod size;
mod sizes;
mod spill;
mod summary;
#[cfg(test)]
mod tests;
mod thread;
mod transaction;
mod warning;
mod windows;
mod writer;

pub use error::StoreError;
pub use handle::{OpenMode, Store};
pub use paths::StorePaths;
pub use record::*;
pub use settled::Settled;
pub use size::StoreSize;
pub use warning::StoreWarning;
pub use writer::StoreWriter;

/// The commit that this program was built from; known in release builds from a repository.
pub const GIT_COMMIT: Option<&str> = option_env!("HEADROOM_GIT_COMMIT");

/// True if there were changes on top of that commit.
pub const GIT_DIRTY: Option<bool> = match option_env!("HEADROOM_GIT_DIRTY") {
    Some(text) => Some(matches!(text.as_bytes(), b"true")),
    None => None,
};
