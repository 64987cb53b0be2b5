use egui::Ui;
use headroom_engine::config::{Cache, NoCache, RunConfig};

use super::{
    super::{
        difference::{Question, difference_ui},
        estimate::Estimate,
        field::Words,
        form::{Form, note_ui, under_ui},
        heads::Heads,
    },
    compatibility::compatibility_ui,
    coverage::coverage_ui,
    head_editor::HeadEditor,
    matching::matching_ui,
    reuse::reuse_ui,
};
use crate::{state::MarkedHeads, theme};

const CACHE: Words = Words::new(
    "attention.cache",
    "What is kept",
    "What is kept from token to token while generating.\nNothing: token t costs as much as a text of t tokens.",
);

/// What is known of the draft, for what stands beside its fields.
pub struct Judged<'a> {
    /// Its heads.
    pub heads: &'a Heads,
    /// Its costs, or those of before.
    pub estimate: Option<&'a Estimate>,
    /// Whether they are those of before.
    pub is_estimate_old: bool,
    /// Heads of a run that were alike.
    pub marked: Option<&'a MarkedHeads>,
}

impl Judged<'_> {
    /// What an answer alone changes against the baseline.
    pub fn difference_ui(&self, ui: &mut Ui, question: Question) {
        let answers = self.estimate.map(|estimate| &estimate.answers).into_iter().flatten();
        let found = answers.filter(|(asked, _)| *asked == question).find_map(|(_, difference)| difference.as_ref());
        if let Some(difference) = found {
            under_ui(ui, |ui| {
                if self.is_estimate_old {
                    ui.multiply_opacity(theme::OUTDATED_OPACITY);
                }
                ui.vertical(|ui| difference_ui(ui, &format!("{question:?}"), difference));
            });
        }
    }
}

/// The four questions, in their order.
pub fn attention_ui(
    ui: &mut Ui,
    form: &mut Form<'_>,
    config: &mut RunConfig,
    judged: &Judged<'_>,
    editor: &mut HeadEditor,
) {
    reuse_ui(ui, form, config, judged, editor);
    ui.separator();
    compatibility_ui(ui, form, config, judged);
    ui.separator();
    coverage_ui(ui, form, config, judged);
    ui.separator();
    let attention = &mut config.attention;
    form.choice(ui, CACHE, &mut attention.cache, &[(Cache::None(NoCache {}), "Nothing")]);
    note_ui(
        ui,
        match attention.cache {
            Cache::None(_) => "Every new token computes the whole text before it again.",
        },
    );
    judged.difference_ui(ui, Question::Cache);
    ui.separator();
    matching_ui(ui, form, config, judged);
}
