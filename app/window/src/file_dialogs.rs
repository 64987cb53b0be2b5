//! File dialogs, and reading and writing of files, each on a thread of its own: the window never waits for a disk.
//!
//! A caller starts an errand under a key of its own (such as `"configure.open"`) and takes the answer under that key in
//! a later frame. A second errand under a key that is still busy is not started.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, Sender, bounded};
use headroom_engine::data::read_file;

/// Errands that may be answered before the window looks.
const WAITING: usize = 64;
/// Who is faster than this to close a dialog has not seen one.
const SEEN: Duration = Duration::from_millis(400);
/// How long what was found of a path holds.
const HOLDS: Duration = Duration::from_secs(2);
/// The largest file that is read whole into the window.
const LARGEST_READ: u64 = 16 << 20;

/// Which dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// An existing file.
    File,
    /// An existing folder.
    Folder,
    /// A file to be written.
    Save,
}

/// What a file dialog asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Which dialog.
    pub pick: Pick,
    /// The dialog's title.
    pub title: String,
    /// Name of the kind of file, such as `Run config`; empty for any file.
    pub kind: String,
    /// Its endings without the dot.
    pub endings: Vec<String>,
    /// Suggested file name, for `Save`.
    pub file_name: String,
    /// Where to begin.
    pub folder: Option<PathBuf>,
}

impl Ask {
    /// A dialog for any file.
    pub fn new(pick: Pick, title: impl Into<String>) -> Self {
        Self {
            pick,
            title: title.into(),
            kind: String::new(),
            endings: Vec::new(),
            file_name: String::new(),
            folder: None,
        }
    }

    /// Only files of one kind.
    pub fn kind(mut self, kind: impl Into<String>, endings: &[&str]) -> Self {
        self.kind = kind.into();
        self.endings = endings.iter().map(|&ending| ending.to_owned()).collect();
        self
    }

    /// With a suggested file name.
    pub fn file_name(mut self, name: impl Into<String>) -> Self {
        self.file_name = name.into();
        self
    }

    /// Beginning in this folder.
    pub fn folder(mut self, folder: Option<PathBuf>) -> Self {
        self.folder = folder;
        self
    }
}

/// What an errand came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The user chose a path.
    Picked(PathBuf),
    /// The user closed the dialog.
    Cancelled,
    /// No dialog could be shown: a typed path always works.
    NotShown,
    /// The text of a file.
    Read {
        /// The file.
        path: PathBuf,
        /// Its text.
        text: String,
    },
    /// A file was written.
    Written {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// What was looked for beside a path.
    Looked {
        /// The path.
        of: PathBuf,
        /// What was found.
        found: Option<PathBuf>,
    },
    /// It failed: what and why, as a sentence that ends with the path.
    Failed(String),
}

/// Errands under way and their answers.
pub struct FileDialogs {
    sender: Sender<(String, Answer)>,
    receiver: Receiver<(String, Answer)>,
    busy: Vec<String>,
    answers: BTreeMap<String, Answer>,
    /// What was found last under a key, of which path, and when.
    looks: BTreeMap<String, (Instant, PathBuf, Option<PathBuf>)>,
    /// A dialog was asked for and could not be shown.
    not_shown: bool,
    /// As on a system that has no dialogs.
    offers_none: bool,
    wake: Arc<dyn Fn() + Send + Sync>,
}

impl FileDialogs {
    /// No errand yet. `wake` is called from an errand's thread when its answer waits.
    pub fn new(wake: Arc<dyn Fn() + Send + Sync>) -> Self {
        let (sender, receiver) = bounded(WAITING);
        Self {
            sender,
            receiver,
            busy: Vec::new(),
            answers: BTreeMap::new(),
            looks: BTreeMap::new(),
            not_shown: false,
            offers_none: false,
            wake,
        }
    }

    /// Opens a file dialog; the answer is [`Answer::Picked`], [`Answer::Cancelled`] or [`Answer::NotShown`].
    pub fn pick(&mut self, key: &str, ask: Ask) {
        let offers_none = self.offers_none;
        self.pick_with(key, move || if offers_none { None } else { show(ask) });
    }

    /// From now on no dialog can be shown, as on a system that offers none. For tests.
    pub fn offer_none(&mut self) {
        self.offers_none = true;
    }

    fn pick_with(&mut self, key: &str, show: impl FnOnce() -> Option<PathBuf> + Send + 'static) {
        self.errand(key, move || {
            let start = Instant::now();
            match show() {
                Some(path) => Answer::Picked(path),
                // The library says the same of a dialog that was closed and of one that never came.
                None if start.elapsed() < SEEN => Answer::NotShown,
                None => Answer::Cancelled,
            }
        });
    }

    /// Whether a dialog could not be shown, once: there is no desktop portal, or none that has dialogs.
    pub fn take_not_shown(&mut self) -> bool {
        std::mem::take(&mut self.not_shown)
    }

    /// Reads a text file; the answer is [`Answer::Read`] or [`Answer::Failed`].
    pub fn read(&mut self, key: &str, path: PathBuf) {
        self.errand(key, move || read(path));
    }

    /// Writes a file from what `produce` makes on the errand's thread: to a temporary name, then renamed. The answer is
    /// [`Answer::Written`] or [`Answer::Failed`].
    pub fn write(
        &mut self,
        key: &str,
        path: PathBuf,
        produce: impl FnOnce() -> Result<Vec<u8>, String> + Send + 'static,
    ) {
        self.errand(key, move || match produce() {
            Ok(bytes) => write(path, &bytes),
            Err(why) => Answer::Failed(why),
        });
    }

    /// What `find` finds of a path, once that is known; looked for again where what is known is old. The key is of this alone.
    pub fn look(&mut self, key: &str, path: &Path, find: fn(&Path) -> Option<PathBuf>) -> Option<Option<PathBuf>> {
        if let Some(Answer::Looked { of, found }) = self.answers.remove(key) {
            self.looks.insert(key.to_owned(), (Instant::now(), of, found));
        }
        let known = self.looks.get(key).filter(|(_, of, _)| of == path);
        let (is_old, found) =
            (known.is_none_or(|(at, ..)| at.elapsed() > HOLDS), known.map(|(.., found)| found.clone()));
        if is_old {
            let of = path.to_owned();
            self.errand(key, move || Answer::Looked { found: find(&of), of });
        }
        found
    }

    /// Whether the errand under this key is under way.
    pub fn is_busy(&self, key: &str) -> bool {
        self.busy.iter().any(|busy| busy == key)
    }

    /// The answer under this key, if one has come.
    pub fn take(&mut self, key: &str) -> Option<Answer> {
        self.answers.remove(key)
    }

    /// Takes the answers in that have come; the window calls it before it draws.
    pub fn drain(&mut self) {
        while let Ok((key, answer)) = self.receiver.try_recv() {
            self.busy.retain(|busy| *busy != key);
            self.not_shown |= answer == Answer::NotShown;
            self.answers.insert(key, answer);
        }
    }

    fn errand(&mut self, key: &str, work: impl FnOnce() -> Answer + Send + 'static) {
        if self.is_busy(key) {
            return;
        }
        let (sender, wake, owned) = (self.sender.clone(), Arc::clone(&self.wake), key.to_owned());
        let thread = std::thread::Builder::new().name("headroom-file".to_owned()).spawn(move || {
            // The window may be gone by now; then nobody waits for the answer.
            let _ = sender.send((owned, work()));
            wake();
        });
        match thread {
            Ok(_) => self.busy.push(key.to_owned()),
            Err(error) => {
                let why = format!("The file cannot be reached: no thread could be started ({error}).");
                self.answers.insert(key.to_owned(), Answer::Failed(why));
            }
        }
    }
}

#[cfg(feature = "platform")]
fn show(ask: Ask) -> Option<PathBuf> {
    let mut dialog = rfd::FileDialog::new().set_title(ask.title);
    if !ask.endings.is_empty() {
        dialog = dialog.add_filter(ask.kind, &ask.endings).add_filter("Any file", &["*"]);
    }
    if let Some(folder) = ask.folder.filter(|folder| folder.is_dir()) {
        dialog = dialog.set_directory(folder);
    }
    if !ask.file_name.is_empty() {
        dialog = dialog.set_file_name(ask.file_name);
    }
    match ask.pick {
        Pick::File => dialog.pick_file(),
        Pick::Folder => dialog.pick_folder(),
        Pick::Save => dialog.save_file(),
    }
}

/// Without a window of the machine there are no dialogs of its own.
#[cfg(not(feature = "platform"))]
fn show(_: Ask) -> Option<PathBuf> {
    None
}

fn read(path: PathBuf) -> Answer {
    let failed = |why: String| Answer::Failed(format!("Cannot read the file: {why}. {}", path.display()));
    match read_file(&path, LARGEST_READ).map(String::from_utf8) {
        Ok(Ok(text)) => Answer::Read { path, text },
        Ok(Err(error)) => failed(format!("it is not UTF-8 text (byte {})", error.utf8_error().valid_up_to())),
        Err(error) => failed(reason(&error)),
    }
}

fn write(path: PathBuf, bytes: &[u8]) -> Answer {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let temporary = path.with_file_name(name);
    match fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, &path)) {
        Ok(()) => Answer::Written { path, bytes: bytes.len() as u64 },
        Err(error) => {
            let _ = fs::remove_file(&temporary);
            Answer::Failed(format!("Cannot write the file: {}. {}", reason(&error), path.display()))
        }
    }
}

/// The commonest reasons in plain words.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file or folder".to_owned(),
        io::ErrorKind::PermissionDenied => "it is not allowed here".to_owned(),
        io::ErrorKind::StorageFull => "the disk is full".to_owned(),
        _ => error.to_string(),
    }
}

/// The folder that the program was started in: relative paths that are typed, and those of stored configs, start there.
pub fn current_folder() -> PathBuf {
    std::env::current_dir().unwrap_or_default()
}

/// A path as typed: surrounding blanks and quotes go, a leading `~` is the home folder, and what is relative starts at
/// `base`.
pub fn typed_path(text: &str, base: &Path) -> PathBuf {
    let text = text.trim();
    let text = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text);
    let home = || std::env::var_os(if cfg!(windows) { "USERPROFILE" } else { "HOME" }).map(PathBuf::from);
    match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with(['/', '\\']) => {
            home().map_or_else(|| PathBuf::from(text), |home| home.join(rest.trim_start_matches(['/', '\\'])))
        }
        _ => base.join(text),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn answer(dialogs: &mut FileDialogs, key: &str) -> Answer {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(30) {
            dialogs.drain();
            if let Some(answer) = dialogs.take(key) {
                return answer;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("no answer");
    }

    #[test]
    fn what_is_looked_for_is_known_later_and_of_one_path() {
        let find: fn(&Path) -> Option<PathBuf> = |path| path.exists().then(|| path.to_owned());
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let nowhere = here.join("nowhere");
        let mut dialogs = FileDialogs::new(Arc::new(|| ()));
        for (path, expected) in [(here, Some(here.to_owned())), (&nowhere, None)] {
            // What is known of the path before says nothing of this one.
            assert_eq!(dialogs.look("l", path, find), None);
            let start = Instant::now();
            let found = loop {
                dialogs.drain();
                if let Some(found) = dialogs.look("l", path, find) {
                    break found;
                }
                assert!(start.elapsed() < Duration::from_secs(30), "no answer");
                std::thread::sleep(Duration::from_millis(1));
            };
            assert_eq!(found, expected);
            assert!(!dialogs.is_busy("l"), "what is known is not asked for again at once");
        }
    }

    #[test]
    fn files_are_written_and_read_apart_from_the_window() {
        let folder = std::env::temp_dir().join(format!("headroom-dialogs-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.txt");
        let mut dialogs = FileDialogs::new(Arc::new(|| ()));
        dialogs.write("w", path.clone(), || Ok(b"text".to_vec()));
        assert_eq!(answer(&mut dialogs, "w"), Answer::Written { path: path.clone(), bytes: 4 });
        dialogs.read("r", path.clone());
        assert_eq!(answer(&mut dialogs, "r"), Answer::Read { path, text: "text".to_owned() });
        dialogs.read("r", folder.join("none.txt"));
        assert!(matches!(answer(&mut dialogs, "r"), Answer::Failed(why) if why.contains("no such file")));
        fs::write(folder.join("b.bin"), [b'a', 0xff]).unwrap();
        dialogs.read("r", folder.join("b.bin"));
        assert!(matches!(answer(&mut dialogs, "r"), Answer::Failed(why) if why.contains("byte 1")));
        dialogs.write("w", folder.join("no/such/folder.txt"), || Ok(Vec::new()));
        assert!(matches!(answer(&mut dialogs, "w"), Answer::Failed(_)));
        assert!(fs::read_dir(&folder).unwrap().all(|e| !e.unwrap().path().to_string_lossy().ends_with(".part")));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_dialog_that_never_came_is_told_from_one_that_was_closed() {
        let mut dialogs = FileDialogs::new(Arc::new(|| ()));
        dialogs.pick_with("p", || None);
        assert_eq!(answer(&mut dialogs, "p"), Answer::NotShown);
        assert!(dialogs.take_not_shown() && !dialogs.take_not_shown(), "said once");
        dialogs.pick_with("p", || {
            std::thread::sleep(SEEN);
            None
        });
        assert_eq!(answer(&mut dialogs, "p"), Answer::Cancelled);
        assert!(!dialogs.take_not_shown());
        dialogs.pick_with("p", || Some("/a".into()));
        assert_eq!(answer(&mut dialogs, "p"), Answer::Picked("/a".into()));
    }

    #[test]
    fn typed_paths_are_taken_as_people_write_them() {
        let base = Path::new("/base");
        assert_eq!(typed_path(" text.txt ", base), Path::new("/base/text.txt"));
        assert_eq!(typed_path("/a b/text.txt", base), Path::new("/a b/text.txt"));
        assert_eq!(typed_path("\"/a b/text.txt\"", base), Path::new("/a b/text.txt"));
        if let Some(home) = std::env::var_os("HOME") {
            assert_eq!(typed_path("~/x", base), Path::new(&home).join("x"));
        }
    }
}
