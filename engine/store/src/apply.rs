use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

use sqlx::sqlite::SqliteConnection;

use super::clock::now_ms;
use super::entry::{Entry, OtherEntry, Point};
use super::outcome_blobs::packed;
use super::rows::{Newest, Row};
use super::{
    CheckpointKind, Direction, ExampleOutcomes, NewCheckpoint, NewSnapshot, OutcomeKind, Progress, RunFacts, RunId,
    RunState, StateDetails, StorePaths,
};
use super::{summary, windows};

/// Rows a statement: seven values each, well under SQLite's 32,766.
const ROWS: usize = 500;

static INSERT_MANY: LazyLock<String> = LazyLock::new(|| insert_points(ROWS));
static INSERT_ONE: LazyLock<String> = LazyLock::new(|| insert_points(1));
static INSERT_SOME: LazyLock<String> = LazyLock::new(|| insert_points(20));

fn insert_points(rows: usize) -> String {
    let values = vec!["(?,?,?,?,?,?,?)"; rows].join(",");
    format!(
        "INSERT INTO points (run, series, attempt, step, value, wall_ms, tokens) VALUES {values} ON CONFLICT DO NOTHING"
    )
}

/// Short keys of runs and series, remembered between batches. To be cleared when a transaction fails: a series that
/// was new in it has no key any more.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    runs: HashMap<RunId, i64>,
    series: HashMap<Arc<str>, i64>,
}

impl Keys {
    pub fn clear(&mut self) {
        self.runs.clear();
        self.series.clear();
    }

    /// The number of a run, or none if there is no such run (any more).
    pub async fn run(&mut self, connection: &mut SqliteConnection, id: &RunId) -> sqlx::Result<Option<i64>> {
        if let Some(number) = self.runs.get(id) {
            return Ok(Some(*number));
        }
        let number = run_number(connection, id).await?;
        if let Some(number) = number {
            self.runs.insert(id.clone(), number);
        }
        Ok(number)
    }

    async fn series(&mut self, connection: &mut SqliteConnection, name: &Arc<str>) -> sqlx::Result<i64> {
        if let Some(key) = self.series.get(name) {
            return Ok(*key);
        }
        sqlx::query("INSERT INTO series (name, direction) VALUES (?, ?) ON CONFLICT DO NOTHING")
            .bind(&**name)
            .bind(Direction::of(name).as_str())
            .execute(&mut *connection)
            .await?;
        let key =
            sqlx::query_scalar("SELECT id FROM series WHERE name = ?").bind(&**name).fetch_one(connection).await?;
        self.series.insert(name.clone(), key);
        Ok(key)
    }
}

/// The number of a run.
pub(crate) async fn run_number(connection: &mut SqliteConnection, id: &RunId) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar("SELECT number FROM runs WHERE id = ?").bind(id.as_str()).fetch_optional(connection).await
}

/// Whose entries are written, and how late.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    pub paths: &'a StorePaths,
    /// The instance that made the entries.
    pub instance: &'a str,
    /// The entries were left behind by a program that died: what changed since then wins.
    pub is_late: bool,
}

/// Writes entries in the transaction that the connection is in. Entries of runs that are gone are left out.
pub(crate) async fn apply(
    connection: &mut SqliteConnection,
    entries: &[Entry],
    keys: &mut Keys,
    source: Source<'_>,
) -> sqlx::Result<()> {
    let mut rows = Vec::new();
    let mut newest = HashMap::new();
    let mut progress: BTreeMap<&RunId, Progress> = BTreeMap::new();
    for entry in entries {
        match entry {
            Entry::Point(point) => rows.extend(resolve(connection, point, keys, &mut newest).await?),
            Entry::Progress { run, progress: reached } => {
                progress.insert(run, *reached);
            }
            Entry::Other(_) => {}
        }
    }
    // Stable: of two points at one step the first logged stays first, and is kept.
    rows.sort_by_key(Row::key);
    rows.dedup_by_key(|row| row.key());
    let added = insert(connection, &rows).await?;
    summary::update(connection, &rows, added == rows.len() as u64, &newest).await?;
    for (run, reached) in progress {
        write_progress(connection, run, reached).await?;
    }
    for entry in entries {
        if let Entry::Other(other) = entry {
            write_other(connection, other, keys, source).await?;
        }
    }
    Ok(())
}

/// The row of a point; none if its run is gone. `newest` remembers the newest attempt of each run in this batch.
async fn resolve(
    connection: &mut SqliteConnection,
    point: &Point,
    keys: &mut Keys,
    newest: &mut HashMap<i64, Newest>,
) -> sqlx::Result<Option<Row>> {
    let Some(run) = keys.run(connection, &point.run).await? else { return Ok(None) };
    let newest = match newest.entry(run) {
        std::collections::hash_map::Entry::Occupied(known) => *known.get(),
        std::collections::hash_map::Entry::Vacant(unknown) => *unknown.insert(newest_attempt(connection, run).await?),
    };
    let series = keys.series(connection, &point.series).await?;
    let attempt = if point.attempt == 0 { newest.attempt } else { i64::from(point.attempt) };
    let (wall_ms, tokens, step) = (point.wall_ms as i64, point.tokens as i64, point.step as i64);
    Ok(Some(Row { run, series, attempt, step, value: point.value, wall_ms, tokens }))
}

/// The newest attempt of a run; a run that logs before its first attempt gets one from step 0.
async fn newest_attempt(connection: &mut SqliteConnection, run: i64) -> sqlx::Result<Newest> {
    let newest: Option<(i64, i64)> =
        sqlx::query_as("SELECT attempt, first_step FROM attempts WHERE run = ? ORDER BY attempt DESC LIMIT 1")
            .bind(run)
            .fetch_optional(&mut *connection)
            .await?;
    if let Some((attempt, first_step)) = newest {
        return Ok(Newest { attempt, start: windows::start(attempt, first_step) });
    }
    sqlx::query("INSERT INTO attempts (run, attempt, first_step, started_ms) VALUES (?, 1, 0, ?)")
        .bind(run)
        .bind(now_ms())
        .execute(connection)
        .await?;
    Ok(Newest { attempt: 1, start: 0 })
}

/// Inserts sorted rows, those that are there already left as they are; returns how many were new.
async fn insert(connection: &mut SqliteConnection, rows: &[Row]) -> sqlx::Result<u64> {
    let mut added = 0;
    let mut rest = rows;
    while !rest.is_empty() {
        let (count, sql): (usize, &'static str) = match rest.len() {
            ROWS.. => (ROWS, &INSERT_MANY),
            20.. => (20, &INSERT_SOME),
            _ => (1, &INSERT_ONE),
        };
        let (chunk, after) = rest.split_at(count);
        let mut query = sqlx::query(sql);
        for row in chunk {
            // SQLite would make a null of NaN by itself; said here because readers count on it.
            let value = (!row.value.is_nan()).then_some(row.value);
            query = query.bind(row.run).bind(row.series).bind(row.attempt).bind(row.step);
            query = query.bind(value).bind(row.wall_ms).bind(row.tokens);
        }
        added += query.execute(&mut *connection).await?.rows_affected();
        rest = after;
    }
    Ok(added)
}

async fn write_progress(connection: &mut SqliteConnection, run: &RunId, progress: Progress) -> sqlx::Result<()> {
    sqlx::query("UPDATE runs SET steps_done = ?, tokens = ?, train_secs = ? WHERE id = ?")
        .bind(progress.steps_done as i64)
        .bind(progress.tokens as i64)
        .bind(progress.train_secs)
        .bind(run.as_str())
        .execute(connection)
        .await?;
    Ok(())
}

async fn write_other(
    connection: &mut SqliteConnection,
    entry: &OtherEntry,
    keys: &mut Keys,
    source: Source<'_>,
) -> sqlx::Result<()> {
    match entry {
        OtherEntry::Checkpoint { run, checkpoint, at_ms } => {
            let Some(number) = keys.run(connection, run).await? else { return Ok(()) };
            write_checkpoint(connection, number, checkpoint, *at_ms, source.paths).await
        }
        OtherEntry::Facts { run, facts } => write_facts(connection, run, facts).await,
        OtherEntry::Forget { run, path } => {
            let Some(number) = keys.run(connection, run).await? else { return Ok(()) };
            let delete = sqlx::query("DELETE FROM checkpoints WHERE run = ? AND path IN (?, ?)");
            let delete = delete.bind(number).bind(source.paths.to_kept(path));
            delete.bind(path.to_string_lossy().into_owned()).execute(connection).await.map(drop)
        }
        OtherEntry::Outcomes { run, attempt, outcomes, is_best, at_ms } => {
            let Some(number) = keys.run(connection, run).await? else { return Ok(()) };
            for kind in OutcomeKind::ALL.into_iter().filter(|kind| *is_best || *kind == OutcomeKind::Last) {
                let when = (*at_ms, source.is_late);
                write_outcomes(connection, (number, *attempt), outcomes, kind, when).await?;
            }
            Ok(())
        }
        OtherEntry::Snapshot { run, attempt, snapshot, at_ms } => {
            let Some(number) = keys.run(connection, run).await? else { return Ok(()) };
            write_snapshot(connection, number, *attempt, snapshot, *at_ms).await
        }
        OtherEntry::State { run, state, details, at_ms } => {
            write_state(connection, run, *state, details, *at_ms, source).await
        }
    }
}

async fn write_facts(connection: &mut SqliteConnection, run: &RunId, facts: &RunFacts) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE runs SET parameters = COALESCE(?, parameters), data_hash = COALESCE(?, data_hash),
             steps_total = COALESCE(?, steps_total), device = COALESCE(?, device), threads = COALESCE(?, threads),
             flops_per_step = COALESCE(?, flops_per_step), train_tokens = COALESCE(?, train_tokens),
             held_out_hash = COALESCE(?, held_out_hash), health = COALESCE(?, health),
             evaluated_hash = COALESCE(?, evaluated_hash), evaluated_examples = COALESCE(?, evaluated_examples),
             validation_examples = COALESCE(?, validation_examples)
         WHERE id = ?",
    )
    .bind(facts.parameters.map(|count| count as i64))
    .bind(facts.data_hash.as_deref())
    .bind(facts.steps_total.map(|steps| steps as i64))
    .bind(facts.device.as_deref())
    .bind(facts.threads)
    .bind(facts.flops_per_step.map(|flops| flops as i64))
    .bind(facts.train_tokens.map(|tokens| tokens as i64))
    .bind(facts.held_out_hash.as_deref())
    .bind(facts.health.and_then(|health| serde_json::to_string(&health).ok()))
    .bind(facts.evaluated_hash.as_deref())
    .bind(facts.evaluated_examples.map(|examples| examples as i64))
    .bind(facts.validation_examples.map(|examples| examples as i64))
    .bind(run.as_str())
    .execute(connection)
    .await?;
    Ok(())
}

async fn write_state(
    connection: &mut SqliteConnection,
    run: &RunId,
    state: RunState,
    details: &StateDetails,
    at_ms: i64,
    source: Source<'_>,
) -> sqlx::Result<()> {
    let progress = details.progress;
    let changed = sqlx::query(
        "UPDATE runs SET state = ?1, state_ms = ?2,
             owner = CASE WHEN ?3 THEN ?4 END,
             started_ms = CASE WHEN ?1 = 'running' THEN COALESCE(started_ms, ?2) ELSE started_ms END,
             ended_ms = CASE WHEN ?3 THEN NULL ELSE ?2 END,
             failure_why = COALESCE(?5, failure_why), failure_what_to_do = COALESCE(?6, failure_what_to_do),
             diverged_step = COALESCE(?7, diverged_step), diverged_at = COALESCE(?8, diverged_at),
             steps_done = COALESCE(?9, steps_done), tokens = COALESCE(?10, tokens),
             train_secs = COALESCE(?11, train_secs)
         WHERE id = ?12 AND (NOT ?13 OR state_ms <= ?2
             -- Said only because its program was gone; nothing happened to the run since.
             OR (state = 'interrupted'
                 AND NOT EXISTS (SELECT 1 FROM attempts WHERE run = number AND attempts.started_ms > ?2)))",
    )
    .bind(state.as_str())
    .bind(at_ms)
    .bind(state.is_active())
    .bind(source.instance)
    .bind(details.failure.as_ref().map(|failure| failure.why.as_str()))
    .bind(details.failure.as_ref().map(|failure| failure.what_to_do.as_str()))
    .bind(details.diverged.as_ref().map(|diverged| diverged.step as i64))
    .bind(details.diverged.as_ref().and_then(|diverged| diverged.at.as_deref()))
    .bind(progress.map(|progress| progress.steps_done as i64))
    .bind(progress.map(|progress| progress.tokens as i64))
    .bind(progress.map(|progress| progress.train_secs))
    .bind(run.as_str())
    .bind(source.is_late)
    .execute(&mut *connection)
    .await?
    .rows_affected();
    if state.is_ended() && changed > 0 {
        sqlx::query(
            "UPDATE attempts SET ended_ms = ?
             WHERE ended_ms IS NULL AND run = (SELECT number FROM runs WHERE id = ?)",
        )
        .bind(at_ms)
        .bind(run.as_str())
        .execute(connection)
        .await?;
    }
    Ok(())
}

async fn write_checkpoint(
    connection: &mut SqliteConnection,
    run: i64,
    checkpoint: &NewCheckpoint,
    at_ms: i64,
    paths: &StorePaths,
) -> sqlx::Result<()> {
    if checkpoint.kind == CheckpointKind::Best {
        sqlx::query("DELETE FROM checkpoints WHERE run = ? AND kind = 'best'")
            .bind(run)
            .execute(&mut *connection)
            .await?;
    }
    sqlx::query(
        "INSERT OR REPLACE INTO checkpoints (run, kind, step, path, metric, value, bytes, created_ms)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(run)
    .bind(checkpoint.kind.as_str())
    .bind(checkpoint.step as i64)
    .bind(paths.to_kept(&checkpoint.path))
    .bind(checkpoint.metric.as_deref())
    .bind(checkpoint.value)
    .bind(checkpoint.bytes as i64)
    .bind(at_ms)
    .execute(connection)
    .await?;
    Ok(())
}

async fn write_snapshot(
    connection: &mut SqliteConnection,
    run: i64,
    attempt: u32,
    snapshot: &NewSnapshot,
    at_ms: i64,
) -> sqlx::Result<()> {
    let attempt = if attempt == 0 { newest_attempt(connection, run).await?.attempt } else { i64::from(attempt) };
    let shape = snapshot.shape.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    sqlx::query(
        "INSERT OR REPLACE INTO snapshots (run, attempt, step, kind, layer, head, dtype, shape, created_ms, data)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(run)
    .bind(attempt)
    .bind(snapshot.step as i64)
    .bind(snapshot.kind.as_str())
    .bind(snapshot.layer.map_or(-1, i64::from))
    .bind(snapshot.head.map_or(-1, i64::from))
    .bind(snapshot.dtype.as_str())
    .bind(shape)
    .bind(at_ms)
    .bind(snapshot.data.as_slice())
    .execute(connection)
    .await?;
    Ok(())
}

/// Writes the outcomes of an evaluation, in the place of earlier ones. Those of a program that died, which come late, replace
/// nothing that was written since.
async fn write_outcomes(
    connection: &mut SqliteConnection,
    (run, attempt): (i64, u32),
    outcomes: &ExampleOutcomes,
    kind: OutcomeKind,
    (at_ms, is_late): (i64, bool),
) -> sqlx::Result<()> {
    if !outcomes.is_complete() {
        return Ok(());
    }
    let attempt = if attempt == 0 { newest_attempt(connection, run).await?.attempt } else { i64::from(attempt) };
    let loss: Vec<u8> = outcomes.loss.iter().flat_map(|value| value.to_le_bytes()).collect();
    sqlx::query(
        "INSERT INTO example_outcomes (run, kind, attempt, step, evaluated_hash, examples, created_ms, loss, labels, correct)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
         ON CONFLICT (run, kind) DO UPDATE SET attempt = ?3, step = ?4, evaluated_hash = ?5, examples = ?6, created_ms = ?7,
             loss = ?8, labels = ?9, correct = ?10
         WHERE NOT ?11 OR created_ms <= ?7",
    )
    .bind(run)
    .bind(kind.as_str())
    .bind(attempt)
    .bind(outcomes.step as i64)
    .bind(outcomes.evaluated_hash.as_str())
    .bind(outcomes.len() as i64)
    .bind(at_ms)
    .bind(loss)
    .bind(packed(&outcomes.labels))
    .bind(outcomes.correct.as_deref().map(packed))
    .bind(is_late)
    .execute(connection)
    .await?;
    Ok(())
}
