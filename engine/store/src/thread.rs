use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use sqlx::Connection;
use sqlx::sqlite::SqliteConnection;
use tokio::runtime::Runtime;

use super::apply::{Keys, Source, apply};
use super::entry::{Entry, OtherEntry};
use super::identity::Identity;
use super::instance::Instance;
use super::job::Job;
use super::spill::Spill;
use super::transaction::{Aborted, transact};
use super::{Settled, StoreError, StorePaths, StoreWarning, open};

/// How long entries wait to be written together.
const INTERVAL: Duration = Duration::from_millis(250);
/// Entries that are written without waiting longer.
const ENOUGH: usize = 50_000;
/// Entries held in memory when neither the database nor the spill file can be written.
const HELD: usize = 1_000_000;
/// Pauses between attempts to write a database that cannot be written.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Entries that go to the spill file at a time, so that what fits is not held up by what does not.
const ASIDE: usize = 4096;

/// What the writing thread is asked.
pub(crate) enum Message {
    /// Write this down when there is time.
    Entry(Entry),
    /// Change the database now and answer.
    Job { job: Box<dyn Job>, deadline: Instant },
    /// Say when everything before is on disk.
    Flush(Sender<Result<(), StoreError>>),
    /// Say where everything before is, once it is in the database or the time is over.
    Settle { reply: Sender<Settled>, deadline: Instant },
    /// Write everything and end.
    Close,
}

/// The thread that owns the only writing connection.
pub(crate) struct WriterThread {
    pub paths: StorePaths,
    pub instance: Instance,
    pub runtime: Runtime,
    /// None after an error that left doubt about it, until the database can be opened again.
    pub connection: Option<SqliteConnection>,
    /// The files of the database that was opened.
    pub identity: Identity,
    pub messages: Receiver<Message>,
    pub warnings: Sender<StoreWarning>,
    pub spill: Spill,
    pub state: State,
}

/// What the thread remembers between messages.
#[derive(Default)]
pub(crate) struct State {
    pending: Vec<Entry>,
    jobs: VecDeque<(Box<dyn Job>, Instant)>,
    keys: Keys,
    trouble: Option<Trouble>,
    settling: Vec<(Sender<Settled>, Instant)>,
    /// A file apart from the store that holds what nothing else can hold.
    apart: Option<PathBuf>,
    /// Something was logged: the database holds what this program made.
    has_logged: bool,
    /// The database was found removed or replaced, and was copied if that could be done.
    removed: Option<Removed>,
    lost: u64,
}

/// The outcome of finding the database removed.
#[derive(Clone, Debug)]
struct Removed {
    copy: Option<PathBuf>,
}

impl State {
    /// Adds an entry. While nothing can be written, outcomes of examples take the place of those before them.
    fn push(&mut self, entry: Entry) {
        if let Entry::Other(newer) = &entry
            && matches!(**newer, OtherEntry::Outcomes { .. })
        {
            let is_replaced = |known: &Entry| matches!(known, Entry::Other(known) if known.is_replaced_by(newer));
            self.pending.retain(|known| !is_replaced(known));
        }
        self.pending.push(entry);
    }

    fn is_idle(&self) -> bool {
        self.pending.is_empty() && self.jobs.is_empty() && self.settling.is_empty() && self.trouble.is_none()
    }
}

/// The database cannot be written.
struct Trouble {
    pause: Duration,
    next: Instant,
    is_holding: bool,
}

impl WriterThread {
    /// Works until it is told to close, or nobody is left to tell.
    pub fn work(mut self) {
        let mut due = Instant::now() + INTERVAL;
        loop {
            let is_idle = self.state.is_idle();
            let message = if is_idle {
                let message = self.messages.recv().map_err(|_| RecvTimeoutError::Disconnected);
                due = Instant::now() + INTERVAL;
                message
            } else {
                self.messages.recv_deadline(due)
            };
            match message {
                Ok(Message::Entry(entry)) => {
                    self.state.push(entry);
                    self.state.has_logged = true;
                    let is_enough = self.state.pending.len() >= ENOUGH && self.state.trouble.is_none();
                    if !is_enough && Instant::now() < due {
                        continue;
                    }
                    self.write();
                }
                Ok(Message::Job { job, deadline }) => {
                    self.state.jobs.push_back((job, deadline));
                    self.write();
                }
                Ok(Message::Flush(reply)) => {
                    self.write();
                    let _ = reply.send(self.flushed());
                }
                Ok(Message::Settle { reply, deadline }) => {
                    self.state.settling.push((reply, deadline));
                    self.retry_soon();
                    self.write();
                }
                Err(RecvTimeoutError::Timeout) => self.write(),
                Ok(Message::Close) | Err(RecvTimeoutError::Disconnected) => break,
            }
            due = Instant::now() + INTERVAL;
        }
        self.close();
    }

    /// Whether all entries are on disk, in the database or the spill file.
    fn flushed(&self) -> Result<(), StoreError> {
        if self.state.pending.is_empty() {
            Ok(())
        } else {
            let reason = "neither the database nor the file beside it can be written now".to_owned();
            Err(StoreError::NotWritable { path: self.spill.path().to_owned(), reason })
        }
    }

    /// Writes what waits to the database, or, while that cannot be written, to the spill file. Then does the jobs.
    fn write(&mut self) {
        if self.state.trouble.as_ref().is_some_and(|trouble| Instant::now() < trouble.next) {
            if self.state.trouble.as_ref().is_some_and(|trouble| trouble.is_holding) {
                self.give_up_oldest();
            } else {
                self.put_aside("");
            }
        } else if let Err(error) = self.write_entries() {
            let known = self.state.trouble.take();
            let pause = known.as_ref().map_or(FIRST_PAUSE, |trouble| (trouble.pause * 2).min(LONGEST_PAUSE));
            let is_new = known.is_none();
            let is_holding = known.is_some_and(|trouble| trouble.is_holding);
            self.state.trouble = Some(Trouble { pause, next: Instant::now() + pause, is_holding });
            let reason = error.to_string();
            // A database that was removed was told of when it was found.
            let is_told = matches!(error, StoreError::Removed { .. });
            if self.put_aside(&reason) && is_new && !is_told {
                self.warn(StoreWarning::Spilling { reason, spill: self.spill.path().to_owned() });
            }
        }
        self.do_jobs();
        self.tell_settled();
    }

    /// Brings the spill file, part by part, and then what waits into the database. What is written twice does no harm.
    fn write_entries(&mut self) -> Result<(), StoreError> {
        if self.state.pending.is_empty() && self.spill.entries() == 0 {
            self.state.trouble = None;
            return Ok(());
        }
        self.connect()?;
        let mut waited = 0;
        if self.spill.entries() > 0 {
            let path = self.spill.path().to_owned();
            let unreadable =
                |error: io::Error| StoreError::NotWritable { path: path.clone(), reason: error.to_string() };
            let mut batches = self.spill.batches().map_err(unreadable)?;
            while let Some(spilled) = batches.read_batch().map_err(unreadable)? {
                waited += spilled.len() as u64;
                self.write_batch(&spilled)?;
            }
        }
        let pending = std::mem::take(&mut self.state.pending);
        let written = self.write_batch(&pending);
        self.state.pending = pending;
        written?;
        waited += self.state.trouble.as_ref().map_or(0, |_| self.state.pending.len() as u64);
        self.state.pending.clear();
        if let Some(apart) = self.state.apart.take() {
            // If it cannot be removed, what is in it is written twice at worst, which does no harm.
            let _ = std::fs::remove_file(apart);
        }
        // If it cannot be removed it is merged again at the next open, which does no harm.
        let _ = self.spill.clear();
        if self.state.trouble.take().is_some() {
            self.warn(StoreWarning::Recovered { records: waited });
        }
        Ok(())
    }

    /// Writes entries in a transaction of their own.
    fn write_batch(&mut self, entries: &[Entry]) -> Result<(), StoreError> {
        if entries.is_empty() {
            return Ok(());
        }
        let Self { runtime, connection, state, paths, instance, .. } = self;
        let Some(connection) = connection else { return Err(StoreError::Closed) };
        let source = Source { paths, instance: instance.id().as_str(), is_late: false };
        let written = runtime.block_on(transact(connection, async |transaction| {
            apply(transaction, entries, &mut state.keys, source).await?;
            Ok(true)
        }));
        written.map_err(|aborted| self.aborted(&aborted))
    }

    /// Sees that the database is at its place, and opens it again if the connection to it was given up.
    fn connect(&mut self) -> Result<(), StoreError> {
        self.check_place()?;
        if self.connection.is_none() {
            self.connection = Some(self.runtime.block_on(open::reopen_writer(&self.paths))?);
            // Another program may have put the log away while none had it open.
            if self.identity.has_database(&self.paths) {
                self.identity = Identity::of(&self.paths);
            }
        }
        Ok(())
    }

    /// Refuses a database that is no longer the one that was opened: writes to it would be lost without an error. What it
    /// holds is copied the first time, if some of it is this program's.
    fn check_place(&mut self) -> Result<(), StoreError> {
        if self.identity.is_whole(&self.paths) {
            return Ok(());
        }
        let path = self.paths.database().to_owned();
        if self.state.removed.is_none() {
            // What waits is made safe before the copy, which may take a while.
            self.put_aside("");
            let copy = self.leave_removed();
            let spill = self.spill.path().to_owned();
            self.warn(StoreWarning::Removed { database: path.clone(), copy: copy.clone(), spill });
            self.state.removed = Some(Removed { copy });
        }
        Err(StoreError::Removed { path })
    }

    /// Brings the log of a database that was removed, or whose log was, into its file, so that no log is left for whatever
    /// takes its place. A database without a name is copied, see [`Self::copy_removed`].
    fn leave_removed(&mut self) -> Option<PathBuf> {
        if let Some(connection) = &mut self.connection {
            let emptied = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").fetch_all(connection);
            let _ = self.runtime.block_on(emptied);
        }
        if self.identity.has_database(&self.paths) {
            return None;
        }
        let copy = if self.state.has_logged { self.copy_removed() } else { None };
        self.identity.forget_log(&self.paths);
        copy
    }

    /// Copies a database that has no name any more from the open connection, to a file beside its place or in the folder for
    /// temporary files.
    fn copy_removed(&mut self) -> Option<PathBuf> {
        let Self { runtime, connection, paths, instance, .. } = self;
        let connection = connection.as_mut()?;
        let beside = paths.beside(&format!("{}.copy", instance.id()));
        let elsewhere = std::env::temp_dir().join(beside.file_name()?);
        [beside, elsewhere].into_iter().find(|place| {
            // Never over a file that is there.
            let Ok(file) = std::fs::File::options().write(true).create_new(true).open(place) else { return false };
            drop(file);
            let copied = sqlx::query("VACUUM INTO ?").bind(place.to_string_lossy().into_owned());
            let is_copied = runtime.block_on(copied.execute(&mut *connection)).is_ok();
            if !is_copied {
                let _ = std::fs::remove_file(place);
            }
            is_copied
        })
    }

    /// What a transaction came to, as an error. Gives the connection up if there is doubt about it.
    fn aborted(&mut self, aborted: &Aborted) -> StoreError {
        self.state.keys.clear();
        if !aborted.is_sound {
            self.give_up_connection();
        }
        StoreError::from_sqlx(&aborted.error, self.paths.database())
    }

    /// Puts a new connection in the place of the one that there is doubt about.
    fn give_up_connection(&mut self) {
        // Keys of runs and series that were new in its transaction are none.
        self.state.keys.clear();
        if self.check_place().is_err() {
            // What is at its place is another database, or none.
            return;
        }
        // The new one first: the last to close a database puts its log away, and a full disk has no room for another.
        let opened = self.runtime.block_on(open::reopen_writer(&self.paths)).ok();
        if let Some(doubtful) = std::mem::replace(&mut self.connection, opened) {
            let _ = self.runtime.block_on(doubtful.close());
        }
    }

    /// Moves what waits to the spill file; false if some of it must be held in memory.
    fn put_aside(&mut self, reason: &str) -> bool {
        let mut written = 0;
        let outcome = self.state.pending.chunks(ASIDE).try_for_each(|chunk| {
            self.spill.append(chunk)?;
            written += chunk.len();
            Ok::<_, io::Error>(())
        });
        self.state.pending.drain(..written);
        match outcome {
            Ok(()) => {
                if let Some(trouble) = &mut self.state.trouble {
                    trouble.is_holding = false;
                }
                true
            }
            Err(error) => {
                self.give_up_oldest();
                let was_holding =
                    self.state.trouble.as_mut().is_some_and(|trouble| std::mem::replace(&mut trouble.is_holding, true));
                if !was_holding {
                    let reason = format!("{reason} {error}: {}", self.spill.path().display());
                    self.warn(StoreWarning::Holding { reason: reason.trim().to_owned() });
                }
                false
            }
        }
    }

    /// Answers those who wait until all is in the database: now that it is, or now that their time is over.
    fn tell_settled(&mut self) {
        // A database that was removed takes no more: nobody waits for it.
        let is_removed = !self.state.settling.is_empty() && self.check_place().is_err();
        let is_stored = is_removed || (self.state.pending.is_empty() && self.spill.entries() == 0);
        let now = Instant::now();
        if !self.state.settling.iter().any(|(_, deadline)| is_stored || *deadline <= now) {
            if !self.state.settling.is_empty() {
                self.retry_soon();
            }
            return;
        }
        let settled = match (is_removed, is_stored) {
            (true, _) => self.settled_without_database(),
            (false, true) => Settled::Stored,
            (false, false) => self.settled_outside(),
        };
        for (reply, _) in self.state.settling.extract_if(.., |(_, deadline)| is_stored || *deadline <= now) {
            let _ = reply.send(settled.clone());
        }
    }

    /// Places of everything that was logged after the database was removed.
    fn settled_without_database(&mut self) -> Settled {
        let copy = self.state.removed.as_ref().and_then(|removed| removed.copy.clone());
        let has_rest = !self.state.pending.is_empty() || self.spill.entries() > 0;
        let spill = match has_rest.then(|| self.settled_outside()) {
            Some(Settled::Beside { path } | Settled::Apart { path }) => Some(path),
            _ => None,
        };
        Settled::Removed { copy, spill }
    }

    /// Where what is not in the database lies; what is only in memory is written to a file apart.
    fn settled_outside(&mut self) -> Settled {
        // If it cannot be put back, its entries end with this program.
        let _ = self.spill.restore();
        if !self.state.pending.is_empty() {
            self.put_aside("");
        }
        if self.state.pending.is_empty() {
            let path = self.spill.path().to_owned();
            let is_beside = path.parent() == Some(self.paths.root());
            return if is_beside { Settled::Beside { path } } else { Settled::Apart { path } };
        }
        let known = self.state.apart.as_deref();
        match Spill::apart(&self.paths, known, &self.state.pending) {
            Ok(path) => {
                self.state.apart = Some(path.clone());
                Settled::Apart { path }
            }
            Err(_) => Settled::Held,
        }
    }

    /// Keeps memory bounded: only points are given up, never a state.
    fn give_up_oldest(&mut self) {
        let excess = self.state.pending.len().saturating_sub(HELD);
        if excess == 0 {
            return;
        }
        // A good many at once, so that it is not done for every entry.
        let mut dropped = excess + HELD / 10;
        let before = self.state.pending.len();
        self.state.pending.retain(|entry| {
            let is_dropped = dropped > 0 && entry.is_point();
            dropped -= usize::from(is_dropped);
            !is_dropped
        });
        self.state.lost += (before - self.state.pending.len()) as u64;
        self.warn(StoreWarning::Lost { points: self.state.lost });
    }

    /// Does the jobs in order. While another program holds the database they wait until their deadline.
    fn do_jobs(&mut self) {
        while let Some((mut job, deadline)) = self.state.jobs.pop_front() {
            // A job sees everything that was logged before it.
            let is_blocked = self.spill.entries() > 0 || !self.state.pending.is_empty();
            if is_blocked && self.state.removed.is_none() && Instant::now() < deadline {
                self.state.jobs.push_front((job, deadline));
                self.retry_soon();
                return;
            }
            let done = self.connect().and_then(|()| self.do_job(job.as_mut()));
            if let Err(error) = &done
                && (error.is_locked() || error.is_of_disk())
                && !job.was_run()
                && Instant::now() < deadline
            {
                self.state.jobs.push_front((job, deadline));
                return;
            }
            job.finish(done);
        }
    }

    fn do_job(&mut self, job: &mut dyn Job) -> Result<(), StoreError> {
        let Self { runtime, connection, .. } = self;
        let Some(connection) = connection else { return Err(StoreError::Closed) };
        if job.is_transaction() {
            let done = runtime.block_on(transact(connection, async |transaction| Ok(job.run(transaction).await)));
            return done.map_err(|aborted| self.aborted(&aborted));
        }
        if !runtime.block_on(job.run(connection)) {
            // It may have failed in the middle of a transaction of its own.
            self.give_up_connection();
        }
        Ok(())
    }

    /// Someone waits for an answer: no long pauses.
    fn retry_soon(&mut self) {
        if let Some(trouble) = &mut self.state.trouble {
            trouble.pause = FIRST_PAUSE;
            trouble.next = trouble.next.min(Instant::now() + FIRST_PAUSE);
        }
    }

    fn warn(&self, warning: StoreWarning) {
        // When nobody reads them the oldest stay: they say how it began.
        let _ = self.warnings.try_send(warning);
    }

    /// Writes what is left, and leaves no run active that nobody works on any more.
    fn close(mut self) {
        self.state.trouble = None;
        self.write();
        for (job, _) in std::mem::take(&mut self.state.jobs) {
            job.finish(Err(StoreError::Closed));
        }
        let is_stored = self.state.pending.is_empty() && self.spill.entries() == 0;
        if !self.state.pending.is_empty() {
            self.settled_outside();
        }
        let is_in_place = self.connect().is_ok();
        let _ = self.spill.restore();
        let Self { runtime, connection, instance, .. } = self;
        let Some(mut connection) = connection else { return };
        let _ = runtime.block_on(async {
            // With a spill file left, the next open brings it in first and then marks the runs.
            if is_stored && is_in_place {
                super::dead::interrupt(&mut connection, instance.id()).await?;
            }
            connection.close().await
        });
    }
}
