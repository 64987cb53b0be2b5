use serde::{Deserialize, Serialize};

use super::DeviceChoice;

/// The number format that a model computes in. Those of half size keep weights, gradients and moments in 32 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// 32-bit floats.
    #[default]
    F32,
    /// 32-bit floats, of which the tensor units of an NVIDIA GPU round the factors of matrix products to 11 bits of precision.
    Tf32,
    /// 64-bit floats: half the speed, for checking numerics.
    F64,
    /// 16-bit floats with 11 bits of precision and a small range; the loss is scaled so that gradients stay in it.
    F16,
    /// 16-bit floats with 8 bits of precision and the range of 32-bit ones. On the processor only factors of matrix products are
    /// rounded to them.
    Bf16,
}

impl Precision {
    /// Every precision, for menus and conformance tests.
    pub const ALL: [Self; 5] = [Self::F32, Self::Tf32, Self::F64, Self::F16, Self::Bf16];
    /// Those that are formats of numbers: all but the one that only says how `f32` is multiplied.
    pub const FORMATS: [Self; 4] = [Self::F32, Self::F64, Self::F16, Self::Bf16];

    /// Bytes of one number in the computation.
    pub fn bytes(self) -> u64 {
        match self {
            Self::F32 | Self::Tf32 => 4,
            Self::F64 => 8,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    /// The name in the config file.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Tf32 => "tf32",
            Self::F64 => "f64",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        }
    }

    /// What numbers are kept in on a device. On the processor those of `bf16` are kept in 32 bits: they are rounded where they
    /// are multiplied, in pairs whose products are summed in 32 bits.
    pub fn kept_on(self, device: DeviceChoice) -> Self {
        if self.is_paired_on(device) { Self::F32 } else { self }
    }

    /// Whether matrix products on this device are of pairs of bf16 that are made where they are multiplied.
    pub fn is_paired_on(self, device: DeviceChoice) -> bool {
        self == Self::Bf16 && device == DeviceChoice::Cpu
    }

    /// True for the formats of half size.
    pub fn is_half(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16)
    }

    /// Bytes of one weight, gradient or moment.
    pub fn weight_bytes(self) -> u64 {
        if self.is_half() { 4 } else { self.bytes() }
    }
}
