//! Sizes and checksums of a model directory.

use std::{collections::BTreeMap, io::Read, path::Path};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{CheckpointError, Lineage, MANIFEST, WEIGHTS};
use crate::data::{hex, open_file, read_text_file};

/// The format of directories that this program writes.
const FORMAT: u64 = 1;

/// What the field `program` begins with.
const PROGRAM: &str = "headroom";
/// The largest `headroom.json` that is read, in bytes; ours have some kilobytes.
const LARGEST_MANIFEST: u64 = 1 << 20;

/// What `headroom.json` holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    format: u64,
    program: String,
    /// The run that the directory is a checkpoint of; none for exports, and for checkpoints of programs before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    files: BTreeMap<String, Entry>,
    /// Where a converted model came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lineage: Option<Lineage>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    bytes: u64,
    sha256: String,
}

impl Manifest {
    /// Reads the files of a directory as they are; `run`: whose checkpoint it is, if a run's.
    pub fn of(dir: &Path, files: &[&str], run: Option<&str>) -> Result<Self, CheckpointError> {
        let entry = |file: &&str| Ok(((*file).to_owned(), measure(&dir.join(file))?));
        Ok(Self {
            format: FORMAT,
            program: format!("{PROGRAM} {}", env!("CARGO_PKG_VERSION")),
            run: run.map(str::to_owned),
            files: files.iter().map(entry).collect::<Result<_, CheckpointError>>()?,
            lineage: None,
        })
    }

    /// The text of `headroom.json`.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// The manifest of a directory; none when it has none, as directories from elsewhere.
    pub fn read(dir: &Path) -> Result<Option<Self>, CheckpointError> {
        let text = match read_text_file(&dir.join(MANIFEST), LARGEST_MANIFEST) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(CheckpointError::io("read headroom.json", dir)(error)),
        };
        Self::parse(&text, dir).map(Some)
    }

    /// The manifest with this text, of the directory `dir`.
    fn parse(text: &str, dir: &Path) -> Result<Self, CheckpointError> {
        let damaged = |why: String| CheckpointError::Damaged { file: MANIFEST.to_owned(), why, path: dir.to_owned() };
        let value: serde_json::Value = serde_json::from_str(text).map_err(|error| damaged(error.to_string()))?;
        match value.get("format").and_then(serde_json::Value::as_u64) {
            Some(found) if found > FORMAT => {
                Err(CheckpointError::NewerFormat { found, known: FORMAT, path: dir.to_owned() })
            }
            _ => serde_json::from_value(value).map_err(|error| damaged(error.to_string())),
        }
    }

    /// Whether a text is a manifest of a program of ours that names no other run than `run`.
    ///
    /// # Errors
    /// In words: why it is not.
    pub fn marks(text: &str, run: &str) -> Result<(), String> {
        let manifest = Self::parse(text, Path::new("")).map_err(|error| match error {
            CheckpointError::NewerFormat { .. } => "its headroom.json was written by a newer Headroom".to_owned(),
            _ => "its headroom.json cannot be read".to_owned(),
        })?;
        if manifest.program.split(' ').next() != Some(PROGRAM) {
            return Err("its headroom.json was written by another program".to_owned());
        }
        match manifest.run {
            Some(other) if other != run => Err("its headroom.json names another run".to_owned()),
            _ => Ok(()),
        }
    }

    /// SHA-256 of a file.
    pub fn sha256(path: &Path) -> Result<String, CheckpointError> {
        measure(path).map(|entry| entry.sha256)
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.values().map(|entry| entry.bytes).sum()
    }

    /// Whether the directory was saved with this file.
    pub fn holds(&self, file: &str) -> bool {
        self.files.contains_key(file)
    }

    /// Checks that a file is what was saved. A file that was not saved with the directory passes.
    pub fn check(&self, dir: &Path, file: &str) -> Result<(), CheckpointError> {
        let Some(saved) = self.files.get(file) else { return Ok(()) };
        self.check_size(dir, file)?;
        if measure(&dir.join(file))? == *saved {
            Ok(())
        } else {
            Err(CheckpointError::Edited { file: file.to_owned(), path: dir.to_owned() })
        }
    }

    /// Checks that a file is as large as the one that was saved, without reading it. A file that was not saved with the
    /// directory passes.
    pub fn check_size(&self, dir: &Path, file: &str) -> Result<(), CheckpointError> {
        let Some(saved) = self.files.get(file) else { return Ok(()) };
        let there = dir.join(file).metadata().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                CheckpointError::MissingFile { file: file.to_owned(), path: dir.to_owned() }
            }
            _ => CheckpointError::io(&format!("read {file}"), dir)(error),
        })?;
        if there.len() < saved.bytes {
            let why = format!("it has {} of its {} bytes", there.len(), saved.bytes);
            return Err(CheckpointError::Damaged { file: file.to_owned(), why, path: dir.to_owned() });
        }
        if there.len() > saved.bytes {
            return Err(CheckpointError::Edited { file: file.to_owned(), path: dir.to_owned() });
        }
        Ok(())
    }
}

/// Size and SHA-256 of a file.
fn measure(path: &Path) -> Result<Entry, CheckpointError> {
    let failed = |error| CheckpointError::io("read a file of the model", path)(error);
    let mut file = open_file(path).map_err(failed)?;
    let (mut hash, mut bytes, mut block) = (Sha256::new(), 0, vec![0; 1 << 20]);
    loop {
        let read = file.read(&mut block).map_err(failed)?;
        let Some(part) = block.get(..read).filter(|part| !part.is_empty()) else { break };
        hash.update(part);
        bytes += read as u64;
    }
    Ok(Entry { bytes, sha256: hex(&hash.finalize()) })
}

/// SHA-256 of the weights of a model directory; none where they are several files.
///
/// # Errors
/// If they cannot be read.
pub fn weights_sha256(dir: &Path) -> Result<Option<String>, CheckpointError> {
    if dir.join(WEIGHTS).exists() { Manifest::sha256(&dir.join(WEIGHTS)).map(Some) } else { Ok(None) }
}
