//! Weights to a safetensors file, and from the files of a model directory: their headers first, then the tensors that are needed.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Component, Path},
};

use candle_core::{DType, Device, Tensor};
use safetensors::SafeTensorError;
use serde::Deserialize;

#[cfg(any(unix, test))]
use super::CONFIG;
use super::{
    CheckpointError, INDEX, PICKLE, PICKLE_INDEX, TRAINING_STATE, WEIGHTS, pickle::Pickle, tensor_file::TensorFile,
};
use crate::{
    data::{memory, read_file},
    model::ModelError,
};

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

/// The most bytes of an index: it names tensors and files, nothing else.
const LARGEST_INDEX: u64 = 16 << 20;

/// What an index holds, as `transformers` writes it.
#[derive(Deserialize)]
struct Index {
    /// The file of every tensor.
    weight_map: BTreeMap<String, String>,
}

/// Layout of the weights of a directory; the first that is there counts, as in `transformers`.
enum Layout {
    /// One file.
    One(&'static str),
    /// The files that this index names.
    Sharded(&'static str),
}

impl Layout {
    fn of(dir: &Path) -> Self {
        match [WEIGHTS, INDEX, PICKLE, PICKLE_INDEX].into_iter().find(|file| dir.join(file).exists()) {
            Some(INDEX) => Self::Sharded(INDEX),
            Some(PICKLE) => Self::One(PICKLE),
            Some(PICKLE_INDEX) => Self::Sharded(PICKLE_INDEX),
            _ => Self::One(WEIGHTS),
        }
    }
}

/// The end of the names of files that an index may name.
fn shard_end(index: &str) -> &'static str {
    if index == PICKLE_INDEX { ".bin" } else { ".safetensors" }
}

/// Reads which file holds which tensor.
fn read_index(dir: &Path, file: &str) -> Result<Index, CheckpointError> {
    let damaged = |why: String| CheckpointError::Damaged { file: file.to_owned(), why, path: dir.to_owned() };
    let text = read_file(&dir.join(file), LARGEST_INDEX).map_err(|error| match error.kind() {
        std::io::ErrorKind::FileTooLarge => damaged(error.to_string()),
        _ => CheckpointError::io(&format!("read {file}"), dir)(error),
    })?;
    serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))
}

/// The files of a directory that hold its weights, and the index that names them where they are several.
///
/// # Errors
/// If there is an index that cannot be read.
pub(super) fn weight_files(dir: &Path) -> Result<Vec<String>, CheckpointError> {
    let index = match Layout::of(dir) {
        Layout::One(file) => return Ok(vec![file.to_owned()]),
        Layout::Sharded(index) => index,
    };
    let shards = read_index(dir, index)?.weight_map.into_values();
    let shards: BTreeSet<String> = shards.filter(|name| is_shard_name(name, shard_end(index))).collect();
    Ok(shards.into_iter().chain([index.to_owned()]).collect())
}

/// The weights of a directory by their headers: one file, or the several ones that an index names. No number is read
/// before somebody asks for it.
pub(super) struct Weights<'a> {
    dir: &'a Path,
    sources: Vec<Source>,
    /// Shape of every tensor, and the source that holds it.
    tensors: BTreeMap<String, (Vec<usize>, usize)>,
}

/// One file of weights.
enum Source {
    Safetensors(TensorFile),
    Pickle(Pickle),
}

impl Source {
    /// Opens a file by the end of its name.
    fn open(dir: &Path, file: &str) -> Result<Self, CheckpointError> {
        if file.ends_with(shard_end(PICKLE_INDEX)) {
            return Pickle::open(dir, file).map(Self::Pickle);
        }
        TensorFile::open(dir, file).map(Self::Safetensors)
    }

    /// Names and shapes of its tensors.
    fn shapes(&self) -> Vec<(&str, &[usize])> {
        match self {
            Self::Safetensors(file) => file.shapes().collect(),
            Self::Pickle(pickle) => pickle.shapes().collect(),
        }
    }

    /// Reads one tensor.
    fn read(&self, name: &str, device: &Device) -> Result<Tensor, CheckpointError> {
        match self {
            Self::Safetensors(file) => file.reader()?.read(name, device),
            Self::Pickle(pickle) => pickle.read(name, device),
        }
    }
}

impl<'a> Weights<'a> {
    /// Reads the headers. Where there is an index, every tensor must be in the file that it says, and none besides.
    ///
    /// # Errors
    /// If a file is missing or is not what its header says.
    pub fn open(dir: &'a Path) -> Result<Self, CheckpointError> {
        let mut weights = Self { dir, sources: Vec::new(), tensors: BTreeMap::new() };
        let index = match Layout::of(dir) {
            Layout::One(file) => {
                weights.push(Source::open(dir, file)?);
                return Ok(weights);
            }
            Layout::Sharded(index) => index,
        };
        let Index { weight_map } = read_index(dir, index)?;
        let damaged =
            |file: &str, why: String| CheckpointError::Damaged { file: file.to_owned(), why, path: dir.to_owned() };
        let mut shards: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (tensor, shard) in &weight_map {
            shards.entry(shard).or_default().insert(tensor);
        }
        let end = shard_end(index);
        if let Some(shard) = shards.keys().find(|shard| !is_shard_name(shard, end)) {
            return Err(damaged(index, format!("it names the file {shard:?}, which is no {end} file of this folder")));
        }
        for (shard, names) in shards {
            // What is no file is not there: a pipe would be waited for.
            if !std::fs::metadata(dir.join(shard)).is_ok_and(|found| found.is_file()) {
                return Err(CheckpointError::MissingFile { file: shard.to_owned(), path: dir.to_owned() });
            }
            let source = Source::open(dir, shard)?;
            let found: BTreeSet<&str> = source.shapes().into_iter().map(|(name, _)| name).collect();
            if let Some(name) = names.iter().find(|name| !found.contains(**name)) {
                return Err(damaged(shard, format!("it has no tensor {name:?}, which {index} promises")));
            }
            if let Some(name) = found.iter().find(|name| !names.contains(**name)) {
                return Err(damaged(shard, format!("it holds a tensor {name:?}, of which {index} does not know here")));
            }
            weights.push(source);
        }
        Ok(weights)
    }

    fn push(&mut self, source: Source) {
        let number = self.sources.len();
        let entry = |(name, shape): (&str, &[usize])| (name.to_owned(), (shape.to_vec(), number));
        self.tensors.extend(source.shapes().into_iter().map(entry));
        self.sources.push(source);
    }

    /// True if two tensors hold the same numbers. They are read where no header tells: files that hold a tied table twice are rare.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn are_equal(&self, first: &str, second: &str) -> Result<bool, CheckpointError> {
        let (Some((shape, a)), Some((other, b))) = (self.tensors.get(first), self.tensors.get(second)) else {
            return Ok(false);
        };
        let (Some(a), Some(b)) = (self.sources.get(*a), self.sources.get(*b)) else { return Ok(false) };
        if shape != other {
            return Ok(false);
        }
        match (a, b) {
            (Source::Safetensors(a), Source::Safetensors(b)) => a.holds_same(first, b, second),
            (Source::Pickle(a), Source::Pickle(b)) if std::ptr::eq(a, b) && a.are_one(first, second) => Ok(true),
            (a, b) => {
                let numbers = elements(shape);
                check_room([numbers, numbers].into_iter(), DType::F64, &Device::Cpu, self.dir)?;
                let (a, b) = (a.read(first, &Device::Cpu)?, b.read(second, &Device::Cpu)?);
                if a.dtype() != b.dtype() || numbers == 0 {
                    return Ok(numbers == 0);
                }
                let differs = a.ne(&b).and_then(|differs| differs.flatten_all()?.max(0)?.to_scalar::<u8>());
                let failed =
                    |error| CheckpointError::Tensor { source: ModelError::from(error), path: self.dir.to_owned() };
                Ok(differs.map_err(failed)? == 0)
            }
        }
    }

    /// The names of all tensors.
    pub fn names(&self) -> BTreeSet<String> {
        self.tensors.keys().cloned().collect()
    }

    /// The shape of every tensor by its name.
    pub fn shapes(&self) -> impl Iterator<Item = (&str, &[usize])> {
        self.tensors.iter().map(|(name, (shape, _))| (name.as_str(), shape.as_slice()))
    }

    /// Reads tensors onto a device, under the keys of `wanted`, whose values are their names here. Numbers become `dtype`; whole
    /// numbers, such as the keys of pairs, stay as they are.
    ///
    /// # Errors
    /// If they do not fit into free memory, which is seen before any is read, a file became another one, or the device fails.
    pub fn read(
        self,
        wanted: &BTreeMap<String, String>,
        dtype: DType,
        device: &Device,
    ) -> Result<BTreeMap<String, Tensor>, CheckpointError> {
        let Self { dir, sources, tensors } = self;
        let numbers = wanted.values().filter_map(|name| tensors.get(name)).map(|(shape, _)| elements(shape));
        check_room(numbers, dtype, device, dir)?;
        let mut read = BTreeMap::new();
        for (number, source) in sources.into_iter().enumerate() {
            let own = wanted.iter().filter(|(_, name)| tensors.get(*name).is_some_and(|(_, from)| *from == number));
            match source {
                Source::Safetensors(file) => {
                    let mut reader = file.reader()?;
                    for (key, name) in own {
                        let tensor = converted(reader.read(name, device)?, dtype, dir)?;
                        let _ = read.insert(key.clone(), tensor);
                    }
                }
                Source::Pickle(pickle) => {
                    for (key, name) in own {
                        let tensor = converted(pickle.read(name, device)?, dtype, dir)?;
                        let _ = read.insert(key.clone(), tensor);
                    }
                }
            }
        }
        Ok(read)
    }
}

/// Numbers of a tensor.
fn elements(shape: &[usize]) -> u64 {
    shape.iter().fold(1, |product: u64, size| product.saturating_mul(*size as u64))
}

/// A tensor of weights in the number format that was asked for.
fn converted(tensor: Tensor, dtype: DType, dir: &Path) -> Result<Tensor, CheckpointError> {
    if tensor.dtype().is_int() {
        return Ok(tensor);
    }
    let converted = tensor.to_dtype(dtype).map_err(ModelError::from);
    converted.map_err(|source| CheckpointError::Tensor { source, path: dir.to_owned() })
}

/// Refuses tensors of so many numbers each that do not fit into the memory that is free: on a processor all of them, elsewhere
/// the largest on its way. A system that does not tell is given the benefit of the doubt.
fn check_room(
    numbers: impl Iterator<Item = u64>,
    dtype: DType,
    device: &Device,
    dir: &Path,
) -> Result<(), CheckpointError> {
    let (mut all, mut largest) = (0_u64, 0);
    for count in numbers {
        all = all.saturating_add(count);
        largest = largest.max(count);
    }
    // One at a time is there twice: as bytes of the file, and as a tensor.
    let held = if device.is_cpu() { all.saturating_add(largest) } else { largest.saturating_mul(2) };
    let needed_bytes = held.saturating_mul(dtype.size_in_bytes() as u64);
    match memory::free_bytes() {
        Some(free_bytes) if needed_bytes > free_bytes => {
            Err(CheckpointError::TooLarge { needed_bytes, free_bytes, path: dir.to_owned() })
        }
        _ => Ok(()),
    }
}

/// Reads all tensors of a training state onto a device, where there are no more numbers than `most`.
///
/// # Errors
/// If there are more, they do not fit into free memory, or the file is damaged.
pub(super) fn read_state(
    file: &TensorFile,
    most: u64,
    dir: &Path,
    device: &Device,
) -> Result<BTreeMap<String, Tensor>, CheckpointError> {
    let numbers = || file.shapes().map(|(_, shape)| elements(shape));
    let found = numbers().fold(0, u64::saturating_add);
    if found > most {
        let why = format!("it holds {found} numbers, where training this model needs {most} at most");
        return Err(CheckpointError::Damaged { file: TRAINING_STATE.to_owned(), why, path: dir.to_owned() });
    }
    check_room(numbers(), DType::F64, device, dir)?;
    let mut reader = file.reader()?;
    file.shapes().map(|(name, _)| Ok((name.to_owned(), reader.read(name, device)?))).collect()
}

/// True if a name from an index is that of a file in the folder itself, with this end.
fn is_shard_name(name: &str, end: &str) -> bool {
    let mut parts = Path::new(name).components();
    let is_one = matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == name);
    is_one && name.ends_with(end) && !name.contains(['/', '\\', ':', '\0'])
}

/// Every tensor of a file.
#[cfg(test)]
pub(super) fn read_all(dir: &Path, file: &str) -> BTreeMap<String, Tensor> {
    let file = TensorFile::open(dir, file).unwrap();
    let mut reader = file.reader().unwrap();
    file.shapes().map(|(name, _)| (name.to_owned(), reader.read(name, &Device::Cpu).unwrap())).collect()
}

/// Bytes that tensors take on disk.
pub(super) fn bytes(tensors: &BTreeMap<String, Tensor>) -> u64 {
    tensors.values().map(|tensor| (tensor.elem_count() * tensor.dtype().size_in_bytes()) as u64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_beyond_free_memory_are_refused_with_the_numbers() {
        let dir = Path::new("m");
        assert!(check_room([6, 7].into_iter(), DType::F32, &Device::Cpu, dir).is_ok());
        let error = check_room([u64::MAX / 64, 1].into_iter(), DType::F32, &Device::Cpu, dir).unwrap_err().to_string();
        assert!(error.contains("do not fit into memory") && error.contains("TiB") && error.ends_with('m'), "{error}");
    }

    #[test]
    fn a_state_holds_no_more_numbers_than_its_model_needs() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(CONFIG), "{}").unwrap();
        let zeros = Tensor::zeros((2, 5), DType::F32, &Device::Cpu).unwrap();
        let state = BTreeMap::from([("a.exp_avg".to_owned(), zeros)]);
        write(&folder.path().join(TRAINING_STATE), &state, ("headroom", "{}".to_owned())).unwrap();
        let file = TensorFile::open(folder.path(), TRAINING_STATE).unwrap();
        assert_eq!(read_state(&file, 10, folder.path(), &Device::Cpu).unwrap().len(), 1);
        let error = read_state(&file, 9, folder.path(), &Device::Cpu).unwrap_err().to_string();
        assert!(error.contains("it holds 10 numbers, where training this model needs 9 at most"), "{error}");
    }
}
