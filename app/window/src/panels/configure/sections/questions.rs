//! Questions about paragraphs: their files, and how an answer is read out of a paragraph.

use egui::Ui;
use headroom_engine::config::{SquadSource, TaskConfig};

use super::{
    super::{
        field::field,
        form::{Form, note_ui},
    },
    sources::{SourceContext, SourceForm},
};
use crate::file_dialogs::{Ask, Pick};

impl SourceForm for SquadSource {
    fn ui(&mut self, ui: &mut Ui, form: &mut Form<'_>, context: SourceContext<'_>) {
        questions_ui(ui, form, self, context.task);
    }
}

/// The files, and the task's own numbers.
fn questions_ui(ui: &mut Ui, form: &mut Form<'_>, squad: &mut SquadSource, task: &mut Option<TaskConfig>) {
    note_ui(ui, "A SQuAD file, v1.1 or v2.0: the model learns where in its paragraph the answer to a question stands.");
    form.path(ui, field!("squad", "data.path"), &mut squad.path, &[Pick::File], |pick| {
        Ask::new(pick, field!("squad", "data.path").label)
    });
    form.optional_path(
        ui,
        field!("squad", "data.validation_path"),
        &mut squad.validation_path,
        &[Pick::File],
        |pick| Ask::new(pick, field!("squad", "data.validation_path").label),
    );
    form.named(ui, field!("data.strict"), &mut squad.strict, &[false, true]);
    if let Some(TaskConfig::Span(span)) = task {
        form.size(ui, field!("task.doc_stride"), &mut span.doc_stride);
        form.size(ui, field!("task.max_answer"), &mut span.max_answer);
        form.decimal(ui, field!("task.no_answer_threshold"), &mut span.no_answer_threshold);
    }
}
