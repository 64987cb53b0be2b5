//! Stores from elsewhere: ids and paths that lead out of them, links, rows that no program of ours writes.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

/// A store with a healthy run, a run to be tampered with that has a checkpoint, and a folder beside that nobody may touch.
struct Case {
    folder: TempDir,
    healthy: RunId,
    target: RunId,
}

impl Case {
    fn new() -> Self {
        let folder = folder();
        let store = Store::open(&folder.path().join("store/headroom.db"), OpenMode::ReadWrite).unwrap();
        let [healthy, target] = ["healthy", "target"].map(|name| {
            let run = running(&store, name);
            log(&store.writer().unwrap(), &run, 1..=5, 1.0);
            let path = store.paths().checkpoints(&run).join("step-00000005");
            checkpoint(&path);
            let new = NewCheckpoint { step: 5, path, kind: CheckpointKind::Last, metric: None, value: None, bytes: 10 };
            store.record_checkpoint(&run, new).unwrap();
            store.set_state(&run, RunState::Stopped, StateDetails::default()).unwrap();
            run
        });
        drop(store);
        let case = Self { folder, healthy, target };
        fs::create_dir(case.victim()).unwrap();
        fs::write(case.victim().join("thesis.tex"), "years of work").unwrap();
        checkpoint(&case.victim().join("step-00000005"));
        case
    }

    fn victim(&self) -> PathBuf {
        self.folder.path().join("victim")
    }

    fn database(&self) -> PathBuf {
        self.folder.path().join("store/headroom.db")
    }

    fn open(&self) -> Store {
        Store::open(&self.database(), OpenMode::ReadWrite).unwrap()
    }

    fn run_folder(&self) -> PathBuf {
        self.folder.path().join("store/runs").join(self.target.as_str())
    }

    /// Changes the database as its maker may have.
    fn tamper(&self, sql: &str) {
        let mut stranger = Stranger::new(&self.database());
        stranger.execute("PRAGMA ignore_check_constraints = ON");
        stranger.execute(String::leak(sql.replace("VICTIM", &self.victim().display().to_string())));
    }

    #[track_caller]
    fn check_victim(&self) {
        let victim = self.victim();
        assert_eq!(fs::read_to_string(victim.join("thesis.tex")).unwrap(), "years of work");
        assert_eq!(fs::read_dir(&victim).unwrap().count(), 2);
        assert_eq!(fs::read_dir(victim.join("step-00000005")).unwrap().count(), 2);
        let outside = fs::read_dir(self.folder.path()).unwrap().count();
        assert_eq!(outside, 2, "something was written beside the store");
    }

    #[track_caller]
    fn check_healthy(&self, store: &Store) {
        let runs = store.runs(RunFilter::default()).unwrap();
        let healthy = runs.iter().find(|run| run.id == self.healthy).expect("the healthy run is listed");
        assert_eq!(healthy.metrics[LOSS].count, 5);
        assert!(store.checkpoints(&self.healthy).unwrap()[0].path.join("headroom.json").exists());
        assert_eq!(store.run("healthy").unwrap().summary.id, self.healthy);
    }
}

fn checkpoint(path: &Path) {
    fs::create_dir_all(path).unwrap();
    fs::write(path.join("config.json"), "{}").unwrap();
    fs::write(path.join("headroom.json"), MARK).unwrap();
}

/// `id = '/home/me/victim'` of a deleted run removed that folder at the next start, `''` all of `runs/`, `'..'` the store.
#[test]
fn an_id_that_is_a_path_removes_nothing() {
    for id in ["'VICTIM'", "''", "'..'", "'.'", "'../../victim'", "'../victim'", "CAST(x'610062' AS TEXT)"] {
        let case = Case::new();
        case.tamper(&format!("UPDATE runs SET id = {id}, deleted_ms = 1 WHERE name = 'target'"));
        let store = case.open();
        assert!(case.run_folder().exists(), "opening removes nothing");
        let [listed] = &store.deleted(i64::MAX).unwrap()[..] else { panic!("one was deleted") };
        assert!(listed.refused.as_ref().unwrap().contains("is no id"), "{listed:?}");
        let report = store.purge_deleted(i64::MAX).unwrap();
        assert_eq!((report.purged.len(), report.refused.len()), (0, 1), "{id:?}");
        assert!(case.run_folder().join("checkpoints/step-00000005/headroom.json").exists());
        case.check_victim();
        case.check_healthy(&store);
        // Brought back, it is told of and hides no other.
        case.tamper("UPDATE runs SET deleted_ms = NULL");
        let list = store.run_list(RunFilter::default()).unwrap();
        assert_eq!((list.runs.len(), list.damaged.len()), (1, 1));
        assert_eq!((list.damaged[0].number, list.damaged[0].name.as_deref()), (2, Some("target")));
        assert!(list.damaged[0].why().contains("is no id"), "{:?}", list.damaged);
        for query in ["target", "#2", "2"] {
            let error = store.run(query).unwrap_err();
            assert!(matches!(error, StoreError::RunDamaged { number: 2, .. }), "{error}");
        }
    }
}

/// A path of a checkpoint that named another folder was pruned.
#[test]
fn a_checkpoint_elsewhere_is_neither_read_nor_removed() {
    for path in
        ["VICTIM/step-00000005", "VICTIM", "../victim/step-00000005", "runs", "", "runs/../../victim/step-00000005"]
    {
        let case = Case::new();
        case.tamper(&format!("UPDATE checkpoints SET path = '{path}' WHERE run = 2"));
        let store = case.open();
        let [record] = &store.checkpoints(&case.target).unwrap()[..] else { panic!("one checkpoint") };
        assert!(record.problem.as_ref().unwrap().contains("not in the run's own folder"), "{record:?}");
        let error = store.remove_checkpoint(&case.target, &record.path).unwrap_err();
        assert!(matches!(error, StoreError::LeftAlone { .. }), "{error}");
        store.sweep_checkpoints(&case.healthy);
        case.check_victim();
        case.check_healthy(&store);
    }
}

#[test]
fn what_lies_in_the_runs_own_folder_is_removed_by_absolute_paths_too() {
    let case = Case::new();
    let path = case.run_folder().join("checkpoints/step-00000005");
    case.tamper(&format!("UPDATE checkpoints SET path = '{}' WHERE run = 2", path.display()));
    let store = case.open();
    assert_eq!(store.checkpoints(&case.target).unwrap()[0].problem, None);
    let other = store.remove_checkpoint(&case.healthy, &path).unwrap_err();
    assert!(matches!(other, StoreError::LeftAlone { .. }), "another run's: {other}");
    store.remove_checkpoint(&case.target, &path).unwrap();
    assert!(!path.exists());
    store.remove_checkpoint(&case.target, &path).unwrap();
    case.check_healthy(&store);
}

#[test]
fn links_are_not_followed_out_of_the_store() {
    // In place of the run's folder, of its checkpoints, of one of them.
    for inner in ["", "checkpoints", "checkpoints/step-00000005"] {
        let case = Case::new();
        let place = case.run_folder().join(inner);
        fs::remove_dir_all(&place).unwrap();
        let place = PathBuf::from(place.to_str().unwrap().trim_end_matches('/'));
        let to = if inner.ends_with('5') { case.victim().join("step-00000005") } else { case.victim() };
        symlink(to, &place).unwrap();
        let store = case.open();
        let record = &store.checkpoints(&case.target).unwrap()[0];
        assert!(record.problem.as_ref().unwrap().contains("link"), "{inner:?}: {record:?}");
        store.remove_checkpoint(&case.target, &record.path).unwrap_err();
        if !inner.ends_with('5') {
            store.prepare_checkpoints(&case.target).unwrap_err();
        }
        store.delete(&case.target).unwrap();
        let report = store.purge_deleted(i64::MAX).unwrap();
        assert!(report.refused[0].refused.as_ref().unwrap().contains("link"), "{inner:?}: {report:?}");
        assert!(place.symlink_metadata().unwrap().is_symlink(), "not even the link is removed");
        case.check_victim();
        case.check_healthy(&store);
    }
}

#[test]
fn a_file_of_a_checkpoint_that_is_a_link_is_told() {
    let case = Case::new();
    symlink(case.victim().join("thesis.tex"), case.run_folder().join("checkpoints/step-00000005/model.safetensors"))
        .unwrap();
    let store = case.open();
    let record = &store.checkpoints(&case.target).unwrap()[0];
    assert!(record.problem.as_ref().unwrap().contains("model.safetensors"), "{record:?}");
    store.delete(&case.target).unwrap();
    assert_eq!(store.purge_deleted(i64::MAX).unwrap().purged.len(), 0);
    case.check_victim();
}

#[test]
fn a_folder_that_holds_more_than_ours_stays_whole() {
    let put: [(&str, &str, &str); 4] = [
        ("notes.txt", "mine", "notes.txt"),
        ("checkpoints/notes.txt", "mine", "notes.txt"),
        ("checkpoints/step-00000005/notes.txt", "mine", "notes.txt"),
        ("checkpoints/step-00000005/headroom.json", "not ours", "headroom.json"),
    ];
    for (file, text, word) in put {
        let case = Case::new();
        fs::write(case.run_folder().join(file), text).unwrap();
        let store = case.open();
        store.delete(&case.target).unwrap();
        let report = store.purge_deleted(i64::MAX).unwrap();
        assert!(report.refused[0].refused.as_ref().unwrap().contains(word), "{report:?}");
        assert!(case.run_folder().join("checkpoints/step-00000005/config.json").exists());
        assert!(matches!(store.purge(&case.target), Err(StoreError::LeftAlone { .. })));
        assert!(store.record(&case.target).is_ok(), "its record stays with its files");
        fs::remove_file(case.run_folder().join(file)).unwrap();
        fs::write(case.run_folder().join("checkpoints/step-00000005/headroom.json"), MARK).unwrap();
        assert_eq!(store.purge_deleted(i64::MAX).unwrap().purged.len(), 1);
        assert!(!case.run_folder().exists());
        case.check_healthy(&store);
    }
}

/// An owner of `x/../../victim` let a lock and a spill file outside of the store be removed.
#[test]
fn an_owner_that_is_a_path_touches_no_file() {
    let case = Case::new();
    fs::create_dir(case.folder.path().join("store/headroom.db.x")).unwrap();
    for ending in ["lock", "spill"] {
        fs::write(case.victim().join(format!("own.{ending}")), "years of work").unwrap();
    }
    for sql in [
        "UPDATE runs SET state = 'running', owner = 'x/../../victim/own' WHERE name = 'target'",
        "INSERT INTO instances (id, pid, host, started_ms) VALUES ('x/../../victim/own', 1, 'h', 0)",
        "INSERT INTO instances (id, pid, host, started_ms) VALUES (CAST(x'ff2f2e2e' AS TEXT), 1, 'h', 0)",
    ] {
        case.tamper(sql);
    }
    let store = case.open();
    for ending in ["lock", "spill"] {
        let path = case.victim().join(format!("own.{ending}"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "years of work");
        fs::remove_file(path).unwrap();
    }
    assert_eq!(store.record(&case.target).unwrap().summary.state, RunState::Interrupted, "nobody works on it");
    assert_eq!(Stranger::new(&case.database()).count("SELECT COUNT(*) FROM instances"), 1);
    case.check_victim();
    case.check_healthy(&store);
}

/// One row with bad UTF-8 or a negative number hid every run.
#[test]
fn a_row_that_cannot_be_read_hides_itself_alone() {
    let damages = [
        ("name = CAST(x'ff61' AS TEXT)", "`name` is no UTF-8 text"),
        ("note = CAST(x'c328' AS TEXT)", "`note` is no UTF-8 text"),
        ("id = CAST(x'ff' AS TEXT)", "`id` is no UTF-8 text"),
        ("steps_done = -1", "`steps_done` is negative (-1)"),
        ("threads = -3", "`threads` is negative (-3)"),
        ("threads = 5000000000", "`threads` is too large"),
        ("tokens = 9223372036854775807", "`tokens` is too large"),
        ("created_ms = -9223372036854775808", "`created_ms` is negative"),
        ("ended_ms = 9223372036854775807", "`ended_ms` is too large"),
        ("train_secs = 9e999", "`train_secs` is inf"),
        ("state = 'asleep'", "`state` is \"asleep\", which is no state"),
        ("parent_run = '../x', parent_step = 1", "is no id"),
    ];
    for (set, word) in damages {
        let case = Case::new();
        case.tamper(&format!("UPDATE runs SET {set} WHERE number = 2"));
        let store = case.open();
        case.check_healthy(&store);
        let list = store.run_list(RunFilter::ALL).unwrap();
        assert_eq!((list.runs.len(), list.damaged.len()), (1, 1), "{set}");
        assert!(list.damaged[0].why().contains(word), "{set}: {:?}", list.damaged);
        assert!(matches!(store.run("#2"), Err(StoreError::RunDamaged { .. })), "{set}");
    }
    for (set, word) in [
        ("UPDATE run_configs SET config_json = '{\"seed\":' WHERE run = 2", "`config_json` is no JSON"),
        ("UPDATE run_configs SET config_toml = CAST(x'ff' AS TEXT) WHERE run = 2", "`config_toml` is no UTF-8 text"),
        ("DELETE FROM run_configs WHERE run = 2", "`config_toml` is missing"),
    ] {
        let case = Case::new();
        case.tamper(set);
        let store = case.open();
        case.check_healthy(&store);
        let damaged = store.run_list(RunFilter::ALL).unwrap().damaged;
        assert!(damaged[0].why().contains(word), "{set}: {damaged:?}");
    }
}

#[test]
fn bad_rows_of_other_tables_hide_themselves_alone() {
    let case = Case::new();
    for sql in [
        "INSERT INTO tags (run, tag) VALUES (1, CAST(x'ff' AS TEXT)), (1, 'kept')",
        "INSERT INTO series (id, name, direction) VALUES (77, CAST(x'ff' AS TEXT), 'lower')",
        "INSERT INTO series_summary (run, series, count, last_attempt, last_step) VALUES (1, 77, 1, 1, 1)",
        "INSERT INTO series (id, name, direction) VALUES (78, 'odd', 'lower')",
        "INSERT INTO series_summary (run, series, count, last_attempt, last_step) VALUES (1, 78, 1, 1, -5)",
        "INSERT INTO points (run, series, attempt, step, value, wall_ms, tokens)
         SELECT 1, id, 1, 6, 1.0, -5, 1 FROM series WHERE name = 'train/loss'",
        "INSERT INTO attempts (run, attempt, first_step, started_ms) VALUES (2, -4, -9, -9)",
        "INSERT INTO checkpoints (run, kind, step, path, bytes, created_ms) VALUES (1, 'best', -1, 'x', 0, 0)",
        "INSERT INTO snapshots (run, attempt, step, kind, dtype, shape, created_ms, data)
         VALUES (1, 1, -1, 'map', 'f32', '1', 0, x''), (1, 1, 2, 'map', CAST(x'ff' AS TEXT), '1', 0, x'')",
        "INSERT INTO analyses (id, target, text, examples, tokens, created_ms, spec, facts, data)
         VALUES ('../x', 't', 't', 1, 1, 1, 'no json', '{}', x''), ('000000000a', 't', 't', 1, 1, 1, 'no json', '{}', x'')",
        "INSERT INTO advice (run, source, words, created_ms, prediction) VALUES (2, '../x', 'w', 1, '{}')",
        "INSERT INTO benchmarks (id, name, created_ms, program_version, machine_cpu, machine_cores, machine_os, device,
             threads, precision, points_total, spec, results)
         VALUES ('..', 'bad', 1, '1', 'c', 1, 'o', 'cpu', 1, 'f32', 1, '{}', '{}'),
                ('000000000b', 'good', 1, '1', 'c', 1, 'o', 'cpu', 1, 'f32', 1, '{}', '{}')",
    ] {
        case.tamper(sql);
    }
    let store = case.open();
    case.check_healthy(&store);
    let runs = store.runs(RunFilter::default()).unwrap();
    assert_eq!((runs.len(), runs[0].tags.contains(&"kept".to_owned())), (2, true));
    assert_eq!(store.series(&case.healthy, LOSS, None).unwrap().steps, [1, 2, 3, 4, 5]);
    assert_eq!(store.checkpoints(&case.healthy).unwrap().len(), 1);
    assert!(store.snapshots(&case.healthy, None).unwrap().is_empty());
    assert_eq!(store.analyses().unwrap().len(), 1);
    assert_eq!(store.advice().unwrap().len(), 0);
    assert_eq!(store.benchmarks().unwrap().iter().map(|found| found.name.as_str()).collect::<Vec<_>>(), ["good"]);
    let told: Vec<StoreWarning> = store.warnings().try_iter().collect();
    for table in ["tags", "series", "series_summary", "checkpoints", "snapshots", "analyses", "advice", "benchmarks"] {
        let wanted = StoreWarning::RowsHidden { table: table.to_owned() };
        assert_eq!(told.iter().filter(|warning| **warning == wanted).count(), 1, "{table}: {told:?}");
    }
    // A record that cannot be read may be the one that names a folder.
    let unnamed = store.paths().checkpoints(&case.healthy).join("step-00000009");
    checkpoint(&unnamed);
    store.sweep_checkpoints(&case.healthy);
    assert!(unnamed.exists());
}

#[test]
fn leftovers_of_a_kill_go_at_the_next_open() {
    let case = Case::new();
    let left = ["headroom.db.12-0000000001.lock", "headroom.db.opening"]
        .map(|name| case.folder.path().join("store").join(name));
    for path in &left {
        fs::write(path, "").unwrap();
    }
    drop(case.open());
    assert!(left.iter().all(|path| !path.exists()));
}

/// A pipe was waited for without end.
#[test]
fn what_is_no_file_is_refused_by_kind() {
    let folder = folder();
    let make_pipe = |name: &str| {
        let path = folder.path().join(name);
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    };
    let pipe = make_pipe("pipe.db");
    let socket = folder.path().join("socket.db");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for (path, kind) in [(pipe.as_path(), "a pipe"), (&socket, "a socket"), (Path::new("/dev/zero"), "a device")] {
        for mode in [OpenMode::ReadWrite, OpenMode::ReadOnly] {
            let error = Store::open(path, mode).unwrap_err();
            assert!(matches!(&error, StoreError::NotAFile { kind: found, .. } if *found == kind), "{error}");
        }
    }
    // Beside a database too.
    for ending in ["-wal", "-journal"] {
        let path = folder.path().join("a.db");
        drop(Store::open(&path, OpenMode::ReadWrite).unwrap());
        let pipe = make_pipe(&format!("a.db{ending}"));
        assert!(matches!(Store::open(&path, OpenMode::ReadWrite), Err(StoreError::NotAFile { kind: "a pipe", .. })));
        fs::remove_file(pipe).unwrap();
    }
    let path = folder.path().join("a.db");
    symlink(&socket, folder.path().join("a.db.opening")).unwrap();
    assert!(matches!(Store::open(&path, OpenMode::ReadWrite), Err(StoreError::NotWritable { .. })));
    // Spill and lock files that are none.
    fs::remove_file(folder.path().join("a.db.opening")).unwrap();
    make_pipe("a.db.12-0000000001.spill");
    make_pipe("a.db.12-0000000001.lock");
    Stranger::new(&path)
        .execute("INSERT INTO instances (id, pid, host, started_ms) VALUES ('12-0000000001', 12, 'h', 0)");
    drop(Store::open(&path, OpenMode::ReadWrite).unwrap());
}

#[test]
fn triggers_and_views_are_refused() {
    for sql in [
        "CREATE TRIGGER t AFTER UPDATE ON runs BEGIN UPDATE runs SET deleted_ms = 1; END",
        "CREATE VIEW v AS SELECT 1",
        "DROP TABLE tags",
    ] {
        let case = Case::new();
        case.tamper(sql);
        for mode in [OpenMode::ReadWrite, OpenMode::ReadOnly] {
            let error = Store::open(&case.database(), mode).unwrap_err();
            assert!(matches!(error, StoreError::Corrupt { .. }), "{sql}: {error}");
        }
    }
}
