use std::path::Path;

use sqlx::{AssertSqlSafe, Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};
use tokio::runtime::{Builder, Runtime};

fn connect(path: &Path) -> (Runtime, SqliteConnection) {
    let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
    let options = SqliteConnectOptions::new().filename(path);
    let connection = runtime.block_on(SqliteConnection::connect_with(&options)).expect("a database");
    (runtime, connection)
}

/// Changes a database as no program of ours would.
pub fn execute(path: &Path, sql: &'static str) {
    let (runtime, mut connection) = connect(path);
    runtime.block_on(sqlx::query(sql).execute(&mut connection)).expect("a change");
    runtime.block_on(connection.close()).expect("a close");
}

/// Changes a database as a stranger may, and says whether that worked: it may be broken by then, or hold no such table.
pub fn tamper(path: &Path, sql: &str) -> bool {
    let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
    let options = SqliteConnectOptions::new().filename(path).foreign_keys(false);
    runtime.block_on(async {
        let Ok(mut connection) = SqliteConnection::connect_with(&options).await else { return false };
        let _ = sqlx::query("PRAGMA ignore_check_constraints = ON").execute(&mut connection).await;
        let changed = sqlx::query(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await.is_ok();
        let _ = connection.close().await;
        changed
    })
}

/// Another program that holds a database for itself, until it is dropped.
pub struct Holder {
    runtime: Runtime,
    connection: Option<SqliteConnection>,
}

/// Holds a database, so that nobody else can write it.
pub fn hold(path: &Path) -> Holder {
    let (runtime, mut connection) = connect(path);
    runtime.block_on(sqlx::query("BEGIN EXCLUSIVE").execute(&mut connection)).expect("the lock");
    Holder { runtime, connection: Some(connection) }
}

impl Drop for Holder {
    fn drop(&mut self) {
        if let Some(mut connection) = self.connection.take() {
            let _ = self.runtime.block_on(sqlx::query("ROLLBACK").execute(&mut connection));
            let _ = self.runtime.block_on(connection.close());
        }
    }
}
