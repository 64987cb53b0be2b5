use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::hash::sha256_hex;
use super::{DataError, Documents, TextTokenizer, read_text_file};

/// Part of the key: a tokenizer trained by another version may differ.
const TRAINER: &str = "tokenizers 0.23, training 1";

/// The largest entry that is read, in bytes: the largest tokenizer, which has some 50 MB for a million tokens, and its checksum.
const LARGEST_ENTRY: u64 = (1 << 27) + 65;

/// Folder of trained tokenizers. An entry is the SHA-256 of the JSON, a line feed, and the JSON; one that is cut
/// short or edited counts as absent.
pub(super) struct TokenizerCache<'a> {
    folder: &'a Path,
}

impl<'a> TokenizerCache<'a> {
    /// The cache in `folder`, which need not exist yet.
    pub(super) fn new(folder: &'a Path) -> Self {
        Self { folder }
    }

    /// The tokenizer for `settings` and the text, from the cache or from `train`. Failing to write is no error: the
    /// reason goes into `warnings`.
    pub(super) fn get_or_train(
        &self,
        settings: &str,
        documents: &Documents,
        warnings: &mut Vec<String>,
        train: impl FnOnce() -> Result<TextTokenizer, DataError>,
    ) -> Result<TextTokenizer, DataError> {
        let parts = [TRAINER.as_bytes(), settings.as_bytes()].into_iter().chain(documents.iter().map(str::as_bytes));
        // A store from elsewhere may have a link in its place.
        let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|there| there.is_symlink());
        if is_link(self.folder) || self.folder.parent().is_some_and(is_link) {
            return train();
        }
        let path = self.folder.join(format!("tokenizer-{}.json", sha256_hex(parts)));
        if let Some(known) = read(&path) {
            return Ok(known);
        }
        let trained = train()?;
        if let Err(error) = self.write(&path, trained.to_json()) {
            warnings.push(format!(
                "The trained tokenizer could not be kept for the next run ({error}). Check the cache folder: {}",
                self.folder.display()
            ));
        }
        Ok(trained)
    }

    /// Writes beside the entry, syncs, renames: a reader never sees half of it.
    fn write(&self, path: &PathBuf, json: &str) -> std::io::Result<()> {
        std::fs::create_dir_all(self.folder)?;
        // Windows has no modes.
        #[cfg_attr(not(unix), expect(unused_mut, reason = "changed on Unix only"))]
        let mut new = tempfile::Builder::new();
        // As for any other file, the user's umask decides.
        #[cfg(unix)]
        new.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = new.tempfile_in(self.folder)?;
        writeln!(file, "{}", sha256_hex([json.as_bytes()]))?;
        file.write_all(json.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }
}

fn read(path: &Path) -> Option<TextTokenizer> {
    path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
    let entry = read_text_file(path, LARGEST_ENTRY).ok()?;
    let (checksum, json) = entry.split_once('\n')?;
    (checksum == sha256_hex([json.as_bytes()])).then(|| TextTokenizer::from_json(json).ok()).flatten()
}
