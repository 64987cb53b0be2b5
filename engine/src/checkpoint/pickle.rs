//! `pytorch_model.bin`: tensors in an archive, or one behind the other in files from before `PyTorch` 1.6, and a pickle that says what they
//! are called. A pickle is a program; this one is read as data: the few operations that build a table of tensors are understood, everything
//! else is refused by its name, and nothing is ever executed.

use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    path::{Path, PathBuf},
    rc::Rc,
};

use candle_core::{DType, Device, Tensor};

use super::{
    CheckpointError,
    archive::{Archive, ArchiveError},
    legacy_pickle::LegacyFile,
};
use crate::{data::open_file, model::ModelError};

/// The most bytes of the pickle itself, which holds names and shapes alone.
pub(super) const LARGEST_PICKLE: u64 = 16 << 20;

/// The most values that wait on the stack, and marks between them: a table puts down two thousand of them at once.
const MOST_WAITING: usize = 1 << 16;

/// The most values that are remembered to be named again: some ten a tensor.
const MOST_REMEMBERED: usize = 1 << 20;

/// The most members of a tuple: those of tensors have a handful.
const MOST_MEMBERS: usize = 64;

/// The most entries of the table of tensors.
pub(super) const MOST_TENSORS: usize = 1 << 17;

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

/// A value of the pickle.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Plain,
    Flag(bool),
    Number(i64),
    Text(Rc<str>),
    Tuple(Rc<[Value]>),
    /// What is built up: only the table of tensors is read again.
    Table(Vec<(Value, Value)>),
    /// The texts of a list.
    List(Vec<Rc<str>>),
    Global(Rc<str>),
    Storage {
        dtype: DType,
        name: Rc<str>,
    },
    Tensor(Rc<TensorValue>),
}

#[derive(Debug)]
pub(super) struct TensorValue {
    dtype: DType,
    storage: Rc<str>,
    first: usize,
    shape: Vec<usize>,
    stride: Vec<usize>,
}

const REBUILD: &str = "torch._utils _rebuild_tensor_v2";
const PARAMETER: &str = "torch._utils _rebuild_parameter";
const TABLE: &str = "collections OrderedDict";

/// The number format of a class of storages.
fn dtype_of(class: &str) -> Option<DType> {
    Some(match class.strip_prefix("torch ")? {
        "FloatStorage" => DType::F32,
        "DoubleStorage" => DType::F64,
        "HalfStorage" => DType::F16,
        "BFloat16Storage" => DType::BF16,
        "LongStorage" => DType::I64,
        "ByteStorage" | "BoolStorage" => DType::U8,
        _ => return None,
    })
}

/// Reads a pickle: bytes, what was put on the stack, and what was remembered.
pub(super) struct Reader<'a> {
    /// Bytes that were not read yet.
    pub bytes: &'a [u8],
    /// The number format of every storage that was named.
    pub storages: HashMap<Rc<str>, DType>,
    /// True if more bytes were asked for than there are.
    pub is_cut: bool,
    stack: Vec<Value>,
    marks: Vec<usize>,
    memo: HashMap<u32, Value>,
}

/// Why a pickle is refused.
pub(super) fn cut<T>() -> Result<T, String> {
    Err("its table of tensors is cut off or damaged".to_owned())
}

/// The same, for what no table of tensors has as much of.
pub(super) fn large<T>() -> Result<T, String> {
    Err("its pickle is larger than any model's table of tensors".to_owned())
}

impl<'a> Reader<'a> {
    /// A reader at the beginning of a pickle.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            storages: HashMap::new(),
            is_cut: false,
            stack: Vec::new(),
            marks: Vec::new(),
            memo: HashMap::new(),
        }
    }

    fn take(&mut self, count: usize) -> Result<&[u8], String> {
        let Some((taken, rest)) = self.bytes.split_at_checked(count) else {
            self.is_cut = true;
            return cut();
        };
        self.bytes = rest;
        Ok(taken)
    }

    /// A little-endian number of some bytes.
    fn number(&mut self, bytes: usize) -> Result<u64, String> {
        Ok(self.take(bytes)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn line(&mut self) -> Result<String, String> {
        let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') else {
            self.is_cut = true;
            return cut();
        };
        let line = String::from_utf8_lossy(self.take(end)?).into_owned();
        let _ = self.take(1)?;
        Ok(line)
    }

    fn pop(&mut self) -> Result<Value, String> {
        self.stack.pop().map_or_else(cut, Ok)
    }

    fn popped(&mut self, count: usize) -> Result<Vec<Value>, String> {
        match self.stack.len().checked_sub(count) {
            Some(first) => Ok(self.stack.split_off(first)),
            None => cut(),
        }
    }

    fn since_mark(&mut self) -> Result<Vec<Value>, String> {
        match self.marks.pop().filter(|mark| *mark <= self.stack.len()) {
            Some(mark) => Ok(self.stack.split_off(mark)),
            None => cut(),
        }
    }

    fn text(&mut self, bytes: usize) -> Result<Value, String> {
        let length = usize::try_from(self.number(bytes)?).unwrap_or(usize::MAX);
        Ok(Value::Text(String::from_utf8_lossy(self.take(length)?).into()))
    }

    fn push(&mut self, value: Value) -> Result<(), String> {
        if self.stack.len() >= MOST_WAITING {
            return large();
        }
        self.stack.push(value);
        Ok(())
    }

    fn remember(&mut self, place: u64) -> Result<(), String> {
        let Some(value) = self.stack.last() else { return cut() };
        if self.memo.len() >= MOST_REMEMBERED {
            return large();
        }
        // Tables and lists are remembered while they are empty.
        let value = if is_nested(value) { Value::Plain } else { value.clone() };
        let _ = self.memo.insert(place as u32, value);
        Ok(())
    }

    fn recall(&mut self, place: u64) -> Result<(), String> {
        match self.memo.get(&(place as u32)).cloned() {
            Some(value) => self.push(value),
            None => cut(),
        }
    }

    fn put(&mut self, pairs: Vec<Value>) -> Result<(), String> {
        let Some(Value::Table(table)) = self.stack.last_mut() else { return Ok(()) };
        if table.len() + pairs.len() / 2 > MOST_TENSORS {
            return large();
        }
        let mut pairs = pairs.into_iter();
        while let (Some(key), Some(value)) = (pairs.next(), pairs.next()) {
            table.push((flat(key), flat(value)));
        }
        Ok(())
    }

    /// Appends to a list, of which only texts are kept.
    fn append(&mut self, values: Vec<Value>) -> Result<(), String> {
        let Some(Value::List(list)) = self.stack.last_mut() else { return Ok(()) };
        if list.len() + values.len() > MOST_TENSORS {
            return large();
        }
        list.extend(
            values.into_iter().filter_map(|value| if let Value::Text(text) = value { Some(text) } else { None }),
        );
        Ok(())
    }

    /// The value of the next pickle, without what it left on the stack and in the memo.
    pub fn value(&mut self) -> Result<Value, String> {
        self.run()?;
        let value = self.stack.pop();
        self.stack.clear();
        self.marks.clear();
        self.memo.clear();
        value.map_or_else(cut, Ok)
    }

    /// Reads operations up to the end of a pickle.
    fn run(&mut self) -> Result<(), String> {
        loop {
            let operation = self.number(1)? as u8;
            match operation {
                // The version of the protocol.
                0x80 => drop(self.take(1)?),
                b'.' => return Ok(()),
                b'(' if self.marks.len() >= MOST_WAITING => return large(),
                b'(' => self.marks.push(self.stack.len()),
                b'c' => {
                    let global = format!("{} {}", self.line()?, self.line()?);
                    if ![REBUILD, PARAMETER, TABLE].contains(&global.as_str()) && dtype_of(&global).is_none() {
                        return Err(format!(
                            "its pickle asks to run \"{}\", which is no part of a table of tensors. Nothing was executed; take a \
                             copy in safetensors, or convert it where you trust it",
                            global.replace(' ', ".")
                        ));
                    }
                    self.push(Value::Global(global.into()))?;
                }
                b'q' => {
                    let place = self.number(1)?;
                    self.remember(place)?;
                }
                b'r' => {
                    let place = self.number(4)?;
                    self.remember(place)?;
                }
                b'h' => {
                    let place = self.number(1)?;
                    self.recall(place)?;
                }
                b'j' => {
                    let place = self.number(4)?;
                    self.recall(place)?;
                }
                b'X' | b'T' => {
                    let text = self.text(4)?;
                    self.push(text)?;
                }
                0x8c | b'U' => {
                    let text = self.text(1)?;
                    self.push(text)?;
                }
                b'K' => {
                    let number = self.number(1)?;
                    self.push(Value::Number(number as i64))?;
                }
                b'M' => {
                    let number = self.number(2)?;
                    self.push(Value::Number(number as i64))?;
                }
                b'J' => {
                    let number = self.number(4)? as u32;
                    self.push(Value::Number(i64::from(number.cast_signed())))?;
                }
                0x8a => {
                    let bytes = self.number(1)? as usize;
                    if bytes > 8 {
                        return cut();
                    }
                    let number = self.number(bytes)?;
                    self.push(Value::Number(number as i64))?;
                }
                b'G' => {
                    let _ = self.take(8)?;
                    self.push(Value::Plain)?;
                }
                b'N' => self.push(Value::Plain)?,
                0x88 | 0x89 => self.push(Value::Flag(operation == 0x88))?,
                b']' => self.push(Value::List(Vec::new()))?,
                b')' => self.push(Value::Tuple(Rc::from([])))?,
                b'}' => self.push(Value::Table(Vec::new()))?,
                b't' => {
                    let values = self.since_mark()?;
                    self.push(tuple(values)?)?;
                }
                0x85..=0x87 => {
                    let values = self.popped(usize::from(operation - 0x84))?;
                    self.push(tuple(values)?)?;
                }
                b'a' => {
                    let value = self.pop()?;
                    self.append(vec![value])?;
                }
                b'e' => {
                    let values = self.since_mark()?;
                    self.append(values)?;
                }
                // Attributes of the table, such as its version, are of no use here.
                b'b' => drop(self.pop()?),
                b's' => {
                    let pair = self.popped(2)?;
                    self.put(pair)?;
                }
                b'u' => {
                    let pairs = self.since_mark()?;
                    self.put(pairs)?;
                }
                b'Q' => {
                    let id = self.pop()?;
                    let storage = storage(&id)?;
                    if let Value::Storage { dtype, name } = &storage {
                        if self.storages.len() >= MOST_TENSORS {
                            return large();
                        }
                        let _ = self.storages.insert(Rc::clone(name), *dtype);
                    }
                    self.push(storage)?;
                }
                b'R' => {
                    let (given, function) = (self.pop()?, self.pop()?);
                    self.push(built(&function, &given)?)?;
                }
                other => {
                    return Err(format!(
                        "its pickle has an operation ({other:#04x}) that a table of tensors does not need. Nothing was executed; \
                         take a copy in safetensors"
                    ));
                }
            }
        }
    }

    /// The table of tensors.
    pub fn table(&mut self) -> Result<Vec<(Value, Value)>, String> {
        match self.value()? {
            Value::Table(table) => Ok(table),
            _ => Err("it holds no table of tensors but something else".to_owned()),
        }
    }
}

/// True if a value is built up entry by entry.
fn is_nested(value: &Value) -> bool {
    matches!(value, Value::Table(_) | Value::List(_))
}

/// A table inside of something else is not read again: without its entries no file decides how deep ours are.
fn flat(value: Value) -> Value {
    if is_nested(&value) { Value::Plain } else { value }
}

/// A tuple. Those of tensors hold tuples of numbers and nothing deeper.
fn tuple(values: Vec<Value>) -> Result<Value, String> {
    let holds_tuples = |value: &Value| matches!(value, Value::Tuple(inner) if inner.iter().any(|value| matches!(value, Value::Tuple(_))));
    if values.len() > MOST_MEMBERS {
        return large();
    }
    if values.iter().any(holds_tuples) { cut() } else { Ok(Value::Tuple(values.into_iter().map(flat).collect())) }
}

/// `("storage", class, name, device, count)`, in files from before `PyTorch` 1.6 with a part of another storage behind, which is none.
fn storage(id: &Value) -> Result<Value, String> {
    let Value::Tuple(parts) = id else { return cut() };
    if parts.get(5).is_some_and(|part| !matches!(part, Value::Plain)) {
        return Err("its tensors are parts of one another, as PyTorch before 0.4 wrote them; save it again, best as safetensors".to_owned());
    }
    let [Value::Text(_), Value::Global(class), Value::Text(name), ..] = parts.as_ref() else { return cut() };
    match dtype_of(class) {
        Some(dtype) => Ok(Value::Storage { dtype, name: Rc::clone(name) }),
        None => cut(),
    }
}

/// What the two functions that are understood build.
fn built(function: &Value, given: &Value) -> Result<Value, String> {
    let (Value::Global(function), Value::Tuple(given)) = (function, given) else { return cut() };
    if function.as_ref() == TABLE {
        return Ok(Value::Table(Vec::new()));
    }
    if function.as_ref() == PARAMETER {
        return match given.first() {
            Some(tensor @ Value::Tensor(_)) => Ok(tensor.clone()),
            _ => cut(),
        };
    }
    let [Value::Storage { dtype, name }, Value::Number(first), Value::Tuple(shape), Value::Tuple(stride), ..] =
        given.as_ref()
    else {
        return cut();
    };
    let sizes = |values: &[Value]| -> Result<Vec<usize>, String> {
        let size = |value: &Value| match value {
            Value::Number(size) => usize::try_from(*size).or_else(|_| cut()),
            _ => cut(),
        };
        values.iter().map(size).collect()
    };
    let tensor = TensorValue {
        dtype: *dtype,
        storage: Rc::clone(name),
        first: usize::try_from(*first).or_else(|_| cut())?,
        shape: sizes(shape)?,
        stride: sizes(stride)?,
    };
    if function.as_ref() == REBUILD && tensor.shape.len() == tensor.stride.len() {
        Ok(Value::Tensor(Rc::new(tensor)))
    } else {
        cut()
    }
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
