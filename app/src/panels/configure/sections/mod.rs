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
mod probe;
mod reuse;
mod run;
mod table;
mod train;

pub use attention::attention_ui;
pub use data::{SourceMemory, data_ui, follow_architecture, follow_labels, follow_name, picked};
pub use head_editor::{HeadEditor, MarksWish};
pub use judged::Judged;
pub use model::model_ui;
pub use probe::probe_ui;
pub use run::run_ui;
pub use train::train_ui;
