use std::path::{Component, Path, PathBuf};

use super::RunId;

/// Engines on a store that can be reached from outside at the same time.
#[cfg(unix)]
const CONTROL_SOCKETS: usize = 8;

/// Where things are on disk: the database, and beside it the runs' files and the caches.
///
/// ```text
/// <root>/headroom.db
/// <root>/control.sock
/// <root>/runs/<run id>/checkpoints/
/// <root>/cache/tokenizers/
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorePaths {
    database: PathBuf,
    root: PathBuf,
}

impl StorePaths {
    /// The environment variable that names another database file.
    pub const VARIABLE: &str = "HEADROOM_STORE";
    /// Name of the database file in its default folder.
    pub const DATABASE: &str = "headroom.db";

    /// The database file that a path given by somebody means.
    ///
    /// A file that is there is the database, and a folder that is there holds `headroom.db`. What is not there yet is a database
    /// file where its name ends in `.db`, `.sqlite` or `.sqlite3` without a slash after it, else a folder that will be made.
    pub fn database_at(given: &Path) -> PathBuf {
        // Without slashes at its end, with which a file would not be found.
        let plain: PathBuf = given.components().collect();
        if plain.is_dir() {
            return plain.join(Self::DATABASE);
        }
        let ends_in_slash = given.as_os_str().to_string_lossy().ends_with(std::path::is_separator);
        let is_named_as_file = !ends_in_slash
            && plain.extension().is_some_and(|ending| ["db", "sqlite", "sqlite3"].iter().any(|known| ending == *known));
        if is_named_as_file || plain.symlink_metadata().is_ok() { plain } else { plain.join(Self::DATABASE) }
    }

    /// Paths around the given database file. Relative ones start at the current folder, now and for good.
    pub fn for_database(database: &Path) -> Self {
        let database = std::path::absolute(database).unwrap_or_else(|_| database.to_owned());
        let root = database.parent().map_or_else(PathBuf::new, Path::to_owned);
        Self { database, root }
    }

    /// The paths in use unless the user says otherwise: `$HEADROOM_STORE` if it is set (see
    /// [`Self::database_at`]), else the platform's folder for data.
    ///
    /// Linux: `$XDG_DATA_HOME/headroom` or `~/.local/share/headroom`; macOS: `~/Library/Application Support/Headroom`;
    /// Windows: `%APPDATA%\Headroom`. None if there is no home folder to be found.
    pub fn default_location() -> Option<Self> {
        Self::from_variables(|name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from))
    }

    fn from_variables(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<Self> {
        if let Some(chosen) = variable(Self::VARIABLE) {
            return Some(Self::for_database(&Self::database_at(&chosen)));
        }
        let folder = if cfg!(target_os = "macos") {
            variable("HOME")?.join("Library/Application Support/Headroom")
        } else if cfg!(target_os = "windows") {
            variable("APPDATA")?.join("Headroom")
        } else {
            // The specification of XDG_DATA_HOME says that a relative path is to be ignored.
            let data = variable("XDG_DATA_HOME").filter(|path| path.is_absolute());
            data.or_else(|| Some(variable("HOME")?.join(".local/share")))?.join("headroom")
        };
        Some(Self::for_database(&folder.join(Self::DATABASE)))
    }

    /// The database file.
    pub fn database(&self) -> &Path {
        &self.database
    }

    /// The folder that holds everything.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of all runs' files.
    pub fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }

    /// The folder of one run's files.
    pub fn run(&self, run: &RunId) -> PathBuf {
        self.runs().join(run.as_str())
    }

    /// The folder of one run's checkpoints.
    pub fn checkpoints(&self, run: &RunId) -> PathBuf {
        self.run(run).join("checkpoints")
    }

    /// The folder of trained tokenizers, by content hash.
    pub fn tokenizer_cache(&self) -> PathBuf {
        self.root.join("cache").join("tokenizers")
    }

    /// The control sockets of engines on the store, each engine's its own: `control.sock`, then `control-2.sock` and on; beside
    /// a database of another name than the usual one `NAME.control.sock`.
    #[cfg(unix)]
    pub fn control_sockets(&self) -> impl Iterator<Item = PathBuf> {
        let is_usual = self.database.file_name().is_some_and(|name| name == Self::DATABASE);
        (1..=CONTROL_SOCKETS).map(move |number| {
            let name = if number == 1 { "control.sock".to_owned() } else { format!("control-{number}.sock") };
            if is_usual { self.root.join(name) } else { self.beside(&name) }
        })
    }

    /// A file beside the database whose name starts with the database's: `headroom.db.<suffix>`.
    pub(crate) fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.database.file_name().unwrap_or_default().to_owned();
        name.push(".");
        name.push(suffix);
        self.root.join(name)
    }

    /// SQLite's rollback journal.
    pub(crate) fn journal(&self) -> PathBuf {
        self.ending_in("-journal")
    }

    /// SQLite's write-ahead log.
    pub(crate) fn log(&self) -> PathBuf {
        self.ending_in("-wal")
    }

    /// The files that SQLite may keep beside the database.
    pub(crate) fn sqlite_files(&self) -> [PathBuf; 3] {
        ["-journal", "-shm", "-wal"].map(|ending| self.ending_in(ending))
    }

    fn ending_in(&self, ending: &str) -> PathBuf {
        let mut name = self.database.clone().into_os_string();
        name.push(ending);
        name.into()
    }

    /// A path as it is kept in the database: relative to the root where it lies inside, with `/` between parts.
    pub(crate) fn to_kept(&self, path: &Path) -> String {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        match path.strip_prefix(&self.root) {
            Ok(inside) => {
                let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
                parts.join("/")
            }
            Err(_) => path.to_string_lossy().into_owned(),
        }
    }

    /// The path that was kept as `kept`; it may lie anywhere, see [`Self::checkpoint_name`].
    pub(crate) fn kept_path(&self, kept: &str) -> PathBuf {
        // Joining an absolute path gives that path.
        self.root.join(kept)
    }

    /// The name of the folder of a run's checkpoint whose path is, or was kept as, `path`.
    ///
    /// # Errors
    /// In words: it is no folder of a checkpoint of that run in this store.
    pub(crate) fn checkpoint_name(&self, run: &RunId, path: &Path) -> Result<String, String> {
        // Absolute paths inside of the store are as good as others.
        let inside = if path.is_absolute() { path.strip_prefix(&self.root).ok() } else { Some(path) };
        let plain = |part: Component<'_>| match part {
            Component::Normal(name) => name.to_str().map(str::to_owned),
            _ => None,
        };
        let parts: Option<Vec<String>> = inside.and_then(|inside| inside.components().map(plain).collect());
        let parts: Option<Vec<&str>> = parts.as_ref().map(|parts| parts.iter().map(String::as_str).collect());
        match parts.as_deref() {
            Some(["runs", id, "checkpoints", name]) if *id == run.as_str() && is_checkpoint(name) => {
                Ok((*name).to_owned())
            }
            _ => Err(format!("it is not in the run's own folder of checkpoints, but at {}", path.display())),
        }
    }
}

/// Whether a name is that of the folder of a checkpoint: `step-` and digits.
pub(crate) fn is_checkpoint(name: &str) -> bool {
    name.strip_prefix("step-")
        .is_some_and(|digits| (1..=20).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn the_environment_decides_in_order() {
        let with = |pairs: &'static [(&str, &str)]| {
            StorePaths::from_variables(|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into()))
        };
        let database = |pairs| with(pairs).map(|paths| paths.database().to_owned());
        assert_eq!(database(&[("HOME", "/h")]), Some("/h/.local/share/headroom/headroom.db".into()));
        assert_eq!(database(&[("HOME", "/h"), ("XDG_DATA_HOME", "/x")]), Some("/x/headroom/headroom.db".into()));
        assert_eq!(
            database(&[("HOME", "/h"), ("XDG_DATA_HOME", "x")]),
            Some("/h/.local/share/headroom/headroom.db".into())
        );
        assert_eq!(database(&[("HEADROOM_STORE", "/s/a.db"), ("HOME", "/h")]), Some("/s/a.db".into()));
        assert_eq!(database(&[]), None);
    }

    #[test]
    fn a_folder_in_the_variable_holds_the_default_file() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StorePaths::from_variables(|name| (name == StorePaths::VARIABLE).then(|| folder.path().into()));
        assert_eq!(paths.unwrap().database(), folder.path().join("headroom.db"));
    }

    #[test]
    fn what_is_not_there_is_a_folder_unless_it_is_named_as_a_database() {
        let folder = tempfile::tempdir().unwrap();
        let at = |given: &str| StorePaths::database_at(&folder.path().join(given));
        let inside = |name: &str| folder.path().join(name);
        for (given, database) in [
            ("new", "new/headroom.db"),
            ("new/", "new/headroom.db"),
            ("new//", "new/headroom.db"),
            ("runs.v2", "runs.v2/headroom.db"),
            ("new.db/", "new.db/headroom.db"),
            ("a.db", "a.db"),
            ("gone/a.sqlite", "gone/a.sqlite"),
            ("a.sqlite3", "a.sqlite3"),
        ] {
            assert_eq!(at(given), inside(database), "{given}");
        }
        std::fs::create_dir(inside("there.db")).unwrap();
        std::fs::write(inside("file"), b"").unwrap();
        for (given, database) in [
            ("there.db", "there.db/headroom.db"),
            ("there.db/", "there.db/headroom.db"),
            ("file", "file"),
            ("file/", "file"),
        ] {
            assert_eq!(at(given), inside(database), "{given}");
        }
    }

    #[test]
    fn paths_inside_the_root_are_kept_relative() {
        let folder = tempfile::tempdir().unwrap();
        let paths = StorePaths::for_database(&folder.path().join("a.db"));
        let inside = paths.checkpoints(&"0000000001".parse().unwrap()).join("step-10");
        assert_eq!(paths.to_kept(&inside), "runs/0000000001/checkpoints/step-10");
        assert_eq!(paths.kept_path("runs/0000000001/checkpoints/step-10"), inside);
        let outside = std::path::absolute("/elsewhere/step-10").unwrap();
        assert_eq!(paths.kept_path(&paths.to_kept(&outside)), outside);
    }

    #[test]
    fn a_checkpoint_lies_in_the_folder_of_its_run_or_nowhere() {
        let paths = StorePaths::for_database(Path::new("/s/a.db"));
        let run: RunId = "0000000001".parse().unwrap();
        let name = |kept: &str| paths.checkpoint_name(&run, Path::new(kept));
        let own = "runs/0000000001/checkpoints/step-00000010";
        assert_eq!(name(own), Ok("step-00000010".to_owned()));
        assert_eq!(name(&format!("/s/{own}")), Ok("step-00000010".to_owned()), "as some stores have it");
        for kept in [
            "",
            "/",
            "/home/me/victim",
            "../victim",
            "runs",
            "runs/0000000001",
            "runs/0000000001/checkpoints",
            "runs/0000000002/checkpoints/step-1",
            "runs/0000000001/checkpoints/..",
            "runs/0000000001/checkpoints/step-1/..",
            "runs/0000000001/checkpoints/../../../victim",
            "runs/0000000001/checkpoints/step-1/x",
            "step-1",
            "runs/0000000001/checkpoints/step-",
            "runs/0000000001/checkpoints/step-1x",
            "/t/runs/0000000001/checkpoints/step-1",
            "runs/0000000001/checkpoints/.step-1.headroom-old",
            "runs/0000000001/checkpoints/step-1\0",
        ] {
            assert!(name(kept).is_err(), "{kept:?}");
        }
    }
}
