//! The window and the command line of Headroom.

pub mod cli;
pub mod export;
pub mod widgets;

/// The program: opens the window, or carries out the command that its arguments name.
pub fn main() -> std::process::ExitCode {
    cli::main()
}
