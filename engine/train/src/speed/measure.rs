use rayon::ThreadPool;

use super::{
    LargestBatch, MachineLimits, Measurement, MemoryAnswer, MemoryFound, MemoryProbe, MemoryRequest, MemorySource,
    Outcome, Point, PointResult, SideResult, SpecError, Spread, StepSpeed, StepTime, Subject, SweepResult, SweepSpec,
    failure::{failure_of, reason_of},
    largest_batch, limits_of,
    others::{Others, Spent},
    pool,
    probe::{Asked, measure_memory},
};
use crate::{
    attention::{Cost, ModelPlan, Workload},
    config::DeviceChoice,
    model::open_device_of,
    ops::profile::OperationTime,
    train::{TrainError, free_memory},
};

/// How long steps are taken in a row to see their energy: GPUs renew their reading some ten times a second.
const ENERGY_SECS: f64 = 1.0;

/// Steps of that pass at most.
const MOST_ENERGY_STEPS: u32 = 1000;

/// Steps of the pass that looks at memory alone: gradients and moments are there after the first.
const MEMORY_STEPS: usize = 2;

/// How far a sweep is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepProgress {
    /// The point, from 0.
    pub point: usize,
    /// Points in all.
    pub points: usize,
    /// The point in words.
    pub label: String,
    /// Rounds of steps done at this point.
    pub round: usize,
    /// Rounds at this point in all.
    pub rounds: usize,
}

impl SweepProgress {
    /// Share of the whole sweep that is done, 0..=1.
    pub fn fraction(&self) -> f64 {
        let within = self.round as f64 / self.rounds.max(1) as f64;
        ((self.point as f64 + within) / self.points.max(1) as f64).clamp(0.0, 1.0)
    }
}

/// Looks on while a sweep is measured.
pub trait SweepWatch {
    /// Whether to end; asked between steps. The point in progress is then left out.
    fn is_stopped(&self) -> bool;

    /// Energy that a device has used since some moment, in joules; none where it does not tell.
    fn joules(&mut self, device: DeviceChoice) -> Option<f64>;

    /// After every round of steps.
    fn progress(&mut self, progress: &SweepProgress);

    /// After every point, and once more when the limits of the machine are known.
    fn measured(&mut self, result: &SweepResult);
}

/// Measures a sweep, point after point, the sides of a point in turns. Models that cannot be built or do not fit are
/// results, not errors.
///
/// # Errors
/// If the sweep itself makes no sense; nothing was measured then.
pub fn measure(spec: &SweepSpec, watch: &mut dyn SweepWatch) -> Result<SweepResult, SpecError> {
    measure_with(spec, watch, &MemoryProbe::of_this_program())
}

/// The same with memory measured by `probe`. Where it cannot be asked, this process measures it, and the results say so.
///
/// # Errors
/// As [`measure`].
pub fn measure_with(
    spec: &SweepSpec,
    watch: &mut dyn SweepWatch,
    probe: &MemoryProbe,
) -> Result<SweepResult, SpecError> {
    let points = spec.points()?;
    let mut result = SweepResult::default();
    for (index, point) in points.iter().enumerate() {
        let progress = SweepProgress {
            point: index,
            points: points.len(),
            label: point.settings.iter().map(super::Setting::to_override).collect::<Vec<_>>().join(", "),
            round: 0,
            rounds: (spec.warmup + spec.steps) * spec.repeats + 1,
        };
        if watch.is_stopped() {
            break;
        }
        watch.progress(&progress);
        let mut at = At { spec, progress, watch, probe, others: None };
        let found = if spec.generation.is_some() { at.generation_point(point) } else { at.point(point) };
        let Some(found) = found else { break };
        let others_cores = at.others.map(Spent::cores);
        result.points.push(PointResult { others_cores, ..found });
        result.is_complete = result.points.len() == points.len();
        watch.measured(&result);
    }
    // Last, since they take memory that the allocator keeps for a while.
    if !result.points.is_empty() {
        result.limits = limits(spec, &result.points);
        watch.measured(&result);
    }
    Ok(result)
}

/// How often the limits are measured where a product was faster than they allow.
const MOST_LIMITS: usize = 3;

/// The limits of what the base config computes on, none where its memory is full. A product that was faster than the limit of
/// products shows that the machine did something else while the limit was measured: then it is measured again, and the highest
/// counts.
fn limits(spec: &SweepSpec, points: &[PointResult]) -> Option<MachineLimits> {
    let mut limits = limits_of(&spec.base).ok()?;
    for _ in 1..MOST_LIMITS {
        if fastest_product(points) <= limits.product_flops_per_sec {
            break;
        }
        let again = limits_of(&spec.base).ok()?;
        limits.product_flops_per_sec = limits.product_flops_per_sec.max(again.product_flops_per_sec);
        limits.copy_bytes_per_sec = limits.copy_bytes_per_sec.max(again.copy_bytes_per_sec);
    }
    Some(limits)
}

/// The most FLOP/s of an operation of the points.
fn fastest_product(points: &[PointResult]) -> f64 {
    let measured = points.iter().flat_map(|point| &point.sides).filter_map(|side| side.outcome.measurement());
    let operations = measured.flat_map(|found| &found.operations).filter(|operation| operation.seconds > 0.0);
    operations.map(|operation| operation.flops as f64 / operation.seconds).fold(0.0, f64::max)
}

/// The point that is measured.
pub(super) struct At<'a> {
    pub spec: &'a SweepSpec,
    pub progress: SweepProgress,
    pub watch: &'a mut dyn SweepWatch,
    pub probe: &'a MemoryProbe,
    /// What other programs used while steps were taken.
    pub others: Option<Spent>,
}

/// A model with the threads that it computes on.
struct Built {
    place: usize,
    model: StepSpeed,
    pool: ThreadPool,
}

/// What is known of a side while it is measured.
#[derive(Default)]
struct Found {
    times: Vec<StepTime>,
    operations: Vec<OperationTime>,
    facts: Option<Facts>,
    memory: Option<(MemoryFound, MemorySource)>,
    step_joules: Option<f64>,
    failure: Option<Outcome>,
    /// The estimate of what it takes, and what was free before anything was built.
    needed_bytes: u64,
    free_bytes: Option<u64>,
}

struct Facts {
    tokens: u64,
    parameters: u64,
    predicted_flops: u64,
    predicted_memory_bytes: u64,
}

impl At<'_> {
    /// None if it was stopped.
    fn point(&mut self, point: &Point) -> Option<PointResult> {
        let mut found: Vec<Found> = point.subjects.iter().map(|subject| self.judge(subject)).collect();
        let in_turns = fits_together(&found);
        let all: Vec<usize> = (0..point.subjects.len()).collect();
        let groups: Vec<&[usize]> = if in_turns { vec![&all] } else { all.chunks(1).collect() };
        for place in 0..point.subjects.len() {
            self.look_at_memory(point.subjects.get(place)?, found.get_mut(place)?)?;
        }
        for repeat in 0..self.spec.repeats {
            for group in &groups {
                self.take_steps(group, &point.subjects, &mut found, repeat)?;
            }
        }
        let mut sides = Vec::new();
        for (subject, found) in point.subjects.iter().zip(found) {
            let outcome = found.outcome();
            if self.watch.is_stopped() {
                return None;
            }
            let largest_batch = self.largest_batch(subject, &outcome);
            sides.push(SideResult { side: subject.side.clone(), outcome, largest_batch });
        }
        Some(PointResult { settings: point.settings.clone(), sides, in_turns, others_cores: None })
    }

    /// The largest batch of a side, if it is wanted and the side can be built.
    fn largest_batch(&self, subject: &Subject, outcome: &Outcome) -> Option<LargestBatch> {
        let can_be_built = outcome.is_measured() || matches!(outcome, Outcome::OutOfMemory { .. });
        if !self.spec.largest_batch || !can_be_built {
            return None;
        }
        let vocabulary = self.spec.vocabulary_of(&subject.config);
        let is_stopped = || self.watch.is_stopped();
        largest_batch(&subject.config, vocabulary, self.spec.memory_bytes, self.probe, &is_stopped).ok()
    }

    /// What can be said before anything is built.
    fn judge(&self, subject: &Subject) -> Found {
        let failed = |failure| Found { failure: Some(failure), ..Found::default() };
        if !subject.problems.is_empty() {
            return failed(Outcome::Invalid { reason: reason_of(&subject.problems) });
        }
        let cost = match ModelPlan::resolve(&subject.config, self.spec.vocabulary_of(&subject.config)) {
            Ok(plan) => Cost::of(&plan, &Workload::training(&subject.config)),
            Err(problems) => return failed(Outcome::Invalid { reason: reason_of(&problems) }),
        };
        let free = match open_device_of(&subject.config) {
            Ok(device) => free_memory(&device),
            Err(error) => return failed(Outcome::Invalid { reason: error.to_string() }),
        };
        match free {
            Some(free_bytes) if cost.memory_bytes > free_bytes => {
                failed(Outcome::OutOfMemory { needed_bytes: cost.memory_bytes, free_bytes })
            }
            free_bytes => Found { needed_bytes: cost.memory_bytes, free_bytes, ..Found::default() },
        }
    }

    /// Has a side trained alone to see its peak of memory.
    fn look_at_memory(&mut self, subject: &Subject, found: &mut Found) -> Option<()> {
        if found.failure.is_some() {
            return Some(());
        }
        let vocabulary = self.spec.vocabulary_of(&subject.config);
        let config = subject.config.clone();
        let request = MemoryRequest { config, vocabulary, steps: MEMORY_STEPS, limit_bytes: None, generation: None };
        match self.probe.ask(&request, &|| self.watch.is_stopped()) {
            Asked::Stopped => return None,
            Asked::Answered(MemoryAnswer::Found(memory)) => found.memory = Some((memory, MemorySource::OwnProcess)),
            Asked::Answered(MemoryAnswer::Not { outcome }) => found.failure = Some(outcome),
            Asked::Unavailable => match measure_memory(&request) {
                Ok(memory) => found.memory = Some((memory, MemorySource::SharedProcess)),
                Err(error) => found.failure = Some(failure_of(&error, found.free_bytes)),
            },
        }
        (!self.watch.is_stopped()).then_some(())
    }

    /// Builds the models of a group and takes their steps in turns.
    fn take_steps(&mut self, group: &[usize], subjects: &[Subject], found: &mut [Found], repeat: usize) -> Option<()> {
        let mut built = Vec::new();
        for &place in group {
            let (subject, found) = (subjects.get(place)?, found.get_mut(place)?);
            if found.failure.is_none() {
                match Built::new(place, subject, self.spec.vocabulary_of(&subject.config)) {
                    Ok(model) => built.push(model),
                    Err(error) => found.failure = Some(failure_of(&error, found.free_bytes)),
                }
            }
        }
        let rounds = self.spec.warmup + self.spec.steps;
        let others = Others::watch();
        for round in 0..rounds {
            for built in &mut built {
                let found = found.get_mut(built.place)?;
                if found.failure.is_some() {
                    continue;
                }
                if self.watch.is_stopped() {
                    return None;
                }
                match built.step() {
                    Ok(time) if round >= self.spec.warmup => found.times.push(time),
                    Ok(_) => {}
                    Err(error) => found.failure = Some(failure_of(&error, found.free_bytes)),
                }
            }
            self.progress.round = repeat * rounds + round + 1;
            self.watch.progress(&self.progress);
        }
        self.note(others);
        for built in &mut built {
            let found = found.get_mut(built.place)?;
            if self.watch.is_stopped() {
                return None;
            }
            if found.failure.is_none() && repeat == 0 {
                found.facts = Some(built.facts());
                match built.profiled_step() {
                    Ok((_, operations)) => found.operations = operations,
                    Err(error) => found.failure = Some(failure_of(&error, found.free_bytes)),
                }
                found.step_joules = self.step_joules(built);
            }
        }
        Some(())
    }

    /// Keeps what other programs used while steps were taken.
    pub(super) fn note(&mut self, others: Option<Others>) {
        let spent = others.and_then(Others::spent);
        self.others = self.others.into_iter().chain(spent).reduce(Spent::and);
    }

    /// Energy of a step over many in a row, where the device tells. The other sides rest meanwhile.
    fn step_joules(&mut self, built: &mut Built) -> Option<f64> {
        let device = built.model.config().device;
        let start = self.watch.joules(device)?;
        let mut secs = 0.0;
        let mut steps = 0_u32;
        while steps < MOST_ENERGY_STEPS && (secs < ENERGY_SECS || (steps as usize) < self.spec.steps) {
            if self.watch.is_stopped() {
                return None;
            }
            secs += built.step().ok()?.step_secs;
            steps += 1;
        }
        let used = self.watch.joules(device)? - start;
        // A counter that stood still or began anew says nothing.
        (used > 0.0).then(|| used / f64::from(steps))
    }
}

impl Built {
    fn new(place: usize, subject: &Subject, vocabulary: usize) -> Result<Self, TrainError> {
        let pool = pool::start(subject.config.threads_used())?;
        let model = pool.install(|| StepSpeed::new(subject.config.clone(), vocabulary))?;
        Ok(Self { place, model, pool })
    }

    fn step(&mut self) -> Result<StepTime, TrainError> {
        let Self { model, pool, .. } = self;
        pool.install(|| model.step())
    }

    fn profiled_step(&mut self) -> Result<(StepTime, Vec<OperationTime>), TrainError> {
        let Self { model, pool, .. } = self;
        pool.install(|| model.profiled_step())
    }

    fn facts(&self) -> Facts {
        Facts {
            tokens: self.model.tokens(),
            parameters: self.model.parameters(),
            predicted_flops: self.model.cost().flops_per_step,
            predicted_memory_bytes: self.model.cost().memory_bytes,
        }
    }
}

impl Found {
    fn outcome(self) -> Outcome {
        if let Some(failure) = self.failure {
            return failure;
        }
        let median = |part: fn(&StepTime) -> f64| {
            Spread::of(self.times.iter().map(part)).map_or(f64::NAN, |spread| spread.median)
        };
        let (Some(facts), Some(step_secs)) = (&self.facts, Spread::of(self.times.iter().map(|time| time.step_secs)))
        else {
            return Outcome::Failed { reason: "No step was counted.".to_owned() };
        };
        Outcome::Measured(Box::new(Measurement {
            step_secs,
            forward_secs: median(|time| time.forward_secs),
            backward_secs: median(|time| time.backward_secs),
            optimiser_secs: median(|time| time.optimiser_secs),
            tokens: facts.tokens,
            parameters: facts.parameters,
            predicted_flops: facts.predicted_flops,
            predicted_memory_bytes: facts.predicted_memory_bytes,
            peak_memory_bytes: self.memory.and_then(|(memory, _)| memory.peak_memory_bytes),
            program_memory_bytes: self.memory.and_then(|(memory, _)| memory.program_memory_bytes),
            memory_source: self.memory.map(|(_, source)| source).unwrap_or_default(),
            device_memory_bytes: self.memory.and_then(|(memory, _)| memory.device_memory_bytes),
            step_joules: self.step_joules,
            operations: self.operations,
            times: self.times,
        }))
    }
}

/// Whether the sides that can be measured fit into free memory at the same time.
fn fits_together(found: &[Found]) -> bool {
    let sound = found.iter().filter(|found| found.failure.is_none());
    let needed = sound.map(|found| found.needed_bytes).fold(0, u64::saturating_add);
    found.iter().filter_map(|found| found.free_bytes).min().is_none_or(|free| needed <= free)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts what it is told, and stops after so many points.
    #[derive(Default)]
    struct Counting {
        rounds: Vec<(usize, usize)>,
        told: usize,
        stop_after: Option<usize>,
        points: usize,
        /// Joules a reading, of a device that tells.
        joules_each: Option<f64>,
        joules: f64,
    }

    impl SweepWatch for Counting {
        fn is_stopped(&self) -> bool {
            self.stop_after.is_some_and(|most| self.points >= most)
        }

        fn joules(&mut self, device: DeviceChoice) -> Option<f64> {
            assert_eq!(device, DeviceChoice::Cpu);
            self.joules += self.joules_each?;
            Some(self.joules)
        }

        fn progress(&mut self, progress: &SweepProgress) {
            self.rounds.push((progress.point, progress.round));
        }

        fn measured(&mut self, result: &SweepResult) {
            self.told += 1;
            self.points = result.points.len();
        }
    }

    fn spec(axes: &[&str], sides: &[&str]) -> SweepSpec {
        let mut spec = SweepSpec {
            vocabulary: Some(40),
            axes: axes.iter().map(|axis| axis.parse().unwrap()).collect(),
            sides: sides.iter().map(|side| side.parse().unwrap()).collect(),
            warmup: 1,
            steps: 3,
            repeats: 2,
            ..SweepSpec::default()
        };
        let base = &mut spec.base;
        (base.model.layers, base.model.heads, base.model.width, base.model.feed_forward) = (1, 2, 16, 24);
        (base.data.sequence_length, base.train.batch, base.threads) = (8, 2, 1);
        spec
    }

    #[test]
    fn every_point_and_side_is_measured_or_says_why_not() {
        let spec = spec(
            &["data.sequence_length=8,16", "model.heads=2,3"],
            &["one", "huge:model.layers=256,model.width=24576"],
        );
        let mut watch = Counting::default();
        let result = measure(&spec, &mut watch).unwrap();
        assert!(result.is_complete && result.limits.is_some());
        assert_eq!((result.points.len(), watch.told), (4, 5));
        let first = &result.points[0];
        assert_eq!(first.label(), "data.sequence_length=8, model.heads=2");
        let one = first.side("one").and_then(Outcome::measurement).unwrap();
        assert_eq!((one.times.len(), one.tokens), (6, 16));
        assert!(one.step_secs.lower <= one.step_secs.median && one.step_secs.median <= one.step_secs.upper);
        assert!(one.predicted_flops > 0 && one.predicted_memory_bytes > 0 && one.tokens_per_sec() > 0.0);
        assert_eq!(one.memory_source, MemorySource::SharedProcess, "tests are no program that could be asked");
        assert!(one.operations.iter().any(|operation| operation.flops > 0), "{:?}", one.operations);
        assert!(
            matches!(first.side("huge"), Some(Outcome::OutOfMemory { needed_bytes, free_bytes }) if needed_bytes > free_bytes)
        );
        let Some(Outcome::Invalid { reason }) = result.points[1].side("one") else { panic!("{:?}", result.points[1]) };
        assert!(reason.contains("model.width"), "{reason}");
        let longer = result.points[2].side("one").and_then(Outcome::measurement).unwrap();
        assert_eq!(longer.tokens, 32);
        assert!(longer.predicted_flops > one.predicted_flops);
        let text = serde_json::to_string(&result).unwrap();
        let read: SweepResult = serde_json::from_str(&text).unwrap();
        let shape = |result: &SweepResult| {
            let kinds = |point: &PointResult| point.sides.iter().map(|side| side.outcome.kind()).collect::<Vec<_>>();
            result.points.iter().map(|point| (point.label(), kinds(point))).collect::<Vec<_>>()
        };
        assert_eq!(shape(&read), shape(&result));
    }

    #[test]
    fn sides_with_threads_of_their_own_are_measured_in_turns() {
        let result = measure(&spec(&["train.batch=1"], &["one", "two:threads=2"]), &mut Counting::default()).unwrap();
        assert!(result.points[0].in_turns);
        assert!(result.points[0].sides.iter().all(|side| side.outcome.measurement().is_some()), "{result:?}");
    }

    #[test]
    fn energy_is_of_one_step_and_unknown_where_the_device_does_not_tell() {
        let spec = spec(&["train.batch=1"], &[]);
        let joules = |joules_each| {
            let mut watch = Counting { joules_each, ..Counting::default() };
            let result = measure(&spec, &mut watch).unwrap();
            let found = result.points[0].side("base").and_then(Outcome::measurement).unwrap();
            (found.step_joules, found.token_joules())
        };
        let (step, token) = joules(Some(600.0));
        // One second of steps of a model that takes well under that, and at least as many as count.
        assert!(step.is_some_and(|step| step > 0.0 && step <= 200.0), "{step:?}");
        assert_eq!(token, step.map(|step| step / 8.0));
        assert_eq!(joules(None), (None, None));
        assert_eq!(joules(Some(0.0)), (None, None), "a counter that stands still");
    }

    #[test]
    fn the_largest_batch_is_found_where_it_is_wanted() {
        let mut spec = spec(&["model.heads=2,3"], &["one", "huge:model.layers=256,model.width=24576"]);
        (spec.largest_batch, spec.memory_bytes) = (true, Some(3 << 20));
        let result = measure(&spec, &mut Counting::default()).unwrap();
        let largest = |point: usize, side: usize| result.points[point].sides[side].largest_batch;
        let (one, huge) = (largest(0, 0).unwrap(), largest(0, 1).unwrap());
        assert!(one.batch > 2 && one.is_confirmed && one.needed_bytes <= 3 << 20, "{one:?}");
        assert_eq!((huge.batch, huge.is_confirmed), (0, false));
        assert!(huge.needed_bytes > huge.free_bytes);
        assert_eq!(largest(1, 0), None, "what cannot be built has no batch");
        spec.largest_batch = false;
        let result = measure(&spec, &mut Counting::default()).unwrap();
        assert!(result.points.iter().flat_map(|point| &point.sides).all(|side| side.largest_batch.is_none()));
    }

    #[test]
    fn what_was_measured_before_the_stop_is_kept() {
        let mut watch = Counting { stop_after: Some(1), ..Counting::default() };
        let result = measure(&spec(&["train.batch=1,2,3"], &[]), &mut watch).unwrap();
        assert_eq!((result.points.len(), result.is_complete), (1, false));
        assert!(watch.rounds.iter().all(|(point, _)| *point == 0));
    }
}
