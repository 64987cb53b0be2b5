//! What is known of the draft, for the sections that show it beside their fields.

use egui::Ui;

use super::super::{
    difference::{Question, difference_ui},
    estimate::Estimate,
    form::under_ui,
    heads::Heads,
};
use crate::{state::MarkedHeads, theme};

/// What is known of the draft, for what stands beside its fields.
pub struct Judged<'a> {
    /// Its heads.
    pub heads: &'a Heads,
    /// Its costs, or those of before.
    pub estimate: Option<&'a Estimate>,
    /// Whether they are those of before.
    pub is_estimate_old: bool,
    /// Groups of similar heads of a run.
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
