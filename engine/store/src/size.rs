use std::fs;
use std::path::Path;

use serde::Serialize;

use super::{RunId, Store};

/// Bytes on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StoreSize {
    /// The database and its log.
    pub database_bytes: u64,
    /// Checkpoints and other files of runs.
    pub runs_bytes: u64,
    /// Caches: can be removed at any time.
    pub cache_bytes: u64,
}

impl Store {
    /// Bytes on disk. Walks through all files of all runs.
    pub fn size(&self) -> StoreSize {
        let paths = self.paths();
        let database_bytes = file_bytes(paths.database()) + file_bytes(&paths.log());
        let runs_bytes = folder_bytes(&paths.runs());
        StoreSize { database_bytes, runs_bytes, cache_bytes: folder_bytes(&paths.root().join("cache")) }
    }

    /// Bytes of one run's files.
    pub fn run_bytes(&self, run: &RunId) -> u64 {
        folder_bytes(&self.paths().run(run))
    }

    /// Bytes of a folder, such as a checkpoint's.
    pub fn folder_bytes(&self, folder: &Path) -> u64 {
        folder_bytes(folder)
    }
}

fn file_bytes(path: &Path) -> u64 {
    fs::symlink_metadata(path).map_or(0, |file| file.len())
}

/// Links are counted as themselves and not followed.
fn folder_bytes(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let bytes = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => folder_bytes(&entry.path()),
        _ => file_bytes(&entry.path()),
    };
    entries.flatten().map(bytes).sum()
}
