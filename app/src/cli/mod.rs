//! The command line: the same engine and the same store as the window, without one.
//!
//! [`main`] reads the arguments, opens the window when there is no command, and turns what happened into an exit
//! code: 0 done, 1 failed, 2 bad input. Answers go to standard output, everything else to standard error. One file a
//! command; `follow` is what `train` and `resume` share.

mod advise;
mod advise_model;
mod advise_words;
mod analyse;
mod analyses;
mod answers;
mod args;
mod bench_args;
mod bench_batch;
mod bench_forward;
mod bench_generate;
mod bench_memory;
mod bench_show;
mod bench_step;
mod bench_sweep;
mod chart;
mod common_args;
mod compare;
mod completions;
mod config_source;
mod conversion_args;
mod convert;
mod convert_args;
mod cross;
mod curves;
mod devices;
mod domains;
mod edit;
mod entry;
mod error;
mod estimate;
mod eval;
mod export;
mod fetch;
mod files;
mod follow;
mod generate;
mod generation_config;
#[cfg(test)]
mod handbook_commands;
mod hint;
mod job;
mod maps;
mod mixing;
mod more_seeds;
mod open;
mod panics;
mod plain;
mod predict;
mod presets;
mod preview;
mod print;
mod progress;
mod purge;
mod push;
mod queue;
mod race;
mod race_follow;
mod race_table;
mod refused;
mod repeat;
mod resume;
mod run_args;
mod runs;
mod scope;
mod session;
mod show;
mod show_directory;
mod signals;
mod sweep;
mod target;
mod train;
mod translate_eval;
#[cfg(test)]
mod window_actions;

pub use entry::main;
