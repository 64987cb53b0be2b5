//! The only way to SQLite. What somebody else's database could do by being opened is refused here, as late as possible before
//! SQLite reads a byte of it.

use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{LockedSqliteHandle, SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};

use super::{StoreError, StorePaths, journal, kinds};

/// Purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// To write; an empty database is made where there is none.
    Create,
    /// To write a database that is there.
    Write,
    /// To read.
    Read,
    /// To read a database that nobody can write, as on a read-only disk.
    ReadImmutable,
}

/// Bytes of a schema's statement, and of any other text or blob that a schema is read with.
const SCHEMA_VALUE: i32 = 64 << 10;
/// Steps of SQLite's machine in which a schema is read. Ours takes some 400.
const SCHEMA_STEPS: i32 = 4000;
/// Bytes of the largest value that is read from a store or written to it. Tests write larger ones, on disks that may be small.
pub(crate) const LARGEST_VALUE: i32 = if cfg!(test) { 32 << 20 } else { 512 << 20 };

/// Connects to a database. It waits for other programs as long as `patience` says.
///
/// # Errors
/// A file of the store is a link, no file, or a journal that names another file; the schema is larger than any of ours;
/// SQLite cannot open it.
pub(crate) async fn connect(
    paths: &StorePaths,
    access: Access,
    patience: Duration,
) -> Result<SqliteConnection, StoreError> {
    let path = paths.database();
    // No setting that reads the schema may stand here: it is read under limits below.
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(access == Access::Create)
        .read_only(matches!(access, Access::Read | Access::ReadImmutable))
        .immutable(access == Access::ReadImmutable)
        .busy_timeout(patience)
        .pragma("trusted_schema", "OFF")
        .row_buffer_size(ROWS_READ_AHEAD)
        .disable_statement_logging();
    kinds::check(paths)?;
    journal::check(paths)?;
    let fault = |error: sqlx::Error| StoreError::from_sqlx(&error, path);
    let mut connection = SqliteConnection::connect_with(&options).await.map_err(fault)?;
    if let Err(error) = read_schema(&mut connection).await {
        let _ = connection.close().await;
        return Err(if is_beyond_limit(&error) { oversized(path) } else { fault(error) });
    }
    Ok(connection)
}

/// Connects to a new database in memory, to see what migrations make.
pub(crate) async fn in_memory() -> sqlx::Result<SqliteConnection> {
    SqliteConnection::connect_with(&SqliteConnectOptions::new().in_memory(true).disable_statement_logging()).await
}

/// Rows that a connection reads ahead of whoever asked for them.
const ROWS_READ_AHEAD: usize = 1024;

/// Has SQLite read the schema, which it does once for a connection, under limits that ours keeps by far.
async fn read_schema(connection: &mut SqliteConnection) -> sqlx::Result<()> {
    let mut handle = connection.lock_handle().await?;
    limit_values(&mut handle, SCHEMA_VALUE);
    handle.set_progress_handler(SCHEMA_STEPS, || false);
    drop(handle);
    sqlx::query("SELECT 1 FROM sqlite_schema LIMIT 1").fetch_optional(&mut *connection).await?;
    let mut handle = connection.lock_handle().await?;
    handle.remove_progress_handler();
    limit_values(&mut handle, LARGEST_VALUE);
    Ok(())
}

/// Sets the largest text, blob or row, in bytes, with which a connection works.
fn limit_values(handle: &mut LockedSqliteHandle<'_>, bytes: i32) {
    // SAFETY: the connection is open, and its thread does not use it while the handle is locked.
    #[expect(unsafe_code, reason = "sqlx has no other way to set SQLite's limits")]
    unsafe {
        libsqlite3_sys::sqlite3_limit(handle.as_raw_handle().as_ptr(), libsqlite3_sys::SQLITE_LIMIT_LENGTH, bytes);
    }
}

/// SQLite's primary result codes of what went beyond a limit.
const INTERRUPT: i64 = 9;
const TOO_BIG: i64 = 18;

fn is_beyond_limit(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<i64>().ok());
    code.is_some_and(|code| matches!(code & 0xff, INTERRUPT | TOO_BIG))
}

fn oversized(path: &Path) -> StoreError {
    let reason = "its schema is larger than any that Headroom makes".to_owned();
    StoreError::Corrupt { path: path.to_owned(), reason }
}
