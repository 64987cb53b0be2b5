use std::collections::{BTreeMap, HashMap};

use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::configs::KnownConfigs;
use super::edit::known_number;
use super::fault::Fault;
use super::fields::Fields;
use super::owners::Owners;
use super::restart::{restarts, rewind};
use super::sizes::{
    LONGEST_CONFIG, LONGEST_NAME, LONGEST_TEXTS, config_bytes, config_problem, run_texts, texts_problem,
};
use super::summary::{best_within, until};
use super::{
    AttemptRecord, DamagedRun, Direction, Divergence, Failure, Machine, Parent, RunFilter, RunId, RunList, RunRecord,
    RunState, RunSummary, SeriesSummary, Store, StoreError, StorePaths, series_names,
};
use crate::train::Numerics;

/// Columns of a summary, read by place: there may be ten thousand rows.
macro_rules! summary_columns {
    () => {
        "number, id, name, state, seed, device, threads, parameters, created_ms, started_ms, ended_ms, steps_done,
         steps_total, tokens, train_secs, failure_why, failure_what_to_do, diverged_step, diverged_at, parent_run,
         parent_step, note, archived, deleted_ms, owner, flops_per_step, train_tokens,
         held_out_hash, health, evaluated_hash, evaluated_examples, validation_examples"
    };
}

impl Store {
    /// The table of runs with what each series comes to, in the order of their making. Damaged runs are left out, see
    /// [`Store::run_list`].
    pub fn runs(&self, filter: RunFilter) -> Result<Vec<RunSummary>, StoreError> {
        Ok(self.run_list(filter)?.runs)
    }

    /// The table of runs, and beside it the runs whose records cannot be read: one of these hides no other.
    pub fn run_list(&self, filter: RunFilter) -> Result<RunList, StoreError> {
        let (list, hidden) = self.read(async |connection| {
            let rows = sqlx::query(concat!(
                "SELECT ",
                summary_columns!(),
                " FROM runs WHERE (?1 OR NOT archived) AND (?2 OR deleted_ms IS NULL) AND ",
                run_texts!(),
                " <= ?3 ORDER BY number"
            ))
            .bind(filter.include_archived)
            .bind(filter.include_deleted)
            .bind(LONGEST_TEXTS)
            .fetch_all(&mut *connection)
            .await?;
            let oversized = oversized(connection, filter).await?;
            let configs = self.read_configs(connection).await?;
            let mut hidden = Vec::new();
            let mut tags = tags(connection, None, &mut hidden).await?;
            let mut owners = Owners::new(self.paths());
            let restarts = restarts(connection, None, &mut owners).await?;
            let mut metrics = metrics(connection, None, &restarts, &mut hidden).await?;
            let mut list = RunList { runs: Vec::with_capacity(rows.len()), damaged: Vec::new() };
            for row in &rows {
                match summary(row, &mut owners, &configs) {
                    Ok((number, mut run)) => {
                        run.tags = tags.remove(&number).unwrap_or_default();
                        run.metrics = metrics.remove(&number).unwrap_or_default();
                        if let Some(step) = restarts.get(&number) {
                            rewind(connection, number, *step, &mut run).await?;
                        }
                        list.runs.push(run);
                    }
                    Err(damaged) => list.damaged.push(damaged),
                }
            }
            list.damaged.extend(oversized);
            list.damaged.sort_by_key(|run| run.number);
            Ok((list, hidden))
        })?;
        for table in hidden {
            self.warn_hidden(table);
        }
        Ok(list)
    }

    /// Reads the configs of runs that are new since the last time.
    async fn read_configs(&self, connection: &mut SqliteConnection) -> sqlx::Result<KnownConfigs> {
        let mut configs = self.known_configs();
        loop {
            // Large ones by themselves.
            let rows = sqlx::query(concat!(
                "SELECT number, IIF(bytes <= ?2, config_toml, '') AS config_toml, IIF(bytes <= ?2, config_json, '') AS config_json,
                     bytes
                 FROM (SELECT number, config_toml, config_json, ",
                config_bytes!(),
                " AS bytes
                       FROM runs LEFT JOIN run_configs ON run = number WHERE number > ?1 ORDER BY number LIMIT 500)"
            ))
            .bind(configs.upto)
            .bind(CONFIG_AMONG_OTHERS)
            .fetch_all(&mut *connection)
            .await?;
            for row in &rows {
                let number: i64 = row.try_get(0)?;
                configs.upto = configs.upto.max(number);
                let bytes: i64 = row.try_get(3)?;
                let json = if let Some(problem) = config_problem(bytes) {
                    Err(problem)
                } else if bytes > CONFIG_AMONG_OTHERS {
                    let large = sqlx::query("SELECT run, config_toml, config_json FROM run_configs WHERE run = ?");
                    readable_config(&large.bind(number).fetch_one(&mut *connection).await?)
                } else {
                    readable_config(row)
                };
                match json {
                    Ok(json) => configs.add(number, &json),
                    Err(problem) => {
                        configs.unreadable.insert(number, problem);
                    }
                }
            }
            if rows.is_empty() {
                break;
            }
        }
        self.keep_known_configs(&configs);
        Ok(configs)
    }

    /// Configs as JSON of the given runs; those that are gone or cannot be read are left out.
    pub fn configs(&self, runs: &[RunId]) -> Result<Vec<(RunId, serde_json::Value)>, StoreError> {
        self.read(async |connection| {
            let mut configs = Vec::with_capacity(runs.len());
            for run in runs {
                let row = sqlx::query(concat!(
                    "SELECT config_json FROM run_configs JOIN runs ON number = run WHERE id = ? AND ",
                    config_bytes!(),
                    " <= ?"
                ))
                .bind(run.as_str())
                .bind(LONGEST_CONFIG)
                .fetch_optional(&mut *connection)
                .await?;
                let json = row.and_then(|row| Fields::new(&row).optional_bytes(0));
                configs.extend(json.and_then(|json| Some((run.clone(), serde_json::from_slice(&json).ok()?))));
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

/// Bytes of a config that is read together with those of other runs.
const CONFIG_AMONG_OTHERS: i64 = 64 << 10;

/// The config as JSON of the row, whose columns 1 and 2 hold it as TOML and as JSON, or its problem.
fn readable_config(row: &SqliteRow) -> Result<String, String> {
    let mut fields = Fields::new(row);
    let (_, json) = (fields.text(1), fields.text(2));
    let mut problems = fields.problems();
    if problems.is_empty()
        && let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(&json)
    {
        problems.push(format!("`config_json` is no JSON: {error}"));
    }
    if problems.is_empty() { Ok(json) } else { Err(problems.join("; ")) }
}

/// Runs whose texts are too long to be read.
async fn oversized(connection: &mut SqliteConnection, filter: RunFilter) -> sqlx::Result<Vec<DamagedRun>> {
    let rows = sqlx::query(concat!(
        "SELECT number, ",
        run_texts!(),
        " AS bytes, deleted_ms FROM runs
         WHERE bytes > ?3 AND (?1 OR NOT archived) AND (?2 OR deleted_ms IS NULL) ORDER BY number"
    ))
    .bind(filter.include_archived)
    .bind(filter.include_deleted)
    .bind(LONGEST_TEXTS)
    .fetch_all(connection)
    .await?;
    let damaged = |row: &SqliteRow| {
        let mut fields = Fields::new(row);
        let (number, bytes, deleted_ms) = (fields.whole(0), fields.whole(1), fields.optional_time(2));
        DamagedRun { number, id: None, name: None, deleted_ms, problems: texts_problem(bytes).into_iter().collect() }
    };
    Ok(rows.iter().map(damaged).collect())
}

/// Refuses a run whose texts or config are too long to be read.
async fn check_sizes(connection: &mut SqliteConnection, number: i64) -> Result<(), Fault> {
    let (texts, config): (i64, i64) = sqlx::query_as(concat!(
        "SELECT ",
        run_texts!(),
        ", ",
        config_bytes!(),
        " FROM runs LEFT JOIN run_configs ON run = number WHERE number = ?"
    ))
    .bind(number)
    .fetch_one(connection)
    .await?;
    match texts_problem(texts).or_else(|| config_problem(config)) {
        None => Ok(()),
        Some(why) => Err(StoreError::RunDamaged { number, why }.into()),
    }
}

/// Everything about one run.
pub(crate) async fn record(
    connection: &mut SqliteConnection,
    number: i64,
    paths: &StorePaths,
) -> Result<RunRecord, Fault> {
    check_sizes(connection, number).await?;
    let row = sqlx::query(concat!(
        "SELECT ",
        summary_columns!(),
        ", program_version, git_commit, git_dirty, data_hash, machine_cpu, machine_cores, machine_os, config_toml,
         config_json, numerics FROM runs LEFT JOIN run_configs ON run = number WHERE number = ?"
    ))
    .bind(number)
    .fetch_one(&mut *connection)
    .await?;
    let mut owners = Owners::new(paths);
    let mut fields = Fields::new(&row);
    let (program_version, git_commit) = (fields.text(32), fields.optional_text(33));
    let (git_dirty, data_hash) = (fields.optional_whole(34).map(|dirty| dirty != 0), fields.optional_text(35));
    let machine = Machine { cpu: fields.text(36), cores: fields.small(37), os: fields.text(38) };
    let (config_toml, json) = (fields.text(39), fields.text(40));
    let numerics = fields.optional_small(41).map_or(Numerics::FIRST, Numerics);
    let mut problems = fields.problems();
    let config = serde_json::from_str(&json);
    let mut configs = KnownConfigs::default();
    configs.add(number, &json);
    let first = summary(&row, &mut owners, &configs);
    if let Err(error) = &config
        && problems.is_empty()
    {
        problems.push(format!("`config_json` is no JSON: {error}"));
    }
    let mut summary = match first {
        Ok((_, summary)) if problems.is_empty() => summary,
        Ok(_) => return Err(StoreError::RunDamaged { number, why: problems.join("; ") }.into()),
        Err(mut damaged) => {
            damaged.problems.extend(problems);
            return Err(StoreError::RunDamaged { number, why: damaged.why() }.into());
        }
    };
    summary.tags = tags(connection, Some(number), &mut Vec::new()).await?.remove(&number).unwrap_or_default();
    let restarts = restarts(connection, Some(number), &mut owners).await?;
    let mut metrics = metrics(connection, Some(number), &restarts, &mut Vec::new()).await?;
    summary.metrics = metrics.remove(&number).unwrap_or_default();
    if let Some(step) = restarts.get(&number) {
        rewind(connection, number, *step, &mut summary).await?;
    }
    let attempts =
        sqlx::query("SELECT attempt, first_step, started_ms, ended_ms FROM attempts WHERE run = ? ORDER BY attempt")
            .bind(number)
            .fetch_all(&mut *connection)
            .await?;
    let attempt = |row: &SqliteRow| {
        let mut fields = Fields::new(row);
        let attempt = AttemptRecord {
            attempt: fields.small(0),
            first_step: fields.count(1),
            started_ms: fields.time(2),
            ended_ms: fields.optional_time(3),
        };
        fields.finish(attempt).ok()
    };
    Ok(RunRecord {
        summary,
        config_toml,
        config: config.unwrap_or_default(),
        program_version,
        git_commit,
        git_dirty,
        numerics,
        data_hash,
        machine,
        attempts: attempts.iter().filter_map(attempt).collect(),
    })
}

/// A summary without tags and metrics, and its number.
fn summary(row: &SqliteRow, owners: &mut Owners, configs: &KnownConfigs) -> Result<(i64, RunSummary), DamagedRun> {
    let mut fields = Fields::new(row);
    let number = fields.whole(0);
    let positive = fields.count(0);
    let id = fields.id(1);
    let name = fields.text(2);
    let word = fields.text(3);
    let state = RunState::parse(&word);
    if state.is_none() {
        fields.wrong(3, &format!("is {word:?}, which is no state"));
    }
    let state = state.unwrap_or(RunState::Failed);
    // Its program died, and nobody has written that down yet.
    let owner = row.try_get::<Option<&str>, _>(24).ok().flatten();
    let is_orphan = state.is_active() && !owners.is_alive(owner);
    let state = if is_orphan { RunState::Interrupted } else { state };
    let failure = match (fields.optional_text(15), fields.optional_text(16)) {
        (Some(why), what_to_do) => Some(Failure { why, what_to_do: what_to_do.unwrap_or_default() }),
        _ => None,
    };
    let at = fields.optional_text(18);
    let diverged = fields.optional_count(17).map(|step| Divergence { step, at });
    let health = match fields.optional_text(28).map(|json| serde_json::from_str(&json)) {
        Some(Err(error)) => {
            fields.wrong(28, &format!("cannot be read: {error}"));
            None
        }
        health => health.and_then(Result::ok),
    };
    let parent = fields.optional_id(19).zip(fields.optional_count(20)).map(|(run, step)| Parent { run, step });
    let deleted_ms = fields.optional_time(23);
    let run = id.clone().map(|id| RunSummary {
        id,
        number: positive,
        name: name.clone(),
        state,
        // All bits of a seed are its own.
        seed: fields.whole(4) as u64,
        device: fields.text(5),
        threads: fields.small(6),
        parameters: fields.optional_count(7),
        flops_per_step: fields.optional_large(25),
        train_tokens: fields.optional_count(26),
        held_out_hash: fields.optional_text(27),
        evaluated_hash: fields.optional_text(29),
        evaluated_examples: fields.optional_count(30).or_else(|| configs.asked_examples(number)),
        validation_examples: fields.optional_count(31),
        created_ms: fields.time(8),
        started_ms: fields.optional_time(9),
        ended_ms: fields.optional_time(10),
        steps_done: fields.count(11),
        steps_total: fields.optional_count(12),
        tokens: fields.count(13),
        train_secs: fields.secs(14),
        failure,
        diverged,
        health,
        parent,
        note: fields.text(21),
        tags: Vec::new(),
        archived: fields.flag(22),
        deleted_ms,
        metrics: BTreeMap::new(),
    });
    let mut problems = fields.problems();
    problems.extend(configs.unreadable.get(&number).cloned());
    match run {
        Some(run) if problems.is_empty() => Ok((number, run)),
        _ => {
            let name = row.try_get::<Option<&str>, _>(2).ok().flatten().map(str::to_owned);
            Err(DamagedRun { number, id, name, deleted_ms, problems })
        }
    }
}

/// Labels by run, sorted; of one run or of all. A label that cannot be read is left out, and its table noted in `hidden`.
async fn tags(
    connection: &mut SqliteConnection,
    run: Option<i64>,
    hidden: &mut Vec<&'static str>,
) -> sqlx::Result<HashMap<i64, Vec<String>>> {
    let query = match run {
        Some(run) => sqlx::query(
            "SELECT run, IIF(octet_length(tag) <= ?2, tag, NULL) AS tag FROM tags WHERE run = ?1 ORDER BY tag",
        )
        .bind(run)
        .bind(LONGEST_NAME),
        None => sqlx::query("SELECT run, IIF(octet_length(tag) <= ?, tag, NULL) AS tag FROM tags ORDER BY run, tag")
            .bind(LONGEST_NAME),
    };
    let mut tags: HashMap<i64, Vec<String>> = HashMap::new();
    for row in &query.fetch_all(connection).await? {
        let mut fields = Fields::new(row);
        let (run, tag) = (fields.whole(0), fields.text(1));
        match fields.finish(tag) {
            Ok(tag) => tags.entry(run).or_default().push(tag),
            Err(_) => hidden.push("tags"),
        }
    }
    Ok(tags)
}

/// What each series comes to, by run; of one run or of all. Series all of whose points are hidden are left out, and so are
/// rows that cannot be read: their table is noted in `hidden`. Of a run in `restarts` only points up to that step count.
async fn metrics(
    connection: &mut SqliteConnection,
    run: Option<i64>,
    restarts: &HashMap<i64, i64>,
    hidden: &mut Vec<&'static str>,
) -> sqlx::Result<HashMap<i64, BTreeMap<String, SeriesSummary>>> {
    let mut series: HashMap<i64, (String, Direction)> = HashMap::new();
    let names = sqlx::query("SELECT id, IIF(octet_length(name) <= ?, name, NULL) AS name, direction FROM series");
    for row in &names.bind(LONGEST_NAME).fetch_all(&mut *connection).await? {
        let mut fields = Fields::new(row);
        let (id, name, direction) = (fields.whole(0), fields.text(1), fields.text(2));
        match fields.finish((name, Direction::parse(&direction))) {
            Ok(known) => drop(series.insert(id, known)),
            Err(_) => hidden.push("series"),
        }
    }
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
    for row in &query.fetch_all(&mut *connection).await? {
        let mut fields = Fields::new(row);
        let (run, of) = (fields.whole(0), fields.whole(1));
        let Some((name, direction)) = series.get(&of) else { continue };
        let summary = SeriesSummary {
            last: fields.optional_real(2).unwrap_or(f64::NAN),
            last_step: fields.count(3),
            best: fields.optional_real(4),
            best_step: fields.optional_count(5),
            direction: *direction,
            count: fields.count(6),
        };
        match fields.finish(summary) {
            Ok(summary) => drop(metrics.entry(run).or_default().insert(name.clone(), summary)),
            Err(_) => hidden.push("series_summary"),
        }
    }
    let ids: HashMap<&str, (i64, Direction)> =
        series.iter().map(|(id, (name, direction))| (name.as_str(), (*id, *direction))).collect();
    for (run, step) in restarts {
        let Some(of_run) = metrics.get_mut(run) else { continue };
        for (name, summary) in std::mem::take(of_run) {
            let Some((id, direction)) = ids.get(name.as_str()) else { continue };
            // Points that cannot be read are none.
            let current = if summary.last_step as i64 > *step {
                until(&mut *connection, (*run, *id), *direction, step.saturating_add(1)).await.ok().flatten()
            } else {
                Some(summary)
            };
            of_run.extend(current.map(|current| (name, current)));
        }
    }
    for (run, metrics) in &mut metrics {
        let Some(chosen) = metrics.get(series_names::COVERAGE_SCORE_ERROR).map(|found| found.last_step) else {
            continue;
        };
        let end = restarts.get(run).map_or(i64::MAX, |step| step.saturating_add(1));
        // Until then all pairs were scored: that was another model.
        for (name, summary) in metrics.iter_mut() {
            let is_before = summary.best_step.is_some_and(|step| step <= chosen);
            if is_before && (name.starts_with("train/") || name.starts_with("validation/")) {
                let Some((series, _)) = ids.get(name.as_str()) else { continue };
                let (at, steps) = ((*run, *series), chosen as i64 + 1..end);
                // Points that cannot be read have no best value.
                let best = best_within(&mut *connection, at, summary.direction, steps).await.ok().flatten();
                summary.best = best.map(|(_, value)| value);
                summary.best_step = best.map(|(step, _)| step.max(0) as u64);
            }
        }
    }
    Ok(metrics)
}
