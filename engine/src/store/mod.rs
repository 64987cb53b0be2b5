//! What is kept of runs: their configs, states, curves, snapshots and checkpoints, in one SQLite file.
//!
//! [`Store`] opens the file and answers questions; every call blocks and none is async. [`StoreWriter`] is for the
//! training thread: it never blocks on the disk and never fails. One named thread owns the only writing connection;
//! readers have read-only connections of their own. The schema is changed only by adding a file to `migrations/`.

mod error;
mod paths;
mod record;
mod store;
mod warning;
mod writer;

pub use error::StoreError;
pub use paths::StorePaths;
pub use record::*;
pub use store::{OpenMode, Store, StoreSize};
pub use warning::StoreWarning;
pub use writer::StoreWriter;
