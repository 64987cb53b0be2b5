//! Tensors to and from safetensors files.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    io::Read as _,
    path::{Component, Path},
};

use candle_core::{Device, Tensor};
use safetensors::{SafeTensorError, SafeTensors};
use serde::Deserialize;

#[cfg(unix)]
use super::CONFIG;
use super::{CheckpointError, INDEX, PICKLE, WEIGHTS, pickle::Pickle};

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

/// The most bytes of the header of a file: as many as `safetensors` takes.
const LARGEST_HEADER: u64 = 100_000_000;

/// The names of all tensors of a directory, from headers and index alone.
pub(super) fn names(dir: &Path) -> Result<BTreeSet<String>, CheckpointError> {
    if let Some(Index { weight_map }) = index(dir)? {
        return Ok(weight_map.into_keys().collect());
    }
    if is_pickled(dir) {
        return Ok(Pickle::open(dir, PICKLE)?.names().map(str::to_owned).collect());
    }
    let damaged =
        |why: &str| CheckpointError::Damaged { file: WEIGHTS.to_owned(), why: why.to_owned(), path: dir.to_owned() };
    let mut file = std::fs::File::open(dir.join(WEIGHTS)).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => CheckpointError::MissingFile { file: WEIGHTS.to_owned(), path: dir.to_owned() },
        _ => CheckpointError::io(&format!("read {WEIGHTS}"), dir)(error),
    })?;
    let cut = |_| damaged("it is cut off within its header");
    let mut length = [0; 8];
    file.read_exact(&mut length).map_err(cut)?;
    let length = u64::from_le_bytes(length);
    if length > LARGEST_HEADER {
        return Err(damaged("it is cut off within its header"));
    }
    let mut header = Vec::new();
    let read = file.take(length).read_to_end(&mut header);
    if read.map_err(cut)? as u64 != length {
        return Err(damaged("it is cut off within its header"));
    }
    let header: BTreeMap<String, serde_json::Value> =
        serde_json::from_slice(&header).map_err(|error| damaged(&error.to_string()))?;
    Ok(header.into_keys().filter(|name| name != "__metadata__").collect())
}

/// The most bytes of an index: it names tensors and files, nothing else.
const LARGEST_INDEX: u64 = 64 << 20;

/// What an index holds, as `transformers` writes it.
#[derive(Deserialize)]
struct Index {
    /// The file of every tensor.
    weight_map: BTreeMap<String, String>,
}

/// Whether the weights are there in a pickle alone.
fn is_pickled(dir: &Path) -> bool {
    ![WEIGHTS, INDEX].iter().any(|file| dir.join(file).exists()) && dir.join(PICKLE).exists()
}

/// Which file holds which tensor; none where all are in one.
fn index(dir: &Path) -> Result<Option<Index>, CheckpointError> {
    if !dir.join(INDEX).exists() || dir.join(WEIGHTS).exists() {
        return Ok(None);
    }
    let damaged = |why: String| CheckpointError::Damaged { file: INDEX.to_owned(), why, path: dir.to_owned() };
    let failed = |error| CheckpointError::io(&format!("read {INDEX}"), dir)(error);
    let size = std::fs::metadata(dir.join(INDEX)).map_err(failed)?;
    if !size.is_file() || size.len() > LARGEST_INDEX {
        return Err(damaged("it is no file of that kind".to_owned()));
    }
    let text = std::fs::read(dir.join(INDEX)).map_err(failed)?;
    serde_json::from_slice(&text).map(Some).map_err(|error| damaged(error.to_string()))
}

/// The files of a directory that hold its weights, and the index that names them where they are several.
///
/// # Errors
/// If there is an index that cannot be read.
pub(super) fn weight_files(dir: &Path) -> Result<Vec<String>, CheckpointError> {
    if is_pickled(dir) {
        return Ok(vec![PICKLE.to_owned()]);
    }
    let Some(Index { weight_map }) = index(dir)? else { return Ok(vec![WEIGHTS.to_owned()]) };
    let shards: BTreeSet<String> = weight_map.into_values().filter(|name| is_shard_name(name)).collect();
    Ok(shards.into_iter().chain([INDEX.to_owned()]).collect())
}

/// Reads the weights of a directory: one file, or the several ones that an index names. Of these every tensor must be in
/// the file that the index says, and none besides.
pub(super) fn read_weights(dir: &Path, device: &Device) -> Result<BTreeMap<String, Tensor>, CheckpointError> {
    if is_pickled(dir) {
        return Pickle::open(dir, PICKLE)?.read(device);
    }
    let Some(Index { weight_map }) = index(dir)? else { return Ok(read(dir, WEIGHTS, device)?.0) };
    let damaged =
        |file: &str, why: String| CheckpointError::Damaged { file: file.to_owned(), why, path: dir.to_owned() };
    let mut shards: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (tensor, shard) in &weight_map {
        shards.entry(shard).or_default().insert(tensor);
    }
    if let Some(shard) = shards.keys().find(|shard| !is_shard_name(shard)) {
        let why = format!("it names the file {shard:?}, which is no .safetensors file of this folder");
        return Err(damaged(INDEX, why));
    }
    let mut tensors = BTreeMap::new();
    for (shard, names) in shards {
        // What is no file is not there: a pipe would be waited for.
        if !std::fs::metadata(dir.join(shard)).is_ok_and(|found| found.is_file()) {
            return Err(CheckpointError::MissingFile { file: shard.to_owned(), path: dir.to_owned() });
        }
        let (found, _) = read(dir, shard, device)?;
        if let Some(name) = names.iter().find(|name| !found.contains_key(**name)) {
            return Err(damaged(shard, format!("it has no tensor {name:?}, which {INDEX} promises")));
        }
        if let Some(name) = found.keys().find(|name| !names.contains(name.as_str())) {
            return Err(damaged(shard, format!("it holds a tensor {name:?}, of which {INDEX} does not know here")));
        }
        tensors.extend(found);
    }
    Ok(tensors)
}

/// Whether a name from an index is that of a file in the folder itself.
fn is_shard_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    let is_one = matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == name);
    is_one && name.ends_with(".safetensors") && !name.contains(['/', '\\', ':', '\0'])
}

/// Bytes that tensors take on disk.
pub(super) fn bytes(tensors: &BTreeMap<String, Tensor>) -> u64 {
    tensors.values().map(|tensor| (tensor.elem_count() * tensor.dtype().size_in_bytes()) as u64).sum()
}
