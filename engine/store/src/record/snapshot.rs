use serde::{Deserialize, Serialize};

use crate::{analysis::PackedAnalysis, objective::ConfusionMatrix};

/// The kinds of snapshot that the engine writes; others may be added freely.
pub mod snapshot_kinds {
    /// Text that the model wrote, as UTF-8 (`dtype` "utf8").
    pub const SAMPLE: &str = "sample";
    /// The mixing matrix of a collaborative layer: heads that compute x shared columns (`dtype` "f32").
    pub const MIXING: &str = "mixing";
    /// How often each class was predicted where each is right, an [`crate::objective::ConfusionMatrix`] (`dtype` "json").
    pub const CONFUSION: &str = "confusion";
    /// What a look at the probe batch found, as JSON without its arrays (`dtype` "json").
    pub const ANALYSIS_FACTS: &str = "analysis/facts";
    /// The arrays of the same, one after the other (`dtype` "f32").
    pub const ANALYSIS_VALUES: &str = "analysis/values";
}

/// A small tensor or text to keep beside a run's curves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewSnapshot {
    /// Optimiser step.
    pub step: u64,
    /// What it is: one of [`snapshot_kinds`], or another word.
    pub kind: String,
    /// The layer, where it belongs to one.
    pub layer: Option<u32>,
    /// The head, where it belongs to one.
    pub head: Option<u32>,
    /// Element type: "f32", "u8", "utf8"; numbers are little-endian.
    pub dtype: String,
    /// Shape, outermost first; the number of bytes for text.
    pub shape: Vec<u64>,
    /// The elements.
    pub data: Vec<u8>,
}

impl NewSnapshot {
    /// A text sample.
    pub fn text(step: u64, text: impl Into<String>) -> Self {
        let data = text.into().into_bytes();
        let shape = vec![data.len() as u64];
        let (kind, dtype) = (snapshot_kinds::SAMPLE.to_owned(), "utf8".to_owned());
        Self { step, kind, layer: None, head: None, dtype, shape, data }
    }

    /// What a look at attention found.
    pub fn analysis(step: u64, packed: PackedAnalysis) -> [Self; 2] {
        let facts = packed.facts.into_bytes();
        let shape = vec![facts.len() as u64];
        let (kind, dtype) = (snapshot_kinds::ANALYSIS_FACTS.to_owned(), "json".to_owned());
        let values = Self::f32(step, snapshot_kinds::ANALYSIS_VALUES, vec![packed.values.len() as u64], &packed.values);
        [Self { step, kind, layer: None, head: None, dtype, shape, data: facts }, values]
    }

    /// How often classes were confused.
    pub fn confusion(step: u64, found: &ConfusionMatrix) -> Self {
        // Words and numbers are always JSON.
        let data = serde_json::to_vec(found).unwrap_or_default();
        let shape = vec![data.len() as u64];
        let (kind, dtype) = (snapshot_kinds::CONFUSION.to_owned(), "json".to_owned());
        Self { step, kind, layer: None, head: None, dtype, shape, data }
    }

    /// A tensor of 32-bit floats.
    pub fn f32(step: u64, kind: impl Into<String>, shape: Vec<u64>, values: &[f32]) -> Self {
        let data = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self { step, kind: kind.into(), layer: None, head: None, dtype: "f32".to_owned(), shape, data }
    }
}

/// A kept snapshot without its elements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotRecord {
    /// Key to ask for the elements with.
    pub id: i64,
    /// Optimiser step.
    pub step: u64,
    /// What it is.
    pub kind: String,
    /// The layer, where it belongs to one.
    pub layer: Option<u32>,
    /// The head, where it belongs to one.
    pub head: Option<u32>,
    /// Element type.
    pub dtype: String,
    /// Shape, outermost first.
    pub shape: Vec<u64>,
    /// When it was taken, unix milliseconds.
    pub created_ms: i64,
    /// Size of the elements.
    pub bytes: u64,
}

/// A kept snapshot with its elements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotData {
    /// What it is.
    pub record: SnapshotRecord,
    /// The elements, as in [`NewSnapshot::data`].
    pub data: Vec<u8>,
}

impl SnapshotData {
    /// The elements as 32-bit floats, if that is what they are.
    pub fn to_f32(&self) -> Option<Vec<f32>> {
        let (words, rest) = self.data.as_chunks::<4>();
        (self.record.dtype == "f32" && rest.is_empty())
            .then(|| words.iter().map(|word| f32::from_le_bytes(*word)).collect())
    }
}

/// A text that the model wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextSample {
    /// Optimiser step.
    pub step: u64,
    /// The text.
    pub text: String,
    /// When it was written, unix milliseconds.
    pub created_ms: i64,
}
