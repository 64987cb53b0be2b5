//! `pytorch_model.bin`: tensors in an archive, or one behind the other in files from before `PyTorch` 1.6, and a pickle that says what they
//! are called. A pickle is a program; this one is read as data: the few operations that build a table of tensors are understood, everything
//! else is refused by its name, and nothing is ever executed.

use std::{
    collections::BTreeMap,
    fs::File,
    path::{Path, PathBuf},
};

use candle_core::{DType, Device, Tensor};

use super::{
    CheckpointError,
    archive::{Archive, ArchiveError},
    legacy_pickle::LegacyFile,
    pickle_reader::{LARGEST_PICKLE, Reader, TensorValue, Value, large},
};
use crate::{data::open_file, model::ModelError};

/// What a tensor of the archive is.
struct Entry {
    dtype: DType,
    /// The name of its numbers in the archive.
    storage: String,
    /// Its first number there.
    first: usize,
    shape: Vec<usize>,
    stride: Vec<usize>,
}

/// Source of the numbers.
enum Storages {
    Archive {
        archive: Archive,
        /// Beginning of entries.
        folder: String,
    },
    Legacy(LegacyFile),
}

impl Storages {
    /// Bytes of a storage; none where there is none of that name.
    fn bytes_of(&self, name: &str) -> Option<u64> {
        match self {
            Self::Archive { archive, folder } => archive.bytes_of(&format!("{folder}data/{name}")),
            Self::Legacy(file) => file.bytes_of(name),
        }
    }

    /// Reads `bytes` of a storage from its byte `first` on; none where there are not as many.
    fn read(&self, name: &str, first: u64, bytes: u64) -> Result<Option<Vec<u8>>, ArchiveError> {
        match self {
            Self::Archive { archive, folder } => archive.read(&format!("{folder}data/{name}"), first, bytes),
            Self::Legacy(file) => Ok(file.read(name, first, bytes)?),
        }
    }
}

/// A file of pickled tensors with its table.
pub(super) struct Pickle {
    storages: Storages,
    entries: BTreeMap<String, Entry>,
    file: String,
    dir: PathBuf,
}

impl Pickle {
    /// Opens a file of `dir` and reads its table, no numbers.
    ///
    /// # Errors
    /// If it is not there or damaged, or its pickle would do anything but name tensors.
    pub fn open(dir: &Path, file: &str) -> Result<Self, CheckpointError> {
        let damaged = |why: String| CheckpointError::Settings {
            file: file.to_owned(),
            why: format!("{why}."),
            path: dir.to_owned(),
        };
        let mut opened = open_file(&dir.join(file)).map_err(CheckpointError::io(&format!("read {file}"), dir))?;
        let is_legacy = LegacyFile::is_one(&mut opened).map_err(CheckpointError::io(&format!("read {file}"), dir))?;
        let (table, storages) = if is_legacy { legacy(opened) } else { archived(opened) }.map_err(damaged)?;
        let mut entries = BTreeMap::new();
        for pair in table {
            match pair {
                (Value::Text(name), Value::Tensor(tensor)) => {
                    let TensorValue { dtype, storage, first, shape, stride } = tensor.as_ref();
                    let entry = Entry {
                        dtype: *dtype,
                        storage: storage.to_string(),
                        first: *first,
                        shape: shape.clone(),
                        stride: stride.clone(),
                    };
                    let _ = entries.insert(name.to_string(), entry);
                }
                (Value::Text(name), _) => {
                    return Err(damaged(format!("\"{name}\" in it is no tensor; it holds more than weights")));
                }
                _ => return Err(damaged("it holds something that has no name".to_owned())),
            }
        }
        Ok(Self { storages, entries, file: file.to_owned(), dir: dir.to_owned() })
    }

    /// Names and shapes of its tensors.
    pub fn shapes(&self) -> impl Iterator<Item = (&str, &[usize])> {
        self.entries.iter().map(|(name, entry)| (name.as_str(), entry.shape.as_slice()))
    }

    /// True if two tensors are the same numbers of the file.
    pub fn are_one(&self, first: &str, second: &str) -> bool {
        let place = |name: &str| {
            let Entry { dtype, storage, first, shape, stride } = self.entries.get(name)?;
            Some((dtype, storage, first, shape, stride))
        };
        place(first).is_some() && place(first) == place(second)
    }

    /// Reads one tensor; the numbers of the others are passed over.
    ///
    /// # Errors
    /// If numbers are missing, or lie in an order that no weights have.
    pub fn read(&self, name: &str, device: &Device) -> Result<Tensor, CheckpointError> {
        let (file, dir) = (&self.file, &self.dir);
        let damaged = |why: String| CheckpointError::Damaged { file: file.clone(), why, path: dir.clone() };
        let Some(entry) = self.entries.get(name) else { return Err(damaged(format!("it has no tensor {name:?}"))) };
        if self.storages.bytes_of(&entry.storage).is_none() {
            return Err(damaged(format!("the numbers of {name:?} are missing")));
        }
        let bytes = entry.dtype.size_in_bytes();
        let (first, count) = (entry.first.checked_mul(bytes), span(entry).and_then(|count| count.checked_mul(bytes)));
        let (Some(first), Some(count)) = (first, count) else {
            return Err(damaged(format!("{name:?} has no size")));
        };
        // Known before anything is allocated.
        let values = self.storages.read(&entry.storage, first as u64, count as u64);
        let values = values.map_err(|error| damaged(error.to_string()))?;
        let values = values.ok_or_else(|| damaged(format!("the numbers of {name:?} are fewer than its shape says")))?;
        let tensor = arranged(&values, entry, device).map_err(ModelError::from);
        let tensor = tensor.map_err(|source| CheckpointError::Tensor { source, path: dir.clone() })?;
        tensor.ok_or_else(|| damaged(format!("the numbers of {name:?} lie in an order that is not read")))
    }
}

/// Entries of a table of tensors, and where their numbers are.
type Contents = (Vec<(Value, Value)>, Storages);

/// The contents of an archive.
fn archived(opened: File) -> Result<Contents, String> {
    let wrong = |error: ArchiveError| error.to_string();
    let archive = Archive::open(opened).map_err(wrong)?;
    let table = archive.names().find(|name| *name == "data.pkl" || name.ends_with("/data.pkl")).map(str::to_owned);
    let Some(table) = table else { return Err("it has no table of tensors (data.pkl)".to_owned()) };
    let folder = table.strip_suffix("data.pkl").unwrap_or_default().to_owned();
    let order = archive.read(&format!("{folder}byteorder"), 0, 3).map_err(wrong)?;
    if order.as_deref() == Some(b"big") {
        return Err("its numbers begin with their largest byte; save it again on another machine, best as safetensors"
            .to_owned());
    }
    let length = archive.bytes_of(&table).unwrap_or_default();
    if length > LARGEST_PICKLE {
        return large();
    }
    let bytes = archive.read(&table, 0, length).map_err(wrong)?.unwrap_or_default();
    Ok((Reader::new(&bytes).table()?, Storages::Archive { archive, folder }))
}

/// The contents of a file from before `PyTorch` 1.6.
fn legacy(opened: File) -> Result<Contents, String> {
    let (table, file) = LegacyFile::open(opened)?;
    Ok((table, Storages::Legacy(file)))
}

/// From the first to the last number of a tensor.
fn span(entry: &Entry) -> Option<usize> {
    let mut last = 0_usize;
    for (size, stride) in entry.shape.iter().zip(&entry.stride) {
        last = last.checked_add(size.checked_sub(1)?.checked_mul(*stride)?)?;
    }
    last.checked_add(1)
}

/// The tensor; none where its numbers lie neither row by row nor, of a matrix, column by column.
fn arranged(bytes: &[u8], entry: &Entry, device: &Device) -> candle_core::Result<Option<Tensor>> {
    let mut rows: Vec<usize> = Vec::with_capacity(entry.shape.len());
    let mut stride = 1_usize;
    for size in entry.shape.iter().rev() {
        rows.push(stride);
        stride = stride.saturating_mul(*size);
    }
    rows.reverse();
    let is = |strides: &[usize]| {
        entry.stride.iter().zip(strides).zip(&entry.shape).all(|((a, b), size)| a == b || *size == 1)
    };
    if is(&rows) {
        return Tensor::from_raw_buffer(bytes, entry.dtype, &entry.shape, device).map(Some);
    }
    match *entry.shape.as_slice() {
        [a, b] if is(&[1, a]) => {
            Tensor::from_raw_buffer(bytes, entry.dtype, &[b, a], device)?.t()?.contiguous().map(Some)
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::File, io::Write as _};

    use zip::{ZipWriter, write::SimpleFileOptions};

    use super::super::pickle_reader::{MOST_MEMBERS, MOST_REMEMBERED, MOST_TENSORS, MOST_WAITING};
    use super::*;

    const FILE: &str = "pytorch_model.bin";

    fn archive(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = ZipWriter::new(File::create(folder.path().join(FILE)).unwrap());
        for (name, bytes) in files {
            writer.start_file(*name, SimpleFileOptions::default()).unwrap();
            writer.write_all(bytes).unwrap();
        }
        let _ = writer.finish().unwrap();
        folder
    }

    fn told(files: &[(&str, &[u8])]) -> String {
        let folder = archive(files);
        match Pickle::open(folder.path(), FILE).and_then(|pickle| pickle.read("w", &Device::Cpu)) {
            Ok(found) => panic!("{found:?}"),
            Err(error) => error.to_string(),
        }
    }

    /// A matrix `[2, 3]` of 32-bit numbers named `w`, as `torch.save` writes it.
    const TABLE: &[u8] = b"\x80\x02}q\x00(X\x01\x00\x00\x00wctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x06tQK\x00K\x02K\x03\x86K\x03K\x01\x86\x89ccollections\nOrderedDict\n)RtRu.";

    fn numbers() -> Vec<u8> {
        (0..6_u8).flat_map(|number| f32::from(number).to_le_bytes()).collect()
    }

    #[test]
    fn tensors_are_read() {
        let folder = archive(&[("archive/data.pkl", TABLE), ("archive/data/0", &numbers())]);
        let pickle = Pickle::open(folder.path(), FILE).unwrap();
        assert_eq!(pickle.shapes().collect::<Vec<_>>(), [("w", &[2, 3][..])]);
        let tensor = pickle.read("w", &Device::Cpu).unwrap();
        assert_eq!(tensor.to_vec2::<f32>().unwrap(), [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]);
    }

    #[test]
    fn columns_are_read_as_rows() {
        let mut turned = TABLE.to_vec();
        let place = turned.windows(5).position(|part| part == b"K\x03K\x01\x86").unwrap();
        turned[place..place + 5].copy_from_slice(b"K\x01K\x02\x86");
        let folder = archive(&[("archive/data.pkl", &turned), ("archive/data/0", &numbers())]);
        let tensor = Pickle::open(folder.path(), FILE).unwrap().read("w", &Device::Cpu).unwrap();
        assert_eq!(tensor.to_vec2::<f32>().unwrap(), [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]);
    }

    #[test]
    fn a_pickle_with_code_is_refused_by_its_name() {
        let code = b"\x80\x02cposix\nsystem\nX\x04\x00\x00\x00true\x85R.";
        let why = told(&[("archive/data.pkl", code)]);
        assert!(why.contains("asks to run \"posix.system\"") && why.contains("Nothing was executed"), "{why}");
        // Names from the stack are not looked at.
        let why = told(&[("archive/data.pkl", b"\x80\x04X\x05\x00\x00\x00posixX\x06\x00\x00\x00system\x93.")]);
        assert!(why.contains("0x93"), "{why}");
    }

    #[test]
    fn no_file_decides_how_deep_its_values_are() {
        let tuples = [b"\x80\x02)".to_vec(), vec![0x85; 1 << 20], b".".to_vec()].concat();
        assert!(told(&[("archive/data.pkl", &tuples)]).contains("cut off"));
        // A table as an entry of a table as an entry of a table ...
        let tables =
            [b"\x80\x02".to_vec(), b"}K\x01".repeat(1 << 18), b"}".to_vec(), b"s".repeat(1 << 18), b".".to_vec()]
                .concat();
        let why = told(&[("archive/data.pkl", &tables)]);
        assert!(!why.is_empty(), "{why}");
    }

    /// 63 MB of a pickle took 3.1 GB of memory.
    #[test]
    fn a_pickle_is_bounded_in_every_way_that_grows() {
        let pickle = |parts: &[Vec<u8>]| [b"\x80\x02".to_vec(), parts.concat(), b".".to_vec()].concat();
        let said = |bytes: Vec<u8>| told(&[("archive/data.pkl", &bytes)]);
        let at = |most: usize, one: &[u8]| vec![one.repeat(most)];
        for (most, one) in [(MOST_WAITING, &b"N"[..]), (MOST_WAITING, b"]"), (MOST_WAITING, b"}"), (MOST_WAITING, b"(")]
        {
            assert!(!said(pickle(&at(most, one))).contains("larger than any"), "{one:?}");
            assert!(said(pickle(&at(most + 1, one))).contains("larger than any"), "{one:?}");
        }
        let members = |count: usize| said(pickle(&[b"(".to_vec(), b"N".repeat(count), b"t".to_vec()]));
        assert!(
            !members(MOST_MEMBERS).contains("larger than any") && members(MOST_MEMBERS + 1).contains("larger than any")
        );
        let remembered = |count: usize| {
            let places = (0..count as u32).flat_map(|place| [&b"r"[..], &place.to_le_bytes()].concat());
            said(pickle(&[b"N".to_vec(), places.collect()]))
        };
        assert!(!remembered(MOST_REMEMBERED).contains("larger than any"));
        assert!(remembered(MOST_REMEMBERED + 1).contains("larger than any"));
        let entries = |count: usize| said(pickle(&[b"}".to_vec(), b"NNs".repeat(count)]));
        assert!(
            !entries(MOST_TENSORS).contains("larger than any") && entries(MOST_TENSORS + 1).contains("larger than any")
        );
        let blank = vec![b'N'; LARGEST_PICKLE as usize + 1];
        assert!(said(blank).contains("larger than any"));
    }

    #[test]
    fn damage_is_told() {
        let whole = numbers();
        for (files, expected) in [
            (&[("archive/other", &whole[..])][..], "no table of tensors"),
            (&[("archive/data.pkl", &TABLE[..40])], "cut off"),
            (&[("archive/data.pkl", TABLE)], "numbers of \"w\" are missing"),
            (&[("archive/data.pkl", TABLE), ("archive/data/0", &whole[..20])], "fewer than its shape says"),
            (&[("archive/data.pkl", b"\x80\x02K\x01.")], "no table of tensors but"),
        ] {
            let why = told(files);
            assert!(why.contains(expected), "{why}");
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), b"\x80\x02}.").unwrap();
        let why = Pickle::open(folder.path(), FILE).err().unwrap().to_string();
        assert!(why.contains("no file of weights as PyTorch writes them"), "{why}");
    }
}
