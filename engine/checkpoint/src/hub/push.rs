//! Uploads, as the hub's own client does them: the repository is made, each file is announced, large ones go to the large-file
//! storage, and one commit names all of them. Until that commit the repository is as it was.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    HubError, HubSettings,
    fetch::{git_hash, sha256},
    http::{Ask, Client, Refusal, Sent, Trouble, backoff},
    info,
    model_files::{has_weights, is_model_file},
    names::{CommitHash, RepoKind, RepoName, Revision, shortened},
    rate::TOO_SLOW,
    transfer::Transfer,
};
use crate::checkpoint::FileFacts;

/// Files that are uploaded beside those that a fetch brings.
const OTHER_FILES: [&str; 2] = ["README.md", "modeling_headroom.py"];
/// The first bytes of a file, from which the hub sees whether it is text.
const SAMPLE: usize = 512;
/// The largest file that goes into the commit itself, whatever the hub says.
const LARGEST_INLINE: u64 = 10 << 20;
/// What the large-file storage speaks.
const LFS: &str = "application/vnd.git-lfs+json";

/// What is to be uploaded.
#[derive(Clone, Debug)]
pub struct PushRequest {
    /// The model directory.
    pub directory: PathBuf,
    /// Where to; without an owner it is the one of the token.
    pub name: RepoName,
    /// Whether everybody may read it.
    pub public: bool,
    /// What the commit is called.
    pub message: String,
}

/// What was uploaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pushed {
    /// Where to.
    pub name: RepoName,
    /// Address of its page.
    pub url: String,
    /// The commit; none where everything was there already.
    pub commit: Option<CommitHash>,
    /// Whether the repository was made for this.
    pub is_new: bool,
    /// Whether everybody may read it; one that was there stays as it was.
    pub public: bool,
    /// The files.
    pub files: Vec<String>,
    /// Their size.
    pub bytes: u64,
    /// Bytes that had to be sent.
    pub sent: u64,
    /// What stands in the directory and was not uploaded.
    pub left_out: Vec<String>,
}

/// What of a model directory would be uploaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushContents {
    /// The files, by name.
    pub files: Vec<FileFacts>,
    /// What stands in the directory and would not be uploaded.
    pub left_out: Vec<String>,
}

impl PushContents {
    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

/// A file to be uploaded.
struct Upload {
    name: String,
    path: PathBuf,
    bytes: u64,
    sha256: String,
    /// Goes to the large-file storage.
    is_large: bool,
    /// The hub has it already.
    is_there: bool,
}

/// Uploads a model directory as one commit.
///
/// # Errors
/// Where it cannot be read, the token may not write, or the hub does not take it. The repository is then as it was.
pub fn push(
    settings: &HubSettings,
    request: &PushRequest,
    progress: &mut dyn FnMut(&Transfer),
    should_stop: &dyn Fn() -> bool,
) -> Result<Pushed, HubError> {
    if settings.is_offline {
        return Err(HubError::OfflineMode { doing: "uploading".to_owned() });
    }
    if settings.token.is_none() {
        return Err(HubError::NoToken { doing: "Uploading".to_owned() });
    }
    let client = Client::new(settings, should_stop);
    let outcome = Push { client: &client, request }.run(progress);
    outcome.map_err(|error| if matches!(error, HubError::Stopped) { HubError::UploadStopped } else { error })
}

struct Push<'a> {
    client: &'a Client<'a>,
    request: &'a PushRequest,
}

impl Push<'_> {
    fn run(&self, progress: &mut dyn FnMut(&Transfer)) -> Result<Pushed, HubError> {
        let (mut uploads, left_out) = files_of(&self.request.directory)?;
        let name = self.full_name()?;
        let (is_new, public) = self.create(&name)?;
        self.announce(&name, &mut uploads)?;
        let large: Vec<usize> = (0..uploads.len())
            .filter(|index| uploads.get(*index).is_some_and(|upload| upload.is_large && !upload.is_there))
            .collect();
        let sent = self.send_large(&name, &uploads, &large, progress)?;
        let commit =
            if uploads.iter().all(|upload| upload.is_there) { None } else { Some(self.commit(&name, &uploads)?) };
        let inline = uploads.iter().filter(|upload| !upload.is_large && !upload.is_there).map(|upload| upload.bytes);
        Ok(Pushed {
            url: info::page(self.client.settings, RepoKind::Model, &name),
            name,
            commit,
            is_new,
            public,
            bytes: uploads.iter().map(|upload| upload.bytes).sum(),
            sent: sent + inline.sum::<u64>(),
            files: uploads.into_iter().map(|upload| upload.name).collect(),
            left_out,
        })
    }

    fn api(&self, rest: &str) -> String {
        format!("{}/api/{rest}", self.client.settings.endpoint)
    }

    fn fault(name: Option<&RepoName>, refusal: &Refusal) -> Option<HubError> {
        match refusal.status.as_u16() {
            401 => Some(HubError::WrongToken),
            403 => {
                let to = name.map_or_else(|| "upload".to_owned(), |name| format!("write to \"{name}\""));
                Some(HubError::Forbidden { doing: to, answer: refusal.said.clone() })
            }
            404 => Some(HubError::NotFound { kind: RepoKind::Model, name: name?.clone(), has_token: true }),
            _ => None,
        }
    }

    /// The name with its owner.
    fn full_name(&self) -> Result<RepoName, HubError> {
        if self.request.name.owner().is_some() {
            return Ok(self.request.name.clone());
        }
        let what = "your account";
        let url = self.api("whoami-v2");
        let value = self.client.json(what, || Ask::get(&url), |refusal| Self::fault(None, refusal))?;
        let user = value.get("name").and_then(Value::as_str).unwrap_or_default();
        format!("{user}/{}", self.request.name).parse().map_err(|why: String| self.client.malformed(what, &why))
    }

    /// Makes the repository unless it is there; gives whether it was made, and whether everybody may read it.
    fn create(&self, name: &RepoName) -> Result<(bool, bool), HubError> {
        let visibility = if self.request.public { "public" } else { "private" };
        let payload = json!({
            "type": "model",
            "name": name.name(),
            "organization": name.owner(),
            "private": !self.request.public,
            "visibility": visibility,
        });
        let url = self.api("repos/create");
        let is_there = std::cell::Cell::new(false);
        let made = self.client.whole(
            "a new repository",
            || Ask::post(&url, &payload),
            |refusal| {
                if refusal.status.as_u16() == 409 {
                    is_there.set(true);
                }
                // Told below; anything stands for it.
                if is_there.get() { Some(HubError::UploadStopped) } else { Self::fault(Some(name), refusal) }
            },
        );
        if !is_there.get() {
            return made.map(|_| (true, self.request.public));
        }
        let there = info::ask(self.client, RepoKind::Model, name, &Revision::default());
        match there {
            Ok(answer) if !answer.facts.private && !self.request.public => {
                Err(HubError::IsPublic { name: name.clone() })
            }
            Ok(answer) => Ok((false, !answer.facts.private)),
            // A repository without a commit has no revision yet.
            Err(HubError::NoRevision { .. }) => Ok((false, self.request.public)),
            Err(error) => Err(error),
        }
    }

    /// Asks the hub how it wants each file, and which it has.
    fn announce(&self, name: &RepoName, uploads: &mut [Upload]) -> Result<(), HubError> {
        let mut files = Vec::with_capacity(uploads.len());
        for upload in uploads.iter() {
            let mut sample = vec![0; SAMPLE.min(usize::try_from(upload.bytes).unwrap_or(SAMPLE))];
            let read = File::open(&upload.path).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut sample));
            read.map_err(HubError::io("read", &upload.path))?;
            let sample = BASE64_STANDARD.encode(sample);
            files.push(json!({ "path": upload.name, "sample": sample, "size": upload.bytes }));
        }
        let payload = json!({ "files": files });
        let url = self.api(&format!("models/{name}/preupload/main"));
        let what = "the files";
        let value = self.client.json(what, || Ask::post(&url, &payload), |refusal| Self::fault(Some(name), refusal))?;
        let answers = value.get("files").and_then(Value::as_array);
        let answers = answers.ok_or_else(|| self.client.malformed(what, "it says nothing of them"))?;
        for upload in uploads {
            let answer = answers.iter().find(|answer| answer.get("path").and_then(Value::as_str) == Some(&upload.name));
            let mode = answer.and_then(|answer| answer.get("uploadMode")?.as_str());
            upload.is_large = match mode {
                Some("lfs") => upload.bytes > 0,
                Some("regular") => upload.bytes > LARGEST_INLINE,
                _ => {
                    let why = format!("it does not say how it wants {}", upload.name);
                    return Err(self.client.malformed(what, &why));
                }
            };
            let known = answer.and_then(|answer| answer.get("oid")?.as_str());
            upload.is_there = match known {
                Some(known) if known == upload.sha256 => true,
                Some(known) if !upload.is_large => {
                    let opened = File::open(&upload.path).and_then(|mut file| git_hash(&mut file, upload.bytes));
                    opened.map_err(HubError::io("read", &upload.path))? == known
                }
                _ => false,
            };
        }
        Ok(())
    }

    /// Sends the large files, and gives how many bytes had to be.
    fn send_large(
        &self,
        name: &RepoName,
        uploads: &[Upload],
        large: &[usize],
        progress: &mut dyn FnMut(&Transfer),
    ) -> Result<u64, HubError> {
        let large: Vec<&Upload> = large.iter().filter_map(|index| uploads.get(*index)).collect();
        if large.is_empty() {
            return Ok(0);
        }
        let objects: Vec<Value> =
            large.iter().map(|upload| json!({ "oid": upload.sha256, "size": upload.bytes })).collect();
        let payload = json!({
            "operation": "upload",
            "transfers": ["basic", "multipart"],
            "objects": objects,
            "hash_algo": "sha256",
        });
        let url = format!("{}/{name}.git/info/lfs/objects/batch", self.client.settings.endpoint);
        let what = "the large files";
        let ask = || Ask::post(&url, &payload).with("accept", LFS).with("content-type", LFS);
        let value = self.client.json(what, ask, |refusal| Self::fault(Some(name), refusal))?;
        let answers = value.get("objects").and_then(Value::as_array);
        let answers = answers.ok_or_else(|| self.client.malformed(what, "it says nothing of them"))?;
        let total_bytes = large.iter().map(|upload| upload.bytes).sum();
        let (mut bytes, mut sent, count) = (0, 0, large.len());
        for (number, upload) in large.into_iter().enumerate() {
            let answer =
                answers.iter().find(|answer| answer.get("oid").and_then(Value::as_str) == Some(&upload.sha256));
            let answer = answer
                .ok_or_else(|| self.client.malformed(what, &format!("it does not say where {} goes", upload.name)))?;
            if let Some(error) = answer.get("error") {
                let said = error.get("message").and_then(Value::as_str).unwrap_or_default();
                let doing = format!("upload {}", upload.name);
                return Err(HubError::Forbidden { doing, answer: shortened(said) });
            }
            let mut tell = |of_file: u64| {
                progress(&Transfer {
                    file: upload.name.clone(),
                    number,
                    count,
                    bytes: bytes + of_file,
                    total_bytes,
                    bytes_per_sec: 0.0,
                });
            };
            tell(0);
            // Without actions the storage has it already.
            if let Some(actions) = answer.get("actions").filter(|actions| actions.get("upload").is_some()) {
                self.send(upload, actions, &mut tell)?;
                sent += upload.bytes;
            }
            bytes += upload.bytes;
        }
        Ok(sent)
    }

    fn send(&self, upload: &Upload, actions: &Value, tell: &mut dyn FnMut(u64)) -> Result<(), HubError> {
        let what = format!("where {} goes", upload.name);
        let target = actions.get("upload").unwrap_or(&Value::Null);
        let address = |action: &Value| {
            let href = action.get("href").and_then(Value::as_str).filter(|href| href.starts_with("http"));
            href.map(str::to_owned).ok_or_else(|| self.client.malformed(&what, "it names no address"))
        };
        let header = target.get("header").and_then(Value::as_object);
        let chunk = header.and_then(|header| {
            let size = header.get("chunk_size")?;
            size.as_u64().or_else(|| size.as_str()?.parse().ok())
        });
        match (header, chunk) {
            (Some(header), Some(chunk)) if chunk > 0 => {
                let mut parts: Vec<(u64, &str)> =
                    header.iter().filter_map(|(number, href)| Some((number.parse().ok()?, href.as_str()?))).collect();
                parts.sort_unstable();
                if parts.len() as u64 != upload.bytes.div_ceil(chunk) {
                    return Err(self.client.malformed(&what, "it names another number of parts than there are"));
                }
                let mut done = Vec::with_capacity(parts.len());
                for (index, (number, href)) in parts.into_iter().enumerate() {
                    let offset = index as u64 * chunk;
                    let length = chunk.min(upload.bytes - offset);
                    let mark = self.send_part(upload, href, (offset, length), &mut |sent| tell(offset + sent))?;
                    done.push(json!({ "partNumber": number, "etag": mark }));
                }
                let url = address(target)?;
                let payload = json!({ "oid": upload.sha256, "parts": done });
                let ask = || {
                    Ask { with_token: false, ..Ask::post(&url, &payload) }.with("accept", LFS).with("content-type", LFS)
                };
                self.client.whole(&what, ask, |_| None)?;
            }
            _ => {
                let _mark = self.send_part(upload, &address(target)?, (0, upload.bytes), tell)?;
            }
        }
        if let Some(verify) = actions.get("verify") {
            let url = address(verify)?;
            let payload = json!({ "oid": upload.sha256, "size": upload.bytes });
            self.client.whole(&what, || Ask::post(&url, &payload), |_| None)?;
        }
        Ok(())
    }

    /// Sends bytes `(offset, length)` of a file; gives the mark that the storage puts on them.
    fn send_part(
        &self,
        upload: &Upload,
        url: &str,
        (offset, length): (u64, u64),
        tell: &mut dyn FnMut(u64),
    ) -> Result<String, HubError> {
        let mut tries = 0;
        loop {
            let sent = Arc::new(AtomicU64::new(0));
            let body = Sent::File { path: upload.path.clone(), offset, length, sent: Arc::clone(&sent) };
            let ask = Ask { method: "PUT", body, with_token: false, follows_elsewhere: false, ..Ask::get(url) };
            let reply = self.client.ask_watched(ask, &mut || tell(sent.load(Ordering::Relaxed)));
            let outcome = reply.and_then(|reply| {
                let body = self.client.bytes(&reply, &upload.name)?;
                Ok((reply, body))
            });
            let why = match outcome {
                Ok((reply, _)) if reply.status.is_success() => {
                    tell(length);
                    let mark = reply.headers.get("etag").and_then(|mark| mark.to_str().ok()).unwrap_or_default();
                    return Ok(mark.to_owned());
                }
                Ok((reply, body)) => {
                    let refusal = Refusal::of(&reply, &body);
                    let Some(pause) = self.client.pause(&refusal, tries) else {
                        let doing = format!("take {}", upload.name);
                        return Err(match refusal.status.as_u16() {
                            // Not the hub's, but the storage's: the token is not asked for.
                            401 | 403 => {
                                HubError::Forbidden { doing: format!("upload {}", upload.name), answer: refusal.said }
                            }
                            _ => refusal.error(&doing),
                        });
                    };
                    self.client.sleep(pause)?;
                    tries += 1;
                    continue;
                }
                Err(Trouble::Stopped) => return Err(HubError::Stopped),
                Err(Trouble::Final(error)) => return Err(error),
                Err(Trouble::Slow) => return Err(self.client.unreachable(TOO_SLOW)),
                Err(Trouble::Connection(why)) => why,
            };
            tries += 1;
            if tries >= self.client.settings.tries {
                return Err(self.client.unreachable(&why));
            }
            self.client.sleep(backoff(tries))?;
        }
    }

    /// One commit with everything that is not there.
    fn commit(&self, name: &RepoName, uploads: &[Upload]) -> Result<CommitHash, HubError> {
        let mut lines =
            vec![json!({ "key": "header", "value": { "summary": self.request.message, "description": "" } })];
        for upload in uploads.iter().filter(|upload| !upload.is_there) {
            lines.push(if upload.is_large {
                json!({ "key": "lfsFile", "value": {
                    "path": upload.name, "algo": "sha256", "oid": upload.sha256, "size": upload.bytes,
                } })
            } else {
                let contents = fs::read(&upload.path).map_err(HubError::io("read", &upload.path))?;
                let content = BASE64_STANDARD.encode(contents);
                json!({ "key": "file", "value": { "path": upload.name, "encoding": "base64", "content": content } })
            });
        }
        let mut bytes = Vec::new();
        for line in lines {
            bytes.extend(line.to_string().into_bytes());
            bytes.push(b'\n');
        }
        let bytes = Arc::new(bytes);
        let url = self.api(&format!("models/{name}/commit/main"));
        let what = "the commit";
        let ask = || {
            let body = Sent::Text { kind: "application/x-ndjson", bytes: Arc::clone(&bytes) };
            Ask { method: "POST", body, follows_elsewhere: false, ..Ask::get(&url) }
        };
        let value = self.client.json(what, ask, |refusal| Self::fault(Some(name), refusal))?;
        let commit = value.get("commitOid").and_then(Value::as_str).unwrap_or_default();
        commit.parse().map_err(|why: String| self.client.malformed(what, &why))
    }
}

/// What of a model directory [`push`] would upload. No hub is asked.
///
/// # Errors
/// If it is no model directory, or cannot be read.
pub fn contents(directory: &Path) -> Result<PushContents, HubError> {
    let refused = |why: &str| HubError::NotUploadable { why: why.to_owned(), path: directory.to_owned() };
    if !directory.join("config.json").is_file() {
        return Err(refused(
            "This is no model directory: it has no config.json. Name one that `headroom export` or \
                            `headroom convert` made",
        ));
    }
    if !has_weights(directory) {
        return Err(refused(
            "This model directory has no weights. Name one that `headroom export` or `headroom convert` made",
        ));
    }
    let mut contents = PushContents::default();
    for entry in fs::read_dir(directory).map_err(HubError::io("read the folder", directory))? {
        let entry = entry.map_err(HubError::io("read the folder", directory))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let file = fs::metadata(entry.path()).ok().filter(fs::Metadata::is_file);
        match file.filter(|_| is_model_file(&name) || OTHER_FILES.contains(&name.as_str())) {
            Some(file) => contents.files.push(FileFacts { name, bytes: file.len() }),
            None => contents.left_out.push(name),
        }
    }
    contents.files.sort_by(|a, b| a.name.cmp(&b.name));
    contents.left_out.sort();
    Ok(contents)
}

/// The files of a model directory with their hashes, and what else stands there.
fn files_of(directory: &Path) -> Result<(Vec<Upload>, Vec<String>), HubError> {
    let PushContents { files, left_out } = contents(directory)?;
    let uploads = files.into_iter().map(|FileFacts { name, .. }| {
        let path = directory.join(&name);
        let read = || -> std::io::Result<(u64, String)> {
            let mut file = File::open(&path)?;
            Ok((file.metadata()?.len(), sha256(&mut file)?))
        };
        let (bytes, sha256) = read().map_err(HubError::io("read", &path))?;
        Ok(Upload { name, path, bytes, sha256, is_large: false, is_there: false })
    });
    Ok((uploads.collect::<Result<_, HubError>>()?, left_out))
}
