//! Paths that depend on where a config was read.

use std::path::{Path, PathBuf};

use super::{DataConfig, RunConfig, Source, Tokenizer};

impl RunConfig {
    /// The same config with every relative path taken from `base_dir`, so that it means the same from anywhere.
    #[must_use]
    pub fn anchored(mut self, base_dir: &Path) -> Self {
        self.data = self.data.anchored(base_dir);
        self
    }
}

impl DataConfig {
    /// The same config with every relative path taken from `base_dir`.
    #[must_use]
    pub fn anchored(mut self, base_dir: &Path) -> Self {
        let anchor = |path: &mut PathBuf| {
            if path.is_relative() && !path.as_os_str().is_empty() {
                *path = base_dir.join(&*path);
            }
        };
        if let Source::File(file) = &mut self.source {
            anchor(&mut file.path);
            if let Some(path) = &mut file.validation_path {
                anchor(path);
            }
        }
        if let Source::Pairs(pairs) = &mut self.source {
            pairs.paths_mut().into_iter().flatten().for_each(anchor);
        }
        if let Source::Table(table) = &mut self.source {
            anchor(&mut table.path);
            if let Some(path) = &mut table.validation_path {
                anchor(path);
            }
        }
        if let Source::Squad(squad) = &mut self.source {
            anchor(&mut squad.path);
            if let Some(path) = &mut squad.validation_path {
                anchor(path);
            }
        }
        if let Source::Images(images) = &mut self.source {
            images.paths_mut().for_each(|(_, path)| anchor(path));
        }
        if let Tokenizer::File(file) = &mut self.tokenizer {
            anchor(&mut file.path);
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
