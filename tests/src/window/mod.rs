//! The real window without a platform: drawn, clicked and typed into by the names that a screen reader is told.

mod analyses;
mod benchmark;
mod example;
mod models;
mod panels;
mod reconstruction;
mod screen;

pub use analyses::{
    EXAMPLE_STEPS, answer_maps, example_analysis, example_run, fill_with_analyses, fill_with_control,
    fill_with_directory,
};
pub use benchmark::{example_benchmark, fill_with_benchmarks, fill_with_generation};
pub use example::{example_current, example_record, example_runs, fill_with_examples};
pub use models::{hub_facts, model_facts, push_contents, repo_facts};
pub use panels::{EVERY_PANEL, answer_all};
pub use reconstruction::{answer_rebuilt, example_reconstruction, fill_with_reconstruction};
pub use screen::{Painted, Screen};
