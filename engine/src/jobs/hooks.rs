use std::{
    path::Path,
    time::{Duration, Instant},
};

use super::{
    checkpoints, context::JobContext, control::JobControl, coverage::chosen_event, health::HealthWatch,
    kept_best::KeptBest, kept_checkpoints::KeptCheckpoints, resume::training_state, train_run::TrainRun,
};
use crate::{
    analysis::{Analysis, AnalysisError},
    attention::{Cost, ParameterMatch, Workload},
    checkpoint::{Lineage, ModelDirectory, save_model_dir},
    config::{counted, grouped},
    model::{Mixing, mixing_matrices},
    objective::ExampleSums,
    protocol::events,
    store::{
        CheckpointKind, ExampleOutcomes, NewCheckpoint, NewSnapshot, Progress, RunFacts, RunId, RunState, StateDetails,
        Store, StoreError, StoreWriter, series_names, snapshot_kinds,
    },
    train::{
        Activity, Control, CoverageReport, EvaluationReport, Health, Hooks, LIVE_ANALYSIS_SHARE, Moment, StepReport,
        Trainer,
    },
};

/// Least time between two step events: some 30 a second. The store gets every step.
const STEP_EVENT_INTERVAL: Duration = Duration::from_millis(33);

/// Time between two tables of runs while a run trains: its last and best values are in there.
const RUNS_INTERVAL: Duration = Duration::from_secs(2);

/// How long the beginning and the end of a run wait for a full disk.
const DISK_PATIENCE: Duration = Duration::from_secs(5);
const DISK_PAUSE: Duration = Duration::from_millis(100);

/// What a run tells the store and the doors.
pub(crate) struct RunHooks<'a> {
    context: &'a JobContext,
    job: &'a TrainRun,
    control: &'a JobControl,
    writer: StoreWriter,
    steps: u64,
    progress: Option<Progress>,
    last_loss: Option<f64>,
    best: Option<(f64, u64)>,
    /// Step and loss of the newest evaluation.
    evaluated: Option<(u64, f64)>,
    /// Hash of the validation examples of an evaluation.
    evaluated_hash: String,
    kept: KeptCheckpoints,
    kept_best: KeptBest,
    /// The model that the run began with.
    lineage: Option<Lineage>,
    /// Why the newest checkpoint to go on from is not there.
    unsaved: Option<String>,
    told_step: Option<Instant>,
    told_runs: Instant,
    pace: Pace,
    is_paused: bool,
    health: HealthWatch,
}

impl<'a> RunHooks<'a> {
    pub(crate) fn new(context: &'a JobContext, job: &'a TrainRun, control: &'a JobControl) -> Self {
        Self {
            context,
            job,
            control,
            writer: context.writer.clone(),
            steps: 0,
            progress: None,
            last_loss: None,
            best: None,
            evaluated: None,
            evaluated_hash: String::new(),
            kept: KeptCheckpoints::default(),
            kept_best: KeptBest::default(),
            lineage: None,
            unsaved: None,
            told_step: None,
            told_runs: Instant::now(),
            pace: Pace::default(),
            is_paused: false,
            health: HealthWatch::default(),
        }
    }

    /// Notes the model that the run began with, for its checkpoints.
    pub(crate) fn set_lineage(&mut self, lineage: Option<Lineage>) {
        self.lineage = lineage;
    }

    /// How far the run came, once it started.
    pub(crate) fn progress(&self) -> Option<Progress> {
        self.progress
    }

    /// Why the last checkpoint could not be written, if it could not.
    pub(crate) fn unsaved(&self) -> Option<&str> {
        self.unsaved.as_deref()
    }

    /// The newest checkpoint that is there.
    pub(crate) fn newest_checkpoint(&self) -> Option<(u64, &Path)> {
        self.kept.newest()
    }

    fn warn(&self, message: String) {
        self.context.outbox.send(events::Warning { run: Some(self.job.run.clone()), message });
    }

    /// The first step follows.
    pub(crate) fn start(&mut self, trainer: &Trainer, device: &str) {
        let run = &self.job.run;
        let progress = trainer.progress();
        self.steps = trainer.steps();
        self.best = progress.best_validation_loss.zip(progress.best_step);
        let flops_per_step = Cost::of(trainer.goal(), &Workload::training(trainer.config())).flops_per_step;
        let statistics = trainer.corpus().statistics;
        let evaluated = trainer.evaluated_set();
        let facts = RunFacts {
            parameters: Some(trainer.parameter_count()),
            data_hash: Some(trainer.corpus().data_hash.clone()),
            held_out_hash: Some(trainer.corpus().held_out_hash.clone()),
            evaluated_hash: Some(evaluated.hash.clone()),
            evaluated_examples: Some(evaluated.examples as u64),
            validation_examples: Some(evaluated.of as u64),
            steps_total: Some(trainer.steps()),
            threads: Some(self.job.config.threads_used() as u32),
            flops_per_step: Some(flops_per_step),
            train_tokens: Some(statistics.train.tokens as u64),
            ..RunFacts::default()
        };
        let store = &self.context.store;
        self.evaluated_hash = evaluated.hash;
        let every = self.job.config.train.checkpoint_every;
        self.kept = KeptCheckpoints::of(store.checkpoints(run).unwrap_or_default(), every, self.steps);
        self.kept_best = KeptBest::of(store, run, trainer);
        self.writer.set_facts(run, facts);
        let mut begun = store.begin_attempt(run, progress.step + 1);
        let deadline = Instant::now() + DISK_PATIENCE;
        // A disk that is full for a moment.
        while matches!(begun, Err(StoreError::Full { .. })) && Instant::now() < deadline {
            std::thread::sleep(DISK_PAUSE);
            begun = store.begin_attempt(run, progress.step + 1);
        }
        if let Err(error) = begun {
            self.warn(error.to_string());
        }
        // Only now: a reading of the machine that is logged before the attempt began would open one of its own.
        self.note_progress(trainer);
        if progress.step == 0
            && let Some(share) = trainer.padding_share()
        {
            self.log(0, &[(series_names::DATA_PADDING_SHARE, share)]);
        }
        self.health = HealthWatch::new(&self.job.config, trainer.plan().outcomes(), trainer.steps());
        self.health.catch_up(store, run, progress.step);
        self.context.position.watch(self.job.config.train.stability.is_watched());
        self.context.runs_changed();
        self.context.outbox.send(events::Started {
            run: run.clone(),
            name: self.job.config.name.clone(),
            parameters: trainer.parameter_count(),
            first_step: progress.step,
            steps: trainer.steps(),
            device: device.to_owned(),
            threads: self.job.config.threads_used(),
            vocabulary: trainer.plan().vocabulary(),
            train_tokens: statistics.train.tokens as u64,
            validation_tokens: statistics.validation.tokens as u64,
            flops_per_step,
            parameter_match: ParameterMatch::of(trainer.config()).ok().flatten().map(|found| found.to_string()),
        });
        let frozen = trainer.frozen_count();
        if frozen > 0 {
            self.warn(format!(
                "{} of {} stay as they are (train.freeze).",
                grouped(frozen),
                counted(trainer.parameter_count(), "parameter")
            ));
        }
        match self.health.now() {
            None => {}
            Some(Health::Sound) => self.keep_health(Health::Sound),
            Some(health) => self.tell_health(progress.step, health),
        }
    }

    fn keep_health(&self, health: Health) {
        self.writer.set_facts(&self.job.run, RunFacts { health: Some(health), ..RunFacts::default() });
    }

    /// Something about the run's health changed.
    fn tell_health(&self, step: u64, health: Health) {
        self.keep_health(health);
        self.context.runs_changed();
        self.context.outbox.send(events::Health::new(&self.job.run, step, health));
    }

    /// All steps are done, or the run was ended because it diverged: what its loss came to.
    pub(crate) fn last_health(&mut self) -> Option<Health> {
        let before = self.health.now();
        let last = self.health.end()?;
        match last {
            // The end itself says so.
            Health::Diverged { .. } => self.keep_health(last),
            _ if before.is_some_and(|before| before.word() == last.word()) => self.keep_health(last),
            _ => self.tell_health(self.progress.unwrap_or_default().steps_done, last),
        }
        Some(last)
    }

    /// Whether the run was ended because it diverged, and not because somebody asked for its end.
    pub(crate) fn is_over(&self) -> bool {
        self.health.is_over() && !self.control.should_stop()
    }

    fn note_progress(&mut self, trainer: &Trainer) {
        let progress = trainer.progress();
        let noted = Progress { steps_done: progress.step, tokens: progress.tokens, train_secs: progress.train_secs };
        self.progress = Some(noted);
        self.writer.progress(&self.job.run, noted);
        let wall_ms = (progress.train_secs * 1e3) as u64;
        let device = self.job.config.device;
        self.context.position.set(&self.job.run, device, progress.step, wall_ms, progress.tokens);
    }

    /// The most memory that the program held while the run trained, in this attempt or one before; nothing for a run that did not
    /// begin.
    pub(crate) fn note_peak(&self, bytes: Option<u64>) {
        if let (Some(at), Some(bytes)) = (self.progress, bytes) {
            let wall_ms = (at.train_secs * 1e3) as u64;
            let series = series_names::SYSTEM_PEAK_MEMORY_BYTES;
            let record = self.context.store.record(&self.job.run).ok();
            let before = record.and_then(|record| Some(record.summary.metrics.get(series)?.last));
            let most = before.map_or(bytes as f64, |before| before.max(bytes as f64));
            self.writer.log(&self.job.run, series, at.steps_done, most, wall_ms, at.tokens);
        }
    }

    /// The run ended in `state`.
    pub(crate) fn finish(
        self,
        name: String,
        state: RunState,
        why: Option<String>,
        unwritten: Option<String>,
    ) -> events::Finished {
        let progress = self.progress.unwrap_or_default();
        // It may have been renamed while it trained.
        let name = self.context.store.record(&self.job.run).map_or(name, |record| record.summary.name);
        events::Finished {
            run: self.job.run.clone(),
            name,
            state,
            step: progress.steps_done,
            loss: self.last_loss,
            best_validation_loss: self.best.map(|(loss, _)| loss),
            best_step: self.best.map(|(_, step)| step),
            train_secs: progress.train_secs,
            why,
            unwritten,
        }
    }

    fn log(&self, step: u64, values: &[(&str, f64)]) {
        let Some(progress) = self.progress else { return };
        let wall_ms = (progress.train_secs * 1e3) as u64;
        for (series, value) in values {
            self.writer.log(&self.job.run, series, step, *value, wall_ms, progress.tokens);
        }
    }

    /// Outcomes of the single examples of an evaluation, as the store keeps them.
    fn outcomes(&self, report: &EvaluationReport) -> ExampleOutcomes {
        let ExampleSums { loss, labels, correct } = &report.examples;
        ExampleOutcomes {
            step: report.step,
            evaluated_hash: self.evaluated_hash.clone(),
            loss: loss.iter().map(|loss| *loss as f32).collect(),
            labels: labels.clone(),
            correct: correct.clone(),
        }
    }

    fn set_state(&self, state: RunState) {
        self.writer.set_state(&self.job.run, state, StateDetails::default());
        self.context.runs_changed();
    }

    fn record(&mut self, step: u64, path: &Path, kind: CheckpointKind, bytes: u64) {
        // What was measured of another step does not describe this one.
        let value = self.evaluated.filter(|(evaluated, _)| *evaluated == step).map(|(_, loss)| loss);
        let metric = value.map(|_| series_names::VALIDATION_LOSS.to_owned());
        let checkpoint = NewCheckpoint { step, path: path.to_path_buf(), kind, metric, value, bytes };
        self.kept.add(step, kind, path);
        self.writer.checkpoint(&self.job.run, checkpoint);
    }
}

impl Hooks for RunHooks<'_> {
    fn control(&mut self, trainer: &Trainer) -> Control {
        self.note_progress(trainer);
        self.context.position.busy_with(Activity::Step);
        if self.context.position.take_told()
            && let Some(health) = self.health.now()
        {
            self.tell_health(trainer.progress().step, health);
        }
        loop {
            if self.health.is_over() {
                return Control::Stop;
            }
            if self.control.should_stop() {
                return Control::Stop;
            }
            if self.control.take_checkpoint() {
                return Control::Checkpoint;
            }
            let step = trainer.progress().step;
            let run = self.job.run.clone();
            if self.control.should_pause() {
                if !self.is_paused {
                    self.is_paused = true;
                    self.set_state(RunState::Paused);
                    // Whoever looks at the curve now is to see all of it. A store in trouble speaks for itself.
                    let _ = self.writer.flush();
                    self.context.outbox.send(events::Paused { run, step });
                }
                self.context.position.rest(true);
                self.control.wait_while_paused();
                self.context.position.rest(false);
                self.pace = Pace::default();
                continue;
            }
            if self.is_paused {
                self.is_paused = false;
                self.set_state(RunState::Running);
                self.context.outbox.send(events::Resumed { run, step });
            }
            return Control::Go;
        }
    }

    fn step(&mut self, report: &StepReport) {
        self.last_loss = Some(report.loss);
        let train_secs = self.progress.map_or(0.0, |progress| progress.train_secs) + report.step_secs;
        self.progress = Some(Progress { steps_done: report.step, tokens: report.tokens, train_secs });
        self.log(
            report.step,
            &[
                (series_names::TRAIN_LOSS, report.loss),
                (series_names::TRAIN_LEARNING_RATE, report.learning_rate),
                (series_names::TRAIN_GRAD_NORM, report.grad_norm),
                (series_names::TRAIN_TOKENS_PER_SEC, report.tokens_per_sec),
            ],
        );
        if self.told_runs.elapsed() >= RUNS_INTERVAL {
            self.told_runs = Instant::now();
            self.context.runs_changed();
        }
        self.context.position.stepped(report.step_secs);
        if let Some(health) = self.health.step(report.step, report.loss) {
            self.tell_health(report.step, health);
        }
        let step_secs = self.pace.add(report.step_secs);
        let is_due = self.told_step.is_none_or(|at| at.elapsed() >= STEP_EVENT_INTERVAL) || report.step == self.steps;
        if is_due {
            self.told_step = Some(Instant::now());
            self.context.outbox.send(events::Step {
                run: self.job.run.clone(),
                step: report.step,
                steps: self.steps,
                loss: report.loss,
                learning_rate: report.learning_rate,
                grad_norm: report.grad_norm,
                tokens_per_sec: report.tokens_per_sec,
                tokens: report.tokens,
                eta_secs: step_secs * self.steps.saturating_sub(report.step) as f64,
            });
        }
    }

    fn evaluated(&mut self, report: &EvaluationReport) {
        self.evaluated = Some((report.step, report.loss));
        if report.best {
            self.best = Some((report.loss, report.step));
        }
        self.log(report.step, &[(series_names::VALIDATION_LOSS, report.loss)]);
        for measured in report.metrics.iter() {
            self.log(report.step, &[(measured.metric.series, measured.value)]);
        }
        self.writer.example_outcomes(&self.job.run, self.outcomes(report), report.best);
        if let Some(confusion) = &report.confusion {
            self.writer.snapshot(&self.job.run, NewSnapshot::confusion(report.step, confusion));
        }
        // Whoever hears of the evaluation is to find both. A store in trouble speaks for itself.
        let _ = self.writer.flush();
        self.context.runs_changed();
        self.context.outbox.send(events::Evaluated {
            run: self.job.run.clone(),
            step: report.step,
            loss: report.loss,
            metrics: report.metrics.clone(),
            best: report.best,
        });
        if let Some(health) = self.health.evaluated(report.step, report.loss) {
            self.tell_health(report.step, health);
        }
    }

    fn sample(&mut self, step: u64, text: &str) {
        self.writer.snapshot(&self.job.run, NewSnapshot::text(step, text));
        // As with evaluations: whoever hears of it reads the store.
        let _ = self.writer.flush();
        self.context.outbox.send(events::Sample { run: self.job.run.clone(), step, text: text.to_owned() });
    }

    fn evaluating(&mut self, trainer: &Trainer) {
        self.context.position.busy_with(Activity::Evaluation);
        let step = trainer.progress().step;
        match mixing_matrices(trainer.plan(), trainer.parameters()) {
            Ok(matrices) if matrices.is_empty() => {}
            Ok(matrices) => {
                for Mixing { layer, heads, width, values } in matrices {
                    let shape = vec![heads as u64, width as u64];
                    let snapshot = NewSnapshot::f32(step, snapshot_kinds::MIXING, shape, &values);
                    self.writer.snapshot(&self.job.run, NewSnapshot { layer: Some(layer as u32), ..snapshot });
                }
                // Whoever hears of the evaluation that follows is to find them. A store in trouble speaks for itself.
                let _ = self.writer.flush();
            }
            Err(error) => self.warn(format!("The mixing matrices of step {step} could not be kept. {error}")),
        }
    }

    fn analysed(&mut self, step: u64, found: &Result<Analysis, AnalysisError>) {
        let packed = match found {
            Ok(analysis) => analysis.pack().map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let (analysis, packed) = match (found, packed) {
            (Ok(analysis), Ok(packed)) => (analysis, packed),
            (_, Err(why)) => {
                self.warn(format!("Could not analyse the attention at step {step}; training goes on. {why}"));
                return;
            }
            (Err(_), Ok(_)) => return,
        };
        if let Some(similarity) = analysis.similarity.first() {
            let (near, far) = similarity.near_and_far();
            for (series, value) in
                [(series_names::PROBE_ADJACENT_SIMILARITY, near), (series_names::PROBE_FAR_SIMILARITY, far)]
            {
                if value.is_finite() {
                    self.log(step, &[(series, value)]);
                }
            }
        }
        if let Some(spectra) = &analysis.spectra {
            let count = spectra.network.dimension.div_ceil(100);
            // A point of a curve has no room for an interval; the analysis itself keeps it.
            if spectra.network.knows_share(count) {
                self.log(step, &[(series_names::PROBE_ENERGY_IN_1_PERCENT, spectra.network.share_of(count))]);
            }
        }
        for snapshot in NewSnapshot::analysis(step, packed) {
            self.writer.snapshot(&self.job.run, snapshot);
        }
        // Whoever hears of it is to find it.
        let _ = self.writer.flush();
        self.context.outbox.send(events::Snapshot { run: self.job.run.clone(), step, secs: analysis.secs });
    }

    fn analysis_thinned(&mut self, step: u64, analysis_secs: f64) {
        self.warn(format!(
            "From step {step} on some analyses of attention are left out: one takes {analysis_secs:.2} s, and all together may \
             take {:.0} % of the training time. Lower probe.examples, or raise probe.every, to have them at even steps.",
            100.0 * LIVE_ANALYSIS_SHARE
        ));
    }

    fn covered(&mut self, step: u64, report: &CoverageReport) {
        // What was best until now scored every pair.
        self.best = None;
        if let Some(health) = self.health.restart() {
            self.tell_health(step, health);
        }
        let at = self.progress.unwrap_or_default();
        let (series, wall_ms) = (series_names::COVERAGE_SCORE_ERROR, (at.train_secs * 1e3) as u64);
        self.writer.log(&self.job.run, series, step, report.score_error, wall_ms, at.tokens);
        self.context.outbox.send(chosen_event(&self.job.run, step, report));
    }

    fn checkpoint(&mut self, trainer: &Trainer, moment: Moment) {
        // An attempt that a crash ended may have left a better one.
        let moment = Moment { best: moment.best && self.kept_best.is_replaced(trainer), ..moment };
        if !moment.best && !moment.resumable {
            return;
        }
        self.context.position.busy_with(Activity::Checkpoint);
        let run = &self.job.run;
        let step = trainer.progress().step;
        // A checkpoint must never be ahead of the curve that leads to it: a run continued from it logs only what follows.
        // A store in trouble speaks for itself.
        let _ = self.writer.flush();
        let path = checkpoints::folder(&self.context.store.paths().checkpoints(run), step);
        let is_final = step >= self.steps || self.control.should_stop();
        let deadline = Instant::now() + if is_final { DISK_PATIENCE } else { Duration::ZERO };
        let bytes = loop {
            match save(trainer, moment, self.lineage.as_ref(), &self.context.store, run) {
                Ok(bytes) => break bytes,
                // There is no other checkpoint to come: a disk that is full for a moment is waited for.
                Err(Unsaved { is_full: true, .. }) if Instant::now() < deadline => std::thread::sleep(DISK_PAUSE),
                Err(Unsaved { why, .. }) => {
                    self.warn(format!("The checkpoint of step {step} could not be written; training goes on. {why}"));
                    if moment.resumable {
                        self.unsaved = Some(why);
                    }
                    return;
                }
            }
        };
        if moment.resumable {
            self.unsaved = None;
            self.record(step, &path, if moment.asked { CheckpointKind::Kept } else { CheckpointKind::Last }, bytes);
        }
        if moment.best {
            self.kept_best.replace(trainer);
            self.record(step, &path, CheckpointKind::Best, bytes);
        }
        let gone = self.kept.superfluous(self.job.config.train.keep_checkpoints);
        for path in &gone {
            self.writer.forget_checkpoint(run, path);
        }
        // First the records, then the folders: a crash in between leaves folders that `sweep` finds. Where nothing can be
        // written the folders go all the same, for they take the room.
        let _ = self.writer.flush();
        for path in gone {
            if checkpoints::remove(&self.context.store, run, &path).is_err() {
                self.kept.left(path);
            }
        }
        self.context.outbox.send(events::Checkpointed { run: run.clone(), step, path, bytes, best: moment.best });
    }

    fn should_stop(&self) -> bool {
        // Asked again and again inside of long work: it goes on.
        self.context.position.beat();
        self.control.should_stop()
    }
}

/// A checkpoint that could not be written.
struct Unsaved {
    why: String,
    is_full: bool,
}

/// Writes the model directory of a checkpoint; its bytes.
fn save(
    trainer: &Trainer,
    moment: Moment,
    lineage: Option<&Lineage>,
    store: &Store,
    run: &RunId,
) -> Result<u64, Unsaved> {
    // What stands in the way here is a full disk, or stays.
    let path = checkpoints::place(store, run, trainer.progress().step);
    let path = path.map_err(|error| Unsaved { why: error.to_string(), is_full: true })?;
    let state = moment.resumable.then(|| training_state(trainer)).transpose();
    let state = state.map_err(|error| Unsaved { why: error.to_string(), is_full: false })?;
    let directory = ModelDirectory {
        plan: trainer.plan(),
        tensors: &trainer.parameters().tensors(),
        tokenizer_json: trainer.corpus().tokenizer_json(),
        config: Some(trainer.config()),
        training: state.as_ref(),
        run: Some(run.as_str()),
        lineage,
        labels: trainer.corpus().labels(),
        normalisation: trainer.corpus().images().map(|images| &images.normalisation),
        card: None,
    };
    let saved = save_model_dir(&path, &directory);
    saved.map(|saved| saved.bytes).map_err(|error| Unsaved { why: error.to_string(), is_full: error.is_full_disk() })
}

/// Mean time of recent steps, for the time left: an average that forgets over some 50 steps.
#[derive(Default)]
struct Pace {
    mean_secs: f64,
    weight: f64,
}

impl Pace {
    fn add(&mut self, step_secs: f64) -> f64 {
        const KEEP: f64 = 0.98;
        self.mean_secs = KEEP * self.mean_secs + (1.0 - KEEP) * step_secs;
        self.weight = KEEP * self.weight + (1.0 - KEEP);
        self.mean_secs / self.weight
    }
}

#[cfg(test)]
mod tests {
    use super::Pace;

    #[test]
    fn the_pace_is_right_from_the_first_step_and_follows() {
        let mut pace = Pace::default();
        assert!((pace.add(0.5) - 0.5).abs() < 1e-12);
        for _ in 0..1000 {
            pace.add(0.1);
        }
        assert!((pace.add(0.1) - 0.1).abs() < 1e-6);
    }
}
