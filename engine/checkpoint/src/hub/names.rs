//! Names that come from users, hubs and caches. Each type can only be made by parsing, and what parses is one part of a path, or
//! several that stay below where they are put.

use std::{fmt, path::PathBuf, str::FromStr};

use serde::{Deserialize, Serialize};

/// The longest name of a repository, as the hub has it.
const LONGEST_NAME: usize = 96;
/// The longest name of a branch, tag or file that is taken.
const LONGEST_PATH: usize = 512;

/// Makes a type of text that is checked by `FromStr`.
macro_rules! checked_text {
    ($name:ident) => {
        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> Self {
                text.0
            }
        }
    };
}

/// What a repository holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RepoKind {
    /// A model.
    #[default]
    Model,
    /// A data set.
    Dataset,
}

impl RepoKind {
    /// As prose says it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Dataset => "data set",
        }
    }

    pub(super) fn repo_type(self) -> hf_hub::RepoType {
        match self {
            Self::Model => hf_hub::RepoType::Model,
            Self::Dataset => hf_hub::RepoType::Dataset,
        }
    }
}

/// The name of a repository: `NAME` or `ORG/NAME`.
///
/// Letters, digits, `-`, `_` and `.`; no part begins or ends with `-` or `.`, and neither `--` nor `..` is in it, so that folders of two
/// names are never the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RepoName(String);
checked_text!(RepoName);

impl RepoName {
    /// Whose it is, where the name says so.
    pub fn owner(&self) -> Option<&str> {
        self.0.split_once('/').map(|(owner, _)| owner)
    }

    /// The name without its owner.
    pub fn name(&self) -> &str {
        self.0.rsplit_once('/').map_or(self.as_str(), |(_, name)| name)
    }
}

impl FromStr for RepoName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split('/').collect();
        let is_part = |part: &&str| {
            !part.is_empty()
                && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
                && !part.starts_with(['-', '.'])
                && !part.ends_with(['-', '.'])
        };
        let is_name = text.len() <= LONGEST_NAME
            && parts.len() <= 2
            && parts.iter().all(is_part)
            && !text.contains("--")
            && !text.contains("..");
        if is_name {
            return Ok(Self(text.to_owned()));
        }
        Err(format!(
            "\"{}\" is no name on a hub. Names are NAME or OWNER/NAME, of letters, digits, -, _ and ., with at most \
             {LONGEST_NAME} characters.",
            shortened(text)
        ))
    }
}

/// A branch, a tag or a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Revision(String);
checked_text!(Revision);

impl Default for Revision {
    fn default() -> Self {
        Self("main".to_owned())
    }
}

impl Revision {
    /// The commit, where it is the whole hash of one.
    pub fn commit(&self) -> Option<CommitHash> {
        self.0.parse().ok()
    }
}

impl FromStr for Revision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_part = |part: &str| {
            !part.is_empty()
                && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | '@'))
                && !part.starts_with(['-', '.'])
                && !part.ends_with('.')
        };
        if text.len() <= LONGEST_PATH && text.split('/').all(is_part) && !text.contains("..") {
            return Ok(Self(text.to_owned()));
        }
        Err(format!("\"{}\" is no revision. Name a branch, a tag or a commit.", shortened(text)))
    }
}

/// The hash of a commit: 40 hexadecimal digits, or 64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CommitHash(String);
checked_text!(CommitHash);

impl FromStr for CommitHash {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if is_hash(text, 40) || is_hash(text, 64) {
            return Ok(Self(text.to_owned()));
        }
        Err(format!("\"{}\" is no hash of a commit.", shortened(text)))
    }
}

/// Where a file lies in a repository: parts with `/` between them, none of which leads up or elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RepoPath(String);
checked_text!(RepoPath);

impl RepoPath {
    /// The path on disk, relative.
    pub fn to_path(&self) -> PathBuf {
        self.0.split('/').collect()
    }

    /// How many folders it lies in.
    pub fn depth(&self) -> usize {
        self.0.split('/').count() - 1
    }
}

impl FromStr for RepoPath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // No separators and streams of other systems, no characters that steer.
        let is_part = |part: &str| {
            !part.is_empty()
                && part.len() <= 255
                && part != "."
                && part != ".."
                && !part.chars().any(|c| c.is_control() || matches!(c, '\\' | ':' | '<' | '>' | '|' | '"' | '?' | '*'))
                && !part.ends_with(['.', ' '])
        };
        if text.len() <= LONGEST_PATH && text.split('/').all(is_part) {
            return Ok(Self(text.to_owned()));
        }
        Err(format!("\"{}\" is no path of a file in a repository.", shortened(text)))
    }
}

/// Hash of the contents of a file, which is also the file's name among the blobs of the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileHash {
    /// SHA-256 of the contents: large files.
    Sha256(String),
    /// SHA-1 as git takes it, of a heading and the contents: small files.
    Git(String),
}

impl FileHash {
    /// The name of the blob.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Sha256(text) | Self::Git(text) => text,
        }
    }

    /// Returns true if two hashes of the same kind differ, so that they are of different contents.
    pub(super) fn contradicts(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other) && self != other
    }
}

impl fmt::Display for FileHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Takes a hash as it is, or in quotes as an entity tag has it. A tag that is no hash, or is marked as weak (`W/"…"`), identifies no
/// contents: several files can have the same one.
impl FromStr for FileHash {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let plain = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text);
        if is_hash(plain, 64) {
            Ok(Self::Sha256(plain.to_owned()))
        } else if is_hash(plain, 40) {
            Ok(Self::Git(plain.to_owned()))
        } else {
            Err(format!("\"{}\" is no hash of a file's contents.", shortened(text)))
        }
    }
}

fn is_hash(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// The beginning of a text that may be of any length.
pub(super) fn shortened(text: &str) -> String {
    const LENGTH: usize = 120;
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_one_folder() {
        for name in ["gpt2", "sentence-transformers/all-MiniLM-L6-v2", "a/b", "A_1/b.c-d"] {
            assert_eq!(name.parse::<RepoName>().unwrap().as_str(), name);
        }
        let long = format!("a/{}", "b".repeat(96));
        for name in [
            "", "/", "a/", "/a", "a/b/c", "..", "../a", "a/..", "a--b", "a b", "a\\b", "-a", ".a", "a.", "a\0", "ä",
            &long,
        ] {
            assert!(name.parse::<RepoName>().is_err(), "{name}");
        }
        assert!(serde_json::from_str::<RepoName>("\"../../x\"").is_err());
        let name: RepoName = "org/model".parse().unwrap();
        assert_eq!((name.owner(), name.name()), (Some("org"), "model"));
    }

    #[test]
    fn revisions_and_paths_do_not_lead_up() {
        for revision in ["main", "v1.0", "refs/pr/1", "feature/x_y"] {
            assert!(revision.parse::<Revision>().is_ok(), "{revision}");
        }
        for revision in ["", "/", "a//b", "../main", "a/../b", "a/..", "-x", "a b", "a\n", "a%2Fb", "C:\\x"] {
            assert!(revision.parse::<Revision>().is_err(), "{revision}");
        }
        for path in ["config.json", "onnx/model.onnx", "a b/ü.txt", ".gitattributes"] {
            assert!(path.parse::<RepoPath>().is_ok(), "{path}");
        }
        for path in
            ["", "/etc/passwd", "../x", "a/../../x", "a/./b", "a//b", "a\\..\\b", "C:x", "a\u{1b}[2J", "a\0", "x ", "."]
        {
            assert!(path.parse::<RepoPath>().is_err(), "{path}");
        }
    }

    #[test]
    fn only_strong_entity_tags_that_are_hashes_become_hashes() {
        let (sha, git) = ("ab".repeat(32), "0f".repeat(20));
        assert_eq!(format!("\"{sha}\"").parse(), Ok(FileHash::Sha256(sha.clone())));
        assert_eq!(git.parse(), Ok(FileHash::Git(git.clone())));
        let weak = format!("W/\"{git}\"");
        for bad in ["", "\"\"", "../x", "\"a/b\"", ".x", "a b", "x.incomplete", "\"5e-7\"", "W/\"x\"", &weak] {
            assert!(bad.parse::<FileHash>().is_err(), "{bad}");
        }
        let (one, other) = (FileHash::Git(git.clone()), FileHash::Git("1e".repeat(20)));
        assert!(one.contradicts(&other) && !one.contradicts(&one));
        assert!(!one.contradicts(&FileHash::Sha256(sha)), "of another kind");
    }
}
