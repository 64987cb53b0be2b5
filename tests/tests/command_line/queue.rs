//! `headroom queue`, `pause`, `resume-current`, `stop` and `move` reach a program that trains, and nothing that comes through
//! its control socket slows or ends the training.
#![cfg(unix)]

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    os::unix::{
        fs::{FileTypeExt, PermissionsExt, symlink},
        net::UnixStream,
    },
    path::PathBuf,
    time::{Duration, Instant},
};

use headroom_app::{context::PanelId, state::RunSeries};
use headroom_engine::store::RunState;
use headroom_tests::{Program, Screen, TINY_DECODER, Training};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_mins(2);

/// A program that trains a run which does not end by itself.
fn training() -> (Program, Training) {
    let program = crate::program();
    program.write("c.toml", TINY_DECODER.replace("steps = 60", "steps = 1000000"));
    let training = program.start(&["train", "c.toml", "--json"]);
    training.wait_for("step", |_| true).unwrap();
    (program, training)
}

fn socket(program: &Program) -> PathBuf {
    program.path("store/control.sock")
}

fn queue(program: &Program) -> Value {
    program.run(&["queue", "--json"]).expect_code(0).json()
}

/// A command does what it is asked, and its answer says all of these.
fn answers(program: &Program, arguments: &[&str], words: &[&str]) {
    let answer = program.run(arguments).expect_code(0);
    for word in words {
        assert!(answer.stdout.contains(word), "no \"{word}\" in: {}", answer.stdout);
    }
}

/// Runs on, and by some steps at that.
fn goes_on(training: &Training) {
    let step = training.wait_for("step", |_| true).unwrap()["step"].as_u64().unwrap();
    assert!(training.wait_for("step", |event| event["step"].as_u64().unwrap() > step + 2).is_some());
}

#[test]
fn a_run_of_another_program_is_listed_paused_resumed_and_stopped() {
    let (program, training) = training();
    let mode = fs::symlink_metadata(socket(&program)).unwrap();
    assert!(mode.file_type().is_socket() && mode.permissions().mode() & 0o777 == 0o600, "{mode:?}");
    let listed = queue(&program);
    let run = listed["running"][0]["run"].as_str().unwrap().to_owned();
    assert_eq!(
        (&listed["running"][0]["paused"], listed["waiting"].as_array().unwrap().len()),
        (&Value::Bool(false), 0)
    );
    answers(&program, &["queue"], &["running", "tiny decoder", &run, "1,000,000"]);
    let unpaused = program.run(&["resume-current"]).expect_code(1);
    assert!(unpaused.stderr.contains("is not paused"), "{}", unpaused.stderr);

    let _ = program.run(&["pause", "--json"]).expect_code(0);
    assert!(training.wait_for("paused", |event| event["run"] == run.as_str()).is_some());
    assert_eq!(queue(&program)["running"][0]["paused"], true);
    answers(&program, &["pause", &run], &["paused already"]);
    answers(&program, &["rename", &run, "renamed meanwhile"], &["renamed meanwhile"]);
    answers(&program, &["queue"], &["paused", "renamed meanwhile"]);
    assert_eq!(queue(&program)["running"][0]["name"], "renamed meanwhile");
    let _ = program.run(&["delete", &run]).expect_code(2).expect_words(&["Stop it first"]);
    let _ = program.run(&["resume-current"]).expect_code(0);
    assert!(training.wait_for("resumed", |_| true).is_some());
    goes_on(&training);

    answers(&program, &["stop", "@newest"], &["with a checkpoint"]);
    let (code, last) = training.wait();
    let last = last.unwrap();
    assert_eq!((code, last["state"].as_str(), last["name"].as_str()), (1, Some("stopped"), Some("renamed meanwhile")));
    assert!(!program.show(&run)["checkpoints"].as_array().unwrap().is_empty());
    // A list may be empty; a command needs something that it is about.
    answers(&program, &["queue"], &["Nothing runs, and nothing waits."]);
    assert_eq!(queue(&program), json!({ "event": "queue", "running": [], "waiting": [] }));
    for command in ["pause", "resume-current", "stop"] {
        let answer = program.run(&[command]).expect_code(1);
        assert!(answer.stderr.contains("Nothing runs"), "{}", answer.stderr);
    }
    let left: Vec<String> = fs::read_dir(program.path("store"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("control") || name.starts_with(".c"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn runs_that_wait_are_moved_and_taken_out() {
    let program = crate::program();
    program.write("c.toml", TINY_DECODER.replace("steps = 60", "steps = 1000000"));
    let race = program.start(&["race", "c.toml", "--families", "symmetric", "--seeds", "2", "--json"]);
    let deadline = Instant::now() + PATIENCE;
    let waiting = loop {
        let answer = program.run(&["queue", "--json"]);
        let waiting = (answer.code == 0).then(|| answer.json()["waiting"].clone());
        match waiting.and_then(|waiting| waiting.as_array().cloned()) {
            Some(waiting) if waiting.len() == 3 => break waiting,
            _ => assert!(Instant::now() < deadline, "{}", answer.stderr),
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let ids = |waiting: &[Value]| -> Vec<String> {
        waiting.iter().map(|job| job["run"].as_str().unwrap().to_owned()).collect()
    };
    let [a, b, c]: [String; 3] = ids(&waiting).try_into().unwrap();
    answers(&program, &["move", &c, "1"], &["number 1 of 3"]);
    assert_eq!(ids(queue(&program)["waiting"].as_array().unwrap()), [c.clone(), a.clone(), b.clone()]);
    answers(&program, &["move", &c, "99"], &["number 3 of 3"]);
    assert_eq!(ids(queue(&program)["waiting"].as_array().unwrap()), [a.clone(), b.clone(), c.clone()]);
    let running = queue(&program)["running"][0]["run"].as_str().unwrap().to_owned();
    let _ = program.run(&["move", &running, "1"]).expect_code(2);
    let _ = program.run(&["pause", &a]).expect_code(2);
    for run in [&b, &a, &c] {
        answers(&program, &["stop", run], &["Taken out of the queue"]);
    }
    assert_eq!(queue(&program)["waiting"].as_array().unwrap().len(), 0);
    let _ = program.run(&["stop", &b]).expect_code(2);
    let _ = program.run(&["stop"]).expect_code(0);
    let (code, _) = race.wait();
    assert_eq!(code, 1, "a race that did not train to its end");
    assert_eq!(
        (program.show(&a)["state"].as_str(), program.show(&running)["state"].as_str()),
        (Some("cancelled"), Some("stopped"))
    );
}

#[test]
fn what_a_killed_program_left_is_replaced() {
    let (program, training) = training();
    training.kill();
    assert!(socket(&program).symlink_metadata().is_ok());
    answers(&program, &["queue"], &["Nothing runs"]);
    let training = program.start(&["train", "c.toml", "--json"]);
    training.wait_for("step", |_| true).unwrap();
    assert_eq!(queue(&program)["running"].as_array().unwrap().len(), 1);
    // A second program on the same store has a socket of its own.
    let second = program.start(&["train", "c.toml", "--json"]);
    second.wait_for("step", |_| true).unwrap();
    assert_eq!(queue(&program)["running"].as_array().unwrap().len(), 2);
    let unclear = program.run(&["stop"]).expect_code(2);
    assert!(unclear.stderr.contains("Name one"), "{}", unclear.stderr);
    let _ = program.run(&["stop", "@newest"]).expect_code(0);
    assert_eq!(second.wait().1.unwrap()["state"], "stopped");
    let _ = program.run(&["stop"]).expect_code(0);
    assert_eq!(training.wait().1.unwrap()["state"], "stopped");
}

#[test]
fn clients_that_break_the_rules_are_refused_and_training_goes_on() {
    let (program, training) = training();
    let connect = || UnixStream::connect(socket(&program)).unwrap();
    let answer = |line: &str| -> String {
        let mut stream = connect();
        stream.write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        let _ = BufReader::new(stream).read_line(&mut answer);
        answer
    };
    for garbage in [
        "\n",
        "{}\n",
        "fly\n",
        "\u{0}\u{1}\n",
        "{\"protocol\":2,\"ticket\":1,\"command\":\"load_run\",\"run\":\"../../x\"}\n",
    ] {
        assert!(answer(garbage).contains("\"event\":\"refused\""), "{garbage:?}");
    }
    // A program of another version is told both.
    for (version, line) in [
        (1, "{\"ticket\":7,\"command\":\"cancel_generation\",\"generation\":3}\n"),
        (9, "{\"protocol\":9,\"ticket\":7,\"command\":\"dance\"}\n"),
    ] {
        let told = answer(line);
        assert!(told.contains(&format!("speaks version {version} ")) && told.contains("this one version 2"), "{told}");
    }
    for refused in ["shutdown", "list_runs", "devices"] {
        let told = answer(&format!("{{\"protocol\":2,\"ticket\":7,\"command\":\"{refused}\"}}\n"));
        assert!(told.starts_with("{\"protocol\":2,\"ticket\":7,\"event\":\"refused\""), "{told}");
    }
    // A ticket of another process may be that of a request here.
    let cancel = answer("{\"protocol\":2,\"ticket\":7,\"command\":\"cancel\",\"job\":{\"ticket\":1}}\n");
    assert!(cancel.contains("\"event\":\"refused\"") && cancel.contains("does nothing else"), "{cancel}");
    let purge = answer("{\"protocol\":2,\"ticket\":7,\"command\":\"purge\",\"before_ms\":9999999999999}\n");
    assert!(purge.contains("refused"), "{purge}");
    let endless = "x".repeat(1 << 18);
    let mut stream = connect();
    // It is cut off before all of it was written, or after.
    let _ = stream.write_all(endless.as_bytes());
    let mut told = Vec::new();
    let _ = stream.read_to_end(&mut told);
    assert!(told.is_empty());

    // Clients that never read what they ask for.
    let mut deaf = connect();
    deaf.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    for _ in 0..20_000 {
        if deaf.write_all(b"{\"protocol\":2,\"ticket\":1,\"command\":\"list_queue\"}\n").is_err() {
            break;
        }
    }
    goes_on(&training);
    // Two at once, and both are answered.
    let (mut one, mut two) = (connect(), connect());
    for stream in [&mut one, &mut two] {
        stream
            .write_all(b"{\"protocol\":2,\"ticket\":3,\"command\":\"list_queue\"}\n{\"protocol\":2,\"ticket\":4,\"command\":\"list_queue\"}\n")
            .unwrap();
    }
    for stream in [one, two] {
        let lines: Vec<String> = BufReader::new(stream).lines().take(2).map(Result::unwrap).collect();
        assert!(lines[0].starts_with("{\"protocol\":2,\"ticket\":3,\"event\":\"queue\""), "{lines:?}");
        assert!(lines[1].starts_with("{\"protocol\":2,\"ticket\":4,\"event\":\"queue\""), "{lines:?}");
    }
    // Silent ones take every place for a while, and no longer.
    let silent: Vec<UnixStream> = (0..32).map(|_| connect()).collect();
    goes_on(&training);
    drop(silent);
    let deadline = Instant::now() + PATIENCE;
    while program.run(&["queue"]).code != 0 {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(200));
    }
    let _ = program.run(&["stop"]).expect_code(0);
    assert_eq!(training.wait().1.unwrap()["state"], "stopped");
}

#[test]
fn what_is_not_our_socket_is_never_removed() {
    for is_link in [false, true] {
        let program = crate::program();
        program.write("c.toml", TINY_DECODER);
        program.write("store/mine.txt", "mine");
        if is_link {
            symlink(program.path("store/mine.txt"), socket(&program)).unwrap();
        } else {
            fs::write(socket(&program), "mine").unwrap();
        }
        let trained = program.run(&["train", "c.toml"]).expect_code(0);
        assert!(trained.stderr.contains("did not make"), "{}", trained.stderr);
        assert_eq!(fs::read_to_string(socket(&program)).unwrap(), "mine");
        assert_eq!(socket(&program).symlink_metadata().unwrap().file_type().is_symlink(), is_link);
        let answer = program.run(&["queue"]).expect_code(1);
        assert!(answer.stderr.contains("no socket of this user"), "{}", answer.stderr);
    }
}

#[test]
fn a_store_with_a_long_path_trains_and_says_why_it_cannot_be_reached() {
    let program = crate::program();
    program.write("c.toml", TINY_DECODER);
    let folder = program.path("s".repeat(120));
    let database = folder.join("headroom.db");
    let mut train = program.command(&["train", "c.toml"]);
    train.env("HEADROOM_STORE", &database);
    let answer = program.run_command(train).expect_code(0);
    assert!(answer.stderr.contains("too long for a socket address"), "{}", answer.stderr);
    let mut queue = program.command(&["queue"]);
    queue.env("HEADROOM_STORE", &database);
    let answer = program.run_command(queue).expect_code(1);
    assert!(answer.stderr.contains("too long for a socket address"), "{}", answer.stderr);
}

#[test]
fn curves_of_a_run_that_another_program_trains_grow_in_an_open_window() {
    let (program, training) = training();
    let mut screen = Screen::engine(&program.store_path());
    screen.window().open(PanelId::LIVE);
    screen.wait("the run", |screen| screen.state().runs.len() == 1);
    let run = screen.state().runs[0].id.clone();
    screen.state().selection.live = Some(run.clone());
    let points = |screen: &mut Screen| screen.state().series.get(&run, "train/loss").map_or(0, RunSeries::len);
    screen.wait("its curve", |screen| points(screen) > 0);
    let before = points(&mut screen);
    screen.wait("more of its curve", |screen| points(screen) > before + 10);
    answers(&program, &["stop"], &[]);
    training.wait();
    screen.wait("all of its curve", |screen| {
        let (state, steps) = (screen.state().runs[0].state, screen.state().runs[0].steps_done);
        state == RunState::Stopped && points(screen) as u64 == steps
    });
    screen.close();
}

/// Waits until a program has taken over a signal, by its number, or has ended.
#[cfg(target_os = "linux")]
fn wait_until_caught(process: u32, signal: u32) {
    let begun = Instant::now();
    loop {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
        if caught >> (signal - 1) & 1 == 1 || status.contains("State:\tZ") {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "signal {signal} keeps its usual effect: {status}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A signal in the first moments of a command that scripts read is answered, whatever the command is about to do.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_in_the_first_moments_is_answered_in_json() {
    let program = crate::program();
    let run = program.train(TINY_DECODER, &["--steps", "20"]);
    let commands: [&[&str]; 8] = [
        &["export", &run, "--to", "out"],
        &["analyse", &run],
        &["eval", &run],
        &["runs"],
        &["compare", &run, &run],
        &["preview", "c.toml"],
        &["generate", &run, "--prompt", "the "],
        &["train", "c.toml", "--steps", "20"],
    ];
    program.write("c.toml", TINY_DECODER);
    let ask = |arguments: &[&str], delay: u64, signal: &str, number: u32| {
        let _ = fs::remove_dir_all(program.path("out"));
        let mut command = program.command(&[arguments, &["--json"][..]].concat());
        let child = command.spawn().unwrap();
        // The second signal in a row would end it without an answer: one alone is sent.
        wait_until_caught(child.id(), number);
        std::thread::sleep(Duration::from_millis(delay));
        let _ = std::process::Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        let what = format!("{arguments:?}, {signal} after {delay} ms, {:?}: {told}", output.status);
        let last = told.lines().last().unwrap_or_default();
        let value = serde_json::from_str(&told).or_else(|_| serde_json::from_str::<Value>(last));
        let value = value.unwrap_or_else(|error| panic!("{what}: {error}"));
        if value["event"] == "failed" {
            assert_eq!(output.status.code(), Some(1), "{what}");
            let message = value["problems"][0]["message"].as_str().unwrap_or_default();
            assert!(message.to_lowercase().contains("stop"), "{what}");
        } else {
            assert!(output.status.code().is_some(), "{what}");
        }
        (value["event"] == "failed", what)
    };
    let (mut stopped, mut answered) = (0, 0);
    for (place, arguments) in commands.iter().enumerate() {
        for (delay, signal, number) in [(0, "INT", 2), (5, "TERM", 15), (40, "HUP", 1), (150, "INT", 2)] {
            let (mut is_stopped, mut what) = ask(arguments, delay, signal, number);
            // This one is sent before anything is answered, but where the machine kept whoever sends it waiting.
            let is_too_early = place < 3 && delay == 0;
            for _ in 0..5 {
                if !is_too_early || is_stopped {
                    break;
                }
                (is_stopped, what) = ask(arguments, delay, signal, number);
            }
            assert!(!is_too_early || is_stopped, "nothing is answered before this signal: {what}");
            stopped += usize::from(is_stopped);
            answered += usize::from(!is_stopped);
        }
    }
    assert!(stopped >= 8, "{stopped} were stopped, {answered} had answered");
}

/// A closed terminal stops a run as a polite kill does, unless whoever started it wanted it to outlive the terminal.
#[test]
fn a_hang_up_stops_a_run_with_a_checkpoint_unless_it_is_ignored() {
    let (program, training) = training();
    training.signal("HUP");
    let (code, last) = training.wait();
    let last = last.unwrap();
    assert_eq!((code, &last["state"]), (1, &json!("stopped")), "{last}");
    let run = last["run"].as_str().unwrap().to_owned();
    let kept = program.show(&run)["checkpoints"].as_array().unwrap().clone();
    assert!(kept.iter().any(|kept| kept["kind"] == "last" && kept["step"] == last["step"]), "{kept:?}");

    let program = crate::program();
    program.write("c.toml", TINY_DECODER.replace("steps = 60", "steps = 1000000"));
    let script = r#"trap '' HUP; exec "$0" "$@""#;
    let binary = crate::BINARY;
    let training = program.start_with("sh", &["-c", script, binary, "train", "c.toml", "--json"]);
    training.wait_for("step", |_| true).unwrap();
    training.signal("HUP");
    goes_on(&training);
    training.signal("TERM");
    let (code, last) = training.wait();
    assert_eq!((code, &last.unwrap()["state"]), (1, &json!("stopped")));
}
