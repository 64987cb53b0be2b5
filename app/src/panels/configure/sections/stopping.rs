//! By which metric a run is judged, and whether it ends once that improves no more.

use egui::Ui;
use headroom_engine::{config::StopEarly, objective::Metric};

use super::super::{field::Words, form::Form};

const METRIC: Words = Words::new(
    "train.stop_early.metric",
    "Stop early",
    "Ends the run before its last step once evaluations find no better value of this metric; the checkpoint with the best value \
     is the best one. Never: the run does all its steps, and the best checkpoint is that of the lowest validation loss.",
);
const PATIENCE: Words = Words::new(
    "train.stop_early.patience",
    "Patience",
    "Evaluations in a row without a better value after which the run ends.",
)
.unit("evaluations");

pub(super) const WORDS: [Words; 2] = [METRIC, PATIENCE];

/// The metric, one of those that evaluations of the run find, and how long it is waited for.
pub(super) fn stopping_ui(ui: &mut Ui, form: &mut Form<'_>, stop: &mut Option<StopEarly>, metrics: &[&Metric]) {
    let written = stop.as_ref().map(|stop| stop.metric.trim().to_owned());
    let is_of = |metric: &&&Metric, name: &str| metric.series == name || metric.field() == name;
    let known = written.as_deref().and_then(|name| metrics.iter().find(|metric| is_of(metric, name)));
    let before = known.map(|metric| metric.series.to_owned()).or_else(|| written.clone());
    let unknown = written.map(|name| format!("{name} (not found)")).unwrap_or_default();
    let mut choices: Vec<(Option<String>, &str)> = vec![(None, "Never")];
    if known.is_none() && before.is_some() {
        choices.push((before.clone(), &unknown));
    }
    choices.extend(metrics.iter().map(|metric| (Some(metric.series.to_owned()), metric.title)));
    let mut chosen = before;
    if form.choice(ui, METRIC, &mut chosen, &choices) {
        *stop = chosen.map(|metric| StopEarly { metric, ..stop.clone().unwrap_or_default() });
        form.unreadable.forget(PATIENCE.path);
    }
    if let Some(stop) = stop {
        form.whole(ui, PATIENCE, &mut stop.patience, 1);
    }
}
