use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sqlx::Connection;
use sqlx::sqlite::SqliteConnection;
use tokio::runtime::{Builder, Runtime};

use super::connect::{Access, connect};
use super::fault::Fault;
use super::{StoreError, StorePaths};

/// Idle reading connections that are kept for the next question.
const IDLE: usize = 4;
/// How long a question waits for a lock: readers of a write-ahead log wait only while it is set up or recovered.
const PATIENCE: Duration = Duration::from_secs(5);

/// Reading connections, one for each question that is asked at the same time.
#[derive(Debug)]
pub(crate) struct Readers {
    paths: StorePaths,
    is_immutable: bool,
    idle: Mutex<Vec<Reader>>,
}

#[derive(Debug)]
struct Reader {
    runtime: Runtime,
    connection: SqliteConnection,
}

impl Readers {
    /// Readers of a store's database. `is_immutable`: nobody can write it, as on a read-only disk.
    pub fn new(paths: StorePaths, is_immutable: bool) -> Self {
        Self { paths, is_immutable, idle: Mutex::new(Vec::new()) }
    }

    /// Answers a question from one consistent state of the database.
    pub fn read<T>(
        &self,
        question: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let waiting = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut reader = match waiting {
            Some(reader) => reader,
            None => self.open()?,
        };
        let Reader { runtime, connection } = &mut reader;
        let answer = runtime.block_on(async {
            sqlx::query("BEGIN").execute(&mut *connection).await?;
            let answer = question(connection).await;
            sqlx::query("COMMIT").execute(&mut *connection).await?;
            answer
        });
        // After an error of SQLite's the connection is not used again.
        if !matches!(answer, Err(Fault::Sqlite(_))) {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < IDLE {
                idle.push(reader);
            }
        }
        answer.map_err(|fault| fault.at(self.paths.database()))
    }

    /// Closes the idle connections, so that the writer, closing last, can put the log away.
    pub fn close(&self) {
        for Reader { runtime, connection } in
            std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner))
        {
            let _ = runtime.block_on(connection.close());
        }
    }

    fn open(&self) -> Result<Reader, StoreError> {
        let runtime = quiet_runtime(self.paths.database())?;
        let access = if self.is_immutable { Access::ReadImmutable } else { Access::Read };
        let connection = runtime.block_on(connect(&self.paths, access, PATIENCE))?;
        Ok(Reader { runtime, connection })
    }
}

/// A runtime that only waits for the thread of an SQLite connection.
pub(crate) fn quiet_runtime(path: &std::path::Path) -> Result<Runtime, StoreError> {
    Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|error| StoreError::Database { path: path.to_owned(), reason: error.to_string() })
}
