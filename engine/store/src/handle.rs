use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::clock::now_ms;
use super::configs::KnownConfigs;
use super::fault::Fault;
use super::identity::Identity;
use super::instance::{self, Instance};
use super::job::Change;
use super::reader::{Readers, quiet_runtime};
use super::spill::Spill;
use super::thread::{Message, WriterThread};
use super::{StoreError, StorePaths, StoreWarning, StoreWriter, dead, journal, kinds, network, open};

/// Entries that wait for the writing thread at most.
const QUEUE: usize = 65_536;
/// Warnings that wait for a reader at most.
const WARNINGS: usize = 64;
/// How long a change waits for another program that holds the database.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a store is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// Made if there is none; brought up to date; runs of programs that died become interrupted.
    ReadWrite,
    /// Nothing that is kept is changed.
    ReadOnly,
}

/// The store. Cheap to clone; when the last clone goes, what waits is written and the store is closed.
///
/// Every call blocks until it is answered and must not be made from inside an async runtime.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    paths: StorePaths,
    readers: Readers,
    warnings: Receiver<StoreWarning>,
    warn: Sender<StoreWarning>,
    writing: Option<Writing>,
    configs: Mutex<KnownConfigs>,
    /// Tables of which it was said that rows of them are left out.
    told_hidden: Mutex<BTreeSet<&'static str>>,
}

#[derive(Debug)]
struct Writing {
    writer: StoreWriter,
    instance: String,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Store {
    /// Opens the store in the database file `path`. Its folder is made if need be.
    ///
    /// # Errors
    /// The folder or file cannot be made, read or written; it is no database, another program's, damaged, of a newer
    /// format, or (for reading only) of an older one or missing; another program holds it for longer than 5 seconds.
    pub fn open(path: &Path, mode: OpenMode) -> Result<Self, StoreError> {
        let paths = StorePaths::for_database(path);
        // Before anything is made beside it; asked again whenever SQLite is about to open it.
        kinds::check(&paths)?;
        journal::check(&paths)?;
        match mode {
            OpenMode::ReadWrite => Self::open_for_writing(paths),
            OpenMode::ReadOnly => Self::open_for_reading(paths),
        }
    }

    /// Opens the store for writing where that is possible, so that runs of programs that died are told from running ones, and
    /// for reading only where it is locked, full, or lies on a disk that cannot be written.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_to_read(path: &Path) -> Result<Self, StoreError> {
        match Self::open(path, OpenMode::ReadWrite) {
            Err(StoreError::Locked { .. } | StoreError::NotWritable { .. } | StoreError::Full { .. }) => {
                Self::open(path, OpenMode::ReadOnly)
            }
            outcome => outcome,
        }
    }

    fn open_for_writing(paths: StorePaths) -> Result<Self, StoreError> {
        open::prepare_folder(&paths)?;
        open::check_header(paths.database())?;
        let (warn, warnings) = bounded(WARNINGS);
        let failed = |error: std::io::Error| open::not_writable(&paths, &error);
        let opening = instance::lock_opening(&paths).map_err(failed)?;
        let runtime = quiet_runtime(paths.database())?;
        let mut found = network_warning(&paths);
        let (connection, instance) = runtime.block_on(async {
            let mut connection = open::open_writer(&paths).await?;
            let fault = |fault: Fault| fault.at(paths.database());
            dead::clean_up(&mut connection, &paths, &mut found).await.map_err(fault)?;
            let instance = Instance::claim(&paths).map_err(failed)?;
            open::register(&mut connection, instance.id().as_str()).await.map_err(|error| fault(error.into()))?;
            Ok::<_, StoreError>((connection, instance))
        })?;
        drop(opening);
        for warning in found {
            let _ = warn.try_send(warning);
        }
        let (messages, inbox) = bounded(QUEUE);
        let id = instance.id().to_string();
        let thread = WriterThread {
            spill: Spill::new(instance::spill_path(&paths, instance.id())),
            paths: paths.clone(),
            instance,
            runtime,
            // The instance was written just now: all files are there.
            identity: Identity::of(&paths),
            connection: Some(connection),
            messages: inbox,
            warnings: warn.clone(),
            state: super::thread::State::default(),
        };
        let thread = std::thread::Builder::new()
            .name("headroom-store".to_owned())
            .spawn(|| thread.work())
            .map_err(|error| StoreError::Database { path: paths.database().to_owned(), reason: error.to_string() })?;
        let writer = StoreWriter::new(messages, warn.clone());
        let writing = Some(Writing { writer, instance: id, thread: Mutex::new(Some(thread)) });
        let readers = Readers::new(paths.clone(), false);
        Ok(Self::with(Inner::new(paths, readers, (warn, warnings), writing)))
    }

    fn open_for_reading(paths: StorePaths) -> Result<Self, StoreError> {
        let path = paths.database();
        let length = std::fs::metadata(path).map_or(0, |file| file.len());
        if length == 0 {
            return Err(StoreError::Missing { path: path.to_owned() });
        }
        open::check_header(path)?;
        let check = |readers: &Readers| {
            readers.read(async |connection| open::check_readable(connection, path).await.map_err(Fault::from))
        };
        let mut readers = Readers::new(paths.clone(), false);
        if let Err(error) = check(&readers) {
            // On a read-only disk the files that readers share cannot be made. With no log there is nothing to share.
            let log = std::fs::metadata(paths.log()).map_or(0, |file| file.len());
            if !matches!(error, StoreError::NotWritable { .. }) || log > 0 {
                return Err(error);
            }
            readers = Readers::new(paths.clone(), true);
            check(&readers)?;
        }
        let (warn, warnings) = bounded(WARNINGS);
        for warning in network_warning(&paths) {
            let _ = warn.try_send(warning);
        }
        Ok(Self::with(Inner::new(paths, readers, (warn, warnings), None)))
    }

    fn with(inner: Inner) -> Self {
        Self { inner: Arc::new(inner) }
    }

    /// The training thread's way in, or, for a store that is open for reading only, one that leads nowhere.
    pub fn writer_if_any(&self) -> StoreWriter {
        self.writer().unwrap_or_else(|_| StoreWriter::nowhere(self.inner.warn.clone()))
    }

    /// Facts from the configs that were read so far.
    pub(crate) fn known_configs(&self) -> KnownConfigs {
        self.inner.configs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn keep_known_configs(&self, configs: &KnownConfigs) {
        let mut known = self.inner.configs.lock().unwrap_or_else(PoisonError::into_inner);
        if configs.upto > known.upto {
            known.clone_from(configs);
        }
    }

    /// Says once that rows of a table are left out.
    pub(crate) fn warn_hidden(&self, table: &'static str) {
        if self.inner.told_hidden.lock().unwrap_or_else(PoisonError::into_inner).insert(table) {
            let _ = self.inner.warn.try_send(StoreWarning::RowsHidden { table: table.to_owned() });
        }
    }

    /// Where things are.
    pub fn paths(&self) -> &StorePaths {
        &self.inner.paths
    }

    /// Trouble as it happens. One queue: clones of the receiver share it.
    pub fn warnings(&self) -> Receiver<StoreWarning> {
        self.inner.warnings.clone()
    }

    /// The training thread's way in.
    pub fn writer(&self) -> Result<StoreWriter, StoreError> {
        self.writing().map(|writing| writing.writer.clone())
    }

    /// Marks runs of programs that died as interrupted, and returns them. Done at open; a window that stays open calls
    /// it now and then.
    pub fn mark_interrupted(&self) -> Result<Vec<super::RunId>, StoreError> {
        self.writing()?;
        let paths = self.inner.paths.clone();
        let opening = instance::lock_opening(&paths).map_err(|error| open::not_writable(&paths, &error))?;
        let warn = self.inner.warn.clone();
        // What waits to be written has nothing to do with it: nobody is to wait while the disk is full.
        let runs = self.job(false, Duration::ZERO, async move |connection| {
            let mut found = Vec::new();
            let runs = dead::clean_up(connection, &paths, &mut found).await?;
            for warning in found {
                let _ = warn.try_send(warning);
            }
            Ok(runs)
        });
        drop(opening);
        runs
    }

    /// This program's name in the store.
    pub(crate) fn instance(&self) -> Result<&str, StoreError> {
        self.writing().map(|writing| writing.instance.as_str())
    }

    /// Answers a question from one consistent state of the database.
    pub(crate) fn read<T>(
        &self,
        question: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        self.inner.readers.read(question)
    }

    /// What the rows of a question say; those that cannot be read are left out, which is told once of a table.
    pub(crate) fn readable<R>(
        &self,
        table: &'static str,
        question: &'static str,
        read: impl Fn(&SqliteRow) -> Option<R>,
    ) -> Result<Vec<R>, StoreError> {
        let rows = self.read(async |connection| Ok(sqlx::query(question).fetch_all(connection).await?))?;
        let found: Vec<R> = rows.iter().filter_map(read).collect();
        if found.len() < rows.len() {
            self.warn_hidden(table);
        }
        Ok(found)
    }

    /// Deletes something so that it can be brought back, or brings it back; `change` takes its id and the time.
    pub(crate) fn set_deleted(&self, change: &'static str, id: &str, deleted: bool) -> Result<(), StoreError> {
        let id = id.to_owned();
        self.change(async move |connection| {
            sqlx::query(change).bind(id).bind(deleted.then(now_ms)).execute(connection).await?;
            Ok(())
        })
    }

    /// Changes the database in a transaction of its own, after all that was logged before.
    pub(crate) fn change<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.job(true, PATIENCE, work)
    }

    /// Works on the writing connection without a transaction around it.
    pub(crate) fn outside_transaction<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.job(false, PATIENCE, work)
    }

    fn job<T: Send + 'static>(
        &self,
        in_transaction: bool,
        patience: Duration,
        work: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = bounded(1);
        let job = Change::boxed(work, reply, in_transaction);
        let message = Message::Job { job, deadline: Instant::now() + patience };
        self.writing()?.writer.messages().send(message).map_err(|_| StoreError::Closed)?;
        let answer = answer.recv().map_err(|_| StoreError::Closed)?;
        answer.map_err(|fault| fault.at(self.inner.paths.database()))
    }

    fn writing(&self) -> Result<&Writing, StoreError> {
        let missing = || StoreError::ReadOnly { path: self.inner.paths.database().to_owned() };
        self.inner.writing.as_ref().ok_or_else(missing)
    }
}

impl Inner {
    fn new(
        paths: StorePaths,
        readers: Readers,
        (warn, warnings): (Sender<StoreWarning>, Receiver<StoreWarning>),
        writing: Option<Writing>,
    ) -> Self {
        let configs = Mutex::new(KnownConfigs::default());
        Self { paths, readers, warnings, warn, writing, configs, told_hidden: Mutex::default() }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.readers.close();
        let Some(writing) = &self.writing else { return };
        let _ = writing.writer.messages().send(Message::Close);
        let thread = writing.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

fn network_warning(paths: &StorePaths) -> Vec<StoreWarning> {
    let found = network::network_file_system(paths.root());
    found
        .map(|file_system| StoreWarning::NetworkFolder { path: paths.root().to_owned(), file_system })
        .into_iter()
        .collect()
}
