use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::config::counted;

/// Trouble with the store that does no harm to training. Sent when it begins and when it ends, not at every retry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StoreWarning {
    /// The database cannot be written now; what is logged goes to the file `spill` until it can.
    Spilling {
        /// Why: locked, full, and so on.
        reason: String,
        /// The file that holds the records meanwhile.
        spill: PathBuf,
    },
    /// The database was removed or replaced while it was open; what is logged goes to the file `spill`.
    Removed {
        /// The place of the database.
        database: PathBuf,
        /// A copy of it as it was; none where no copy could be made, or where only its log was removed.
        copy: Option<PathBuf>,
        /// The file that holds what is logged since.
        spill: PathBuf,
    },
    /// Records of a program that died belong to runs that the database does not hold. Their file is kept.
    Unclaimed {
        /// The file.
        path: PathBuf,
    },
    /// Neither the database nor the spill file can be written; what is logged is held in memory.
    Holding {
        /// Why.
        reason: String,
    },
    /// The database can be written again, and everything that waited is in it.
    Recovered {
        /// Records that waited.
        records: u64,
    },
    /// Records left behind by a program that died were brought in.
    Merged {
        /// Records read from its spill file.
        records: u64,
    },
    /// A spill file was damaged in places; the rest was brought in.
    SpillDamaged {
        /// Lines that could not be read.
        lines: u64,
        /// Where the damaged file is kept.
        path: PathBuf,
    },
    /// Too much waited in memory, and the oldest points were given up.
    Lost {
        /// Points lost so far.
        points: u64,
    },
    /// Rows of a table cannot be read and are left out; everything else is shown.
    RowsHidden {
        /// The table.
        table: String,
    },
    /// The store lies on a network file system, where SQLite cannot promise that writers keep out of each other's way.
    NetworkFolder {
        /// The store's folder.
        path: PathBuf,
        /// The file system.
        file_system: String,
    },
}

impl fmt::Display for StoreWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spilling { reason, spill } => write!(
                f,
                "Metrics cannot be written to the store now; they are kept in {} and brought in later. {reason}",
                spill.display()
            ),
            Self::Removed { database, copy: Some(copy), spill } => write!(
                f,
                "The database of the store was removed or replaced while it was in use ({}). A copy of what it held is in {}; \
                 what is logged from now on is in {}. When the run has ended, put the copy in the database's place: the next \
                 command that opens the store brings the rest in.",
                database.display(),
                copy.display(),
                spill.display()
            ),
            Self::Removed { database, copy: None, spill } => write!(
                f,
                "The database of the store, or its log, was removed or replaced while it was in use ({}). What is logged from \
                 now on is in {}; the next command that opens the store with its runs brings it in.",
                database.display(),
                spill.display()
            ),
            Self::Unclaimed { path } => write!(
                f,
                "Records of an earlier program belong to runs that this store does not hold. Put the database that holds them \
                 back, or remove the file if they are not wanted: {}",
                path.display()
            ),
            Self::Holding { reason } => write!(
                f,
                "Metrics cannot be written to the store nor to a file; they are held in memory. Free some disk space. \
                 {reason}"
            ),
            Self::Recovered { records } => {
                write!(f, "The store can be written again. {records} records that waited are in it.")
            }
            Self::Merged { records } => {
                write!(f, "{records} records that an earlier program could not write were brought in.")
            }
            Self::SpillDamaged { lines, path } => write!(
                f,
                "{lines} records of an earlier program were damaged and left out. The file is kept: {}",
                path.display()
            ),
            Self::Lost { points } => {
                write!(
                    f,
                    "{} lost: neither the store nor a file could be written for too long.",
                    if *points == 1 { "1 point was".to_owned() } else { format!("{} were", counted(*points, "point")) }
                )
            }
            Self::RowsHidden { table } => {
                write!(f, "Some rows of the table `{table}` cannot be read and are left out; everything else is shown.")
            }
            Self::NetworkFolder { path, file_system } => write!(
                f,
                "The store is on a network file system ({file_system}). Use it from one computer at a time, or choose \
                 a local folder with --store or HEADROOM_STORE: {}",
                path.display()
            ),
        }
    }
}
