use serde::{Deserialize, Serialize};

/// The number format of weights, activations and gradients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// 32-bit floats.
    #[default]
    F32,
    /// 64-bit floats: half the speed, for checking numerics.
    F64,
}

impl Precision {
    /// Every precision, for menus and conformance tests.
    pub const ALL: [Self; 2] = [Self::F32, Self::F64];

    /// Bytes of one number.
    pub fn bytes(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// The name in the config file.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}
