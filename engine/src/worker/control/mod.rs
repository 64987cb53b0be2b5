//! The control socket: through it `headroom queue`, `pause`, `stop` and their like reach an engine of another process on the
//! same store.
//!
//! The process that holds the engine makes `control.sock` in the store's folder ([`ControlServer`]), readable and writable
//! for its user alone, and removes it at its end; a second engine on the store takes `control-2.sock`, and so on. A request is a
//! line, a [`Request`](crate::protocol::Request) as JSON; its notices come back as lines, with the ticket of the request. Requests that start,
//! read or change runs are refused: the socket is for the queue.

mod client;
mod server;

pub use client::{ControlClient, ControlError};
pub(super) use server::ControlServer;
pub use server::remove_stale_sockets;

use std::{
    io::{self, ErrorKind, Read},
    os::unix::{
        fs::{FileTypeExt as _, MetadataExt as _},
        net::UnixStream,
    },
    time::Instant,
};

use crate::protocol::{Command, Event, JobRef, commands};

/// The user whom this process acts for.
fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whether what has a name is a socket of this user.
fn is_own_socket(there: &std::fs::Metadata) -> bool {
    there.file_type().is_socket() && there.uid() == own_user()
}

/// The next line, without its line feed. `rest` is what was read beyond.
///
/// # Errors
/// [`ErrorKind::UnexpectedEof`] at the end of the stream, [`ErrorKind::TimedOut`] when `deadline` is over.
fn next_line(mut stream: &UnixStream, rest: &mut Vec<u8>, longest: usize, deadline: Instant) -> io::Result<String> {
    let mut searched = 0;
    loop {
        let fresh = rest.get(searched..).unwrap_or_default();
        if let Some(place) = fresh.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=searched + place).collect();
            return String::from_utf8(line).map(|text| text.trim_end().to_owned()).map_err(io::Error::other);
        }
        searched = rest.len();
        if searched > longest {
            return Err(io::Error::other("too long a line"));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let mut piece = [0; 4096];
        match stream.read(&mut piece) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => rest.extend_from_slice(piece.get(..read).unwrap_or_default()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether the socket takes a command.
fn is_allowed(command: &Command) -> bool {
    matches!(
        command,
        Command::ListQueue
            | Command::Pause
            | Command::Resume
            | Command::Stop
            | Command::Checkpoint
            // Tickets of another process are not ours.
            | Command::Cancel(commands::Cancel { job: JobRef::Id(_) })
            | Command::Move(_)
    )
}

/// Whether an event is the last that answers a command that the socket takes.
fn ends(command: &Command, event: &Event) -> bool {
    match event {
        Event::Done | Event::Refused(_) | Event::Failed(_) | Event::Ended => true,
        Event::Queue(_) => matches!(command, Command::ListQueue),
        _ => false,
    }
}
