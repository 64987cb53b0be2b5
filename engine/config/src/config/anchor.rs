//! The files of a config: one list of the fields that name them.

use std::{
    path::{Path, PathBuf},
    sync::LazyLock,
};

use super::{DataConfig, FileTokenizer, Holds, PathField, PathSlot, RunConfig, Source, Tokenizer};

impl RunConfig {
    /// The same config with every relative path taken from `base_dir`, so that it means the same from anywhere.
    #[must_use]
    pub fn anchored(mut self, base_dir: &Path) -> Self {
        self.data = self.data.anchored(base_dir);
        self
    }
}

impl DataConfig {
    /// The fields that name files: of its source, and of its tokenizer.
    pub fn path_fields(&mut self) -> Vec<PathField<'_>> {
        let has_own_tokens = self.source.has_own_tokens();
        let mut fields = self.source.path_fields();
        if let Tokenizer::File(file) = &mut self.tokenizer
            && !has_own_tokens
        {
            let slot = PathSlot::Required(&mut file.path);
            fields.push(PathField { name: "data.tokenizer.path", holds: Holds::Tokenizer, slot });
        }
        fields
    }

    /// Names of the fields of all kinds of data that name files.
    pub fn path_field_names() -> &'static [&'static str] {
        static NAMES: LazyLock<Vec<&str>> = LazyLock::new(DataConfig::find_path_fields);
        &NAMES
    }

    fn find_path_fields() -> Vec<&'static str> {
        let mut names = Vec::new();
        for source in Source::examples() {
            let tokenizer = Tokenizer::File(FileTokenizer::default());
            let mut data = Self { source, tokenizer, ..Self::default() };
            for field in data.path_fields() {
                if !names.contains(&field.name) {
                    names.push(field.name);
                }
            }
        }
        names
    }

    /// Names the file of a field. False where such data have no field of that name.
    pub fn put_path(&mut self, field: &str, path: PathBuf) -> bool {
        if self.source.put_path(field, path.clone()) {
            return true;
        }
        let Some(mut own) = self.path_fields().into_iter().find(|own| own.name == field) else { return false };
        own.put(Some(path));
        true
    }

    /// Every path of it that was named: of what is read and of its tokenizer.
    pub fn paths_mut(&mut self) -> Vec<&mut PathBuf> {
        self.path_fields().into_iter().filter_map(PathField::named).collect()
    }

    /// The same config with every relative path taken from `base_dir`.
    #[must_use]
    pub fn anchored(mut self, base_dir: &Path) -> Self {
        for path in self.paths_mut() {
            if path.is_relative() && !path.as_os_str().is_empty() {
                *path = base_dir.join(&*path);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::FileSource;

    #[test]
    fn relative_paths_are_taken_from_the_config_files_folder() {
        let source = |path: &str| Source::File(FileSource { path: path.into(), ..FileSource::default() });
        let anchored = |path: &str| {
            let data = DataConfig { source: source(path), ..DataConfig::default() };
            data.anchored(Path::new("/base")).source
        };
        assert_eq!(anchored("a/b.txt"), source("/base/a/b.txt"));
        assert_eq!(anchored("/a/b.txt"), source("/a/b.txt"));
        assert_eq!(anchored(""), source(""));
    }
}
