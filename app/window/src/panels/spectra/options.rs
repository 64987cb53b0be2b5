use std::ops::RangeInclusive;

use egui::{Checkbox, ComboBox, Key, Ui};
use headroom_engine::analysis::Analysis;
use serde::{Deserialize, Serialize};

use crate::{keys, widgets::together_ui};

/// Heights that charts can be given, in points.
pub const HEIGHTS: RangeInclusive<f32> = 110.0..=1200.0;

/// Heights that the user gave to charts, in points; none: the usual one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Heights {
    /// Cumulative energy.
    pub energy: Option<f32>,
    /// The same in other spaces.
    pub projections: Option<f32>,
    /// Energy of queries.
    pub queries: Option<f32>,
    /// Captured variance.
    pub captured: Option<f32>,
}

/// Which cumulative curves stand beside that of the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beside {
    /// Those of its layers.
    #[default]
    Layers,
    /// Those of other steps of the run.
    Steps,
    /// Those of the runs whose eye is open.
    Runs,
    /// Those of everything that was found on demand of the run: other lengths, texts, checkpoints.
    OnDemand,
}

impl Beside {
    const ALL: [Self; 4] = [Self::Layers, Self::Steps, Self::Runs, Self::OnDemand];

    fn label(self) -> &'static str {
        match self {
            Self::Layers => "its layers",
            Self::Steps => "several steps",
            Self::Runs => "shown runs",
            Self::OnDemand => "analyses on demand",
        }
    }
}

/// How the curves are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// What stands beside the network.
    pub beside: Beside,
    /// x as a share of all n² components, so that lengths can be compared; else their number.
    pub is_share: bool,
    /// Logarithmic x.
    pub log_x: bool,
    /// Also the network without the means of rows.
    pub without_row_means: bool,
    /// Also the best space of each query.
    pub with_queries: bool,
}

impl Default for Options {
    fn default() -> Self {
        let (is_share, log_x, without_row_means, with_queries) = (false, true, true, false);
        Self { beside: Beside::Layers, is_share, log_x, without_row_means, with_queries }
    }
}

impl Options {
    /// Draws the choices into a row.
    pub fn ui(&mut self, ui: &mut Ui, analysis: &Analysis) {
        together_ui(ui, "beside", |ui| {
            ui.label("The network beside");
            let combo =
                ComboBox::from_id_salt("beside").width(150.0).selected_text(self.beside.label()).show_ui(ui, |ui| {
                    for beside in Beside::ALL {
                        ui.selectable_value(&mut self.beside, beside, beside.label());
                    }
                });
            combo.response.accessible_name("Curves beside the network");
        });
        ui.checkbox(&mut self.is_share, "Share of n²")
            .on_hover_text("x as a share of all n² components, so that sequence lengths can be compared");
        ui.checkbox(&mut self.log_x, "Log x").on_hover_text("Logarithmic number of components (y)");
        if keys::plain(ui.ctx(), Key::Y) {
            self.log_x = !self.log_x;
        }
        let spectra = analysis.spectra.as_ref();
        let has_it = spectra.is_some_and(|spectra| spectra.row_mean_subtracted.is_some());
        let mut is_ticked = has_it && self.without_row_means;
        let checkbox = ui.add_enabled(has_it, Checkbox::new(&mut is_ticked, "Without row means"));
        if checkbox.changed() {
            self.without_row_means = is_ticked;
        }
        checkbox
            .on_hover_text(
                "The network after the mean over keys, which the softmax ignores, was subtracted from every row",
            )
            .on_disabled_hover_text(
                "This analysis does not have it. Those made during training leave it out; \"Analyse…\" makes it",
            );
        ui.checkbox(&mut self.with_queries, "Per query")
            .on_hover_text("The best space of i dimensions for each query alone is drawn at i · n components");
    }
}
