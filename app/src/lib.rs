//! The window and the command line of Headroom.

pub mod cli;
pub mod common;
pub mod compare;
pub mod context;
pub mod door;
#[cfg(test)]
mod examples;
pub mod export;
pub mod file_dialogs;
mod findings;
pub mod fonts;
pub mod format;
pub mod keys;
pub mod link;
mod measured;
pub mod messages;
pub mod panels;
pub mod plot;
pub mod race_dialog;
pub mod settings;
pub mod shell;
pub mod state;
pub mod theme;
pub mod widgets;
pub mod window;

/// The program: opens the window, or carries out the command that its arguments name.
pub fn main() -> std::process::ExitCode {
    cli::main()
}
