//! Locks, full disks, dead programs, files that are no store.

use std::time::{Duration, Instant};

use super::*;

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
    let spill = instance::spill_path(store.paths(), &store.instance().unwrap().parse().unwrap());
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

/// Lets the database have so many pages more; of the connection that writes now.
fn allow_pages(store: &Store, sql: &'static str) {
    let allowed = store.outside_transaction(async move |connection| {
        sqlx::query(sql).fetch_all(connection).await?;
        Ok(())
    });
    allowed.unwrap();
}

#[test]
fn a_change_that_a_full_disk_aborts_leaves_a_store_that_can_be_written() {
    let folder = folder();
    let store = open(&folder);
    let (run, writer) = (running(&store, "aborted"), store.writer().unwrap());
    for round in 0..3 {
        // SQLite ends the transaction of a statement that finds no room by itself.
        allow_pages(&store, "PRAGMA max_page_count = 1");
        let error = store.set_note(&run, &"x".repeat(1 << 20)).unwrap_err();
        assert!(matches!(error, StoreError::Full { .. }), "{error}");
        allow_pages(&store, "PRAGMA max_page_count = 1000000");
        log(&writer, &run, [round + 1], 1.0);
        assert_eq!(writer.settle(Duration::from_secs(5)), Settled::Stored);
        store.set_note(&run, "short").unwrap();
        assert!(store.mark_interrupted().unwrap().is_empty());
    }
    assert_eq!(store.series(&run, LOSS, None).unwrap().steps, [1, 2, 3]);
    store.verify().unwrap();
}

#[test]
fn single_points_that_find_no_room_are_written_once_there_is_some() {
    let folder = folder();
    let store = open(&folder);
    let (run, writer) = (running(&store, "points"), store.writer().unwrap());
    let warnings = store.warnings();
    allow_pages(&store, "PRAGMA max_page_count = 1");
    let mut step = 0;
    // A few at a time, each a statement of its own, until one needs a page more.
    let told = loop {
        log(&writer, &run, step + 1..=step + 10, 1.0);
        step += 10;
        writer.flush().unwrap();
        if let Ok(told) = warnings.try_recv() {
            break told;
        }
        assert!(step < 100_000, "the database grew without a page");
    };
    assert!(matches!(&told, StoreWarning::Spilling { reason, .. } if reason.contains("full")), "{told:?}");
    log(&writer, &run, step + 1..=step + 10, 1.0);
    let free = Instant::now();
    wait_for(&warnings, |warning| matches!(warning, StoreWarning::Recovered { .. }));
    assert!(free.elapsed() < Duration::from_secs(5));
    assert_eq!(store.series(&run, LOSS, None).unwrap().steps, (1..=step + 10).collect::<Vec<_>>());
}

#[test]
fn it_is_known_where_everything_is() {
    let folder = folder();
    let store = open(&folder);
    let (run, writer) = (running(&store, "settled"), store.writer().unwrap());
    log(&writer, &run, 1..=3, 1.0);
    assert_eq!(writer.settle(Duration::ZERO), Settled::Stored);
    let mut stranger = Stranger::new(&database(&folder));
    stranger.execute("BEGIN EXCLUSIVE");
    log(&writer, &run, 4..=5, 1.0);
    let spill = instance::spill_path(store.paths(), &store.instance().unwrap().parse().unwrap());
    assert_eq!(writer.settle(Duration::from_millis(300)), Settled::Beside { path: spill });
    stranger.execute("COMMIT");
    assert_eq!(writer.settle(Duration::from_secs(5)), Settled::Stored);
    assert_eq!(store.series(&run, LOSS, None).unwrap().len(), 5);
}

#[test]
fn what_fits_nowhere_in_the_store_is_in_a_file_apart() {
    let folder = folder();
    let mut stranger;
    let (run, apart, spill) = {
        let store = open(&folder);
        let (run, writer) = (running(&store, "apart"), store.writer().unwrap());
        stranger = Stranger::new(&database(&folder));
        let spill = instance::spill_path(store.paths(), &store.instance().unwrap().parse().unwrap());
        std::fs::create_dir(&spill).unwrap();
        stranger.execute("BEGIN EXCLUSIVE");
        log(&writer, &run, 1..=5, 1.0);
        let Settled::Apart { path } = writer.settle(Duration::from_millis(300)) else { panic!("it is apart") };
        assert!(path.is_file());
        // Written after all: the file goes.
        stranger.execute("COMMIT");
        assert_eq!(writer.settle(Duration::from_secs(5)), Settled::Stored);
        assert!(!path.exists());
        // And now the program ends before the store can be written.
        stranger.execute("BEGIN EXCLUSIVE");
        log(&writer, &run, 6..=9, 1.0);
        writer.set_state(&run, RunState::Finished, StateDetails::default());
        let Settled::Apart { path } = writer.settle(Duration::from_millis(300)) else { panic!("it is apart") };
        log(&writer, &run, [10], 1.0);
        (run, path, spill)
    };
    std::fs::remove_dir(&spill).unwrap();
    stranger.execute("COMMIT");
    assert_eq!(open(&folder).record(&run).unwrap().summary.state, RunState::Interrupted);
    std::fs::rename(&apart, folder.path().join(apart.file_name().unwrap())).unwrap();
    let store = open(&folder);
    assert_eq!(store.series(&run, LOSS, None).unwrap().steps, (1..=10).collect::<Vec<_>>());
    assert_eq!(store.record(&run).unwrap().summary.state, RunState::Finished, "that its program was gone says less");
}

/// Removes or replaces files of a store that is open.
#[cfg(unix)]
fn remove(path: &Path, what: &str) {
    let beside = |ending: &str| PathBuf::from(format!("{}{ending}", path.display()));
    match what {
        "database" => std::fs::remove_file(path).unwrap(),
        "all" => ["", "-wal", "-shm"].into_iter().for_each(|ending| std::fs::remove_file(beside(ending)).unwrap()),
        "log" => std::fs::remove_file(beside("-wal")).unwrap(),
        "index" => std::fs::remove_file(beside("-shm")).unwrap(),
        "moved" => std::fs::rename(path, beside(".moved")).unwrap(),
        // Another store in its place.
        "replaced" => {
            let other = tempfile::tempdir().unwrap();
            drop(Store::open(&other.path().join("b.db"), OpenMode::ReadWrite).unwrap());
            std::fs::copy(other.path().join("b.db"), beside(".new")).unwrap();
            for ending in ["-wal", "-shm"] {
                std::fs::remove_file(beside(ending)).unwrap();
            }
            std::fs::rename(beside(".new"), path).unwrap();
        }
        "folder" => std::fs::remove_dir_all(path.parent().unwrap()).unwrap(),
        other => panic!("{other}"),
    }
}

/// Everything went into a file without a name, without a word.
#[cfg(unix)]
#[test]
fn a_database_that_is_removed_under_an_open_store_costs_no_point() {
    for what in ["database", "all", "log", "index", "moved", "replaced", "folder"] {
        let outside = folder();
        let path = outside.path().join("store/headroom.db");
        let (run, copy, spill) = {
            let store = Store::open(&path, OpenMode::ReadWrite).unwrap();
            let (run, writer) = (running(&store, "bereft"), store.writer().unwrap());
            log(&writer, &run, 1..=30, 1.0);
            writer.flush().unwrap();
            // The log holds the last of it alone, as that of a longer run does.
            allow_pages(&store, "PRAGMA wal_checkpoint(TRUNCATE)");
            log(&writer, &run, 31..=50, 1.0);
            writer.flush().unwrap();
            remove(&path, what);
            log(&writer, &run, 51..=100, 1.0);
            writer.set_state(&run, RunState::Finished, StateDetails::default());
            let Settled::Removed { copy, spill } = writer.settle(Duration::from_secs(5)) else { panic!("{what}") };
            let told: Vec<StoreWarning> = store.warnings().try_iter().collect();
            let is_told = |warning: &StoreWarning| matches!(warning, StoreWarning::Removed { .. });
            assert_eq!(told.iter().filter(|warning| is_told(warning)).count(), 1, "{what}: {told:?}");
            assert!(matches!(store.rename(&run, "x"), Err(StoreError::Removed { .. })), "{what}");
            (run, copy, spill.unwrap())
        };
        if what == "replaced" {
            // The other store lacks the run: what is for it stays.
            let other = Store::open(&path, OpenMode::ReadWrite).unwrap();
            assert!(other.runs(RunFilter::ALL).unwrap().is_empty());
            assert!(
                other.warnings().try_iter().any(|warning| warning == StoreWarning::Unclaimed { path: spill.clone() })
            );
        }
        assert_eq!(copy.is_some(), !["log", "index"].contains(&what), "{what}");
        if let Some(copy) = &copy {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::copy(copy, &path).unwrap();
            std::fs::remove_file(copy).unwrap();
        }
        if spill.parent() != path.parent() {
            std::fs::copy(&spill, path.with_file_name(spill.file_name().unwrap())).unwrap();
            std::fs::remove_file(&spill).unwrap();
        }
        let store = Store::open(&path, OpenMode::ReadWrite).unwrap();
        assert_eq!(store.series(&run, LOSS, None).unwrap().steps, (1..=100).collect::<Vec<_>>(), "{what}");
        assert_eq!(store.record(&run).unwrap().summary.state, RunState::Finished, "{what}");
        store.verify().unwrap();
    }
}

/// Written after the removal and before it was found: the copy has it.
#[cfg(unix)]
#[test]
fn a_database_that_is_removed_at_the_end_is_copied() {
    let folder = folder();
    let store = open(&folder);
    let (run, writer) = (running(&store, "late"), store.writer().unwrap());
    log(&writer, &run, 1..=10, 1.0);
    writer.flush().unwrap();
    remove(&database(&folder), "all");
    let settled = writer.settle(Duration::from_secs(5));
    let Settled::Removed { copy: Some(copy), spill: None } = settled else { panic!("{settled:?}") };
    let copied = folder.path().join("copied.db");
    std::fs::rename(copy, &copied).unwrap();
    let copied = Store::open(&copied, OpenMode::ReadOnly).unwrap();
    assert_eq!(copied.series(&run, LOSS, None).unwrap().len(), 10);
    drop(store);
    assert!(!database(&folder).exists(), "nothing is made in the place of what was removed");
}

#[cfg(unix)]
#[test]
fn a_database_that_comes_back_is_written_again() {
    let folder = folder();
    let store = open(&folder);
    let (run, writer) = (running(&store, "back"), store.writer().unwrap());
    let away = folder.path().join("away");
    std::fs::rename(database(&folder), &away).unwrap();
    log(&writer, &run, 1..=10, 1.0);
    wait_for(&store.warnings(), |warning| matches!(warning, StoreWarning::Removed { .. }));
    std::fs::rename(&away, database(&folder)).unwrap();
    wait_for(&store.warnings(), |warning| matches!(warning, StoreWarning::Recovered { .. }));
    assert_eq!(writer.settle(Duration::from_secs(5)), Settled::Stored);
    assert_eq!(store.series(&run, LOSS, None).unwrap().len(), 10);
}

/// Entries that were put aside went with the file.
#[cfg(unix)]
#[test]
fn a_spill_file_that_is_removed_is_put_back() {
    let folder = folder();
    let store = open(&folder);
    let (run, writer) = (running(&store, "twice"), store.writer().unwrap());
    let mut stranger = Stranger::new(&database(&folder));
    stranger.execute("BEGIN EXCLUSIVE");
    log(&writer, &run, 1..=10, 1.0);
    let Settled::Beside { path } = writer.settle(Duration::from_millis(300)) else { panic!("beside") };
    std::fs::remove_file(&path).unwrap();
    log(&writer, &run, 11..=20, 1.0);
    let Settled::Beside { path } = writer.settle(Duration::from_millis(300)) else { panic!("beside") };
    assert!(path.exists());
    stranger.execute("COMMIT");
    assert_eq!(writer.settle(Duration::from_secs(5)), Settled::Stored);
    assert_eq!(store.series(&run, LOSS, None).unwrap().len(), 20);
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
    stranger
        .execute("INSERT INTO instances (id, pid, host, started_ms) VALUES ('4000000-000000dead', 4000000, 'here', 0)");
    stranger.execute(
        "UPDATE runs SET owner = '4000000-000000dead' WHERE name IN ('queued', 'paused') AND owner IS NOT NULL",
    );
    std::fs::write(store.paths().beside("4000000-000000dead.lock"), "").unwrap();
    let state = |store: &Store, run| store.record(run).unwrap().summary.state;
    {
        let reader = Store::open(&database(&folder), OpenMode::ReadOnly).unwrap();
        assert_eq!(state(&reader, &paused), RunState::Interrupted, "said before it is written down");
        let listed = reader.runs(RunFilter::default()).unwrap();
        assert_eq!(listed.iter().filter(|run| run.state == RunState::Interrupted).count(), 2);
        assert_eq!(stranger.count("SELECT COUNT(*) FROM runs WHERE state = 'interrupted'"), 0);
    }
    {
        let second = open(&folder);
        assert_eq!(state(&second, &queued), RunState::Interrupted);
        assert_eq!(state(&second, &paused), RunState::Interrupted);
        assert_eq!(state(&second, &finished), RunState::Finished);
        assert_eq!(state(&second, &live), RunState::Running);
        assert!(matches!(second.begin_attempt(&live, 1), Err(StoreError::RunIsActive { .. })), "one program a run");
        assert!(second.record(&paused).unwrap().attempts[0].ended_ms.is_some());
    }
    assert!(!store.paths().beside("4000000-000000dead.lock").exists());
    assert_eq!(stranger.count("SELECT COUNT(*) FROM instances"), 1, "only the one that is open");
    assert!(store.mark_interrupted().unwrap().is_empty());
    // Resumed here, it belongs to this program.
    assert_eq!(store.begin_attempt(&paused, 1).unwrap(), 2);
    stranger.execute("UPDATE runs SET owner = '4000001-000000dead' WHERE name = 'paused'");
    assert_eq!(store.mark_interrupted().unwrap(), [paused]);
}

#[test]
fn closing_leaves_no_run_active_and_no_file_behind() {
    let folder = folder();
    let run = running(&open(&folder), "left");
    let mut files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().flatten().map(|file| file.file_name()).collect();
    files.sort();
    assert_eq!(files, ["headroom.db"]);
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
    for mode in [OpenMode::ReadWrite, OpenMode::ReadOnly] {
        let error = Store::open(folder.path(), mode).unwrap_err();
        assert!(matches!(error, StoreError::NotAFile { kind: "a folder", .. }), "{error}");
    }
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

/// The child of the next test: logs until it is killed.
#[test]
#[ignore = "run by a_killed_program_loses_at_most_the_last_second"]
fn log_until_killed() {
    let Some(path) = std::env::var_os("HEADROOM_TEST_STORE") else { return };
    let store = Store::open(Path::new(&path), OpenMode::ReadWrite).unwrap();
    let (run, writer) = (running(&store, "killed"), store.writer().unwrap());
    for step in 1.. {
        log(&writer, &run, [step], 1.0);
        // How far it came, for the parent.
        println!("{step}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_killed_program_loses_at_most_the_last_second() {
    use std::io::{BufRead, BufReader};
    let folder = folder();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "tests::faults::log_until_killed"])
        .env("HEADROOM_TEST_STORE", database(&folder))
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let began = lines.find(|line| line.trim() == "1" || line.ends_with(" 1")).is_some();
    assert!(began);
    let (mut last, start, mut safe) = (1, Instant::now(), 1);
    while start.elapsed() < Duration::from_millis(2500) {
        last = lines.next().unwrap().parse().unwrap();
        if start.elapsed() < Duration::from_millis(1500) {
            safe = last;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let store = open(&folder);
    let record = store.run("killed").unwrap();
    assert_eq!(record.summary.state, RunState::Interrupted);
    let data = store.series(&record.summary.id, LOSS, None).unwrap();
    assert_eq!(data.steps, (1..=data.len() as u64).collect::<Vec<_>>(), "no hole");
    assert!(data.len() as u64 >= safe, "{} of {last} kept, {safe} were a second old", data.len());
    store.verify().unwrap();
}

fn outcomes(step: u64) -> ExampleOutcomes {
    let loss = vec![step as f32, f32::INFINITY, 0.5];
    ExampleOutcomes { step, evaluated_hash: "abc".to_owned(), loss, labels: vec![7, 300, 1], correct: None }
}

fn kept_outcomes(store: &Store, run: &RunId) -> [Option<ExampleOutcomes>; 2] {
    OutcomeKind::ALL.map(|kind| store.example_outcomes(run, kind).unwrap())
}

#[test]
fn outcomes_of_examples_are_spilled_and_come_late_only_where_nothing_is_newer() {
    let folder = folder();
    let mut stranger;
    let run = {
        let store = open(&folder);
        let (run, writer) = (running(&store, "spilled"), store.writer().unwrap());
        stranger = Stranger::new(&database(&folder));
        stranger.execute("BEGIN EXCLUSIVE");
        for (step, is_best) in [(10, true), (20, false), (30, false)] {
            writer.example_outcomes(&run, outcomes(step), is_best);
            writer.flush().unwrap();
        }
        run
    };
    let files = std::fs::read_dir(folder.path()).unwrap().flatten().map(|file| file.path());
    let spill = files.into_iter().find(|path| path.extension().is_some_and(|end| end == "spill")).unwrap();
    let copy = std::fs::read(&spill).unwrap();
    stranger.execute("COMMIT");
    {
        let store = open(&folder);
        assert_eq!(kept_outcomes(&store, &run), [Some(outcomes(10)), Some(outcomes(30))]);
        store.begin_attempt(&run, 31).unwrap();
        let writer = store.writer().unwrap();
        writer.example_outcomes(&run, outcomes(40), false);
        writer.flush().unwrap();
    }
    // A crash between merging and removing the file: the same entries come again, behind newer ones.
    std::fs::write(&spill, copy).unwrap();
    let store = open(&folder);
    assert!(!spill.exists());
    assert_eq!(kept_outcomes(&store, &run), [Some(outcomes(10)), Some(outcomes(40))]);
}

#[test]
fn of_outcomes_that_cannot_be_written_only_the_newest_are_held() {
    let folder = folder();
    let store = open(&folder);
    let (run, writer) = (running(&store, "held"), store.writer().unwrap());
    std::fs::create_dir(instance::spill_path(store.paths(), &store.instance().unwrap().parse().unwrap())).unwrap();
    let mut stranger = Stranger::new(&database(&folder));
    stranger.execute("BEGIN EXCLUSIVE");
    writer.example_outcomes(&run, outcomes(1), false);
    wait_for(&store.warnings(), |warning| matches!(warning, StoreWarning::Holding { .. }));
    for (step, is_best) in [(2, true), (3, false), (4, true), (5, false), (6, false)] {
        writer.example_outcomes(&run, outcomes(step), is_best);
    }
    stranger.execute("COMMIT");
    // Of six evaluations the best and the last.
    let recovered = StoreWarning::Recovered { records: 2 };
    wait_for(&store.warnings(), |warning| *warning == recovered);
    assert_eq!(kept_outcomes(&store, &run), [Some(outcomes(4)), Some(outcomes(6))]);
}
