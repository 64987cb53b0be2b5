use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection, Error};

/// A transaction that was not committed.
pub(crate) struct Aborted {
    pub error: Error,
    /// The connection is in no transaction and can be used again. Otherwise it must be replaced: SQLite ends a transaction
    /// by itself when the disk is full or fails, and what the connection knows of it is then wrong for good.
    pub is_sound: bool,
}

/// SQLite's primary result codes for a database that somebody else holds.
const BUSY: i64 = 5;
const LOCKED: i64 = 6;

/// Does `work` in a transaction of its own, and commits it if the answer is true.
pub(crate) async fn transact(
    connection: &mut SqliteConnection,
    work: impl AsyncFnOnce(&mut SqliteConnection) -> Result<bool, Error>,
) -> Result<(), Aborted> {
    let mut transaction = match connection.begin_with("BEGIN IMMEDIATE").await {
        Ok(transaction) => transaction,
        // Somebody else writes: nothing was begun.
        Err(error) => return Err(Aborted { is_sound: is_locked(&error), error }),
    };
    match work(&mut transaction).await {
        Ok(true) => transaction.commit().await.map_err(|error| Aborted { error, is_sound: false }),
        // There may be nothing left to roll back, which is an error, too.
        Ok(false) => transaction.rollback().await.map_err(|error| Aborted { error, is_sound: false }),
        Err(error) => {
            let _ = transaction.rollback().await;
            Err(Aborted { error, is_sound: false })
        }
    }
}

fn is_locked(error: &Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<i64>().ok());
    code.is_some_and(|code| matches!(code & 0xff, BUSY | LOCKED))
}
