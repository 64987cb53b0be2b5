use std::path::PathBuf;

/// Where everything that was logged lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// In the database.
    Stored,
    /// Some of it in the spill file beside the database: whoever opens the store next brings it in.
    Beside {
        /// The file.
        path: PathBuf,
    },
    /// Some of it in a file apart from the store, whose disk is full: in the folder of the store, whoever opens that next
    /// brings it in.
    Apart {
        /// The file.
        path: PathBuf,
    },
    /// Some of it in memory alone: no file could be written anywhere.
    Held,
}
