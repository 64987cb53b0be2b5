//! What was deleted and can be brought back, until somebody purges it. Nothing here happens by itself.

use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::fault::Fault;
use super::fields::Fields;
use super::sizes::LONGEST_NAME;
use super::{Deleted, DeletedKind, PurgeReport, RunId, RunState, Store, StoreError, inside};

impl Store {
    /// Everything that was deleted before `before_ms` (unix milliseconds), oldest first, with the reason where it would stay.
    pub fn deleted(&self, before_ms: i64) -> Result<Vec<Deleted>, StoreError> {
        let mut found = self.read(async |connection| {
            let mut found = Vec::new();
            let runs = sqlx::query(
                "SELECT number, IIF(octet_length(id) <= ?2, id, '') AS id, IIF(octet_length(name) <= ?2, name, '') AS name, deleted_ms,
                     IIF(octet_length(state) <= ?2, state, '') AS state
                 FROM runs WHERE deleted_ms IS NOT NULL AND deleted_ms < ?1",
            );
            for row in &runs.bind(before_ms).bind(LONGEST_NAME).fetch_all(&mut *connection).await? {
                let mut run = deleted(row, DeletedKind::Run);
                let state = String::from_utf8_lossy(&Fields::new(row).optional_bytes(4).unwrap_or_default()).into_owned();
                self.look_at(&mut run, &state);
                found.push(run);
            }
            for (kind, sql) in [
                (
                    DeletedKind::Benchmark,
                    "SELECT number, IIF(octet_length(id) <= ?2, id, '') AS id, IIF(octet_length(name) <= ?2, name, '') AS name, deleted_ms
                     FROM benchmarks WHERE deleted_ms IS NOT NULL AND deleted_ms < ?1",
                ),
                (
                    DeletedKind::Analysis,
                    "SELECT number, IIF(octet_length(id) <= ?2, id, '') AS id, IIF(octet_length(target) <= ?2, target, '') AS target,
                         deleted_ms
                     FROM analyses WHERE deleted_ms IS NOT NULL AND deleted_ms < ?1",
                ),
            ] {
                let rows = sqlx::query(sql).bind(before_ms).bind(LONGEST_NAME).fetch_all(&mut *connection).await?;
                found.extend(rows.iter().map(|row| deleted(row, kind)));
            }
            Ok(found)
        })?;
        found.sort_by_key(|one| (one.deleted_ms, one.kind.as_str(), one.number));
        Ok(found)
    }

    /// Removes for good what was deleted before `before_ms`, runs with their files. What is not ours to remove stays, with
    /// its record, and is told with the reason.
    pub fn purge_deleted(&self, before_ms: i64) -> Result<PurgeReport, StoreError> {
        let mut report = PurgeReport::default();
        for mut one in self.deleted(before_ms)? {
            if one.refused.is_none() {
                let gone = match one.kind {
                    DeletedKind::Run => self.purge_number(one.number),
                    DeletedKind::Benchmark => self.forget("DELETE FROM benchmarks WHERE number = ?", one.number),
                    DeletedKind::Analysis => self.forget("DELETE FROM analyses WHERE number = ?", one.number),
                };
                one.refused = gone.err().map(|error| error.to_string());
            }
            let place = if one.refused.is_none() { &mut report.purged } else { &mut report.refused };
            place.push(one);
        }
        if !report.purged.is_empty() {
            // Gives the pages back to the file system a few at a time.
            self.outside_transaction(async |connection| {
                sqlx::query("PRAGMA incremental_vacuum(10000)").execute(connection).await?;
                Ok(())
            })?;
        }
        Ok(report)
    }

    /// Deletes a run and its files for good. A run that is being worked on is refused, and so is one whose folder is a link
    /// or holds what is not Headroom's: then nothing is removed.
    pub fn purge(&self, run: &RunId) -> Result<(), StoreError> {
        let number = self.read(async |connection| super::edit::known_number(connection, run).await)?;
        self.purge_number(number)
    }

    fn purge_number(&self, number: i64) -> Result<(), StoreError> {
        let paths = self.paths().clone();
        let run = self.change(async move |connection| {
            let run = run_at_rest(connection, number).await?;
            let what = format!("The folder of the run {run}");
            let left = |why| StoreError::LeftAlone { what, why, path: paths.root().to_owned() };
            inside::check_run(&paths, &run).map_err(left)?;
            sqlx::query("DELETE FROM points WHERE run = ?").bind(number).execute(&mut *connection).await?;
            // Most tables follow the run's own row.
            sqlx::query("DELETE FROM runs WHERE number = ?").bind(number).execute(connection).await?;
            Ok(run)
        })?;
        let path = self.paths().run(&run);
        inside::remove_run(self.paths(), &run)
            .map_err(|reason| StoreError::FilesLeft { path, reason: format!("it {reason}") })
    }

    fn forget(&self, sql: &'static str, number: i64) -> Result<(), StoreError> {
        self.change(async move |connection| {
            sqlx::query(sql).bind(number).execute(connection).await?;
            Ok(())
        })
    }

    /// Adds the files of a deleted run, or why they stay.
    fn look_at(&self, run: &mut Deleted, state: &str) {
        match RunState::parse(state) {
            None => run.refused = Some(format!("Its record is damaged: {state:?} is no state.")),
            Some(state) if state.is_active() => run.refused = Some(format!("It is {state}.")),
            Some(_) => {}
        }
        if run.refused.is_some() {
            return;
        }
        let id = match run.id.parse::<RunId>() {
            Ok(id) => id,
            Err(error) => {
                run.refused = Some(format!("Its record is damaged: {error}."));
                return;
            }
        };
        match inside::check_run(self.paths(), &id) {
            Ok(files) => {
                run.bytes = files.bytes;
                run.folder = files.is_there.then(|| self.paths().run(&id));
            }
            Err(why) => {
                run.folder = Some(self.paths().run(&id));
                run.refused = Some(format!("Its folder {why}."));
            }
        }
    }
}

fn deleted(row: &SqliteRow, kind: DeletedKind) -> Deleted {
    let mut fields = Fields::new(row);
    let mut text = |place| String::from_utf8_lossy(&fields.optional_bytes(place).unwrap_or_default()).into_owned();
    let (id, name) = (text(1), text(2));
    let (number, deleted_ms) = (fields.whole(0), fields.time(3));
    let refused = fields.finish(()).err().map(|problems| format!("Its record is damaged: {}.", problems.join("; ")));
    Deleted { kind, number, id, name, deleted_ms, bytes: 0, folder: None, refused }
}

/// The id of a run that nobody works on.
async fn run_at_rest(connection: &mut SqliteConnection, number: i64) -> Result<RunId, Fault> {
    let row =
        sqlx::query("SELECT id, state FROM runs WHERE number = ?").bind(number).fetch_optional(connection).await?;
    let missing = || StoreError::NoSuchRun { query: format!("#{number}"), nearest: Vec::new() };
    let row = row.ok_or_else(missing)?;
    let mut fields = Fields::new(&row);
    let (id, state) = (fields.id(0), fields.text(1));
    let problems = fields.problems();
    let Some(run) = id else {
        return Err(StoreError::RunDamaged { number, why: problems.join("; ") }.into());
    };
    match RunState::parse(&state) {
        Some(state) if state.is_active() => Err(StoreError::RunIsActive { run, state }.into()),
        Some(_) => Ok(run),
        None => Err(StoreError::RunDamaged { number, why: format!("{state:?} is no state") }.into()),
    }
}
