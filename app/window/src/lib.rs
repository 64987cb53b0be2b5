//! The window: its state, its panels, and its door to an engine.

use headroom_figures::{export, format, plot, theme};
#[cfg(test)]
use headroom_results::examples;
use headroom_results::{compare, findings, measured};
use headroom_widgets::{keys, widgets};

pub mod common;
pub mod context;
pub mod door;
pub mod file_dialogs;
pub mod fonts;
pub mod link;
pub mod messages;
pub mod panels;
pub mod race_dialog;
pub mod settings;
pub mod shell;
pub mod state;
pub mod window;
