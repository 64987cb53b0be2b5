//! The folders of the cache, as other tools lay them out:
//!
//! ```text
//! <cache>/models--ORG--NAME/refs/main                     the commit that a branch or tag is at
//! <cache>/models--ORG--NAME/blobs/HASH                    a file, whole and checked
//! <cache>/models--ORG--NAME/blobs/HASH.incomplete         one that is being fetched, or was
//! <cache>/models--ORG--NAME/snapshots/COMMIT/config.json  a link to a blob
//! <cache>/.locks/models--ORG--NAME/HASH.lock              held while a blob is fetched
//! ```

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use hf_hub::{Cache, Repo};

use super::{
    HubError, HubSettings,
    names::{CommitHash, FileHash, RepoKind, RepoName, RepoPath, Revision},
};

/// Tells the links of this process apart while they are made.
static LINKS: AtomicU64 = AtomicU64::new(0);

/// How often a lock that another program holds is tried.
const LOOK_UP: Duration = Duration::from_millis(50);

/// What is in the cache of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedRepo {
    /// What it holds.
    pub kind: RepoKind,
    /// Its name.
    pub name: RepoName,
    /// The commit.
    pub commit: CommitHash,
    /// The folder with its files.
    pub path: PathBuf,
}

/// The folders of one repository.
pub(super) struct RepoCache {
    root: PathBuf,
    locks: PathBuf,
    repo: hf_hub::CacheRepo,
}

/// Holds a blob until it is dropped.
pub(super) struct BlobLock {
    _file: File,
}

impl RepoCache {
    pub(super) fn of(settings: &HubSettings, kind: RepoKind, name: &RepoName) -> Self {
        let repo = Repo::new(name.to_string(), kind.repo_type());
        let folder = repo.folder_name();
        Self {
            root: settings.cache.join(&folder),
            locks: settings.cache.join(".locks").join(&folder),
            repo: Cache::new(settings.cache.clone()).repo(repo),
        }
    }

    pub(super) fn snapshot(&self, commit: &CommitHash) -> PathBuf {
        self.repo.pointer_path(commit.as_str())
    }

    pub(super) fn blob(&self, hash: &FileHash) -> PathBuf {
        self.repo.blob_path(hash.as_str())
    }

    pub(super) fn incomplete(&self, hash: &FileHash) -> PathBuf {
        self.repo.blob_path(&format!("{hash}.incomplete"))
    }

    fn ref_path(&self, revision: &Revision) -> PathBuf {
        revision.as_str().split('/').fold(self.root.join("refs"), |path, part| path.join(part))
    }

    /// The commit that a revision was at when it was last asked for.
    fn commit_of(&self, revision: &Revision) -> Option<CommitHash> {
        let named = revision.commit().filter(|commit| self.snapshot(commit).is_dir());
        named.or_else(|| fs::read_to_string(self.ref_path(revision)).ok()?.trim().parse().ok())
    }

    /// Makes the folders that blobs and locks lie in.
    pub(super) fn make(&self) -> Result<(), HubError> {
        for folder in [self.root.join("blobs"), self.root.join("refs"), self.root.join("snapshots"), self.locks.clone()]
        {
            fs::create_dir_all(&folder).map_err(HubError::io("make the folder", &folder))?;
        }
        Ok(())
    }

    /// Waits until no other program fetches this blob. `wait` is asked before each try.
    pub(super) fn lock(
        &self,
        hash: &FileHash,
        mut wait: impl FnMut(Duration) -> Result<(), HubError>,
    ) -> Result<BlobLock, HubError> {
        let path = self.locks.join(format!("{hash}.lock"));
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(HubError::io("open the lock", &path))?;
        loop {
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => wait(LOOK_UP)?,
                // On file systems without locks two programs may fetch the same file, and what they fetch is checked.
                Ok(()) | Err(TryLockError::Error(_)) => return Ok(BlobLock { _file: file }),
            }
        }
    }

    /// Gives a file that was checked its name among the blobs.
    pub(super) fn publish(&self, file: &File, hash: &FileHash) -> Result<(), HubError> {
        let (from, to) = (self.incomplete(hash), self.blob(hash));
        file.sync_all().map_err(HubError::io("write", &from))?;
        fs::rename(&from, &to).map_err(HubError::io("rename", &from))
    }

    /// Makes a file of a snapshot that leads to its blob.
    pub(super) fn link(&self, commit: &CommitHash, path: &RepoPath, hash: &FileHash) -> Result<(), HubError> {
        let snapshot = self.snapshot(commit);
        let place = snapshot.join(path.to_path());
        let folder = place.parent().unwrap_or(&snapshot);
        fs::create_dir_all(folder).map_err(HubError::io("make the folder", folder))?;
        // From the file's folder up to the repository's, as links of other tools are.
        let mut blob: PathBuf = std::iter::repeat_n("..", path.depth() + 2).collect();
        blob.extend(["blobs", hash.as_str()]);
        if fs::read_link(&place).is_ok_and(|there| there == blob) {
            return Ok(());
        }
        let number = LINKS.fetch_add(1, Ordering::Relaxed);
        let aside = folder.join(format!(".headroom-{}-{number}", std::process::id()));
        let _ = fs::remove_file(&aside);
        let made = symlink(&blob, &aside).or_else(|_| fs::copy(self.blob(hash), &aside).map(drop));
        let placed = made.and_then(|()| fs::rename(&aside, &place));
        placed.map_err(|error| {
            let _ = fs::remove_file(&aside);
            HubError::io("make the link", &place)(error)
        })
    }

    /// Writes down which commit a branch or tag is at. A commit names itself.
    pub(super) fn remember(&self, revision: &Revision, commit: &CommitHash) -> Result<(), HubError> {
        if revision.as_str() == commit.as_str() {
            return Ok(());
        }
        let place = self.ref_path(revision);
        let write = || -> io::Result<()> {
            if fs::read_to_string(&place).is_ok_and(|there| there == commit.as_str()) {
                return Ok(());
            }
            let folder = place.parent().unwrap_or(&self.root);
            fs::create_dir_all(folder)?;
            let mut aside = tempfile::Builder::new().prefix(".headroom-").tempfile_in(folder)?;
            aside.write_all(commit.as_str().as_bytes())?;
            aside.as_file().sync_all()?;
            aside.persist(&place).map(drop).map_err(|error| error.error)
        };
        write().map_err(HubError::io("write down the revision", &place))
    }
}

#[cfg(unix)]
fn symlink(blob: &Path, place: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(blob, place)
}

#[cfg(windows)]
fn symlink(blob: &Path, place: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_file(blob, place)
}

#[cfg(not(any(unix, windows)))]
fn symlink(_blob: &Path, _place: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// What was fetched before, by this program or another one. A model is there where its config and weights are; nothing is asked of
/// the hub. Without a revision it is the one that a plain fetch brought last.
pub fn cached(
    settings: &HubSettings,
    kind: RepoKind,
    name: &RepoName,
    revision: Option<&Revision>,
) -> Option<CachedRepo> {
    let cache = RepoCache::of(settings, kind, name);
    let commit = cache.commit_of(&revision.cloned().unwrap_or_default())?;
    let path = cache.snapshot(&commit);
    let is_there = match kind {
        RepoKind::Model => path.join("config.json").is_file() && super::info::has_weights(&path),
        RepoKind::Dataset => path.is_dir(),
    };
    is_there.then(|| CachedRepo { kind, name: name.clone(), commit, path })
}
