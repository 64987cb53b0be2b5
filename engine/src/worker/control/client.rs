use std::{
    cell::RefCell,
    io::{self, ErrorKind, Write},
    os::unix::net::{SocketAddr, UnixStream},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use thiserror::Error;

use super::{is_own_socket, next_line};
use crate::{
    protocol::{Event, Notice, Request, Ticket, WireError, events, from_line, to_line},
    store::StorePaths,
};

/// The longest line that is read, in bytes.
const LONGEST_LINE: usize = 1 << 20;
/// How long a request may take to be taken.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why an engine of another process cannot be reached.
#[derive(Debug, Error)]
pub enum ControlError {
    /// The socket cannot be named to the operating system.
    #[error("The path of the control socket is too long for a socket address. Use a store with a shorter path: {0}")]
    TooLong(PathBuf),
    /// Something else has its name.
    #[error("What has the name of the control socket is no socket of this user: {0}")]
    Foreign(PathBuf),
    /// It cannot be connected to.
    #[error("The control socket cannot be used: {source}: {path}")]
    Io {
        /// The socket.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// The other end of the control socket: requests to an engine of another process on the same store, and their notices.
pub struct ControlClient {
    stream: UnixStream,
    rest: RefCell<Vec<u8>>,
}

impl ControlClient {
    /// One for each engine that holds a control socket of the store. Sockets of processes that died are passed over.
    ///
    /// # Errors
    /// Something else has the name of a socket, or it cannot be connected to.
    pub fn connect(database: &Path) -> Result<Vec<Self>, ControlError> {
        let mut clients = Vec::new();
        for path in StorePaths::for_database(database).control_sockets() {
            if SocketAddr::from_pathname(&path).is_err() {
                return Err(ControlError::TooLong(path));
            }
            let failed = |source| ControlError::Io { path: path.clone(), source };
            match path.symlink_metadata() {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(failed(error)),
                Ok(there) if !is_own_socket(&there) => return Err(ControlError::Foreign(path)),
                Ok(_) => {}
            }
            match UnixStream::connect(&path) {
                Ok(stream) => {
                    stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
                    clients.push(Self { stream, rest: RefCell::default() });
                }
                // Nobody listens: its process died, or ended just now.
                Err(error) if matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(clients)
    }

    /// Sends a request.
    ///
    /// # Errors
    /// The other process is gone or does not read.
    pub fn send(&self, request: &Request) -> io::Result<Ticket> {
        (&self.stream).write_all(to_line(request)?.as_bytes())?;
        Ok(request.ticket)
    }

    /// Waits for the next notice; none when `patience` is over. [`Event::Ended`] when the other process is gone, or says what
    /// cannot be understood.
    pub fn wait(&self, patience: Duration) -> Option<Notice> {
        match self.next(Instant::now() + patience) {
            Ok(notice) => notice,
            Err(_) => Some(Notice::from(Event::Ended)),
        }
    }

    fn next(&self, deadline: Instant) -> io::Result<Option<Notice>> {
        match next_line(&self.stream, &mut self.rest.borrow_mut(), LONGEST_LINE, deadline) {
            Ok(line) => match from_line(&line) {
                Ok(notice) => Ok(Some(notice)),
                Err(error @ WireError::Version { .. }) => {
                    Ok(Some(Event::from(events::Refused { why: error.to_string() }).into()))
                }
                Err(WireError::Json(error)) => Err(error.into()),
            },
            Err(error) if error.kind() == ErrorKind::TimedOut => Ok(None),
            Err(error) => Err(error),
        }
    }
}
