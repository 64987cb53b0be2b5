//! The engine of Headroom: everything that computes or keeps, and no window code.
//!
//! Rooms, lowest floor first; a room uses only rooms below it. `engine/README.md` draws the house.

pub mod advise;
pub mod analysis;
pub mod attention;
pub mod checkpoint;
pub mod config;
pub mod convert;
pub mod data;
pub mod generate;
pub mod hub;
pub mod jobs;
pub mod machine;
pub mod model;
pub mod objective;
pub mod ops;
pub mod protocol;
pub mod speed;
pub mod store;
pub mod text;
pub mod train;
pub mod worker;

/// The commit that this program was built from; known in release builds from a repository.
pub const GIT_COMMIT: Option<&str> = option_env!("HEADROOM_GIT_COMMIT");

/// Whether there were changes on top of that commit.
pub const GIT_DIRTY: Option<bool> = match option_env!("HEADROOM_GIT_DIRTY") {
    Some(text) => Some(matches!(text.as_bytes(), b"true")),
    None => None,
};
