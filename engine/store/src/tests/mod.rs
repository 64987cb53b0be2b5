//! The store as its callers see it.

use std::path::{Path, PathBuf};

use sqlx::Connection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use tempfile::TempDir;

use super::*;

mod faults;
mod measure;
mod property;
#[cfg(unix)]
mod strangers;

const LOSS: &str = series_names::TRAIN_LOSS;

/// A manifest as programs wrote it before it named its run.
const MARK: &str = r#"{"format":1,"program":"headroom 0.1.0","files":{}}"#;

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

#[test]
fn the_best_of_a_run_that_leaves_out_pairs_is_of_after_they_were_chosen() {
    let folder = folder();
    let store = open(&folder);
    let writer = store.writer().unwrap();
    let losses = [(10, 1.0), (20, 2.0), (30, 1.75), (40, 1.5), (50, 1.625)];
    let [plain, late, early, fresh] = ["plain", "late", "early", "fresh"].map(|name| {
        let run = running(&store, name);
        for (step, loss) in losses {
            writer.log(&run, series_names::VALIDATION_LOSS, step, loss, step, step);
        }
        run
    });
    for (run, step) in [(&late, 20), (&early, 0), (&fresh, 50)] {
        writer.log(run, series_names::COVERAGE_SCORE_ERROR, step, 0.1, step, step);
    }
    writer.flush().unwrap();
    let best = |run: &RunId| {
        let one = store.run(run.as_str()).unwrap().summary.metrics[series_names::VALIDATION_LOSS].clone();
        let all = store.runs(RunFilter::ALL).unwrap();
        let listed = &all.iter().find(|listed| listed.id == *run).unwrap().metrics[series_names::VALIDATION_LOSS];
        assert_eq!(*listed, one, "a list says the same as a run by itself");
        assert_eq!((one.last, one.count), (1.625, 5), "only the best is another one");
        (one.best, one.best_step)
    };
    assert_eq!((best(&plain), best(&early)), ((Some(1.0), Some(10)), (Some(1.0), Some(10))));
    assert_eq!(best(&late), (Some(1.5), Some(40)));
    assert_eq!(best(&fresh), (None, None), "nothing was evaluated since");
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
        let facts = RunFacts {
            parameters: Some(12),
            data_hash: Some("abc".into()),
            held_out_hash: Some("def".into()),
            evaluated_hash: Some("ghi".into()),
            evaluated_examples: Some(78),
            validation_examples: Some(90),
            flops_per_step: Some(34),
            train_tokens: Some(56),
            ..RunFacts::default()
        };
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
    assert_eq!((run.flops_per_step, run.train_tokens), (Some(34), Some(56)));
    assert_eq!((run.held_out_hash.as_deref(), run.evaluated_hash.as_deref()), (Some("def"), Some("ghi")));
    assert_eq!((run.evaluated_examples, run.validation_examples), (Some(78), Some(90)));
    assert_eq!(record.config["model"]["layers"], 4);
    assert_eq!(record.config_toml, "seed = 7\n");
    assert_eq!(record.program_version, env!("CARGO_PKG_VERSION"));
    assert!(record.machine.cores > 0);
    assert!(record.attempts[0].ended_ms.is_some() && run.ended_ms.is_some());
    assert_eq!(store.configs(std::slice::from_ref(&id)).unwrap()[0].1["seed"], 7);
    let json = serde_json::to_value(&record).unwrap();
    assert_eq!((&json["name"], &json["state"]), (&"renamed".into(), &"diverged".into()));
}

/// Runs of earlier versions, and those that have not started, have the number of examples that their config asks for.
#[test]
fn the_evaluated_examples_of_a_run_that_counted_none_are_those_of_its_config() {
    let folder = folder();
    let store = open(&folder);
    let with = |train: serde_json::Value| NewRun { config: serde_json::json!({ "train": train }), ..new_run("run") };
    let runs = [
        (serde_json::json!({ "batch": 16, "evaluate_batches": 16 }), Some(256)),
        (serde_json::json!({ "batch": 2, "evaluate_batches": 16 }), Some(32)),
        (serde_json::json!({ "batch": 2, "evaluate_batches": 0 }), None),
        (serde_json::json!({ "batch": 2, "evaluate_examples": 100 }), Some(100)),
        (serde_json::json!({ "batch": "two" }), None),
    ];
    let runs = runs.map(|(train, asked)| (store.create_run(with(train)).unwrap().summary.id, asked));
    let of = |run: &RunId| {
        let one = store.record(run).unwrap().summary;
        let listed = store.runs(RunFilter::ALL).unwrap().into_iter().find(|listed| listed.id == *run).unwrap();
        assert_eq!((listed.evaluated_examples, listed.evaluated_hash), (one.evaluated_examples, None));
        one.evaluated_examples
    };
    for (run, asked) in &runs {
        assert_eq!(of(run), *asked);
    }
    // The validation set has fewer.
    store.set_facts(&runs[0].0, RunFacts { evaluated_examples: Some(99), ..RunFacts::default() }).unwrap();
    assert_eq!(of(&runs[0].0), Some(99));
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

/// A run of ten steps with a state at `state` that died, and waits to start again.
fn restarting(store: &Store, name: &str, state: Option<u64>) -> RunId {
    let (run, writer) = (running(store, name), store.writer().unwrap());
    log(&writer, &run, 1..=10, 0.1);
    for (step, loss) in [(2, 3.0), (4, 2.0), (8, 1.0)] {
        writer.log(&run, series_names::VALIDATION_LOSS, step, loss, step, step);
        writer.snapshot(&run, NewSnapshot::text(step, "a sample"));
    }
    writer.progress(&run, Progress { steps_done: 10, tokens: 1000, train_secs: 0.1 });
    writer.set_facts(&run, RunFacts { health: Some(train::Health::Sound), ..RunFacts::default() });
    for (step, kind) in state.map(|step| (step, CheckpointKind::Last)).into_iter().chain([(8, CheckpointKind::Best)]) {
        let path = store.paths().checkpoints(&run).join(format!("step-{step:08}"));
        let checkpoint = NewCheckpoint { step, path, kind, metric: None, value: None, bytes: 1 };
        writer.checkpoint(&run, checkpoint);
    }
    writer.set_state(&run, RunState::Interrupted, StateDetails::default());
    writer.flush().unwrap();
    run
}

#[test]
fn a_run_that_starts_again_shows_nothing_of_the_dead_attempt() {
    let folder = folder();
    let store = open(&folder);
    for (name, state, validation, samples) in
        [("from a state", Some(5), Some((2.0, 4, 2)), 2), ("from the start", None, None, 0)]
    {
        let run = restarting(&store, name, state);
        let shown = || {
            let record = store.record(&run).unwrap().summary;
            let listed = store.runs(RunFilter::ALL).unwrap().into_iter().find(|listed| listed.id == run).unwrap();
            assert_eq!(record, listed, "a list says the same as a run by itself");
            record
        };
        let dead = shown();
        assert_eq!((dead.steps_done, dead.metrics[LOSS].last_step), (10, 10));
        assert_eq!(store.samples(&run).unwrap().len(), 3);
        let check = |stage: &str| {
            let now = shown();
            let step = state.unwrap_or(0);
            assert_eq!((now.steps_done, now.tokens), (step, step * 100), "{name}, {stage}");
            assert_eq!((now.train_secs * 1e3).round() as u64, step * 10, "{name}, {stage}");
            assert_eq!((now.health, &now.failure), (None, &None), "{name}, {stage}");
            assert_eq!(now.metrics.get(LOSS).map(|loss| (loss.last_step, loss.count)), state.map(|at| (at, at)));
            let found = now.metrics.get(series_names::VALIDATION_LOSS);
            assert_eq!(found.map(|found| (found.last, found.last_step, found.count)), validation, "{name}, {stage}");
            assert_eq!(found.and_then(|found| found.best), validation.map(|found| found.0), "{name}, {stage}");
            assert_eq!(store.samples(&run).unwrap().len(), samples, "{name}, {stage}");
        };
        for waits in [RunState::Queued, RunState::Running] {
            store.set_state(&run, waits, StateDetails::default()).unwrap();
            check(waits.as_str());
        }
        // It could not begin: what there is, is current.
        store.set_state(&run, RunState::Failed, StateDetails::default()).unwrap();
        assert_eq!((shown().steps_done, &shown().metrics), (10, &dead.metrics));
        store.set_state(&run, RunState::Running, StateDetails::default()).unwrap();
        store.begin_attempt(&run, state.unwrap_or(0) + 1).unwrap();
        check("begun");
        // The dead attempt is in the store with its number.
        let mut stranger = Stranger::new(&database(&folder));
        let kept =
            stranger.count("SELECT COUNT(*) FROM points WHERE attempt = 1 AND run = (SELECT MAX(run) FROM points)");
        assert_eq!(kept, 13);
        assert_eq!(store.logged_value(&run, series_names::VALIDATION_LOSS, 8).unwrap(), Some(1.0));
    }
}

#[test]
fn what_a_continued_run_makes_up_for_belongs_to_the_step_before() {
    let folder = folder();
    let store = open(&folder);
    let (run, writer) = (running(&store, "stopped"), store.writer().unwrap());
    let evaluate = |step: u64, value: f64| writer.log(&run, series_names::VALIDATION_LOSS, step, value, step, step);
    log(&writer, &run, 1..=5, 1.0);
    evaluate(2, 3.0);
    // Stopped in the evaluation of step 5, twice, and then in the sample that follows it.
    store.begin_attempt(&run, 6).unwrap();
    store.begin_attempt(&run, 6).unwrap();
    evaluate(5, 1.0);
    store.begin_attempt(&run, 6).unwrap();
    evaluate(5, 1.0);
    writer.snapshot(&run, NewSnapshot::text(5, "a sample"));
    log(&writer, &run, 6..=8, 1.0);
    evaluate(8, 2.0);
    writer.flush().unwrap();
    let seen = store.series(&run, series_names::VALIDATION_LOSS, None).unwrap();
    assert_eq!((seen.steps, seen.values), (vec![2, 5, 8], vec![3.0, 1.0, 2.0]));
    assert_eq!(store.series(&run, LOSS, None).unwrap().steps, (1..=8).collect::<Vec<_>>());
    assert_eq!(store.samples(&run).unwrap().len(), 1);
    let found = &store.record(&run).unwrap().summary.metrics[series_names::VALIDATION_LOSS];
    assert_eq!((found.count, found.best, found.best_step, found.last_step), (3, Some(1.0), Some(5), 8));
    // One that goes back further belongs to nobody else.
    store.begin_attempt(&run, 4).unwrap();
    evaluate(2, 9.0);
    evaluate(3, 0.5);
    writer.flush().unwrap();
    let seen = store.series(&run, series_names::VALIDATION_LOSS, None).unwrap();
    assert_eq!((seen.steps, seen.values), (vec![2, 3], vec![3.0, 0.5]), "an earlier step stays as it was");
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
fn runs_are_deleted_brought_back_and_purged() {
    let folder = folder();
    let store = open(&folder);
    let (run, writer) = (running(&store, "doomed"), store.writer().unwrap());
    log(&writer, &run, 1..=5, 1.0);
    assert!(matches!(store.delete(&run), Err(StoreError::RunIsActive { state: RunState::Running, .. })));
    store.set_state(&run, RunState::Stopped, StateDetails::default()).unwrap();
    let checkpoint = store.paths().checkpoints(&run).join("step-5");
    std::fs::create_dir_all(&checkpoint).unwrap();
    std::fs::write(checkpoint.join("config.json"), "12345").unwrap();
    std::fs::write(checkpoint.join("headroom.json"), MARK).unwrap();
    assert_eq!(store.run_bytes(&run), 5 + MARK.len() as u64);
    store.delete(&run).unwrap();
    assert!(store.runs(RunFilter::default()).unwrap().is_empty());
    assert_eq!(store.runs(RunFilter::ALL).unwrap().len(), 1);
    store.undelete(&run).unwrap();
    assert_eq!(store.runs(RunFilter::default()).unwrap()[0].metrics[LOSS].count, 5);
    store.set_archived(&run, true).unwrap();
    assert!(store.runs(RunFilter::default()).unwrap().is_empty());
    store.delete(&run).unwrap();
    assert_eq!(store.purge_deleted(0).unwrap(), PurgeReport::default());
    assert_eq!(store.purge_deleted(i64::MAX).unwrap().purged[0].bytes, 5 + MARK.len() as u64);
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
    writer.forget_checkpoint(&run, &checkpoint(5, CheckpointKind::Last).path);
    writer.flush().unwrap();
    assert_eq!(kept(&store), [(9, CheckpointKind::Best), (9, CheckpointKind::Last)]);
    assert_eq!(store.checkpoints(&run).unwrap()[0].path, checkpoint(9, CheckpointKind::Best).path);

    // What was measured of the checkpoint's own step is its value, and nothing else.
    assert_eq!(store.checkpoints(&run).unwrap()[0].value, None);
    writer.log(&run, "validation/loss", 5, 1.0 / 9.0, 5, 5);
    writer.log(&run, "validation/loss", 9, 1.0 / 9.0, 9, 9);
    writer.flush().unwrap();
    let judged = &store.checkpoints(&run).unwrap()[0];
    assert_eq!((judged.value, judged.metric.as_deref()), (Some(1.0 / 9.0), Some("validation/loss")));
    writer.checkpoint(&run, NewCheckpoint { value: Some(0.5), ..checkpoint(9, CheckpointKind::Last) });
    writer.flush().unwrap();
    let judged = &store.checkpoints(&run).unwrap()[1];
    assert_eq!((judged.value, judged.metric.as_deref()), (None, None), "as earlier versions kept it");

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
fn a_run_of_before_numerics_were_stored_has_the_first_ones() {
    let folder = folder();
    let store = open(&folder);
    let run = running(&store, "run");
    assert_eq!(store.record(&run).unwrap().numerics, train::Numerics::CURRENT);
    Stranger::new(&database(&folder)).execute("UPDATE runs SET numerics = NULL");
    assert_eq!(store.record(&run).unwrap().numerics, train::Numerics::FIRST);
}
