//! What stands where the store keeps a file: a pipe or a device there would be waited for without end.

use std::fs;
use std::io;
use std::path::Path;

use super::{StoreError, StorePaths};
use crate::checkpoint::kind_words;

/// Whether what is at `path` is a file: no link, folder, pipe, device or socket.
pub(crate) fn is_plain_file(path: &Path) -> io::Result<bool> {
    Ok(fs::symlink_metadata(path)?.is_file())
}

/// Refuses a store whose files are of another kind. The database itself may be a link, since the user named it; the files
/// beside it, which nobody named, may not.
pub(crate) fn check(paths: &StorePaths) -> Result<(), StoreError> {
    let refused =
        |path: &Path, kind: fs::FileType| Err(StoreError::NotAFile { path: path.to_owned(), kind: kind_words(kind) });
    if let Ok(there) = fs::metadata(paths.database())
        && !there.is_file()
    {
        return refused(paths.database(), there.file_type());
    }
    if fs::symlink_metadata(paths.database()).is_ok_and(|there| there.is_symlink()) && !paths.database().exists() {
        // SQLite would make a new file where it points to.
        return Err(StoreError::NotAFile { path: paths.database().to_owned(), kind: "a link to nothing" });
    }
    for path in paths.sqlite_files() {
        if let Ok(there) = fs::symlink_metadata(&path)
            && !there.is_file()
        {
            return refused(&path, there.file_type());
        }
    }
    Ok(())
}
