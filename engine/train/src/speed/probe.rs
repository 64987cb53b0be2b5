//! Memory that is measured in a process of its own: what an allocator keeps of one model is never taken for the next one's.

use std::{
    io::{self, Read, Write},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use super::{
    GenerationSpeed, GenerationTask, Outcome, StepSpeed, failure::failure_of, peak_memory_bytes, pool,
    reset_peak_memory, resident_memory_bytes,
};
use crate::{
    attention::{Cost, ModelPlan, Workload},
    config::{DeviceChoice, RunConfig},
    model::open_device_of,
    train::{TrainError, free_memory, unclaimed_memory},
};

/// The hidden command that answers.
pub const MEASURE_MEMORY: &str = "measure-memory";

/// How often the answer is looked for.
const LOOK: Duration = Duration::from_millis(10);

/// How often a process looks at what it holds.
const LOOK_AT_MEMORY: Duration = Duration::from_millis(5);

/// A process has this long to answer, and besides as long as its steps take at a rate that every machine has.
const PATIENCE: Duration = Duration::from_mins(2);
const SLOWEST_FLOPS_PER_SEC: f64 = 1e9;

/// What is to be measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryRequest {
    /// The model.
    pub config: RunConfig,
    /// Tokens of its vocabulary.
    pub vocabulary: usize,
    /// Steps that are taken: gradients and moments are there after the first.
    pub steps: usize,
    /// Bytes that the process may hold at most; with more it ends at once.
    pub limit_bytes: Option<u64>,
    /// What is generated in place of training steps, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<GenerationTask>,
}

/// What a model took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryFound {
    /// The most that the process held; none where nobody tells.
    pub peak_memory_bytes: Option<u64>,
    /// What it held before the model was built.
    pub program_memory_bytes: Option<u64>,
    /// On a GPU: by how much its free memory fell.
    pub device_memory_bytes: Option<u64>,
    /// What the texts took, where some were generated, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_secs: Option<f64>,
}

/// What a process answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MemoryAnswer {
    /// The steps were taken.
    Found(MemoryFound),
    /// They were not; why, as of a side of a sweep.
    Not {
        /// Why.
        outcome: Outcome,
    },
}

/// What became of a question.
#[derive(Debug)]
pub enum Asked {
    /// A process answered.
    Answered(MemoryAnswer),
    /// It was ended, since nobody wants to know any more.
    Stopped,
    /// No process of this program can be started.
    Unavailable,
}

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Asks processes of this program what models take.
#[derive(Clone, Debug, Default)]
pub struct MemoryProbe {
    program: Option<PathBuf>,
}

impl MemoryProbe {
    /// Asks this program, which answers to [`MEASURE_MEMORY`]; nobody where there is none.
    pub fn new(program: Option<PathBuf>) -> Self {
        Self { program }
    }

    /// Says that the running program answers to [`MEASURE_MEMORY`] by [`serve_memory`]; for its `main`.
    pub fn announce_this_program() {
        // On Linux the link leads to the program that runs even where its file was replaced meanwhile.
        let link = PathBuf::from("/proc/self/exe");
        let program =
            if cfg!(target_os = "linux") && link.exists() { Some(link) } else { std::env::current_exe().ok() };
        if let Some(program) = program {
            let _ = PROGRAM.set(program);
        }
    }

    /// Asks the running program, if its `main` said that it answers.
    pub fn of_this_program() -> Self {
        Self { program: PROGRAM.get().cloned() }
    }

    /// Measures in a process of its own; waits for its end, or ends it when `is_stopped` says so or its time is over.
    pub fn ask(&self, request: &MemoryRequest, is_stopped: &dyn Fn() -> bool) -> Asked {
        let Some(mut child) = self.program.as_ref().and_then(|program| start(program.clone())) else {
            return Asked::Unavailable;
        };
        let answered = wait(&mut child, request, is_stopped);
        // Whatever happened, no process is left behind.
        let _ = child.kill();
        let _ = child.wait();
        answered
    }
}

fn start(program: PathBuf) -> Option<Child> {
    let mut command = Command::new(program);
    command.arg(MEASURE_MEMORY).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().ok()
}

fn wait(child: &mut Child, request: &MemoryRequest, is_stopped: &dyn Fn() -> bool) -> Asked {
    // Kept open until the answer is there: the process ends itself where the pipe closes, and so with this program.
    let Some(mut stdin) = child.stdin.take() else { return Asked::Unavailable };
    let Ok(line) = serde_json::to_string(request) else { return Asked::Unavailable };
    if stdin.write_all(format!("{line}\n").as_bytes()).is_err() {
        return Asked::Unavailable;
    }
    let deadline = Instant::now() + patience(request);
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) => {}
            Err(_) => return Asked::Unavailable,
        }
        if Instant::now() >= deadline {
            let reason =
                format!("The process that measures memory did not answer within {} s.", patience(request).as_secs());
            return Asked::Answered(MemoryAnswer::Not { outcome: Outcome::Failed { reason } });
        }
        // Last, since it waits where the measurement is paused.
        if is_stopped() {
            return Asked::Stopped;
        }
        std::thread::sleep(LOOK);
    };
    let mut text = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        let _ = stdout.read_to_string(&mut text);
    }
    match serde_json::from_str(text.trim()) {
        Ok(answer) => Asked::Answered(answer),
        // Some other program, or one that knows no such command.
        Err(_) if status.code().is_some() => Asked::Unavailable,
        Err(_) => {
            let reason =
                format!("The process that measures memory was ended from outside ({status}), as for want of memory.");
            Asked::Answered(MemoryAnswer::Not { outcome: Outcome::Failed { reason } })
        }
    }
}

fn patience(request: &MemoryRequest) -> Duration {
    if request.generation.is_some() {
        return PATIENCE;
    }
    let flops = ModelPlan::resolve(&request.config, request.vocabulary)
        .map_or(0, |plan| Cost::of(&plan, &Workload::training(&request.config)).flops_per_step);
    let secs = request.steps as f64 * flops as f64 / SLOWEST_FLOPS_PER_SEC;
    PATIENCE + Duration::try_from_secs_f64(secs).unwrap_or(PATIENCE)
}

/// Reads one request from standard input and answers it on standard output: what [`MEASURE_MEMORY`] does. Ends the process
/// when its input closes, since then whoever asked is gone.
///
/// # Errors
/// If the request cannot be read or the answer not be written.
pub fn serve_memory() -> io::Result<()> {
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    let request: MemoryRequest = serde_json::from_str(&line)?;
    std::thread::Builder::new().name("headroom-parent".to_owned()).spawn(|| {
        // Nothing more is said.
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        std::process::exit(1);
    })?;
    // Should memory end, this process is to go and no other.
    #[cfg(target_os = "linux")]
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let has_answered = Arc::new(AtomicBool::new(false));
    if let Some(limit) = request.limit_bytes {
        let has_answered = Arc::clone(&has_answered);
        std::thread::Builder::new()
            .name("headroom-limit".to_owned())
            .spawn(move || keep_within(limit, &has_answered))?;
    }
    say(&answer(&request), &has_answered)
}

fn answer(request: &MemoryRequest) -> MemoryAnswer {
    match measure_memory(request) {
        Ok(found) => MemoryAnswer::Found(found),
        Err(error) => MemoryAnswer::Not { outcome: failure_of(&error, request.limit_bytes) },
    }
}

/// Answers, unless that was done.
fn say(answer: &MemoryAnswer, has_answered: &AtomicBool) -> io::Result<()> {
    if has_answered.swap(true, Ordering::AcqRel) {
        return Ok(());
    }
    let mut output = io::stdout();
    writeln!(output, "{}", serde_json::to_string(answer)?)?;
    output.flush()
}

/// Ends the process, with an answer, once it holds more than it may.
fn keep_within(limit_bytes: u64, has_answered: &AtomicBool) {
    loop {
        if let Some(held) = resident_memory_bytes().filter(|held| *held > limit_bytes) {
            let outcome = Outcome::OutOfMemory { needed_bytes: held, free_bytes: limit_bytes };
            let _ = say(&MemoryAnswer::Not { outcome }, has_answered);
            std::process::exit(0);
        }
        std::thread::sleep(LOOK_AT_MEMORY);
    }
}

/// Builds the model and takes its steps in this process.
///
/// # Errors
/// If the model cannot be built or trained.
pub(super) fn measure_memory(request: &MemoryRequest) -> Result<MemoryFound, TrainError> {
    let MemoryRequest { config, vocabulary, steps, generation, .. } = request;
    let device = open_device_of(config)?;
    let is_gpu = config.device != DeviceChoice::Cpu;
    let free_before = if is_gpu { free_memory(&device) } else { None };
    // What other models left lying is not this one's.
    crate::ops::release_buffers();
    let threads = pool::start(config.threads_used())?;
    let can_forget = reset_peak_memory();
    let program_memory_bytes = resident_memory_bytes();
    threads.install(|| {
        let run_secs = if let Some(task) = generation {
            let model = GenerationSpeed::new(config.clone(), *vocabulary)?;
            model.run(task, &|| true)?.map(|(time, _)| time.total_secs)
        } else {
            let mut model = StepSpeed::new(config.clone(), *vocabulary)?;
            for _ in 0..*steps {
                model.step()?;
            }
            None
        };
        // The pool of a GPU keeps what the peak took.
        let now = if is_gpu { unclaimed_memory(&device) } else { None };
        Ok(MemoryFound {
            peak_memory_bytes: peak_memory_bytes().filter(|_| can_forget),
            program_memory_bytes,
            device_memory_bytes: free_before.zip(now).map(|(before, now)| before.saturating_sub(now)),
            run_secs,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> MemoryRequest {
        let mut config = RunConfig::default();
        (config.model.layers, config.model.heads, config.model.width, config.model.feed_forward) = (1, 2, 16, 24);
        (config.data.sequence_length, config.train.batch, config.threads) = (8, 2, 1);
        MemoryRequest { config, vocabulary: 40, steps: 1, limit_bytes: None, generation: None }
    }

    #[test]
    fn nobody_answers_where_there_is_no_program_or_another() {
        let ask = |program: Option<&str>| MemoryProbe::new(program.map(PathBuf::from)).ask(&request(), &|| false);
        assert!(matches!(ask(None), Asked::Unavailable));
        assert!(matches!(ask(Some("/nowhere/headroom")), Asked::Unavailable));
        #[cfg(unix)]
        assert!(matches!(ask(Some("false")), Asked::Unavailable));
    }

    #[cfg(unix)]
    #[test]
    fn a_process_that_does_not_answer_is_ended_when_nobody_wants_to_know() {
        use std::cell::Cell;

        let folder = tempfile::TempDir::new().unwrap();
        let program = folder.path().join("silent");
        // Written by another process: a file that this one has open for writing cannot be started.
        let script = "printf '#!/bin/sh\\necho $$ > \"%s\"\\nexec sleep 600\\n' \"$1/pid\" > \"$1/silent\"; chmod +x \"$1/silent\"";
        let made = Command::new("sh").args(["-c", script, "sh"]).arg(folder.path()).status().unwrap();
        assert!(made.success());
        let looks = Cell::new(0);
        let pid = folder.path().join("pid");
        let is_stopped = || {
            looks.set(looks.get() + 1);
            std::fs::read_to_string(&pid).is_ok_and(|pid| !pid.is_empty())
        };
        let asked = MemoryProbe::new(Some(program)).ask(&request(), &is_stopped);
        assert!(matches!(asked, Asked::Stopped) && looks.get() > 0, "{asked:?}");
        let pid = std::fs::read_to_string(&pid).unwrap();
        let alive = Command::new("kill").args(["-0", pid.trim()]).stderr(Stdio::null()).status().unwrap();
        assert!(!alive.success(), "process {pid} is left behind");
    }

    #[test]
    fn an_answer_holds_what_the_model_took_or_why_not() {
        let MemoryAnswer::Found(found) = answer(&request()) else { panic!() };
        if cfg!(target_os = "linux") {
            assert!(found.peak_memory_bytes.is_some_and(|bytes| bytes > 1 << 20), "{found:?}");
        }
        let mut huge = request();
        (huge.config.model.layers, huge.config.model.width) = (256, 24_576);
        let refused = answer(&huge);
        assert!(matches!(refused, MemoryAnswer::Not { outcome: Outcome::OutOfMemory { .. } }), "{refused:?}");
        let text = serde_json::to_string(&refused).unwrap();
        assert_eq!(serde_json::from_str::<MemoryAnswer>(&text).unwrap(), refused);
    }
}
