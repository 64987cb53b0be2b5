//! The command line of Headroom, and its window.
//!
//! They stand on crates of their own, lowest first: `figures`, `widgets`, `results`, `window`. `app/README.md` draws them.

pub mod cli;

pub use headroom_figures::{export, format, plot, theme};
#[cfg(test)]
use headroom_results::examples;
pub use headroom_results::{compare, findings, measured};
pub use headroom_widgets::{keys, widgets};
pub use headroom_window::{
    common, context, door, file_dialogs, fonts, link, messages, panels, race_dialog, settings, shell, state, window,
};

/// The program: opens the window, or carries out the command that its arguments name.
pub fn main() -> std::process::ExitCode {
    cli::main()
}
