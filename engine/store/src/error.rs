use std::path::PathBuf;

use super::{RunId, RunState};

/// What can go wrong with the store. Each says what failed, why, what to do, and where.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder of the store cannot be made.
    #[error("The folder for runs cannot be created ({reason}). Choose another place with --store or HEADROOM_STORE: {}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The operating system's words.
        reason: String,
    },
    /// The file or its folder cannot be written.
    #[error("The store cannot be written ({reason}). Make the file and its folder writable, or choose another place with --store or HEADROOM_STORE: {}", path.display())]
    NotWritable {
        /// The database file.
        path: PathBuf,
        /// The operating system's words.
        reason: String,
    },
    /// There is no such file, and it was to be read only.
    #[error("There is no store there yet. Train something first, or name another place with --store or HEADROOM_STORE: {}", path.display())]
    Missing {
        /// The database file.
        path: PathBuf,
    },
    /// The file is not an SQLite database.
    #[error("The file is not a store of Headroom: it is not an SQLite database. Name another place with --store or HEADROOM_STORE; this file was left as it is: {}", path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// What is there is no file.
    #[error("The store is to be a file, and this is {kind}. Name another place with --store or HEADROOM_STORE: {}", path.display())]
    NotAFile {
        /// What stands where a file of the store is kept.
        path: PathBuf,
        /// What it is: "a pipe".
        kind: &'static str,
    },
    /// A file of the store is another file too.
    #[error("The store was not opened: one of its files is {kind}, so that another file would be changed with it. Put the file itself in its place, or name another place with --store or HEADROOM_STORE: {}", path.display())]
    Linked {
        /// The file.
        path: PathBuf,
        /// Kind of link: "a link".
        kind: &'static str,
    },
    /// The rollback journal names another file, which SQLite would delete.
    #[error("The store was not opened: the journal beside it names another file ({name}), and opening the store would delete that file. Headroom writes no such journal. Nothing was changed. Ask whoever made the store for a copy that was closed properly, or, if the last change to it can be given up, remove the journal: {}", path.display())]
    SuperJournal {
        /// The journal.
        path: PathBuf,
        /// The name in it, escaped and cut.
        name: String,
    },
    /// The file is an SQLite database of some other program.
    #[error("The file is not a store of Headroom: it is the database of another program. Name another place with --store or HEADROOM_STORE; this file was left as it is: {}", path.display())]
    OtherProgram {
        /// The file.
        path: PathBuf,
    },
    /// The database is damaged.
    #[error("The store is damaged ({reason}). Put back a copy, or move the file away and start a new one; checkpoints are apart from it and stay usable: {}", path.display())]
    Corrupt {
        /// The database file.
        path: PathBuf,
        /// SQLite's words.
        reason: String,
    },
    /// The store was made by a newer program.
    #[error("The store was made by a newer Headroom: its format is {found}, this program knows up to {known}. Update Headroom, or choose another place with --store or HEADROOM_STORE: {}", path.display())]
    Newer {
        /// The database file.
        path: PathBuf,
        /// The store's format.
        found: i64,
        /// The newest format that this program knows.
        known: i64,
    },
    /// The store was made by an older program and may not be changed.
    #[error("The store was made by an older Headroom (format {found}, now {known}) and is open for reading only. Open it once for writing to bring it up to date: {}", path.display())]
    Older {
        /// The database file.
        path: PathBuf,
        /// The store's format.
        found: i64,
        /// This program's format.
        known: i64,
    },
    /// Something else holds the database.
    #[error("The store is locked by another program. Wait for it, or close it, and try again: {}", path.display())]
    Locked {
        /// The database file.
        path: PathBuf,
    },
    /// The database is not where it was when it was opened.
    #[error("The store cannot be written: its database, or the log beside it, was removed or replaced while it was in use. Close every program that uses it and put the file back: {}", path.display())]
    Removed {
        /// The database file.
        path: PathBuf,
    },
    /// No space is left.
    #[error("The disk is full: the store cannot grow. Free some space and try again: {}", path.display())]
    Full {
        /// The database file.
        path: PathBuf,
    },
    /// The store was opened for reading only.
    #[error("The store is open for reading only, so nothing can be changed in it: {}", path.display())]
    ReadOnly {
        /// The database file.
        path: PathBuf,
    },
    /// The store was closed before.
    #[error("The store has been closed. Start the program again.")]
    Closed,
    /// No run goes by that name.
    #[error("There is no run \"{query}\"{}.", suggestions(nearest))]
    NoSuchRun {
        /// What was asked for.
        query: String,
        /// Names of runs that are near, nearest first.
        nearest: Vec<String>,
    },
    /// No benchmark goes by that name.
    #[error("There is no benchmark \"{query}\"{}.", newest_benchmarks(newest))]
    NoSuchBenchmark {
        /// What was asked for.
        query: String,
        /// The newest that there are.
        newest: Vec<String>,
    },
    /// What is kept of a benchmark was written by another version.
    #[error(
        "The benchmark {id} cannot be read ({reason}). It was made by another version of Headroom; measure it again."
    )]
    BenchmarkUnreadable {
        /// The benchmark.
        id: RunId,
        /// What does not fit.
        reason: String,
    },
    /// Several runs go by that name.
    #[error(
        "\"{query}\" fits {} runs:\n{}\nName the one you mean by its number, as in #12, or tell them apart: {}.",
        candidates.len(), lines(candidates), told_apart(query)
    )]
    Ambiguous {
        /// What was asked for.
        query: String,
        /// The runs that fit: number, id, name, seed, age.
        candidates: Vec<String>,
    },
    /// The record of a run cannot be read.
    #[error(
        "The record of run #{number} is damaged: {why}. Other runs are not affected; `headroom runs` lists what is damaged."
    )]
    RunDamaged {
        /// Its number.
        number: i64,
        /// The fault.
        why: String,
    },
    /// A file or folder of a run is not where runs keep theirs, or is reached through a link.
    #[error("{what} is left alone, because it {why}. The folder of the store: {}", path.display())]
    LeftAlone {
        /// What was to be read, written or removed.
        what: String,
        /// Why it is not touched, after "it".
        why: String,
        /// The store's folder.
        path: PathBuf,
    },
    /// A run that is being worked on cannot be deleted.
    #[error("The run {run} is {state}. Stop it first.")]
    RunIsActive {
        /// The run.
        run: RunId,
        /// Its state.
        state: RunState,
    },
    /// There is no such analysis.
    #[error(
        "Nothing was found out about {query}. {}", if newest.is_empty() { "`headroom analyse` looks at a run's attention.".to_owned() } else { format!("The newest are {}.", newest.join(", ")) }
    )]
    NoSuchAnalysis {
        /// What was asked for.
        query: String,
        /// The newest that are there.
        newest: Vec<String>,
    },
    /// An analysis in the store cannot be read.
    #[error("The analysis {id} in the store cannot be read: {reason}. Analyse the model again.")]
    AnalysisUnreadable {
        /// Its id.
        id: String,
        /// The fault.
        reason: String,
    },
    /// What was predicted of an advised run cannot be read.
    #[error("What was predicted of the run {run} cannot be read: {reason}. Ask for advice again.")]
    AdviceUnreadable {
        /// The run.
        run: RunId,
        /// The fault.
        reason: String,
    },
    /// The outcomes of single examples cannot be read.
    #[error("The outcomes of the {kind} evaluation of the run {run}, example by example, cannot be read: {reason}.")]
    OutcomesUnreadable {
        /// The run.
        run: RunId,
        /// The evaluation.
        kind: &'static str,
        /// The fault.
        reason: String,
    },
    /// No snapshot has that key.
    #[error("There is no snapshot {id}. It was deleted together with its run.")]
    NoSuchSnapshot {
        /// The key.
        id: i64,
    },
    /// What is written about a snapshot cannot be read.
    #[error("The snapshot {id} cannot be read: {reason}.")]
    SnapshotUnreadable {
        /// The key.
        id: i64,
        /// The fault.
        reason: String,
    },
    /// The run's own files could not be removed.
    #[error("The run was deleted, but its files could not be removed ({reason}). Remove them by hand: {}", path.display())]
    FilesLeft {
        /// The run's folder.
        path: PathBuf,
        /// The operating system's words.
        reason: String,
    },
    /// Anything else that SQLite says.
    #[error("The store could not be read or written ({reason}). Try again once the cause is gone: {}", path.display())]
    Database {
        /// The database file.
        path: PathBuf,
        /// SQLite's words.
        reason: String,
    },
}

/// At most so many runs are named in a message.
const NAMED: usize = 5;
/// At most so many stand on lines of their own.
const MOST_LISTED: usize = 10;

fn newest_benchmarks(newest: &[String]) -> String {
    if newest.is_empty() { "; the store holds none".to_owned() } else { format!(". The newest: {}", newest.join(", ")) }
}

fn suggestions(nearest: &[String]) -> String {
    if nearest.is_empty() { String::new() } else { format!(". The nearest are {}", listed(nearest)) }
}

fn listed(names: &[String]) -> String {
    let shown = names.iter().take(NAMED).map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    if names.len() > NAMED { format!("{shown} and {} more", names.len() - NAMED) } else { shown }
}

/// What a name that fits several runs can be followed by: the seed only where none was named.
fn told_apart(query: &str) -> String {
    let seed = if query.contains("@seed=") { String::new() } else { format!("{query}@seed=N with the seed, ") };
    format!("{seed}{query}@newest or {query}@oldest")
}

fn lines(candidates: &[String]) -> String {
    let mut lines: Vec<String> =
        candidates.iter().take(MOST_LISTED).map(|candidate| format!("  {candidate}")).collect();
    if candidates.len() > MOST_LISTED {
        lines.push(format!("  and {} more", candidates.len() - MOST_LISTED));
    }
    lines.join("\n")
}

/// SQLite's primary result codes that mean something of their own.
const PERM: i64 = 3;
const BUSY: i64 = 5;
const LOCKED: i64 = 6;
const READ_ONLY: i64 = 8;
const CORRUPT: i64 = 11;
const FULL: i64 = 13;
const CANNOT_OPEN: i64 = 14;
const NOT_A_DATABASE: i64 = 26;

impl StoreError {
    /// The error of a database operation on the file `path`.
    pub(crate) fn from_sqlx(error: &sqlx::Error, path: &std::path::Path) -> Self {
        let path = path.to_owned();
        let Some(database) = error.as_database_error() else {
            return Self::Database { path, reason: error.to_string() };
        };
        let reason = database.message().to_owned();
        // Extended codes keep the primary one in their low byte.
        let code = database.code().and_then(|code| code.parse::<i64>().ok()).unwrap_or(0) & 0xff;
        match code {
            BUSY | LOCKED => Self::Locked { path },
            FULL => Self::Full { path },
            CORRUPT => Self::Corrupt { path, reason },
            NOT_A_DATABASE => Self::NotADatabase { path },
            PERM | READ_ONLY | CANNOT_OPEN => Self::NotWritable { path, reason },
            _ => Self::Database { path, reason },
        }
    }

    /// Whether the disk is to blame: it is full, or refuses to be written.
    pub(crate) fn is_of_disk(&self) -> bool {
        matches!(self, Self::Database { .. } | Self::Full { .. } | Self::NotWritable { .. })
    }

    /// Whether waiting may help: someone else is writing.
    pub(crate) fn is_locked(&self) -> bool {
        matches!(self, Self::Locked { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_runs_that_are_near() {
        let error = StoreError::NoSuchRun { query: "bas".into(), nearest: vec!["base".into(), "bass".into()] };
        assert_eq!(error.to_string(), "There is no run \"bas\". The nearest are \"base\", \"bass\".");
        let error = StoreError::NoSuchRun { query: "bas".into(), nearest: Vec::new() };
        assert_eq!(error.to_string(), "There is no run \"bas\".");
    }

    #[test]
    fn a_path_stands_last_behind_a_colon() {
        let path = || PathBuf::from("/a/headroom.db");
        let reason = || "no luck".to_owned();
        for error in [
            StoreError::Folder { path: path(), reason: reason() },
            StoreError::NotWritable { path: path(), reason: reason() },
            StoreError::Missing { path: path() },
            StoreError::NotADatabase { path: path() },
            StoreError::NotAFile { path: path(), kind: "a pipe" },
            StoreError::Linked { path: path(), kind: "a link" },
            StoreError::SuperJournal { path: path(), name: "victim".to_owned() },
            StoreError::LeftAlone { what: "The folder x".to_owned(), why: "is a link".to_owned(), path: path() },
            StoreError::OtherProgram { path: path() },
            StoreError::Corrupt { path: path(), reason: reason() },
            StoreError::Newer { path: path(), found: 9, known: 1 },
            StoreError::Older { path: path(), found: 1, known: 9 },
            StoreError::Locked { path: path() },
            StoreError::Full { path: path() },
            StoreError::Removed { path: path() },
            StoreError::ReadOnly { path: path() },
            StoreError::FilesLeft { path: path(), reason: reason() },
            StoreError::Database { path: path(), reason: reason() },
        ] {
            let text = error.to_string();
            assert!(text.ends_with(": /a/headroom.db") && text.matches(": /").count() == 1, "{text}");
            assert!(!text.contains(".:") && !text.contains(".."), "{text}");
        }
    }

    #[test]
    fn long_lists_are_cut() {
        let candidates: Vec<String> = (0..12).map(|number| number.to_string()).collect();
        let message = StoreError::Ambiguous { query: "x".into(), candidates }.to_string();
        assert!(message.contains("fits 12 runs") && message.contains("and 2 more"), "{message}");
    }
}
