//! Stores of strangers, stores that cannot be written, and what is removed when and by whom.
#![cfg(unix)]

use std::{
    fs,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::Command,
};

use headroom_engine::store::{RunState, StateDetails};
use headroom_tests::{HostileStores, Program, TINY_DECODER, hot_journal, tamper};

fn binary() -> PathBuf {
    crate::BINARY.into()
}

/// A program with a run of four steps, which is `stopped` on its way to six.
fn stopped() -> (Program, String) {
    let program = Program::new(binary());
    let config = TINY_DECODER
        .replace("steps = 60", "steps = 4")
        .replace("evaluate_every = 20", "evaluate_every = 2")
        .replace("checkpoint_every = 20", "checkpoint_every = 1")
        .replace("keep_checkpoints = 2", "keep_checkpoints = 1")
        .replace("warmup_steps = 10", "warmup_steps = 1");
    let run = program.train(&config, &[]);
    for sql in [
        "UPDATE runs SET state = 'stopped', steps_total = 6",
        "UPDATE run_configs SET config_toml = replace(config_toml, 'steps = 4', 'steps = 6')",
    ] {
        assert!(tamper(&program.store_path(), sql));
    }
    (program, run)
}

fn checkpoints(program: &Program, run: &str) -> PathBuf {
    program.store_path().with_file_name("runs").join(run).join("checkpoints")
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// `headroom eval` of a store with such a run removed the folder, and ended with 0.
#[test]
fn evaluating_in_a_store_with_a_path_for_an_id_removes_nothing() {
    let (program, run) = stopped();
    program
        .train(&TINY_DECODER.replace("steps = 60", "steps = 2").replace("warmup_steps = 10", "warmup_steps = 1"), &[]);
    let victim = program.path("victim");
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("thesis.tex"), "years of work").unwrap();
    let sql = format!("UPDATE runs SET id = '{}', deleted_ms = 1 WHERE number = 1", victim.display());
    assert!(tamper(&program.store_path(), &sql));
    let _ = program.run(&["eval", "2", "--json"]).expect_code(0);
    assert_eq!(names(&victim), ["thesis.tex"]);
    assert!(checkpoints(&program, &run).exists());
    let listed = program.run(&["purge", "--dry-run", "--json"]).expect_code(0).json();
    assert!(listed["deleted"][0]["refused"].as_str().unwrap().contains("is no id"), "{listed}");
    let purged = program.run(&["purge", "--yes", "--json"]).expect_code(0).json();
    assert_eq!((purged["purged"].as_array().unwrap().len(), purged["refused"].as_array().unwrap().len()), (0, 1));
    assert_eq!(names(&victim), ["thesis.tex"]);
    assert!(checkpoints(&program, &run).exists());
}

/// `resume` of a run with such an id wrote beside the store.
#[test]
fn a_run_whose_id_is_a_path_is_told_of_and_not_resumed() {
    let (program, _) = stopped();
    program
        .train(&TINY_DECODER.replace("steps = 60", "steps = 2").replace("warmup_steps = 10", "warmup_steps = 1"), &[]);
    assert!(tamper(&program.store_path(), "UPDATE runs SET id = '../../x' WHERE number = 1"));
    let _ = program.run(&["resume", "1"]).expect_code(2).expect_words(&["run #1 is damaged", "is no id"]);
    assert!(!program.path("x").exists());
    let text = program.run(&["runs"]).expect_code(0).stdout;
    assert!(text.contains("damaged") && text.contains("is no id"), "{text}");
    let runs = program.run(&["runs", "--json"]).expect_code(0).json();
    let states: Vec<&str> = runs.as_array().unwrap().iter().map(|run| run["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["finished", "damaged"]);
    assert_eq!(runs[1]["number"], 1);
}

/// A checkpoint that the store said to be elsewhere was pruned when the run went on.
#[test]
fn going_on_prunes_no_checkpoint_elsewhere() {
    let (program, run) = stopped();
    let victim = program.path("victim");
    fs::create_dir(&victim).unwrap();
    let best = checkpoints(&program, &run).join("step-00000004");
    for file in names(&best) {
        fs::copy(best.join(&file), victim.join(&file)).unwrap();
    }
    let before = names(&victim);
    // As old as can be, so that it goes first.
    let sql = format!(
        "INSERT INTO checkpoints (run, kind, step, path, bytes, created_ms) VALUES (1, 'last', 0, '{}', 1, 1)",
        victim.display()
    );
    assert!(tamper(&program.store_path(), &sql));
    let answer = program.run(&["resume", "1", "--json"]).expect_code(0);
    assert!(answer.events().last().unwrap()["state"] == "finished");
    assert_eq!(names(&victim), before);
    let kept = names(&checkpoints(&program, &run));
    assert!(kept.contains(&"step-00000006".to_owned()) && !kept.contains(&"step-00000005".to_owned()), "{kept:?}");
}

#[test]
fn what_was_deleted_goes_when_it_is_purged_and_not_before() {
    let (program, run) = stopped();
    program.store().delete(&run.parse().unwrap()).unwrap();
    let folder = checkpoints(&program, &run);
    // Long ago: it used to go by itself.
    assert!(tamper(&program.store_path(), "UPDATE runs SET deleted_ms = 1"));
    let _ = program.run(&["runs"]).expect_code(0);
    let _ = program.run(&["purge", "--older-than", "30000"]).expect_code(0);
    let asked = program.run(&["purge"]).expect_code(2).expect_words(&["Nothing was removed", "purge --yes"]);
    assert!(asked.stdout.contains("tiny decoder") && asked.stdout.contains(&run), "{}", asked.stdout);
    let _ = program.run(&["purge", "--json"]).expect_code(2);
    let _ = program.run(&["purge", "--dry-run"]).expect_code(0);
    assert!(folder.exists());
    fs::write(folder.join("notes.txt"), "mine").unwrap();
    let stays = program.run(&["purge", "--yes"]).expect_code(0).stdout;
    assert!(stays.contains("notes.txt") && folder.join("step-00000004").exists(), "{stays}");
    fs::remove_file(folder.join("notes.txt")).unwrap();
    let gone = program.run(&["purge", "--yes"]).expect_code(0).stdout;
    assert!(gone.contains("Removed 1 thing for good"), "{gone}");
    assert!(!folder.parent().unwrap().exists());
    assert_eq!(program.run(&["runs", "--json"]).expect_code(0).json().as_array().unwrap().len(), 0);
}

/// Weights were for the owner alone, in exports too.
#[test]
fn exports_follow_the_umask() {
    let (program, _) = stopped();
    let out = program.path("out");
    let _ = program.run(&["export", "1", "--to", out.to_str().unwrap()]).expect_code(0);
    let plain = program.write("plain", "text");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for name in names(&out) {
        assert_eq!(mode(&out.join(&name)), mode(&plain), "{name}");
    }
}

/// Evaluations and exports wanted to write into the store.
#[test]
fn a_store_that_cannot_be_written_is_read() {
    let (program, run) = stopped();
    let text = program.write("text.txt", headroom_tests::sentences(200));
    let store = program.store_path().parent().unwrap().to_owned();
    let readable = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let out = program.path("out");
    fs::create_dir(&out).unwrap();
    readable(&out, 0o777);
    let copy = program.path("headroom");
    if fs::hard_link(binary(), &copy).is_err() {
        fs::copy(binary(), &copy).unwrap();
    }
    readable(&program.path(""), 0o755);
    readable(&program.store_path(), 0o444);
    readable(&store, 0o555);
    // Rights mean nothing to the superuser, who becomes nobody here.
    let is_superuser = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    let before = names(&store);
    let exported = out.join("model");
    for arguments in [
        &["runs"][..],
        &["show", "1", "--json"],
        &["eval", &run, "--json"],
        &["eval", &run, "--data", text.to_str().unwrap(), "--json"],
        &["analyse", "1", "--similarity", "--examples", "2", "--json"],
        &["export", "1", "--to", exported.to_str().unwrap(), "--json"],
        &["purge", "--dry-run"],
    ] {
        let mut command = Command::new(&copy);
        command.args(arguments).current_dir(&out).env("HEADROOM_STORE", program.store_path()).env("HOME", &out);
        command.stdin(std::process::Stdio::null());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        if is_superuser {
            command.uid(65_534).gid(65_534);
        }
        let answer = program.run_command(command).expect_code(0);
        if arguments.first() == Some(&"analyse") {
            // An id was given that led nowhere.
            let answer = answer.expect_words(&["not kept", "open for reading only"]);
            assert!(answer.json()["analysis"].is_null(), "{}", answer.stdout);
        }
    }
    readable(&store, 0o755);
    assert_eq!(names(&store), before);
    assert!(exported.join("model.safetensors").exists());
}

/// A pipe was waited for without end.
#[test]
fn a_store_that_is_no_file_is_refused_by_kind() {
    let program = Program::new(binary());
    let pipe = program.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let socket = program.path("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for (path, kind) in [(pipe.as_path(), "a pipe"), (&socket, "a socket"), (Path::new("/dev/zero"), "a device")] {
        for arguments in [&["runs"][..], &["eval", "1"], &["train", "grammar-decoder"]] {
            let mut arguments = arguments.to_vec();
            arguments.extend(["--store", path.to_str().unwrap()]);
            let _ = program.run(&arguments).expect_code(2).expect_words(&[kind]);
        }
    }
    // In place of the weights too.
    let (program, run) = stopped();
    let weights = checkpoints(&program, &run).join("step-00000004/model.safetensors");
    fs::remove_file(&weights).unwrap();
    assert!(Command::new("mkfifo").arg(&weights).status().unwrap().success());
    let _ = program.run(&["eval", "1", "--which", "last"]).expect_code(2).expect_words(&["no file but a pipe"]);
}

#[test]
fn a_kill_leaves_nothing_beside_the_store_for_long() {
    let (program, _) = stopped();
    let training = program.start(&["train", "grammar-decoder", "--json"]);
    training.wait_for("started", |_| true).unwrap();
    training.kill();
    let store = program.store_path().parent().unwrap().to_owned();
    let left = |names: Vec<String>| names.into_iter().any(|name| name.strip_suffix(".lock").is_some());
    assert!(left(names(&store)));
    let _ = program.run(&["runs"]).expect_code(0);
    let names = names(&store);
    let gone = ["headroom.db.opening", "control.sock"].into_iter().all(|name| !names.contains(&name.to_owned()));
    assert!(!left(names.clone()) && gone, "{names:?}");
}

/// A deleted run is at rest: a state that says otherwise is told, and nothing goes.
#[test]
fn a_run_that_is_worked_on_is_not_purged() {
    let (program, run) = stopped();
    let id = run.parse().unwrap();
    let store = program.store();
    store.delete(&id).unwrap();
    store.set_state(&id, RunState::Running, StateDetails::default()).unwrap();
    let report = store.purge_deleted(i64::MAX).unwrap();
    assert_eq!(report.purged, []);
    assert!(report.refused[0].refused.as_ref().unwrap().contains("running"));
    assert!(checkpoints(&program, &run).exists());
}

/// `headroom runs` of such a store deleted any file of the user.
#[test]
fn no_command_deletes_the_file_that_a_journal_names() {
    let (program, run) = stopped();
    program.write("c.toml", TINY_DECODER);
    let victim = program.write("thesis.tex", "years of work");
    let journal = program.store_path().with_file_name("headroom.db-journal");
    for name in [victim.to_str().unwrap(), "thesis.tex", "../thesis.tex"] {
        fs::write(&journal, hot_journal(name)).unwrap();
        for arguments in [
            &["runs"][..],
            &["show", &run, "--json"],
            &["eval", &run],
            &["resume", &run],
            &["train", "c.toml"],
            &["export", &run, "--to", "out"],
            &["compare", &run, &run],
            &["analyse", &run],
            &["queue"],
            &["purge", "--yes"],
            &["bench", "show"],
            &["rename", &run, "other"],
        ] {
            let answer = program.run(arguments);
            assert!(answer.code != 0 || arguments == ["queue"], "{arguments:?}: {}", answer.stdout);
            if arguments == ["runs"] {
                let _ = answer.expect_code(2).expect_words(&["names another file", name, "headroom.db-journal"]);
            }
            assert_eq!(fs::read_to_string(&victim).unwrap(), "years of work", "{arguments:?} with {name}");
        }
    }
    fs::remove_file(&journal).unwrap();
    let _ = program.run(&["runs"]).expect_code(0);
}

/// Such a config asked for memory that no machine has, which ended the program.
#[test]
fn a_stored_config_that_no_file_may_have_is_refused() {
    for (from, to, field) in [
        ("words = 4000", "words = 4000000000000000000", "data.words"),
        ("layers = 2", "layers = 4000000000", "model.layers"),
        ("width = 16", "width = 4000000000", "model.width"),
        ("batch = 4", "batch = 4000000000", "train.batch"),
        ("kind = \"bytes\"", "kind = \"bpe\"\nvocabulary = 4000000000", "vocabulary"),
        ("sequence_length = 16", "sequence_length = 4000000000", "data.sequence_length"),
    ] {
        let (program, run) = stopped();
        let sql = format!("UPDATE run_configs SET config_toml = replace(config_toml, '{from}', '{to}')");
        assert!(tamper(&program.store_path(), &sql));
        assert!(program.run(&["show", &run]).expect_code(0).stdout.contains("tiny decoder"));
        for arguments in [&["resume", &run][..], &["eval", &run], &["analyse", &run], &["advise", &run]] {
            let answer = program.run(arguments);
            assert!(answer.code == 1 || answer.code == 2, "{arguments:?} with {to}: {}", answer.code);
            assert!(answer.stderr.contains(field), "{arguments:?} with {to}: {}", answer.stderr);
        }
    }
}

/// It was read whole by every command.
#[test]
fn a_sparse_spill_file_is_kept_and_not_read() {
    let (program, _) = stopped();
    let spill = program.store_path().with_file_name("headroom.db.12-0000000001.spill");
    fs::File::create(&spill).unwrap().set_len(6 << 30).unwrap();
    let _ = program.run(&["runs"]).expect_code(0).expect_words(&["damaged", ".damaged"]);
    assert!(!spill.exists() && spill.with_extension("damaged").exists());
    let again = program.run(&["runs"]).expect_code(0);
    assert!(!again.stderr.contains("damaged"), "{}", again.stderr);
}

/// The short version of `cargo run -p headroom-tools --bin hostile_stores -- --count 100`.
#[test]
fn hostile_stores_do_no_harm() {
    let mut stores = HostileStores::new(binary());
    let faults: Vec<String> = [0, 5, 11, 17, 26, 31, 45, 46, 47, 49, 58, 70, 73, 78, 83, 85, 91, 94]
        .iter()
        .flat_map(|&seed| stores.one(seed))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(stores.counts.stores, 18);
    assert_eq!(stores.counts.kinds.len(), 8, "{}", stores.counts);
}
