use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use thiserror::Error;

use super::names::{RepoKind, RepoName, Revision};
use crate::{
    config::{counted, grouped},
    data::memory::words,
};

/// Why something could not be asked of a hub, fetched or uploaded. Says what, why and what to do.
#[derive(Debug, Error)]
pub enum HubError {
    /// A setting that cannot be used.
    #[error("{what} cannot be used: {why}. {remedy}")]
    Settings {
        /// The setting.
        what: String,
        /// What is wrong with it.
        why: String,
        /// What to do.
        remedy: String,
    },
    /// The hub knows no such repository, or does not show it.
    #[error("The hub has no {} \"{name}\"{}. {}", .kind.words(), if *.has_token { " that your token may see" } else { "" },
        absent_remedy(*.has_token))]
    NotFound {
        /// What it would hold.
        kind: RepoKind,
        /// Its name.
        name: RepoName,
        /// Whether a token was given.
        has_token: bool,
    },
    /// The repository has no such revision.
    #[error(
        "\"{name}\" has no revision \"{revision}\". Name a branch, a tag or a commit that it has; without one, main is taken."
    )]
    NoRevision {
        /// The repository.
        name: RepoName,
        /// What was asked for.
        revision: Revision,
    },
    /// The repository has no such file.
    #[error("\"{name}\" has no file {file} any more. Try again; it may just have been changed.")]
    NoFile {
        /// The repository.
        name: RepoName,
        /// The file.
        file: String,
    },
    /// Nothing in the repository could be used.
    #[error("\"{name}\" holds nothing that could be used: {why} It holds {}. {remedy}", listed(.holds))]
    NothingToFetch {
        /// The repository.
        name: RepoName,
        /// What is missing, as a sentence.
        why: String,
        /// Files that it has.
        holds: Vec<String>,
        /// What to do.
        remedy: String,
    },
    /// Its owner lets in who asked for it.
    #[error("\"{name}\" is open only to those whom its owner let in. Open {page} in a browser, {}.",
        if *.has_token { "ask for access with the account that your token belongs to, and try again" }
        else { "ask for access, then set HF_TOKEN to a token of your account, or run `hf auth login`" })]
    Gated {
        /// The repository.
        name: RepoName,
        /// Where to ask.
        page: String,
        /// Whether a token was given.
        has_token: bool,
    },
    /// The hub does not know the token.
    #[error(
        "The hub does not take your token. Make a new one in the settings of your account, and set HF_TOKEN to it or run `hf auth login`."
    )]
    WrongToken,
    /// Something that needs a token, without one.
    #[error("{doing} needs a token, and there is none. Set HF_TOKEN to one that may write, or run `hf auth login`.")]
    NoToken {
        /// What was to be done.
        doing: String,
    },
    /// The hub knows who asks, and refuses.
    #[error("The hub does not let you {doing}{}. Use a token with the right to do so.", said(.answer))]
    Forbidden {
        /// What was to be done.
        doing: String,
        /// What the hub said.
        answer: String,
    },
    /// Asked too often.
    #[error("The hub asks to wait: too many requests came from here. Try again {}.", later(*.wait))]
    RateLimited {
        /// How long, where the hub says it.
        wait: Option<Duration>,
    },
    /// The hub has trouble of its own, or answers what it should not.
    #[error("The hub answered \"{status}\" when it was to {doing}{}. Try again later.", said(.answer))]
    Status {
        /// The number and its name.
        status: String,
        /// What was to be done.
        doing: String,
        /// What the hub said.
        answer: String,
    },
    /// Nobody answers.
    #[error("The hub at {host} cannot be reached: {why}. Check the network{}, or set HF_HUB_OFFLINE=1 to take what was fetched before.",
        if *.is_named_by_user { " and HF_ENDPOINT" } else { "" })]
    Unreachable {
        /// Where it was looked for.
        host: String,
        /// What went wrong.
        why: String,
        /// Whether the address is not the usual one.
        is_named_by_user: bool,
    },
    /// A transfer that was cut off, as often as was tried.
    #[error("The connection was cut off at {} of {file}: {why}. What came is kept: the same command goes on from there.",
        progress_words(*.done, *.bytes))]
    Cut {
        /// The file.
        file: String,
        /// Bytes that are here.
        done: u64,
        /// Its size, where known.
        bytes: Option<u64>,
        /// What went wrong.
        why: String,
    },
    /// More or fewer bytes than the hub promised.
    #[error("{file} came with {} where the hub promised {}. It was thrown away. Try again; if it stays so, tell the owner of \"{name}\".",
        words(*.found), words(*.expected))]
    Length {
        /// The repository.
        name: RepoName,
        /// The file.
        file: String,
        /// What the hub promised.
        expected: u64,
        /// What came.
        found: u64,
    },
    /// More bytes than a file of unknown size may have, or than the answer itself promised.
    #[error("{file} of \"{name}\" is longer than {}, and the hub does not say how long it is. It was thrown away. Fetch it from a hub \
        that says the sizes of its files.", words(*.most))]
    Endless {
        /// The repository.
        name: RepoName,
        /// The file.
        file: String,
        /// The most bytes that were taken.
        most: u64,
    },
    /// Nothing is known by which a file could be checked.
    #[error(
        "{file} of \"{name}\" was not fetched: the hub says neither its size nor what its contents hash to, so that nobody could \
        tell whether it came whole. Fetch it from a hub that does."
    )]
    Unchecked {
        /// The repository.
        name: RepoName,
        /// The file.
        file: String,
    },
    /// More files than a fetch brings.
    #[error("\"{name}\" holds {} files, and a fetch brings {} at most. Name files or folders of it with --only.",
        grouped(*.count as u64), grouped(*.most as u64))]
    TooManyFiles {
        /// The repository.
        name: RepoName,
        /// Files that would be fetched.
        count: usize,
        /// The most that a fetch brings.
        most: usize,
    },
    /// Other contents than the hub promised.
    #[error(
        "{file} is not what the hub promised: its hash is {found}, not {expected}. It was thrown away. Try again; if it stays \
        so, something between here and the hub changes it."
    )]
    Hash {
        /// The file.
        file: String,
        /// What the hub promised.
        expected: String,
        /// What came.
        found: String,
    },
    /// An answer that makes no sense.
    #[error("The hub's answer about {what} cannot be understood: {why}. {}", if *.is_named_by_user
        { "Check that HF_ENDPOINT is a hub." } else { "A newer Headroom may understand it." })]
    Malformed {
        /// What was asked.
        what: String,
        /// What is wrong.
        why: String,
        /// Whether the address is not the usual one.
        is_named_by_user: bool,
    },
    /// Asked for, not here, and the hub must not be asked.
    #[error("The {} \"{name}\" is not in the cache{}, and HF_HUB_OFFLINE forbids to ask the hub. Unset it and fetch it once: {}",
        .kind.words(), at_revision(.revision.as_ref()), .path.display())]
    Offline {
        /// What it holds.
        kind: RepoKind,
        /// Its name.
        name: RepoName,
        /// What was asked for.
        revision: Option<Revision>,
        /// The cache.
        path: PathBuf,
    },
    /// Something that cannot be done without asking the hub.
    #[error("HF_HUB_OFFLINE forbids to ask the hub, so that {doing} is not possible. Unset it and try again.")]
    OfflineMode {
        /// What was to be done, as in "uploading".
        doing: String,
    },
    /// The public repository that a private upload would go to.
    #[error(
        "\"{name}\" is on the hub already, and everybody can read it. Upload it as public (--public) if that is meant, or choose another name."
    )]
    IsPublic {
        /// The repository.
        name: RepoName,
    },
    /// Too little space, seen before anything was written.
    #[error("Not enough disk space: {} are needed and {} are free. Free some space, or set HF_HUB_CACHE to a folder on another \
        disk: {}", words(*.needed), words(*.free), .path.display())]
    DiskSpace {
        /// Bytes that are missing here.
        needed: u64,
        /// Bytes that are free.
        free: u64,
        /// The cache.
        path: PathBuf,
    },
    /// The disk filled up while writing.
    #[error("The disk is full. What came is kept: the same command goes on from there once some space is free. The file is {}",
        .path.display())]
    DiskFull {
        /// The file.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("Cannot {doing}: {source}. Check that the folder exists and may be changed: {}", .path.display())]
    Io {
        /// What was tried.
        doing: String,
        /// The answer.
        source: io::Error,
        /// The file or folder.
        path: PathBuf,
    },
    /// Something on this machine that cannot be uploaded.
    #[error("{why}: {}", .path.display())]
    NotUploadable {
        /// What is wrong and what to do.
        why: String,
        /// The folder.
        path: PathBuf,
    },
    /// Ended by the user.
    #[error("It was stopped. What came is kept: the same command goes on from there.")]
    Stopped,
    /// An upload that was ended by the user.
    #[error("It was stopped; the repository is as it was.")]
    UploadStopped,
}

fn absent_remedy(has_token: bool) -> &'static str {
    if has_token {
        "Check the name; if it is private, ask its owner for access."
    } else {
        "Check the name; if it is private, set HF_TOKEN to a token that may read it, or run `hf auth login`."
    }
}

fn later(wait: Option<Duration>) -> String {
    match wait {
        Some(wait) => format!("in {}", counted(wait.as_secs().max(1), "second")),
        None => "in some minutes".to_owned(),
    }
}

fn said(answer: &str) -> String {
    let plain = answer.trim().trim_end_matches('.');
    if plain.is_empty() { String::new() } else { format!(" (it says: {plain})") }
}

fn listed(files: &[String]) -> String {
    const SHOWN: usize = 8;
    match files {
        [] => "no files".to_owned(),
        files if files.len() <= SHOWN => files.join(", "),
        files => format!(
            "{} and {} more",
            files.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", "),
            files.len() - SHOWN
        ),
    }
}

fn progress_words(done: u64, bytes: Option<u64>) -> String {
    match bytes {
        Some(bytes) => format!("{} of {}", words(done), words(bytes)),
        None => words(done),
    }
}

fn at_revision(revision: Option<&Revision>) -> String {
    revision.map(|revision| format!(" at revision \"{revision}\"")).unwrap_or_default()
}

impl HubError {
    /// Whether what was asked for cannot be had as it was asked for, rather than the attempt having failed.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Forbidden { .. }
            | Self::Gated { .. }
            | Self::IsPublic { .. }
            | Self::NoRevision { .. }
            | Self::NoToken { .. }
            | Self::NotFound { .. }
            | Self::NotUploadable { .. }
            | Self::NothingToFetch { .. }
            | Self::Offline { .. }
            | Self::OfflineMode { .. }
            | Self::Settings { .. }
            | Self::TooManyFiles { .. }
            | Self::Unchecked { .. }
            | Self::WrongToken => true,
            Self::Cut { .. }
            | Self::DiskFull { .. }
            | Self::DiskSpace { .. }
            | Self::Endless { .. }
            | Self::Hash { .. }
            | Self::Io { .. }
            | Self::Length { .. }
            | Self::Malformed { .. }
            | Self::NoFile { .. }
            | Self::RateLimited { .. }
            | Self::Status { .. }
            | Self::Stopped
            | Self::Unreachable { .. }
            | Self::UploadStopped => false,
        }
    }

    /// An error of the operating system; a full disk is told apart.
    pub(super) fn io(doing: &str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let (doing, path) = (doing.to_owned(), path.to_owned());
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Self::DiskFull { path }
            }
            _ => Self::Io { doing, source, path },
        }
    }
}
