use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::PathBuf;

use super::{RunId, StorePaths};

/// This program's presence in a store. A file is locked for as long as it lives; the operating system takes the lock
/// away when it dies, however it dies, so that no heartbeat is needed and no process id is mistaken for another.
#[derive(Debug)]
pub(crate) struct Instance {
    id: String,
    path: PathBuf,
    _lock: File,
}

impl Instance {
    /// Makes and locks the file of a new instance.
    pub fn claim(paths: &StorePaths) -> io::Result<Self> {
        let id = format!("{}-{}", std::process::id(), RunId::new());
        let path = lock_path(paths, &id);
        let lock = OpenOptions::new().write(true).create_new(true).open(&path)?;
        lock.try_lock().map_err(io::Error::from)?;
        Ok(Self { id, path, _lock: lock })
    }

    pub fn id(&self) -> &str {
        &self.id
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether the program behind an instance still runs. When in doubt, it does.
pub(crate) fn is_alive(paths: &StorePaths, id: &str) -> bool {
    match File::open(lock_path(paths, id)) {
        Ok(file) => !matches!(file.try_lock(), Ok(())),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// Removes the lock file that a dead instance left.
pub(crate) fn remove_lock(paths: &StorePaths, id: &str) {
    let _ = fs::remove_file(lock_path(paths, id));
}

/// The spill file of an instance.
pub(crate) fn spill_path(paths: &StorePaths, id: &str) -> PathBuf {
    paths.beside(&format!("{id}.spill"))
}

/// Instances that left a spill file.
pub(crate) fn spilled(paths: &StorePaths) -> Vec<String> {
    let prefix = paths.beside("").file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Ok(files) = fs::read_dir(paths.root()) else { return Vec::new() };
    let names = files.flatten().filter_map(|file| file.file_name().into_string().ok());
    names.filter_map(|name| Some(name.strip_prefix(&prefix)?.strip_suffix(".spill")?.to_owned())).collect()
}

/// Held while a store is opened or cleaned up, so that two programs do not do it at once.
pub(crate) fn lock_opening(paths: &StorePaths) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(paths.beside("opening"))?;
    for _ in 0..200 {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => std::thread::sleep(std::time::Duration::from_millis(50)),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::WouldBlock, "another program has been opening the store for ten seconds"))
}

fn lock_path(paths: &StorePaths, id: &str) -> PathBuf {
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
        let id = instance.id().to_owned();
        assert!(is_alive(&paths, &id));
        assert!(is_alive(&paths, &id), "asking must not take the lock");
        drop(instance);
        assert!(!is_alive(&paths, &id));
        // A killed program leaves its file behind, without the lock.
        fs::write(lock_path(&paths, &id), "").unwrap();
        assert!(!is_alive(&paths, &id));
    }

    #[test]
    fn spill_files_are_found_by_their_instance() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StorePaths::for_database(&folder.path().join("a.db"));
        fs::write(spill_path(&paths, "12-abc"), "").unwrap();
        fs::write(folder.path().join("b.db.13-abc.spill"), "").unwrap();
        assert_eq!(spilled(&paths), ["12-abc"]);
    }
}
