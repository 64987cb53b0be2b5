//! The strip of numbers above the charts.

use std::borrow::Cow;

use egui::{Align, FontId, Layout, ProgressBar, RichText, TextWrapMode, Ui, vec2};
use headroom_engine::{
    config::RunConfig,
    machine::GpuReading,
    objective::{Direction, LearnedTask, Metric, judging_metric, text_scores::TEXT_SCORES},
    store::{RunState, RunSummary, series_names},
};

use crate::{
    compare::metric_value,
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
    /// The metric that is told beside the loss, its best value and the step of that.
    pub judged: Option<(&'static Metric, Option<(f64, u64)>)>,
    /// Share of the positions of training batches that hold no token, where there are such.
    pub padding: Option<f64>,
    /// Training speed in the last step, or its mean.
    pub tokens_per_sec: Option<f64>,
    /// Whether that is the mean of the whole run: of what does not train here no more is known.
    pub is_mean_speed: bool,
    /// Time left; none for a run that does not train.
    pub eta_secs: Option<f64>,
    /// Time in training.
    pub train_secs: f64,
    /// What the run's GPU does, while the run computes on one.
    pub gpu: Option<GpuReading>,
}

impl Numbers {
    /// The numbers of a run, with the metric that is told beside its loss; `current` if it is the one that computes now, with what
    /// the machine does.
    pub fn of(
        run: &RunSummary,
        judged: Option<&'static Metric>,
        current: Option<&CurrentRun>,
        system: Option<&SystemLoad>,
    ) -> Self {
        let metric = |name: &str| run.metrics.get(name);
        let best_of = |name: &str| metric(name).and_then(|series| series.best.zip(series.best_step));
        let best = best_of(series_names::VALIDATION_LOSS);
        let judged = judged.map(|judged| (judged, best_of(judged.series)));
        let padding = metric(series_names::DATA_PADDING_SHARE).map(|series| series.last).filter(|share| *share > 0.0);
        let stored = metric(series_names::TRAIN_LOSS).map(|series| series.last);
        let gpu = system.and_then(|load| load.gpus.iter().find(|gpu| gpu.device == run.device)).cloned();
        match current {
            Some(current) => Self {
                step: current.step.max(run.steps_done),
                steps: if current.steps > 0 { Some(current.steps) } else { run.steps_total },
                loss: current.loss.or(stored),
                best,
                judged,
                padding,
                tokens_per_sec: current.tokens_per_sec,
                is_mean_speed: false,
                eta_secs: current.eta_secs,
                train_secs: run.train_secs,
                gpu,
            },
            None => Self {
                step: run.steps_done,
                steps: run.steps_total,
                loss: stored,
                best,
                judged,
                padding,
                tokens_per_sec: mean_speed(run),
                is_mean_speed: true,
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
    pub fn shown(&self, state: RunState) -> Vec<(Cow<'static, str>, String, &'static str)> {
        let none = || "–".to_owned();
        let steps = match self.steps {
            Some(steps) => format!("{} / {}", format::count(self.step), format::count(steps)),
            None => format::count(self.step),
        };
        let best = self
            .best
            .map_or_else(none, |(value, step)| format!("{} at {}", format::number(value), format::count(step)));
        let speed = self.tokens_per_sec.map_or_else(none, |speed| format::rate(speed, "tokens"));
        let mut shown: Vec<(Cow<'static, str>, String, &'static str)> = vec![
            ("Step".into(), steps, "Optimiser steps done, of all"),
            (
                "Loss".into(),
                self.loss.map_or_else(none, format::number),
                "Training loss of the last step, in the unit of its chart",
            ),
            ("Best validation".into(), best, "Lowest loss on held-out text, in the unit of its chart, and its step"),
        ];
        if let Some((metric, best)) = self.judged {
            let value = best.map_or_else(none, |(value, step)| {
                format!("{} at {}", metric_value(metric.series, value), format::count(step))
            });
            let about = match metric.direction {
                Direction::Lower => "Lowest value on held-out data, and its step: lower is better",
                _ => "Highest value on held-out data, and its step: higher is better",
            };
            shown.push((format!("{}, best", metric.title).into(), value, about));
        }
        shown.push(if self.is_mean_speed {
            ("Mean speed".into(), speed, "Tokens trained on, divided by the time in training steps: of the whole run")
        } else {
            ("Speed".into(), speed, "Tokens trained per second in the last step")
        });
        if state.is_active() {
            let left = self.eta_secs.map_or_else(none, format::duration);
            shown.push(("Time left".into(), left, "Remaining steps times the mean time of recent ones"));
        } else {
            shown.push((
                "Duration".into(),
                format::duration(self.train_secs),
                "Time in training steps, without evaluations, analyses, checkpoints and pauses",
            ));
        }
        if let Some(share) = self.padding {
            let value = metric_value(series_names::DATA_PADDING_SHARE, share);
            shown.push(("Padding".into(), value, "Share of the positions of training batches that hold no token"));
        }
        if let Some(gpu) = &self.gpu {
            if let Some(percent) = gpu.percent {
                shown.push(("GPU".into(), format!("{percent:.0} %"), "Share of recent time in which the GPU was busy"));
            }
            let used = format::bytes(gpu.memory_bytes);
            let memory = gpu.total_bytes.map_or(used.clone(), |total| format!("{used} of {}", format::bytes(total)));
            let about = "Memory in use on the run's GPU, by all programs where that is known";
            shown.push(("GPU memory".into(), memory, about));
        }
        shown
    }
}

/// Tokens trained on per second of training, over the whole run; none before its first step.
pub fn mean_speed(run: &RunSummary) -> Option<f64> {
    (run.train_secs > 0.0 && run.tokens > 0).then(|| run.tokens as f64 / run.train_secs)
}

/// Size of the values' text.
const VALUE_POINTS: f32 = 17.0;
/// Least width of a block, so that its label fits.
const BLOCK_WIDTH: f32 = 64.0;
/// Height of the bar below the numbers, in points.
pub const PROGRESS_HEIGHT: f32 = 16.0;

/// The metric that is told beside the loss of a run: the one by which it is judged, or the first that its task has. Runs that learn
/// language are told by their loss.
pub fn judged_beside_loss(config: &RunConfig) -> Option<&'static Metric> {
    let is_another =
        |metric: &&Metric| metric.series != series_names::VALIDATION_LOSS && metric.direction != Direction::None;
    let judging = judging_metric(config).ok().filter(is_another);
    judging.or_else(|| match &config.task {
        None => None,
        Some(task) if task.scoring().is_some() => TEXT_SCORES.iter().find(is_another),
        Some(_) => config.objective().task().metrics().iter().find(is_another),
    })
}

/// Draws the numbers of a run in this state.
pub fn strip_ui(ui: &mut Ui, numbers: &Numbers, state: RunState) {
    let palette = theme::palette(ui.visuals());
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 22.0;
        for (label, value, about) in numbers.shown(state) {
            // A block of a known size goes to the next row as a whole.
            let font = FontId::proportional(VALUE_POINTS);
            let wide = ui.painter().layout_no_wrap(value.clone(), font, palette.strong).size().x;
            let size = vec2(wide.max(BLOCK_WIDTH), VALUE_POINTS * 2.3);
            ui.allocate_ui_with_layout(size, Layout::top_down(Align::LEFT), |ui| {
                ui.style_mut().wrap_mode = Some(TextWrapMode::Extend);
                ui.spacing_mut().item_spacing.y = 0.0;
                ui.label(RichText::new(label.as_ref()).small().color(palette.weak));
                let value_label = ui.label(RichText::new(&value).size(VALUE_POINTS).color(palette.strong));
                value_label.on_hover_text(about).accessible_name(format!("{label}: {value}"));
            });
        }
    });
}

/// Draws how far a run is that has not ended.
pub fn progress_ui(ui: &mut Ui, numbers: &Numbers, current: Option<&CurrentRun>) {
    let palette = theme::palette(ui.visuals());
    let (fraction, text) = match current.and_then(|current| current.preparing.as_ref()) {
        Some((stage, fraction)) => (*fraction as f32, format!("{stage} {}", format::percent(*fraction))),
        None => (numbers.fraction(), format::percent(f64::from(numbers.fraction()))),
    };
    ui.scope(|ui| {
        // The track: a field's ground is the panel's own colour in the light theme.
        ui.visuals_mut().extreme_bg_color = palette.grid;
        ui.add(ProgressBar::new(fraction).desired_height(PROGRESS_HEIGHT).text(RichText::new(text).small()));
    });
}

#[cfg(test)]
mod tests {
    use headroom_engine::{
        config::TaskConfig,
        protocol::{Event, events},
        store::SeriesSummary,
    };

    use super::*;
    use crate::{examples, state::State};

    #[test]
    fn a_run_that_ended_shows_what_the_store_knows() {
        let run = examples::summary(1, "run");
        let numbers = Numbers::of(&run, None, None, None);
        assert_eq!((numbers.step, numbers.steps, numbers.best), (100, Some(100), Some((1.25, 90))));
        assert_eq!(numbers.fraction(), 1.0);
        let shown = numbers.shown(run.state);
        assert_eq!(shown[0].1, "100 / 100");
        assert_eq!((&*shown[3].0, shown[3].1.as_str()), ("Mean speed", "1.71 k tokens/s"));
        assert_eq!(shown[4].0, "Duration");
    }

    #[test]
    fn the_current_run_shows_what_events_say() {
        let run = RunSummary { state: RunState::Running, ..examples::summary(1, "run") };
        let mut current = CurrentRun::named(run.id.clone(), "run");
        let fresh = Numbers::of(&run, None, Some(&current), None);
        assert_eq!((fresh.step, fresh.tokens_per_sec), (100, None), "a resumed run before its first event");
        (current.step, current.steps, current.loss, current.eta_secs) = (150, 600, Some(0.5), Some(90.0));
        let numbers = Numbers::of(&run, None, Some(&current), None);
        assert_eq!((numbers.step, numbers.steps, numbers.loss), (150, Some(600), Some(0.5)));
        assert_eq!(
            numbers.shown(run.state)[4],
            ("Time left".into(), "1:30".to_owned(), "Remaining steps times the mean time of recent ones")
        );
    }

    #[test]
    fn what_a_task_is_judged_by_and_padding_are_told_where_there_are_such() {
        let mut config = RunConfig::default();
        assert_eq!(judged_beside_loss(&config), None, "language has its loss");
        let judged = TaskConfig::examples().into_iter().map(|task| {
            config.task = Some(task);
            judged_beside_loss(&config).map(|metric| metric.series)
        });
        let judged: Vec<Option<&str>> = judged.collect();
        let accuracy = Some("validation/accuracy");
        let [classes, number, answer, images, translation] = judged.try_into().unwrap();
        assert_eq!((classes, images), (accuracy, accuracy));
        assert_eq!((number, translation), (Some("validation/pearson"), Some("translation/bleu")));
        assert!(answer.is_some());

        let mut run = examples::summary(1, "run");
        let accuracy = Metric::find("validation/accuracy").unwrap();
        let of = |run: &RunSummary| -> Vec<String> {
            let shown = Numbers::of(run, Some(accuracy), None, None).shown(run.state);
            shown.into_iter().map(|(name, value, about)| format!("{name}: {value} ({about})")).collect()
        };
        assert!(of(&run)[3].starts_with("Accuracy, best: –"), "{:?}", of(&run));
        let series = |last: f64, best: Option<f64>| SeriesSummary {
            last,
            last_step: 100,
            best,
            best_step: best.map(|_| 1200),
            direction: Direction::Higher,
            count: 3,
        };
        run.metrics.insert("validation/accuracy".to_owned(), series(0.8, Some(0.875)));
        run.metrics.insert(series_names::DATA_PADDING_SHARE.to_owned(), series(0.25, None));
        let shown = of(&run);
        assert!(shown[3].starts_with("Accuracy, best: 87.5 % at 1,200 (Highest value"), "{shown:?}");
        assert!(shown[3].ends_with("higher is better)"), "{shown:?}");
        assert!(shown.iter().any(|shown| shown.starts_with("Padding: 25.0 %")), "{shown:?}");
        run.metrics.insert(series_names::DATA_PADDING_SHARE.to_owned(), series(0.0, None));
        assert!(!of(&run).iter().any(|shown| shown.starts_with("Padding")), "none is nothing to tell");
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
        state.apply(Event::System(events::System {
            cpu_percent: 1.0,
            memory_bytes: 1,
            free_bytes: 1,
            disk_free_bytes: None,
            gpus: vec![gpu],
        }));
        let names = |run: &RunSummary, current| {
            let shown = Numbers::of(run, None, current, state.system.as_ref()).shown(run.state);
            shown.into_iter().skip(5).map(|(name, value, _)| format!("{name}: {value}")).collect::<Vec<_>>()
        };
        assert!(names(&run, Some(&current)).is_empty(), "on the processor");
        run.device = "cuda:1".to_owned();
        assert_eq!(names(&run, Some(&current)), ["GPU: 87 %", "GPU memory: 3.0 GiB of 80.0 GiB"]);
        assert!(names(&run, None).is_empty(), "it does not compute any more");
    }
}
