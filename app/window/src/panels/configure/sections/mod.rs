//! The form's sections: every field of the config, in the order in which a researcher thinks of them.

mod answer;
mod attention;
mod compatibility;
mod coverage;
mod data;
mod examples;
mod head_editor;
mod judged;
mod matching;
mod model;
mod parts;
mod paths;
mod probe;
mod questions;
mod reuse;
mod run;
mod sources;
mod stopping;
mod table;
mod train;
mod translation;

pub use attention::attention_ui;
pub use data::{SourceMemory, data_ui, follow_labels, follow_model_kind, follow_name};
pub use head_editor::{HeadEditor, MarksWish};
pub use judged::Judged;
pub use model::model_ui;
pub use paths::picked;
pub use probe::probe_ui;
pub use run::run_ui;
pub use train::train_ui;
