use std::{
    ffi::OsStr,
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, sync_channel},
    time::{Duration, Instant},
};

use headroom_engine::store::{OpenMode, Store};
use serde_json::Value;
use tempfile::TempDir;

/// Longer than anything here takes on a slow machine.
const PATIENCE: Duration = Duration::from_mins(4);

/// The program with a folder of its own: its store, and the files of one test.
pub struct Program {
    binary: PathBuf,
    folder: TempDir,
}

/// Makes the program that runs this the program under test: with a command of the program's (`train`, `show`), and not an
/// option, as its first argument, it carries that out and ends. For scripts, which no other program is built for.
pub fn carry_out_commands() -> Option<ExitCode> {
    let first = std::env::args().nth(1)?;
    if first.starts_with('-') {
        return None;
    }
    headroom_engine::ops::tune_process();
    Some(headroom_app::main())
}

/// What the program answered.
#[derive(Debug)]
pub struct Answer {
    /// The exit code.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Program {
    /// The program at `binary`, with an empty folder.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        Self { binary: binary.into(), folder: TempDir::new().expect("a temporary folder") }
    }

    /// A path in the folder.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The store's database file.
    pub fn store_path(&self) -> PathBuf {
        self.path("store/headroom.db")
    }

    /// The store, opened for writing as the program does.
    pub fn store(&self) -> Store {
        Store::open(&self.store_path(), OpenMode::ReadWrite).expect("the store opens")
    }

    /// Writes a file in the folder.
    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).expect("a folder");
        }
        fs::write(&path, contents).expect("a file");
        path
    }

    /// The program with arguments, about to start in the folder; nothing of the user's own surroundings reaches it.
    pub fn command(&self, arguments: &[&str]) -> Command {
        self.command_of(&self.binary, arguments)
    }

    /// The same of another program, such as a shell that starts this one.
    pub fn command_of(&self, binary: impl AsRef<OsStr>, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary);
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("HEADROOM_STORE", self.store_path())
            .env("HOME", self.folder.path())
            // For programs that are `headroom` only then.
            .env("HEADROOM_TESTS_AS_PROGRAM", "1")
            .env_remove("RUST_BACKTRACE")
            .env_remove("DISPLAY")
            .env_remove("WAYLAND_DISPLAY")
            .env_remove("WAYLAND_SOCKET")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the program to its end. A panic that a user would see fails the test.
    pub fn run(&self, arguments: &[&str]) -> Answer {
        finish(self.command(arguments), arguments, None)
    }

    /// Runs the program to its end with `input` on its standard input.
    pub fn run_with_input(&self, arguments: &[&str], input: &str) -> Answer {
        finish(self.command(arguments), arguments, Some(input))
    }

    /// Runs a command that was changed by the test.
    pub fn run_command(&self, command: Command) -> Answer {
        finish(command, &[], None)
    }

    /// Starts a command that streams events with `--json`.
    pub fn start(&self, arguments: &[&str]) -> Training {
        self.start_with(&self.binary, arguments)
    }

    /// The same of another program, which becomes this one: a shell that sets limits.
    pub fn start_with(&self, binary: impl AsRef<OsStr>, arguments: &[&str]) -> Training {
        let mut child = self.command_of(binary, arguments).stderr(Stdio::null()).spawn().expect("the program starts");
        let stdout = child.stdout.take().expect("a pipe");
        let (sender, events) = sync_channel(1 << 16);
        std::thread::Builder::new()
            .name("events".to_owned())
            .spawn(move || {
                for line in BufReader::new(stdout).lines() {
                    // A process that was killed may leave half a line.
                    let Ok(line) = line else { return };
                    let Ok(event) = serde_json::from_str::<Value>(&line) else { return };
                    if sender.send(event).is_err() {
                        return;
                    }
                }
            })
            .expect("a thread");
        Training { child, events }
    }

    /// Trains `config` with extra arguments and returns the run's id.
    pub fn train(&self, config: &str, extra: &[&str]) -> String {
        let mut arguments = vec!["train", "-", "--json"];
        arguments.extend(extra);
        let answer = self.run_with_input(&arguments, config).expect_code(0);
        let last = answer.events().pop().expect("an event");
        last["run"].as_str().unwrap_or_else(|| panic!("no run in {last}")).to_owned()
    }

    /// `show RUN --json`.
    pub fn show(&self, run: &str) -> Value {
        self.run(&["show", run, "--json"]).expect_code(0).json()
    }

    /// Every value of a series as bits, by step.
    pub fn curve(&self, run: &str, series: &str) -> Vec<(u64, u64)> {
        let data = self.store().series(&run.parse().expect("an id"), series, None).expect("a series");
        data.steps.iter().copied().zip(data.values.iter().map(|value| value.to_bits())).collect()
    }
}

impl Answer {
    /// The answer, if the exit code is this.
    #[must_use]
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "exit code\nstdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// The answer, if standard error says all of these.
    #[must_use]
    #[track_caller]
    pub fn expect_words(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.stderr.contains(word), "no \"{word}\" in: {}\nstdout: {}", self.stderr, self.stdout);
        }
        self
    }

    /// Standard output as one JSON value.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("not JSON: {error}\n{}", self.stdout))
    }

    /// Standard output as one JSON value a line.
    #[track_caller]
    pub fn events(&self) -> Vec<Value> {
        let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("not JSON: {error}\n{line}"));
        self.stdout.lines().map(read).collect()
    }
}

/// A program that trains, and the events that it prints.
pub struct Training {
    child: Child,
    events: Receiver<Value>,
}

impl Training {
    /// The next event of this name that `is_wanted`; none when the program ended before.
    pub fn wait_for(&self, name: &str, is_wanted: impl Fn(&Value) -> bool) -> Option<Value> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(event) if event["event"] == name && is_wanted(&event) => return Some(event),
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => panic!("no event {name} in {PATIENCE:?}"),
            }
        }
    }

    /// The next event, if one comes in time. None, too, when the program ended.
    pub fn next(&self, patience: Duration) -> Option<Value> {
        self.events.recv_timeout(patience).ok()
    }

    /// The program's process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether the program has ended.
    pub fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// Ends the program as if the power went.
    pub fn kill(mut self) {
        self.child.kill().expect("a kill");
        self.child.wait().expect("an end");
    }

    /// Sends a signal by its name, such as `INT`.
    pub fn signal(&self, name: &str) {
        let line = format!("kill -{name} {}", self.child.id());
        let status = Command::new("sh").args(["-c", &line]).status().expect("sh");
        assert!(status.success(), "{line}");
    }

    /// Waits for the end; the exit code, and the last event.
    pub fn wait(mut self) -> (i32, Option<Value>) {
        let mut last = None;
        while let Ok(event) = self.events.recv_timeout(PATIENCE) {
            last = Some(event);
        }
        (wait_for_end(&mut self.child).code().unwrap_or(-1), last)
    }
}

impl Drop for Training {
    fn drop(&mut self) {
        // Only matters where a test failed half-way.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn wait_for_end(child: &mut Child) -> ExitStatus {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().expect("a status") {
            return status;
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            panic!("the program did not end in {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn finish(mut command: Command, arguments: &[&str], input: Option<&str>) -> Answer {
    if input.is_some() {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn().expect("the program starts");
    if let Some(input) = input {
        let mut stdin = child.stdin.take().expect("a pipe");
        // A program that refuses its arguments does not read on.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().expect("an end");
    let answer = Answer {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    };
    for sign in ["panicked at", "RUST_BACKTRACE", "stack backtrace", "error of its own", "fault of its own", "    at "]
    {
        assert!(
            !answer.stderr.contains(sign) && !answer.stdout.contains(sign),
            "{arguments:?} shows a panic:\n{}\n{}",
            answer.stdout,
            answer.stderr
        );
    }
    answer
}
