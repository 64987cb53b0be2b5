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
use serde::{Deserialize, Serialize};

use super::{
    HubError, HubSettings,
    names::{CommitHash, FileHash, RepoKind, RepoName, RepoPath, Revision},
};
use crate::data::read_text_file;

/// Bytes of the longest file that says the commit of a revision.
const LARGEST_REF: u64 = 255;

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

/// A model that is whole in the cache, at one of its commits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedModel {
    /// Its name.
    pub name: RepoName,
    /// The commit.
    pub commit: CommitHash,
    /// Branches and tags that were at this commit when they were last asked for.
    pub revisions: Vec<Revision>,
    /// The folder with its files.
    pub path: PathBuf,
    /// Bytes of them.
    pub bytes: u64,
}

/// A fetch of a model that was cut off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterruptedFetch {
    /// The model's name.
    pub name: RepoName,
    /// Bytes of files that are not whole yet.
    pub bytes: u64,
}

/// Where a hub is, who asks it, and which of its models are here already; found on this machine alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HubFacts {
    /// Address of the hub.
    pub endpoint: String,
    /// The folder of the cache.
    pub cache: PathBuf,
    /// Whether there is a token.
    pub has_token: bool,
    /// Whether the hub must not be asked.
    pub is_offline: bool,
    /// What is here whole, by name.
    pub models: Vec<CachedModel>,
    /// What was cut off, by name.
    pub interrupted: Vec<InterruptedFetch>,
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

    /// Path of a file until it is checked. `key` is its hash, or stands for it where no hash is known.
    pub(super) fn incomplete(&self, key: &str) -> PathBuf {
        self.repo.blob_path(&format!("{key}.incomplete"))
    }

    fn ref_path(&self, revision: &Revision) -> PathBuf {
        revision.as_str().split('/').fold(self.root.join("refs"), |path, part| path.join(part))
    }

    /// The commit that a revision was at when it was last asked for.
    fn commit_of(&self, revision: &Revision) -> Option<CommitHash> {
        let named = revision.commit().filter(|commit| self.snapshot(commit).is_dir());
        named.or_else(|| read_text_file(&self.ref_path(revision), LARGEST_REF).ok()?.trim().parse().ok())
    }

    /// Makes the folders that blobs and locks lie in.
    pub(super) fn make(&self) -> Result<(), HubError> {
        for folder in [self.root.join("blobs"), self.root.join("refs"), self.root.join("snapshots"), self.locks.clone()]
        {
            fs::create_dir_all(&folder).map_err(HubError::io("make the folder", &folder))?;
        }
        Ok(())
    }

    /// Waits until no other program fetches the file of this key. `wait` is asked before each try.
    pub(super) fn lock(
        &self,
        key: &str,
        mut wait: impl FnMut(Duration) -> Result<(), HubError>,
    ) -> Result<BlobLock, HubError> {
        let path = self.locks.join(format!("{key}.lock"));
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
    pub(super) fn publish(&self, file: &File, key: &str, hash: &FileHash) -> Result<(), HubError> {
        let (from, to) = (self.incomplete(key), self.blob(hash));
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
            if read_text_file(&place, LARGEST_REF).is_ok_and(|there| there == commit.as_str()) {
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

/// Where the hub is and what is in the cache, by this program or another one. Nothing is asked of the hub.
pub fn describe_hub(settings: &HubSettings) -> HubFacts {
    let mut facts = HubFacts {
        endpoint: settings.endpoint.clone(),
        cache: settings.cache.clone(),
        has_token: settings.token.is_some(),
        is_offline: settings.is_offline,
        models: Vec::new(),
        interrupted: Vec::new(),
    };
    for folder in names_in(&settings.cache) {
        // Names hold no two hyphens in a row.
        let name = folder.strip_prefix("models--").and_then(|name| name.replace("--", "/").parse::<RepoName>().ok());
        let Some(name) = name else { continue };
        let root = settings.cache.join(&folder);
        let incomplete = names_in(&root.join("blobs")).into_iter().filter(|blob| blob.ends_with(".incomplete"));
        let bytes = incomplete.map(|blob| bytes_of(&root.join("blobs").join(blob))).fold(0, u64::saturating_add);
        if bytes > 0 {
            facts.interrupted.push(InterruptedFetch { name: name.clone(), bytes });
        }
        let revisions = revisions_in(&root.join("refs"));
        for commit in names_in(&root.join("snapshots")) {
            let path = root.join("snapshots").join(&commit);
            let Some(commit) = commit.parse::<CommitHash>().ok().filter(|_| is_model(&path)) else { continue };
            let bytes = names_in(&path).iter().map(|file| bytes_of(&path.join(file))).fold(0, u64::saturating_add);
            let of_commit = revisions.iter().filter(|(_, at)| *at == commit).map(|(revision, _)| revision.clone());
            let revisions = of_commit.collect();
            facts.models.push(CachedModel { name: name.clone(), commit, revisions, path, bytes });
        }
    }
    facts.models.sort_by(|one, other| (&one.name, one.commit.as_str()).cmp(&(&other.name, other.commit.as_str())));
    facts.interrupted.sort_by(|one, other| one.name.cmp(&other.name));
    facts
}

/// The name of the model whose snapshot in a cache this folder is.
pub fn name_of_snapshot(path: &Path) -> Option<RepoName> {
    let mut parts = path.iter().rev().map(|part| part.to_string_lossy());
    let _: CommitHash = parts.next()?.parse().ok()?;
    let is_snapshot = parts.next()? == "snapshots";
    let folder = parts.next().filter(|_| is_snapshot)?;
    folder.strip_prefix("models--")?.replace("--", "/").parse().ok()
}

/// What lies in a folder, as far as it can be read.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// The size of a file, through links; none of what is no file.
fn bytes_of(path: &Path) -> u64 {
    fs::metadata(path).ok().filter(fs::Metadata::is_file).map_or(0, |there| there.len())
}

/// The branches and tags of a repository with the commits that they were at.
fn revisions_in(refs: &Path) -> Vec<(Revision, CommitHash)> {
    /// Folders in folders that are looked into, as in `refs/pr/1`.
    const DEPTH: usize = 4;
    let mut found = Vec::new();
    let mut waiting: Vec<(String, usize)> = names_in(refs).into_iter().map(|name| (name, 1)).collect();
    while let Some((name, depth)) = waiting.pop() {
        let place = refs.join(&name);
        if place.is_dir() && depth < DEPTH {
            waiting.extend(names_in(&place).into_iter().map(|inside| (format!("{name}/{inside}"), depth + 1)));
            continue;
        }
        let commit =
            Some(&place).filter(|place| bytes_of(place) < 256).and_then(|place| fs::read_to_string(place).ok());
        if let (Ok(revision), Some(Ok(commit))) = (name.parse(), commit.map(|text| text.trim().parse())) {
            found.push((revision, commit));
        }
    }
    found.sort_by(|one: &(Revision, CommitHash), other| one.0.as_str().cmp(other.0.as_str()));
    found
}

/// Whether a folder holds what makes a model.
fn is_model(folder: &Path) -> bool {
    folder.join("config.json").is_file() && super::model_files::has_weights(folder)
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
        RepoKind::Model => is_model(&path),
        RepoKind::Dataset => path.is_dir(),
    };
    is_there.then(|| CachedRepo { kind, name: name.clone(), commit, path })
}
