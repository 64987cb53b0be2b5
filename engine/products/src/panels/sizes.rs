//! Sizes of panels and tiles.

/// Rows of a tile: with two vectors of columns, 24 sums stand in registers, beside two of columns and one of a row.
pub const ROWS: usize = 12;

/// Columns of a tile.
pub const COLUMNS: usize = 2 * LANES;

/// Words of a vector.
pub const LANES: usize = 16;

/// The most words of a panel: a panel of rows takes a third of the first cache.
pub const DEPTH: usize = 256;

/// Words from one row of a panel to the next, where they lie along it: rows begin at different places of the caches.
pub const ROW_ROOM: usize = DEPTH + LANES;

/// Words of a panel of rows.
pub const PANEL_OF_ROWS: usize = ROWS * ROW_ROOM;

/// The farthest that places may lie apart for tiles to read them as they are, in numbers.
pub const FAR: usize = 4_096;
