//! Fills the disk under training runs at moments by chance, for times by chance, and checks that nothing is lost by it: every
//! point is that of a run left in peace, the store goes on within five seconds of space returning, checkpoints do not pile up,
//! and the exit code says what the store says.
//!
//! `cargo run -p headroom-tools --bin fills -- --count 40 --seed 1` (Linux: each run has a small `tmpfs` of its own, mounted
//! as root or in a name space of the user's own).
#![expect(clippy::unwrap_used, reason = "a script: what is broken is to end it")]

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::{Duration, Instant},
};

use headroom_engine::store::{OpenMode, RunId, RunState, Store, series_names};
use headroom_tests::{Chance, Program, TINY_DECODER, Training, carry_out_commands, number, text};
use serde_json::Value;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const STEPS: u64 = 4000;
const KEEP: usize = 2;
/// Within this time of space returning everything is in the database.
const RECOVERY: Duration = Duration::from_secs(5);
/// Set where the program started itself in a name space of its own.
const INSIDE: &str = "--inside";

/// Series whose values follow from the config alone.
const SERIES: [&str; 4] = [
    series_names::TRAIN_LOSS,
    series_names::VALIDATION_LOSS,
    series_names::TRAIN_GRAD_NORM,
    series_names::TRAIN_LEARNING_RATE,
];

type Curves = [Vec<(u64, u64)>; 4];

/// A small disk.
struct Disk {
    at: PathBuf,
}

impl Disk {
    fn mount(at: PathBuf, bytes: u64) -> Result<Self, String> {
        fs::create_dir_all(&at).unwrap();
        let size = format!("size={bytes}");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&at).output();
        match mounted {
            Ok(output) if output.status.success() => Ok(Self { at }),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Leaves so many bytes free.
    fn fill(&self, left: u64) {
        let mut file = File::create(self.at.join("fill")).unwrap();
        let block = vec![0_u8; 1 << 16];
        let mut bytes = 0;
        for size in [block.len(), 4096, 1] {
            while let Ok(written) = file.write(&block[..size]) {
                bytes += written as u64;
            }
        }
        file.set_len(bytes.saturating_sub(left)).unwrap();
    }

    fn free(&self) {
        fs::remove_file(self.at.join("fill")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.at).status();
    }
}

/// What is followed of a run while it trains.
#[derive(Default)]
struct Followed {
    run: Option<String>,
    step: u64,
    last: Option<Value>,
    /// The most checkpoints that were there at once.
    checkpoints: usize,
}

impl Followed {
    /// Takes what comes until `is_enough` or the program has ended; whether it was enough.
    fn until(&mut self, training: &mut Training, store: &Path, is_enough: impl Fn(&Self) -> bool) -> bool {
        loop {
            match training.next(Duration::from_millis(20)) {
                Some(event) => {
                    if let Some(step) = event["step"].as_u64().filter(|_| event["event"] == "step") {
                        self.step = step;
                    }
                    if let Some(run) = event["run"].as_str() {
                        self.run = Some(run.to_owned());
                    }
                    self.last = Some(event);
                }
                None if training.has_ended() => return is_enough(self),
                None => {}
            }
            if let Some(run) = &self.run {
                let folders = fs::read_dir(store.parent().unwrap().join("runs").join(run).join("checkpoints"));
                let is_kept = |name: &str| name.starts_with("step-");
                let count = folders.into_iter().flatten().flatten();
                let count = count.filter(|folder| is_kept(&folder.file_name().to_string_lossy())).count();
                self.checkpoints = self.checkpoints.max(count);
            }
            if is_enough(self) {
                return true;
            }
        }
    }
}

fn config() -> String {
    TINY_DECODER
        .replace("steps = 60", &format!("steps = {STEPS}"))
        .replace("checkpoint_every = 20", "checkpoint_every = 50")
        .replace("evaluate_every = 20", "evaluate_every = 50")
        .replace("keep_checkpoints = 2", &format!("keep_checkpoints = {KEEP}"))
}

/// The program under test: this one, or with `--program` another build of it.
fn program() -> Program {
    Program::new(text("--program").map_or_else(|| std::env::current_exe().unwrap(), PathBuf::from))
}

fn curves(store: &Store, run: &RunId) -> Curves {
    SERIES.map(|series| {
        let data = store.series(run, series, None).unwrap();
        data.steps.iter().copied().zip(data.values.iter().map(|value| value.to_bits())).collect()
    })
}

/// What one fill came to.
struct Outcome {
    recovery: Option<Duration>,
    checkpoints: usize,
    is_unrecorded: bool,
    is_resumed: bool,
}

/// Whether the database holds what was told until now.
fn holds(path: &Path, run: &RunId, step: u64) -> bool {
    let store = Store::open(path, OpenMode::ReadOnly);
    let data = store.and_then(|store| store.series(run, series_names::TRAIN_LOSS, None));
    data.is_ok_and(|data| data.steps.last().is_some_and(|last| *last >= step))
}

fn fill_once(chance: &mut Chance, peace: &Curves) -> Result<Outcome, String> {
    let program = program();
    program.write("c.toml", config());
    let disk = Disk::mount(program.path("store"), (24 + chance.below(40)) << 20)?;
    let moment = 1 + chance.below(STEPS * 3 / 4);
    let left = if chance.below(2) == 0 { 0 } else { chance.below(400_000) };
    // One in five until after the end.
    let length = (chance.below(5) > 0).then(|| Duration::from_millis(50 + chance.below(3000)));
    let what = format!("filled at step {moment} to {left} bytes for {length:?}");
    let path = program.store_path();
    let mut training = program.start(&["train", "c.toml", "--json"]);
    let mut followed = Followed::default();
    assert!(followed.until(&mut training, &path, |followed| followed.step >= moment), "{what}: it ended before");
    disk.fill(left);
    let mut recovery = None;
    if let Some(length) = length {
        let filled = Instant::now();
        followed.until(&mut training, &path, |_| filled.elapsed() >= length);
        disk.free();
        let (freed, told) = (Instant::now(), followed.step);
        let run: RunId = followed.run.as_deref().unwrap().parse().unwrap();
        let is_in = |_: &Followed| holds(&path, &run, told);
        if followed.until(&mut training, &path, |followed| is_in(followed) || freed.elapsed() > 2 * RECOVERY) {
            recovery = Some(freed.elapsed());
            assert!(
                freed.elapsed() <= RECOVERY,
                "{what}: {:?} after space returned step {told} is not there",
                freed.elapsed()
            );
        }
    }
    followed.until(&mut training, &path, |_| false);
    let (code, rest) = training.wait();
    let last = rest.or(followed.last).unwrap();
    let run: RunId = followed.run.as_deref().unwrap().parse().unwrap();
    assert_eq!(last["event"], "finished", "{what}: {last}");
    let unwritten = last["unwritten"].as_str();
    let is_good = last["state"] == "finished" && unwritten.is_none();
    assert_eq!(code == 0, is_good, "{what}: exit code {code} with {last}");
    if code == 0 {
        let store = Store::open(&path, OpenMode::ReadOnly).unwrap();
        assert_eq!(store.record(&run).unwrap().summary.state, RunState::Finished, "{what}");
    }
    if length.is_none() {
        disk.free();
    }
    // As the message says.
    let apart = unwritten.and_then(|told| told.rsplit_once(": ")).map(|(_, path)| PathBuf::from(path));
    if let Some(apart) = apart.filter(|apart| apart.parent() != path.parent() && apart.is_file()) {
        fs::copy(&apart, path.parent().unwrap().join(apart.file_name().unwrap())).unwrap();
        fs::remove_file(apart).unwrap();
    }
    let mut is_resumed = false;
    if last["state"] == "failed" {
        is_resumed = true;
        let resumed = program.run(&["resume", run.as_str(), "--json"]);
        assert_eq!(resumed.code, 0, "{what}: {last}\n{}", resumed.stderr);
    }
    let store = program.store();
    assert_eq!(store.record(&run).unwrap().summary.state, RunState::Finished, "{what}");
    store.verify().unwrap();
    let found = curves(&store, &run);
    for (place, series) in SERIES.iter().enumerate() {
        let lost = peace[place].iter().filter(|point| !found[place].contains(point)).count();
        assert_eq!((lost, found[place].len()), (0, peace[place].len()), "{what}: points of {series} are lost");
    }
    // Those asked for, the best, and the one that is being written.
    assert!(followed.checkpoints <= KEEP + 2, "{what}: {} checkpoints", followed.checkpoints);
    for kept in store.checkpoints(&run).unwrap() {
        assert!(kept.path.join("headroom.json").is_file(), "{what}: {} is recorded and not there", kept.path.display());
    }
    drop(store);
    println!(
        "{what}: exit code {code}, {}{}",
        recovery.map_or_else(
            || "nothing to recover".to_owned(),
            |time| format!("recovered in {:.1} s", time.as_secs_f64())
        ),
        if is_resumed { ", resumed" } else { "" }
    );
    Ok(Outcome { recovery, checkpoints: followed.checkpoints, is_unrecorded: unwritten.is_some(), is_resumed })
}

/// Starts this program in a name space of the user's own, in which it may mount.
fn inside() -> Option<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == INSIDE) {
        return None;
    }
    let this = std::env::current_exe().ok()?;
    let status =
        Command::new("unshare").args(["--map-root-user", "--mount"]).arg(this).args(arguments).arg(INSIDE).status();
    Some(ExitCode::from(u8::try_from(status.ok()?.code()?).ok()?))
}

fn main() -> ExitCode {
    if let Some(code) = carry_out_commands() {
        return code;
    }
    let (count, seed) = (number("--count", 40), number("--seed", 1));
    let probe = program();
    if let Err(why) = Disk::mount(probe.path("disk"), 1 << 20) {
        if let Some(code) = inside() {
            return code;
        }
        println!("Nothing was tested: no small disk can be mounted, neither as this user nor in a name space ({why}).");
        return ExitCode::from(2);
    }
    let quiet = program();
    let run = quiet.train(&config(), &[]);
    let peace = curves(&quiet.store(), &run.parse().unwrap());
    let began = Instant::now();
    let mut chance = Chance::new(seed);
    let mut outcomes = Vec::new();
    for _ in 0..count {
        match fill_once(&mut chance, &peace) {
            Ok(outcome) => outcomes.push(outcome),
            Err(why) => {
                println!("A disk could not be mounted: {why}");
                return ExitCode::from(2);
            }
        }
    }
    let points: usize = peace.iter().map(Vec::len).sum();
    let slowest = outcomes.iter().filter_map(|outcome| outcome.recovery).max().unwrap_or_default();
    let most = outcomes.iter().map(|outcome| outcome.checkpoints).max().unwrap_or_default();
    let of = |is: fn(&Outcome) -> bool| outcomes.iter().filter(|outcome| is(outcome)).count();
    println!(
        "{count} fills in {:.0} s: none of {points} points a run was lost; after {} of them the run went on with space, and the \
         slowest recovery took {:.1} s; at most {most} checkpoints at once where {KEEP} and the best were asked for; {} runs \
         ended before their record could be written and said where it was; {} were resumed for their last checkpoint.",
        began.elapsed().as_secs_f64(),
        of(|outcome| outcome.recovery.is_some()),
        slowest.as_secs_f64(),
        of(|outcome| outcome.is_unrecorded),
        of(|outcome| outcome.is_resumed),
    );
    ExitCode::SUCCESS
}
