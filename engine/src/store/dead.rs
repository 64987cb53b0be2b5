use sqlx::Connection;
use sqlx::sqlite::SqliteConnection;

use super::apply::{Keys, Source, apply};
use super::clock::now_ms;
use super::fault::Fault;
use super::spill::Spill;
use super::{RunId, StorePaths, StoreWarning, instance};

/// Brings in what dead programs left: first their spill files, then their runs become interrupted.
pub(crate) async fn clean_up(
    connection: &mut SqliteConnection,
    paths: &StorePaths,
    warnings: &mut Vec<StoreWarning>,
) -> Result<Vec<RunId>, Fault> {
    let mut known: Vec<String> = sqlx::query_scalar("SELECT id FROM instances").fetch_all(&mut *connection).await?;
    known.extend(instance::spilled(paths));
    // Runs whose instance has no row: its program closed while the database was locked.
    let owners: Vec<String> = sqlx::query_scalar("SELECT DISTINCT owner FROM runs WHERE owner IS NOT NULL")
        .fetch_all(&mut *connection)
        .await?;
    known.extend(owners);
    known.sort();
    known.dedup();
    let mut interrupted = Vec::new();
    for id in known.iter().filter(|id| !instance::is_alive(paths, id)) {
        merge(connection, paths, id, warnings).await?;
        interrupted.extend(interrupt(connection, id).await?);
        instance::remove_lock(paths, id);
    }
    Ok(interrupted)
}

/// Brings in the spill file of a dead instance.
async fn merge(
    connection: &mut SqliteConnection,
    paths: &StorePaths,
    id: &str,
    warnings: &mut Vec<StoreWarning>,
) -> Result<(), Fault> {
    let path = instance::spill_path(paths, id);
    // What cannot be read now is left for the next time.
    let Ok((entries, damaged)) = Spill::read(&path) else { return Ok(()) };
    if !entries.is_empty() {
        let source = Source { paths, instance: id, is_late: true };
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
pub(crate) async fn interrupt(connection: &mut SqliteConnection, id: &str) -> sqlx::Result<Vec<RunId>> {
    let now = now_ms();
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let runs: Vec<(i64, String)> = sqlx::query_as(
        "UPDATE runs SET state = 'interrupted', state_ms = ?1, owner = NULL, ended_ms = ?1
         WHERE owner = ?2 AND state IN ('queued', 'running', 'paused') RETURNING number, id",
    )
    .bind(now)
    .bind(id)
    .fetch_all(&mut *transaction)
    .await?;
    for (number, _) in &runs {
        sqlx::query("UPDATE attempts SET ended_ms = ? WHERE run = ? AND ended_ms IS NULL")
            .bind(now)
            .bind(number)
            .execute(&mut *transaction)
            .await?;
    }
    sqlx::query("UPDATE runs SET owner = NULL WHERE owner = ?").bind(id).execute(&mut *transaction).await?;
    sqlx::query("DELETE FROM instances WHERE id = ?").bind(id).execute(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(runs.into_iter().map(|(_, id)| RunId::from(id)).collect())
}
