//! By which metric a run is judged, and whether it ends once that improves no more.

use egui::Ui;
use headroom_engine::{config::StopEarly, objective::Metric};

use super::super::{field::field, form::Form};

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
    if form.choice(ui, field!("train.stop_early.metric"), &mut chosen, &choices) {
        *stop = chosen.map(|metric| StopEarly { metric, ..stop.clone().unwrap_or_default() });
        form.unreadable.forget(field!("train.stop_early.patience").path);
    }
    if let Some(stop) = stop {
        form.whole(ui, field!("train.stop_early.patience"), &mut stop.patience);
    }
}
