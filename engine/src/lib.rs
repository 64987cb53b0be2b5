//! The engine of Headroom: everything that computes or keeps, and no window code.
//!
//! Rooms, lowest floor first; a room uses only rooms below it. `engine/README.md` draws the house.

pub mod analysis;
pub mod attention;
pub mod checkpoint;
pub mod config;
pub mod data;
pub mod generate;
pub mod model;
pub mod ops;
pub mod speed;
pub mod store;
pub mod train;
pub mod worker;
