use serde::{Deserialize, Serialize};

/// What is to be saved, and from where on; a part that is not there stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Wishes {
    /// Heads borrow maps that are at least this similar, 0..=1.
    pub similarity: Option<f64>,
    /// Queries and keys of all heads share as many dimensions as keep this share of their energy, 0..=1.
    pub energy: Option<f64>,
    /// Each query scores as many pairs as restore the others within this share of their energy, 0..=1.
    pub error: Option<f64>,
}

impl Wishes {
    /// Thresholds to begin with.
    pub const USUAL: Self = Self { similarity: Some(0.9), energy: Some(0.95), error: Some(0.05) };

    /// Whether nothing is to change.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
