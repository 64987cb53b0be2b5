//! Files of tensors as `torch.save` wrote them before `PyTorch` 1.6, and writes them still when asked: five pickles one behind the other
//! (a mark, the version, the machine's sizes, the table of tensors, the names of its storages), then each storage with the count of its
//! numbers before it. Pickles are read as data; every place is held against the file's length before a number is read.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    rc::Rc,
};

use super::pickle_reader::{LARGEST_PICKLE, MOST_TENSORS, Reader, Value, cut, large};

/// The first pickle: the number 0x1950a86a20f9469cfc6c.
const MARK: [u8; 15] = *b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";

/// The only version that there ever was.
const VERSION: i64 = 1001;

/// Bytes of the count before a storage.
const COUNT_BYTES: u64 = 8;

/// The entries of a table of tensors.
type Table = Vec<(Value, Value)>;

/// An open file, and the first byte and the bytes of each of its storages.
pub(super) struct LegacyFile {
    source: File,
    places: HashMap<Rc<str>, (u64, u64)>,
}

impl LegacyFile {
    /// True if a file begins as one of this kind.
    pub fn is_one(source: &mut File) -> io::Result<bool> {
        let mut begin = Vec::new();
        let _ = source.take(MARK.len() as u64).read_to_end(&mut begin)?;
        Ok(begin == MARK)
    }

    /// Reads the pickles of a file, and where its storages are.
    ///
    /// # Errors
    /// As the end of a sentence: if it is damaged, or its pickles hold anything but a table of tensors.
    pub fn open(mut source: File) -> Result<(Table, Self), String> {
        let told = |error: io::Error| error.to_string();
        let length = source.metadata().map_err(told)?.len();
        let _ = source.seek(SeekFrom::Start(MARK.len() as u64)).map_err(told)?;
        let mut bytes = Vec::new();
        let _ = (&source).take(LARGEST_PICKLE).read_to_end(&mut bytes).map_err(told)?;
        let mut reader = Reader::new(&bytes);
        let read = described(&mut reader);
        let (table, names) = match read {
            // What is cut off here goes on in the file.
            Err(_) if reader.is_cut && length > LARGEST_PICKLE => return large(),
            read => read?,
        };
        if names.len() > MOST_TENSORS {
            return large();
        }
        let mut place = (MARK.len() + bytes.len() - reader.bytes.len()) as u64;
        let mut places = HashMap::new();
        for name in names {
            let Some(dtype) = reader.storages.get(&name) else { return cut() };
            let mut count = [0; COUNT_BYTES as usize];
            let _ = source.seek(SeekFrom::Start(place)).map_err(told)?;
            if source.read_exact(&mut count).is_err() {
                return cut();
            }
            let size = u64::from_le_bytes(count).checked_mul(dtype.size_in_bytes() as u64);
            let first = place + COUNT_BYTES;
            let Some(end) = size.and_then(|size| first.checked_add(size)).filter(|end| *end <= length) else {
                return cut();
            };
            let _ = places.insert(name, (first, end - first));
            place = end;
        }
        Ok((table, Self { source, places }))
    }

    /// Bytes of a storage; none where there is none of that name.
    pub fn bytes_of(&self, name: &str) -> Option<u64> {
        self.places.get(name).map(|(_, bytes)| *bytes)
    }

    /// Reads `bytes` of a storage from its byte `first` on; none where there are not as many.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(&self, name: &str, first: u64, bytes: u64) -> io::Result<Option<Vec<u8>>> {
        let Some((start, length)) = self.places.get(name) else { return Ok(None) };
        if first.checked_add(bytes).is_none_or(|end| end > *length) {
            return Ok(None);
        }
        let mut source = &self.source;
        let _ = source.seek(SeekFrom::Start(start + first))?;
        let mut read = Vec::new();
        let taken = source.take(bytes).read_to_end(&mut read)?;
        Ok((taken as u64 == bytes).then_some(read))
    }
}

/// The entries of the table of tensors and the names of storages in their order, from the pickles behind the mark.
fn described(reader: &mut Reader<'_>) -> Result<(Table, Vec<Rc<str>>), String> {
    if !matches!(reader.value()?, Value::Number(VERSION)) {
        return cut();
    }
    let Value::Table(machine) = reader.value()? else { return cut() };
    let is_little = |(key, value): &(Value, Value)| match (key, value) {
        (Value::Text(key), Value::Flag(is_little)) if key.as_ref() == "little_endian" => Some(*is_little),
        _ => None,
    };
    if machine.iter().find_map(is_little) == Some(false) {
        let why = "its numbers begin with their largest byte; save it again on another machine, best as safetensors";
        return Err(why.to_owned());
    }
    let table = reader.table()?;
    let Value::List(names) = reader.value()? else { return cut() };
    Ok((table, names))
}

#[cfg(test)]
mod tests {
    use std::{io::Write as _, path::PathBuf};

    use candle_core::Device;

    use super::{super::pickle::Pickle, *};

    const FILE: &str = "pytorch_model.bin";

    /// A file that `torch.save(..., _use_new_zipfile_serialization=False)` wrote: `w` is 2 by 3, `turned` its transpose, `half` is 2 in
    /// 16 bits.
    fn whole() -> Vec<u8> {
        let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/models");
        std::fs::read(fixtures.join("legacy.bin")).unwrap()
    }

    fn open(bytes: &[u8]) -> Result<(tempfile::TempDir, Pickle), String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), bytes).unwrap();
        match Pickle::open(folder.path(), FILE) {
            Ok(pickle) => Ok((folder, pickle)),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn tensors_are_read_from_their_places() {
        let (_folder, pickle) = open(&whole()).unwrap();
        let shapes: Vec<(&str, &[usize])> = pickle.shapes().collect();
        assert_eq!(shapes, [("half", &[2][..]), ("turned", &[3, 2]), ("w", &[2, 3])]);
        let read = |name: &str| pickle.read(name, &Device::Cpu).unwrap();
        assert_eq!(read("w").to_vec2::<f32>().unwrap(), [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]);
        assert_eq!(read("turned").to_vec2::<f32>().unwrap(), [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]);
        let half = read("half").to_dtype(candle_core::DType::F32).unwrap();
        assert_eq!(half.to_vec1::<f32>().unwrap(), [0.5, -2.0]);
    }

    /// Every prefix, and every byte changed: refused, or read within the file.
    #[test]
    fn damage_is_told_and_nothing_is_believed() {
        let whole = whole();
        for length in 0..whole.len() {
            assert!(open(&whole[..length]).is_err(), "{length}");
        }
        for place in 0..whole.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = whole.clone();
                changed[place] = value;
                if let Ok((_folder, pickle)) = open(&changed) {
                    let names: Vec<String> = pickle.shapes().map(|(name, _)| name.to_owned()).collect();
                    for name in names {
                        drop(pickle.read(&name, &Device::Cpu));
                    }
                }
            }
        }
        // A count of numbers that the file does not have.
        let mut large = whole.clone();
        let place =
            whole.windows(8).rposition(|part| part == 6_u64.to_le_bytes() || part == 2_u64.to_le_bytes()).unwrap();
        large[place..place + 8].copy_from_slice(&(u64::MAX / 4).to_le_bytes());
        assert!(open(&large).err().unwrap().contains("cut off or damaged"));
    }

    #[test]
    fn code_is_refused_by_its_name_in_every_pickle() {
        let code = b"\x80\x02cposix\nsystem\nX\x04\x00\x00\x00true\x85R.";
        let version = b"\x80\x02M\xe9\x03.";
        let machine = b"\x80\x02}X\x0d\x00\x00\x00little_endian\x88s.";
        for before in [
            vec![],
            version.to_vec(),
            [&version[..], machine].concat(),
            [&version[..], machine, b"\x80\x02}."].concat(),
        ] {
            let why = open(&[&MARK[..], &before, code].concat()).err().unwrap();
            assert!(why.contains("asks to run \"posix.system\"") && why.contains("Nothing was executed"), "{why}");
        }
        let big = [&MARK[..], version, b"\x80\x02}X\x0d\x00\x00\x00little_endian\x89s."].concat();
        assert!(open(&big).err().unwrap().contains("largest byte"));
    }

    #[test]
    fn a_pickle_beyond_the_bound_is_refused() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&MARK).unwrap();
        file.write_all(&vec![b'N'; LARGEST_PICKLE as usize + 1]).unwrap();
        assert!(LegacyFile::open(file).err().unwrap().contains("larger than any"));
        let mut file = tempfile::tempfile().unwrap();
        let text = [&b"\x80\x02X"[..], &u32::MAX.to_le_bytes()].concat();
        file.write_all(&[&MARK[..], &text].concat()).unwrap();
        assert!(LegacyFile::open(file).err().unwrap().contains("cut off"));
    }
}
