//! Rollback journals that name another file.
//!
//! A rollback journal beside a database is *hot* when its program was killed: whoever opens the database next writes the pages
//! in it back. Where a transaction changed several databases at once, each journal ends in a trailer with the name of a
//! super-journal, and SQLite deletes the file of that name after it wrote the pages back. The name is believed, whatever
//! it is, so that a store from elsewhere could have any file deleted by being read.
//!
//! Headroom never changes two databases in one transaction: a journal with a trailer is none of its own.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::{StoreError, StorePaths};
use crate::text::escaped_line;

/// The end of a trailer, which is the beginning of a journal too (`aJournalMagic` in SQLite's `pager.c`).
const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
/// Bytes of a trailer behind the name: its length, its checksum and the magic, each number big-endian (`readSuperJournal`).
const TRAILER: u64 = 16;
/// Bytes of a name that a message shows at most.
const SHOWN: u64 = 256;

/// Refuses a store whose rollback journal names another file. A journal without a trailer, as a kill leaves one while a store
/// is made, is left to SQLite. Asked after [`super::kinds::check`], which refuses links.
///
/// # Errors
/// [`StoreError::SuperJournal`]; [`StoreError::Database`] where the journal cannot be read.
pub(crate) fn check(paths: &StorePaths) -> Result<(), StoreError> {
    let path = paths.journal();
    if path.symlink_metadata().is_err() {
        // None there; a folder that cannot be looked into is told of by whoever opens the database in it.
        return Ok(());
    }
    match named_file(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(StoreError::Database { path, reason: error.to_string() }),
        Ok(None) => Ok(()),
        Ok(Some(name)) => Err(StoreError::SuperJournal { path, name }),
    }
}

/// The name in a journal's trailer as it can be shown; none where there is no trailer. SQLite passes over trailers with
/// a wrong checksum or length, which no program writes: these count too.
fn named_file(path: &Path) -> io::Result<Option<String>> {
    let mut file = open(path)?;
    let length = file.metadata()?.len();
    let Some(start) = length.checked_sub(TRAILER) else { return Ok(None) };
    let mut trailer = [0; TRAILER as usize];
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(&mut trailer)?;
    let Some(size) = trailer.strip_suffix(&MAGIC).and_then(|numbers| numbers.first_chunk::<4>()) else {
        return Ok(None);
    };
    let size = u64::from(u32::from_be_bytes(*size)).min(start);
    let mut name = Vec::new();
    file.seek(SeekFrom::Start(start - size))?;
    file.take(size.min(SHOWN)).read_to_end(&mut name)?;
    Ok(Some(escaped_line(&String::from_utf8_lossy(&name)).into_owned()))
}

/// Opens a file for reading without following a link, and without waiting for a pipe.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    File::options().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A trailer as SQLite writes it.
    fn trailer(name: &[u8]) -> Vec<u8> {
        // Characters are signed in SQLite's sum.
        let sum = name.iter().fold(0_u32, |sum, byte| sum.wrapping_add((*byte as i8) as u32));
        let mut trailer = name.to_vec();
        trailer.extend((name.len() as u32).to_be_bytes());
        trailer.extend(sum.to_be_bytes());
        trailer.extend(MAGIC);
        trailer
    }

    #[test]
    fn a_journal_that_names_a_file_is_refused_and_others_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StorePaths::for_database(&folder.path().join("headroom.db"));
        check(&paths).unwrap();
        let page = [b'p'; 512];
        let plain: [Vec<u8>; 6] = [
            Vec::new(),
            MAGIC.to_vec(),
            [MAGIC.as_slice(), &page].concat(),
            // Something behind the trailer: SQLite reads none there.
            [&page[..], &trailer(b"/home/me/thesis.tex"), &[0]].concat(),
            [&page[..], &trailer(b"/home/me/thesis.tex")[..30]].concat(),
            vec![0; 8192],
        ];
        for bytes in plain {
            std::fs::write(paths.journal(), &bytes).unwrap();
            check(&paths).unwrap_or_else(|error| panic!("{} bytes: {error}", bytes.len()));
        }
        let mut wrong_sum = trailer(b"/home/me/thesis.tex");
        wrong_sum[24] ^= 1;
        let mut wrong_length = trailer(b"/home/me/thesis.tex");
        wrong_length[19..23].copy_from_slice(&u32::MAX.to_be_bytes());
        for (bytes, name) in [
            ([&page[..], &trailer(b"/home/me/thesis.tex")].concat(), "/home/me/thesis.tex"),
            (trailer(b"../notes"), "../notes"),
            (trailer(b""), ""),
            (trailer(b"a\x1b[2J\xff"), "a\\x1b[2J"),
            ([&page[..], &wrong_sum].concat(), "/home/me/thesis.tex"),
            ([&page[..], &wrong_length].concat(), "pppp"),
        ] {
            std::fs::write(paths.journal(), bytes).unwrap();
            let error = check(&paths).unwrap_err();
            let StoreError::SuperJournal { name: found, .. } = &error else { panic!("{error}") };
            assert!(found.starts_with(name) || found.starts_with("a\\"), "{found:?} is not {name:?}");
            assert!(!error.to_string().contains('\x1b'), "{error}");
        }
    }
}
