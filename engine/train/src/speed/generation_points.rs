use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use rayon::ThreadPool;

use super::{
    GenerationMeasurement, GenerationSpeed, GenerationTask, GenerationTime, LargestBatch, Outcome, Point, PointResult,
    SideResult, Spread, Subject, SweepWatch,
    failure::{failure_of, reason_of},
    generation::Profiled,
    largest_generation::largest_generation,
    measure::At,
    others::Others,
    pool,
};
use crate::{attention::ModelPlan, model::open_device_of, train::free_memory};

/// How often a run is asked to end.
const LOOK: Duration = Duration::from_millis(10);

/// What is known of a side while it is measured.
struct Found<'a> {
    task: &'a GenerationTask,
    times: Vec<GenerationTime>,
    cache_bytes: u64,
    predicted: [u64; 2],
    profiled: Option<Profiled>,
    failure: Option<Outcome>,
    free_bytes: Option<u64>,
}

impl At<'_> {
    /// Generates with each cache in turns, then once more to see where attention's time goes. None if it was stopped.
    pub(super) fn generation_point(&mut self, point: &Point) -> Option<PointResult> {
        let mut found: Vec<Found<'_>> =
            point.subjects.iter().filter_map(|subject| self.judge_generation(subject)).collect();
        let mut parameters = 0;
        for repeat in 0..self.spec.repeats {
            parameters = self.generate(point.subjects.first()?, &mut found, repeat)?;
        }
        if self.watch.is_stopped() {
            return None;
        }
        let mut sides = Vec::new();
        for (subject, found) in point.subjects.iter().zip(found) {
            let outcome = found.outcome(parameters);
            // A stop ends this search and keeps the point.
            let largest_batch = self.largest_generation(point, subject, &outcome).filter(|_| !self.watch.is_stopped());
            sides.push(SideResult { side: subject.side.clone(), outcome, largest_batch });
        }
        // One cache at a time is in memory, however many sides there are.
        Some(PointResult { settings: point.settings.clone(), sides, in_turns: true, others_cores: None })
    }

    /// What can be said before anything is built.
    fn judge_generation<'a>(&self, subject: &'a Subject) -> Option<Found<'a>> {
        let task = subject.generation.as_ref()?;
        let mut found = Found {
            task,
            times: Vec::new(),
            cache_bytes: 0,
            predicted: [0; 2],
            profiled: None,
            failure: None,
            free_bytes: None,
        };
        let plan = ModelPlan::resolve(&subject.config, self.spec.vocabulary_of(&subject.config));
        found.failure = match (plan, open_device_of(&subject.config)) {
            _ if !subject.problems.is_empty() => Some(Outcome::Invalid { reason: reason_of(&subject.problems) }),
            (Err(problems), _) => Some(Outcome::Invalid { reason: reason_of(&problems) }),
            (_, Err(error)) => Some(Outcome::Invalid { reason: error.to_string() }),
            (Ok(plan), Ok(device)) => {
                let needed_bytes = task.memory_bytes(&plan, &subject.config);
                found.predicted = [task.cache_bytes(&plan, &subject.config), needed_bytes];
                let free = free_memory(&device);
                found.free_bytes = free;
                // What the search for the largest batch may not use, no point may.
                let usable = match (free, self.spec.memory_bytes) {
                    (Some(free), Some(limit)) => Some(free.min(limit)),
                    (free, limit) => free.or(limit),
                };
                usable
                    .filter(|free_bytes| needed_bytes > *free_bytes)
                    .map(|free_bytes| Outcome::OutOfMemory { needed_bytes, free_bytes })
            }
        };
        Some(found)
    }

    /// Builds the model, which is the same for all sides, and generates in turns; its trainable numbers.
    fn generate(&mut self, subject: &Subject, found: &mut [Found<'_>], repeat: usize) -> Option<u64> {
        if found.iter().all(|found| found.failure.is_some()) {
            return Some(0);
        }
        let vocabulary = self.spec.vocabulary_of(&subject.config);
        let built = pool::start(subject.config.threads_used()).and_then(|pool| {
            let speed = pool.install(|| GenerationSpeed::new(subject.config.clone(), vocabulary))?;
            Ok((pool, speed))
        });
        let (pool, speed) = match built {
            Ok(built) => built,
            Err(error) => {
                for found in found.iter_mut().filter(|found| found.failure.is_none()) {
                    found.failure = Some(failure_of(&error, found.free_bytes));
                }
                return Some(0);
            }
        };
        let rounds = self.spec.warmup + self.spec.steps;
        let others = Others::watch();
        for round in 0..rounds {
            for found in found.iter_mut().filter(|found| found.failure.is_none()) {
                match while_watched(&pool, self.watch, |goes_on| speed.run(found.task, goes_on)) {
                    None | Some(Ok(None)) => return None,
                    Some(Ok(Some((time, cache_bytes)))) => {
                        found.cache_bytes = cache_bytes;
                        if round >= self.spec.warmup {
                            found.times.push(time);
                        }
                    }
                    Some(Err(error)) => found.failure = Some(failure_of(&error, found.free_bytes)),
                }
            }
            self.progress.round = repeat * rounds + round + 1;
            self.watch.progress(&self.progress);
        }
        self.note(others);
        for found in found.iter_mut().filter(|found| found.failure.is_none() && repeat == 0) {
            match while_watched(&pool, self.watch, |goes_on| speed.profile(found.task, goes_on)) {
                None | Some(Ok(None)) => return None,
                Some(Ok(profiled)) => found.profiled = profiled,
                Some(Err(error)) => found.failure = Some(failure_of(&error, found.free_bytes)),
            }
        }
        Some(speed.parameters())
    }

    /// The largest batch of a side, if it is wanted and the model can be built: at the last value of an axis over batches.
    fn largest_generation(&self, point: &Point, subject: &Subject, outcome: &Outcome) -> Option<LargestBatch> {
        let can_be_built = outcome.is_measured() || matches!(outcome, Outcome::OutOfMemory { .. });
        let is_last = self.spec.axes.iter().filter(|axis| axis.field == "batch").all(|axis| {
            let here = point.settings.iter().find(|setting| setting.field == axis.field);
            here.map(|setting| &setting.value) == axis.values.last()
        });
        if !self.spec.largest_batch || !can_be_built || !is_last || self.watch.is_stopped() {
            return None;
        }
        let vocabulary = self.spec.vocabulary_of(&subject.config);
        let is_stopped = || self.watch.is_stopped();
        let (config, task) = (&subject.config, subject.generation.as_ref()?);
        largest_generation(config, task, vocabulary, self.spec.memory_bytes, self.probe, &is_stopped).ok()
    }
}

impl Found<'_> {
    fn outcome(self, parameters: u64) -> Outcome {
        if let Some(failure) = self.failure {
            return failure;
        }
        let spread = |part: fn(&GenerationTime) -> f64| Spread::of(self.times.iter().map(part));
        let (Some(total_secs), Some(reading), Some(profiled)) =
            (spread(|time| time.total_secs), spread(|time| time.reading_secs), self.profiled)
        else {
            return Outcome::Failed { reason: "No run was counted.".to_owned() };
        };
        let [predicted_cache_bytes, predicted_memory_bytes] = self.predicted;
        Outcome::Generated(Box::new(GenerationMeasurement {
            total_secs,
            reading_secs: reading.median,
            texts: self.task.batch as u64,
            tokens: self.task.new_tokens as u64,
            parameters,
            cache_bytes: self.cache_bytes,
            predicted_cache_bytes,
            predicted_memory_bytes,
            groups: profiled.groups,
            reading_groups: profiled.reading_groups,
            step_secs: profiled.step_secs,
            times: self.times,
        }))
    }
}

/// Computes on the threads of a pool; this one only looks whether to end, which `f` is told when it asks whether to go on.
fn while_watched<R: Send>(
    pool: &ThreadPool,
    watch: &dyn SweepWatch,
    f: impl FnOnce(&dyn Fn() -> bool) -> R + Send,
) -> Option<R> {
    let (is_stopped, is_done) = (AtomicBool::new(false), AtomicBool::new(false));
    let mut result = None;
    pool.in_place_scope(|scope| {
        scope.spawn(|_| {
            // Also where it panics.
            let _done = Done(&is_done);
            result = Some(f(&|| !is_stopped.load(Ordering::Relaxed)));
        });
        while !is_done.load(Ordering::Acquire) {
            if watch.is_stopped() {
                is_stopped.store(true, Ordering::Relaxed);
            }
            std::thread::sleep(LOOK);
        }
    });
    result
}

/// Says at its end that something is done.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}
