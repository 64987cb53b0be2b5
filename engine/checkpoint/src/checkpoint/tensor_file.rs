//! One safetensors file by its header: names, shapes and places are known and checked before a number is read, and then only
//! the tensors that are needed are read, each from its place.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    fs::File,
    io::{Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use candle_core::{Device, Tensor, safetensors::Load as _};
use safetensors::{Dtype, tensor::TensorView};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor},
};

use super::CheckpointError;
use crate::{
    data::{memory::words, open_file},
    model::ModelError,
};

/// The most bytes of a header, which holds names, shapes and a few lines about the file.
const LARGEST_HEADER: u64 = 32 << 20;

/// The most dimensions of a tensor.
const MOST_DIMENSIONS: usize = 16;

/// Bytes of a tensor that are compared at a time.
const PIECE: u64 = 1 << 20;

/// The key of the lines about the file.
const METADATA: &str = "__metadata__";

/// Format, shape and place of one tensor, as a header has them.
#[derive(Clone, Debug, Deserialize)]
struct Place {
    dtype: Dtype,
    shape: Vec<usize>,
    /// First byte behind the header, and the one behind the last.
    data_offsets: (u64, u64),
}

impl Place {
    /// Bytes of a tensor of this shape; none where they cannot be counted.
    fn bytes(&self) -> Option<u64> {
        let numbers = self.shape.iter().try_fold(1_u64, |product, size| product.checked_mul(*size as u64))?;
        let bits = numbers.checked_mul(self.dtype.bitsize() as u64)?;
        bits.is_multiple_of(8).then_some(bits / 8)
    }
}

/// Contents of a header.
struct Header {
    places: BTreeMap<String, Place>,
    metadata: HashMap<String, String>,
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Header;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object with an entry for each tensor")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header, A::Error> {
                let mut header = Header { places: BTreeMap::new(), metadata: HashMap::new() };
                while let Some(name) = map.next_key::<String>()? {
                    if name == METADATA {
                        header.metadata = map.next_value::<Option<_>>()?.unwrap_or_default();
                    } else {
                        let place: Place = map.next_value()?;
                        if place.shape.len() > MOST_DIMENSIONS {
                            return Err(A::Error::custom("a tensor in it has too many dimensions"));
                        }
                        if header.places.insert(name, place).is_some() {
                            return Err(A::Error::custom("it names a tensor twice"));
                        }
                    }
                }
                Ok(header)
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

/// A safetensors file whose header was read and checked.
#[derive(Debug)]
pub(super) struct TensorFile {
    dir: PathBuf,
    file: String,
    /// Bytes before the first tensor.
    first: u64,
    places: BTreeMap<String, Place>,
    metadata: HashMap<String, String>,
}

impl TensorFile {
    /// Reads the header of a file of `dir`. Its tensors lie one behind the other without gaps and fill the file to its end.
    ///
    /// # Errors
    /// If the file is not there, or its header does not describe it.
    pub fn open(dir: &Path, file: &str) -> Result<Self, CheckpointError> {
        let damaged = |why: String| CheckpointError::Damaged { file: file.to_owned(), why, path: dir.to_owned() };
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                CheckpointError::MissingFile { file: file.to_owned(), path: dir.to_owned() }
            }
            _ => CheckpointError::io(&format!("read {file}"), dir)(error),
        };
        let cut = || damaged("it is cut off within its header".to_owned());
        let mut source = open_file(&dir.join(file)).map_err(failed)?;
        let bytes = source.metadata().map_err(failed)?.len();
        let mut length = [0; 8];
        source.read_exact(&mut length).map_err(|_| cut())?;
        let length = u64::from_le_bytes(length);
        if length > bytes.saturating_sub(8) {
            return Err(cut());
        }
        if length > LARGEST_HEADER {
            return Err(damaged(format!(
                "its header has {}, more than the {} that are read",
                words(length),
                words(LARGEST_HEADER)
            )));
        }
        let mut header = Vec::new();
        let read = source.take(length).read_to_end(&mut header).map_err(failed)?;
        if read as u64 != length {
            return Err(cut());
        }
        let Header { places, metadata } =
            serde_json::from_slice(&header).map_err(|error| damaged(format!("its header cannot be read ({error})")))?;
        let first = 8 + length;
        check_places(&places, bytes - first).map_err(damaged)?;
        Ok(Self { dir: dir.to_owned(), file: file.to_owned(), first, places, metadata })
    }

    /// Names and shapes of its tensors.
    pub fn shapes(&self) -> impl Iterator<Item = (&str, &[usize])> {
        self.places.iter().map(|(name, place)| (name.as_str(), place.shape.as_slice()))
    }

    /// True if a tensor holds the same bytes as one of `other`, read piece by piece up to the first difference.
    ///
    /// # Errors
    /// If a file is gone or became shorter.
    pub fn holds_same(&self, name: &str, other: &Self, other_name: &str) -> Result<bool, CheckpointError> {
        let (Some(place), Some(other_place)) = (self.places.get(name), other.places.get(other_name)) else {
            return Ok(false);
        };
        let ((start, end), (other_start, other_end)) = (place.data_offsets, other_place.data_offsets);
        if place.dtype != other_place.dtype
            || place.shape != other_place.shape
            || end - start != other_end - other_start
        {
            return Ok(false);
        }
        let (mut ours, mut theirs) = (self.reader()?, other.reader()?);
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let mut done = 0;
        while done < end - start {
            let bytes = PIECE.min(end - start - done);
            ours.bytes(start + done, bytes, &mut a)?;
            theirs.bytes(other_start + done, bytes, &mut b)?;
            if a != b {
                return Ok(false);
            }
            done += bytes;
        }
        Ok(true)
    }

    /// Lines about the file.
    pub fn metadata(&self) -> &HashMap<String, String> {
        &self.metadata
    }

    /// Opens the file once more, to read tensors.
    ///
    /// # Errors
    /// If it is gone.
    pub fn reader(&self) -> Result<TensorReader<'_>, CheckpointError> {
        let source = open_file(&self.dir.join(&self.file))
            .map_err(CheckpointError::io(&format!("read {}", self.file), &self.dir))?;
        Ok(TensorReader { file: self, source })
    }
}

/// An open file of tensors.
pub(super) struct TensorReader<'a> {
    file: &'a TensorFile,
    source: File,
}

impl TensorReader<'_> {
    /// Reads bytes behind the header.
    fn bytes(&mut self, place: u64, bytes: u64, into: &mut Vec<u8>) -> Result<(), CheckpointError> {
        let TensorFile { dir, file, first, .. } = self.file;
        let failed = |error| CheckpointError::io(&format!("read {file}"), dir)(error);
        let _ = self.source.seek(SeekFrom::Start(first + place)).map_err(failed)?;
        into.clear();
        let read = (&mut self.source).take(bytes).read_to_end(into).map_err(failed)?;
        if read as u64 == bytes {
            return Ok(());
        }
        let why = "its numbers are cut off".to_owned();
        Err(CheckpointError::Damaged { file: file.clone(), why, path: dir.clone() })
    }

    /// Reads one tensor onto a device.
    ///
    /// # Errors
    /// If the file has no such tensor or became shorter, or the device fails.
    pub fn read(&mut self, name: &str, device: &Device) -> Result<Tensor, CheckpointError> {
        let TensorFile { dir, file, first, places, .. } = self.file;
        let damaged = |why: String| CheckpointError::Damaged { file: file.clone(), why, path: dir.clone() };
        let place = places.get(name).ok_or_else(|| damaged(format!("it has no tensor {name:?}")))?;
        let (start, end) = place.data_offsets;
        let length = usize::try_from(end - start).map_err(|_| damaged(format!("{name:?} fits into no memory")))?;
        let failed = |error| CheckpointError::io(&format!("read {file}"), dir)(error);
        let _ = self.source.seek(SeekFrom::Start(first + start)).map_err(failed)?;
        let mut bytes = vec![0; length];
        self.source.read_exact(&mut bytes).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => damaged(format!("the numbers of {name:?} are cut off")),
            _ => failed(error),
        })?;
        let view = TensorView::new(place.dtype, place.shape.clone(), &bytes)
            .map_err(|error| damaged(format!("{name:?} cannot be read ({error})")))?;
        view.load(device)
            .map_err(|error| CheckpointError::Tensor { source: ModelError::from(error), path: dir.clone() })
    }
}

/// Checks that tensors fill the bytes behind a header, each as large as its shape says.
fn check_places(places: &BTreeMap<String, Place>, bytes: u64) -> Result<(), String> {
    let mut ordered: Vec<(&String, &Place)> = places.iter().collect();
    ordered.sort_by_key(|(_, place)| place.data_offsets);
    let mut behind = 0;
    for (name, place) in ordered {
        let (start, end) = place.data_offsets;
        let name = crate::text::shortened(name, 120);
        if end < start || place.bytes() != Some(end - start) {
            return Err(format!(
                "the numbers of {name:?} are not as many as its shape {:?} and its format {:?} say",
                place.shape, place.dtype
            ));
        }
        if start != behind {
            return Err(format!("the numbers of {name:?} overlap those of another tensor, or leave a gap"));
        }
        behind = end;
    }
    if behind == bytes { Ok(()) } else { Err("it is shorter or longer than its header says".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "model.safetensors";

    fn open(header: &str, data: u64) -> Result<TensorFile, CheckpointError> {
        open_bytes(header.as_bytes(), header.len() as u64, data)
    }

    /// A file whose numbers take no space on disk, whatever it says of them.
    fn open_bytes(header: &[u8], length: u64, data: u64) -> Result<TensorFile, CheckpointError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        std::fs::write(&path, [&length.to_le_bytes()[..], header].concat()).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(8 + header.len() as u64 + data).unwrap();
        TensorFile::open(folder.path(), FILE)
    }

    #[test]
    fn a_header_describes_its_file_or_is_refused() {
        let good = r#"{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},"b":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]}}"#;
        let file = open(good, 12).unwrap();
        assert_eq!(file.shapes().collect::<Vec<_>>(), [("a", &[2][..]), ("b", &[1, 2])]);
        assert_eq!(file.metadata()["format"], "pt");
        let one = |shape: &str, offsets: &str| {
            format!(r#"{{"a":{{"dtype":"F32","shape":{shape},"data_offsets":{offsets}}}}}"#)
        };
        for (header, data, expected) in [
            (good.to_owned(), 11, "shorter or longer"),
            (good.to_owned(), 13, "shorter or longer"),
            (one("[2]", "[0,4]"), 4, "not as many"),
            (one("[2]", "[8,0]"), 8, "not as many"),
            (one("[4294967296,4294967296]", "[0,0]"), 0, "not as many"),
            (one("[18446744073709551615,2]", "[0,8]"), 8, "not as many"),
            (one("[2]", "[4,12]"), 12, "overlap"),
            (good.replace("[0,4]", "[4,8]"), 12, "overlap"),
            (one("[2]", "[0,8]").replace("F32", "F99"), 8, "cannot be read"),
            (one("[-1]", "[0,8]"), 8, "cannot be read"),
            (one(&format!("[{}1]", "1,".repeat(16)), "[0,4]"), 4, "too many dimensions"),
            ("[]".to_owned(), 0, "cannot be read"),
        ] {
            let error = open(&header, data).unwrap_err().to_string();
            assert!(error.contains(expected), "{header}: {error}");
        }
        let twice = format!("{{{0},{0}}}", one("[0]", "[0,0]").trim_matches(['{', '}']).to_owned() + "}");
        assert!(open(&twice, 0).unwrap_err().to_string().contains("twice"), "{twice}");
    }

    #[test]
    fn the_length_of_a_header_is_bounded() {
        let blank = |bytes: u64| {
            let mut header = vec![b' '; usize::try_from(bytes).unwrap()];
            header[..2].copy_from_slice(b"{}");
            open_bytes(&header, bytes, 0)
        };
        assert!(blank(LARGEST_HEADER).is_ok());
        let error = blank(LARGEST_HEADER + 1).unwrap_err().to_string();
        assert!(error.contains("more than the 32.0 MiB"), "{error}");
        for length in [3, 1 << 40, u64::MAX] {
            assert!(open_bytes(b"{}", length, 0).unwrap_err().to_string().contains("cut off within its header"));
        }
    }

    /// All numbers of the file were read, 40 GB of holes among them.
    #[test]
    fn tensors_are_read_from_their_places_alone() {
        const HOLE: u64 = 40 << 30;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let header = format!(
            r#"{{"hole":{{"dtype":"U8","shape":[{HOLE}],"data_offsets":[0,{HOLE}]}},"w":{{"dtype":"F32","shape":[2],"data_offsets":[{HOLE},{}]}}}}"#,
            HOLE + 8
        );
        std::fs::write(&path, [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat()).unwrap();
        let mut file = File::options().write(true).open(&path).unwrap();
        let _ = file.seek(SeekFrom::Start(8 + header.len() as u64 + HOLE)).unwrap();
        std::io::Write::write_all(&mut file, &[1.5_f32, -2.0].map(f32::to_le_bytes).concat()).unwrap();
        let opened = TensorFile::open(folder.path(), FILE).unwrap();
        let tensor = opened.reader().unwrap().read("w", &Device::Cpu).unwrap();
        assert_eq!(tensor.to_vec1::<f32>().unwrap(), [1.5, -2.0]);
        assert!(opened.reader().unwrap().read("x", &Device::Cpu).unwrap_err().to_string().contains("no tensor \"x\""));
        file.set_len(8 + header.len() as u64 + HOLE + 3).unwrap();
        let error = opened.reader().unwrap().read("w", &Device::Cpu).unwrap_err().to_string();
        assert!(error.contains("cut off"), "{error}");
    }
}
