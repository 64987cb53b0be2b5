use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use sqlx::SqlSafeStr;
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::sqlite::SqliteConnection;

use super::clock::now_ms;
use super::connect::{Access, connect};
use super::{StoreError, StorePaths, schema};

/// Every change of the format: version, description and text. The build script lists them: sqlx's own macro would compile SQLite and
/// sqlx a second time, for the compiler.
const CHANGES: &[(i64, &str, &str)] = &include!(concat!(env!("OUT_DIR"), "/migrations.rs"));

static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    let migration = |&(version, description, text): &(i64, &'static str, &'static str)| {
        Migration::new(version, description.into(), MigrationType::Simple, text.into_sql_str(), false)
    };
    Migrator::with_migrations(CHANGES.iter().map(migration).collect())
});

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
    CHANGES.iter().map(|change| change.0).max().unwrap_or(0)
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
    let mut connection = connect(paths, Access::Create, PATIENCE).await?;
    // Before the settings that write, so that a file that is refused stays as it is.
    let found = version(&mut connection, path).await?;
    settle(&mut connection).await.map_err(fault)?;
    if found.is_none() {
        // "Head" as above; a pragma takes no parameters.
        sqlx::query("PRAGMA application_id = 1214603620").execute(&mut connection).await.map_err(fault)?;
    }
    MIGRATIONS.run(&mut connection).await.map_err(|error| migration_error(&error, path))?;
    touch(&mut connection, path).await?;
    sqlx::query(WRITER_PATIENCE_MS).execute(&mut connection).await.map_err(fault)?;
    Ok(connection)
}

/// Sets the writing connection up.
async fn settle(connection: &mut SqliteConnection) -> sqlx::Result<()> {
    for setting in [
        "PRAGMA auto_vacuum = INCREMENTAL",
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = NORMAL",
        // A log of 16 MiB before it is worked in, and 16 MiB of pages: long runs of inserts touch each page less often.
        "PRAGMA wal_autocheckpoint = 4096",
        "PRAGMA cache_size = -16384",
    ] {
        sqlx::query(setting).fetch_all(&mut *connection).await?;
    }
    Ok(())
}

/// Opens the writing connection once more, to a database that was opened by [`open_writer`].
pub(crate) async fn reopen_writer(paths: &StorePaths) -> Result<SqliteConnection, StoreError> {
    // A database that somebody removed meanwhile is not made anew, without its tables.
    let mut connection = connect(paths, Access::Write, WRITER_PATIENCE).await?;
    settle(&mut connection).await.map_err(|error| StoreError::from_sqlx(&error, paths.database()))?;
    Ok(connection)
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

/// Sees that every table can be read.
async fn touch(connection: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
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

/// The format of a store; none for an empty database. Refuses other programs' databases, newer formats, and schemas that no
/// program of ours made.
async fn version(connection: &mut SqliteConnection, path: &Path) -> Result<Option<i64>, StoreError> {
    let fault = |error: sqlx::Error| StoreError::from_sqlx(&error, path);
    let path = path.to_owned();
    let application: i64 =
        sqlx::query_scalar("PRAGMA application_id").fetch_one(&mut *connection).await.map_err(fault)?;
    let objects = schema::objects(connection).await.map_err(fault)?;
    if application != APPLICATION {
        return if objects.is_empty() && application == 0 { Ok(None) } else { Err(StoreError::OtherProgram { path }) };
    }
    // The mark is set before the first migration; a crash between the two leaves a store of format 0.
    if objects.is_empty() {
        return Ok(Some(0));
    }
    let refused = |difference: Option<String>| match difference {
        None => Ok(()),
        Some(reason) => Err(StoreError::Corrupt { path: path.clone(), reason }),
    };
    refused(schema::migrations_difference(&objects, &MIGRATIONS).await.map_err(fault)?)?;
    let found: Option<i64> =
        sqlx::query_scalar("SELECT MAX(version) FROM _sqlx_migrations").fetch_one(connection).await.map_err(fault)?;
    let (found, known) = (found.unwrap_or(0), known_version());
    if found > known {
        return Err(StoreError::Newer { path, found, known });
    }
    refused(schema::difference(&objects, &MIGRATIONS, found).await.map_err(fault)?)?;
    Ok(Some(found))
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
