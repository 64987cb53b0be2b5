//! Questions about paragraphs: their files, and how an answer is read out of a paragraph.

use egui::Ui;
use headroom_engine::config::{SquadSource, TaskConfig};

use super::{
    super::{
        field::Words,
        form::{Form, note_ui},
    },
    shared_words::VALIDATION_PATH,
    sources::{SourceContext, SourceForm},
};
use crate::file_dialogs::{Ask, Pick};

const FILE: Words =
    Words::new("data.path", "SQuAD file", "A .json file of SQuAD v1.1 or v2.0; gzipped where it ends in .gz.");
const STRIDE: Words = Words::new(
    "task.doc_stride",
    "Window step",
    "A paragraph that does not fit beside its question is read in windows, each of which begins so many tokens after the one \
     before it. A smaller step shows every answer in more of its surroundings, and makes more windows.",
)
.unit("tokens");
const LONGEST: Words =
    Words::new("task.max_answer", "Longest answer", "No answer that is given has more tokens than these.")
        .unit("tokens");
const NO_ANSWER: Words = Words::new(
    "task.no_answer_threshold",
    "No answer from",
    "No answer is given where the score of there being none exceeds that of the best answer by more than this: the higher it is, \
     the fewer questions stay without an answer. 0: the higher score decides. It counts where questions may have no answer, as \
     in SQuAD v2.0.",
);

const STRICT: Words = Words::new(
    "data.strict",
    "Misplaced answers",
    "An answer may stand elsewhere in its paragraph than the file says: such questions are left out and counted, or the file is refused.",
);

/// Of such data and their task.
const WORDS: [Words; 6] = [FILE, VALIDATION_PATH, STRICT, STRIDE, LONGEST, NO_ANSWER];

impl SourceForm for SquadSource {
    fn words(&self) -> &'static [Words] {
        &WORDS
    }

    fn ui(&mut self, ui: &mut Ui, form: &mut Form<'_>, context: SourceContext<'_>) {
        questions_ui(ui, form, self, context.task);
    }
}

/// The files, and the task's own numbers.
fn questions_ui(ui: &mut Ui, form: &mut Form<'_>, squad: &mut SquadSource, task: &mut Option<TaskConfig>) {
    note_ui(ui, "A SQuAD file, v1.1 or v2.0: the model learns where in its paragraph the answer to a question stands.");
    form.path(ui, FILE, &mut squad.path, &[Pick::File], |pick| Ask::new(pick, FILE.label));
    let mut written = squad.validation_path.clone().unwrap_or_default();
    if form.path(ui, VALIDATION_PATH, &mut written, &[Pick::File], |pick| Ask::new(pick, VALIDATION_PATH.label)) {
        squad.validation_path = Some(written).filter(|path| !path.as_os_str().is_empty());
    }
    let choices = [(false, "Leave the questions out"), (true, "Refuse the file")];
    form.choice(ui, STRICT, &mut squad.strict, &choices);
    if let Some(TaskConfig::Span(span)) = task {
        form.size(ui, STRIDE, &mut span.doc_stride, 16);
        form.size(ui, LONGEST, &mut span.max_answer, 5);
        form.decimal(ui, NO_ANSWER, &mut span.no_answer_threshold);
    }
}
