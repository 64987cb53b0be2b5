use sqlx::sqlite::SqliteConnection;

use super::apply::{Keys, Source, apply, run_number};
use super::clock::now_ms;
use super::entry::{Entry, OtherEntry};
use super::fault::Fault;
use super::writer::Attempt;
use super::{
    Machine, NewRun, RunFacts, RunId, RunRecord, RunState, StateDetails, Store, StoreError, StorePaths,
    instance as presence,
};
use super::{restart, summary, windows};
use crate::train::Numerics;

impl Store {
    /// Puts a run in the store, queued.
    pub fn create_run(&self, run: NewRun) -> Result<RunRecord, StoreError> {
        let instance = self.instance()?.to_owned();
        let machine = Machine::current();
        let id = self.change(async move |connection| Ok(insert(connection, &run, &machine, &instance).await?))?;
        self.record(&id)
    }

    /// Changes a run's state, and waits until it is written. On the training thread use
    /// [`super::StoreWriter::set_state`], which never fails.
    pub fn set_state(&self, run: &RunId, state: RunState, details: StateDetails) -> Result<(), StoreError> {
        self.record(run)?;
        self.write(OtherEntry::State { run: run.clone(), state, details, at_ms: now_ms() })
    }

    /// Adds what is known only once the run starts.
    pub fn set_facts(&self, run: &RunId, facts: RunFacts) -> Result<(), StoreError> {
        self.record(run)?;
        self.write(OtherEntry::Facts { run: run.clone(), facts })
    }

    /// Starts an attempt (the first start, or a resume) at `first_step`: the run is running, and this program answers
    /// for it. Returns the attempt's number, from 1; what is logged from now on belongs to it.
    ///
    /// Points of earlier attempts at or after `first_step` are hidden from now on, and so are points that a resumed
    /// attempt logs before it; but what it logs at the step before `first_step` (an evaluation that a stop cut short)
    /// belongs to the attempt that did that step. A run that another living program works on is refused.
    pub fn begin_attempt(&self, run: &RunId, first_step: u64) -> Result<u32, StoreError> {
        let instance = self.instance()?.to_owned();
        let id = run.clone();
        let paths = self.paths().clone();
        let attempt =
            self.change(async move |connection| begin(connection, &id, first_step, &instance, &paths).await)?;
        self.writer()?.set_attempt(run, attempt);
        Ok(attempt.number)
    }

    /// Renames a run.
    pub fn rename(&self, run: &RunId, name: &str) -> Result<(), StoreError> {
        self.set(run, "UPDATE runs SET name = ?2 WHERE number = ?1", name.to_owned())
    }

    /// Changes a run's note.
    pub fn set_note(&self, run: &RunId, note: &str) -> Result<(), StoreError> {
        self.set(run, "UPDATE runs SET note = ?2 WHERE number = ?1", note.to_owned())
    }

    /// Adds a label; one that is there already stays.
    pub fn add_tag(&self, run: &RunId, tag: &str) -> Result<(), StoreError> {
        self.set(run, "INSERT INTO tags (run, tag) VALUES (?1, ?2) ON CONFLICT DO NOTHING", tag.trim().to_owned())
    }

    /// Takes a label away.
    pub fn remove_tag(&self, run: &RunId, tag: &str) -> Result<(), StoreError> {
        self.set(run, "DELETE FROM tags WHERE run = ?1 AND tag = ?2", tag.trim().to_owned())
    }

    /// Puts a run away, or brings it back.
    pub fn set_archived(&self, run: &RunId, archived: bool) -> Result<(), StoreError> {
        self.set(run, "UPDATE runs SET archived = ?2 WHERE number = ?1", archived)
    }

    /// Deletes a run so that it can be brought back. A run that is being worked on is refused.
    pub fn delete(&self, run: &RunId) -> Result<(), StoreError> {
        let id = run.clone();
        self.change(async move |connection| {
            let number = number_at_rest(connection, &id).await?;
            sqlx::query("UPDATE runs SET deleted_ms = ? WHERE number = ?")
                .bind(now_ms())
                .bind(number)
                .execute(connection)
                .await?;
            Ok(())
        })
    }

    /// Brings a deleted run back.
    pub fn undelete(&self, run: &RunId) -> Result<(), StoreError> {
        self.set(run, "UPDATE runs SET deleted_ms = NULL WHERE number = ?1 AND ?2", true)
    }

    /// Writes an entry and waits for it.
    pub(crate) fn write(&self, entry: OtherEntry) -> Result<(), StoreError> {
        let (paths, instance) = (self.paths().clone(), self.instance()?.to_owned());
        let entry = Entry::from(entry);
        self.change(async move |connection| {
            let source = Source { paths: &paths, instance: &instance, is_late: false };
            Ok(apply(connection, &[entry], &mut Keys::default(), source).await?)
        })
    }

    /// Runs a statement with a run's number and one value.
    fn set<V>(&self, run: &RunId, sql: &'static str, value: V) -> Result<(), StoreError>
    where
        V: for<'q> sqlx::Encode<'q, sqlx::Sqlite> + sqlx::Type<sqlx::Sqlite> + Send + 'static,
    {
        let id = run.clone();
        self.change(async move |connection| {
            let number = known_number(connection, &id).await?;
            sqlx::query(sql).bind(number).bind(value).execute(connection).await?;
            Ok(())
        })
    }
}

/// The number of a run that must be there.
pub(crate) async fn known_number(connection: &mut SqliteConnection, run: &RunId) -> Result<i64, Fault> {
    let missing = || StoreError::NoSuchRun { query: run.to_string(), nearest: Vec::new() };
    run_number(connection, run).await?.ok_or_else(|| missing().into())
}

/// The number of a run that nobody works on.
async fn number_at_rest(connection: &mut SqliteConnection, run: &RunId) -> Result<i64, Fault> {
    let number = known_number(connection, run).await?;
    let state: String =
        sqlx::query_scalar("SELECT state FROM runs WHERE number = ?").bind(number).fetch_one(connection).await?;
    match RunState::parse(&state) {
        Some(state) if state.is_active() => Err(StoreError::RunIsActive { run: run.clone(), state }.into()),
        _ => Ok(number),
    }
}

async fn insert(
    connection: &mut SqliteConnection,
    run: &NewRun,
    machine: &Machine,
    instance: &str,
) -> sqlx::Result<RunId> {
    let now = now_ms();
    // Two programs may hit on one id in the same millisecond, once in a thousand times.
    let mut id = RunId::new();
    while run_number(connection, &id).await?.is_some() {
        id = RunId::new();
    }
    let number = sqlx::query(
        "INSERT INTO runs (id, name, state, state_ms, owner, seed, device, threads, program_version, git_commit,
             git_dirty, data_hash, machine_cpu, machine_cores, machine_os, parameters, created_ms, steps_total,
             parent_run, parent_step, note, numerics)
         VALUES (?, ?, 'queued', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(id.as_str())
    .bind(run.name.as_str())
    .bind(now)
    .bind(instance)
    .bind(run.seed as i64)
    .bind(run.device.as_str())
    .bind(run.threads)
    .bind(env!("CARGO_PKG_VERSION"))
    .bind(crate::GIT_COMMIT)
    .bind(crate::GIT_DIRTY)
    .bind(run.data_hash.as_deref())
    .bind(machine.cpu.as_str())
    .bind(machine.cores)
    .bind(machine.os.as_str())
    .bind(run.parameters.map(|count| count as i64))
    .bind(now)
    .bind(run.steps_total.map(|steps| steps as i64))
    .bind(run.parent.as_ref().map(|parent| parent.run.as_str()))
    .bind(run.parent.as_ref().map(|parent| parent.step as i64))
    .bind(run.note.as_str())
    .bind(Numerics::CURRENT.0)
    .execute(&mut *connection)
    .await?
    .last_insert_rowid();
    sqlx::query("INSERT INTO run_configs (run, config_toml, config_json) VALUES (?, ?, ?)")
        .bind(number)
        .bind(run.config_toml.as_str())
        .bind(run.config.to_string())
        .execute(&mut *connection)
        .await?;
    for tag in &run.tags {
        sqlx::query("INSERT INTO tags (run, tag) VALUES (?, ?) ON CONFLICT DO NOTHING")
            .bind(number)
            .bind(tag.trim())
            .execute(&mut *connection)
            .await?;
    }
    Ok(id)
}

async fn begin(
    connection: &mut SqliteConnection,
    run: &RunId,
    first_step: u64,
    instance: &str,
    paths: &StorePaths,
) -> Result<Attempt, Fault> {
    let number = known_number(connection, run).await?;
    let (state, owner): (String, Option<String>) = sqlx::query_as("SELECT state, owner FROM runs WHERE number = ?")
        .bind(number)
        .fetch_one(&mut *connection)
        .await?;
    // An owner that is no program's name is no living program.
    if let (Some(state), Some(owner)) = (RunState::parse(&state), owner)
        && state.is_active()
        && owner != instance
        && owner.parse().is_ok_and(|owner| presence::is_alive(paths, &owner))
    {
        return Err(StoreError::RunIsActive { run: run.clone(), state }.into());
    }
    let now = now_ms();
    sqlx::query("UPDATE attempts SET ended_ms = ? WHERE run = ? AND ended_ms IS NULL")
        .bind(now)
        .bind(number)
        .execute(&mut *connection)
        .await?;
    let attempt: u32 = sqlx::query_scalar(
        "INSERT INTO attempts (run, attempt, first_step, started_ms)
         SELECT ?1, COALESCE(MAX(attempt), 0) + 1, ?2, ?3 FROM attempts WHERE run = ?1 RETURNING attempt",
    )
    .bind(number)
    .bind(first_step as i64)
    .bind(now)
    .fetch_one(&mut *connection)
    .await?;
    // What ended the attempt before does not describe this one.
    sqlx::query(
        "UPDATE runs SET state = 'running', state_ms = ?1, owner = ?2, started_ms = COALESCE(started_ms, ?1),
             ended_ms = NULL, failure_why = NULL, failure_what_to_do = NULL, diverged_step = NULL, diverged_at = NULL,
             health = NULL
         WHERE number = ?3",
    )
    .bind(now)
    .bind(instance)
    .bind(number)
    .execute(&mut *connection)
    .await?;
    if attempt > 1 {
        summary::recompute_run(connection, number).await?;
        restart::rewind_progress(connection, number, (first_step as i64).saturating_sub(1)).await?;
    }
    let before = windows::of_step(connection, number, (first_step as i64).saturating_sub(1)).await?;
    Ok(Attempt { number: attempt, first_step, before: before.map_or(attempt, |before| before as u32) })
}
