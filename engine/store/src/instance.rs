use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use super::identity::is_at;
use super::{NoId, RunId, StorePaths, kinds};

/// How often, and how long apart, the lock of opening is tried.
const TRIES: u32 = 200;
const APART: std::time::Duration = std::time::Duration::from_millis(50);

/// The name of a program that has a store open: its process id, and what tells it from another that gets the same.
///
/// It names a lock and a spill file. One from a store is a text of strangers: only parsing makes it an `InstanceId`, which
/// takes nothing but `digits-id`, so that it cannot leave the folder that it is joined to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct InstanceId(String);

impl InstanceId {
    pub(crate) fn new() -> Self {
        Self(format!("{}-{}", std::process::id(), RunId::new()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for InstanceId {
    type Err = NoId;

    fn from_str(text: &str) -> Result<Self, NoId> {
        let (process, id) = text.split_once('-').unwrap_or(("", text));
        id.parse::<RunId>()?;
        let is_process = (1..=10).contains(&process.len()) && process.bytes().all(|byte| byte.is_ascii_digit());
        // The rest of an id that has no process before it is none.
        if is_process { Ok(Self(text.to_owned())) } else { Err(NoId::of(text)) }
    }
}

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// This program's presence in a store. A file is locked for as long as it lives; the operating system takes the lock
/// away when it dies, however it dies, so that no heartbeat is needed and no process id is mistaken for another.
#[derive(Debug)]
pub(crate) struct Instance {
    id: InstanceId,
    path: PathBuf,
    _lock: File,
}

impl Instance {
    /// Makes and locks the file of a new instance.
    pub fn claim(paths: &StorePaths) -> io::Result<Self> {
        let id = InstanceId::new();
        let path = lock_path(paths, &id);
        let lock = File::options().write(true).create_new(true).open(&path)?;
        lock.try_lock().map_err(io::Error::from)?;
        Ok(Self { id, path, _lock: lock })
    }

    pub fn id(&self) -> &InstanceId {
        &self.id
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether the program behind an instance still runs. When in doubt, it does.
pub(crate) fn is_alive(paths: &StorePaths, id: &InstanceId) -> bool {
    let path = lock_path(paths, id);
    match kinds::is_plain_file(&path) {
        // A link, a pipe or a folder was never a lock of ours.
        Ok(false) => false,
        Ok(true) => !matches!(File::open(path).map(|file| file.try_lock()), Ok(Ok(()))),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// Removes the lock files of dead instances, whether or not the store knows of them.
pub(crate) fn remove_dead_locks(paths: &StorePaths) {
    for id in beside(paths, ".lock") {
        if !is_alive(paths, &id) {
            let _ = fs::remove_file(lock_path(paths, &id));
        }
    }
}

/// The spill file of an instance.
pub(crate) fn spill_path(paths: &StorePaths, id: &InstanceId) -> PathBuf {
    paths.beside(&format!("{id}.spill"))
}

/// Instances that left a spill file.
pub(crate) fn spilled(paths: &StorePaths) -> Vec<InstanceId> {
    beside(paths, ".spill")
}

/// Instances that have a plain file with this ending beside the database. Links, and names that are not exactly ours, are
/// passed over.
fn beside(paths: &StorePaths, ending: &str) -> Vec<InstanceId> {
    let prefix = paths.beside("").file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Ok(files) = fs::read_dir(paths.root()) else { return Vec::new() };
    let files = files.flatten().filter(|file| file.file_type().is_ok_and(|kind| kind.is_file()));
    let names = files.filter_map(|file| file.file_name().into_string().ok());
    names.filter_map(|name| name.strip_prefix(&prefix)?.strip_suffix(ending)?.parse().ok()).collect()
}

/// Held while a store is opened or cleaned up, so that two programs do not do it at once. Its file goes with it.
#[derive(Debug)]
pub(crate) struct Opening {
    path: PathBuf,
    /// Open until after the file was removed, so that nobody else takes the lock of a file that goes.
    _lock: File,
}

impl Drop for Opening {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Waits for the lock of opening. A file that a program left when it was killed is taken over.
pub(crate) fn lock_opening(paths: &StorePaths) -> io::Result<Opening> {
    let path = paths.beside("opening");
    for _ in 0..TRIES {
        if kinds::is_plain_file(&path).is_ok_and(|is_file| !is_file) {
            return Err(io::Error::other(format!("{} is no file", path.display())));
        }
        let file = File::options().write(true).create(true).truncate(false).open(&path)?;
        match file.try_lock() {
            // The program before may have removed the file between its being opened here and being locked.
            Ok(()) if is_at(&file, &path) => return Ok(Opening { path, _lock: file }),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => std::thread::sleep(APART),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::WouldBlock, "another program has been opening the store for ten seconds"))
}

fn lock_path(paths: &StorePaths, id: &InstanceId) -> PathBuf {
    paths.beside(&format!("{id}.lock"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_is_alive_until_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StorePaths::for_database(&folder.path().join("a.db"));
        let instance = Instance::claim(&paths).unwrap();
        let id = instance.id().clone();
        assert!(is_alive(&paths, &id));
        assert!(is_alive(&paths, &id), "asking must not take the lock");
        remove_dead_locks(&paths);
        assert!(is_alive(&paths, &id));
        drop(instance);
        assert!(!is_alive(&paths, &id));
        // A killed program leaves its file behind, without the lock.
        fs::write(lock_path(&paths, &id), "").unwrap();
        assert!(!is_alive(&paths, &id));
        remove_dead_locks(&paths);
        assert!(!lock_path(&paths, &id).exists());
    }

    #[test]
    fn spill_files_are_found_by_their_instance() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StorePaths::for_database(&folder.path().join("a.db"));
        let id: InstanceId = "12-0000000abc".parse().unwrap();
        fs::write(spill_path(&paths, &id), "").unwrap();
        fs::write(folder.path().join("b.db.13-0000000abc.spill"), "").unwrap();
        fs::write(folder.path().join("a.db.13-abc.spill"), "").unwrap();
        assert_eq!(spilled(&paths), [id]);
    }

    #[test]
    fn nothing_but_the_name_of_an_instance_is_one() {
        let new = InstanceId::new();
        assert_eq!(new.as_str().parse(), Ok(new));
        for text in
            ["", "-", "12", "12-", "-0000000001", "x/../../victim", "12-../../victim", "12-000000000/", "1x-0000000001"]
        {
            assert!(text.parse::<InstanceId>().is_err(), "{text}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn only_plain_files_of_our_naming_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StorePaths::for_database(&folder.path().join("a.db"));
        fs::write(folder.path().join("victim"), "").unwrap();
        std::os::unix::fs::symlink(folder.path().join("victim"), folder.path().join("a.db.1-0000000001.lock")).unwrap();
        fs::create_dir(folder.path().join("a.db.1-0000000002.lock")).unwrap();
        for stays in ["a.db.mine.lock", "a.db.1-0000000003.lock.old", "a.db.1-000000000l.lock", "yarn.lock"] {
            fs::write(folder.path().join(stays), "").unwrap();
        }
        let count = || fs::read_dir(folder.path()).unwrap().count();
        let before = count();
        fs::write(folder.path().join("a.db.1-0000000004.lock"), "").unwrap();
        remove_dead_locks(&paths);
        assert_eq!(count(), before);
        assert!(!folder.path().join("a.db.1-0000000004.lock").exists());
    }

    #[test]
    fn the_file_of_opening_goes_and_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StorePaths::for_database(&folder.path().join("a.db"));
        fs::write(paths.beside("opening"), "").unwrap();
        drop(lock_opening(&paths).unwrap());
        assert!(!paths.beside("opening").exists());
        // Many at once: each holds it alone.
        let held = std::sync::atomic::AtomicU32::new(0);
        std::thread::scope(|scope| {
            for number in 0..8 {
                let take = || {
                    for _ in 0..5 {
                        let opening = lock_opening(&paths).unwrap();
                        assert_eq!(held.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                        std::thread::sleep(std::time::Duration::from_millis(1));
                        held.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                        drop(opening);
                    }
                };
                std::thread::Builder::new().name(format!("opening-{number}")).spawn_scoped(scope, take).unwrap();
            }
        });
        assert!(!paths.beside("opening").exists());
    }
}
