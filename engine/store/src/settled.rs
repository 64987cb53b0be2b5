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
    /// The database was removed or replaced while it was open.
    Removed {
        /// A copy of it as it was; none where no copy could be made, or where only its log was removed.
        copy: Option<PathBuf>,
        /// The file with what was logged since; none where nothing was, or it could not be written.
        spill: Option<PathBuf>,
    },
    /// Some of it in memory alone: no file could be written anywhere.
    Held,
}
