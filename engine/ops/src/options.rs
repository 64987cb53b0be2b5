//! Options of operations: what they take besides tensors.

use candle_core::{DType, Result, Tensor, bail};
use serde::{Deserialize, Serialize};

/// Which form of the unit a model was made with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gelu {
    /// `x Φ(x)` with the normal distribution function, by the error function: BERT's.
    #[default]
    Exact,
    /// `x (1 + tanh(sqrt(2/pi) (x + 0.044715 x³))) / 2`: GPT-2's, `gelu_new` in its configuration.
    Tanh,
}

/// Which keys each query may attend to.
#[derive(Clone, Debug, Default)]
pub struct MaskSpec {
    /// Whether key `j` is visible to query `i` only where `j <= i + (s - t)`: the last query sees every key.
    pub causal: bool,
    /// `[b, s]` of `u8`: one where a key may be attended to, zero where no query sees it (padding).
    pub keys: Option<Tensor>,
}

impl MaskSpec {
    /// Refuses a key mask of another shape than `[b, s]`, or another element type.
    ///
    /// # Errors
    /// With both shapes.
    pub(super) fn check(&self, b: usize, s: usize) -> Result<()> {
        match &self.keys {
            Some(keys) if keys.dims() != [b, s] || keys.dtype() != DType::U8 => bail!(
                "The key mask of {b} sequences of {s} keys must be of shape [{b}, {s}] and type U8, not {:?} and {:?}.",
                keys.shape(),
                keys.dtype()
            ),
            _ => Ok(()),
        }
    }
}

/// The label of a position that does not count.
pub const IGNORED_LABEL: i64 = -100;
