//! Pairs of texts of the user's own, and what is scored of the translations.

use std::path::PathBuf;

use egui::Ui;
use headroom_engine::config::{LongPairs, PairsSource, TaskConfig, TranslationTask};

use super::super::{field::Words, form::Form};
use super::sources::{SourceContext, SourceForm};
use crate::file_dialogs::{Ask, Pick};

const SCORED: Words = Words::new(
    "task.scored_pairs",
    "Scored translations",
    "Held-out pairs that the model translates at each evaluation; what it writes is compared with the right translations: BLEU, \
     chrF, ROUGE. Empty: none.",
)
.empty("none");
const BEAMS: Words = Words::new(
    "task.beams",
    "Beams",
    "Translations that are followed at the same time while one is written for a score. 1: word by word the most probable; \
     more find better ones and take as much more time.",
);
const SOURCE: Words = Words::new(
    "data.source",
    "Texts",
    "A file with a text a line, whatever its name ends in; gzipped where it ends in .gz. Line n of the translations is the \
     translation of its line n.",
);
const TARGET: Words = Words::new("data.target", "Translations", "A file with as many lines as the texts.");
const TABLE: Words = Words::new(
    "data.path",
    "Or a table",
    "One file of both instead, separated by tabs: the text, then its translation.",
);
const HELD_OUT_SOURCE: Words = Words::new(
    "data.validation_source",
    "Held-out texts",
    "A file to evaluate on. When it is empty, a share of the pairs is held out.",
);
const HELD_OUT_TARGET: Words =
    Words::new("data.validation_target", "Held-out translations", "As many lines as the held-out texts.");
const HELD_OUT_TABLE: Words =
    Words::new("data.validation_path", "Or a held-out table", "A table to evaluate on, instead of two files.");
const TEXT: Words = Words::new(
    "data.text",
    "Text column",
    "The column of the texts: its name in the first line, or its number from 0, where the first line is a pair like the \
     others. Empty, both of them: the table has two columns and no names.",
)
.empty("the first");
const TRANSLATION: Words = Words::new(
    "data.text.second",
    "Translation column",
    "The column of the translations: its name in the first line, or its number from 0.",
)
.empty("the second");
const LONG: Words =
    Words::new("data.long", "Long pairs", "What becomes of pairs of which a side is longer than the sequence length.");

/// Of pairs of the user's own.
const OF_PAIRS: [Words; 9] =
    [SOURCE, TARGET, TABLE, HELD_OUT_SOURCE, HELD_OUT_TARGET, HELD_OUT_TABLE, TEXT, TRANSLATION, LONG];
/// Of whatever is translated.
pub(super) const OF_SCORES: [Words; 2] = [SCORED, BEAMS];

/// How many translations are scored at each evaluation. `known`: how that was done before nothing was scored.
pub(super) fn scored_ui(ui: &mut Ui, form: &mut Form<'_>, task: &mut Option<TaskConfig>, known: &mut TranslationTask) {
    if let Some(TaskConfig::Translation(own)) = task {
        known.clone_from(own);
    }
    let mut scored = matches!(task, Some(TaskConfig::Translation(_))).then_some(known.scored_pairs);
    if form.optional_size(ui, SCORED, &mut scored) {
        let of = |scored_pairs| TaskConfig::Translation(TranslationTask { scored_pairs, ..known.clone() });
        *task = scored.map(of);
        form.unreadable.forget(BEAMS.path);
    }
    if let Some(TaskConfig::Translation(own)) = task {
        form.size(ui, BEAMS, &mut own.beams, 1);
    }
}

impl SourceForm for PairsSource {
    fn words(&self) -> &'static [Words] {
        &OF_PAIRS
    }

    fn ui(&mut self, ui: &mut Ui, form: &mut Form<'_>, context: SourceContext<'_>) {
        pairs_ui(ui, form, self);
        scored_ui(ui, form, context.task, context.scored);
    }
}

/// Two files of texts, or a table of both.
fn pairs_ui(ui: &mut Ui, form: &mut Form<'_>, pairs: &mut PairsSource) {
    let is_table = pairs.path.is_some() && pairs.source.is_none() && pairs.target.is_none();
    let field = |ui: &mut Ui, form: &mut Form<'_>, words: Words, path: &mut Option<PathBuf>| {
        let mut written = path.clone().unwrap_or_default();
        if form.path(ui, words, &mut written, &[Pick::File], |pick| Ask::new(pick, words.label)) {
            *path = Some(written).filter(|path| !path.as_os_str().is_empty());
        }
    };
    if !is_table {
        field(ui, form, SOURCE, &mut pairs.source);
        field(ui, form, TARGET, &mut pairs.target);
        field(ui, form, HELD_OUT_SOURCE, &mut pairs.validation_source);
        field(ui, form, HELD_OUT_TARGET, &mut pairs.validation_target);
    }
    if is_table || (pairs.source.is_none() && pairs.target.is_none()) {
        field(ui, form, TABLE, &mut pairs.path);
    }
    if is_table {
        field(ui, form, HELD_OUT_TABLE, &mut pairs.validation_path);
    }
    // Without a table they are wrong, and have to be seen to be taken out.
    if is_table || pairs.text.is_some() {
        columns_ui(ui, form, &mut pairs.text);
    }
    let choices = LongPairs::ALL.map(|choice| {
        let words = match choice {
            LongPairs::LeaveOut => "Left out",
            LongPairs::Truncate => "Cut off",
        };
        (choice, words)
    });
    form.choice(ui, LONG, &mut pairs.long, &choices);
}

/// The columns of a table of pairs; none where neither is named.
fn columns_ui(ui: &mut Ui, form: &mut Form<'_>, columns: &mut Option<[String; 2]>) {
    let [mut text, mut translation] = columns.clone().unwrap_or_default();
    let is_other_text = form.text(ui, TEXT, &mut text);
    let is_other_translation = form.text(ui, TRANSLATION, &mut translation);
    if is_other_text || is_other_translation {
        let is_named = !(text.is_empty() && translation.is_empty());
        *columns = is_named.then_some([text, translation]);
    }
}
