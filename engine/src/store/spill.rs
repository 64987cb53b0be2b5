use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::StorePaths;
use super::entry::Entry;
use super::instance::{InstanceId, spill_path};

/// The append-only file that holds entries while the database cannot be written.
///
/// A line an entry: the checksum of the JSON as sixteen hexadecimal digits, a space, the JSON. A line that was torn by
/// a crash does not match its checksum and is left out; the rest is whole.
#[derive(Debug)]
pub(crate) struct Spill {
    path: PathBuf,
    file: Option<File>,
    entries: u64,
    /// Half a line may stand at the end.
    is_torn: bool,
}

impl Spill {
    /// A spill file to be made at `path` when it is needed.
    pub fn new(path: PathBuf) -> Self {
        Self { path, file: None, entries: 0, is_torn: false }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Entries that wait in the file.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Adds entries at the end. On an error none of them is in the file.
    pub fn append(&mut self, entries: &[Entry]) -> io::Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut text = lines(entries)?;
        if self.is_torn {
            text.insert(0, b'\n');
        }
        if self.file.is_none() {
            self.file = Some(OpenOptions::new().create(true).append(true).open(&self.path)?);
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        let length = file.metadata()?.len();
        if let Err(error) = file.write_all(&text).and_then(|()| file.sync_data()) {
            // Half a line must not swallow the next one.
            self.is_torn |= file.set_len(length).is_err();
            return Err(error);
        }
        self.is_torn = false;
        self.entries += entries.len() as u64;
        Ok(())
    }

    /// Writes entries to a file in the folder for temporary files, under a name that makes it a spill file of the store once
    /// it lies beside the database; or in the place of `known`, one that was written before.
    pub fn apart(paths: &StorePaths, known: Option<&Path>, entries: &[Entry]) -> io::Result<PathBuf> {
        // As if an instance of its own had left it: that is how it is found once it lies beside the store.
        let name = spill_path(paths, &InstanceId::new());
        let name = name.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        let mut file = tempfile::Builder::new().prefix(name).rand_bytes(0).tempfile()?;
        file.write_all(&lines(entries)?)?;
        file.as_file().sync_all()?;
        match known {
            Some(known) => file.persist(known).map(|_| known.to_owned()).map_err(|error| error.error),
            None => file.keep().map(|(_, path)| path).map_err(|error| error.error),
        }
    }

    /// Removes the file: everything in it is in the database.
    pub fn clear(&mut self) -> io::Result<()> {
        self.file = None;
        self.entries = 0;
        self.is_torn = false;
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The entries of a spill file and the number of its lines that cannot be read.
    pub fn read(path: &Path) -> io::Result<(Vec<Entry>, u64)> {
        let text = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
            read => read?,
        };
        let (mut entries, mut damaged) = (Vec::new(), 0);
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match parse(line) {
                Some(entry) => entries.push(entry),
                None => damaged += 1,
            }
        }
        Ok((entries, damaged))
    }
}

/// Entries as the lines of a spill file.
fn lines(entries: &[Entry]) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    for entry in entries {
        let json = serde_json::to_string(entry).map_err(io::Error::other)?;
        writeln!(text, "{:016x} {json}", checksum(json.as_bytes()))?;
    }
    Ok(text)
}

fn parse(line: &[u8]) -> Option<Entry> {
    let (sum, json) = line.split_at_checked(16)?;
    let json = json.strip_prefix(b" ")?;
    let sum = u64::from_str_radix(std::str::from_utf8(sum).ok()?, 16).ok()?;
    (sum == checksum(json)).then(|| serde_json::from_slice(json).ok()).flatten()
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo): enough to know a torn line.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::entry::Point;
    use crate::store::{NewSnapshot, entry::OtherEntry};

    fn point(step: u64, value: f64) -> Entry {
        let (run, series) = ("0000000001".parse().unwrap(), "train/loss".into());
        Entry::Point(Point { run, series, attempt: 1, step, value, wall_ms: step, tokens: step })
    }

    #[test]
    fn entries_come_back_as_they_went_in() {
        let folder = tempfile::tempdir().unwrap();
        let mut spill = Spill::new(folder.path().join("spill"));
        let snapshot = OtherEntry::Snapshot {
            run: "0000000001".parse().unwrap(),
            attempt: 2,
            snapshot: NewSnapshot::text(3, "line one\nline two"),
            at_ms: 4,
        };
        let entries = [point(1, 0.1), point(2, f64::INFINITY), snapshot.into()];
        spill.append(&entries).unwrap();
        assert_eq!(Spill::read(spill.path()).unwrap(), (entries.to_vec(), 0));
        spill.append(&[point(4, f64::NAN)]).unwrap();
        let (read, damaged) = Spill::read(spill.path()).unwrap();
        assert!(matches!(&read[3], Entry::Point(point) if point.value.is_nan()));
        assert_eq!((read.len(), damaged, spill.entries()), (4, 0, 4));
        spill.clear().unwrap();
        assert_eq!(Spill::read(spill.path()).unwrap(), (Vec::new(), 0));
    }

    #[test]
    fn a_torn_line_costs_only_itself() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spill");
        let mut spill = Spill::new(path.clone());
        spill.append(&[point(1, 0.1), point(2, 0.2), point(3, 0.3)]).unwrap();
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let (read, damaged) = Spill::read(&path).unwrap();
            assert!(read.iter().zip(1..).all(|(entry, step)| *entry == point(step, step as f64 / 10.0)));
            assert!(damaged <= 1);
        }
        let mut flipped = whole;
        flipped[30] ^= 1;
        fs::write(&path, &flipped).unwrap();
        let (read, damaged) = Spill::read(&path).unwrap();
        assert_eq!((read.len(), damaged), (2, 1));
    }
}
