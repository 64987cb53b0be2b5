//! The panels: what each shows, and what the window gives them to show it.
//!
//! A panel reads [`crate::state::State`], asks for what it shows (`state.series.want`, `state.want_record`), and tells
//! what the user wants as [`Action`]s. It never blocks, never talks to the engine and never reads a file.

pub mod compare;
mod context;
pub mod live;
pub mod runs;

pub use context::{Action, Panel, PanelContext, PanelId};
