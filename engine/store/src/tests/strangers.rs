//! Stores from elsewhere: ids and paths that lead out of them, links, rows that no program of ours writes.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::config::{RunConfig, to_toml};
use crate::connect::LARGEST_VALUE;

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
fn a_schema_that_no_migration_makes_is_refused() {
    for (sql, word) in [
        ("CREATE TRIGGER t AFTER UPDATE ON runs BEGIN UPDATE runs SET deleted_ms = 1; END", "the trigger `t`"),
        ("CREATE VIEW v AS SELECT 1", "the view `v`"),
        ("CREATE TABLE more (x)", "the table `more`"),
        ("CREATE INDEX i ON runs (note)", "the index `i`"),
        ("CREATE VIRTUAL TABLE words USING fts5(x)", "the table `words"),
        ("ALTER TABLE runs ADD COLUMN more TEXT DEFAULT 'x'", "the table `runs`"),
        ("CREATE TABLE '\x1b[2J' (x)", "the table `"),
        ("DROP INDEX runs_by_name", "the index `runs_by_name` is missing"),
        ("DROP TABLE tags", "the table `tags` is missing"),
        ("ALTER TABLE _sqlx_migrations ADD COLUMN more TEXT", "the table `_sqlx_migrations`"),
        ("ALTER TABLE _sqlx_migrations RENAME TO others", "the table `_sqlx_migrations` is missing"),
    ] {
        let case = Case::new();
        case.tamper(sql);
        for mode in [OpenMode::ReadWrite, OpenMode::ReadOnly] {
            let error = Store::open(&case.database(), mode).unwrap_err();
            assert!(matches!(error, StoreError::Corrupt { .. }) && error.to_string().contains(word), "{sql}: {error}");
            assert!(!error.to_string().contains('\x1b'), "{error}");
        }
    }
}

/// `ANALYZE` in another program adds a table of SQLite's own.
#[test]
fn a_store_of_which_sqlite_gathered_statistics_opens() {
    let case = Case::new();
    case.tamper("ANALYZE");
    for mode in [OpenMode::ReadWrite, OpenMode::ReadOnly] {
        case.check_healthy(&Store::open(&case.database(), mode).unwrap());
    }
}

/// A default of hundreds of megabytes was read by every command.
#[test]
fn a_schema_that_is_too_large_is_refused_before_it_is_read() {
    let column = |bytes: usize| format!("ALTER TABLE tags ADD COLUMN more TEXT DEFAULT '{}'", "x".repeat(bytes));
    let tables = |count: usize| {
        (0..count).fold(String::new(), |all, number| all + "CREATE TABLE t" + &number.to_string() + " (x);")
    };
    for (sql, word) in [
        // At the bound and beyond it: the statement of the table is longer than the default in it.
        (column(60 << 10), "the table `tags` is not as Headroom makes it"),
        (column(64 << 10), "its schema is larger than any that Headroom makes"),
        (column(100 << 20), "its schema is larger than any that Headroom makes"),
        (tables(5000), "its schema is larger than any that Headroom makes"),
    ] {
        let case = Case::new();
        case.tamper(&sql);
        for mode in [OpenMode::ReadWrite, OpenMode::ReadOnly] {
            let began = std::time::Instant::now();
            let error = Store::open(&case.database(), mode).unwrap_err();
            assert!(error.to_string().contains(word), "{} bytes: {error}", sql.len());
            assert!(began.elapsed() < std::time::Duration::from_secs(2), "{:?}", began.elapsed());
        }
    }
}

/// The end of a journal of a transaction over several databases, as SQLite writes it.
fn trailer(name: &str) -> Vec<u8> {
    let sum = name.bytes().fold(0_u32, |sum, byte| sum.wrapping_add(u32::from(byte)));
    let magic = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    [name.as_bytes(), &(name.len() as u32).to_be_bytes(), &sum.to_be_bytes(), &magic].concat()
}

/// Listing the runs of such a store deleted the file that the journal names.
#[test]
fn a_journal_that_names_a_file_deletes_none() {
    for is_absolute in [true, false] {
        let case = Case::new();
        let thesis = case.victim().join("thesis.tex");
        let name = if is_absolute { thesis.display().to_string() } else { "victim/thesis.tex".to_owned() };
        let journal = case.folder.path().join("store/headroom.db-journal");
        let bytes = [&[1; 512][..], &trailer(&name)].concat();
        fs::write(&journal, &bytes).unwrap();
        for mode in [OpenMode::ReadWrite, OpenMode::ReadOnly] {
            let error = Store::open(&case.database(), mode).unwrap_err();
            assert!(matches!(&error, StoreError::SuperJournal { name: found, .. } if *found == name), "{error}");
        }
        assert!(matches!(Store::open_to_read(&case.database()), Err(StoreError::SuperJournal { .. })));
        case.check_victim();
        assert_eq!(fs::read(&journal).unwrap(), bytes, "the journal is left as it was");
        fs::remove_file(&journal).unwrap();
        case.check_healthy(&case.open());
    }
}

/// It comes into being between two questions: every connection looks again.
#[test]
fn a_journal_is_looked_for_by_every_connection() {
    let case = Case::new();
    let reader = Store::open(&case.database(), OpenMode::ReadOnly).unwrap();
    let thesis = case.victim().join("thesis.tex").display().to_string();
    fs::write(case.folder.path().join("store/headroom.db-journal"), [&[1; 512][..], &trailer(&thesis)].concat())
        .unwrap();
    // The connection that opening left is not used again after an error.
    let lost = reader.read(async |_| Err::<(), _>(fault::Fault::Sqlite(sqlx::Error::RowNotFound)));
    lost.unwrap_err();
    let asked = reader.runs(RunFilter::ALL);
    assert!(matches!(asked, Err(StoreError::SuperJournal { .. })), "{asked:?}");
    case.check_victim();
}

/// A kill while a store is made leaves one.
#[test]
fn a_journal_that_names_no_file_is_played_back() {
    let case = Case::new();
    for bytes in [vec![0; 512], [&[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7][..], &[0; 504]].concat()] {
        fs::write(case.folder.path().join("store/headroom.db-journal"), bytes).unwrap();
        case.check_healthy(&case.open());
    }
}

#[test]
fn a_file_of_the_store_that_is_another_file_too_is_refused() {
    for ending in ["", "-journal", "-wal", "-shm"] {
        for is_hard in [false, true] {
            let case = Case::new();
            let place = case.folder.path().join(format!("store/headroom.db{ending}"));
            let to =
                if ending.is_empty() { case.folder.path().join("other.db") } else { case.victim().join("thesis.tex") };
            if ending.is_empty() {
                fs::rename(&place, &to).unwrap();
            }
            let made = if is_hard { fs::hard_link(&to, &place) } else { symlink(&to, &place) };
            made.unwrap();
            let before = fs::read(&to).unwrap();
            for mode in [OpenMode::ReadWrite, OpenMode::ReadOnly] {
                let opened = Store::open(&case.database(), mode);
                if ending.is_empty() && is_hard {
                    // A backup of hard links shares the database; it is named by the user.
                    opened.unwrap();
                    continue;
                }
                let error = opened.unwrap_err();
                assert!(matches!(&error, StoreError::Linked { .. }) && error.to_string().contains("link"), "{error}");
            }
            assert!(ending.is_empty() || fs::read(&to).unwrap() == before);
        }
    }
}

/// Configs and texts of hundreds of megabytes were read by every list of runs.
#[test]
fn texts_that_are_too_long_are_told_of_and_not_read() {
    for (sql, word) in [
        ("UPDATE runs SET note = zeroblob(1048000) WHERE number = 2", ""),
        ("UPDATE runs SET note = CAST(zeroblob(1048577) AS TEXT) WHERE number = 2", "its texts take 104"),
        ("UPDATE runs SET name = hex(zeroblob(1000000)) WHERE number = 2", "its texts take 200"),
        ("UPDATE run_configs SET config_toml = hex(zeroblob(8388608)) WHERE run = 2", ""),
        (
            "UPDATE run_configs SET config_toml = hex(zeroblob(8388609)) WHERE run = 2",
            "its config takes 16777218 bytes",
        ),
        (
            "UPDATE run_configs SET config_json = hex(zeroblob(9000000)) WHERE run = 2",
            "its config takes 18000000 bytes",
        ),
        ("UPDATE runs SET health = '{}' WHERE number = 2", "`health` cannot be read"),
    ] {
        let case = Case::new();
        case.tamper(&sql.replace("note = zeroblob(1048000)", "note = hex(zeroblob(524000))"));
        let store = case.open();
        case.check_healthy(&store);
        let list = store.run_list(RunFilter::ALL).unwrap();
        assert_eq!((list.runs.len(), list.damaged.len()), if word.is_empty() { (2, 0) } else { (1, 1) }, "{sql}");
        for damaged in list.damaged {
            assert!(damaged.number == 2 && damaged.why().contains(word), "{sql}: {}", damaged.why());
            let error = store.run("#2").unwrap_err();
            assert!(matches!(&error, StoreError::RunDamaged { why, .. } if why.contains(word)), "{sql}: {error}");
        }
    }
}

/// A value beyond the bound is refused by SQLite before it is read.
#[test]
fn a_value_beyond_the_bound_is_not_read() {
    let case = Case::new();
    let bytes = LARGEST_VALUE + 1;
    case.tamper(&format!(
        "INSERT INTO snapshots (id, run, attempt, step, kind, dtype, shape, created_ms, data)
         VALUES (7, 2, 1, 5, 'map', 'f32', '1', 0, zeroblob({bytes}))",
    ));
    let store = case.open();
    case.check_healthy(&store);
    let error = store.snapshot(7).unwrap_err();
    assert!(error.to_string().contains("too big"), "{error}");
    assert_eq!(
        store.snapshots(&case.target, None).unwrap()[0].bytes,
        u64::from(bytes.unsigned_abs()),
        "its size is known all the same"
    );
}

/// A config whose numbers no file may have was believed, and what it asked for ended the program.
#[test]
fn a_stored_config_is_validated() {
    let folder = folder();
    let store = open(&folder);
    let config = RunConfig::default();
    let new =
        NewRun { config_toml: to_toml(&config), config: serde_json::to_value(&config).unwrap(), ..new_run("sound") };
    let mut record = store.create_run(new).unwrap();
    assert_eq!((record.run_config().unwrap(), record.json_config().unwrap()), (config.clone(), config.clone()));
    let mut huge = config;
    huge.model.layers = 4_000_000_000;
    record.config_toml = to_toml(&huge);
    record.config = serde_json::to_value(&huge).unwrap();
    for refused in [record.run_config(), record.json_config()] {
        let problems = refused.unwrap_err().problems();
        assert!(problems.iter().any(|problem| problem.field == "model.layers"), "{problems:?}");
    }
}
