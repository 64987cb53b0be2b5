use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::clock::now_ms;
use super::edit::known_number;
use super::entry::OtherEntry;
use super::fault::Fault;
use super::windows::windows;
use super::{
    CheckpointKind, CheckpointRecord, NewCheckpoint, NewSnapshot, RunId, SnapshotData, SnapshotRecord, Store,
    StoreError, TextSample, snapshot_kinds,
};

impl Store {
    /// Records a checkpoint that was written, and waits for it.
    pub fn record_checkpoint(&self, run: &RunId, checkpoint: NewCheckpoint) -> Result<(), StoreError> {
        self.record(run)?;
        self.write(OtherEntry::Checkpoint { run: run.clone(), checkpoint, at_ms: now_ms() })
    }

    /// A run's checkpoints by step.
    pub fn checkpoints(&self, run: &RunId) -> Result<Vec<CheckpointRecord>, StoreError> {
        self.read(async |connection| {
            let number = known_number(connection, run).await?;
            // Earlier versions kept the best value so far beside every checkpoint: only one that was measured at the
            // checkpoint's own step is the checkpoint's.
            let rows = sqlx::query(
                "SELECT step, path, kind, IIF(is_own, metric, NULL), IIF(is_own, value, NULL), bytes, created_ms
                 FROM (SELECT *, EXISTS (SELECT 1 FROM points WHERE points.run = checkpoints.run
                           AND points.series = (SELECT id FROM series WHERE name = checkpoints.metric)
                           AND points.step = checkpoints.step AND points.value = checkpoints.value) AS is_own
                       FROM checkpoints WHERE run = ?)
                 ORDER BY step, kind",
            )
            .bind(number)
            .fetch_all(connection)
            .await?;
            let read = |row: &SqliteRow| {
                Ok(CheckpointRecord {
                    step: row.try_get::<i64, _>(0)? as u64,
                    path: self.paths().kept_path(row.try_get(1)?),
                    kind: CheckpointKind::parse(row.try_get(2)?).unwrap_or(CheckpointKind::Kept),
                    metric: row.try_get(3)?,
                    value: row.try_get(4)?,
                    bytes: row.try_get::<i64, _>(5)? as u64,
                    created_ms: row.try_get(6)?,
                })
            };
            Ok(rows.iter().map(read).collect::<sqlx::Result<_>>()?)
        })
    }

    /// Keeps a snapshot of the run's newest attempt, and waits for it.
    pub fn record_snapshot(&self, run: &RunId, snapshot: NewSnapshot) -> Result<(), StoreError> {
        self.record(run)?;
        self.write(OtherEntry::Snapshot { run: run.clone(), attempt: 0, snapshot, at_ms: now_ms() })
    }

    /// A run's snapshots of one kind, or of all, without their elements, by step. Those that a later attempt did again
    /// are hidden.
    pub fn snapshots(&self, run: &RunId, kind: Option<&str>) -> Result<Vec<SnapshotRecord>, StoreError> {
        self.read(async |connection| {
            let number = known_number(connection, run).await?;
            let rows = sqlx::query(
                "SELECT id, step, kind, layer, head, dtype, shape, created_ms, LENGTH(data), attempt FROM snapshots
                 WHERE run = ?1 AND (?2 IS NULL OR kind = ?2) ORDER BY step, kind, layer, head",
            )
            .bind(number)
            .bind(kind)
            .fetch_all(&mut *connection)
            .await?;
            let windows = windows(connection, number).await?;
            let mut records = Vec::with_capacity(rows.len());
            for row in &rows {
                let (step, attempt): (i64, i64) = (row.try_get(1)?, row.try_get(9)?);
                let is_seen = |window: &super::windows::Window| {
                    window.attempt == attempt
                        && ((window.start..window.end).contains(&step) || (step == 0 && window.start == 1))
                };
                if windows.iter().any(is_seen) {
                    records.push(snapshot_record(row)?);
                }
            }
            Ok(records)
        })
    }

    /// A snapshot with its elements.
    pub fn snapshot(&self, id: i64) -> Result<SnapshotData, StoreError> {
        self.read(async |connection| {
            let row = sqlx::query(
                "SELECT id, step, kind, layer, head, dtype, shape, created_ms, LENGTH(data), data FROM snapshots
                 WHERE id = ?",
            )
            .bind(id)
            .fetch_optional(connection)
            .await?;
            let row = row.ok_or(Fault::Store(StoreError::NoSuchSnapshot { id }))?;
            Ok(SnapshotData { record: snapshot_record(&row)?, data: row.try_get(9)? })
        })
    }

    /// A run's text samples by step.
    pub fn samples(&self, run: &RunId) -> Result<Vec<TextSample>, StoreError> {
        let records = self.snapshots(run, Some(snapshot_kinds::SAMPLE))?;
        let read = |record: SnapshotRecord| {
            let data = self.snapshot(record.id)?.data;
            let text = String::from_utf8_lossy(&data).into_owned();
            Ok(TextSample { step: record.step, text, created_ms: record.created_ms })
        };
        records.into_iter().map(read).collect()
    }

    /// Reads the whole database for damage. Takes a while on a large one.
    pub fn verify(&self) -> Result<(), StoreError> {
        self.read(async |connection: &mut SqliteConnection| {
            let found: String = sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(connection).await?;
            if found == "ok" {
                return Ok(());
            }
            Err(StoreError::Corrupt { path: self.paths().database().to_owned(), reason: found }.into())
        })
    }
}

fn snapshot_record(row: &SqliteRow) -> sqlx::Result<SnapshotRecord> {
    let place = |place: i64| u32::try_from(place).ok();
    let shape: &str = row.try_get(6)?;
    Ok(SnapshotRecord {
        id: row.try_get(0)?,
        step: row.try_get::<i64, _>(1)? as u64,
        kind: row.try_get(2)?,
        layer: place(row.try_get(3)?),
        head: place(row.try_get(4)?),
        dtype: row.try_get(5)?,
        shape: shape.split(',').filter_map(|size| size.parse().ok()).collect(),
        created_ms: row.try_get(7)?,
        bytes: row.try_get::<i64, _>(8)? as u64,
    })
}
