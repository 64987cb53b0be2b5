//! The store as its callers see it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use sqlx::Connection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use tempfile::TempDir;

use super::*;

const LOSS: &str = series_names::TRAIN_LOSS;

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn database(folder: &TempDir) -> PathBuf {
    folder.path().join("headroom.db")
}

fn open(folder: &TempDir) -> Store {
    Store::open(&database(folder), OpenMode::ReadWrite).unwrap()
}

fn new_run(name: &str) -> NewRun {
    NewRun {
        name: name.to_owned(),
        config_toml: "seed = 7\n".to_owned(),
        config: serde_json::json!({"seed": 7, "model": {"layers": 4}}),
        seed: u64::MAX,
        device: "cpu".to_owned(),
        threads: 2,
        tags: vec!["b".to_owned(), "a".to_owned()],
        ..NewRun::default()
    }
}

fn running(store: &Store, name: &str) -> RunId {
    let id = store.create_run(new_run(name)).unwrap().summary.id;
    store.begin_attempt(&id, 1).unwrap();
    id
}

fn log(writer: &StoreWriter, run: &RunId, steps: impl IntoIterator<Item = u64>, factor: f64) {
    for step in steps {
        writer.log(run, LOSS, step, step as f64 * factor, step * 10, step * 100);
    }
}

/// A connection that belongs to nobody, as another program's.
struct Stranger {
    runtime: tokio::runtime::Runtime,
    connection: SqliteConnection,
}

impl Stranger {
    fn new(path: &Path) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
        let connection = runtime.block_on(SqliteConnection::connect_with(&options)).unwrap();
        Self { runtime, connection }
    }

    fn execute(&mut self, sql: &'static str) {
        self.runtime.block_on(sqlx::query(sql).execute(&mut self.connection)).unwrap();
    }

    fn count(&mut self, sql: &'static str) -> i64 {
        self.runtime.block_on(sqlx::query_scalar(sql).fetch_one(&mut self.connection)).unwrap()
    }
}

fn wait_for(warnings: &crossbeam_channel::Receiver<StoreWarning>, wanted: impl Fn(&StoreWarning) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let warning = warnings.recv_deadline(deadline).expect("the warning should have come");
        if wanted(&warning) {
            return;
        }
    }
}

#[test]
fn a_run_is_created_changed_and_read_again() {
    let folder = folder();
    let id = {
        let store = open(&folder);
        let record = store.create_run(new_run("first")).unwrap();
        assert_eq!((record.summary.state, record.summary.number), (RunState::Queued, 1));
        let id = record.summary.id;
        assert_eq!(store.begin_attempt(&id, 1).unwrap(), 1);
        let facts = RunFacts { parameters: Some(12), data_hash: Some("abc".into()), ..RunFacts::default() };
        store.set_facts(&id, facts).unwrap();
        store.rename(&id, "renamed").unwrap();
        store.set_note(&id, "a note").unwrap();
        store.add_tag(&id, "c").unwrap();
        store.add_tag(&id, "c").unwrap();
        store.remove_tag(&id, "b").unwrap();
        let progress = Progress { steps_done: 9, tokens: 90, train_secs: 1.5 };
        let diverged = Divergence { step: 9, at: Some("layer 2".into()) };
        let details = StateDetails { progress: Some(progress), diverged: Some(diverged), failure: None };
        store.set_state(&id, RunState::Diverged, details).unwrap();
        id
    };
    let store = open(&folder);
    let record = store.run("renamed").unwrap();
    let run = &record.summary;
    assert_eq!((&run.id, run.state, run.seed), (&id, RunState::Diverged, u64::MAX));
    assert_eq!((run.steps_done, run.tokens, run.train_secs), (9, 90, 1.5));
    assert_eq!(run.diverged, Some(Divergence { step: 9, at: Some("layer 2".into()) }));
    assert_eq!((run.tags.as_slice(), run.note.as_str()), (["a".to_owned(), "c".to_owned()].as_slice(), "a note"));
    assert_eq!((run.parameters, record.data_hash.as_deref()), (Some(12), Some("abc")));
    assert_eq!(record.config["model"]["layers"], 4);
    assert_eq!(record.config_toml, "seed = 7\n");
    assert_eq!(record.program_version, env!("CARGO_PKG_VERSION"));
    assert!(record.machine.cores > 0);
    assert!(record.attempts[0].ended_ms.is_some() && run.ended_ms.is_some());
    assert_eq!(store.configs(std::slice::from_ref(&id)).unwrap()[0].1["seed"], 7);
    let json = serde_json::to_value(&record).unwrap();
    assert_eq!((&json["name"], &json["state"]), (&"renamed".into(), &"diverged".into()));
}

#[test]
fn values_that_are_not_finite_come_back() {
    let folder = folder();
    let store = open(&folder);
    let (run, writer) = (running(&store, "odd"), store.writer().unwrap());
    let values = [1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.5, f64::MIN_POSITIVE, f64::MAX, f64::NAN];
    for (step, value) in (1..).zip(values) {
        writer.log(&run, LOSS, step, value, step, step);
    }
    writer.flush().unwrap();
    let data = store.series(&run, LOSS, None).unwrap();
    assert_eq!(data.len(), values.len());
    assert!(
        data.values
            .iter()
            .zip(values)
            .all(|(read, logged)| read.total_cmp(&logged).is_eq() || (read.is_nan() && logged.is_nan()))
    );
    let metrics = store.record(&run).unwrap().summary.metrics;
    assert!(metrics[LOSS].last.is_nan());
    assert_eq!((metrics[LOSS].best, metrics[LOSS].best_step), (Some(f64::MIN_POSITIVE), Some(6)));
}

#[test]
fn a_resumed_attempt_hides_the_overlapped_tail() {
    let folder = folder();
    let store = open(&folder);
    let (run, writer) = (running(&store, "resumed"), store.writer().unwrap());
    log(&writer, &run, 1..=10, 0.1);
    writer.flush().unwrap();
    let before = store.series(&run, LOSS, None).unwrap();
    assert_eq!(store.begin_attempt(&run, 6).unwrap(), 2);
    let hidden = store.record(&run).unwrap().summary.metrics;
    assert_eq!((hidden[LOSS].last_step, hidden[LOSS].count), (5, 5));
    log(&writer, &run, 6..=8, 7.0);
    writer.flush().unwrap();
    let data = store.series(&run, LOSS, None).unwrap();
    assert_eq!(data.steps, [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!((data.values[4], data.values[5]), (0.5, 42.0));
    assert_eq!(data.cuts, [Cut { attempt: 2, first_step: 6, index: 5 }]);
    let tail = store.series(&run, LOSS, before.cursor).unwrap();
    assert!(tail.is_whole, "a live reader must throw the hidden points away");
    assert_eq!(tail, data);
    let kept = Stranger::new(&database(&folder)).count("SELECT COUNT(*) FROM points");
    assert_eq!(kept, 13, "hidden points are kept");
}

#[test]
fn a_cursor_reads_only_what_came_after() {
    let folder = folder();
    let store = open(&folder);
    let (run, writer) = (running(&store, "live"), store.writer().unwrap());
    assert!(store.series(&run, LOSS, None).unwrap().cursor.is_none());
    log(&writer, &run, 1..=3, 1.0);
    writer.flush().unwrap();
    let first = store.series(&run, LOSS, None).unwrap();
    assert!(first.is_whole);
    log(&writer, &run, 4..=5, 1.0);
    writer.flush().unwrap();
    let second = store.series(&run, LOSS, first.cursor).unwrap();
    assert_eq!((second.is_whole, second.steps), (false, vec![4, 5]));
    assert!(store.series(&run, LOSS, second.cursor).unwrap().is_empty());
    // A point that came late is behind the cursor: everything is given again.
    log(&writer, &run, [2, 6], 1.0);
    writer.log(&run, LOSS, 0, 9.0, 0, 0);
    writer.flush().unwrap();
    let third = store.series(&run, LOSS, second.cursor).unwrap();
    assert_eq!((third.is_whole, third.steps), (true, vec![0, 1, 2, 3, 4, 5, 6]));
    assert_eq!(third.values[2], 2.0, "the first value of a step stays");
}

#[test]
fn another_store_reads_while_one_writes() {
    let folder = folder();
    let store = open(&folder);
    let (run, writer) = (running(&store, "shared"), store.writer().unwrap());
    let reader = Store::open(&database(&folder), OpenMode::ReadOnly).unwrap();
    let second = open(&folder);
    let mut seen = 0;
    for round in 0..10 {
        log(&writer, &run, round * 100..(round + 1) * 100, 1.0);
        writer.flush().unwrap();
        let other = running(&second, "other");
        second.set_state(&other, RunState::Finished, StateDetails::default()).unwrap();
        let data = reader.series(&run, LOSS, None).unwrap();
        assert!(data.len() > seen);
        seen = data.len();
    }
    assert_eq!(seen, 1000);
    assert_eq!(reader.runs(RunFilter::default()).unwrap().len(), 11);
    assert!(matches!(reader.rename(&run, "x"), Err(StoreError::ReadOnly { .. })));
    assert!(matches!(reader.writer(), Err(StoreError::ReadOnly { .. })));
    assert_eq!(reader.record(&run).unwrap().summary.state, RunState::Running, "a live program's run is left alone");
}

#[test]
fn a_locked_database_costs_a_warning_and_nothing_else() {
    let folder = folder();
    let store = open(&folder);
    let (run, writer) = (running(&store, "locked"), store.writer().unwrap());
    let mut stranger = Stranger::new(&database(&folder));
    stranger.execute("BEGIN EXCLUSIVE");
    log(&writer, &run, 1..=50, 1.0);
    wait_for(&store.warnings(), |warning| matches!(warning, StoreWarning::Spilling { .. }));
    let end = Instant::now() + Duration::from_secs(3);
    let mut step = 50;
    while Instant::now() < end {
        step += 1;
        log(&writer, &run, [step], 1.0);
        std::thread::sleep(Duration::from_millis(5));
    }
    writer.flush().expect("the spill file is as safe as the database");
    stranger.execute("COMMIT");
    wait_for(&store.warnings(), |warning| matches!(warning, StoreWarning::Recovered { .. }));
    writer.flush().unwrap();
    assert_eq!(store.series(&run, LOSS, None).unwrap().steps, (1..=step).collect::<Vec<_>>());
    let left = std::fs::read_dir(folder.path()).unwrap().flatten();
    assert!(left.into_iter().all(|file| !file.file_name().to_string_lossy().ends_with(".spill")));
}

#[test]
fn a_change_waits_for_a_short_lock() {
    let folder = folder();
    let store = open(&folder);
    let run = running(&store, "waits");
    let mut stranger = Stranger::new(&database(&folder));
    stranger.execute("BEGIN EXCLUSIVE");
    std::thread::scope(|scope| {
        let renamed = std::thread::Builder::new().spawn_scoped(scope, || store.rename(&run, "after")).unwrap();
        std::thread::sleep(Duration::from_millis(800));
        stranger.execute("COMMIT");
        renamed.join().unwrap().unwrap();
    });
    assert_eq!(store.record(&run).unwrap().summary.name, "after");
}

#[test]
fn what_was_spilled_is_merged_once_at_the_next_open() {
    let folder = folder();
    let mut stranger;
    let run = {
        let store = open(&folder);
        let (run, writer) = (running(&store, "spilled"), store.writer().unwrap());
        log(&writer, &run, 1..=3, 1.0);
        writer.flush().unwrap();
        stranger = Stranger::new(&database(&folder));
        stranger.execute("BEGIN EXCLUSIVE");
        log(&writer, &run, 3..=6, 1.0);
        writer.snapshot(&run, NewSnapshot::text(6, "a text"));
        writer.set_state(&run, RunState::Finished, StateDetails::default());
        run
    };
    let spills = || {
        let files = std::fs::read_dir(folder.path()).unwrap().flatten().map(|file| file.path());
        files.filter(|path| path.extension().is_some_and(|end| end == "spill")).collect::<Vec<_>>()
    };
    let [spill] = &spills()[..] else { panic!("one spill file: {:?}", spills()) };
    let copy = std::fs::read(spill).unwrap();
    stranger.execute("COMMIT");
    let check = |store: &Store| {
        assert_eq!(store.series(&run, LOSS, None).unwrap().steps, [1, 2, 3, 4, 5, 6]);
        let summary = store.record(&run).unwrap().summary;
        assert_eq!(summary.state, RunState::Finished, "what it spilled says how it ended");
        assert_eq!((summary.metrics[LOSS].count, summary.metrics[LOSS].last_step), (6, 6));
        assert_eq!(
            store.samples(&run).unwrap().iter().map(|sample| sample.text.as_str()).collect::<Vec<_>>(),
            ["a text"]
        );
    };
    {
        let store = open(&folder);
        wait_for(&store.warnings(), |warning| *warning == StoreWarning::Merged { records: 6 });
        check(&store);
        assert!(spills().is_empty());
    }
    // A crash between merging and removing the file: the same entries come again.
    std::fs::write(spill, copy).unwrap();
    check(&open(&folder));
    assert!(spills().is_empty());
}

#[test]
fn entries_are_held_in_memory_when_nothing_can_be_written() {
    let folder = folder();
    let store = open(&folder);
    let (run, writer) = (running(&store, "held"), store.writer().unwrap());
    let spill = instance::spill_path(store.paths(), store.instance().unwrap());
    std::fs::create_dir(&spill).unwrap();
    let mut stranger = Stranger::new(&database(&folder));
    stranger.execute("BEGIN EXCLUSIVE");
    log(&writer, &run, 1..=100, 1.0);
    wait_for(&store.warnings(), |warning| matches!(warning, StoreWarning::Holding { .. }));
    assert!(writer.flush().is_err(), "nothing is safe yet");
    stranger.execute("COMMIT");
    wait_for(&store.warnings(), |warning| matches!(warning, StoreWarning::Recovered { .. }));
    assert_eq!(store.series(&run, LOSS, None).unwrap().len(), 100);
}

#[test]
fn a_full_disk_spills_and_recovers() {
    let folder = folder();
    let store = open(&folder);
    let (run, writer) = (running(&store, "full"), store.writer().unwrap());
    store
        .outside_transaction(async |connection| {
            sqlx::query("PRAGMA max_page_count = 1").fetch_all(connection).await?;
            Ok(())
        })
        .unwrap();
    log(&writer, &run, 1..=20_000, 1.0);
    wait_for(
        &store.warnings(),
        |warning| matches!(warning, StoreWarning::Spilling { reason, .. } if reason.contains("full")),
    );
    store
        .outside_transaction(async |connection| {
            sqlx::query("PRAGMA max_page_count = 1000000").fetch_all(connection).await?;
            Ok(())
        })
        .unwrap();
    wait_for(&store.warnings(), |warning| matches!(warning, StoreWarning::Recovered { .. }));
    writer.flush().unwrap();
    assert_eq!(store.series(&run, LOSS, None).unwrap().len(), 20_000);
}

#[test]
fn runs_are_deleted_brought_back_and_purged() {
    let folder = folder();
    let store = open(&folder);
    let (run, writer) = (running(&store, "doomed"), store.writer().unwrap());
    log(&writer, &run, 1..=5, 1.0);
    assert!(matches!(store.delete(&run), Err(StoreError::RunIsActive { state: RunState::Running, .. })));
    store.set_state(&run, RunState::Stopped, StateDetails::default()).unwrap();
    let checkpoint = store.paths().checkpoints(&run).join("step-5");
    std::fs::create_dir_all(&checkpoint).unwrap();
    std::fs::write(checkpoint.join("model"), "12345").unwrap();
    assert_eq!(store.run_bytes(&run), 5);
    store.delete(&run).unwrap();
    assert!(store.runs(RunFilter::default()).unwrap().is_empty());
    assert_eq!(store.runs(RunFilter::ALL).unwrap().len(), 1);
    store.undelete(&run).unwrap();
    assert_eq!(store.runs(RunFilter::default()).unwrap()[0].metrics[LOSS].count, 5);
    store.set_archived(&run, true).unwrap();
    assert!(store.runs(RunFilter::default()).unwrap().is_empty());
    store.delete(&run).unwrap();
    assert_eq!(store.purge_deleted(0).unwrap(), 0);
    assert_eq!(store.purge_deleted(i64::MAX).unwrap(), 1);
    assert!(!store.paths().run(&run).exists());
    assert!(matches!(store.record(&run), Err(StoreError::NoSuchRun { .. })));
    let mut stranger = Stranger::new(&database(&folder));
    assert_eq!(stranger.count("SELECT (SELECT COUNT(*) FROM points) + (SELECT COUNT(*) FROM series_summary)"), 0);
    // A late entry of a run that is gone is no trouble.
    log(&writer, &run, 6..=7, 1.0);
    writer.flush().unwrap();
    let next = store.create_run(new_run("next")).unwrap();
    assert_eq!(next.summary.number, 2, "a colour is never given twice");
}

#[test]
fn checkpoints_and_snapshots_are_kept() {
    let folder = folder();
    let store = open(&folder);
    let (run, writer) = (running(&store, "kept"), store.writer().unwrap());
    let checkpoint = |step: u64, kind| NewCheckpoint {
        step,
        path: store.paths().checkpoints(&run).join(format!("step-{step}")),
        kind,
        metric: Some("validation/loss".into()),
        value: Some(1.0 / step as f64),
        bytes: 10,
    };
    store.record_checkpoint(&run, checkpoint(5, CheckpointKind::Best)).unwrap();
    writer.checkpoint(&run, checkpoint(5, CheckpointKind::Last));
    writer.checkpoint(&run, checkpoint(9, CheckpointKind::Best));
    writer.checkpoint(&run, checkpoint(9, CheckpointKind::Last));
    writer.flush().unwrap();
    let kept = |store: &Store| {
        let kept = store.checkpoints(&run).unwrap();
        kept.into_iter().map(|kept| (kept.step, kept.kind)).collect::<Vec<_>>()
    };
    assert_eq!(kept(&store), [(5, CheckpointKind::Last), (9, CheckpointKind::Best), (9, CheckpointKind::Last)]);
    store.forget_checkpoint(&run, &checkpoint(5, CheckpointKind::Last).path).unwrap();
    assert_eq!(kept(&store), [(9, CheckpointKind::Best), (9, CheckpointKind::Last)]);
    assert_eq!(store.checkpoints(&run).unwrap()[0].path, checkpoint(9, CheckpointKind::Best).path);

    let values = [0.5, -1.0, f32::INFINITY];
    let map = NewSnapshot { layer: Some(1), head: Some(2), ..NewSnapshot::f32(9, "map", vec![3], &values) };
    store.record_snapshot(&run, map.clone()).unwrap();
    store.record_snapshot(&run, map).unwrap();
    writer.snapshot(&run, NewSnapshot::text(4, "early"));
    writer.snapshot(&run, NewSnapshot::text(9, "late"));
    writer.flush().unwrap();
    let [record] = &store.snapshots(&run, Some("map")).unwrap()[..] else { panic!("one map") };
    assert_eq!((record.layer, record.head, record.bytes, record.shape.as_slice()), (Some(1), Some(2), 12, &[3][..]));
    assert_eq!(store.snapshot(record.id).unwrap().to_f32().unwrap(), values);
    assert_eq!(store.snapshots(&run, None).unwrap().len(), 3);
    store.begin_attempt(&run, 5).unwrap();
    assert_eq!(store.samples(&run).unwrap().len(), 1, "what will be done again is hidden");
    assert!(matches!(store.snapshot(999), Err(StoreError::NoSuchSnapshot { id: 999 })));
}

#[test]
fn runs_of_a_dead_program_become_interrupted() {
    let folder = folder();
    let store = open(&folder);
    let [queued, paused, finished, live] = ["queued", "paused", "finished", "live"].map(|name| running(&store, name));
    store.set_state(&queued, RunState::Queued, StateDetails::default()).unwrap();
    store.set_state(&paused, RunState::Paused, StateDetails::default()).unwrap();
    store.set_state(&finished, RunState::Finished, StateDetails::default()).unwrap();
    // The first three belong to a program that was killed: its row and its lock file are there, its lock is not.
    let mut stranger = Stranger::new(&database(&folder));
    stranger.execute("INSERT INTO instances (id, pid, host, started_ms) VALUES ('4000000-dead', 4000000, 'here', 0)");
    stranger.execute("UPDATE runs SET owner = '4000000-dead' WHERE name IN ('queued', 'paused') AND owner IS NOT NULL");
    std::fs::write(store.paths().beside("4000000-dead.lock"), "").unwrap();
    let state = |store: &Store, run| store.record(run).unwrap().summary.state;
    {
        let second = open(&folder);
        assert_eq!(state(&second, &queued), RunState::Interrupted);
        assert_eq!(state(&second, &paused), RunState::Interrupted);
        assert_eq!(state(&second, &finished), RunState::Finished);
        assert_eq!(state(&second, &live), RunState::Running);
        assert!(second.record(&paused).unwrap().attempts[0].ended_ms.is_some());
    }
    assert!(!store.paths().beside("4000000-dead.lock").exists());
    assert_eq!(stranger.count("SELECT COUNT(*) FROM instances"), 1, "only the one that is open");
    assert!(store.mark_interrupted().unwrap().is_empty());
    // Resumed here, it belongs to this program.
    assert_eq!(store.begin_attempt(&paused, 1).unwrap(), 2);
    stranger.execute("UPDATE runs SET owner = '4000001-dead' WHERE name = 'paused'");
    assert_eq!(store.mark_interrupted().unwrap(), [paused]);
}

#[test]
fn closing_leaves_no_run_active_and_no_file_behind() {
    let folder = folder();
    let run = running(&open(&folder), "left");
    let mut files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().flatten().map(|file| file.file_name()).collect();
    files.sort();
    assert_eq!(files, ["headroom.db", "headroom.db.opening"]);
    let store = Store::open(&database(&folder), OpenMode::ReadOnly).unwrap();
    assert_eq!(store.record(&run).unwrap().summary.state, RunState::Interrupted);
}

#[test]
fn a_newer_store_is_refused_and_left_alone() {
    let folder = folder();
    drop(open(&folder));
    Stranger::new(&database(&folder)).execute(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (9999, 'later', 1, x'00', 0)",
    );
    for mode in [OpenMode::ReadWrite, OpenMode::ReadOnly] {
        let error = Store::open(&database(&folder), mode).unwrap_err();
        assert!(matches!(error, StoreError::Newer { found: 9999, .. }), "{error}");
        assert!(error.to_string().contains("Update Headroom"));
    }
}

#[test]
fn files_that_are_no_store_are_refused_and_left_alone() {
    let folder = folder();
    let text = "This is a letter, not a database, and longer than a header.";
    std::fs::write(database(&folder), text).unwrap();
    for mode in [OpenMode::ReadWrite, OpenMode::ReadOnly] {
        assert!(matches!(Store::open(&database(&folder), mode), Err(StoreError::NotADatabase { .. })));
    }
    assert_eq!(std::fs::read_to_string(database(&folder)).unwrap(), text);
    let foreign = folder.path().join("foreign.db");
    Stranger::new(&foreign).execute("CREATE TABLE recipes (name TEXT)");
    let before = std::fs::read(&foreign).unwrap();
    for mode in [OpenMode::ReadWrite, OpenMode::ReadOnly] {
        assert!(matches!(Store::open(&foreign, mode), Err(StoreError::OtherProgram { .. })));
    }
    assert_eq!(std::fs::read(&foreign).unwrap(), before);
    let missing = folder.path().join("missing.db");
    assert!(matches!(Store::open(&missing, OpenMode::ReadOnly), Err(StoreError::Missing { .. })));
    assert!(!missing.exists());
    assert!(matches!(Store::open(folder.path(), OpenMode::ReadWrite), Err(StoreError::NotWritable { .. })));
    let inside_a_file = foreign.join("deeper").join("a.db");
    assert!(matches!(Store::open(&inside_a_file, OpenMode::ReadWrite), Err(StoreError::Folder { .. })));
}

#[test]
fn a_damaged_store_is_refused() {
    let folder = folder();
    {
        let store = open(&folder);
        let (run, writer) = (running(&store, "whole"), store.writer().unwrap());
        log(&writer, &run, 1..=5_000, 1.0);
        writer.flush().unwrap();
        store.verify().unwrap();
    }
    let whole = std::fs::read(database(&folder)).unwrap();
    let cut = &whole[..whole.len() / 2];
    std::fs::write(database(&folder), cut).unwrap();
    for mode in [OpenMode::ReadWrite, OpenMode::ReadOnly] {
        let error = Store::open(&database(&folder), mode).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        assert!(error.to_string().contains("headroom.db"));
    }
    let mut overwritten = whole;
    overwritten[4096..].fill(0xa5);
    std::fs::write(database(&folder), overwritten).unwrap();
    for mode in [OpenMode::ReadWrite, OpenMode::ReadOnly] {
        let error = Store::open(&database(&folder), mode).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    }
}

#[derive(Clone, Debug)]
enum Action {
    Log(u64),
    Flush,
    /// Go back by so many steps.
    Resume(u64),
    Reopen,
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        4 => (1u64..40).prop_map(Action::Log),
        2 => Just(Action::Flush),
        2 => (0u64..30).prop_map(Action::Resume),
        1 => Just(Action::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn logged_points_are_read_points(actions in prop::collection::vec(action(), 1..25)) {
        let folder = folder();
        let mut store = open(&folder);
        let mut writer = store.writer().unwrap();
        let run = running(&store, "property");
        let mut expected: Vec<(u64, f64)> = Vec::new();
        let mut live: Vec<(u64, f64)> = Vec::new();
        let mut cursor = None;
        let mut value = 0.0;
        for action in actions {
            match action {
                Action::Log(count) => for _ in 0..count {
                    let step = expected.last().map_or(1, |(step, _)| step + 1);
                    value = (value + 0.37) % 5.0;
                    expected.push((step, value));
                    writer.log(&run, LOSS, step, value, step, step);
                },
                Action::Flush => {
                    writer.flush().unwrap();
                    let data = store.series(&run, LOSS, cursor).unwrap();
                    if data.is_whole {
                        live.clear();
                    }
                    live.extend(data.steps.into_iter().zip(data.values));
                    cursor = data.cursor;
                    prop_assert_eq!(&live, &expected);
                }
                Action::Resume(back) => {
                    expected.truncate(expected.len().saturating_sub(back as usize));
                    let first_step = expected.last().map_or(1, |(step, _)| step + 1);
                    store.begin_attempt(&run, first_step).unwrap();
                }
                Action::Reopen => {
                    drop(store);
                    store = open(&folder);
                    writer = store.writer().unwrap();
                }
            }
        }
        writer.flush().unwrap();
        let data = store.series(&run, LOSS, None).unwrap();
        let read: Vec<_> = data.steps.into_iter().zip(data.values).collect();
        prop_assert_eq!(&read, &expected);
        let metrics = store.record(&run).unwrap().summary.metrics;
        let best = expected.iter().copied().min_by(|left, right| left.1.total_cmp(&right.1));
        match (metrics.get(LOSS), expected.last()) {
            (Some(found), Some(last)) => {
                prop_assert_eq!((found.last_step, found.last), *last);
                prop_assert_eq!(found.best, best.map(|(_, value)| value));
                prop_assert_eq!(found.best_step, best.map(|(step, _)| step));
                prop_assert_eq!(found.count, expected.len() as u64);
            }
            (found, last) => prop_assert!(found.is_none() && last.is_none()),
        }
    }
}

#[test]
#[ignore = "a measurement: run it alone with --nocapture"]
fn measure_a_million_points_and_ten_thousand_runs() {
    let folder = folder();
    let store = open(&folder);
    let (run, writer) = (running(&store, "large"), store.writer().unwrap());
    let start = Instant::now();
    for step in 0..250_000 {
        for name in [LOSS, "train/learning_rate", "train/grad_norm", "train/tokens_per_sec"] {
            writer.log(&run, name, step, step as f64, step, step);
        }
    }
    let logged = start.elapsed();
    writer.flush().unwrap();
    let written = start.elapsed();
    let start = Instant::now();
    let read = store.series(&run, LOSS, None).unwrap().len();
    println!(
        "1,000,000 points: log call {:.2} us, {:.0} rows/s written, {:.0} rows/s read",
        logged.as_secs_f64(),
        1e6 / written.as_secs_f64(),
        read as f64 / start.elapsed().as_secs_f64()
    );
    let start = Instant::now();
    for step in 0..1_000 {
        writer.log(&run, LOSS, 250_000 + step, 0.0, 0, 0);
        std::thread::sleep(Duration::from_micros(100));
    }
    println!("paced log calls: {:.2} us each, the pauses taken off", (start.elapsed().as_secs_f64() - 0.1) * 1e3);
    writer.flush().unwrap();
    let mut stranger = Stranger::new(&database(&folder));
    stranger.execute(
        "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
         INSERT INTO runs (number, id, name, state, state_ms, seed, device, threads, program_version, machine_cpu,
             machine_cores, machine_os, created_ms)
         SELECT i, 'id' || i, 'run ' || i, 'finished', 0, 1, 'cpu', 2, '0', 'c', 2, 'o', 0 FROM n",
    );
    stranger.execute(
        "INSERT INTO series_summary (run, series, count, last_attempt, last_step, last, best_step, best)
         SELECT number, id, 1, 1, 1, 1.0, 1, 1.0 FROM runs, series WHERE number > 1",
    );
    let start = Instant::now();
    let runs = store.runs(RunFilter::default()).unwrap().len();
    println!("{runs} runs with 4 series listed in {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
}
