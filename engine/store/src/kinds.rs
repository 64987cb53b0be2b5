//! Kinds of the files where the store keeps its own: a pipe or a device would be waited for without end, and a link would
//! have another file changed.

use std::fs;
use std::io;
use std::path::Path;

use super::{StoreError, StorePaths};
use crate::checkpoint::kind_words;

/// Whether what is at `path` is a file: no link, folder, pipe, device or socket.
pub(crate) fn is_plain_file(path: &Path) -> io::Result<bool> {
    Ok(fs::symlink_metadata(path)?.is_file())
}

/// Refuses a store whose database, or a file that SQLite keeps beside it, is a link or no file. The store's folder may be
/// reached through links.
///
/// # Errors
/// [`StoreError::Linked`] and [`StoreError::NotAFile`], with the file.
pub(crate) fn check(paths: &StorePaths) -> Result<(), StoreError> {
    check_file(paths.database())?;
    for path in paths.sqlite_files() {
        check_file(&path)?;
        if has_other_names(&path) {
            // A copy of the database may share its file with a backup; these are never shared.
            return Err(StoreError::Linked { path, kind: "a file that has other names (hard links)" });
        }
    }
    Ok(())
}

fn check_file(path: &Path) -> Result<(), StoreError> {
    let Ok(there) = fs::symlink_metadata(path) else { return Ok(()) };
    let path = path.to_owned();
    match there.file_type() {
        kind if kind.is_symlink() => Err(StoreError::Linked { path, kind: "a link" }),
        kind if !kind.is_file() => Err(StoreError::NotAFile { path, kind: kind_words(kind) }),
        _ => Ok(()),
    }
}

#[cfg(unix)]
fn has_other_names(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::symlink_metadata(path).is_ok_and(|there| there.nlink() > 1)
}

#[cfg(not(unix))]
fn has_other_names(_path: &Path) -> bool {
    false
}
