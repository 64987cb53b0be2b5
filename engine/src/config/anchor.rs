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
    /// Every path of it that was named: of what is read and of its tokenizer.
    pub fn paths_mut(&mut self) -> Vec<&mut PathBuf> {
        let mut paths = match &mut self.source {
            Source::File(file) => with(&mut file.path, &mut file.validation_path),
            Source::Table(table) => with(&mut table.path, &mut table.validation_path),
            Source::Squad(squad) => with(&mut squad.path, &mut squad.validation_path),
            Source::Pairs(pairs) => pairs.paths_mut().into_iter().flatten().collect(),
            Source::Images(images) => images.paths_mut().map(|(_, path)| path).collect(),
            Source::Grammar(_)
            | Source::Random(_)
            | Source::NumberWords(_)
            | Source::Pathfinder(_)
            | Source::ListOps(_) => Vec::new(),
        };
        if let Tokenizer::File(file) = &mut self.tokenizer {
            paths.push(&mut file.path);
        }
        paths
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

fn with<'a>(path: &'a mut PathBuf, validation_path: &'a mut Option<PathBuf>) -> Vec<&'a mut PathBuf> {
    std::iter::once(path).chain(validation_path).collect()
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
