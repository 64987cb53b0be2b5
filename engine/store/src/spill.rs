use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::StorePaths;
use super::entry::Entry;
use super::identity::is_at;
use super::instance::{InstanceId, spill_path};

/// Bytes of the longest line that is read: a snapshot of 64 MiB, whose bytes are numbers there. Reading ends at a longer one.
const LONGEST_LINE: usize = 256 << 20;
/// The same of a line that cannot be one of ours.
const LONGEST_DAMAGE: usize = 1 << 20;
/// Lines and bytes that are read before what was read is written down.
const BATCH_LINES: usize = 50_000;
const BATCH_BYTES: usize = 32 << 20;
/// Characters of the checksum, and the space behind it.
const CHECKSUM: usize = 17;

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
            self.file = Some(open(&self.path)?);
        }
        self.restore()?;
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

    /// Puts the file back where somebody removed it: what was written to it is still behind the open file. If its folder is
    /// gone it lies in the folder for temporary files from then on.
    pub fn restore(&mut self) -> io::Result<()> {
        let Some(old) = &mut self.file else { return Ok(()) };
        if is_at(old, &self.path) {
            return Ok(());
        }
        let elsewhere = std::env::temp_dir().join(self.path.file_name().unwrap_or_default());
        let place = |path: &Path| open(path).map(|file| (file, path.to_owned()));
        let (mut new, path) = place(&self.path).or_else(|_| place(&elsewhere))?;
        old.seek(SeekFrom::Start(0))?;
        io::copy(old, &mut new)?;
        new.sync_data()?;
        (self.file, self.path) = (Some(new), path);
        Ok(())
    }

    /// The entries of the file, batch by batch.
    pub fn batches(&mut self) -> io::Result<Batches> {
        self.restore()?;
        Batches::open(&self.path)
    }

    /// All entries of a spill file and the number of its lines that cannot be read.
    #[cfg(test)]
    pub fn read(path: &Path) -> io::Result<(Vec<Entry>, u64)> {
        let mut batches = match Batches::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
            opened => opened?,
        };
        let mut entries = Vec::new();
        while let Some(batch) = batches.read_batch()? {
            entries.extend(batch);
        }
        Ok((entries, batches.damaged()))
    }
}

/// Opens a spill file to be added to, and made if need be.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).read(true).append(true).open(path)
}

/// Reads a spill file, which may be anybody's, in batches that memory holds whatever its size.
#[derive(Debug)]
pub(crate) struct Batches {
    lines: BufReader<File>,
    longest: usize,
    damaged: u64,
    is_over: bool,
}

/// A line of a spill file.
enum Line {
    Whole,
    Damaged,
    /// No program of ours writes one as long: nothing behind it is read.
    TooLong,
    /// There are no more.
    End,
}

impl Batches {
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_bounded(path, LONGEST_LINE)
    }

    fn open_bounded(path: &Path, longest: usize) -> io::Result<Self> {
        let lines = BufReader::with_capacity(1 << 18, File::open(path)?);
        Ok(Self { lines, longest, damaged: 0, is_over: false })
    }

    /// Lines that could not be read until now.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// The next entries; none at the end of the file.
    pub fn read_batch(&mut self) -> io::Result<Option<Vec<Entry>>> {
        let (mut entries, mut line, mut bytes) = (Vec::new(), Vec::new(), 0);
        while !self.is_over && entries.len() < BATCH_LINES && bytes < BATCH_BYTES {
            line.clear();
            match self.read_line(&mut line)? {
                Line::Whole => match parse(&line) {
                    Some(entry) => entries.push(entry),
                    None => self.damaged += 1,
                },
                Line::Damaged => self.damaged += 1,
                Line::TooLong => {
                    self.damaged += 1;
                    self.is_over = true;
                }
                Line::End => self.is_over = true,
            }
            bytes += line.len();
        }
        Ok((!entries.is_empty() || !self.is_over).then_some(entries))
    }

    /// Reads a line that is not empty, without its end. A line that cannot be one of ours takes no memory.
    fn read_line(&mut self, line: &mut Vec<u8>) -> io::Result<Line> {
        let mut length = 0;
        let mut is_ours = true;
        loop {
            let part = match self.lines.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                part => part?,
            };
            let end = part.iter().position(|byte| *byte == b'\n');
            let part_end = end.unwrap_or(part.len());
            let own = part.get(..part_end).unwrap_or_default();
            let is_last = part.is_empty();
            length += own.len();
            if is_ours {
                line.extend_from_slice(own);
                // JSON has no control character, such as the zeros of a sparse file.
                is_ours = may_be_ours(line) && own.last().is_none_or(|byte| *byte >= b' ');
            }
            if !is_ours {
                line.clear();
            }
            self.lines.consume(part_end + usize::from(end.is_some()));
            if length > if is_ours { self.longest } else { LONGEST_DAMAGE } {
                line.clear();
                return Ok(Line::TooLong);
            }
            match (end, length) {
                (None, 0) if is_last => return Ok(Line::End),
                // An empty line.
                (Some(_), 0) => {}
                (Some(_), _) => return Ok(if is_ours { Line::Whole } else { Line::Damaged }),
                (None, _) if is_last => return Ok(if is_ours { Line::Whole } else { Line::Damaged }),
                (None, _) => {}
            }
        }
    }
}

/// Returns true if a line, or the beginning of one, may be one of ours: a checksum and JSON.
fn may_be_ours(line: &[u8]) -> bool {
    let digits = line.iter().take(CHECKSUM - 1).all(u8::is_ascii_hexdigit);
    digits
        && line.get(CHECKSUM - 1).is_none_or(|byte| *byte == b' ')
        && line.get(CHECKSUM).is_none_or(|byte| *byte == b'{')
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
    use crate::entry::Point;
    use crate::{NewSnapshot, entry::OtherEntry};

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

    /// A sparse file of gigabytes was read whole.
    #[test]
    fn a_line_that_is_too_long_ends_reading() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spill");
        let good = String::from_utf8(lines(&[point(1, 0.1)]).unwrap()).unwrap();
        let sparse = |text: &str, length: u64| {
            fs::write(&path, text).unwrap();
            OpenOptions::new().write(true).open(&path).unwrap().set_len(length).unwrap();
            let began = std::time::Instant::now();
            let read = Spill::read(&path).unwrap();
            assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
            read
        };
        assert_eq!(sparse(&good, 6 << 30), (vec![point(1, 0.1)], 1));
        // The beginning of a line of ours.
        assert_eq!(sparse(&good[..40], 6 << 30), (Vec::new(), 1));
        // At the bound a line is damaged alone, beyond it reading ends.
        let longest = 2 * LONGEST_DAMAGE;
        for (start, length, rest) in [
            ("", LONGEST_DAMAGE, 1),
            ("", LONGEST_DAMAGE + 1, 0),
            ("0123456789abcdef {", longest, 1),
            ("0123456789abcdef {", longest + 1, 0),
        ] {
            let line = format!("{start}{}", "x".repeat(length - start.len()));
            fs::write(&path, format!("{line}\n{good}")).unwrap();
            let mut batches = Batches::open_bounded(&path, longest).unwrap();
            let read = std::iter::from_fn(|| batches.read_batch().unwrap()).flatten().count();
            assert_eq!((read, batches.damaged()), (rest, 1), "{start}{length}");
        }
    }

    #[test]
    fn a_large_file_is_read_in_parts() {
        let folder = tempfile::tempdir().unwrap();
        let mut spill = Spill::new(folder.path().join("spill"));
        let entries: Vec<Entry> = (0..=BATCH_LINES as u64).map(|step| point(step, 0.5)).collect();
        spill.append(&entries).unwrap();
        let mut batches = spill.batches().unwrap();
        let mut read = Vec::new();
        let mut parts = 0;
        while let Some(batch) = batches.read_batch().unwrap() {
            assert!(batch.len() <= BATCH_LINES);
            read.extend(batch);
            parts += 1;
        }
        assert_eq!((read == entries, parts), (true, 2));
        let text = NewSnapshot::text(1, "x".repeat(BATCH_BYTES / 3));
        let large = OtherEntry::Snapshot { run: "0000000001".parse().unwrap(), attempt: 1, snapshot: text, at_ms: 1 };
        let large: Vec<Entry> = vec![large.into(); 3];
        let path = folder.path().join("large");
        Spill::new(path.clone()).append(&large).unwrap();
        let mut batches = Batches::open(&path).unwrap();
        let sizes: Vec<usize> = std::iter::from_fn(|| batches.read_batch().unwrap()).map(|batch| batch.len()).collect();
        assert_eq!(sizes.iter().sum::<usize>(), 3);
        assert!(sizes.len() > 1, "{sizes:?}");
    }
}
