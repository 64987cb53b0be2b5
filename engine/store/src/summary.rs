use std::collections::HashMap;
use std::ops::Range;

use sqlx::sqlite::SqliteConnection;

use super::rows::{Newest, Row};
use super::windows::{Window, windows};
use super::{Direction, SeriesSummary};

/// Brings the summaries up to date with rows that were just inserted (sorted by run, series, attempt, step).
///
/// `all_new`: none of the rows was there before; `newest`: the newest attempt of each run.
pub(crate) async fn update(
    connection: &mut SqliteConnection,
    rows: &[Row],
    all_new: bool,
    newest: &HashMap<i64, Newest>,
) -> sqlx::Result<()> {
    for rows in rows.chunk_by(|left, right| (left.run, left.series) == (right.run, right.series)) {
        let Some(first) = rows.first() else { continue };
        let is_newest = newest
            .get(&first.run)
            .is_some_and(|newest| rows.iter().all(|row| row.attempt == newest.attempt) && first.step >= newest.start);
        if !(all_new && is_newest && append(connection, rows).await?) {
            recompute(connection, first.run, first.series).await?;
        }
    }
    Ok(())
}

/// Columns of a summary: direction, last attempt and step, best value and step, count.
type Known = (String, Option<i64>, Option<i64>, Option<f64>, Option<i64>, Option<i64>);

/// Adds rows that come after all others; false if they do not.
async fn append(connection: &mut SqliteConnection, rows: &[Row]) -> sqlx::Result<bool> {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Ok(true) };
    let (direction, last_attempt, last_step, mut best, mut best_step, count): Known = sqlx::query_as(
        "SELECT direction, last_attempt, last_step, best, best_step, count
         FROM series LEFT JOIN series_summary ON series = id AND run = ? WHERE id = ?",
    )
    .bind(first.run)
    .bind(first.series)
    .fetch_one(&mut *connection)
    .await?;
    let end = last_attempt.zip(last_step);
    if end.is_some_and(|end| (first.attempt, first.step) <= end) {
        return Ok(false);
    }
    let direction = Direction::parse(&direction);
    for row in rows {
        if direction.improves(row.value, best) {
            (best, best_step) = (Some(row.value), Some(row.step));
        }
    }
    sqlx::query(
        "INSERT INTO series_summary (run, series, count, last_attempt, last_step, last, best_step, best)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET count = excluded.count, last_attempt = excluded.last_attempt,
             last_step = excluded.last_step, last = excluded.last, best_step = excluded.best_step, best = excluded.best",
    )
    .bind(first.run)
    .bind(first.series)
    .bind(count.unwrap_or(0).saturating_add(rows.len() as i64))
    .bind(last.attempt)
    .bind(last.step)
    .bind((!last.value.is_nan()).then_some(last.value))
    .bind(best_step)
    .bind(best)
    .execute(connection)
    .await?;
    Ok(true)
}

/// Works out every summary of a run again: a new attempt hides points.
pub(crate) async fn recompute_run(connection: &mut SqliteConnection, run: i64) -> sqlx::Result<()> {
    let series: Vec<i64> = sqlx::query_scalar("SELECT series FROM series_summary WHERE run = ?")
        .bind(run)
        .fetch_all(&mut *connection)
        .await?;
    for series in series {
        recompute(connection, run, series).await?;
    }
    Ok(())
}

/// Works out a summary again from the visible points, and tells live readers to start over.
async fn recompute(connection: &mut SqliteConnection, run: i64, series: i64) -> sqlx::Result<()> {
    let direction: String = sqlx::query_scalar("SELECT direction FROM series WHERE id = ?")
        .bind(series)
        .fetch_one(&mut *connection)
        .await?;
    let direction = Direction::parse(&direction);
    let mut count = 0;
    let mut last: Option<(i64, i64, Option<f64>)> = None;
    let mut best: Option<(i64, f64)> = None;
    for window in windows(connection, run).await? {
        count += count_in(connection, run, series, window).await?;
        if let Some((step, value)) = last_in(connection, run, series, window).await? {
            last = Some((window.attempt, step, value));
        }
        if let Some((step, value)) = best_in(connection, run, series, window, direction).await?
            && direction.improves(value, best.map(|(_, best)| best))
        {
            best = Some((step, value));
        }
    }
    // Everything may be hidden: then the summary stays as a place for the revision, and is not shown.
    let (last_attempt, last_step, last) = last.unwrap_or((0, -1, None));
    sqlx::query(
        "INSERT INTO series_summary (run, series, count, last_attempt, last_step, last, best_step, best, revision)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)
         ON CONFLICT DO UPDATE SET count = excluded.count, last_attempt = excluded.last_attempt,
             last_step = excluded.last_step, last = excluded.last, best_step = excluded.best_step,
             best = excluded.best, revision = revision + 1",
    )
    .bind(run)
    .bind(series)
    .bind(count)
    .bind(last_attempt)
    .bind(last_step)
    .bind(last)
    .bind(best.map(|(step, _)| step))
    .bind(best.map(|(_, value)| value))
    .execute(connection)
    .await?;
    Ok(())
}

/// The best visible point of a series at these steps.
pub(crate) async fn best_within(
    connection: &mut SqliteConnection,
    (run, series): (i64, i64),
    direction: Direction,
    steps: Range<i64>,
) -> sqlx::Result<Option<(i64, f64)>> {
    let mut best: Option<(i64, f64)> = None;
    for window in windows(connection, run).await? {
        let window = Window { start: window.start.max(steps.start), end: window.end.min(steps.end), ..window };
        if let Some((step, value)) = best_in(connection, run, series, window, direction).await?
            && direction.improves(value, best.map(|(_, best)| best))
        {
            best = Some((step, value));
        }
    }
    Ok(best)
}

/// The summary of a series that its visible points below step `end` come to; none where there are none.
pub(crate) async fn until(
    connection: &mut SqliteConnection,
    (run, series): (i64, i64),
    direction: Direction,
    end: i64,
) -> sqlx::Result<Option<SeriesSummary>> {
    let (mut count, mut last) = (0, None);
    for window in windows(connection, run).await? {
        let window = Window { end: window.end.min(end), ..window };
        count += count_in(connection, run, series, window).await?;
        last = last_in(connection, run, series, window).await?.or(last);
    }
    let Some((last_step, last)) = last else { return Ok(None) };
    let best = best_within(connection, (run, series), direction, 0..end).await?;
    Ok(Some(SeriesSummary {
        last: last.unwrap_or(f64::NAN),
        last_step: last_step.max(0) as u64,
        best: best.map(|(_, value)| value),
        best_step: best.map(|(step, _)| step.max(0) as u64),
        direction,
        count: count.max(0) as u64,
    }))
}

async fn count_in(connection: &mut SqliteConnection, run: i64, series: i64, window: Window) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        "SELECT COUNT(*) FROM points WHERE run = ? AND series = ? AND attempt = ? AND step >= ? AND step < ?",
    )
    .bind(run)
    .bind(series)
    .bind(window.attempt)
    .bind(window.start)
    .bind(window.end)
    .fetch_one(connection)
    .await
}

async fn last_in(
    connection: &mut SqliteConnection,
    run: i64,
    series: i64,
    window: Window,
) -> sqlx::Result<Option<(i64, Option<f64>)>> {
    sqlx::query_as(
        "SELECT step, value FROM points WHERE run = ? AND series = ? AND attempt = ? AND step >= ? AND step < ?
         ORDER BY step DESC LIMIT 1",
    )
    .bind(run)
    .bind(series)
    .bind(window.attempt)
    .bind(window.start)
    .bind(window.end)
    .fetch_optional(connection)
    .await
}

async fn best_in(
    connection: &mut SqliteConnection,
    run: i64,
    series: i64,
    window: Window,
    direction: Direction,
) -> sqlx::Result<Option<(i64, f64)>> {
    // 9e999 is how SQLite writes infinity.
    let sql = match direction {
        Direction::None => return Ok(None),
        Direction::Lower => {
            "SELECT step, value FROM points WHERE run = ? AND series = ? AND attempt = ? AND step >= ? AND step < ?
                 AND value IS NOT NULL AND ABS(value) < 9e999 ORDER BY value, step LIMIT 1"
        }
        Direction::Higher => {
            "SELECT step, value FROM points WHERE run = ? AND series = ? AND attempt = ? AND step >= ? AND step < ?
                 AND value IS NOT NULL AND ABS(value) < 9e999 ORDER BY value DESC, step LIMIT 1"
        }
    };
    sqlx::query_as(sql)
        .bind(run)
        .bind(series)
        .bind(window.attempt)
        .bind(window.start)
        .bind(window.end)
        .fetch_optional(connection)
        .await
}
