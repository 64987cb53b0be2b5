mod analyse;
mod captured;
mod similarity;
mod spectra;

use std::path::PathBuf;

use safetensors::{Dtype, SafeTensors};

/// Expected values of an independent implementation in double precision.
struct Golden {
    name: String,
    bytes: Vec<u8>,
}

impl Golden {
    /// Every file of a folder.
    fn all(folder: &str) -> Vec<Self> {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(folder);
        let mut paths: Vec<PathBuf> = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        assert!(!paths.is_empty());
        let read = |path: PathBuf| Self {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            bytes: std::fs::read(path).unwrap(),
        };
        paths.into_iter().map(read).collect()
    }

    fn has(&self, name: &str) -> bool {
        SafeTensors::deserialize(&self.bytes).unwrap().tensor(name).is_ok()
    }

    /// Shape and numbers, whole numbers widened.
    fn get(&self, name: &str) -> (Vec<usize>, Vec<f64>) {
        let file = SafeTensors::deserialize(&self.bytes).unwrap();
        let tensor = file.tensor(name).unwrap();
        let words = tensor.data().chunks_exact(8).map(|word| word.try_into().unwrap());
        let values = match tensor.dtype() {
            Dtype::F64 => words.map(f64::from_le_bytes).collect(),
            Dtype::I64 => words.map(|word| i64::from_le_bytes(word) as f64).collect(),
            Dtype::U8 => tensor.data().iter().map(|byte| f64::from(*byte)).collect(),
            other => panic!("{name} has type {other:?}"),
        };
        (tensor.shape().to_vec(), values)
    }

    fn numbers(&self, name: &str) -> Vec<f64> {
        self.get(name).1
    }
}

/// The largest difference, relative to the largest expected number, is at most `tolerance`.
fn assert_close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).abs() / scale;
        assert!(error <= tolerance, "{what}[{place}]: {found} instead of {expected}, off by {error:e}");
    }
}

/// With zeros after the last one.
fn padded(values: &[f64], count: usize) -> Vec<f64> {
    let mut values = values.to_vec();
    values.resize(count, 0.0);
    values
}

/// With the last one repeated.
fn held(values: &[f64], count: usize) -> Vec<f64> {
    let mut values = values.to_vec();
    values.resize(count, *values.last().unwrap());
    values
}
