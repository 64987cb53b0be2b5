use std::path::Path;

use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::clock::now_ms;
use super::edit::known_number;
use super::entry::OtherEntry;
use super::fault::Fault;
use super::fields::Fields;
use super::owners::Owners;
use super::restart::restarts;
use super::windows::windows;
use super::{
    CheckpointKind, CheckpointRecord, NewCheckpoint, NewSnapshot, RunId, SnapshotData, SnapshotRecord, Store,
    StoreError, TextSample, inside, snapshot_kinds,
};

impl Store {
    /// Records a checkpoint that was written, and waits for it.
    pub fn record_checkpoint(&self, run: &RunId, checkpoint: NewCheckpoint) -> Result<(), StoreError> {
        self.record(run)?;
        self.write(OtherEntry::Checkpoint { run: run.clone(), checkpoint, at_ms: now_ms() })
    }

    /// A run's checkpoints by step. One that is not to be read says why ([`CheckpointRecord::problem`]); records that cannot
    /// be read are left out.
    pub fn checkpoints(&self, run: &RunId) -> Result<Vec<CheckpointRecord>, StoreError> {
        let (records, hidden) = self.checkpoints_and_hidden(run)?;
        if hidden > 0 {
            self.warn_hidden("checkpoints");
        }
        Ok(records)
    }

    /// A run's checkpoints, and the number of records that cannot be read.
    pub(crate) fn checkpoints_and_hidden(&self, run: &RunId) -> Result<(Vec<CheckpointRecord>, usize), StoreError> {
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
            let records: Vec<_> = rows.iter().filter_map(|row| self.checkpoint_record(run, row)).collect();
            let hidden = rows.len() - records.len();
            Ok((records, hidden))
        })
    }

    fn checkpoint_record(&self, run: &RunId, row: &SqliteRow) -> Option<CheckpointRecord> {
        let mut fields = Fields::new(row);
        let (kept, kind) = (fields.text(1), fields.text(2));
        let name = self.paths().checkpoint_name(run, Path::new(&kept));
        let record = CheckpointRecord {
            step: fields.count(0),
            path: match &name {
                Ok(name) => self.paths().checkpoints(run).join(name),
                Err(_) => self.paths().kept_path(&kept),
            },
            kind: CheckpointKind::parse(&kind).unwrap_or(CheckpointKind::Kept),
            metric: fields.optional_text(3),
            value: fields.optional_real(4),
            bytes: fields.count(5),
            created_ms: fields.time(6),
            problem: match &name {
                Ok(name) => inside::checkpoint_problem(self.paths(), run, name),
                Err(why) => Some(why.clone()),
            },
        };
        fields.finish(record).ok()
    }

    /// Keeps a snapshot of the run's newest attempt, and waits for it.
    pub fn record_snapshot(&self, run: &RunId, snapshot: NewSnapshot) -> Result<(), StoreError> {
        self.record(run)?;
        self.write(OtherEntry::Snapshot { run: run.clone(), attempt: 0, snapshot, at_ms: now_ms() })
    }

    /// A run's snapshots of one kind, or of all, without their elements, by step. Those that a later attempt did again
    /// are hidden, and so are those of after the state that a run resumes from while it starts again.
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
            let restarts = restarts(connection, Some(number), &mut Owners::new(self.paths())).await?;
            let end = restarts.get(&number).map_or(i64::MAX, |step| step.saturating_add(1));
            let windows = windows(connection, number).await?;
            let mut records = Vec::with_capacity(rows.len());
            for row in &rows {
                let (Ok(step), Ok(attempt)) = (row.try_get::<i64, _>(1), row.try_get::<i64, _>(9)) else {
                    self.warn_hidden("snapshots");
                    continue;
                };
                let is_seen = step < end && windows.iter().any(|window| window.shows(attempt, step));
                match snapshot_record(row) {
                    Ok(record) if is_seen => records.push(record),
                    Ok(_) => {}
                    Err(_) => self.warn_hidden("snapshots"),
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
            let unreadable = |problems: Vec<String>| {
                Fault::Store(StoreError::SnapshotUnreadable { id, reason: problems.join("; ") })
            };
            Ok(SnapshotData { record: snapshot_record(&row).map_err(unreadable)?, data: row.try_get(9)? })
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

fn snapshot_record(row: &SqliteRow) -> Result<SnapshotRecord, Vec<String>> {
    let place = |place: i64| u32::try_from(place).ok();
    let mut fields = Fields::new(row);
    let shape = fields.text(6);
    let record = SnapshotRecord {
        id: fields.whole(0),
        step: fields.count(1),
        kind: fields.text(2),
        layer: place(fields.whole(3)),
        head: place(fields.whole(4)),
        dtype: fields.text(5),
        shape: shape.split(',').filter_map(|size| size.parse().ok()).collect(),
        created_ms: fields.time(7),
        bytes: fields.count(8),
    };
    fields.finish(record)
}
