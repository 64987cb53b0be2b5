//! The strip of numbers above the charts.

use egui::{Align, FontId, Layout, ProgressBar, RichText, TextWrapMode, Ui, vec2};
use headroom_engine::{
    store::{RunState, RunSummary, series_names},
    worker::GpuReading,
};

use crate::{
    format,
    state::{CurrentRun, SystemLoad},
    theme,
};

/// The numbers of a run, live or not.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    /// Steps done.
    pub step: u64,
    /// Steps in all, once known.
    pub steps: Option<u64>,
    /// Last training loss.
    pub loss: Option<f64>,
    /// Best validation loss and its step.
    pub best: Option<(f64, u64)>,
    /// Training speed: now, or the mean of a run that ended.
    pub tokens_per_sec: Option<f64>,
    /// Time left; none for a run that does not train.
    pub eta_secs: Option<f64>,
    /// Time in training.
    pub train_secs: f64,
    /// What the run's GPU does, while the run computes on one.
    pub gpu: Option<GpuReading>,
}

impl Numbers {
    /// The numbers of a run; `current` if it is the one that computes now, with what the machine does.
    pub fn of(run: &RunSummary, current: Option<&CurrentRun>, system: Option<&SystemLoad>) -> Self {
        let metric = |name: &str| run.metrics.get(name);
        let best = metric(series_names::VALIDATION_LOSS).and_then(|series| series.best.zip(series.best_step));
        let stored = metric(series_names::TRAIN_LOSS).map(|series| series.last);
        let mean = (run.train_secs > 0.0 && run.tokens > 0).then(|| run.tokens as f64 / run.train_secs);
        let gpu = system.and_then(|load| load.gpus.iter().find(|gpu| gpu.device == run.device)).cloned();
        match current {
            Some(current) => Self {
                step: current.step.max(run.steps_done),
                steps: if current.steps > 0 { Some(current.steps) } else { run.steps_total },
                loss: current.loss.or(stored),
                best,
                tokens_per_sec: current.tokens_per_sec,
                eta_secs: current.eta_secs,
                train_secs: run.train_secs,
                gpu,
            },
            None => Self {
                step: run.steps_done,
                steps: run.steps_total,
                loss: stored,
                best,
                tokens_per_sec: mean,
                eta_secs: None,
                train_secs: run.train_secs,
                gpu: None,
            },
        }
    }

    /// Share of the steps that are done, 0..=1.
    pub fn fraction(&self) -> f32 {
        match self.steps {
            Some(steps) if steps > 0 => (self.step as f64 / steps as f64).clamp(0.0, 1.0) as f32,
            _ => 0.0,
        }
    }

    /// Label, value and explanation of each number.
    pub fn shown(&self, state: RunState) -> Vec<(&'static str, String, &'static str)> {
        let none = || "–".to_owned();
        let steps = match self.steps {
            Some(steps) => format!("{} / {}", format::count(self.step), format::count(steps)),
            None => format::count(self.step),
        };
        let best = self
            .best
            .map_or_else(none, |(value, step)| format!("{} at {}", format::number(value), format::count(step)));
        let speed = self.tokens_per_sec.map_or_else(none, |speed| format::rate(speed, "tokens"));
        let mut shown = vec![
            ("Step", steps, "Optimiser steps done, of all"),
            (
                "Loss",
                self.loss.map_or_else(none, format::number),
                "Training loss of the last step, in the unit of its chart",
            ),
            ("Best validation", best, "Lowest loss on held-out text, in the unit of its chart, and its step"),
            ("Speed", speed, "Tokens trained per second; the mean for a run that has ended"),
        ];
        if state.is_active() {
            let left = self.eta_secs.map_or_else(none, format::duration);
            shown.push(("Time left", left, "Remaining steps divided by the recent speed"));
        } else {
            shown.push((
                "Duration",
                format::duration(self.train_secs),
                "Time in training steps, without evaluations, analyses, checkpoints and pauses",
            ));
        }
        if let Some(gpu) = &self.gpu {
            if let Some(percent) = gpu.percent {
                shown.push(("GPU", format!("{percent:.0} %"), "Share of recent time in which the GPU was busy"));
            }
            let used = format::bytes(gpu.memory_bytes);
            let memory = gpu.total_bytes.map_or(used.clone(), |total| format!("{used} of {}", format::bytes(total)));
            shown.push(("GPU memory", memory, "Memory in use on the run's GPU, by all programs where that is known"));
        }
        shown
    }
}

/// Size of the values' text.
const VALUE_POINTS: f32 = 17.0;
/// Least width of a block, so that its label fits.
const BLOCK_WIDTH: f32 = 64.0;

/// Draws the numbers, and below them how far the run is.
pub fn strip_ui(ui: &mut Ui, run: &RunSummary, current: Option<&CurrentRun>, system: Option<&SystemLoad>) {
    let palette = theme::palette(ui.visuals());
    let numbers = Numbers::of(run, current, system);
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 22.0;
        for (label, value, about) in numbers.shown(run.state) {
            // A block of a known size goes to the next row as a whole.
            let font = FontId::proportional(VALUE_POINTS);
            let wide = ui.painter().layout_no_wrap(value.clone(), font, palette.strong).size().x;
            let size = vec2(wide.max(BLOCK_WIDTH), VALUE_POINTS * 2.3);
            ui.allocate_ui_with_layout(size, Layout::top_down(Align::LEFT), |ui| {
                ui.style_mut().wrap_mode = Some(TextWrapMode::Extend);
                ui.spacing_mut().item_spacing.y = 0.0;
                ui.label(RichText::new(label).small().color(palette.weak));
                let value_label = ui.label(RichText::new(&value).size(VALUE_POINTS).color(palette.strong));
                value_label.on_hover_text(about).accessible_name(format!("{label}: {value}"));
            });
        }
    });
    if run.state.is_active() {
        let (fraction, text) = match current.and_then(|current| current.preparing.as_ref()) {
            Some((stage, fraction)) => (*fraction as f32, format!("{stage} {}", format::percent(*fraction))),
            None => (numbers.fraction(), format::percent(f64::from(numbers.fraction()))),
        };
        ui.scope(|ui| {
            // The track: a field's ground is the panel's own colour in the light theme.
            ui.visuals_mut().extreme_bg_color = palette.grid;
            ui.add(ProgressBar::new(fraction).desired_height(16.0).text(RichText::new(text).small()));
        });
    }
}

#[cfg(test)]
mod tests {
    use headroom_engine::worker::Event;

    use super::*;
    use crate::{examples, state::State};

    #[test]
    fn a_run_that_ended_shows_what_the_store_knows() {
        let run = examples::summary(1, "run");
        let numbers = Numbers::of(&run, None, None);
        assert_eq!((numbers.step, numbers.steps, numbers.best), (100, Some(100), Some((1.25, 90))));
        assert_eq!(numbers.fraction(), 1.0);
        let shown = numbers.shown(run.state);
        assert_eq!(shown[0].1, "100 / 100");
        assert_eq!(shown[3].1, "1.71 k tokens/s");
        assert_eq!(shown[4].0, "Duration");
    }

    #[test]
    fn the_current_run_shows_what_events_say() {
        let run = RunSummary { state: RunState::Running, ..examples::summary(1, "run") };
        let mut current = CurrentRun::named(run.id.clone(), "run");
        let fresh = Numbers::of(&run, Some(&current), None);
        assert_eq!((fresh.step, fresh.tokens_per_sec), (100, None), "a resumed run before its first event");
        (current.step, current.steps, current.loss, current.eta_secs) = (150, 600, Some(0.5), Some(90.0));
        let numbers = Numbers::of(&run, Some(&current), None);
        assert_eq!((numbers.step, numbers.steps, numbers.loss), (150, Some(600), Some(0.5)));
        assert_eq!(
            numbers.shown(run.state)[4],
            ("Time left", "1:30".to_owned(), "Remaining steps divided by the recent speed")
        );
    }

    #[test]
    fn the_gpu_is_shown_while_the_run_computes_on_it() {
        let mut run = RunSummary { state: RunState::Running, ..examples::summary(1, "run") };
        let current = CurrentRun::named(run.id.clone(), "run");
        let gpu = GpuReading {
            device: "cuda:1".to_owned(),
            memory_bytes: 3 << 30,
            total_bytes: Some(80 << 30),
            percent: Some(87.0),
        };
        let mut state = State::default();
        state.apply(Event::System {
            cpu_percent: 1.0,
            memory_bytes: 1,
            free_bytes: 1,
            disk_free_bytes: None,
            gpus: vec![gpu],
        });
        let names = |run: &RunSummary, current| {
            let shown = Numbers::of(run, current, state.system.as_ref()).shown(run.state);
            shown.into_iter().skip(5).map(|(name, value, _)| format!("{name}: {value}")).collect::<Vec<_>>()
        };
        assert!(names(&run, Some(&current)).is_empty(), "on the processor");
        run.device = "cuda:1".to_owned();
        assert_eq!(names(&run, Some(&current)), ["GPU: 87 %", "GPU memory: 3.0 GiB of 80.0 GiB"]);
        assert!(names(&run, None).is_empty(), "it does not compute any more");
    }
}
