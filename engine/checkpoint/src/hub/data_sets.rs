//! Files of data sets that were fetched, by the names that a hub gives them.

use std::path::{Component, Path, PathBuf};

use super::{HubSettings, RepoKind, RepoName, cached};
use crate::config::{DataConfig, RunConfig};

/// The config with every path absolute: a file that is there under `base_dir` goes before one of a data set that was fetched,
/// `owner/name/path`, which lies in the cache as it was fetched last. Nothing is asked of the hub. What is nowhere is taken from
/// `base_dir`, so that whoever reads it says that it is missing.
///
/// What a run stores is the path in the cache: it names the commit, so a later fetch of another one changes nothing.
#[must_use]
pub fn anchored(mut config: RunConfig, base_dir: &Path) -> RunConfig {
    config.data = anchored_data(config.data, base_dir);
    config
}

/// The same of data alone.
#[must_use]
pub fn anchored_data(mut data: DataConfig, base_dir: &Path) -> DataConfig {
    let settings = HubSettings::from_environment().ok();
    for path in data.paths_mut() {
        if let Some(settings) = &settings
            && !base_dir.join(&*path).exists()
            && let Some(file) = in_cache(settings, path)
        {
            *path = file;
        }
    }
    data.anchored(base_dir)
}

/// Whether `owner/name/path` names a file or folder of a data set that was fetched.
pub fn is_fetched(path: &Path) -> bool {
    HubSettings::from_environment().is_ok_and(|settings| in_cache(&settings, path).is_some())
}

/// Where `owner/name/path` lies, if it was fetched.
fn in_cache(settings: &HubSettings, path: &Path) -> Option<PathBuf> {
    let parts = path.components().map(|part| match part {
        Component::Normal(part) => part.to_str(),
        _ => None,
    });
    let parts: Vec<&str> = parts.collect::<Option<_>>()?;
    // The oldest data sets have no owner.
    [2, 1].into_iter().find_map(|of_name| {
        let name: RepoName = parts.get(..of_name)?.join("/").parse().ok()?;
        let folder = cached(settings, RepoKind::Dataset, &name, None)?.path;
        let file = folder.join(parts.get(of_name..)?.iter().collect::<PathBuf>());
        file.exists().then_some(file)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    /// A data set in a cache, as a fetch leaves it.
    fn cache() -> (TempDir, HubSettings) {
        let folder = TempDir::new().unwrap();
        let repo = folder.path().join("datasets--owner--set");
        let commit = "0123456789abcdef0123456789abcdef01234567";
        let inside = repo.join("snapshots").join(commit).join("part");
        fs::create_dir_all(&inside).unwrap();
        fs::write(inside.join("train.tsv"), "text\tlabel\n").unwrap();
        fs::create_dir_all(repo.join("refs")).unwrap();
        fs::write(repo.join("refs/main"), commit).unwrap();
        let settings = HubSettings { cache: folder.path().to_owned(), ..HubSettings::from_environment().unwrap() };
        (folder, settings)
    }

    #[test]
    fn names_of_a_hub_lead_to_what_was_fetched_and_nowhere_else() {
        let (folder, settings) = cache();
        let found = in_cache(&settings, Path::new("owner/set/part/train.tsv")).unwrap();
        assert!(found.starts_with(folder.path()) && found.ends_with("part/train.tsv") && found.is_file());
        assert!(
            in_cache(&settings, Path::new("owner/set/part")).unwrap().is_dir(),
            "a folder of images is named alike"
        );
        for nowhere in [
            "owner/set/part/dev.tsv",
            "owner/other/part/train.tsv",
            "train.tsv",
            "owner/set/../../owner/set/part/train.tsv",
            "/owner/set/part/train.tsv",
            "",
            "set",
        ] {
            assert_eq!(in_cache(&settings, Path::new(nowhere)), None, "{nowhere}");
        }
    }
}
