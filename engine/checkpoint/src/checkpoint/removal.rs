//! Removing the checkpoints of a run, and nothing else.
//!
//! A checkpoint is removed from the open folder that holds it, file by file: only the files that a model directory has, only
//! where `headroom.json` is a manifest of ours that names no other run. No link is followed, and nothing is removed with
//! what it holds. Manifests of checkpoints that were written before they named their run name none: for these it is
//! enough to lie where a run keeps its checkpoints, which is for the caller to see to.

use std::{
    io::{self, Read as _},
    sync::atomic::{AtomicU64, Ordering},
};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, OpenOptions};

use super::{FILES, MANIFEST, directory::nonce, manifest::Manifest};

/// A manifest is smaller than this.
const MANIFEST_BYTES: u64 = 1 << 20;
/// What the names of files begin with that the writer of weights leaves when it is killed.
const HALF_WRITTEN: &str = ".tmp";

/// Something in the folder of a run's checkpoints that may be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removable {
    /// Its name in the folder.
    pub name: String,
    /// Bytes of its files.
    pub bytes: u64,
}

/// Looks whether `name` in the folder `parent` is a checkpoint of `run`, or what a crash left of one, that may be removed.
///
/// # Errors
/// In words that follow its name: why it stays.
pub fn check_removable(parent: &Dir, name: &str, run: &str) -> Result<Removable, String> {
    let (_, bytes) = open(parent, name, run)?;
    Ok(Removable { name: name.to_owned(), bytes })
}

/// Removes what [`check_removable`] looks for. One that is not there is no error.
///
/// # Errors
/// In words that follow its name: why it stays.
pub fn remove_marked(parent: &Dir, name: &str, run: &str) -> Result<(), String> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    if parent.symlink_metadata(name).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Ok(());
    }
    let (dir, _) = open(parent, name, run)?;
    // Out of the way first, so that it is gone or whole, whenever this ends.
    let aside = if is_half_written(name) {
        name.to_owned()
    } else {
        let aside = format!(".{name}.headroom-new-{}-r{}", nonce(), COUNT.fetch_add(1, Ordering::Relaxed));
        parent.rename(name, parent, &aside).map_err(told)?;
        aside
    };
    // From the folder that was looked at, whatever has its name by now.
    for file in files(&dir)? {
        dir.remove_file(&file).map_err(told)?;
    }
    drop(dir);
    parent.remove_dir(aside).map_err(told)
}

/// Whether a name is that of a directory that was being written, or removed, when its program ended.
fn is_half_written(name: &str) -> bool {
    name.starts_with('.') && name.contains(".headroom-new-")
}

/// Opens a directory that may be removed, and counts its bytes.
fn open(parent: &Dir, name: &str, run: &str) -> Result<(Dir, u64), String> {
    let kind = parent.symlink_metadata(name).map_err(told)?.file_type();
    if kind.is_symlink() {
        return Err("is a link, and links are not followed".to_owned());
    }
    if !kind.is_dir() {
        return Err("is no folder".to_owned());
    }
    let dir = parent.open_dir_nofollow(name).map_err(told)?;
    let names = files(&dir)?;
    if !names.is_empty() && !is_half_written(name) {
        match read(&dir) {
            Ok(text) => Manifest::marks(&text, run).map_err(|why| format!("stays: {why}"))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err("has no headroom.json, which every checkpoint of Headroom's has".to_owned());
            }
            Err(error) => return Err(format!("stays: its headroom.json cannot be read ({error})")),
        }
    }
    let size = |name: &String| dir.symlink_metadata(name).map_or(0, |file| file.len());
    let bytes = names.iter().map(size).sum();
    Ok((dir, bytes))
}

/// The files of a model directory.
///
/// # Errors
/// In words: it holds something that is none of these.
fn files(dir: &Dir) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for entry in dir.entries().map_err(told)? {
        let entry = entry.map_err(told)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_file = entry.file_type().map_err(told)?.is_file();
        if !is_file || !(FILES.contains(&name.as_str()) || name.starts_with(HALF_WRITTEN)) {
            return Err(format!("holds what is not Headroom's ({name:?})"));
        }
        names.push(name);
    }
    // Last, so that what is left of a removal that was cut short carries its mark to the end.
    names.sort_by_key(|name| name == MANIFEST);
    Ok(names)
}

/// The text of the manifest.
fn read(dir: &Dir) -> io::Result<String> {
    let mut options = OpenOptions::new();
    let mut text = String::new();
    let file = dir.open_with(MANIFEST, options.read(true).follow(FollowSymlinks::No))?;
    file.take(MANIFEST_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

fn told(error: io::Error) -> String {
    format!("cannot be removed ({error})")
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use cap_std::ambient_authority;

    use super::*;

    const RUN: &str = "0000000001";

    fn checkpoint(parent: &Path, name: &str, manifest: &str) {
        let dir = parent.join(name);
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("config.json"), "{}").unwrap();
        fs::write(dir.join(MANIFEST), manifest).unwrap();
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn only_what_carries_the_mark_of_its_run_goes() {
        let folder = tempfile::tempdir().unwrap();
        let parent = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        let manifest = |program: &str, run: &str| format!(r#"{{"format":1,"program":"{program}"{run},"files":{{}}}}"#);
        checkpoint(folder.path(), "step-1", &manifest("headroom 0.1.0", r#","run":"0000000001""#));
        // As programs wrote it before the manifest named its run.
        checkpoint(folder.path(), "step-2", &manifest("headroom 0.1.0", ""));
        checkpoint(folder.path(), "step-3", &manifest("headroom 0.1.0", r#","run":"0000000002""#));
        checkpoint(folder.path(), "step-4", &manifest("another", ""));
        checkpoint(folder.path(), "step-5", "no JSON");
        checkpoint(folder.path(), "step-6", &manifest("headroom 0.1.0", ""));
        fs::write(folder.path().join("step-6/thesis.tex"), "years of work").unwrap();
        checkpoint(folder.path(), "step-7", &manifest("headroom 0.1.0", ""));
        fs::create_dir(folder.path().join("step-7/tokenizer.json")).unwrap();
        fs::create_dir(folder.path().join("step-8")).unwrap();
        fs::write(folder.path().join("step-8/config.json"), "{}").unwrap();
        for (number, word) in [
            (3, "another run"),
            (4, "another program"),
            (5, "cannot be read"),
            (6, "thesis"),
            (7, "tokenizer"),
            (8, "no headroom.json"),
        ] {
            let name = format!("step-{number}");
            let before = names(&folder.path().join(&name));
            let why = check_removable(&parent, &name, RUN).unwrap_err();
            assert!(why.contains(word), "{why}");
            assert_eq!(remove_marked(&parent, &name, RUN).unwrap_err(), why);
            assert_eq!(names(&folder.path().join(&name)), before);
        }
        for name in ["step-1", "step-2", "step-9"] {
            remove_marked(&parent, name, RUN).unwrap();
        }
        assert_eq!(names(folder.path()), ["step-3", "step-4", "step-5", "step-6", "step-7", "step-8"]);
    }

    #[test]
    fn what_a_crash_left_half_written_goes() {
        let folder = tempfile::tempdir().unwrap();
        let parent = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        let name = ".step-1.headroom-new-12-34-0";
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join(".tmpAbCdEf"), "half").unwrap();
        assert_eq!(check_removable(&parent, name, RUN).unwrap().bytes, 4);
        remove_marked(&parent, name, RUN).unwrap();
        assert!(names(folder.path()).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        use std::os::unix::fs::symlink;
        let (folder, victim) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let parent = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        let manifest = r#"{"format":1,"program":"headroom 0.1.0","files":{}}"#;
        checkpoint(victim.path(), "model", manifest);
        symlink(victim.path().join("model"), folder.path().join("step-1")).unwrap();
        checkpoint(folder.path(), "step-2", manifest);
        symlink(victim.path().join("model"), folder.path().join("step-2/tokenizer.json")).unwrap();
        for name in ["step-1", "step-2"] {
            remove_marked(&parent, name, RUN).unwrap_err();
        }
        assert_eq!(names(folder.path()), ["step-1", "step-2"]);
        assert_eq!(names(&victim.path().join("model")), ["config.json", MANIFEST]);
    }
}
