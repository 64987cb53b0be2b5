//! The engine of Headroom: everything that computes or keeps, and no window code.
//!
//! It stands on crates of its own, lowest first: `config`, `ops`, `model`, `data`, `analysis`, `train`, `checkpoint`,
//! `store`. `engine/README.md` draws them.

pub mod jobs;
pub mod machine;
pub mod protocol;
pub mod worker;

pub use headroom_analysis as analysis;
pub use headroom_checkpoint::{checkpoint, hub};
pub use headroom_config::{config, kinds_of_data, text};
pub use headroom_data as data;
pub use headroom_model::{attention, generate, model, objective};
pub use headroom_ops as ops;
pub use headroom_store as store;
pub use headroom_store::{GIT_COMMIT, GIT_DIRTY};
pub use headroom_train::{advise, convert, speed, train};
