//! A hub on loopback that speaks as real ones do, and misbehaves when it is told to.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// Files of at least this size are in the large-file storage: their hash is SHA-256, and they lie elsewhere.
pub const LARGE: usize = 4096;

/// The token that the hub knows.
pub const TOKEN: &str = "hf_the_right_one";

/// The account that it belongs to.
pub const USER: &str = "tester";

/// What the hub does wrong with the contents of one file. Each is counted down; when none are left it behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The connection ends after so many bytes of an answer.
    CutAfter(usize),
    /// A byte is another one than the hash says.
    WrongByte,
    /// Fewer bytes than promised, in an answer that ends as it should.
    TooShort,
    /// More bytes than promised, without a length.
    TooLong,
    /// This status, with `Retry-After` where a number of seconds is given.
    Status(u16, Option<u64>),
    /// Waits so many milliseconds after each piece of 1,024 bytes.
    Slow(u64),
    /// Nothing comes for ever.
    Silent,
    /// A range that was not asked for.
    WrongRange,
    /// The range that was asked for, of a file that is said to be so many bytes longer.
    RangeOfLonger(usize),
    /// The range that was asked for and so many bytes more than it says.
    RangeAndMore(usize),
    /// The range that was asked for without its last bytes: so many of it.
    RangeOf(usize),
    /// One byte at a time, so many milliseconds apart.
    Trickle(u64),
    /// The head of the answer one byte at a time, so many milliseconds apart.
    SlowHead(u64),
    /// So many mebibytes that nobody promised, without a length.
    Endless(usize),
    /// Packed with gzip.
    Packed,
    /// So many mebibytes packed with gzip into little.
    PackedEndless(usize),
    /// So many bytes in the header, whatever follows.
    LengthSaid(usize),
    /// Sent on to the same address.
    Redirect,
}

/// A repository.
#[derive(Clone, Debug, Default)]
pub struct Repo {
    /// Its files.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Only with the token.
    pub private: bool,
    /// Nobody has been let in.
    pub gated: bool,
    /// How often it was committed to.
    pub commits: usize,
    /// More fields of what the hub says about it.
    pub said: BTreeMap<String, Value>,
}

/// A request that came.
#[derive(Clone, Debug)]
pub struct Request {
    /// `GET` and the like.
    pub method: String,
    /// With what follows the question mark.
    pub path: String,
    /// By names in small letters.
    pub headers: BTreeMap<String, String>,
    /// What was sent.
    pub body: Vec<u8>,
}

impl Request {
    fn has_token(&self) -> bool {
        self.headers.get("authorization").is_some_and(|value| value == &format!("Bearer {TOKEN}"))
    }
}

#[derive(Default)]
struct State {
    /// `models/org/name`, `datasets/org/name`.
    repos: BTreeMap<String, Repo>,
    /// Large files that were sent, by their hash.
    storage: BTreeMap<String, Vec<u8>>,
    /// By name of the file.
    faults: BTreeMap<String, Vec<Fault>>,
    requests: Vec<Request>,
    /// Whether ranges are answered with the whole file.
    ignores_ranges: bool,
    /// Whether uploads go in parts of so many bytes.
    part_bytes: Option<usize>,
    /// Parts of uploads in progress, by hash and number.
    parts: BTreeMap<(String, usize), Vec<u8>>,
    /// Whether the list of files says no sizes.
    hides_sizes: bool,
    /// Sizes that are said in place of the true ones.
    claimed: BTreeMap<String, usize>,
    /// Another hub that large files are kept at.
    storage_at: Option<String>,
    /// Hashes are said nowhere.
    hides_hashes: bool,
    /// An answer to `HEAD` says no length.
    hides_lengths: bool,
    /// The entity tag of every file in place of its own; none where it is empty.
    mark: Option<String>,
}

/// A hub that listens on loopback until it is dropped.
pub struct Hub {
    address: String,
    state: Arc<Mutex<State>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Default for Hub {
    fn default() -> Self {
        Self::start()
    }
}

impl Hub {
    /// Starts an empty one.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(Mutex::new(State::default()));
        let is_over = Arc::new(AtomicBool::new(false));
        let thread = {
            let (state, is_over, address) = (Arc::clone(&state), Arc::clone(&is_over), address.clone());
            named("hub", move || {
                for stream in listener.incoming() {
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    let Ok(stream) = stream else { continue };
                    let (state, is_over, address) = (Arc::clone(&state), Arc::clone(&is_over), address.clone());
                    drop(named("hub-client", move || serve(stream, &state, &is_over, &address)));
                }
            })
        };
        Self { address, state, is_over, thread: Some(thread) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its address, as `HF_ENDPOINT` takes it.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Puts a repository there: `models/org/name`.
    pub fn add(&self, name: &str, repo: Repo) {
        self.state().repos.insert(name.to_owned(), repo);
    }

    /// Puts a repository there with the files of a folder.
    pub fn add_folder(&self, name: &str, folder: &Path, files: &[&str]) {
        let read = |file: &&str| ((*file).to_owned(), std::fs::read(folder.join(file)).expect("a file"));
        self.add(name, Repo { files: files.iter().map(read).collect(), ..Repo::default() });
    }

    /// Changes a repository.
    pub fn change(&self, name: &str, change: impl FnOnce(&mut Repo)) {
        change(self.state().repos.get_mut(name).expect("the repository"));
    }

    /// A repository as it is now.
    pub fn repo(&self, name: &str) -> Option<Repo> {
        self.state().repos.get(name).cloned()
    }

    /// Does these things wrong, one after the other, whenever the contents of this file are asked for or sent.
    pub fn fault(&self, file: &str, faults: &[Fault]) {
        self.state().faults.insert(file.to_owned(), faults.to_vec());
    }

    /// Answers ranges with the whole file, as simple servers do.
    pub fn ignore_ranges(&self) {
        self.state().ignores_ranges = true;
    }

    /// Does not say sizes in the list of files.
    pub fn hide_sizes(&self) {
        self.state().hides_sizes = true;
    }

    /// Says everywhere that a large file has this size.
    pub fn claim_size(&self, file: &str, bytes: usize) {
        self.state().claimed.insert(file.to_owned(), bytes);
    }

    /// Does not say what files hash to, neither in the list nor where they lie.
    pub fn hide_hashes(&self) {
        self.state().hides_hashes = true;
    }

    /// Does not say how long a file is where only its head is asked for.
    pub fn hide_lengths(&self) {
        self.state().hides_lengths = true;
    }

    /// Gives every file this entity tag in place of its own, or none where it is empty.
    pub fn mark_all(&self, mark: &str) {
        self.state().mark = Some(mark.to_owned());
    }

    /// Does nothing wrong any more.
    pub fn behave(&self) {
        let mut state = self.state();
        let State { repos, storage, .. } = std::mem::take(&mut *state);
        *state = State { repos, storage, ..State::default() };
    }

    /// Sends on to another hub for large files.
    pub fn keep_at(&self, other: &Self) {
        self.state().storage_at = Some(other.address.clone());
    }

    /// Takes large files in parts of so many bytes.
    pub fn take_parts_of(&self, bytes: usize) {
        self.state().part_bytes = Some(bytes);
    }

    /// What was asked since the last call.
    pub fn take_requests(&self) -> Vec<Request> {
        std::mem::take(&mut self.state().requests)
    }

    /// The hash of a repository's commit.
    pub fn commit(&self, name: &str) -> String {
        commit_of(self.state().repos.get(name).expect("the repository"))
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Wakes it.
        let _ = TcpStream::connect(self.address.trim_start_matches("http://"));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn named(name: &str, work: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).expect("a thread")
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;

    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// What the hub calls the contents of a file.
pub fn hash_of(contents: &[u8]) -> String {
    if contents.len() >= LARGE {
        return hex(&Sha256::digest(contents));
    }
    let mut sha1 = Sha1::new();
    sha1.update(format!("blob {}\0", contents.len()).as_bytes());
    sha1.update(contents);
    hex(&sha1.finalize())
}

/// The SHA-256 of contents.
pub fn sha256_of(contents: &[u8]) -> String {
    hex(&Sha256::digest(contents))
}

fn commit_of(repo: &Repo) -> String {
    let mut sha1 = Sha1::new();
    for (name, contents) in &repo.files {
        sha1.update(name.as_bytes());
        sha1.update(hash_of(contents).as_bytes());
    }
    hex(&sha1.finalize())
}

fn read_request(reader: &mut impl BufRead) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { method, path, headers, body })
}

/// An answer.
struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// Another length than the body's, where it lies about it.
    length: Option<usize>,
    /// No length is said.
    hides_length: bool,
    fault: Option<Fault>,
}

impl Answer {
    fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), length: None, hides_length: false, fault: None }
    }

    fn json(value: &Value) -> Self {
        Self::new(200, value.to_string()).with("content-type", "application/json")
    }

    fn error(status: u16, code: &str, message: &str) -> Self {
        let answer = Self::new(status, json!({ "error": message }).to_string()).with("x-error-message", message);
        if code.is_empty() { answer } else { answer.with("x-error-code", code) }
    }

    fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }
}

fn serve(stream: TcpStream, state: &Mutex<State>, is_over: &AtomicBool, address: &str) {
    let _ = stream.set_read_timeout(Some(Duration::from_mins(1)));
    let Ok(read_half) = stream.try_clone() else { return };
    let mut reader = BufReader::new(read_half);
    while let Some(request) = read_request(&mut reader) {
        let answer = {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            state.requests.push(request.clone());
            answer(&mut state, &request, address)
        };
        if write(&stream, &request, answer, is_over).is_none() {
            return;
        }
    }
}

/// Sends an answer; none where the connection is to end.
fn write(mut stream: &TcpStream, request: &Request, answer: Answer, is_over: &AtomicBool) -> Option<()> {
    let mut body = answer.body;
    let mut has_length = !answer.hides_length;
    let mut length = answer.length.unwrap_or(body.len());
    let mut more = 0;
    match answer.fault {
        Some(Fault::WrongByte) => {
            if let Some(byte) = body.last_mut() {
                *byte ^= 1;
            }
        }
        Some(Fault::TooShort) => {
            body.truncate(body.len() / 2);
            length = body.len();
        }
        Some(Fault::TooLong) => {
            body.extend_from_slice(b"more than was promised");
            has_length = false;
        }
        Some(Fault::RangeAndMore(bytes)) => {
            body.extend(std::iter::repeat_n(7, bytes));
            length = body.len();
        }
        Some(Fault::LengthSaid(bytes)) => length = bytes,
        Some(Fault::Endless(mebibytes)) => (has_length, more) = (false, mebibytes << 20),
        Some(Fault::Packed) => {
            body = packed(&body);
            length = body.len();
        }
        Some(Fault::PackedEndless(mebibytes)) => {
            body = packed(&vec![0; mebibytes << 20]);
            length = body.len();
        }
        Some(Fault::Silent) => {
            while !is_over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(10));
            }
            return None;
        }
        _ => {}
    }
    let mut head = format!("HTTP/1.1 {} X\r\n", answer.status);
    if matches!(answer.fault, Some(Fault::Packed | Fault::PackedEndless(_))) {
        head.push_str("content-encoding: gzip\r\n");
    }
    if has_length {
        head.push_str("content-length: ");
        head.push_str(&length.to_string());
        head.push_str("\r\n");
    } else {
        head.push_str("connection: close\r\n");
    }
    for (name, value) in &answer.headers {
        head.extend([name.as_str(), ": ", value.as_str(), "\r\n"]);
    }
    head.push_str("\r\n");
    match answer.fault {
        Some(Fault::SlowHead(milliseconds)) => trickle(stream, head.as_bytes(), milliseconds, is_over)?,
        _ => stream.write_all(head.as_bytes()).ok()?,
    }
    if request.method == "HEAD" {
        return has_length.then_some(());
    }
    match answer.fault {
        Some(Fault::CutAfter(bytes)) => {
            let _ = stream.write_all(body.get(..bytes).unwrap_or(&body));
            let _ = stream.flush();
            return None;
        }
        Some(Fault::Slow(milliseconds)) => {
            for piece in body.chunks(1024) {
                if is_over.load(Ordering::Relaxed) {
                    return None;
                }
                stream.write_all(piece).ok()?;
                std::thread::sleep(Duration::from_millis(milliseconds));
            }
        }
        Some(Fault::Trickle(milliseconds)) => trickle(stream, &body, milliseconds, is_over)?,
        Some(Fault::LengthSaid(_)) => {
            let _ = stream.write_all(&body);
            // What was promised and does not come.
            return None;
        }
        _ => stream.write_all(&body).ok()?,
    }
    let piece = vec![0; 1 << 16];
    while more > 0 && !is_over.load(Ordering::Relaxed) {
        stream.write_all(&piece).ok()?;
        more = more.saturating_sub(piece.len());
    }
    has_length.then_some(())
}

/// Sends one byte at a time.
fn trickle(mut stream: &TcpStream, bytes: &[u8], milliseconds: u64, is_over: &AtomicBool) -> Option<()> {
    for byte in bytes {
        if is_over.load(Ordering::Relaxed) {
            return None;
        }
        stream.write_all(&[*byte]).ok()?;
        std::thread::sleep(Duration::from_millis(milliseconds));
    }
    Some(())
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// A path as addresses have it.
fn encoded(path: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(byte);
    path.bytes().map(|byte| if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// A path as it is meant.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let [first, more @ ..] = rest {
        let byte = more.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(byte) = byte.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            bytes.push(byte);
            rest = &more[2..];
        } else {
            bytes.push(*first);
            rest = more;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn take_fault(state: &mut State, file: &str) -> Option<Fault> {
    let faults = state.faults.get_mut(file)?;
    if faults.is_empty() { None } else { Some(faults.remove(0)) }
}

fn answer(state: &mut State, request: &Request, address: &str) -> Answer {
    let (path, _) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let path = &decoded(path);
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    if request.headers.contains_key("authorization") && !request.has_token() {
        return Answer::error(401, "", "Invalid credentials in Authorization header");
    }
    match take_fault(state, path) {
        Some(Fault::Status(status, wait)) => {
            let answer = Answer::error(status, "", "told to");
            match wait {
                Some(wait) => answer.with("retry-after", wait.to_string()),
                None => answer,
            }
        }
        Some(fault) => Answer { fault: Some(fault), ..answer_well(state, request, &parts, address) },
        None => answer_well(state, request, &parts, address),
    }
}

/// Answer where nothing is done wrong.
fn answer_well(state: &mut State, request: &Request, parts: &[&str], address: &str) -> Answer {
    match (request.method.as_str(), parts) {
        ("GET", ["api", kind @ ("models" | "datasets"), name @ .., "revision", revision]) => {
            describe(state, request, &format!("{kind}/{}", name.join("/")), revision)
        }
        ("GET", ["api", "whoami-v2"]) if request.has_token() => Answer::json(&json!({ "name": USER, "type": "user" })),
        ("GET", ["api", "whoami-v2"]) => Answer::error(401, "", "Invalid username or password."),
        ("POST", ["api", "repos", "create"]) => create(state, request, address),
        ("POST", ["api", "models", name @ .., "preupload", "main"]) => preupload(state, request, &name.join("/")),
        ("POST", ["api", "models", name @ .., "commit", "main"]) => commit(state, request, &name.join("/"), address),
        ("POST", [name @ .., "info", "lfs", "objects", "batch"]) => batch(state, request, &name.join("/"), address),
        ("PUT", ["storage", hash]) => store(state, request, hash, None),
        ("PUT", ["storage", hash, number]) => store(state, request, hash, number.parse().ok()),
        ("POST", ["storage", hash, "complete"]) => complete(state, request, hash),
        ("POST", ["verify", hash]) => verify(state, request, hash),
        ("GET" | "HEAD", ["cdn", kind @ ("models" | "datasets"), owner, name, file @ ..]) => {
            let name = format!("{kind}/{owner}/{name}");
            contents(state, request, &name, &file.join("/"))
        }
        ("GET" | "HEAD", [first, ..]) => {
            let (kind, rest) = if *first == "datasets" { ("datasets", &parts[1..]) } else { ("models", parts) };
            match rest {
                [name @ .., "resolve", _, _] | [name @ .., "resolve", _, _, _] if !name.is_empty() => {
                    let file = &rest[name.len() + 2..];
                    resolve(
                        state,
                        request,
                        &format!("{kind}/{}", name.join("/")),
                        rest[name.len() + 1],
                        &file.join("/"),
                    )
                }
                _ => Answer::error(404, "", "Not found"),
            }
        }
        _ => Answer::error(404, "", "Not found"),
    }
}

/// The repository, where who asks may see it.
fn seen<'a>(state: &'a State, request: &Request, name: &str) -> Result<&'a Repo, Answer> {
    match state.repos.get(name) {
        Some(repo) if !repo.private || request.has_token() => Ok(repo),
        // A real hub says the same of what is not there and of what may not be seen.
        _ if !request.has_token() => Err(Answer::error(401, "RepoNotFound", "Invalid username or password.")),
        _ => Err(Answer::error(404, "RepoNotFound", "Repository not found")),
    }
}

fn describe(state: &State, request: &Request, name: &str, revision: &str) -> Answer {
    let repo = match seen(state, request, name) {
        Ok(repo) => repo,
        Err(answer) => return answer,
    };
    let commit = commit_of(repo);
    if ![commit.as_str(), "main"].contains(&revision) {
        return Answer::error(404, "RevisionNotFound", "Invalid rev id");
    }
    let siblings: Vec<Value> = repo
        .files
        .iter()
        .map(|(file, contents)| {
            let mut said = json!({ "rfilename": file });
            if !state.hides_sizes {
                let bytes = state.claimed.get(file).copied().unwrap_or(contents.len());
                said["size"] = bytes.into();
                if state.hides_hashes {
                    // Only its size is known.
                } else if contents.len() >= LARGE {
                    said["lfs"] = json!({ "sha256": hash_of(contents), "size": bytes, "pointerSize": 130 });
                } else {
                    said["blobId"] = hash_of(contents).into();
                }
            }
            said
        })
        .collect();
    let mut value = json!({
        "id": name.split_once('/').map(|(_, id)| id),
        "sha": commit,
        "private": repo.private,
        "gated": if repo.gated { json!("manual") } else { json!(false) },
        "siblings": siblings,
    });
    for (key, said) in &repo.said {
        value[key] = said.clone();
    }
    Answer::json(&value)
}

fn resolve(state: &mut State, request: &Request, name: &str, revision: &str, file: &str) -> Answer {
    let repo = match seen(state, request, name) {
        Ok(repo) => repo,
        Err(answer) => return answer,
    };
    let commit = commit_of(repo);
    if ![commit.as_str(), "main"].contains(&revision) {
        return Answer::error(404, "RevisionNotFound", "Invalid rev id");
    }
    if repo.gated {
        let status = if request.has_token() { 403 } else { 401 };
        return Answer::error(status, "GatedRepo", "Access to this model is restricted.");
    }
    let Some(found) = repo.files.get(file) else {
        return Answer::error(404, "EntryNotFound", "Entry not found");
    };
    let hash = hash_of(found);
    if leads_to_itself(state, request, file) {
        return Answer::new(302, "").with("location", request.path.clone());
    }
    if found.len() >= LARGE && state.mark.is_none() {
        let bytes = state.claimed.get(file).copied().unwrap_or(found.len());
        let storage = state.storage_at.clone().unwrap_or_default();
        return Answer::new(302, "")
            .with("location", format!("{storage}/cdn/{name}/{}?signature=1", encoded(file)))
            .with("x-linked-etag", format!("\"{hash}\""))
            .with("x-linked-size", bytes.to_string())
            .with("x-repo-commit", commit);
    }
    let bytes = found.len();
    let mut answer = contents(state, request, name, file);
    if request.method == "HEAD" {
        answer.length = Some(state.claimed.get(file).copied().unwrap_or(bytes));
        answer.hides_length = state.hides_lengths;
    }
    answer.with("x-repo-commit", commit)
}

/// Returns true if a file is to be looked for where it was asked for, again and again.
fn leads_to_itself(state: &State, request: &Request, file: &str) -> bool {
    let is_told = state.faults.get(file).and_then(|faults| faults.first()) == Some(&Fault::Redirect);
    is_told && request.method == "GET"
}

/// The bytes of a file, or the part of them that is asked for.
fn contents(state: &mut State, request: &Request, name: &str, file: &str) -> Answer {
    let Some(found) = state.repos.get(name).and_then(|repo| repo.files.get(file)).cloned() else {
        return Answer::error(404, "EntryNotFound", "Entry not found");
    };
    let hash = hash_of(&found);
    let fault = if request.method == "GET" { take_fault(state, file) } else { None };
    if let Some(Fault::Status(status, wait)) = fault {
        let answer = Answer::error(status, "", "told to");
        return match wait {
            Some(wait) => answer.with("retry-after", wait.to_string()),
            None => answer,
        };
    }
    let start = request
        .headers
        .get("range")
        .filter(|_| !state.ignores_ranges)
        .and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse::<usize>().ok());
    let mut answer = match start {
        Some(start) if start >= found.len() => Answer::new(416, ""),
        Some(start) => {
            let start = if fault == Some(Fault::WrongRange) { 0 } else { start };
            let end = match fault {
                Some(Fault::RangeOf(bytes)) => (start + bytes.max(1)).min(found.len()),
                _ => found.len(),
            };
            let more = if let Some(Fault::RangeOfLonger(bytes)) = fault { bytes } else { 0 };
            let range = format!("bytes {start}-{}/{}", end - 1, found.len() + more);
            Answer::new(206, &found[start..end]).with("content-range", range)
        }
        None => Answer::new(200, found),
    };
    answer.fault = fault;
    match &state.mark {
        Some(mark) if mark.is_empty() => answer,
        Some(mark) => answer.with("etag", mark.clone()),
        None if state.hides_hashes => answer,
        None => answer.with("etag", format!("\"{hash}\"")),
    }
}

fn body_json(request: &Request) -> Value {
    serde_json::from_slice(&request.body).unwrap_or_default()
}

fn may_write(request: &Request, name: &str) -> Option<Answer> {
    if !request.has_token() {
        return Some(Answer::error(401, "", "Invalid username or password."));
    }
    let is_own = name.starts_with(&format!("{USER}/"));
    (!is_own).then(|| Answer::error(403, "", "You don't have the rights to write to this namespace"))
}

fn create(state: &mut State, request: &Request, address: &str) -> Answer {
    let asked = body_json(request);
    let owner = asked["organization"].as_str().unwrap_or(USER);
    let name = format!("{owner}/{}", asked["name"].as_str().unwrap_or_default());
    if let Some(refused) = may_write(request, &name) {
        return refused;
    }
    let key = format!("models/{name}");
    if state.repos.contains_key(&key) {
        return Answer::error(409, "", "You already created this model repo");
    }
    let private = asked["visibility"] == "private" && asked["private"] == true;
    state.repos.insert(key, Repo { private, ..Repo::default() });
    Answer::json(&json!({ "url": format!("{address}/{name}"), "name": name }))
}

fn preupload(state: &State, request: &Request, name: &str) -> Answer {
    if let Some(refused) = may_write(request, name) {
        return refused;
    }
    let Some(repo) = state.repos.get(&format!("models/{name}")) else {
        return Answer::error(404, "RepoNotFound", "Repository not found");
    };
    let asked = body_json(request);
    let files: Vec<Value> = asked["files"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|file| {
            let size = file["size"].as_u64().unwrap_or_default();
            let sample = BASE64_STANDARD.decode(file["sample"].as_str().unwrap_or_default()).unwrap_or_default();
            assert_eq!(sample.len() as u64, size.min(512), "the sample is the beginning of the file");
            let mode = if size >= LARGE as u64 { "lfs" } else { "regular" };
            let known = file["path"].as_str().and_then(|path| repo.files.get(path)).map(|found| hash_of(found));
            json!({ "path": file["path"], "uploadMode": mode, "shouldIgnore": false, "oid": known })
        })
        .collect();
    Answer::json(&json!({ "files": files }))
}

fn batch(state: &State, request: &Request, name: &str, address: &str) -> Answer {
    let name = name.trim_end_matches(".git");
    if let Some(refused) = may_write(request, name) {
        return refused;
    }
    let asked = body_json(request);
    let objects: Vec<Value> = asked["objects"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|object| {
            let hash = object["oid"].as_str().unwrap_or_default();
            let size = usize::try_from(object["size"].as_u64().unwrap_or_default()).unwrap_or_default();
            if state.storage.contains_key(hash) {
                return json!({ "oid": hash, "size": size });
            }
            let upload = match state.part_bytes {
                Some(part) => {
                    let mut header = json!({ "chunk_size": part.to_string() });
                    for number in 1..=size.div_ceil(part) {
                        header[number.to_string()] = format!("{address}/storage/{hash}/{number}").into();
                    }
                    json!({ "href": format!("{address}/storage/{hash}/complete"), "header": header })
                }
                None => json!({ "href": format!("{address}/storage/{hash}") }),
            };
            let verify = json!({ "href": format!("{address}/verify/{hash}") });
            json!({ "oid": hash, "size": size, "actions": { "upload": upload, "verify": verify } })
        })
        .collect();
    Answer::json(&json!({ "transfer": "basic", "objects": objects }))
}

fn store(state: &mut State, request: &Request, hash: &str, number: Option<usize>) -> Answer {
    if let Some(Fault::Status(status, _)) = take_fault(state, "storage") {
        return Answer::error(status, "", "told to");
    }
    match number {
        Some(number) => {
            state.parts.insert((hash.to_owned(), number), request.body.clone());
            Answer::new(200, "").with("etag", format!("\"part-{number}\""))
        }
        None if hex(&Sha256::digest(&request.body)) == hash => {
            state.storage.insert(hash.to_owned(), request.body.clone());
            Answer::new(200, "")
        }
        None => Answer::error(400, "", "It is another file"),
    }
}

fn complete(state: &mut State, request: &Request, hash: &str) -> Answer {
    let asked = body_json(request);
    let mut whole = Vec::new();
    for part in asked["parts"].as_array().into_iter().flatten() {
        let number = usize::try_from(part["partNumber"].as_u64().unwrap_or_default()).unwrap_or_default();
        if part["etag"] != format!("\"part-{number}\"") {
            return Answer::error(400, "", "Another mark");
        }
        whole.extend(state.parts.remove(&(hash.to_owned(), number)).unwrap_or_default());
    }
    if hex(&Sha256::digest(&whole)) != hash {
        return Answer::error(400, "", "It is another file");
    }
    state.storage.insert(hash.to_owned(), whole);
    Answer::json(&json!({}))
}

fn verify(state: &State, request: &Request, hash: &str) -> Answer {
    let asked = body_json(request);
    let size = asked["size"].as_u64().unwrap_or_default();
    match state.storage.get(hash) {
        Some(found) if found.len() as u64 == size && request.has_token() => Answer::json(&json!({})),
        _ => Answer::error(400, "", "It is not there"),
    }
}

fn commit(state: &mut State, request: &Request, name: &str, address: &str) -> Answer {
    if let Some(refused) = may_write(request, name) {
        return refused;
    }
    let key = format!("models/{name}");
    if request.headers.get("content-type").map(String::as_str) != Some("application/x-ndjson") {
        return Answer::error(400, "", "Not a commit");
    }
    let text = String::from_utf8_lossy(&request.body).into_owned();
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap_or_default());
    let header = lines.next().unwrap_or_default();
    if header["key"] != "header" || header["value"]["summary"].as_str().is_none_or(str::is_empty) {
        return Answer::error(400, "", "A commit has a summary");
    }
    let mut files = BTreeMap::new();
    for line in lines {
        let value = &line["value"];
        let path = value["path"].as_str().unwrap_or_default().to_owned();
        let contents = match line["key"].as_str() {
            Some("file") => BASE64_STANDARD.decode(value["content"].as_str().unwrap_or_default()).ok(),
            Some("lfsFile") => state.storage.get(value["oid"].as_str().unwrap_or_default()).cloned(),
            _ => None,
        };
        let Some(contents) = contents else { return Answer::error(400, "", "A file that was not sent") };
        files.insert(path, contents);
    }
    let Some(repo) = state.repos.get_mut(&key) else {
        return Answer::error(404, "RepoNotFound", "Repository not found");
    };
    repo.files.extend(files);
    repo.commits += 1;
    let commit = commit_of(repo);
    Answer::json(&json!({
        "success": true, "commitOid": commit, "commitUrl": format!("{address}/{name}/commit/{commit}"),
    }))
}

/// What lies below a folder, by path, with what each is: for comparing the folder before and after.
pub fn listing(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(place) = folders.pop() {
        for entry in std::fs::read_dir(&place).into_iter().flatten().flatten() {
            let inside = entry.path().strip_prefix(folder).expect("inside").to_string_lossy().into_owned();
            let kind = entry.file_type().expect("a kind");
            if kind.is_dir() {
                folders.push(entry.path());
            } else {
                found.insert(inside);
            }
        }
    }
    found
}
