use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::sqlite::{SqliteAutoVacuum, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection};

use super::clock::now_ms;
use super::{StoreError, StorePaths};

static MIGRATIONS: Migrator = sqlx::migrate!("../migrations");

/// Marks the database as Headroom's (SQLite's `application_id`): "Head".
const APPLICATION: i64 = 0x4865_6164;
/// What an SQLite file begins with.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// How long opening waits for another program.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the writing thread waits for another program before it puts what it has aside.
const WRITER_PATIENCE_MS: &str = "PRAGMA busy_timeout = 250";
const WRITER_PATIENCE: Duration = Duration::from_millis(250);

/// Every table, touched once so that damage shows at the door.
const TOUCH: [&str; 15] = [
    "SELECT 1 FROM advice LIMIT 1",
    "SELECT 1 FROM analyses LIMIT 1",
    "SELECT 1 FROM attempts LIMIT 1",
    "SELECT 1 FROM benchmarks LIMIT 1",
    "SELECT 1 FROM checkpoints LIMIT 1",
    "SELECT 1 FROM example_outcomes LIMIT 1",
    "SELECT 1 FROM instances LIMIT 1",
    "SELECT 1 FROM points LIMIT 1",
    "SELECT 1 FROM run_configs LIMIT 1",
    "SELECT 1 FROM runs LIMIT 1",
    "SELECT 1 FROM runs ORDER BY number DESC LIMIT 1",
    "SELECT 1 FROM series LIMIT 1",
    "SELECT 1 FROM series_summary LIMIT 1",
    "SELECT 1 FROM snapshots LIMIT 1",
    "SELECT 1 FROM tags LIMIT 1",
];

/// The newest format that this program knows.
pub(crate) fn known_version() -> i64 {
    MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or(0)
}

/// Makes the store's folder, and sees that the files in it can be written.
pub(crate) fn prepare_folder(paths: &StorePaths) -> Result<(), StoreError> {
    let folder = paths.root();
    fs::create_dir_all(folder)
        .map_err(|error| StoreError::Folder { path: folder.to_owned(), reason: error.to_string() })?;
    match OpenOptions::new().write(true).open(paths.database()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(not_writable(paths, &error)),
        _ => Ok(()),
    }
}

/// The error of a file operation in the store's folder.
pub(crate) fn not_writable(paths: &StorePaths, error: &io::Error) -> StoreError {
    StoreError::NotWritable { path: paths.database().to_owned(), reason: error.to_string() }
}

/// Refuses a file that is no SQLite database, before SQLite touches it. A file of no length is as good as none.
pub(crate) fn check_header(path: &Path) -> Result<(), StoreError> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened.map_err(|error| StoreError::Database { path: path.to_owned(), reason: error.to_string() })?,
    };
    let mut header = Vec::new();
    let read = file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut header);
    read.map_err(|error| StoreError::Database { path: path.to_owned(), reason: error.to_string() })?;
    if header.is_empty() || header == MAGIC { Ok(()) } else { Err(StoreError::NotADatabase { path: path.to_owned() }) }
}

/// Opens the writing connection: makes the database or brings it up to date.
pub(crate) async fn open_writer(paths: &StorePaths) -> Result<SqliteConnection, StoreError> {
    let path = paths.database();
    let fault = |error: sqlx::Error| StoreError::from_sqlx(&error, path);
    // First without the settings that write, so that a file that is refused stays as it is.
    let plain = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .busy_timeout(PATIENCE)
        .pragma("trusted_schema", "OFF")
        .disable_statement_logging();
    let mut connection = SqliteConnection::connect_with(&plain).await.map_err(fault)?;
    let found = version(&mut connection, path).await?;
    let _ = connection.close().await;

    let mut connection = SqliteConnection::connect_with(&settled(plain)).await.map_err(fault)?;
    if found.is_none() {
        // "Head" as above; a pragma takes no parameters.
        sqlx::query("PRAGMA application_id = 1214603620").execute(&mut connection).await.map_err(fault)?;
    }
    MIGRATIONS.run(&mut connection).await.map_err(|error| migration_error(&error, path))?;
    touch(&mut connection, path).await?;
    sqlx::query(WRITER_PATIENCE_MS).execute(&mut connection).await.map_err(fault)?;
    Ok(connection)
}

/// The settings of the writing connection.
fn settled(plain: SqliteConnectOptions) -> SqliteConnectOptions {
    plain
        .auto_vacuum(SqliteAutoVacuum::Incremental)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Normal)
        // A log of 16 MiB before it is worked in, and 16 MiB of pages: long runs of inserts touch each page less often.
        .pragma("wal_autocheckpoint", "4096")
        .pragma("cache_size", "-16384")
}

/// Opens the writing connection once more, to a database that was opened by [`open_writer`].
pub(crate) async fn reopen_writer(paths: &StorePaths) -> sqlx::Result<SqliteConnection> {
    // A database that somebody removed meanwhile is not made anew, without its tables.
    let plain = SqliteConnectOptions::new().filename(paths.database()).create_if_missing(false);
    let plain = plain.busy_timeout(WRITER_PATIENCE).disable_statement_logging();
    SqliteConnection::connect_with(&settled(plain)).await
}

/// Sees that a database can be read by this program.
pub(crate) async fn check_readable(connection: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    let known = known_version();
    match version(connection, path).await? {
        Some(found) if found == known => {}
        found => return Err(StoreError::Older { path: path.to_owned(), found: found.unwrap_or(0), known }),
    }
    touch(connection, path).await
}

/// Sees that every table is there and can be read, and that nothing is there that no migration makes: a view in place of a
/// table, or a trigger, would do what its maker wants whenever a run is listed or changed.
async fn touch(connection: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    let foreign: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM sqlite_schema WHERE type IN ('trigger', 'view')")
        .fetch_one(&mut *connection)
        .await
        .map_err(|error| StoreError::from_sqlx(&error, path))?;
    if foreign > 0 {
        let reason = "it holds triggers or views, which no Headroom makes".to_owned();
        return Err(StoreError::Corrupt { path: path.to_owned(), reason });
    }
    for sql in TOUCH {
        sqlx::query(sql).fetch_optional(&mut *connection).await.map_err(|error| {
            match StoreError::from_sqlx(&error, path) {
                // A table or a column is missing.
                StoreError::Database { path, reason } => StoreError::Corrupt { path, reason },
                other => other,
            }
        })?;
    }
    Ok(())
}

/// The format of a store; none for an empty database. Refuses other programs' databases and newer formats.
async fn version(connection: &mut SqliteConnection, path: &Path) -> Result<Option<i64>, StoreError> {
    let fault = |error: sqlx::Error| StoreError::from_sqlx(&error, path);
    let path = path.to_owned();
    let application: i64 =
        sqlx::query_scalar("PRAGMA application_id").fetch_one(&mut *connection).await.map_err(fault)?;
    let tables: Vec<Vec<u8>> = sqlx::query_scalar("SELECT CAST(name AS BLOB) FROM sqlite_schema WHERE type = 'table'")
        .fetch_all(&mut *connection)
        .await
        .map_err(fault)?;
    if application != APPLICATION {
        return if tables.is_empty() && application == 0 { Ok(None) } else { Err(StoreError::OtherProgram { path }) };
    }
    // The mark is set before the first migration; a crash between the two leaves a store of format 0.
    if !tables.iter().any(|table| table == b"_sqlx_migrations") {
        return Ok(Some(0));
    }
    let found: Option<i64> =
        sqlx::query_scalar("SELECT MAX(version) FROM _sqlx_migrations").fetch_one(connection).await.map_err(fault)?;
    let (found, known) = (found.unwrap_or(0), known_version());
    if found > known { Err(StoreError::Newer { path, found, known }) } else { Ok(Some(found)) }
}

fn migration_error(error: &MigrateError, path: &Path) -> StoreError {
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => StoreError::from_sqlx(error, path),
        other => StoreError::Corrupt { path: path.to_owned(), reason: other.to_string() },
    }
}

/// Writes this program's row.
pub(crate) async fn register(connection: &mut SqliteConnection, id: &str) -> sqlx::Result<()> {
    sqlx::query("INSERT INTO instances (id, pid, host, started_ms) VALUES (?, ?, ?, ?)")
        .bind(id)
        .bind(std::process::id())
        .bind(sysinfo::System::host_name().unwrap_or_default())
        .bind(now_ms())
        .execute(connection)
        .await?;
    Ok(())
}
