use std::collections::{BTreeMap, HashMap};

use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::edit::known_number;
use super::fault::Fault;
use super::summary::best_since;
use super::{
    AttemptRecord, Direction, Divergence, Failure, Machine, Parent, RunFilter, RunId, RunRecord, RunState, RunSummary,
    SeriesSummary, Store, StoreError, StorePaths, instance, series_names,
};

/// Columns of a summary, read by place: there may be ten thousand rows.
macro_rules! summary_columns {
    () => {
        "number, id, name, state, seed, device, threads, parameters, created_ms, started_ms, ended_ms, steps_done,
         steps_total, tokens, train_secs, failure_why, failure_what_to_do, diverged_step, diverged_at, parent_run,
         parent_step, note, archived, deleted_ms, owner, flops_per_step, train_tokens,
         held_out_hash, health"
    };
}

impl Store {
    /// The table of runs with what each series comes to, in the order of their making.
    pub fn runs(&self, filter: RunFilter) -> Result<Vec<RunSummary>, StoreError> {
        self.read(async |connection| {
            let rows = sqlx::query(concat!(
                "SELECT ",
                summary_columns!(),
                " FROM runs WHERE (?1 OR NOT archived) AND (?2 OR deleted_ms IS NULL) ORDER BY number"
            ))
            .bind(filter.include_archived)
            .bind(filter.include_deleted)
            .fetch_all(&mut *connection)
            .await?;
            let mut tags = tags(connection, None).await?;
            let mut metrics = metrics(connection, None).await?;
            let mut owners = Owners::new(self.paths());
            let mut runs = Vec::with_capacity(rows.len());
            for row in &rows {
                let (number, mut run) = summary(row, &mut owners)?;
                run.tags = tags.remove(&number).unwrap_or_default();
                run.metrics = metrics.remove(&number).unwrap_or_default();
                runs.push(run);
            }
            Ok(runs)
        })
    }

    /// Configs as JSON of the given runs; those that are gone are left out.
    pub fn configs(&self, runs: &[RunId]) -> Result<Vec<(RunId, serde_json::Value)>, StoreError> {
        self.read(async |connection| {
            let mut configs = Vec::with_capacity(runs.len());
            for run in runs {
                let json: Option<String> =
                    sqlx::query_scalar("SELECT config_json FROM run_configs JOIN runs ON number = run WHERE id = ?")
                        .bind(run.as_str())
                        .fetch_optional(&mut *connection)
                        .await?;
                configs.extend(json.map(|json| (run.clone(), serde_json::from_str(&json).unwrap_or_default())));
            }
            Ok(configs)
        })
    }

    /// Everything about the run of exactly this id.
    pub fn record(&self, run: &RunId) -> Result<RunRecord, StoreError> {
        self.read(async |connection| {
            let number = known_number(connection, run).await?;
            record(connection, number, self.paths()).await
        })
    }
}

/// Everything about one run.
pub(crate) async fn record(
    connection: &mut SqliteConnection,
    number: i64,
    paths: &StorePaths,
) -> Result<RunRecord, Fault> {
    let row = sqlx::query(concat!(
        "SELECT ",
        summary_columns!(),
        ", program_version, git_commit, git_dirty, data_hash, machine_cpu, machine_cores, machine_os, config_toml,
         config_json FROM runs JOIN run_configs ON run = number WHERE number = ?"
    ))
    .bind(number)
    .fetch_one(&mut *connection)
    .await?;
    let (_, mut summary) = summary(&row, &mut Owners::new(paths))?;
    summary.tags = tags(connection, Some(number)).await?.remove(&number).unwrap_or_default();
    summary.metrics = metrics(connection, Some(number)).await?.remove(&number).unwrap_or_default();
    let attempts: Vec<(u32, i64, i64, Option<i64>)> =
        sqlx::query_as("SELECT attempt, first_step, started_ms, ended_ms FROM attempts WHERE run = ? ORDER BY attempt")
            .bind(number)
            .fetch_all(&mut *connection)
            .await?;
    let attempts = attempts
        .into_iter()
        .map(|(attempt, first_step, started_ms, ended_ms)| AttemptRecord {
            attempt,
            first_step: first_step as u64,
            started_ms,
            ended_ms,
        })
        .collect();
    let config: String = row.try_get("config_json")?;
    Ok(RunRecord {
        summary,
        config_toml: row.try_get("config_toml")?,
        config: serde_json::from_str(&config).unwrap_or_default(),
        program_version: row.try_get("program_version")?,
        git_commit: row.try_get("git_commit")?,
        git_dirty: row.try_get("git_dirty")?,
        data_hash: row.try_get("data_hash")?,
        machine: Machine {
            cpu: row.try_get("machine_cpu")?,
            cores: row.try_get("machine_cores")?,
            os: row.try_get("machine_os")?,
        },
        attempts,
    })
}

/// The programs that answer for active runs, each looked at once.
struct Owners<'a> {
    paths: &'a StorePaths,
    known: HashMap<String, bool>,
}

impl<'a> Owners<'a> {
    fn new(paths: &'a StorePaths) -> Self {
        Self { paths, known: HashMap::new() }
    }

    fn is_alive(&mut self, owner: Option<&str>) -> bool {
        let Some(owner) = owner else { return false };
        if let Some(is_alive) = self.known.get(owner) {
            return *is_alive;
        }
        let is_alive = instance::is_alive(self.paths, owner);
        self.known.insert(owner.to_owned(), is_alive);
        is_alive
    }
}

/// A summary without tags and metrics, and its number.
fn summary(row: &SqliteRow, owners: &mut Owners) -> sqlx::Result<(i64, RunSummary)> {
    let unsigned = |place: usize| row.try_get::<i64, _>(place).map(|value| value as u64);
    let optional = |place: usize| row.try_get::<Option<i64>, _>(place).map(|value| value.map(|value| value as u64));
    let number: i64 = row.try_get(0)?;
    let state = RunState::parse(row.try_get(3)?).unwrap_or(RunState::Failed);
    // Its program died, and nobody has written that down yet.
    let is_orphan = state.is_active() && !owners.is_alive(row.try_get(24)?);
    let state = if is_orphan { RunState::Interrupted } else { state };
    let failure = match (row.try_get(15)?, row.try_get(16)?) {
        (Some(why), what_to_do) => Some(Failure { why, what_to_do: Option::unwrap_or_default(what_to_do) }),
        _ => None,
    };
    let at = row.try_get(18)?;
    let diverged = optional(17)?.map(|step| Divergence { step, at });
    // What cannot be read says nothing.
    let health: Option<String> = row.try_get(28)?;
    let health = health.and_then(|json| serde_json::from_str(&json).ok());
    let parent_run: Option<String> = row.try_get(19)?;
    let parent = parent_run.zip(optional(20)?).map(|(run, step)| Parent { run: run.into(), step });
    let run = RunSummary {
        id: RunId::from(row.try_get::<&str, _>(1)?),
        number: number as u64,
        name: row.try_get(2)?,
        state,
        seed: unsigned(4)?,
        device: row.try_get(5)?,
        threads: row.try_get(6)?,
        parameters: optional(7)?,
        flops_per_step: optional(25)?,
        train_tokens: optional(26)?,
        held_out_hash: row.try_get(27)?,
        created_ms: row.try_get(8)?,
        started_ms: row.try_get(9)?,
        ended_ms: row.try_get(10)?,
        steps_done: unsigned(11)?,
        steps_total: optional(12)?,
        tokens: unsigned(13)?,
        train_secs: row.try_get(14)?,
        failure,
        diverged,
        health,
        parent,
        note: row.try_get(21)?,
        tags: Vec::new(),
        archived: row.try_get(22)?,
        deleted_ms: row.try_get(23)?,
        metrics: BTreeMap::new(),
    };
    Ok((number, run))
}

/// Labels by run, sorted; of one run or of all.
async fn tags(connection: &mut SqliteConnection, run: Option<i64>) -> sqlx::Result<HashMap<i64, Vec<String>>> {
    let query = match run {
        Some(run) => sqlx::query_as("SELECT run, tag FROM tags WHERE run = ? ORDER BY tag").bind(run),
        None => sqlx::query_as("SELECT run, tag FROM tags ORDER BY run, tag"),
    };
    let mut tags: HashMap<i64, Vec<String>> = HashMap::new();
    for (run, tag) in query.fetch_all(connection).await? {
        tags.entry(run).or_default().push(tag);
    }
    Ok(tags)
}

/// What each series comes to, by run; of one run or of all. Series all of whose points are hidden are left out.
async fn metrics(
    connection: &mut SqliteConnection,
    run: Option<i64>,
) -> sqlx::Result<HashMap<i64, BTreeMap<String, SeriesSummary>>> {
    let series: Vec<(i64, String, String)> =
        sqlx::query_as("SELECT id, name, direction FROM series").fetch_all(&mut *connection).await?;
    let series: HashMap<i64, (String, Direction)> =
        series.into_iter().map(|(id, name, direction)| (id, (name, Direction::parse(&direction)))).collect();
    let query = match run {
        Some(run) => sqlx::query(
            "SELECT run, series, last, last_step, best, best_step, count FROM series_summary WHERE run = ? AND count > 0",
        )
        .bind(run),
        None => sqlx::query(
            "SELECT run, series, last, last_step, best, best_step, count FROM series_summary WHERE count > 0",
        ),
    };
    let mut metrics: HashMap<i64, BTreeMap<String, SeriesSummary>> = HashMap::new();
    for row in query.fetch_all(&mut *connection).await? {
        let Some((name, direction)) = series.get(&row.try_get(1)?) else { continue };
        let summary = SeriesSummary {
            last: row.try_get::<Option<f64>, _>(2)?.unwrap_or(f64::NAN),
            last_step: row.try_get::<i64, _>(3)? as u64,
            best: row.try_get(4)?,
            best_step: row.try_get::<Option<i64>, _>(5)?.map(|step| step as u64),
            direction: *direction,
            count: row.try_get::<i64, _>(6)? as u64,
        };
        metrics.entry(row.try_get(0)?).or_default().insert(name.clone(), summary);
    }
    let ids: HashMap<&str, i64> = series.iter().map(|(id, (name, _))| (name.as_str(), *id)).collect();
    for (run, metrics) in &mut metrics {
        let Some(chosen) = metrics.get(series_names::COVERAGE_SCORE_ERROR).map(|found| found.last_step) else {
            continue;
        };
        // Until then all pairs were scored: that was another model.
        for (name, summary) in metrics.iter_mut() {
            let is_before = summary.best_step.is_some_and(|step| step <= chosen);
            if is_before && (name.starts_with("train/") || name.starts_with("validation/")) {
                let Some(series) = ids.get(name.as_str()) else { continue };
                let at = (*run, *series);
                let best = best_since(&mut *connection, at, summary.direction, chosen as i64 + 1).await?;
                summary.best = best.map(|(_, value)| value);
                summary.best_step = best.map(|(step, _)| step as u64);
            }
        }
    }
    Ok(metrics)
}
