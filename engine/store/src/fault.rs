use std::path::Path;

use super::StoreError;

/// An error inside a database operation, before the store adds its path.
#[derive(Debug)]
pub(crate) enum Fault {
    Sqlite(sqlx::Error),
    Store(StoreError),
}

impl Fault {
    /// The error for the caller.
    pub fn at(self, path: &Path) -> StoreError {
        match self {
            Self::Sqlite(error) => StoreError::from_sqlx(&error, path),
            Self::Store(error) => error,
        }
    }
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
