use std::{
    io,
    path::{Path, PathBuf},
};

use thiserror::Error;

use crate::data::memory::words;
use crate::model::ModelError;
use crate::text::shortened;

/// Characters of a reason and of a value that a message shows: both may hold what a file says.
const LONGEST_REASON: usize = 1000;
const LONGEST_VALUE: usize = 200;

/// Why a model directory could not be written or read.
#[derive(Debug, Error)]
pub enum CheckpointError {
    /// There is nothing there.
    #[error("There is no model directory here. Choose a folder that holds config.json and model.safetensors: {}", .path.display())]
    NotFound {
        /// The directory.
        path: PathBuf,
    },
    /// A file of the directory is absent.
    #[error("The model directory has no {file}. Use another checkpoint, or copy the whole folder again: {}", .path.display())]
    MissingFile {
        /// The file.
        file: String,
        /// The directory.
        path: PathBuf,
    },
    /// A file cannot be what was saved.
    #[error("{file} is damaged: {}. Use another checkpoint, or copy it again from where it came: {}", shortened(.why, LONGEST_REASON), .path.display())]
    Damaged {
        /// The file.
        file: String,
        /// What is wrong with it.
        why: String,
        /// The directory.
        path: PathBuf,
    },
    /// A checksum differs.
    #[error(
        "{file} was edited or damaged after it was saved: its checksum differs. Use another checkpoint; if the change \
         was meant, delete headroom.json to open the folder without checks: {}", .path.display()
    )]
    Edited {
        /// The file.
        file: String,
        /// The directory.
        path: PathBuf,
    },
    /// A file of settings that cannot be understood.
    #[error("Cannot use {file}: {} The file is in {}", shortened(.why, LONGEST_REASON), .path.display())]
    Settings {
        /// The file.
        file: String,
        /// What is wrong and what to do, as a sentence.
        why: String,
        /// The directory.
        path: PathBuf,
    },
    /// Another kind of model.
    #[error(
        "Models of type \"{}\" cannot be opened.{} Those of these types can: {}: {}", shortened(.found, LONGEST_VALUE),
        .nearest.map(|nearest| format!(" The nearest type that opens is \"{nearest}\".")).unwrap_or_default(),
        .known.join(", "), .path.display()
    )]
    UnknownModelType {
        /// `model_type` in config.json.
        found: String,
        /// The one of them that is nearest, where one is.
        nearest: Option<&'static str>,
        /// Those that can be opened.
        known: Vec<&'static str>,
        /// The directory.
        path: PathBuf,
    },
    /// A model of a known type with a setting that would change what it computes.
    #[error(
        "config.json sets `{key}` to {}, but only {expected} can be computed here: {}", shortened(.found, LONGEST_VALUE),
        .path.display()
    )]
    Unsupported {
        /// The key.
        key: String,
        /// Its value.
        found: String,
        /// Values that work.
        expected: String,
        /// The directory.
        path: PathBuf,
    },
    /// Heads were pruned in a family of which no such models are computed.
    #[error(
        "Heads of this model were pruned (`pruned_heads` in config.json is {}), and its family is opened with all heads alone. \
         Give the weights zeros in their places, with which a head adds nothing, and leave `pruned_heads` out: {}",
        shortened(.found, LONGEST_VALUE), .path.display()
    )]
    PrunedHeads {
        /// The heads by layers.
        found: String,
        /// The directory.
        path: PathBuf,
    },
    /// The position table is not as long as config.json says.
    #[error(
        "config.json promises {expected} positions, but the weights have {found}. Correct config.json, or use another \
         checkpoint: {}", .path.display()
    )]
    Positions {
        /// Positions in config.json.
        expected: usize,
        /// Rows of the table.
        found: usize,
        /// The directory.
        path: PathBuf,
    },
    /// Weights that do not fit the architecture.
    #[error("model.safetensors does not fit config.json: {source} Use another checkpoint: {}", .path.display())]
    Weights {
        /// What does not fit.
        source: ModelError,
        /// The directory.
        path: PathBuf,
    },
    /// Weights that free memory does not hold, seen before any was read.
    #[error(
        "The weights do not fit into memory: they need {} and {} are free. Close other programs, or use a machine with more \
         memory: {}", words(*.needed_bytes), words(*.free_bytes), .path.display()
    )]
    TooLarge {
        /// Bytes that the tensors take.
        needed_bytes: u64,
        /// Bytes that are free.
        free_bytes: u64,
        /// The directory.
        path: PathBuf,
    },
    /// The directory was written by a newer program.
    #[error("This folder has format {found}, this program reads up to {known}. Use a newer Headroom: {}", .path.display())]
    NewerFormat {
        /// Its format.
        found: u64,
        /// The newest format that is known.
        known: u64,
        /// The directory.
        path: PathBuf,
    },
    /// A directory without a training state.
    #[error("This model cannot be trained on: it was saved without training_state.safetensors. Choose a checkpoint of a run: {}", .path.display())]
    NoTrainingState {
        /// The directory.
        path: PathBuf,
    },
    /// A directory with files that saving would delete.
    #[error(
        "This folder holds other files ({}). Choose a new or empty folder, since saving replaces the whole folder: {}",
        .names.join(", "), .path.display()
    )]
    Occupied {
        /// Some of the files.
        names: Vec<String>,
        /// The directory.
        path: PathBuf,
    },
    /// Too little space, seen before anything was written.
    #[error(
        "Not enough disk space: the model needs {} and {} are free. Free some space or choose another disk: {}",
        words(*.needed_bytes), words(*.free_bytes), .path.display()
    )]
    DiskSpace {
        /// Bytes that the directory will take.
        needed_bytes: u64,
        /// Bytes that are free.
        free_bytes: u64,
        /// The directory.
        path: PathBuf,
    },
    /// The disk filled up while writing; what was written is removed.
    #[error(
        "The disk is full. The model needs {}; nothing was saved and what was there before is still there. Free some \
         space: {}", words(*.needed_bytes), .path.display()
    )]
    DiskFull {
        /// Bytes that the directory will take.
        needed_bytes: u64,
        /// The directory.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("Cannot {doing}: {source}. Check that the folder exists and may be changed: {}", .path.display())]
    Io {
        /// What was tried.
        doing: String,
        /// The answer.
        source: io::Error,
        /// The file or directory.
        path: PathBuf,
    },
    /// Tensors could not be read from or put on the device.
    #[error("Cannot move the weights of the model: {source} The folder is {}", .path.display())]
    Tensor {
        /// What failed.
        source: ModelError,
        /// The directory.
        path: PathBuf,
    },
}

impl CheckpointError {
    /// An error of the operating system; a full disk is told apart by [`CheckpointError::or_disk_full`].
    pub(super) fn io(doing: &str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let (doing, path) = (doing.to_owned(), path.to_owned());
        move |source| Self::Io { doing, source, path }
    }

    /// Whether there was too little space, so that it may succeed once some is free.
    pub fn is_full_disk(&self) -> bool {
        matches!(self, Self::DiskFull { .. } | Self::DiskSpace { .. })
    }

    /// The same error, but a full disk said with the numbers.
    pub(super) fn or_disk_full(self, needed_bytes: u64, dir: &Path) -> Self {
        match self {
            Self::Io { source, .. }
                if matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) =>
            {
                Self::DiskFull { needed_bytes, path: dir.to_owned() }
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_said_with_the_numbers() {
        let full = |kind: io::ErrorKind| {
            let error = CheckpointError::io("write model.safetensors", Path::new("m"))(kind.into());
            error.or_disk_full(2_000_000, Path::new("m")).to_string()
        };
        assert!(full(io::ErrorKind::StorageFull).starts_with("The disk is full. The model needs 1.9 MiB;"));
        assert!(full(io::ErrorKind::PermissionDenied).starts_with("Cannot write model.safetensors"));
    }
}
