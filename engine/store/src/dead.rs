use std::collections::BTreeSet;

use sqlx::Connection;
use sqlx::sqlite::SqliteConnection;

use super::apply::{Keys, Source, apply, run_number};
use super::clock::now_ms;
use super::entry::Entry;
use super::fault::Fault;
use super::instance::{self, InstanceId};
use super::sizes::LONGEST_NAME;
use super::spill::Batches;
use super::{RunId, StorePaths, StoreWarning, kinds};

/// Brings in what dead programs left: first their spill files, then their runs become interrupted.
pub(crate) async fn clean_up(
    connection: &mut SqliteConnection,
    paths: &StorePaths,
    warnings: &mut Vec<StoreWarning>,
) -> Result<Vec<RunId>, Fault> {
    // Owners too: the instance of some has no row, since its program closed while the database was locked.
    let mut known: Vec<Vec<u8>> = sqlx::query_scalar(
        "SELECT CAST(id AS BLOB) FROM instances WHERE octet_length(id) <= ?1
         UNION SELECT CAST(owner AS BLOB) FROM runs WHERE octet_length(owner) <= ?1",
    )
    .bind(LONGEST_NAME)
    .fetch_all(&mut *connection)
    .await?;
    known.extend(instance::spilled(paths).iter().map(|id| id.as_str().as_bytes().to_vec()));
    known.sort();
    known.dedup();
    let mut interrupted = Vec::new();
    for name in &known {
        // What is no name of an instance is that of no living program, and names no file.
        let id = std::str::from_utf8(name).ok().and_then(|text| text.parse::<InstanceId>().ok());
        if let Some(id) = &id {
            if instance::is_alive(paths, id) {
                continue;
            }
            merge(connection, paths, id, warnings).await?;
        }
        interrupted.extend(interrupt_named(connection, name).await?);
    }
    instance::remove_dead_locks(paths);
    Ok(interrupted)
}

/// Brings in the spill file of a dead instance.
async fn merge(
    connection: &mut SqliteConnection,
    paths: &StorePaths,
    id: &InstanceId,
    warnings: &mut Vec<StoreWarning>,
) -> Result<(), Fault> {
    let path = instance::spill_path(paths, id);
    // A link, a pipe or a folder is no spill file of ours.
    if !kinds::is_plain_file(&path).unwrap_or(false) {
        return Ok(());
    }
    // What cannot be read now is left for the next time.
    let Ok(mut batches) = Batches::open(&path) else { return Ok(()) };
    let source = Source { paths, instance: id.as_str(), is_late: true };
    let (mut records, mut is_unclaimed) = (0, false);
    loop {
        let entries = match batches.read_batch() {
            Ok(Some(entries)) => entries,
            Ok(None) => break,
            Err(_) => return Ok(()),
        };
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        is_unclaimed |= !holds_runs(&mut transaction, &entries).await?;
        apply(&mut transaction, &entries, &mut Keys::default(), source).await?;
        transaction.commit().await?;
        records += entries.len() as u64;
    }
    if is_unclaimed {
        // Of runs in a database that was removed, or is newer than this copy of it: it may come back.
        warnings.push(StoreWarning::Unclaimed { path });
        return Ok(());
    }
    if records > 0 {
        warnings.push(StoreWarning::Merged { records });
    }
    let damaged = batches.damaged();
    if damaged > 0 {
        let kept = path.with_extension("damaged");
        let _ = std::fs::rename(&path, &kept);
        warnings.push(StoreWarning::SpillDamaged { lines: damaged, path: kept });
    } else {
        let _ = std::fs::remove_file(&path);
    }
    Ok(())
}

/// Returns true if the database has the runs of all entries.
async fn holds_runs(connection: &mut SqliteConnection, entries: &[Entry]) -> sqlx::Result<bool> {
    let runs: BTreeSet<&RunId> = entries.iter().map(Entry::run).collect();
    for run in runs {
        if run_number(connection, run).await?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Ends the active runs of an instance as interrupted, and forgets the instance.
pub(crate) async fn interrupt(connection: &mut SqliteConnection, id: &InstanceId) -> sqlx::Result<Vec<RunId>> {
    interrupt_named(connection, id.as_str().as_bytes()).await
}

/// The same for whatever stands in the store as the name of an instance.
async fn interrupt_named(connection: &mut SqliteConnection, name: &[u8]) -> sqlx::Result<Vec<RunId>> {
    let now = now_ms();
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let runs: Vec<(i64, Vec<u8>)> = sqlx::query_as(
        "UPDATE runs SET state = 'interrupted', state_ms = ?1, owner = NULL, ended_ms = ?1
         WHERE owner = CAST(?2 AS TEXT) AND state IN ('queued', 'running', 'paused')
         RETURNING number, CAST(id AS BLOB)",
    )
    .bind(now)
    .bind(name)
    .fetch_all(&mut *transaction)
    .await?;
    for (number, _) in &runs {
        sqlx::query("UPDATE attempts SET ended_ms = ? WHERE run = ? AND ended_ms IS NULL")
            .bind(now)
            .bind(number)
            .execute(&mut *transaction)
            .await?;
    }
    for forget in [
        "UPDATE runs SET owner = NULL WHERE owner = CAST(? AS TEXT)",
        "DELETE FROM instances WHERE id = CAST(? AS TEXT)",
    ] {
        sqlx::query(forget).bind(name).execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    // A damaged run has no id.
    let ids = runs.into_iter().filter_map(|(_, id)| std::str::from_utf8(&id).ok()?.parse().ok());
    Ok(ids.collect())
}
