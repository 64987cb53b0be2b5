//! Runs that start again: until the new attempt begins, what the dead one did after the state that the run resumes from is not
//! current. It stays in the store, and is seen again if the new attempt never begins.

use std::collections::HashMap;

use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::owners::Owners;
use super::{RunSummary, series_names};

/// The step that each run resumes from which is in the queue or being prepared once more, by number; of one run or of all.
pub(crate) async fn restarts(
    connection: &mut SqliteConnection,
    run: Option<i64>,
    owners: &mut Owners<'_>,
) -> sqlx::Result<HashMap<i64, i64>> {
    let rows = sqlx::query(
        "SELECT number, owner,
             COALESCE((SELECT MAX(step) FROM checkpoints WHERE run = number AND kind <> 'best'), 0)
         FROM runs
         WHERE (?1 IS NULL OR number = ?1) AND state IN ('queued', 'running', 'paused')
             AND EXISTS (SELECT 1 FROM attempts WHERE run = number)
             AND NOT EXISTS (SELECT 1 FROM attempts WHERE run = number AND ended_ms IS NULL)",
    )
    .bind(run)
    .fetch_all(connection)
    .await?;
    // A run whose program died starts no more, and what cannot be read hides nothing.
    let live = rows.iter().filter(|row| owners.is_alive(row.try_get::<Option<&str>, _>(1).ok().flatten()));
    Ok(live.filter_map(|row| Some((row.try_get(0).ok()?, row.try_get::<i64, _>(2).ok()?.max(0)))).collect())
}

/// Makes the summary of a run say how far it was at the step that it resumes from.
pub(crate) async fn rewind(
    connection: &mut SqliteConnection,
    run: i64,
    step: i64,
    summary: &mut RunSummary,
) -> sqlx::Result<()> {
    let (tokens, wall_ms) = reached(connection, run, step).await?;
    (summary.steps_done, summary.tokens, summary.train_secs) =
        (step.max(0) as u64, tokens as u64, wall_ms as f64 / 1e3);
    (summary.health, summary.failure, summary.diverged) = (None, None, None);
    Ok(())
}

/// Writes down how far a run was after `step`, with which its new attempt begins.
pub(crate) async fn rewind_progress(connection: &mut SqliteConnection, run: i64, step: i64) -> sqlx::Result<()> {
    let (tokens, wall_ms) = reached(connection, run, step).await?;
    sqlx::query("UPDATE runs SET steps_done = ?, tokens = ?, train_secs = ? WHERE number = ?")
        .bind(step.max(0))
        .bind(tokens)
        .bind(wall_ms as f64 / 1e3)
        .bind(run)
        .execute(connection)
        .await?;
    Ok(())
}

/// Tokens and milliseconds of training after a step, by the loss that was logged there.
async fn reached(connection: &mut SqliteConnection, run: i64, step: i64) -> sqlx::Result<(i64, i64)> {
    let row = sqlx::query(
        "SELECT tokens, wall_ms FROM points
         WHERE run = ? AND series = (SELECT id FROM series WHERE name = ?) AND step = ? ORDER BY attempt DESC LIMIT 1",
    )
    .bind(run)
    .bind(series_names::TRAIN_LOSS)
    .bind(step)
    .fetch_optional(connection)
    .await?;
    let number =
        |place: usize| row.as_ref().and_then(|row| row.try_get::<i64, _>(place).ok()).unwrap_or_default().max(0);
    Ok((number(0), number(1)))
}
