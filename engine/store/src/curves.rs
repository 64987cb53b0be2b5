use sqlx::sqlite::SqliteConnection;

use super::edit::known_number;
use super::fault::Fault;
use super::fields::Fields;
use super::windows::{Window, windows};
use super::{Cursor, Cut, RunId, SeriesData, Store, StoreError};

impl Store {
    /// Points of one series in step order: all, or with a cursor only those that came after it.
    ///
    /// Something else than new points at the end (a resume that hides points, entries that came late) makes the
    /// answer whole again, see [`SeriesData::is_whole`]. A series that nobody logged is empty.
    pub fn series(&self, run: &RunId, name: &str, after: Option<Cursor>) -> Result<SeriesData, StoreError> {
        self.read(async |connection| series(connection, run, name, after).await)
    }
}

impl Store {
    /// The value of a series at a step in the newest attempt that logged one there, hidden or not.
    pub fn logged_value(&self, run: &RunId, name: &str, step: u64) -> Result<Option<f64>, StoreError> {
        self.read(async |connection| {
            let number = known_number(connection, run).await?;
            let row = sqlx::query(
                "SELECT value FROM points WHERE run = ? AND series = (SELECT id FROM series WHERE name = ?) AND step = ?
                 ORDER BY attempt DESC LIMIT 1",
            )
            .bind(number)
            .bind(name)
            .bind(step as i64)
            .fetch_optional(connection)
            .await?;
            Ok(row.and_then(|row| Fields::new(&row).optional_real(0)))
        })
    }
}

async fn series(
    connection: &mut SqliteConnection,
    run: &RunId,
    name: &str,
    after: Option<Cursor>,
) -> Result<SeriesData, Fault> {
    let run = known_number(connection, run).await?;
    let known: Option<(i64, i64)> = sqlx::query_as(
        "SELECT series, revision FROM series_summary JOIN series ON id = series WHERE run = ? AND name = ?",
    )
    .bind(run)
    .bind(name)
    .fetch_optional(&mut *connection)
    .await?;
    let Some((series, revision)) = known else { return Ok(SeriesData { is_whole: true, ..SeriesData::default() }) };
    let after = after.filter(|cursor| cursor.revision == revision);
    let mut data = SeriesData { is_whole: after.is_none(), ..SeriesData::default() };
    let mut cursor = after.unwrap_or(Cursor { revision, attempt: 0, step: -1 });
    for window in windows(connection, run).await? {
        if window.attempt < cursor.attempt {
            continue;
        }
        let is_same = window.attempt == cursor.attempt;
        let start = if is_same { cursor.step.saturating_add(1) } else { window.start };
        let index = data.len();
        read_window(connection, run, series, Window { start, ..window }, &mut data).await?;
        if let Some(step) = data.steps.last().filter(|_| data.len() > index) {
            cursor = Cursor { revision, attempt: window.attempt, step: *step as i64 };
            if window.attempt > 1 && !is_same {
                data.cuts.push(Cut {
                    attempt: u32::try_from(window.attempt).unwrap_or(u32::MAX),
                    first_step: window.start.max(0) as u64,
                    index,
                });
            }
        }
    }
    data.cursor = Some(cursor);
    Ok(data)
}

async fn read_window(
    connection: &mut SqliteConnection,
    run: i64,
    series: i64,
    window: Window,
    data: &mut SeriesData,
) -> sqlx::Result<()> {
    let rows = sqlx::query(
        "SELECT step, value, wall_ms, tokens FROM points
         WHERE run = ? AND series = ? AND attempt = ? AND step >= ? AND step < ? ORDER BY step",
    )
    .bind(run)
    .bind(series)
    .bind(window.attempt)
    .bind(window.start)
    .bind(window.end)
    .fetch_all(connection)
    .await?;
    for row in &rows {
        let mut fields = Fields::new(row);
        let (step, wall_ms, tokens) = (fields.count(0), fields.count(2), fields.count(3));
        let value = fields.optional_real(1).unwrap_or(f64::NAN);
        // A point that cannot be read hides itself alone.
        if fields.finish(()).is_ok() {
            data.steps.push(step);
            data.values.push(value);
            data.wall_ms.push(wall_ms);
            data.tokens.push(tokens);
        }
    }
    Ok(())
}
