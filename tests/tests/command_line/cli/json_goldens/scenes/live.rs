use std::{
    fs::{self, File},
    process::Child,
    time::{Duration, Instant},
};

use super::{super::recorder::Recorder, train};

/// Longer than anything here takes on a slow machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// Requests of one program to another that trains. How far that is depends on time: numbers are masked, and nothing is evaluated.
pub fn record(recorder: &mut Recorder<'_>) {
    recorder.record("queue");
    train(recorder.program, &["--name", "first", "--steps", "1"]);
    for idle in ["queue", "pause", "resume-current", "stop", "move first 1"] {
        recorder.record(idle);
    }
    let endless = "--steps 1000000 --set train.evaluate_every=0 train.checkpoint_every=0";
    let race = format!("race c.toml --families symmetric,pairwise {endless}");
    let running = start(recorder, &race);
    wait_for(recorder, |listed| {
        let count = |list: &str| listed[list].as_array().map_or(0, Vec::len);
        (count("running"), count("waiting")) == (1, 2)
    });
    recorder.record_anytime("queue");
    recorder.record_anytime("pause 3");
    recorder.record_anytime("move 4 1");
    recorder.record_anytime("move 4 9");
    recorder.record_anytime("move 2 1");
    recorder.record_anytime("move 4 0");
    recorder.record_anytime("stop 4");
    recorder.record_anytime("stop 3");
    recorder.record_anytime("stop 3");
    recorder.record_anytime("stop 2");
    end(recorder, running, &race);

    let train = format!("train c.toml --name alone {endless}");
    let running = start(recorder, &train);
    wait_for_step(recorder);
    recorder.record_anytime("pause alone");
    wait_for(recorder, |listed| listed["running"][0]["paused"] == true);
    recorder.record_anytime("pause alone");
    recorder.record_anytime("queue");
    recorder.record_anytime("resume-current alone");
    recorder.record_anytime("resume-current alone");
    recorder.record_anytime("delete alone");
    recorder.record_anytime("stop alone");
    end(recorder, running, &train);

    let running = start(recorder, "resume alone");
    wait_for_step(recorder);
    recorder.record_anytime("stop");
    end(recorder, running, "resume alone");
}

/// A program that is ended where a scene fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a command that streams into a file.
fn start(recorder: &Recorder<'_>, line: &str) -> Running {
    let arguments: Vec<&str> = line.split(' ').chain(["--json"]).collect();
    let stream = File::create(recorder.program.path("stream.jsonl")).expect("a file");
    let errors = File::create(recorder.program.path("errors.txt")).expect("a file");
    let mut command = recorder.program.command(&arguments);
    Running(command.stdout(stream).stderr(errors).spawn().expect("the program starts"))
}

fn end(recorder: &mut Recorder<'_>, mut running: Running, line: &str) {
    let code = running.0.wait().expect("an end").code();
    let stream = fs::read_to_string(recorder.program.path("stream.jsonl")).expect("a stream");
    recorder.keep_anytime(line, code, &stream);
}

/// Waits until the program in progress trains.
fn wait_for_step(recorder: &Recorder<'_>) {
    let deadline = Instant::now() + PATIENCE;
    let stream = recorder.program.path("stream.jsonl");
    while !fs::read_to_string(&stream).expect("a stream").contains("\"event\":\"step\"") {
        assert!(Instant::now() < deadline, "no step");
        std::thread::sleep(Duration::from_millis(30));
    }
}

/// Waits until the queue is so.
fn wait_for(recorder: &Recorder<'_>, is_so: impl Fn(&serde_json::Value) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let listed = recorder.program.run(&["queue", "--json"]);
        if listed.code == 0 && is_so(&listed.json()) {
            return;
        }
        assert!(Instant::now() < deadline, "{}\n{}", listed.stdout, listed.stderr);
        std::thread::sleep(Duration::from_millis(30));
    }
}
