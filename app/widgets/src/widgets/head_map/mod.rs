//! The head map: layers × heads, each cell by what it does with its attention map. Read-only, or to be clicked.
//!
//! [`HeadGrid`] is what is shown, [`HeadMap`] draws it and says what the user did. It knows nothing of configs.

mod draw;
mod grid;
mod layout;
mod map;
mod marks;

pub use grid::{HeadCell, HeadGrid, HeadSpot, group_letters};
pub use layout::{Arrow, HeadLayout};
pub use map::{HeadEdit, HeadMap, HeadMapResponse};
pub use marks::HeadMarks;
