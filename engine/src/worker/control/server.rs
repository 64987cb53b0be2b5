use std::{
    fs::{File, Metadata, Permissions, TryLockError},
    io::{self, ErrorKind, Read, Write},
    os::unix::{
        fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
        net::{SocketAddr, UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use crossbeam_channel::{Sender, bounded};
use thiserror::Error;

use super::{super::message::Message, ends, is_allowed, is_own_socket, next_line, own_user};
use crate::{
    protocol::{Event, Notice, Request, Ticket, WireError, events, from_line, to_line},
    store::StorePaths,
};

/// Clients that are served at the same time; more are turned away.
const MOST_CLIENTS: usize = 8;
/// How long a client may take to send a line, or to take an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the scheduler may take to answer.
const ANSWER_PATIENCE: Duration = Duration::from_secs(10);
/// A request is at most so long; configs do not come this way.
const LONGEST_REQUEST: usize = 1 << 16;
/// Notices of a request that wait for its client.
const WAITING_NOTICES: usize = 64;

/// Why there is no control socket.
#[derive(Debug, Error)]
pub(in super::super) enum ServerError {
    #[error("The path of the control socket is too long for a socket address: {0}")]
    TooLong(PathBuf),
    #[error("There is something at the place of the control socket that this program did not make. Remove it: {0}")]
    Foreign(PathBuf),
    #[error("The control socket could not be made: {source}: {path}")]
    Io { path: PathBuf, source: io::Error },
}

/// The engine's end of the control socket.
pub(in super::super) struct ControlServer {
    listener: UnixListener,
    path: PathBuf,
    socket: Identity,
    clients: Arc<AtomicUsize>,
    lock: Lock,
}

/// What tells a file from another that later has its name.
type Identity = (u64, u64);

fn identity(metadata: &Metadata) -> Identity {
    (metadata.dev(), metadata.ino())
}

/// Held for as long as the socket is there: the operating system takes it away when the process dies, however it dies, so that
/// what is left is known to be nobody's. The file names the socket that belongs to it.
struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    fn path_of(socket: &Path) -> PathBuf {
        let mut path = socket.as_os_str().to_owned();
        path.push(".lock");
        PathBuf::from(path)
    }

    /// Ends the socket that the lock belongs to.
    fn remove(&self, path: &Path, socket: Identity) {
        if path.symlink_metadata().is_ok_and(|there| there.file_type().is_socket() && identity(&there) == socket) {
            let _ = std::fs::remove_file(path);
        }
        // While it is still locked, so that nobody locks a file that goes.
        let _ = std::fs::remove_file(&self.path);
    }

    /// The lock of a socket; none while another process holds it.
    fn take(socket: &Path) -> io::Result<Option<Self>> {
        let path = Self::path_of(socket);
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        loop {
            let file = options.open(&path)?;
            let metadata = file.metadata()?;
            if !metadata.is_file() || metadata.uid() != own_user() {
                return Err(io::Error::other("its lock is no file of this user"));
            }
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // The process before may have removed the file between its being opened here and being locked.
            if path.symlink_metadata().is_ok_and(|there| identity(&there) == identity(&metadata)) {
                return Ok(Some(Self { file, path }));
            }
        }
    }

    /// The socket that the holder before made.
    fn left(&mut self) -> Option<Identity> {
        let mut text = String::new();
        (&self.file).take(64).read_to_string(&mut text).ok()?;
        let (device, number) = text.trim().split_once(' ')?;
        Some((device.parse().ok()?, number.parse().ok()?))
    }

    fn note(&mut self, (device, number): Identity) -> io::Result<()> {
        use std::io::Seek as _;
        self.file.rewind()?;
        self.file.set_len(0)?;
        (&self.file).write_all(format!("{device} {number}\n").as_bytes())
    }
}

/// Removes the sockets that engines left when they were killed, with their locks: what is not locked by anybody, is this user's,
/// and is noted in the lock's file as a socket of ours. Nothing else is touched, and what cannot be removed stays.
pub fn remove_stale_sockets(paths: &StorePaths) {
    for path in paths.control_sockets() {
        if Lock::path_of(&path).symlink_metadata().is_err() {
            continue;
        }
        let Ok(Some(mut lock)) = Lock::take(&path) else { continue };
        if let Some(left) = lock.left() {
            lock.remove(&path, left);
        }
    }
}

impl ControlServer {
    /// Makes the socket; none where every name has another engine's.
    pub(in super::super) fn bind(paths: &StorePaths) -> Result<Option<Self>, ServerError> {
        for path in paths.control_sockets() {
            if SocketAddr::from_pathname(&path).is_err() {
                return Err(ServerError::TooLong(path));
            }
            let failed = |source| ServerError::Io { path: path.clone(), source };
            if let Some(lock) = Lock::take(&path).map_err(failed)? {
                return Self::bind_at(&path, lock).map(Some);
            }
        }
        Ok(None)
    }

    fn bind_at(path: &Path, mut lock: Lock) -> Result<Self, ServerError> {
        let failed = |source| ServerError::Io { path: path.to_owned(), source };
        match path.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
            Ok(there) => {
                if !is_own_socket(&there) || lock.left() != Some(identity(&there)) {
                    return Err(ServerError::Foreign(path.to_owned()));
                }
                std::fs::remove_file(path).map_err(failed)?;
            }
        }
        // Made in a folder that nobody else can enter, and moved once its mode is right: it is never open to others. A link
        // fails where meanwhile something has the name.
        let root = path.parent().unwrap_or(Path::new("."));
        let inside = tempfile::Builder::new()
            .prefix(".c")
            .rand_bytes(6)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(root)
            .map_err(failed)?;
        let made = inside.path().join("s");
        if SocketAddr::from_pathname(&made).is_err() {
            return Err(ServerError::TooLong(path.to_owned()));
        }
        let listener = UnixListener::bind(&made).map_err(failed)?;
        std::fs::set_permissions(&made, Permissions::from_mode(0o600)).map_err(failed)?;
        let socket = identity(&made.symlink_metadata().map_err(failed)?);
        lock.note(socket).map_err(failed)?;
        std::fs::hard_link(&made, path).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => ServerError::Foreign(path.to_owned()),
            _ => failed(error),
        })?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self { listener, path: path.to_owned(), socket, clients: Arc::default(), lock })
    }

    /// Serves whoever came since the last call, each on a thread of its own; never waits.
    pub(in super::super) fn accept(&self, messages: &Sender<Message>) {
        while let Ok((stream, _)) = self.listener.accept() {
            self.clients.fetch_add(1, Ordering::AcqRel);
            let served = Served(Arc::clone(&self.clients));
            if !is_own(&stream) || self.clients.load(Ordering::Acquire) > MOST_CLIENTS {
                // Dropped: the client reads the end of the stream.
                continue;
            }
            let messages = messages.clone();
            // One that cannot be started leaves the client with the end of the stream.
            let _ = std::thread::Builder::new().name("headroom-control".to_owned()).spawn(move || {
                let _served = served;
                // A client that is gone or slow concerns nobody else.
                let _ = serve(&stream, &messages);
            });
        }
    }
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        self.lock.remove(&self.path, self.socket);
    }
}

/// A client that is being served.
struct Served(Arc<AtomicUsize>);

impl Drop for Served {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Whether the other end belongs to this user, as the mode of the socket has it.
#[cfg(any(target_os = "android", target_os = "linux"))]
fn is_own(stream: &UnixStream) -> bool {
    rustix::net::sockopt::socket_peercred(stream)
        .is_ok_and(|peer| peer.uid.is_root() || peer.uid.as_raw() == own_user())
}

/// The mode of the socket lets nobody else in.
#[cfg(not(any(target_os = "android", target_os = "linux")))]
fn is_own(_stream: &UnixStream) -> bool {
    true
}

/// Answers a client's requests one after the other until it leaves or breaks the rules.
fn serve(mut stream: &UnixStream, messages: &Sender<Message>) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut rest = Vec::new();
    loop {
        let line = match next_line(stream, &mut rest, LONGEST_REQUEST, Instant::now() + PATIENCE) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            line => line?,
        };
        let refused = |ticket: Option<Ticket>, why: &str| {
            to_line(&Notice { ticket, event: Event::Refused(events::Refused { why: why.to_owned() }) })
                .map_err(io::Error::from)
        };
        let request: Request = match from_line(&line) {
            Ok(request) => request,
            Err(error) => {
                let why = match error {
                    WireError::Version { .. } => error.to_string(),
                    WireError::Json(error) => format!("This is no request: {error}."),
                };
                return stream.write_all(refused(None, &why)?.as_bytes());
            }
        };
        if !is_allowed(&request.command) {
            let why = "The control socket lists, pauses, stops and moves what is in the queue, and does nothing else.";
            stream.write_all(refused(Some(request.ticket), why)?.as_bytes())?;
            continue;
        }
        let (asker, notices) = bounded(WAITING_NOTICES);
        let (theirs, command) = (request.ticket, request.command);
        // Tickets of another process are not ours.
        let request = Box::new(Request::from(command.clone()));
        if messages.try_send(Message::Request { request, asker: Some(asker) }).is_err() {
            stream
                .write_all(refused(Some(theirs), "The engine is busy or ends. Try again in a moment.")?.as_bytes())?;
            continue;
        }
        let deadline = Instant::now() + ANSWER_PATIENCE;
        while let Ok(Notice { event, .. }) = notices.recv_deadline(deadline) {
            let is_last = ends(&command, &event);
            let line = to_line(&Notice { ticket: Some(theirs), event }).map_err(io::Error::from)?;
            stream.write_all(line.as_bytes())?;
            if is_last {
                break;
            }
        }
    }
}
