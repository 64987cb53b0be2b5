//! The first question: which heads score.

use egui::Ui;
use headroom_engine::config::{About, CustomReuse, FieldSpec, Reuse, RunConfig};

use super::{
    super::{difference::Question, field::field, form::Form, heads::usual_reuse},
    answer::{GivenAnswer, answer_ui, sliders_ui},
    head_editor::HeadEditor,
    judged::Judged,
};

impl GivenAnswer for Reuse {
    const QUESTION: Question = Question::Reuse;
    const FIELD: FieldSpec = field!("attention.reuse.kind");

    fn of(config: &mut RunConfig) -> &mut Self {
        &mut config.attention.reuse
    }

    fn about(&self) -> About {
        self.about()
    }

    fn kinds() -> Vec<Self> {
        Self::examples(1, 1)
    }

    fn usual(&self, config: &RunConfig) -> Self {
        usual_reuse(self.kind(), config)
    }
}

/// The answer with its numbers, and the map of all heads.
pub(super) fn reuse_ui(
    ui: &mut Ui,
    form: &mut Form<'_>,
    config: &mut RunConfig,
    judged: &Judged<'_>,
    editor: &mut HeadEditor,
) {
    let top = ui.cursor().top();
    answer_ui::<Reuse>(ui, form, config, judged);
    sliders_ui(ui, form, config.attention.reuse.numbers(config.model.layers, config.model.heads));
    // A click on the map makes a table of a schedule, whose sliders go: the map stays under the pointer all the same.
    editor.stay(ui, top);
    editor.ui(ui, form, config, judged);
    if let Reuse::Custom(CustomReuse { rows }) = &mut config.attention.reuse {
        let mut text = rows.join(" / ");
        if form.text(ui, field!("attention.reuse.rows"), &mut text) {
            *rows = text.split('/').map(|row| row.trim().to_owned()).collect();
        }
    }
}
