//! Opening files that somebody named: what is no file is refused by its kind, before anything waits for it.

use std::{
    fs::{File, FileType, Metadata, OpenOptions},
    io::{self, Read},
    path::Path,
};

/// Why something was not opened: it is no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is {0}, not a file")]
struct WrongKind(&'static str);

/// Opens a file to be read. A pipe, a device, a socket or a folder is refused without waiting for it, links to them too;
/// nothing can be put in the file's place between the check of its kind and its opening.
///
/// # Errors
/// As the system says; where it is no file, [`wrong_kind`] tells what it is.
pub fn open_file(path: &Path) -> io::Result<File> {
    // Checked first, since opening some devices does something. The second one holds whatever happened in between.
    require_file(&std::fs::metadata(path)?)?;
    let mut options = OpenOptions::new();
    options.read(true);
    // A pipe that takes the file's place meanwhile is opened without waiting for its other end.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOCTTY);
    let file = options.open(path)?;
    require_file(&file.metadata()?)?;
    Ok(file)
}

/// Reads a file of at most `most` bytes, opened as [`open_file`] does.
///
/// # Errors
/// As [`open_file`], and where there is more in it, whatever the file system says of its size.
pub fn read_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = open_file(path)?;
    let expected = file.metadata()?.len();
    if expected > most {
        return Err(too_long(most));
    }
    read_at_most(&mut file, expected, most)
}

/// Reads a text file of at most `most` bytes, opened as [`open_file`] does.
///
/// # Errors
/// As [`read_file`]; of the kind `InvalidData` where it is not UTF-8.
pub fn read_text_file(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read_file(path, most)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

/// Reads a stream to its end, such as a config from a pipe.
///
/// # Errors
/// As the stream says, and where more than `most` bytes come.
pub fn read_stream(stream: &mut dyn Read, most: u64) -> io::Result<Vec<u8>> {
    read_at_most(stream, 0, most)
}

fn read_at_most(source: &mut dyn Read, expected: u64, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or_default());
    source.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_long(most)) } else { Ok(bytes) }
}

fn too_long(most: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {}", super::error_wording::words(most)))
}

/// What it is that was not opened for not being a file, such as `a pipe (FIFO)`; none for every other error.
pub fn wrong_kind(error: &io::Error) -> Option<&'static str> {
    error.get_ref()?.downcast_ref::<WrongKind>().map(|WrongKind(kind)| *kind)
}

/// What stands at a path other than a file or a folder, in words; none where it is one of these.
pub(super) fn special_kind(kind: FileType) -> Option<&'static str> {
    if kind.is_file() || kind.is_dir() { None } else { Some(words(kind)) }
}

fn require_file(metadata: &Metadata) -> io::Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, WrongKind(words(metadata.file_type()))))
}

fn words(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_fifo() {
            return "a pipe (FIFO)";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_char_device() || kind.is_block_device() {
            return "a device";
        }
    }
    if kind.is_dir() { "a folder" } else { "something else" }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn files_are_read_up_to_a_bound() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a.txt");
        std::fs::write(&path, "text").unwrap();
        assert_eq!(read_text_file(&path, 4).unwrap(), "text");
        let error = read_file(&path, 3).unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string()),
            (io::ErrorKind::FileTooLarge, "it is larger than 3 bytes".into())
        );
        assert_eq!(wrong_kind(&error), None);
        assert!(read_stream(&mut io::repeat(7), 1 << 20).is_err(), "a stream without an end");
        std::fs::write(&path, [0xff]).unwrap();
        assert_eq!(read_text_file(&path, 4).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(open_file(&folder.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(open_file(folder.path()).map_err(|error| wrong_kind(&error)).unwrap_err(), Some("a folder"));
    }

    /// Each of them would wait for somebody for ever, or never end.
    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_refused_at_once() {
        let folder = TempDir::new().unwrap();
        let at = |name: &str| folder.path().join(name);
        assert!(std::process::Command::new("mkfifo").arg(at("pipe.txt")).status().unwrap().success());
        let _socket = std::os::unix::net::UnixListener::bind(at("socket.txt")).unwrap();
        std::os::unix::fs::symlink(at("pipe.txt"), at("link.txt")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("zero.txt")).unwrap();
        for (name, kind) in [
            ("pipe.txt", "a pipe (FIFO)"),
            ("link.txt", "a pipe (FIFO)"),
            ("socket.txt", "a socket"),
            ("zero.txt", "a device"),
        ] {
            let error = read_file(&at(name), 1 << 20).unwrap_err();
            assert_eq!(wrong_kind(&error), Some(kind), "{name}");
            assert_eq!(error.to_string(), format!("it is {kind}, not a file"));
        }
    }
}
