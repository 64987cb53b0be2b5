//! Pairs of texts of the user's own, and what is scored of the translations.

use std::path::PathBuf;

use egui::Ui;
use headroom_engine::config::{FieldSpec, LongPairs, PairsSource, TaskConfig, TranslationTask};

use super::super::{field::field, form::Form};
use super::sources::{SourceContext, SourceForm};
use crate::file_dialogs::{Ask, Pick};

/// How many translations are scored at each evaluation. `known`: how that was done before nothing was scored.
pub(super) fn scored_ui(ui: &mut Ui, form: &mut Form<'_>, task: &mut Option<TaskConfig>, known: &mut TranslationTask) {
    if let Some(TaskConfig::Translation(own)) = task {
        known.clone_from(own);
    }
    let mut scored = matches!(task, Some(TaskConfig::Translation(_))).then_some(known.scored_pairs);
    if form.optional_size(ui, field!("task.scored_pairs"), &mut scored) {
        let of = |scored_pairs| TaskConfig::Translation(TranslationTask { scored_pairs, ..known.clone() });
        *task = scored.map(of);
        form.unreadable.forget(field!("task.beams").path);
    }
    if let Some(TaskConfig::Translation(own)) = task {
        form.size(ui, field!("task.beams"), &mut own.beams);
    }
}

impl SourceForm for PairsSource {
    fn ui(&mut self, ui: &mut Ui, form: &mut Form<'_>, context: SourceContext<'_>) {
        pairs_ui(ui, form, self);
        scored_ui(ui, form, context.task, context.scored);
    }
}

/// Two files of texts, or a table of both.
fn pairs_ui(ui: &mut Ui, form: &mut Form<'_>, pairs: &mut PairsSource) {
    let is_table = pairs.path.is_some() && pairs.source.is_none() && pairs.target.is_none();
    let field = |ui: &mut Ui, form: &mut Form<'_>, field: FieldSpec, path: &mut Option<PathBuf>| {
        form.optional_path(ui, field, path, &[Pick::File], |pick| Ask::new(pick, field.label));
    };
    if !is_table {
        field(ui, form, field!("data.source"), &mut pairs.source);
        field(ui, form, field!("data.target"), &mut pairs.target);
        field(ui, form, field!("data.validation_source"), &mut pairs.validation_source);
        field(ui, form, field!("data.validation_target"), &mut pairs.validation_target);
    }
    if is_table || (pairs.source.is_none() && pairs.target.is_none()) {
        field(ui, form, field!("pairs", "data.path"), &mut pairs.path);
    }
    if is_table {
        field(ui, form, field!("pairs", "data.validation_path"), &mut pairs.validation_path);
    }
    // Without a table they are wrong, and have to be seen to be taken out.
    if is_table || pairs.text.is_some() {
        columns_ui(ui, form, &mut pairs.text);
    }
    form.named(ui, field!("data.long"), &mut pairs.long, &LongPairs::ALL);
}

/// The columns of a table of pairs; none where neither is named.
fn columns_ui(ui: &mut Ui, form: &mut Form<'_>, columns: &mut Option<[String; 2]>) {
    let [mut text, mut translation] = columns.clone().unwrap_or_default();
    let is_other_text = form.text(ui, field!("pairs", "data.text"), &mut text);
    let is_other_translation = form.text(ui, field!("pairs", "data.text.second"), &mut translation);
    if is_other_text || is_other_translation {
        let is_named = !(text.is_empty() && translation.is_empty());
        *columns = is_named.then_some([text, translation]);
    }
}
