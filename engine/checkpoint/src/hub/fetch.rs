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
    FetchRequest, HubError, HubSettings,
    cache::{RepoCache, cached},
    content_range::ContentRange,
    http::{Ask, Client, LINKED_MARK, Refusal, Reply, Trouble, backoff},
    info::{self, HubAnswer, RemoteFile, bytes_here},
    names::{CommitHash, FileHash, RepoKind, RepoName, RepoPath, Revision},
    rate::{Rate, TOO_SLOW},
    transfer::Transfer,
};
use crate::{checkpoint::free_bytes, data::hex};

/// Left free on the disk for everything else.
const SPARE: u64 = 64 << 20;
/// The longest file that is fetched where nothing says its size; its hash is known.
const LARGEST_UNSIZED: u64 = 32 << 20;

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

/// A file with what the hub says of its contents: its hash, its size, or both.
struct Wanted {
    path: RepoPath,
    commit: CommitHash,
    hash: Option<FileHash>,
    bytes: Option<u64>,
    url: String,
}

impl Wanted {
    /// The name under which it is written until it is whole. Without a hash it is of this file of this commit alone.
    fn key(&self) -> String {
        if let Some(hash) = &self.hash {
            return hash.to_string();
        }
        let place = format!("{}/{}", self.commit, self.path);
        format!("unchecked-{}", hex(&Sha256::digest(place.as_bytes())))
    }

    /// The most bytes that are taken of it; `said` is what the answer says of its size.
    fn most(&self, said: Option<u64>) -> u64 {
        self.bytes.or(said).unwrap_or(LARGEST_UNSIZED)
    }
}

/// Brings a repository here, or takes it from the cache where the hub must not be asked. What is here already is not downloaded
/// again, and what was cut off goes on.
///
/// # Errors
/// Where it is not there, may not be had, or does not come whole. The cache is as good as before, and keeps what came.
pub fn fetch(
    settings: &HubSettings,
    request: &FetchRequest,
    progress: &mut dyn FnMut(&Transfer),
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
    let commit = answer.facts.commit.clone();
    let mut wanted = Vec::with_capacity(chosen.len());
    for file in &chosen {
        wanted.push(ask_file(&client, request, &answer, file)?);
    }
    let total_bytes = wanted.iter().filter_map(|file| file.bytes).fold(0, u64::saturating_add);
    let missing = wanted.iter().map(|file| missing_bytes(&cache, file)).fold(0, u64::saturating_add);
    require_space(settings, missing)?;
    let count = wanted.len();
    let mut files: Vec<FetchedFile> = Vec::with_capacity(count);
    for (number, file) in wanted.iter().enumerate() {
        let before = files.iter().map(|done| done.bytes).fold(0, u64::saturating_add);
        let mut tell = |bytes: u64| {
            let file = file.path.to_string();
            progress(&Transfer {
                file,
                number,
                count,
                bytes: before.saturating_add(bytes),
                total_bytes,
                bytes_per_sec: 0.0,
            });
        };
        tell(0);
        let download = Download { client: &client, cache: &cache, name: &request.name, file };
        let downloaded = download.run(&mut tell)?;
        let bytes = fs::metadata(cache.snapshot(&commit).join(file.path.to_path())).map_or(0, |there| there.len());
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

/// Asks what the contents of a file hash to, and where they are. Only a hash identifies contents: an entity tag that is none, or is
/// weak, may be that of other files too.
fn ask_file(
    client: &Client<'_>,
    request: &FetchRequest,
    answer: &HubAnswer,
    file: &RemoteFile,
) -> Result<Wanted, HubError> {
    let (kind, name, revision) = (request.kind, &request.name, &request.revision);
    let commit = &answer.facts.commit;
    let url = info::file_url(client.settings, kind, name, commit, &file.path);
    let what = file.path.to_string();
    let ask = || Ask { method: "HEAD", follows_elsewhere: false, ..Ask::get(&url) };
    let (reply, _) = client.whole(&what, ask, |refusal: &Refusal| {
        info::fault(client, kind, name, revision, refusal).or_else(|| {
            let gone = || HubError::NoFile { name: name.clone(), file: what.clone() };
            (refusal.status.as_u16() == 404).then(gone)
        })
    })?;
    let listed = answer.hashes.get(&file.path);
    let told =
        [LINKED_MARK, "etag"].iter().find_map(|mark| header_text(&reply.headers, mark)?.parse::<FileHash>().ok());
    if let (Some(told), Some(listed)) = (&told, listed)
        && told.contradicts(listed)
    {
        let why = format!("its hash is {listed} in the list of files and {told} where it lies");
        return Err(client.malformed(&what, &why));
    }
    let hash = told.or_else(|| listed.cloned());
    let linked = header_text(&reply.headers, "x-linked-size").and_then(|text| text.trim().parse::<u64>().ok());
    let said = linked.or_else(|| content_length(&reply).filter(|_| !reply.status.is_redirection()));
    let bytes = match (said, file.bytes) {
        (Some(said), Some(listed)) if said != listed => {
            let why = format!("its size is {listed} bytes in the list of files and {said} bytes where it lies");
            return Err(client.malformed(&what, &why));
        }
        (said, listed) => said.or(listed),
    };
    if hash.is_none() && bytes.is_none() {
        return Err(HubError::Unchecked { name: name.clone(), file: what });
    }
    Ok(Wanted { path: file.path.clone(), commit: commit.clone(), hash, bytes, url: reply.url })
}

fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().filter(|text| !text.trim().is_empty())
}

/// Returns true if an answer is packed on its way, so that its lengths are not those of the file.
fn is_packed(reply: &Reply) -> bool {
    let packing = header_text(&reply.headers, header::CONTENT_ENCODING.as_str());
    packing.is_some_and(|packing| !packing.trim().eq_ignore_ascii_case("identity"))
}

/// Bytes of the file that an answer says it holds.
fn content_length(reply: &Reply) -> Option<u64> {
    let text = header_text(&reply.headers, header::CONTENT_LENGTH.as_str()).filter(|_| !is_packed(reply))?;
    text.trim().parse().ok()
}

/// Bytes of a file that have to be downloaded.
fn missing_bytes(cache: &RepoCache, file: &Wanted) -> u64 {
    let bytes = file.most(None);
    let here = match &file.hash {
        Some(hash) => bytes_here(cache, hash, Some(bytes)),
        None => fs::metadata(cache.snapshot(&file.commit).join(file.path.to_path())).map_or(0, |there| there.len()),
    };
    // Nothing is needed for a file that is here, though its size is not known.
    let is_whole = file.hash.as_ref().is_some_and(|hash| file.bytes.is_none() && cache.blob(hash).is_file());
    if is_whole { 0 } else { bytes - here.min(bytes) }
}

fn require_space(settings: &HubSettings, needed: u64) -> Result<(), HubError> {
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
    /// Brings the file here unless it is, and links it into its snapshot; gives the bytes that were downloaded.
    fn run(&self, tell: &mut dyn FnMut(u64)) -> Result<u64, HubError> {
        let key = self.file.key();
        let _lock = self.cache.lock(&key, |time| self.client.sleep(time))?;
        if self.is_here() {
            if let Some(hash) = &self.file.hash {
                self.link(hash)?;
            }
            return Ok(0);
        }
        let mut part = Part::open(&self.cache.incomplete(&key), self.file.hash.as_ref(), self.file.bytes)?;
        let mut has_old_bytes = part.bytes > 0;
        // Only what is further than ever counts as progress: what was thrown away can come again without end.
        let (mut tries, mut furthest) = (0, part.bytes);
        let mut rate = Rate::new(self.client.settings.patience, furthest);
        let hash = loop {
            match self.attempt(&mut part, tries, tell) {
                Ok(()) => match self.check(&mut part) {
                    Ok(hash) => break hash,
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
                    if matches!(error, HubError::Length { .. } | HubError::Endless { .. }) {
                        part.remove();
                    }
                    return Err(error);
                }
                Err(Trouble::Slow) => return Err(self.cut(&part, TOO_SLOW.to_owned())),
                Err(Trouble::Connection(why)) => {
                    tries = if part.bytes > furthest { 1 } else { tries + 1 };
                    furthest = furthest.max(part.bytes);
                    if tries >= self.client.settings.tries || self.is_wasteful(&part, furthest) {
                        return Err(self.cut(&part, why));
                    }
                    if rate.is_too_slow(furthest) {
                        return Err(self.cut(&part, TOO_SLOW.to_owned()));
                    }
                    self.client.sleep(backoff(tries))?;
                }
            }
        };
        self.cache.publish(&part.file, &key, &hash)?;
        self.link(&hash)?;
        Ok(part.written)
    }

    fn link(&self, hash: &FileHash) -> Result<(), HubError> {
        self.cache.link(&self.file.commit, &self.file.path, hash)
    }

    /// Returns true if the file is here whole. A blob of another length was never one, and gives way to what is downloaded.
    fn is_here(&self) -> bool {
        let place = match &self.file.hash {
            Some(hash) => self.cache.blob(hash),
            None => self.cache.snapshot(&self.file.commit).join(self.file.path.to_path()),
        };
        fs::metadata(place)
            .is_ok_and(|there| there.is_file() && self.file.bytes.is_none_or(|bytes| bytes == there.len()))
    }

    /// Returns true if far more came than the file holds: a server that sends the beginning again and again.
    fn is_wasteful(&self, part: &Part, furthest: u64) -> bool {
        let once = self.file.bytes.unwrap_or(furthest).max(furthest);
        part.written > once.saturating_mul(u64::from(self.client.settings.tries) + 1)
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
        if part.bytes > 0 && part.takes_ranges {
            ask = ask.with("range", format!("bytes={}-", part.bytes));
        }
        let reply = self.client.ask(ask)?;
        let said = self.begin(&reply, part, tries)?;
        if self.file.bytes.is_none() {
            // Seen only now, and before anything is written.
            if part.said.is_some_and(|before| said.is_some_and(|said| said != before)) {
                let why = "it says one size and then another";
                return Err(self.client.malformed(self.file.path.as_str(), why).into());
            }
            part.said = part.said.or(said);
            require_space(self.client.settings, self.file.most(part.said).saturating_sub(part.bytes))?;
        }
        let most = self.file.most(part.said);
        let begun = Instant::now();
        let mut told = None;
        self.client.read(&reply, |data| {
            if part.bytes.saturating_add(data.len() as u64) > most {
                return Err(self.too_long(most, part.bytes.saturating_add(data.len() as u64)));
            }
            part.write(data)?;
            // Some fifty times a second.
            let now = begun.elapsed().as_millis() / 20;
            if told.replace(now) != Some(now) {
                tell(part.bytes);
            }
            Ok(())
        })?;
        match self.file.bytes.or(part.said) {
            Some(bytes) if part.bytes < bytes => Err(Trouble::Connection("the connection ended early".to_owned())),
            _ => Ok(()),
        }
    }

    /// Looks at the head of an answer, and makes `part` ready for what follows. Gives what the answer says of the file's size.
    fn begin(&self, reply: &Reply, part: &mut Part, tries: u32) -> Result<Option<u64>, Trouble> {
        match reply.status.as_u16() {
            206 if part.bytes > 0 => {
                let range = header_text(&reply.headers, header::CONTENT_RANGE.as_str());
                let range = range.and_then(|range| range.parse::<ContentRange>().ok());
                let length = content_length(reply);
                let range = range.filter(|range| range.follows(part.bytes, self.file.bytes, length));
                if let Some(range) = range.filter(|_| !is_packed(reply)) {
                    // Where more is to come than this part holds, the rest is asked for next.
                    Ok(range.total())
                } else {
                    // From now on the whole is asked for. What is here stays until that comes.
                    part.takes_ranges = false;
                    Err(Trouble::Connection("it sent another part of the file than was asked for".to_owned()))
                }
            }
            // The whole of it, also where a part was asked for.
            200 => {
                part.clear()?;
                let said = content_length(reply);
                match (said, self.file.bytes) {
                    (Some(said), Some(bytes)) if said > bytes => Err(self.too_long(bytes, said).into()),
                    _ => Ok(said),
                }
            }
            416 if part.bytes > 0 => {
                part.clear()?;
                part.takes_ranges = false;
                Err(Trouble::Connection("it does not have the part that was asked for".to_owned()))
            }
            _ => {
                let body = self.client.bytes(reply, "a file")?;
                let refusal = Refusal::of(reply, &body);
                let file = &self.file.path;
                if refusal.status.as_u16() == 404 {
                    return Err(HubError::NoFile { name: self.name.clone(), file: file.to_string() }.into());
                }
                if let Some(pause) = self.client.pause(&refusal, tries) {
                    self.client.sleep(pause)?;
                    return Err(Trouble::Connection(format!("the hub answered \"{}\"", refusal.status)));
                }
                Err(refusal.error(&format!("send {file}")).into())
            }
        }
    }

    /// More bytes than the file has, or than one of unknown size may have.
    fn too_long(&self, most: u64, found: u64) -> HubError {
        let (name, file) = (self.name.clone(), self.file.path.to_string());
        match self.file.bytes {
            Some(expected) => HubError::Length { name, file, expected, found },
            None => HubError::Endless { name, file, most },
        }
    }

    /// Holds what came against the length and the hash; gives the hash, by which it is named among the blobs.
    fn check(&self, part: &mut Part) -> Result<FileHash, HubError> {
        if let Some(expected) = self.file.bytes.filter(|bytes| *bytes != part.bytes) {
            let (name, file) = (self.name.clone(), self.file.path.to_string());
            return Err(HubError::Length { name, file, expected, found: part.bytes });
        }
        let found = part.hash(self.file.hash.as_ref())?;
        match &self.file.hash {
            Some(expected) if found != *expected => {
                let (file, expected, found) = (self.file.path.to_string(), expected.to_string(), found.to_string());
                Err(HubError::Hash { file, expected, found })
            }
            _ => Ok(found),
        }
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
    /// Parts are asked for, which not every server sends as it should.
    takes_ranges: bool,
    /// Bytes of the whole file as an answer said them, where nothing said them before.
    said: Option<u64>,
}

impl Part {
    /// Goes on with what is there, where it can be held against a hash in the end.
    fn open(path: &Path, hash: Option<&FileHash>, bytes: Option<u64>) -> Result<Self, HubError> {
        let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path);
        let file = file.map_err(HubError::io("write", path))?;
        let there = file.metadata().map_err(HubError::io("read", path))?.len();
        let sha256 = (!matches!(hash, Some(FileHash::Git(_)))).then(Sha256::new);
        let mut part =
            Self { file, path: path.to_owned(), bytes: there, written: 0, sha256, takes_ranges: true, said: None };
        if hash.is_none() || bytes.is_none_or(|bytes| there > bytes) {
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

    /// Hash of the contents, of the kind of `like`; SHA-256 where that is none.
    fn hash(&mut self, like: Option<&FileHash>) -> Result<FileHash, HubError> {
        let Self { file, path, bytes, sha256, .. } = self;
        let read = || -> io::Result<FileHash> {
            match (like, sha256) {
                (Some(FileHash::Sha256(_)) | None, Some(sha256)) => {
                    Ok(FileHash::Sha256(hex(&sha256.clone().finalize())))
                }
                (Some(FileHash::Git(_)), _) => {
                    file.seek(SeekFrom::Start(0))?;
                    git_hash(file, *bytes).map(FileHash::Git)
                }
                (Some(FileHash::Sha256(_)) | None, None) => {
                    file.seek(SeekFrom::Start(0))?;
                    self::sha256(file).map(FileHash::Sha256)
                }
            }
        };
        read().map_err(HubError::io("read", path))
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
