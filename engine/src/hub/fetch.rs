//! Downloads: each file to a name of its own, held against its length and hash, and only then where others see it.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write as _},
    path::{Path, PathBuf},
    time::Instant,
};

use serde::{Deserialize, Serialize};
use sha1::Sha1;
use sha2::{Digest, Sha256};
use ureq::http::{HeaderMap, header};

use super::{
    HubError, HubSettings,
    cache::{RepoCache, cached},
    http::{Ask, Client, LINKED_MARK, Refusal, Trouble, backoff},
    info::{self, RemoteFile, bytes_here},
    names::{CommitHash, FileHash, RepoKind, RepoName, RepoPath, Revision},
};
use crate::{checkpoint::free_bytes, data::hex};

/// Left free on the disk for everything else.
const SPARE: u64 = 64 << 20;

/// What is to be brought here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchRequest {
    /// What it holds.
    pub kind: RepoKind,
    /// Its name.
    pub name: RepoName,
    /// Which state of it.
    pub revision: Revision,
    /// Files and folders of it; all that are of use where there are none.
    pub only: Vec<RepoPath>,
}

impl FetchRequest {
    /// A model, as its main branch is.
    pub fn of(name: RepoName) -> Self {
        Self { kind: RepoKind::Model, name, revision: Revision::default(), only: Vec::new() }
    }
}

/// How far a download is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchProgress {
    /// The file in progress.
    pub file: String,
    /// Its number, from 0.
    pub number: usize,
    /// All of them.
    pub count: usize,
    /// Bytes of all files that are here.
    pub bytes: u64,
    /// Bytes of all files, as far as the hub says it.
    pub total_bytes: u64,
}

/// A file that is here now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchedFile {
    /// Where it lies in the repository.
    pub path: RepoPath,
    /// Its size.
    pub bytes: u64,
    /// Bytes of it that had to be downloaded.
    pub downloaded: u64,
}

/// What was brought here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fetched {
    /// What it holds.
    pub kind: RepoKind,
    /// Its name.
    pub name: RepoName,
    /// The commit that it is at.
    pub commit: CommitHash,
    /// The folder with its files.
    pub path: PathBuf,
    /// The files.
    pub files: Vec<FetchedFile>,
}

impl Fetched {
    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Bytes that had to be downloaded.
    pub fn downloaded(&self) -> u64 {
        self.files.iter().map(|file| file.downloaded).sum()
    }
}

/// A file with what the hub says of its contents.
struct Wanted {
    path: RepoPath,
    hash: FileHash,
    bytes: Option<u64>,
    url: String,
}

/// Brings a repository here, or takes it from the cache where the hub must not be asked. What is here already is not downloaded
/// again, and what was cut off goes on.
///
/// # Errors
/// Where it is not there, may not be had, or does not come whole. The cache is as good as before, and keeps what came.
pub fn fetch(
    settings: &HubSettings,
    request: &FetchRequest,
    progress: &mut dyn FnMut(&FetchProgress),
    should_stop: &dyn Fn() -> bool,
) -> Result<Fetched, HubError> {
    if settings.is_offline {
        return take(settings, request);
    }
    let client = Client::new(settings, should_stop);
    let answer = info::ask(&client, request.kind, &request.name, &request.revision)?;
    let chosen = info::choose(&answer, request)?;
    // Under the name that was asked for: that is what others look for.
    let cache = RepoCache::of(settings, request.kind, &request.name);
    cache.make()?;
    let commit = answer.facts.commit;
    let mut wanted = Vec::with_capacity(chosen.len());
    for file in &chosen {
        wanted.push(ask_file(&client, request, &commit, file)?);
    }
    let total_bytes = wanted.iter().filter_map(|file| file.bytes).fold(0, u64::saturating_add);
    require_space(settings, &cache, &wanted)?;
    let count = wanted.len();
    let mut files: Vec<FetchedFile> = Vec::with_capacity(count);
    for (number, file) in wanted.iter().enumerate() {
        let before: u64 = files.iter().map(|done| done.bytes).sum();
        let mut tell = |bytes: u64| {
            let file = file.path.to_string();
            progress(&FetchProgress { file, number, count, bytes: before + bytes, total_bytes });
        };
        tell(0);
        let download = Download { client: &client, cache: &cache, name: &request.name, file };
        let downloaded = download.run(&mut tell)?;
        cache.link(&commit, &file.path, &file.hash)?;
        let bytes = fs::metadata(cache.blob(&file.hash)).map_or(0, |there| there.len());
        tell(bytes);
        files.push(FetchedFile { path: file.path.clone(), bytes, downloaded });
    }
    cache.remember(&request.revision, &commit)?;
    let path = cache.snapshot(&commit);
    Ok(Fetched { kind: request.kind, name: request.name.clone(), commit, path, files })
}

/// What was fetched before.
fn take(settings: &HubSettings, request: &FetchRequest) -> Result<Fetched, HubError> {
    let absent = || HubError::Offline {
        kind: request.kind,
        name: request.name.clone(),
        revision: (request.revision != Revision::default()).then(|| request.revision.clone()),
        path: settings.cache.clone(),
    };
    let here = cached(settings, request.kind, &request.name, Some(&request.revision)).ok_or_else(absent)?;
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let place = here.path.join(&folder);
        for entry in fs::read_dir(&place).map_err(HubError::io("read the folder", &place))? {
            let entry = entry.map_err(HubError::io("read the folder", &place))?;
            let inside = folder.join(entry.file_name());
            // Through the links to the blobs.
            let Ok(there) = fs::metadata(entry.path()) else { continue };
            if there.is_dir() {
                folders.push(inside);
            } else if let Ok(path) =
                inside.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/").parse()
            {
                files.push(FetchedFile { path, bytes: there.len(), downloaded: 0 });
            }
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    if request.only.iter().any(|wanted| !files.iter().any(|file| file.path.as_str().starts_with(wanted.as_str()))) {
        return Err(absent());
    }
    Ok(Fetched { kind: here.kind, name: here.name, commit: here.commit, path: here.path, files })
}

/// Asks what the contents of a file hash to, and where they are.
fn ask_file(
    client: &Client<'_>,
    request: &FetchRequest,
    commit: &CommitHash,
    file: &RemoteFile,
) -> Result<Wanted, HubError> {
    let (kind, name, revision) = (request.kind, &request.name, &request.revision);
    let url = info::file_url(client.settings, kind, name, commit, &file.path);
    let what = file.path.to_string();
    let ask = || Ask { method: "HEAD", follows_elsewhere: false, ..Ask::get(&url) };
    let (reply, _) = client.whole(&what, ask, |refusal: &Refusal| {
        info::fault(client, kind, name, revision, refusal).or_else(|| {
            let gone = || HubError::NoFile { name: name.clone(), file: what.clone() };
            (refusal.status.as_u16() == 404).then(gone)
        })
    })?;
    let text = |name: &str| header_text(&reply.headers, name);
    let mark = text(LINKED_MARK).or_else(|| text("etag"));
    let mark = mark.ok_or_else(|| client.malformed(&what, "it does not say what the contents hash to"))?;
    let hash: FileHash = mark.parse().map_err(|why: String| client.malformed(&what, &why))?;
    let size = text("x-linked-size").or_else(|| text("content-length").filter(|_| !reply.status.is_redirection()));
    let said = size.and_then(|text| text.trim().parse::<u64>().ok());
    let bytes = match (said, file.bytes) {
        (Some(said), Some(listed)) if said != listed => {
            let why = format!("its size is {listed} bytes in the list of files and {said} bytes where it lies");
            return Err(client.malformed(&what, &why));
        }
        (said, listed) => said.or(listed),
    };
    Ok(Wanted { path: file.path.clone(), hash, bytes, url: reply.url })
}

fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().filter(|text| !text.trim().is_empty())
}

fn require_space(settings: &HubSettings, cache: &RepoCache, wanted: &[Wanted]) -> Result<(), HubError> {
    let missing = |file: &Wanted| {
        let bytes = file.bytes.unwrap_or_default();
        bytes - bytes_here(cache, &file.hash, file.bytes).min(bytes)
    };
    let needed = wanted.iter().map(missing).fold(0, u64::saturating_add);
    match free_bytes(&settings.cache) {
        Some(free) if needed > 0 && needed.saturating_add(SPARE) > free => {
            Err(HubError::DiskSpace { needed, free, path: settings.cache.clone() })
        }
        _ => Ok(()),
    }
}

/// One file.
struct Download<'a> {
    client: &'a Client<'a>,
    cache: &'a RepoCache,
    name: &'a RepoName,
    file: &'a Wanted,
}

impl Download<'_> {
    /// Brings the blob here unless it is; gives the bytes that were downloaded.
    fn run(&self, tell: &mut dyn FnMut(u64)) -> Result<u64, HubError> {
        let hash = &self.file.hash;
        let _lock = self.cache.lock(hash, |time| self.client.sleep(time))?;
        if self.is_here() {
            return Ok(0);
        }
        let mut part = Part::open(&self.cache.incomplete(hash), hash, self.file.bytes)?;
        let mut has_old_bytes = part.bytes > 0;
        let mut tries = 0;
        loop {
            let before = part.bytes;
            match self.attempt(&mut part, tries, tell) {
                Ok(()) => match self.check(&mut part) {
                    Ok(()) => break,
                    // What was here from before may have been something else: once from the start.
                    Err(_) if has_old_bytes => {
                        has_old_bytes = false;
                        part.clear()?;
                    }
                    Err(error) => {
                        part.remove();
                        return Err(error);
                    }
                },
                Err(Trouble::Stopped) => return Err(HubError::Stopped),
                Err(Trouble::Final(error)) => {
                    if matches!(error, HubError::Length { .. }) {
                        part.remove();
                    }
                    return Err(error);
                }
                Err(Trouble::Connection(why)) => {
                    tries = if part.bytes > before { 1 } else { tries + 1 };
                    if tries >= self.client.settings.tries {
                        return Err(self.cut(&part, why));
                    }
                    self.client.sleep(backoff(tries))?;
                }
            }
        }
        self.cache.publish(&part.file, hash)?;
        Ok(part.written)
    }

    /// Whether the blob is here whole. One of another length was never a blob, and gives way to what is downloaded.
    fn is_here(&self) -> bool {
        fs::metadata(self.cache.blob(&self.file.hash))
            .is_ok_and(|there| there.is_file() && self.file.bytes.is_none_or(|bytes| bytes == there.len()))
    }

    fn cut(&self, part: &Part, why: String) -> HubError {
        if part.bytes == 0 {
            return self.client.unreachable(&why);
        }
        HubError::Cut { file: self.file.path.to_string(), done: part.bytes, bytes: self.file.bytes, why }
    }

    /// Asks for what is missing, and takes what comes.
    fn attempt(&self, part: &mut Part, tries: u32, tell: &mut dyn FnMut(u64)) -> Result<(), Trouble> {
        if self.file.bytes == Some(part.bytes) {
            return Ok(());
        }
        let mut ask = Ask::get(&self.file.url);
        if part.bytes > 0 {
            ask = ask.with("range", format!("bytes={}-", part.bytes));
        }
        let reply = self.client.ask(ask)?;
        match reply.status.as_u16() {
            206 if part.bytes > 0 => {
                let range = header_text(&reply.headers, header::CONTENT_RANGE.as_str());
                if range.is_none_or(|range| !range.trim().starts_with(&format!("bytes {}-", part.bytes))) {
                    // A part of the file that was not asked for.
                    part.clear()?;
                    return Err(Trouble::Connection("it sent another part of the file than was asked for".to_owned()));
                }
            }
            // The whole of it, also where a part was asked for.
            200 => part.clear()?,
            416 if part.bytes > 0 => {
                part.clear()?;
                return Err(Trouble::Connection("it does not have the part that was asked for".to_owned()));
            }
            _ => {
                let body = self.client.bytes(&reply, "a file")?;
                let refusal = Refusal::of(&reply, &body);
                let file = &self.file.path;
                if refusal.status.as_u16() == 404 {
                    return Err(HubError::NoFile { name: self.name.clone(), file: file.to_string() }.into());
                }
                if let Some(pause) = self.client.pause(&refusal, tries) {
                    self.client.sleep(pause)?;
                    return Err(Trouble::Connection(format!("the hub answered \"{}\"", refusal.status)));
                }
                return Err(refusal.error(&format!("send {file}")).into());
            }
        }
        let begun = Instant::now();
        let mut told = None;
        self.client.read(&reply, |data| {
            part.write(data)?;
            if let Some(bytes) = self.file.bytes
                && part.bytes > bytes
            {
                return Err(self.wrong_length(bytes, part.bytes));
            }
            // Some fifty times a second.
            let now = begun.elapsed().as_millis() / 20;
            if told.replace(now) != Some(now) {
                tell(part.bytes);
            }
            Ok(())
        })?;
        match self.file.bytes {
            Some(bytes) if part.bytes < bytes => Err(Trouble::Connection("the connection ended early".to_owned())),
            _ => Ok(()),
        }
    }

    fn wrong_length(&self, expected: u64, found: u64) -> HubError {
        HubError::Length { name: self.name.clone(), file: self.file.path.to_string(), expected, found }
    }

    fn check(&self, part: &mut Part) -> Result<(), HubError> {
        if let Some(bytes) = self.file.bytes.filter(|bytes| *bytes != part.bytes) {
            return Err(self.wrong_length(bytes, part.bytes));
        }
        let Some(found) = part.hash(&self.file.hash)? else { return Ok(()) };
        if found == self.file.hash.as_str() {
            return Ok(());
        }
        let (file, expected) = (self.file.path.to_string(), self.file.hash.to_string());
        Err(HubError::Hash { file, expected, found })
    }
}

/// A file that is not whole yet.
struct Part {
    file: File,
    path: PathBuf,
    bytes: u64,
    /// Bytes that came since it was opened.
    written: u64,
    sha256: Option<Sha256>,
}

impl Part {
    /// Goes on with what is there, where it can be held against a hash in the end.
    fn open(path: &Path, hash: &FileHash, bytes: Option<u64>) -> Result<Self, HubError> {
        let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path);
        let file = file.map_err(HubError::io("write", path))?;
        let there = file.metadata().map_err(HubError::io("read", path))?.len();
        let sha256 = matches!(hash, FileHash::Sha256(_)).then(Sha256::new);
        let mut part = Self { file, path: path.to_owned(), bytes: there, written: 0, sha256 };
        if !hash.is_checkable() || bytes.is_none_or(|bytes| there > bytes) {
            part.clear()?;
        } else {
            part.read_again()?;
        }
        Ok(part)
    }

    /// Takes what is there into the hash.
    fn read_again(&mut self) -> Result<(), HubError> {
        let Self { file, path, sha256, .. } = self;
        let mut read = || -> io::Result<()> {
            file.seek(SeekFrom::Start(0))?;
            match sha256 {
                Some(sha256) => read_pieces(file, |piece| sha256.update(piece)),
                None => file.seek(SeekFrom::End(0)).map(drop),
            }
        };
        read().map_err(HubError::io("read", path))
    }

    fn write(&mut self, data: &[u8]) -> Result<(), HubError> {
        self.file.write_all(data).map_err(HubError::io("write", &self.path))?;
        self.bytes += data.len() as u64;
        self.written += data.len() as u64;
        if let Some(sha256) = &mut self.sha256 {
            sha256.update(data);
        }
        Ok(())
    }

    /// Begins anew.
    fn clear(&mut self) -> Result<(), HubError> {
        let Self { file, path, .. } = self;
        let mut clear = || -> io::Result<()> {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0)).map(drop)
        };
        clear().map_err(HubError::io("write", path))?;
        self.bytes = 0;
        if let Some(sha256) = &mut self.sha256 {
            *sha256 = Sha256::new();
        }
        Ok(())
    }

    /// What the contents hash to in the manner of `like`; none where that is not known here.
    fn hash(&mut self, like: &FileHash) -> Result<Option<String>, HubError> {
        match (like, &self.sha256) {
            (FileHash::Sha256(_), Some(sha256)) => Ok(Some(hex(&sha256.clone().finalize()))),
            (FileHash::Git(_), _) => {
                let Self { file, path, bytes, .. } = self;
                let read = file.seek(SeekFrom::Start(0)).and_then(|_| git_hash(file, *bytes));
                read.map(Some).map_err(HubError::io("read", path))
            }
            _ => Ok(None),
        }
    }

    fn remove(&self) {
        // What stays is checked by whoever goes on with it.
        let _ = fs::remove_file(&self.path);
    }
}

/// SHA-1 of what is read, `bytes` long, as git names a file.
pub(super) fn git_hash(contents: &mut dyn Read, bytes: u64) -> io::Result<String> {
    let mut sha1 = Sha1::new();
    sha1.update(format!("blob {bytes}\0").as_bytes());
    read_pieces(contents, |piece| sha1.update(piece))?;
    Ok(hex(&sha1.finalize()))
}

/// SHA-256 of what is read.
pub(super) fn sha256(contents: &mut dyn Read) -> io::Result<String> {
    let mut sha256 = Sha256::new();
    read_pieces(contents, |piece| sha256.update(piece))?;
    Ok(hex(&sha256.finalize()))
}

fn read_pieces(contents: &mut dyn Read, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut piece = vec![0; 1 << 18];
    loop {
        match contents.read(&mut piece)? {
            0 => return Ok(()),
            count => take(piece.get(..count).unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_files_have_the_names_that_git_gives_them() {
        // `printf 'hello\n' | git hash-object --stdin`
        assert_eq!(git_hash(&mut &b"hello\n"[..], 6).unwrap(), "ce013625030ba8dba906f756967f9e9ca394464a");
    }
}
