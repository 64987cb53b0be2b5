//! One request at a time. It runs on a thread of its own, which hands over what comes piece by piece: whoever waits looks every
//! fiftieth of a second whether the user ended it, however long the hub is silent.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use ureq::{
    Agent, AsSendBody, Body, SendBody,
    http::{HeaderMap, Request, Response, StatusCode, Uri, header},
};

use super::{
    HubError, HubSettings,
    names::shortened,
    rate::{Rate, TOO_SLOW},
};

/// How often it is looked whether the user ended it.
const LOOK_UP: Duration = Duration::from_millis(20);
/// Bytes that are handed over at once.
const PIECE: usize = 1 << 16;
/// Pieces that may wait.
const WAITING_PIECES: usize = 16;
/// The most addresses that one request may be sent on to.
const HOPS: usize = 8;
/// The largest answer that is read whole.
const LARGEST_TEXT: u64 = 32 << 20;
/// What says what a large file hashes to.
pub(super) const LINKED_MARK: &str = "x-linked-etag";
/// The longest connect, however patient.
const CONNECT: Duration = Duration::from_secs(10);

/// Asks a hub.
pub(super) struct Client<'a> {
    agent: Agent,
    pub(super) settings: &'a HubSettings,
    should_stop: &'a dyn Fn() -> bool,
}

/// What is asked.
pub(super) struct Ask {
    pub(super) method: &'static str,
    pub(super) url: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Sent,
    /// Whether the token goes along; never to another host.
    pub(super) with_token: bool,
    /// Whether one is sent on to other hosts too.
    pub(super) follows_elsewhere: bool,
}

/// What is sent along.
#[derive(Clone)]
pub(super) enum Sent {
    Nothing,
    Text {
        kind: &'static str,
        bytes: Arc<Vec<u8>>,
    },
    /// A part of a file; `sent` counts on.
    File {
        path: PathBuf,
        offset: u64,
        length: u64,
        sent: Arc<AtomicU64>,
    },
}

/// How an answer begins; the rest comes piece by piece.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    /// Where it came from in the end.
    pub(super) url: String,
    pieces: Receiver<Piece>,
    patience: Duration,
    /// Ends the thread once nobody wants the rest.
    _stop: StopOnDrop,
}

/// Why an answer did not come, or not whole. It may the next time.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The connection.
    Connection(String),
    /// Fewer bytes come than any connection needs ([`Rate`]).
    Slow,
    /// The user.
    Stopped,
    /// Nothing that trying again mends.
    Final(HubError),
}

enum Piece {
    Head(StatusCode, HeaderMap),
    Data(Vec<u8>),
    /// The end, with what cut it off.
    End(Option<String>),
}

struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Ask {
    pub(super) fn get(url: impl Into<String>) -> Self {
        Self {
            method: "GET",
            url: url.into(),
            headers: Vec::new(),
            body: Sent::Nothing,
            with_token: true,
            follows_elsewhere: true,
        }
    }

    /// A question with JSON.
    pub(super) fn post(url: impl Into<String>, value: &serde_json::Value) -> Self {
        let bytes = Arc::new(value.to_string().into_bytes());
        let body = Sent::Text { kind: "application/json", bytes };
        Self { method: "POST", body, follows_elsewhere: false, ..Self::get(url) }
    }

    #[must_use]
    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

impl<'a> Client<'a> {
    pub(super) fn new(settings: &'a HubSettings, should_stop: &'a dyn Fn() -> bool) -> Self {
        let config = Agent::config_builder()
            .user_agent(format!("headroom/{}", env!("CARGO_PKG_VERSION")))
            // Sizes and ranges are those of the file.
            .accept_encoding("identity")
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(settings.patience.min(CONNECT)))
            .timeout_resolve(Some(settings.patience))
            .timeout_recv_response(Some(settings.patience))
            .timeout_per_read(Some(settings.patience))
            .timeout_per_write(Some(settings.patience))
            .build();
        Self { agent: config.into(), settings, should_stop }
    }

    pub(super) fn is_stopped(&self) -> bool {
        (self.should_stop)()
    }

    /// Waits, unless the user ends it.
    pub(super) fn sleep(&self, time: Duration) -> Result<(), HubError> {
        let end = Instant::now() + time;
        while !self.is_stopped() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(LOOK_UP));
        }
        Err(HubError::Stopped)
    }

    /// Whether an address is the hub's own.
    fn is_hub(&self, url: &str) -> bool {
        origin(url).is_some_and(|of| Some(of) == origin(&self.settings.endpoint))
    }

    /// Asks, and is sent on where the answer says so. Any status is an answer.
    pub(super) fn ask(&self, ask: Ask) -> Result<Reply, Trouble> {
        self.ask_watched(ask, &mut || {})
    }

    /// The same, and does something now and then until the answer begins.
    pub(super) fn ask_watched(&self, mut ask: Ask, watch: &mut dyn FnMut()) -> Result<Reply, Trouble> {
        for _ in 0..HOPS {
            let reply = self.ask_once(&ask, watch)?;
            let location = reply.headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
            let Some(location) = location.filter(|_| reply.status.is_redirection()) else { return Ok(reply) };
            let next = joined(&ask.url, location).ok_or_else(|| self.malformed("a file", "it leads to no address"))?;
            // Another name of the repository is followed; an answer that says what a large file hashes to is the one that was meant.
            let is_about_file = reply.headers.contains_key(LINKED_MARK) || origin(&next) != origin(&ask.url);
            if !ask.follows_elsewhere && is_about_file {
                return Ok(reply);
            }
            if ask.url.starts_with("https:") && !next.starts_with("https:") {
                return Err(self.malformed("a file", "it leads from an encrypted to an open connection").into());
            }
            ask.url = next;
        }
        Err(self.malformed("a file", "it leads from one address to the next without an end").into())
    }

    fn ask_once(&self, ask: &Ask, watch: &mut dyn FnMut()) -> Result<Reply, Trouble> {
        if self.is_stopped() {
            return Err(Trouble::Stopped);
        }
        let mut request = Request::builder().method(ask.method).uri(&ask.url);
        for (name, value) in &ask.headers {
            request = request.header(*name, value);
        }
        if let Some(token) = &self.settings.token
            && ask.with_token
            && self.is_hub(&ask.url)
        {
            request = request.header(header::AUTHORIZATION, token.as_header());
        }
        if let Sent::Text { kind, .. } = &ask.body
            && !ask.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"))
        {
            request = request.header(header::CONTENT_TYPE, *kind);
        }
        if let Sent::File { length, .. } = &ask.body {
            request = request.header(header::CONTENT_LENGTH, length.to_string());
        }
        let request = request.body(ask.body.clone()).map_err(|error| {
            let why = format!("the address cannot be used ({error})");
            self.malformed("a file", &why)
        })?;
        let is_over = Arc::new(AtomicBool::new(false));
        let (sender, pieces) = bounded(WAITING_PIECES);
        let agent = self.agent.clone();
        let spawned = std::thread::Builder::new().name("headroom-transfer".to_owned()).spawn({
            let is_over = Arc::clone(&is_over);
            move || transfer(&agent, request, &sender, &is_over)
        });
        spawned.map_err(HubError::io("start a thread", &self.settings.cache))?;
        let mut reply = Reply {
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            url: ask.url.clone(),
            pieces,
            patience: self.settings.patience,
            _stop: StopOnDrop(is_over),
        };
        // What is sent has no limit of its own: the thread sees when the other side takes nothing any more.
        let patience = if matches!(ask.body, Sent::Nothing) { Some(self.settings.patience * 3) } else { None };
        let mut rate = Rate::new(self.settings.patience, 0);
        let mut is_slow = || match &ask.body {
            Sent::File { sent, length, .. } => {
                let sent = sent.load(Ordering::Relaxed);
                sent < *length && rate.is_too_slow(sent)
            }
            Sent::Nothing | Sent::Text { .. } => false,
        };
        let mut look = || {
            watch();
            is_slow()
        };
        match self.next(&reply.pieces, patience, &mut look)? {
            Piece::Head(status, headers) => {
                reply.status = status;
                reply.headers = headers;
                Ok(reply)
            }
            Piece::End(Some(why)) => Err(Trouble::Connection(why)),
            Piece::End(None) | Piece::Data(_) => Err(Trouble::Connection("the connection ended".to_owned())),
        }
    }

    /// The next piece. Now and then `is_slow` is asked whether it is worth waiting for.
    fn next(
        &self,
        pieces: &Receiver<Piece>,
        patience: Option<Duration>,
        is_slow: &mut dyn FnMut() -> bool,
    ) -> Result<Piece, Trouble> {
        let begun = Instant::now();
        loop {
            match pieces.recv_timeout(LOOK_UP) {
                Ok(piece) => return Ok(piece),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Trouble::Connection("the connection ended".to_owned()));
                }
                Err(RecvTimeoutError::Timeout) if self.is_stopped() => return Err(Trouble::Stopped),
                Err(RecvTimeoutError::Timeout) if patience.is_some_and(|patience| begun.elapsed() > patience) => {
                    return Err(Trouble::Connection("it is silent".to_owned()));
                }
                Err(RecvTimeoutError::Timeout) if is_slow() => return Err(Trouble::Slow),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Takes what comes, piece by piece, to the end.
    pub(super) fn read(
        &self,
        reply: &Reply,
        mut take: impl FnMut(&[u8]) -> Result<(), HubError>,
    ) -> Result<(), Trouble> {
        let (mut rate, mut bytes) = (Rate::new(reply.patience, 0), 0);
        loop {
            match self.next(&reply.pieces, Some(reply.patience * 3), &mut || rate.is_too_slow(bytes))? {
                Piece::Data(data) => {
                    bytes += data.len() as u64;
                    // Pieces without a rest between them leave no time to look.
                    if rate.is_too_slow(bytes) {
                        return Err(Trouble::Slow);
                    }
                    // A hub that never is silent could keep it from being looked at.
                    if self.is_stopped() {
                        return Err(Trouble::Stopped);
                    }
                    take(&data)?;
                }
                Piece::End(None) => return Ok(()),
                Piece::End(Some(why)) => return Err(Trouble::Connection(why)),
                Piece::Head(..) => {}
            }
        }
    }

    /// An answer as a whole, where it is no larger than answers are.
    pub(super) fn bytes(&self, reply: &Reply, what: &str) -> Result<Vec<u8>, Trouble> {
        let mut bytes = Vec::new();
        self.read(reply, |data| {
            if (bytes.len() + data.len()) as u64 > LARGEST_TEXT {
                return Err(self.malformed(what, "it is far too long"));
            }
            bytes.extend_from_slice(data);
            Ok(())
        })?;
        Ok(bytes)
    }

    /// Asks again where the connection or the hub had trouble that may pass, and gives the whole answer of a request that went
    /// well. `what` it is about; `fault` says what a status means that is none of those that mean the same everywhere.
    pub(super) fn whole(
        &self,
        what: &str,
        ask: impl Fn() -> Ask,
        fault: impl Fn(&Refusal) -> Option<HubError>,
    ) -> Result<(Reply, Vec<u8>), HubError> {
        let mut tries = 0;
        loop {
            let outcome = self.ask(ask()).and_then(|reply| {
                let bytes = if ask().method == "HEAD" { Vec::new() } else { self.bytes(&reply, what)? };
                Ok((reply, bytes))
            });
            let trouble = match outcome {
                Ok((reply, bytes)) if reply.status.is_success() || reply.status.is_redirection() => {
                    return Ok((reply, bytes));
                }
                Ok((reply, bytes)) => {
                    let refusal = Refusal::of(&reply, &bytes);
                    if let Some(error) = fault(&refusal) {
                        return Err(error);
                    }
                    match self.pause(&refusal, tries) {
                        Some(pause) => {
                            tries += 1;
                            self.sleep(pause)?;
                            continue;
                        }
                        None => return Err(refusal.error(&format!("answer about {what}"))),
                    }
                }
                Err(Trouble::Stopped) => return Err(HubError::Stopped),
                Err(Trouble::Final(error)) => return Err(error),
                Err(Trouble::Slow) => return Err(self.unreachable(TOO_SLOW)),
                Err(Trouble::Connection(why)) => why,
            };
            tries += 1;
            if tries >= self.settings.tries {
                return Err(self.unreachable(&trouble));
            }
            self.sleep(backoff(tries))?;
        }
    }

    /// The whole answer as JSON.
    pub(super) fn json(
        &self,
        what: &str,
        ask: impl Fn() -> Ask,
        fault: impl Fn(&Refusal) -> Option<HubError>,
    ) -> Result<serde_json::Value, HubError> {
        let (_, bytes) = self.whole(what, ask, fault)?;
        serde_json::from_slice(&bytes).map_err(|error| self.malformed(what, &format!("it is no JSON ({error})")))
    }

    /// How long to wait before asking again after an answer that may be another one later; none where it is to be told.
    pub(super) fn pause(&self, refusal: &Refusal, tries: u32) -> Option<Duration> {
        const LONGEST: Duration = Duration::from_secs(20);
        if tries + 1 >= self.settings.tries {
            return None;
        }
        match (refusal.status.as_u16(), refusal.retry_after) {
            (429 | 503, Some(wait)) => (wait <= LONGEST).then_some(wait),
            (429 | 500 | 502..=504, _) => Some(backoff(tries + 1)),
            _ => None,
        }
    }

    pub(super) fn malformed(&self, what: &str, why: &str) -> HubError {
        HubError::Malformed { what: what.to_owned(), why: why.to_owned(), is_named_by_user: self.is_named_by_user() }
    }

    pub(super) fn unreachable(&self, why: &str) -> HubError {
        let host = origin(&self.settings.endpoint).map_or_else(|| self.settings.endpoint.clone(), |(_, host)| host);
        HubError::Unreachable { host, why: why.to_owned(), is_named_by_user: self.is_named_by_user() }
    }

    pub(super) fn is_named_by_user(&self) -> bool {
        !self.settings.endpoint.starts_with("https://huggingface.co")
    }
}

/// A short wait that gets longer, never beyond five seconds.
pub(super) fn backoff(tries: u32) -> Duration {
    Duration::from_millis(100 * 3_u64.pow(tries.min(4).saturating_sub(1))).min(Duration::from_secs(5))
}

/// An answer that is none of what was asked for.
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    /// What the hub calls it, as in `GatedRepo`.
    pub(super) code: String,
    /// What the hub says.
    pub(super) said: String,
    retry_after: Option<Duration>,
}

impl Refusal {
    pub(super) fn of(reply: &Reply, body: &[u8]) -> Self {
        let header = |name: &str| reply.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let in_body = || {
            let value: serde_json::Value = serde_json::from_slice(body).ok()?;
            Some(value.get("error")?.as_str()?.to_owned())
        };
        let message = header("x-error-message");
        let said = if message.is_empty() { in_body().unwrap_or_default() } else { message.to_owned() };
        Self {
            status: reply.status,
            code: header("x-error-code").to_owned(),
            said: shortened(&said),
            retry_after: header("retry-after").trim().parse().ok().map(Duration::from_secs),
        }
    }

    /// What a status means wherever it comes from.
    pub(super) fn error(&self, doing: &str) -> HubError {
        let answer = self.said.clone();
        match self.status.as_u16() {
            401 => HubError::WrongToken,
            403 => HubError::Forbidden { doing: "do this".to_owned(), answer },
            429 => HubError::RateLimited { wait: self.retry_after },
            _ => HubError::Status { status: self.status.to_string(), doing: doing.to_owned(), answer },
        }
    }
}

impl From<HubError> for Trouble {
    fn from(error: HubError) -> Self {
        Self::Final(error)
    }
}

/// Scheme and host with port of an address.
fn origin(url: &str) -> Option<(String, String)> {
    let uri: Uri = url.parse().ok()?;
    Some((uri.scheme_str()?.to_owned(), uri.authority()?.as_str().to_ascii_lowercase()))
}

/// The address that `location` means on a page at `base`.
pub(super) fn joined(base: &str, location: &str) -> Option<String> {
    if location.starts_with("http://") || location.starts_with("https://") {
        return location.parse::<Uri>().ok().map(|uri| uri.to_string());
    }
    let (scheme, authority) = origin(base)?;
    let path = match (location.strip_prefix("//"), location.starts_with('/')) {
        (Some(rest), _) => return format!("{scheme}://{rest}").parse::<Uri>().ok().map(|uri| uri.to_string()),
        (None, true) => location.to_owned(),
        (None, false) => {
            let uri: Uri = base.parse().ok()?;
            let folder = uri.path().rsplit_once('/').map_or("", |(folder, _)| folder);
            format!("{folder}/{location}")
        }
    };
    format!("{scheme}://{authority}{path}").parse::<Uri>().ok().map(|uri| uri.to_string())
}

/// On its thread: asks, and hands over what comes until the end or until nobody listens.
fn transfer(agent: &Agent, request: Request<Sent>, sender: &Sender<Piece>, is_over: &Arc<AtomicBool>) {
    let mut response = match run(agent, request, is_over) {
        Ok(response) => response,
        Err(why) => {
            let _ = sender.send(Piece::End(Some(why)));
            return;
        }
    };
    let headers = std::mem::take(response.headers_mut());
    if sender.send(Piece::Head(response.status(), headers)).is_err() {
        return;
    }
    // Without a limit of ureq's: whoever reads sets one.
    let mut reader = response.into_body().into_with_config().limit(u64::MAX).reader();
    let end = loop {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        let mut piece = vec![0; PIECE];
        match reader.read(&mut piece) {
            Ok(0) => break None,
            Ok(count) => {
                piece.truncate(count);
                if sender.send(Piece::Data(piece)).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => break Some(plain(&error.to_string())),
        }
    };
    let _ = sender.send(Piece::End(end));
}

fn run(agent: &Agent, request: Request<Sent>, is_over: &Arc<AtomicBool>) -> Result<Response<Body>, String> {
    let (parts, sent) = request.into_parts();
    let send = |body: SendBody<'static>| ask(agent, Request::from_parts(parts.clone(), body));
    match sent {
        Sent::Nothing => ask(agent, Request::from_parts(parts, ())),
        Sent::Text { bytes, .. } => ask(agent, Request::from_parts(parts, bytes.as_slice())),
        Sent::File { path, offset, length, sent } => {
            let opened = File::open(&path).and_then(|mut file| file.seek(SeekFrom::Start(offset)).map(|_| file));
            let file = opened.map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
            sent.store(0, Ordering::Relaxed);
            send(SendBody::from_owned_reader(Counted { file: file.take(length), sent, is_over: Arc::clone(is_over) }))
        }
    }
}

fn ask(agent: &Agent, request: Request<impl AsSendBody>) -> Result<Response<Body>, String> {
    agent.run(request).map_err(|error| match error {
        ureq::Error::HostNotFound => "its name is not known".to_owned(),
        ureq::Error::Timeout(_) => "it is silent".to_owned(),
        ureq::Error::ConnectionFailed => "no connection was made".to_owned(),
        ureq::Error::Io(error) => plain(&error.to_string()),
        other => plain(&other.to_string()),
    })
}

/// An error of the network, without the numbers of the operating system.
fn plain(error: &str) -> String {
    let words = error.split(" (os error").next().unwrap_or(error).trim_end_matches('.');
    shortened(words)
}

/// A file that is sent: counts, and ends when nobody wants it any more.
struct Counted {
    file: io::Take<File>,
    sent: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_over.load(Ordering::Relaxed) {
            return Err(io::Error::other("stopped"));
        }
        let count = self.file.read(buffer)?;
        self.sent.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_joined() {
        let base = "https://hub.co/org/name/resolve/main/a.bin?x=1";
        for (location, expected) in [
            ("https://cdn.co/b", "https://cdn.co/b"),
            ("//cdn.co/b", "https://cdn.co/b"),
            ("/cdn/b?y=2", "https://hub.co/cdn/b?y=2"),
            ("b", "https://hub.co/org/name/resolve/main/b"),
        ] {
            assert_eq!(joined(base, location).as_deref(), Some(expected));
        }
        assert_eq!(joined(base, "/a b"), None);
    }

    #[test]
    fn waits_grow_and_end() {
        assert!(backoff(1) < backoff(2) && backoff(2) < backoff(3));
        assert!(backoff(1000) <= Duration::from_secs(5));
    }
}
