//! What the end-to-end tests share: the program in a folder of its own, the window on a screen of its own, tiny configs,
//! chance by seed.
#![expect(clippy::expect_used, clippy::panic, reason = "test code: a broken premise is to end the test")]

mod chance;
mod configs;
mod database;
#[cfg(unix)]
mod hostile;
#[cfg(target_os = "linux")]
mod hostile_files;
mod hub;
mod options;
mod program;
#[cfg(unix)]
mod removed;
mod window;

pub use chance::Chance;
pub use configs::{TINY_DECODER, TINY_ENCODER, TINY_TRANSLATION, sentences};
pub use database::{Holder, execute, hold, tamper};
#[cfg(unix)]
pub use hostile::{AS_PROGRAM, Counts, HostileStores, hot_journal};
#[cfg(target_os = "linux")]
pub use hostile_files::{FileOutcome, HostileFiles, MOST_MEMORY, Verdict, count_outcomes};
pub use hub::{Fault, Hub, LARGE, Repo, Request, TOKEN, USER, hash_of, listing, sha256_of};
pub use options::{number, text};
pub use program::{Answer, Program, Training, carry_out_commands};
#[cfg(unix)]
pub use removed::{Removals, remove_while_training};
pub use window::{
    EVERY_PANEL, EXAMPLE_STEPS, Painted, Screen, answer_all, answer_maps, answer_rebuilt, example_analysis,
    example_benchmark, example_current, example_reconstruction, example_record, example_run, example_runs,
    fill_with_analyses, fill_with_benchmarks, fill_with_control, fill_with_directory, fill_with_examples,
    fill_with_generation, fill_with_reconstruction, hub_facts, model_facts, push_contents, repo_facts,
};
