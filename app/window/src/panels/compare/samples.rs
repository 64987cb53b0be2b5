//! From how many samples the analyses of runs tell what they tell.

use std::collections::BTreeMap;

use egui::{RichText, Ui};
use headroom_engine::store::{RunId, series_names};

use super::lines::Bundle;
use crate::{compare::unequal_samples_words, findings::probe_samples, state::State, theme};

/// Samples by run, as far as its record is loaded; a config never changes.
#[derive(Default)]
pub(super) struct Samples(BTreeMap<RunId, u64>);

impl Samples {
    /// Says where the curves of a metric are of unequal samples, which alone moves them.
    pub fn ui(&mut self, ui: &mut Ui, metrics: &[String], bundles: &[Bundle], state: &State) {
        if metrics.iter().any(|metric| metric == series_names::PROBE_ENERGY_IN_1_PERCENT)
            && let Some(words) = self.unequal(bundles, state)
        {
            ui.label(RichText::new(words).color(theme::palette(ui.visuals()).warning)).on_hover_text(
                "A spectrum has as many eigenvalues as it has samples, where its maps have more entries: from fewer samples \
                 a larger share of the energy is in the largest 1 %. Redundancy and Spectra analyse any run on as many as you \
                 like.",
            );
        }
    }

    /// The fewest and the most, in words; nothing where they are equal.
    fn unequal(&mut self, bundles: &[Bundle], state: &State) -> Option<String> {
        let has_curve = |bundle: &&Bundle| {
            bundle.runs.iter().any(|run| run.metrics.contains_key(series_names::PROBE_ENERGY_IN_1_PERCENT))
        };
        let found: Vec<(u64, &str)> = bundles
            .iter()
            .filter(has_curve)
            .filter_map(|bundle| Some((self.of(bundle, state)?, bundle.name.as_str())))
            .collect();
        unequal_samples_words(&found)
    }

    fn of(&mut self, bundle: &Bundle, state: &State) -> Option<u64> {
        let run = &bundle.runs.first()?.id;
        if let Some(known) = self.0.get(run) {
            return Some(*known).filter(|samples| *samples > 0);
        }
        let config = state.records.get(run)?.json_config();
        let samples = config.map_or(0, |config| probe_samples(&config));
        self.0.insert(run.clone(), samples);
        Some(samples).filter(|samples| *samples > 0)
    }
}
