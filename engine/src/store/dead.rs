use sqlx::Connection;
use sqlx::sqlite::SqliteConnection;

use super::apply::{Keys, Source, apply};
use super::clock::now_ms;
use super::fault::Fault;
use super::instance::{self, InstanceId};
use super::spill::Spill;
use super::{RunId, StorePaths, StoreWarning, kinds};

/// Brings in what dead programs left: first their spill files, then their runs become interrupted.
pub(crate) async fn clean_up(
    connection: &mut SqliteConnection,
    paths: &StorePaths,
    warnings: &mut Vec<StoreWarning>,
) -> Result<Vec<RunId>, Fault> {
    let mut known: Vec<Vec<u8>> = sqlx::query_scalar("SELECT CAST(id AS BLOB) FROM instances WHERE id IS NOT NULL")
        .fetch_all(&mut *connection)
        .await?;
    known.extend(instance::spilled(paths).iter().map(|id| id.as_str().as_bytes().to_vec()));
    // Runs whose instance has no row: its program closed while the database was locked.
    let owners: Vec<Vec<u8>> =
        sqlx::query_scalar("SELECT DISTINCT CAST(owner AS BLOB) FROM runs WHERE owner IS NOT NULL")
            .fetch_all(&mut *connection)
            .await?;
    known.extend(owners);
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
    let Ok((entries, damaged)) = Spill::read(&path) else { return Ok(()) };
    if !entries.is_empty() {
        let source = Source { paths, instance: id.as_str(), is_late: true };
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        apply(&mut transaction, &entries, &mut Keys::default(), source).await?;
        transaction.commit().await?;
        warnings.push(StoreWarning::Merged { records: entries.len() as u64 });
    }
    if damaged > 0 {
        let kept = path.with_extension("damaged");
        let _ = std::fs::rename(&path, &kept);
        warnings.push(StoreWarning::SpillDamaged { lines: damaged, path: kept });
    } else {
        let _ = std::fs::remove_file(&path);
    }
    Ok(())
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
