//! `headroom completions`: what a shell completes after `headroom`.

use clap::CommandFactory;

use super::{
    args::{Cli, CompletionsArgs},
    error::CliResult,
    print,
};

/// Prints the script of a shell.
pub fn run(args: &CompletionsArgs) -> CliResult {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "headroom", &mut script);
    print::block(&String::from_utf8_lossy(&script))
}
