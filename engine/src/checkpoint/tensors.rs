//! Tensors to and from safetensors files.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use candle_core::{Device, Tensor};
use safetensors::{SafeTensorError, SafeTensors};

#[cfg(unix)]
use super::CONFIG;
use super::CheckpointError;

/// Writes tensors with one line of metadata.
pub(super) fn write(
    path: &Path,
    tensors: &BTreeMap<String, Tensor>,
    metadata: (&str, String),
) -> Result<(), CheckpointError> {
    let metadata = HashMap::from([(metadata.0.to_owned(), metadata.1)]);
    let written = safetensors::serialize_to_file(tensors.iter(), Some(metadata), path).map_err(|error| match error {
        SafeTensorError::IoError(source) => source,
        other => std::io::Error::other(other.to_string()),
    });
    written.and_then(|()| share(path)).map_err(CheckpointError::io("write the weights", path))
}

/// Gives a file the rights of `config.json` beside it, which the user's umask made: `safetensors` writes for the owner alone.
#[cfg(unix)]
fn share(path: &Path) -> std::io::Result<()> {
    let beside = std::fs::metadata(path.with_file_name(CONFIG))?;
    std::fs::set_permissions(path, beside.permissions())
}

/// Elsewhere a file takes its rights from its folder.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the signature of its twin")]
fn share(_path: &Path) -> std::io::Result<()> {
    Ok(())
}

/// Tensors by name, and the file's metadata.
type Contents = (BTreeMap<String, Tensor>, HashMap<String, String>);

/// Reads all tensors of a file onto a device, with its metadata.
pub(super) fn read(dir: &Path, file: &str, device: &Device) -> Result<Contents, CheckpointError> {
    let damaged = |why: String| CheckpointError::Damaged { file: file.to_owned(), why, path: dir.to_owned() };
    let bytes = crate::data::read_file(&dir.join(file), u64::MAX - 1).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => CheckpointError::MissingFile { file: file.to_owned(), path: dir.to_owned() },
        _ => CheckpointError::io(&format!("read {file}"), dir)(error),
    })?;
    let why = |error: SafeTensorError| match error {
        SafeTensorError::MetadataIncompleteBuffer => damaged("it is shorter or longer than its header says".to_owned()),
        SafeTensorError::HeaderTooSmall | SafeTensorError::InvalidHeaderLength => {
            damaged("it is cut off within its header".to_owned())
        }
        other => damaged(other.to_string()),
    };
    let (_, header) = SafeTensors::read_metadata(&bytes).map_err(why)?;
    let metadata = header.metadata().clone().unwrap_or_default();
    let tensors = candle_core::safetensors::load_buffer(&bytes, device)
        .map_err(|error| CheckpointError::Tensor { source: error.into(), path: dir.to_owned() })?;
    Ok((tensors.into_iter().collect(), metadata))
}

/// Bytes that tensors take on disk.
pub(super) fn bytes(tensors: &BTreeMap<String, Tensor>) -> u64 {
    tensors.values().map(|tensor| (tensor.elem_count() * tensor.dtype().size_in_bytes()) as u64).sum()
}
