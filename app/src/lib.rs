//! The window and the command line of Headroom.

pub mod cli;
pub mod compare;
pub mod contest;
pub mod dialogs;
pub mod export;
mod findings;
pub mod fonts;
pub mod inspector;
pub mod keys;
pub mod link;
mod measured;
pub mod messages;
pub mod palette;
pub mod panels;
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
