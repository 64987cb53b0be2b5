//! Runs that look like a day's work, the same in every start: for pictures and for panels that have to be full.

use headroom_app::state::{CurrentRun, State};
use headroom_engine::{
    config::{ModelKind, RunConfig, preset, to_toml},
    machine::DeviceInfo,
    protocol::{Event, JobLabel, events},
    store::{
        AttemptRecord, CheckpointKind, CheckpointRecord, Direction, Divergence, Failure, Machine, RunId, RunRecord,
        RunState, RunSummary, SeriesData, SeriesSummary, TextSample, series_names,
    },
    train::Numerics,
};

/// 2026-03-09 14:05:09 UTC.
const CREATED_MS: i64 = 1_773_065_109_000;
/// Between the starts of two runs.
const APART_MS: i64 = 1_380_000;
/// Milliseconds of a step.
const STEP_MS: u64 = 181;
/// Tokens of a step.
const STEP_TOKENS: u64 = 1024;
/// Steps between evaluations.
const EVALUATED: u64 = 50;

/// One run in a few words.
struct Sketch {
    name: &'static str,
    preset: &'static str,
    seed: u64,
    heads: usize,
    learning_rate: f64,
    state: RunState,
    steps: u64,
    /// Where the loss goes to, and how soon.
    floor: f64,
    pace: f64,
    tags: &'static [&'static str],
    note: &'static str,
}

const USUAL: Sketch = Sketch {
    name: "grammar decoder",
    preset: "grammar-decoder",
    seed: 1,
    heads: 4,
    learning_rate: 2e-3,
    state: RunState::Finished,
    steps: 600,
    floor: 2.34,
    pace: 62.0,
    tags: &["paper"],
    note: "",
};

const SKETCHES: [Sketch; 10] = [
    Sketch { note: "The baseline of table 2.", ..USUAL },
    Sketch { seed: 2, floor: 2.31, pace: 60.0, ..USUAL },
    Sketch { seed: 3, floor: 2.37, pace: 66.0, ..USUAL },
    Sketch { name: "grammar decoder, 1 head", heads: 1, floor: 2.66, pace: 88.0, ..USUAL },
    Sketch { name: "grammar decoder, 8 heads", heads: 8, floor: 2.28, pace: 55.0, ..USUAL },
    Sketch {
        name: "random words, the control",
        preset: "random-decoder",
        state: RunState::Stopped,
        steps: 320,
        floor: 5.62,
        pace: 40.0,
        tags: &["control"],
        ..USUAL
    },
    Sketch {
        name: "grammar decoder, rate too high",
        learning_rate: 0.3,
        state: RunState::Diverged,
        steps: 87,
        floor: 4.1,
        pace: 30.0,
        tags: &[],
        ..USUAL
    },
    Sketch {
        name: "wikitext decoder",
        state: RunState::Failed,
        steps: 140,
        floor: 4.6,
        pace: 120.0,
        tags: &[],
        ..USUAL
    },
    Sketch {
        name: "grammar encoder",
        preset: "grammar-encoder",
        state: RunState::Running,
        steps: 410,
        floor: 2.05,
        pace: 120.0,
        tags: &["paper", "encoder"],
        ..USUAL
    },
    Sketch { name: "grammar encoder", preset: "grammar-encoder", seed: 2, state: RunState::Queued, steps: 0, ..USUAL },
];

/// The runs, newest first as the engine lists them: five that finished, one stopped, diverged, failed, running and
/// queued each.
pub fn example_runs() -> Vec<RunSummary> {
    (0..SKETCHES.len()).rev().map(summary).collect()
}

/// A run's whole record; of its number.
pub fn example_record(number: u64) -> RunRecord {
    let config = config(number as usize);
    RunRecord {
        summary: summary(number as usize),
        config_toml: to_toml(&config),
        config: serde_json::to_value(&config).expect("a config is plain data"),
        program_version: "0.1.0".to_owned(),
        git_commit: Some("5b3c1d9e7f20".to_owned()),
        git_dirty: Some(false),
        numerics: Numerics::CURRENT,
        data_hash: Some("9f2c61d804be".to_owned()),
        machine: Machine { cpu: "Example 7 CPU".to_owned(), cores: 2, os: "Debian 12".to_owned() },
        attempts: vec![AttemptRecord {
            attempt: 1,
            first_step: 0,
            started_ms: created(number as usize),
            ended_ms: None,
        }],
    }
}

/// What computes now: the run of number 8 at step 410 of 600.
pub fn example_current() -> CurrentRun {
    CurrentRun {
        health: None,
        step: 410,
        steps: 600,
        loss: Some(2.257),
        validation_loss: Some(2.291),
        tokens_per_sec: Some(5_660.0),
        eta_secs: Some(34.4),
        ..CurrentRun::named(id(8), SKETCHES[8].name)
    }
}

/// Puts the runs with everything of theirs into a view model, by the events that the engine would send.
pub fn fill_with_examples(state: &mut State) {
    "thesis".clone_into(&mut state.store_name);
    let cpu = DeviceInfo {
        id: "cpu".to_owned(),
        name: "Example 7 CPU".to_owned(),
        available: true,
        note: None,
        memory_bytes: Some(16 << 30),
        free_bytes: Some(9 << 30),
        cores: Some(2),
        driver: None,
    };
    state.apply(Event::Devices(events::Devices { devices: vec![cpu] }));
    state.apply(Event::Runs(events::Runs { runs: example_runs() }));
    state.apply(Event::Queue(events::Queue { current: Some(job(8)), is_paused: false, waiting: vec![job(9)] }));
    state.apply(Event::System(events::System {
        cpu_percent: 193.0,
        memory_bytes: 412 << 20,
        free_bytes: 9 << 30,
        disk_free_bytes: Some(80 << 30),
        gpus: Vec::new(),
    }));
    state.current = Some(example_current());
    for index in 0..SKETCHES.len() {
        for (name, data) in curves(index) {
            state.apply(Event::Series(events::Series { run: id(index), series: name.to_owned(), whole: true, data }));
        }
        let folder = format!("/home/ada/thesis/runs/{}", id(index));
        let checkpoints = checkpoints(index, &folder);
        let record = Box::new(example_record(index as u64));
        state.apply(Event::Run(events::Run { record, checkpoints, folder: folder.into() }));
        state.apply(Event::Samples(events::Samples { run: id(index), samples: samples(index) }));
    }
    state.selection.visible = [0, 3, 4].map(id).into();
    state.selection.baseline = Some(id(0));
    state.messages.clear();
}

fn id(index: usize) -> RunId {
    format!("1k7qz{index:05}").parse().expect("an id")
}

fn job(index: usize) -> JobLabel {
    JobLabel::train(id(index), "")
}

fn created(index: usize) -> i64 {
    CREATED_MS + index as i64 * APART_MS
}

fn config(index: usize) -> RunConfig {
    let sketch = &SKETCHES[index];
    let mut config = preset(sketch.preset).expect("a preset").config().expect("a sound preset");
    sketch.name.clone_into(&mut config.name);
    config.seed = sketch.seed;
    config.model.heads = sketch.heads;
    config.train.learning_rate = sketch.learning_rate;
    config.train.steps = Some(600);
    config
}

fn summary(index: usize) -> RunSummary {
    let sketch = &SKETCHES[index];
    let secs = sketch.steps as f64 * STEP_MS as f64 / 1000.0;
    let began = sketch.state != RunState::Queued;
    let metrics = curves(index).into_iter().filter_map(|(name, data)| Some((name.to_owned(), summed(name, &data)?)));
    RunSummary {
        id: id(index),
        number: index as u64,
        name: sketch.name.to_owned(),
        state: sketch.state,
        seed: sketch.seed,
        device: "cpu".to_owned(),
        threads: 2,
        parameters: began.then_some(932_608),
        flops_per_step: began.then_some(5_910_000_000),
        train_tokens: Some(472_597),
        held_out_hash: Some("71c05ad2e8f3".to_owned()),
        evaluated_hash: Some("5eed".to_owned()),
        evaluated_examples: Some(256),
        validation_examples: Some(1_024),
        created_ms: created(index),
        started_ms: began.then(|| created(index) + 2_000),
        ended_ms: sketch.state.is_ended().then(|| created(index) + 2_000 + (secs * 1000.0) as i64),
        steps_done: sketch.steps,
        steps_total: Some(600),
        tokens: sketch.steps * STEP_TOKENS,
        train_secs: secs,
        failure: (sketch.state == RunState::Failed).then(|| Failure {
            why: "The checkpoint of step 150 could not be written: the disk is full.".to_owned(),
            what_to_do: "Free 12 MiB on the disk and resume the run.".to_owned(),
        }),
        diverged: (sketch.state == RunState::Diverged)
            .then(|| Divergence { step: 87, at: Some("layer 2, head 3".to_owned()) }),
        health: None,
        parent: None,
        note: sketch.note.to_owned(),
        tags: sketch.tags.iter().map(|tag| (*tag).to_owned()).collect(),
        archived: false,
        deleted_ms: None,
        metrics: metrics.collect(),
    }
}

fn summed(name: &str, data: &SeriesData) -> Option<SeriesSummary> {
    let direction = Direction::of(name);
    let mut best = None;
    for (&step, &value) in data.steps.iter().zip(&data.values) {
        if direction.improves(value, best.map(|(_, best)| best)) {
            best = Some((step, value));
        }
    }
    Some(SeriesSummary {
        last: *data.values.last()?,
        last_step: *data.steps.last()?,
        best: best.map(|(_, value)| value),
        best_step: best.map(|(step, _)| step),
        direction,
        count: data.steps.len() as u64,
    })
}

/// Repeatable noise in -1..1, the mean of two draws.
fn noise(seed: u64, step: u64) -> f64 {
    let draw = |salt: u64| {
        let mut bits = (seed.wrapping_mul(31).wrapping_add(step)).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt;
        bits ^= bits >> 29;
        bits = bits.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits ^= bits >> 32;
        (bits >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    f64::midpoint(draw(0x5bd1), draw(0x1b87))
}

fn curves(index: usize) -> Vec<(&'static str, SeriesData)> {
    let sketch = &SKETCHES[index];
    let seed = index as u64 * 7 + 1;
    let fall = |step: u64| sketch.floor + (6.93 - sketch.floor) * (-((step as f64 / sketch.pace).powf(0.72))).exp();
    let loss = |step: u64| match sketch.state {
        RunState::Diverged if step >= 87 => f64::NAN,
        RunState::Diverged if step > 60 => fall(step) + (step as f64 - 60.0).powi(2) / 160.0,
        _ => fall(step) + noise(seed, step) * 0.16,
    };
    let held_out = |step: u64| fall(step) + 0.035 + noise(seed + 3, step) * 0.012;
    let rate = |step: u64| {
        let warm = (step as f64 / 40.0).min(1.0);
        let done = (step.saturating_sub(40)) as f64 / 560.0;
        sketch.learning_rate * warm * (0.1 + 0.9 * 0.5 * (1.0 + (std::f64::consts::PI * done).cos()))
    };
    let encoder = config(index).model.kind == ModelKind::Encoder;
    let every = |gap: u64, value: &dyn Fn(u64) -> f64| -> SeriesData {
        let steps: Vec<u64> = (1..=sketch.steps).filter(|step| step % gap == 0).collect();
        SeriesData {
            values: steps.iter().map(|&step| value(step)).collect(),
            wall_ms: steps.iter().map(|step| step * STEP_MS).collect(),
            tokens: steps.iter().map(|step| step * STEP_TOKENS).collect(),
            steps,
            is_whole: true,
            ..SeriesData::default()
        }
    };
    let mut all = vec![
        (series_names::TRAIN_LOSS, every(1, &loss)),
        (series_names::TRAIN_LEARNING_RATE, every(1, &rate)),
        (
            series_names::TRAIN_GRAD_NORM,
            every(1, &|step| 0.4 + 2.2 * (-(step as f64) / 45.0).exp() + noise(seed + 1, step).abs() * 0.3),
        ),
        (series_names::TRAIN_TOKENS_PER_SEC, every(1, &|step| 5_660.0 + noise(seed + 2, step) * 240.0)),
        (series_names::VALIDATION_LOSS, every(EVALUATED, &held_out)),
        (series_names::SYSTEM_CPU_PERCENT, every(6, &|step| 188.0 + noise(seed + 4, step) * 9.0)),
        (
            series_names::SYSTEM_MEMORY_BYTES,
            every(6, &|step| (398.0 + (step as f64 / 60.0).min(4.0) * 3.5) * 1_048_576.0),
        ),
    ];
    if encoder {
        all.push(("validation/masked_accuracy", every(EVALUATED, &|step| 1.0 - held_out(step) / 7.6)));
    } else {
        all.push(("validation/perplexity", every(EVALUATED, &|step| held_out(step).exp())));
    }
    all.retain(|(_, data)| !data.is_empty());
    all
}

fn checkpoints(index: usize, folder: &str) -> Vec<CheckpointRecord> {
    let steps = SKETCHES[index].steps;
    let losses = curves(index).into_iter().find(|(name, _)| *name == series_names::VALIDATION_LOSS);
    let Some((_, losses)) = losses else { return Vec::new() };
    let kept = |step: u64, kind| CheckpointRecord {
        step,
        path: format!("{folder}/checkpoints/step-{step}").into(),
        kind,
        metric: Some(series_names::VALIDATION_LOSS.to_owned()),
        value: losses.steps.iter().position(|&at| at == step).and_then(|at| losses.values.get(at).copied()),
        bytes: 11_431_936,
        created_ms: created(index) + (step * STEP_MS) as i64,
        problem: None,
    };
    let best = summed(series_names::VALIDATION_LOSS, &losses).and_then(|series| series.best_step).unwrap_or(EVALUATED);
    let last = steps / EVALUATED * EVALUATED;
    let mut all = vec![kept(best, CheckpointKind::Best), kept(last, CheckpointKind::Last)];
    if last > 200 {
        all.push(kept(200, CheckpointKind::Last));
    }
    all.sort_by_key(|record| (record.step, record.kind));
    all
}

fn samples(index: usize) -> Vec<TextSample> {
    let sketch = &SKETCHES[index];
    let written = if config(index).model.kind == ModelKind::Encoder {
        "the old doctor who [sees] the two teachers near the [river, not garden] likes [her] letter .\n\
         every child that the neighbours know [forgets] its book before the [evening] .\n\
         no sailor thinks that the [birds, not stars] follow him home ."
    } else {
        "the old doctor who sees the » two teachers near the river likes her letter , and the child that the \
         neighbours know forgets its book before the evening ."
    };
    let steps = (1..=sketch.steps).filter(|step| step % EVALUATED == 0);
    steps.map(|step| TextSample { step, text: written.to_owned(), created_ms: created(index) }).collect()
}
