//! Kills training runs at moments by chance, `kill -9`, until each has finished, and compares what came out with runs left
//! in peace: every curve and the weights bit for bit, no point lost that was older than a second, no rubbish left.
//!
//! `cargo run -p headroom-tools --bin kills -- --count 200 --seed 1`
#![expect(clippy::unwrap_used, reason = "a script: what is broken is to end it")]

use std::{
    collections::BTreeMap,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use headroom_engine::store::{OpenMode, RunFilter, RunState, Store, series_names};
use headroom_tests::{Chance, Program, TINY_DECODER, TINY_ENCODER, Training, carry_out_commands, number, text};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const STEPS: u64 = 240;
/// Kills of a run before it is left to finish.
const KILLS_A_RUN: u64 = 8;
/// What a kill may cost.
const MAY_BE_LOST: Duration = Duration::from_secs(1);

/// When a program is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum At {
    Start,
    Step,
    Evaluation,
    Checkpoint,
    Flush,
}

impl At {
    const ALL: [Self; 5] = [Self::Start, Self::Step, Self::Evaluation, Self::Checkpoint, Self::Flush];
}

/// What a run left in peace came to.
struct Peace {
    curves: Vec<Vec<(u64, u64)>>,
    weights: Vec<u8>,
}

/// Series whose values follow from the config alone.
const SERIES: [&str; 4] = [
    series_names::TRAIN_LOSS,
    series_names::VALIDATION_LOSS,
    series_names::TRAIN_GRAD_NORM,
    series_names::TRAIN_LEARNING_RATE,
];

fn configs() -> Vec<String> {
    let busy = |config: &str| {
        config
            .replace("steps = 60", &format!("steps = {STEPS}"))
            .replace("checkpoint_every = 20", "checkpoint_every = 6")
            .replace("evaluate_every = 20", "evaluate_every = 5")
            .replace("evaluate_batches = 2", "evaluate_batches = 6")
    };
    let threads =
        TINY_DECODER.replace("threads = 1", "threads = 2").replace("batch = 4", "batch = 2\naccumulation = 2");
    // As presets are: the first regular checkpoint would come after the last step.
    let without = busy(TINY_DECODER).replace("checkpoint_every = 6", "checkpoint_every = 500");
    vec![busy(TINY_DECODER), without, busy(TINY_ENCODER), busy(&threads)]
}

/// The program under test: this one, or with `--program` another build of it.
fn program() -> Program {
    Program::new(text("--program").map_or_else(|| std::env::current_exe().unwrap(), PathBuf::from))
}

fn outcome(program: &Program, run: &str) -> Peace {
    let curves = SERIES.map(|series| program.curve(run, series)).to_vec();
    let kept = program.store().checkpoints(&run.parse().unwrap()).unwrap();
    let last = kept.iter().max_by_key(|kept| kept.step).unwrap();
    assert_eq!(last.step, STEPS, "the last checkpoint is of the last step");
    Peace { curves, weights: std::fs::read(last.path.join("model.safetensors")).unwrap() }
}

/// Progress of a run that is killed again and again.
#[derive(Default)]
struct Told {
    /// The run.
    run: Option<String>,
    /// It was evaluated and wrote a checkpoint, so that it does not start again at step 0.
    has_state: bool,
    /// Number of times that it started again, and of steps that it did once more in all.
    resumed: u64,
    repeated: u64,
    /// The furthest step of the attempt before.
    reached: u64,
}

/// Lets a program train until a moment by chance, and kills it. The last step that it told before the second that may be lost.
fn kill_at(training: Training, at: At, chance: &mut Chance, before: &mut Told) -> u64 {
    let mut told: Vec<(Instant, u64)> = Vec::new();
    let wanted = match at {
        At::Start => None,
        At::Step | At::Flush => Some(("step", 1 + chance.below(6))),
        At::Evaluation => Some(("evaluated", 1 + chance.below(6))),
        At::Checkpoint => Some(("checkpointed", 1 + chance.below(6))),
    };
    let mut left = wanted.map_or(0, |(_, count)| count);
    let wait = match at {
        At::Start => Duration::from_millis(chance.below(250)),
        At::Flush => Duration::from_millis(200 + chance.below(100)),
        At::Step | At::Evaluation | At::Checkpoint => Duration::from_micros(chance.below(15_000)),
    };
    let mut end = wanted.is_none().then(|| Instant::now() + wait);
    loop {
        let patience = end.map_or(Duration::from_mins(1), |end| end.saturating_duration_since(Instant::now()));
        let Some(event) = training.next(patience) else { break };
        if event["event"] == "queued" {
            before.run = event["run"].as_str().map(str::to_owned);
        }
        if event["event"] == "started" && before.reached > 0 {
            let first = event["first_step"].as_u64().unwrap();
            assert!(first > 0 || !before.has_state, "a run that had a state starts again at step 0");
            before.resumed += 1;
            before.repeated += before.reached.saturating_sub(first);
            before.reached = first;
        }
        before.has_state |= event["event"] == "checkpointed";
        if event["event"] == "step" {
            told.push((Instant::now(), event["step"].as_u64().unwrap()));
            before.reached = event["step"].as_u64().unwrap();
        }
        if left > 0 && wanted.is_some_and(|(name, _)| event["event"] == name) {
            left -= 1;
            if left == 0 {
                end = Some(Instant::now() + wait);
            }
        }
    }
    let now = Instant::now();
    training.kill();
    told.iter().filter(|(when, _)| now - *when > MAY_BE_LOST).map(|(_, step)| *step).max().unwrap_or(0)
}

/// What is left of a run after a kill: its state, its steps and its id; none where there is no run yet.
fn after_kill(program: &Program, safe: u64) -> Option<(RunState, String)> {
    if !program.store_path().exists() {
        return None;
    }
    let store = Store::open(&program.store_path(), OpenMode::ReadWrite).unwrap();
    store.verify().unwrap();
    let runs = store.runs(RunFilter::default()).unwrap();
    assert!(runs.len() <= 1, "one run");
    let run = runs.first()?;
    assert!(matches!(run.state, RunState::Interrupted | RunState::Finished), "the run is {}", run.state);
    let losses = store.series(&run.id, series_names::TRAIN_LOSS, None).unwrap();
    assert_eq!(losses.steps, (1..=losses.len() as u64).collect::<Vec<_>>(), "a hole in the curve");
    assert!(losses.len() as u64 >= safe, "step {safe} was told more than a second before, {} are kept", losses.len());
    for kept in store.checkpoints(&run.id).unwrap() {
        assert!(kept.path.join("headroom.json").is_file(), "{} is not whole", kept.path.display());
    }
    Some((run.state, run.id.to_string()))
}

/// Nothing but what is kept is left of a finished run.
fn assert_no_rubbish(program: &Program, run: &str) {
    let store = program.store();
    let kept: Vec<PathBuf> =
        store.checkpoints(&run.parse().unwrap()).unwrap().into_iter().map(|kept| kept.path).collect();
    for entry in std::fs::read_dir(store.paths().checkpoints(&run.parse().unwrap())).unwrap() {
        let path = entry.unwrap().path();
        assert!(kept.contains(&path), "{} was left behind", path.display());
    }
    for entry in std::fs::read_dir(store.paths().root()).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        assert!(![".spill", ".damaged"].iter().any(|ending| name.ends_with(ending)), "{name} was left behind");
    }
}

fn main() -> ExitCode {
    if let Some(code) = carry_out_commands() {
        return code;
    }
    let (count, seed) = (number("--count", 200), number("--seed", 1));
    let configs = configs();
    let peace: Vec<Peace> = configs
        .iter()
        .map(|config| {
            let program = program();
            let run = program.train(config, &[]);
            outcome(&program, &run)
        })
        .collect();
    let began = Instant::now();
    let mut chance = Chance::new(seed);
    let (mut kills, mut runs, mut by_moment) = (0, 0_u64, BTreeMap::<At, u64>::new());
    let (mut resumed, mut repeated) = (0, 0);
    while kills < count {
        let which = runs as usize % configs.len();
        let program = program();
        program.write("c.toml", &configs[which]);
        let mut told = Told::default();
        for _ in 0..KILLS_A_RUN.min(count - kills) {
            let training = match &told.run {
                None => program.start(&["train", "c.toml", "--json"]),
                Some(run) => program.start(&["resume", run, "--json"]),
            };
            let at = At::ALL[chance.below(At::ALL.len() as u64) as usize];
            let safe = kill_at(training, at, &mut chance, &mut told);
            kills += 1;
            *by_moment.entry(at).or_default() += 1;
            let left = after_kill(&program, safe);
            told.run = left.as_ref().map(|(_, run)| run.clone());
            if left.is_some_and(|(state, _)| state == RunState::Finished) {
                break;
            }
        }
        (resumed, repeated) = (resumed + told.resumed, repeated + told.repeated);
        let run = match told.run {
            None => program.train(&configs[which], &[]),
            Some(run) => {
                let answer = program.run(&["resume", &run, "--json"]);
                // A kill after the very last step leaves nothing to do.
                assert!(answer.code == 0 || program.show(&run)["state"] == "finished", "{}", answer.stderr);
                run
            }
        };
        let found = outcome(&program, &run);
        for (place, series) in SERIES.iter().enumerate() {
            assert_eq!(found.curves[place], peace[which].curves[place], "{series} of run {runs}, seed {seed}");
        }
        assert!(found.weights == peace[which].weights, "the weights of run {runs} differ, seed {seed}");
        assert_no_rubbish(&program, &run);
        runs += 1;
    }
    let moments: Vec<String> =
        by_moment.iter().map(|(at, count)| format!("{count} at {at:?}").to_lowercase()).collect();
    println!(
        "{kills} kills ({}) of {runs} runs in {:.0} s: every run went on to the curves and weights of one left in peace, bit \
         for bit; no point older than a second was lost; nothing was left behind. {resumed} attempts started again and did \
         {repeated} steps once more; none that had written a state started at step 0.",
        moments.join(", "),
        began.elapsed().as_secs_f64()
    );
    ExitCode::SUCCESS
}
