//! Identity of the files of an open database. One that was removed or replaced goes on taking writes without an error, for as
//! long as it is open.

use std::fs::{self, File, Metadata};
use std::path::Path;

use super::StorePaths;

/// A file by its device and number on it, whatever its name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileId {
    device: u64,
    number: u64,
}

#[cfg(unix)]
impl FileId {
    #[expect(clippy::unnecessary_wraps, reason = "elsewhere files have no such identity")]
    fn of(there: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        Some(Self { device: there.dev(), number: there.ino() })
    }
}

/// Elsewhere a file that is open keeps its name.
#[cfg(not(unix))]
impl FileId {
    fn of(_there: &Metadata) -> Option<Self> {
        None
    }
}

fn file_at(path: &Path) -> Option<FileId> {
    fs::symlink_metadata(path).ok().as_ref().and_then(FileId::of)
}

/// Returns true if an open file is the one at `path`.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), path.symlink_metadata()) {
        (Ok(open), Ok(there)) => FileId::of(&open) == FileId::of(&there),
        _ => false,
    }
}

/// The files of a database while it is open: itself, its log, and the index of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    database: Option<FileId>,
    log: Option<FileId>,
    index: Option<FileId>,
}

impl Identity {
    /// The files at their places now, where a connection to them has just written or read.
    pub fn of(paths: &StorePaths) -> Self {
        let [_, index, log] = paths.sqlite_files();
        Self { database: file_at(paths.database()), log: file_at(&log), index: file_at(&index) }
    }

    /// Returns true if the database is still at its place.
    pub fn has_database(&self, paths: &StorePaths) -> bool {
        is_unchanged(self.database, file_at(paths.database()))
    }

    /// Takes the names of the log and its index away where they are still those of a database that is gone, and the log is not
    /// empty: SQLite would play it back into whatever takes the database's place.
    pub fn forget_log(&self, paths: &StorePaths) {
        let [_, index, log] = paths.sqlite_files();
        let is_ours = self.log.is_some() && file_at(&log) == self.log;
        if is_ours && fs::symlink_metadata(&log).is_ok_and(|there| there.len() > 0) {
            let _ = fs::remove_file(log);
            if file_at(&index) == self.index {
                let _ = fs::remove_file(index);
            }
        }
    }

    /// Returns true if all files are still at their places.
    pub fn is_whole(&self, paths: &StorePaths) -> bool {
        let now = Self::of(paths);
        is_unchanged(self.database, now.database)
            && is_unchanged(self.log, now.log)
            && is_unchanged(self.index, now.index)
    }
}

/// A file that was not there, or that this system does not tell from others, is not missed.
fn is_unchanged(before: Option<FileId>, now: Option<FileId>) -> bool {
    before.is_none() || before == now
}
