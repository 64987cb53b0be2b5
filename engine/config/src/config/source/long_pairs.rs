//! Treatment of pairs that are too long.

use serde::{Deserialize, Serialize};

/// What becomes of pairs of which a side does not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LongPairs {
    /// They are left out, and counted.
    #[default]
    LeaveOut,
    /// The side is cut off, and they are counted.
    Truncate,
}

impl LongPairs {
    /// Both choices, for menus and conformance tests.
    pub const ALL: [Self; 2] = [Self::LeaveOut, Self::Truncate];

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(super) fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}
