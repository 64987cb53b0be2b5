//! Replacing a whole directory so that a reader finds the old one or the new one, never half of one.
//!
//! Beside the directory `NAME` may stand, after a crash, `.NAME.headroom-new-*` (half written: removed at the next
//! save) and `.NAME.headroom-old` (moved aside: put back when `NAME` is missing, removed otherwise).

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use super::{CARD, CONFIG, CheckpointError, FILES, INDEX, PICKLE, PICKLE_INDEX, WEIGHTS};

/// Tells directories of this process apart.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// A directory beside its place that becomes the real one by [`Scratch::publish`], and is removed otherwise.
pub(super) struct Scratch {
    /// Where to write.
    pub path: PathBuf,
    target: PathBuf,
}

impl Scratch {
    /// Makes an empty directory beside `target`, after cleaning up what a crash left there.
    ///
    /// # Errors
    /// If `target` is a file or holds files that are not ours, which publishing would delete.
    pub fn beside(target: &Path) -> Result<Self, CheckpointError> {
        let target = std::path::absolute(target).map_err(CheckpointError::io("find the folder", target))?;
        let parent = parent(&target);
        fs::create_dir_all(parent).map_err(CheckpointError::io("create the folder", parent))?;
        recover(&target).map_err(CheckpointError::io("put the last checkpoint back", &target))?;
        refuse_foreign(&target)?;
        let mine = format!("{}-", nonce());
        let prefix = sibling(&target, "new-");
        for entry in fs::read_dir(parent).map_err(CheckpointError::io("read the folder", parent))?.flatten() {
            let name = entry.file_name();
            if let Some(rest) = name.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes())
                && !rest.starts_with(mine.as_bytes())
            {
                // What cannot be removed costs space, nothing else.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let mut name = prefix;
        name.push(format!("{mine}{}", COUNT.fetch_add(1, Ordering::Relaxed)));
        let path = parent.join(name);
        // Its own name says nothing to a user.
        fs::create_dir(&path).map_err(CheckpointError::io("create the model's folder", &target))?;
        Ok(Self { path, target })
    }

    /// Makes sure that a file has reached the disk.
    pub fn sync(&self, file: &str) -> Result<(), CheckpointError> {
        let path = self.path.join(file);
        let synced = File::options().write(true).open(&path).and_then(|file| file.sync_all());
        synced.map_err(CheckpointError::io(&format!("write {file}"), &path))
    }

    /// Moves the directory to its place.
    pub fn publish(self) -> Result<(), CheckpointError> {
        let failed = |error| CheckpointError::io("move the model to its place", &self.target)(error);
        let old = parent(&self.target).join(sibling(&self.target, "old"));
        sync_dir(&self.path).map_err(failed)?;
        let replaces = self.target.exists();
        if replaces {
            remove_if_there(&old).map_err(failed)?;
            fs::rename(&self.target, &old).map_err(failed)?;
        }
        if let Err(error) = fs::rename(&self.path, &self.target) {
            if replaces {
                // The error that is told is the first one.
                let _ = fs::rename(&old, &self.target);
            }
            return Err(failed(error));
        }
        sync_dir(parent(&self.target)).map_err(failed)?;
        if replaces {
            // The new one is in place; what cannot be removed now is removed by the next save.
            let _ = fs::remove_dir_all(&old);
        }
        Ok(())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // After publishing there is nothing left under this name.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Puts a directory back that a crash left moved aside, and says where it is now: at its place, or aside when it
/// could not be moved.
pub(super) fn recovered(dir: &Path) -> PathBuf {
    match recover(dir) {
        Ok(()) => dir.to_owned(),
        Err(_) => parent(dir).join(sibling(dir, "old")),
    }
}

fn recover(target: &Path) -> io::Result<()> {
    let target = std::path::absolute(target)?;
    let old = parent(&target).join(sibling(&target, "old"));
    if target.exists() || !old.join(CONFIG).exists() { Ok(()) } else { fs::rename(&old, &target) }
}

/// Refuses to replace what is not a model directory of ours.
fn refuse_foreign(target: &Path) -> Result<(), CheckpointError> {
    let entries = match fs::read_dir(target) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(CheckpointError::io("read the folder", target)(error)),
    };
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            // A folder of that name may hold anything.
            let is_ours = FILES.contains(&name.as_str())
                && entry.file_type().is_ok_and(|kind| !kind.is_dir())
                // Many folders have one of that name.
                && (name != CARD || is_ours(&entry.path()));
            (!is_ours).then_some(name)
        })
        .collect();
    if names.is_empty() {
        return Ok(());
    }
    names.sort();
    names.truncate(3);
    Err(CheckpointError::Occupied { names, path: target.to_owned() })
}

/// The name of a directory beside `target`.
fn sibling(target: &Path, kind: &str) -> OsString {
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(format!(".headroom-{kind}"));
    name
}

fn parent(target: &Path) -> &Path {
    target.parent().unwrap_or(target)
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Tells this process's directories from those of a crashed one, whose process number may come again.
pub(super) fn nonce() -> &'static str {
    static NONCE: OnceLock<String> = OnceLock::new();
    NONCE.get_or_init(|| {
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        format!("{}-{started}", std::process::id())
    })
}

/// Makes sure that the names in a directory have reached the disk.
#[cfg(unix)]
fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Windows cannot open a directory as a file; its file systems keep names by journal.
#[cfg(not(unix))]
fn sync_dir(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// What a thing in a folder is, where it is no file: "a folder", "a pipe", "a device", "a socket".
pub fn kind_words(kind: fs::FileType) -> &'static str {
    if kind.is_dir() {
        return "a folder";
    }
    if kind.is_symlink() {
        return "a link";
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_fifo() {
            return "a pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_block_device() || kind.is_char_device() {
            return "a device";
        }
    }
    "something else"
}

/// Refuses a model directory in which a pipe, a device or a folder has the name of a file: reading it might never end.
pub(super) fn refuse_other_kinds(dir: &Path) -> Result<(), CheckpointError> {
    for file in FILES.into_iter().chain([INDEX, PICKLE, PICKLE_INDEX]) {
        if let Ok(there) = fs::metadata(dir.join(file))
            && !there.is_file()
        {
            let why = format!("it is no file but {}", kind_words(there.file_type()));
            return Err(CheckpointError::Damaged { file: file.to_owned(), why, path: dir.to_owned() });
        }
    }
    Ok(())
}

/// True when the directory looks like a model.
pub(super) fn is_model(dir: &Path) -> bool {
    [CONFIG, WEIGHTS, INDEX, PICKLE, PICKLE_INDEX].iter().any(|file| dir.join(file).exists())
}

/// The most that is read of a card to see whose it is, in bytes.
const BEGINNING: u64 = 1 << 16;

/// By which a card of ours is known: a `README.md` without it is somebody's own, and is never replaced.
pub(super) const MARK: &str = "<!-- Written by Headroom from the model's own files. -->";

/// Whether a file is a card of ours.
pub(super) fn is_ours(path: &Path) -> bool {
    let mut text = String::new();
    File::open(path).and_then(|file| file.take(BEGINNING).read_to_string(&mut text)).is_ok() && text.contains(MARK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(dir: &Path) -> usize {
        fs::read_dir(dir).unwrap().count()
    }

    /// As when the disk fills up after the first file.
    #[test]
    fn what_is_not_published_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let target = parent.path().join("m");
        let scratch = Scratch::beside(&target).unwrap();
        fs::write(scratch.path.join(CONFIG), "{}").unwrap();
        assert_eq!(entries(parent.path()), 1);
        drop(scratch);
        assert_eq!(entries(parent.path()), 0);
    }

    #[test]
    fn saving_twice_at_once_keeps_both_apart() {
        let parent = tempfile::tempdir().unwrap();
        let target = parent.path().join("m");
        let [first, second] = [0, 1].map(|_| Scratch::beside(&target).unwrap());
        assert_ne!(first.path, second.path);
        for (text, scratch) in [("1", first), ("2", second)] {
            fs::write(scratch.path.join(CONFIG), text).unwrap();
            scratch.sync(CONFIG).unwrap();
            scratch.publish().unwrap();
            assert_eq!(fs::read_to_string(target.join(CONFIG)).unwrap(), text);
        }
        assert_eq!(entries(parent.path()), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_may_not_be_changed_is_told() {
        use std::os::unix::fs::PermissionsExt;
        let parent = tempfile::tempdir().unwrap();
        fs::set_permissions(parent.path(), fs::Permissions::from_mode(0o555)).unwrap();
        let told = Scratch::beside(&parent.path().join("m"));
        fs::set_permissions(parent.path(), fs::Permissions::from_mode(0o755)).unwrap();
        // The superuser may change everything.
        if let Err(error) = told {
            assert!(error.to_string().contains("Check that the folder exists and may be changed"), "{error}");
        }
    }
}
