//! What the panel remembers between starts.

use crate::{panels::analysis::MapStyle, plot::HeatScale};
use serde::{Deserialize, Serialize};

/// What the panel remembers between starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Memory {
    pub look: MapStyle,
    pub hides_special: bool,
    pub example: usize,
    pub written: String,
    pub is_written: bool,
    /// Whether all heads of a layer are shown as arcs between tokens.
    pub arcs: bool,
    /// The least attention of one of these arcs.
    pub arcs_from: f64,
}

impl Default for Memory {
    fn default() -> Self {
        // Rows are peaky: square roots show what is small beside it.
        let look = MapStyle { scale: HeatScale::SquareRoot, ..MapStyle::default() };
        let written = String::new();
        Self { look, hides_special: false, example: 0, written, is_written: false, arcs: false, arcs_from: 0.2 }
    }
}
