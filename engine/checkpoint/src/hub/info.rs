//! What a hub says about a repository before anything is downloaded, and which of its files would be.

use std::{collections::BTreeMap, fmt::Write as _, path::PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    FetchRequest, HubError, HubSettings,
    cache::RepoCache,
    http::{Ask, Client, Refusal},
    model_files::{MODEL_FILES, WEIGHTS, is_part},
    names::{CommitHash, FileHash, RepoKind, RepoName, RepoPath, Revision, shortened},
};
use crate::checkpoint::refusal_of_config;

/// The most files that are fetched at once.
const MOST_FILES: usize = 100_000;

/// The largest `config.json` that is read.
const LARGEST_CONFIG: u64 = 4 << 20;

/// Who may download.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gating {
    /// Everybody who sees it.
    #[default]
    Open,
    /// Whoever agrees to its terms.
    Terms,
    /// Whom its owner lets in.
    Owner,
}

/// A file of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteFile {
    /// Where it lies.
    pub path: RepoPath,
    /// Its size, where the hub says it.
    pub bytes: Option<u64>,
}

/// What `config.json` says about a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteArchitecture {
    /// `model_type`, as in `bert`.
    pub model_type: Option<String>,
    /// The class in `transformers`.
    pub class: Option<String>,
    /// Layers.
    pub layers: Option<u64>,
    /// Heads of a layer.
    pub heads: Option<u64>,
    /// Width of the stream.
    pub width: Option<u64>,
    /// Tokens that it knows.
    pub vocabulary: Option<u64>,
}

/// What is known of a repository before anything is downloaded. All text is the hub's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepoFacts {
    /// What it holds.
    pub kind: RepoKind,
    /// Its name, as the hub has it.
    pub name: RepoName,
    /// What was asked for.
    pub revision: Revision,
    /// The commit that it is at.
    pub commit: CommitHash,
    /// Whether only some people see it.
    pub private: bool,
    /// Who may download.
    pub gated: Gating,
    /// Its licence, as in `apache-2.0`.
    pub licence: Option<String>,
    /// What it is for, as in `fill-mask`.
    pub task: Option<String>,
    /// When it was changed last.
    pub updated: Option<String>,
    /// Trained numbers, where the hub counted them.
    pub parameters: Option<u64>,
    /// What `config.json` says; none for data sets, and where it cannot be read.
    pub architecture: Option<RemoteArchitecture>,
    /// Whether a model could be opened here, as far as `config.json` says it; none where that could not be read.
    #[serde(default)]
    pub opens: Option<bool>,
    /// Why it could not.
    #[serde(default)]
    pub refusal: Option<String>,
    /// What would be fetched.
    pub files: Vec<RemoteFile>,
    /// Their size, as far as the hub says it.
    pub bytes: u64,
    /// How much of that is here already, as far as the hub says what the contents hash to.
    #[serde(default)]
    pub bytes_here: u64,
    /// The folder in which it would lie.
    #[serde(default)]
    pub folder: PathBuf,
    /// How many other files it has.
    pub other_files: usize,
    /// Why nothing can be fetched, where that is so.
    pub problem: Option<String>,
}

/// Asks the hub what it knows about a repository, and reads its `config.json`; nothing is written.
///
/// # Errors
/// Where the hub cannot be asked or refuses.
pub fn inspect(
    settings: &HubSettings,
    request: &FetchRequest,
    should_stop: &dyn Fn() -> bool,
) -> Result<RepoFacts, HubError> {
    let client = Client::new(settings, should_stop);
    let answer = ask(&client, request.kind, &request.name, &request.revision)?;
    let all = answer.files.len();
    let (files, problem) = match choose(&answer, request) {
        Ok(files) => (files, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    let config = match request.kind {
        RepoKind::Model => config(&client, &answer)?,
        RepoKind::Dataset => None,
    };
    let judged = config.as_ref().filter(|(_, is_whole)| *is_whole);
    let judged = judged.map(|(config, _)| refusal_of_config(&config.to_string(), request.name.as_str()));
    let architecture = config.and_then(|(config, _)| architecture_of(&config));
    let cache = RepoCache::of(settings, request.kind, &request.name);
    let here = |file: &RemoteFile| answer.hashes.get(&file.path).map(|hash| bytes_here(&cache, hash, file.bytes));
    let sum = |sizes: &mut dyn Iterator<Item = u64>| sizes.fold(0, u64::saturating_add);
    Ok(RepoFacts {
        architecture,
        opens: judged.as_ref().map(Option::is_none),
        refusal: judged.flatten(),
        bytes: sum(&mut files.iter().filter_map(|file| file.bytes)),
        bytes_here: sum(&mut files.iter().filter_map(here)),
        folder: cache.snapshot(&answer.facts.commit),
        other_files: all - files.len(),
        files,
        problem,
        ..answer.facts
    })
}

/// What the hub said.
pub(super) struct HubAnswer {
    /// Without what is found out later.
    pub(super) facts: RepoFacts,
    /// Every file whose path is one.
    pub(super) files: Vec<RemoteFile>,
    /// What their contents hash to, where the hub says it in its list.
    pub(super) hashes: BTreeMap<RepoPath, FileHash>,
    /// What the hub itself read in `config.json`.
    config: Value,
}

/// Address of a repository's own page.
pub(super) fn page(settings: &HubSettings, kind: RepoKind, name: &RepoName) -> String {
    let repo = hf_hub::Repo::new(name.to_string(), kind.repo_type());
    format!("{}/{}", settings.endpoint, repo.url())
}

/// What an answer means that is none of what was asked for about a repository.
pub(super) fn fault(
    client: &Client<'_>,
    kind: RepoKind,
    name: &RepoName,
    revision: &Revision,
    refusal: &Refusal,
) -> Option<HubError> {
    let has_token = client.settings.token.is_some();
    let not_found = || HubError::NotFound { kind, name: name.clone(), has_token };
    match (refusal.status.as_u16(), refusal.code.as_str()) {
        (_, "GatedRepo") => {
            Some(HubError::Gated { name: name.clone(), page: page(client.settings, kind, name), has_token })
        }
        (_, "RevisionNotFound") => Some(HubError::NoRevision { name: name.clone(), revision: revision.clone() }),
        (_, "RepoNotFound") => Some(not_found()),
        (401, _) if refusal.said.contains("Invalid credentials") || refusal.said.contains("Invalid username") => {
            // What the real hub says of a token that it does not know; without one it means that nothing is shown.
            Some(if has_token { HubError::WrongToken } else { not_found() })
        }
        (401, _) => Some(if has_token { HubError::WrongToken } else { not_found() }),
        (403, _) => Some(HubError::Forbidden { doing: format!("read \"{name}\""), answer: refusal.said.clone() }),
        (404, "" | "EntryNotFound") => None,
        (404, _) => Some(not_found()),
        _ => None,
    }
}

/// Asks about a repository.
pub(super) fn ask(
    client: &Client<'_>,
    kind: RepoKind,
    name: &RepoName,
    revision: &Revision,
) -> Result<HubAnswer, HubError> {
    let repo = hf_hub::Repo::with_revision(name.to_string(), kind.repo_type(), revision.to_string());
    let url = format!("{}/api/{}?blobs=true", client.settings.endpoint, repo.api_url());
    let what = format!("\"{name}\"");
    let value = client.json(
        &what,
        || Ask::get(&url),
        |refusal| {
            fault(client, kind, name, revision, refusal).or_else(|| {
                let has_token = client.settings.token.is_some();
                (refusal.status.as_u16() == 404).then(|| HubError::NotFound { kind, name: name.clone(), has_token })
            })
        },
    )?;
    read_answer(client, kind, name, revision, &value)
}

fn read_answer(
    client: &Client<'_>,
    kind: RepoKind,
    name: &RepoName,
    revision: &Revision,
    value: &Value,
) -> Result<HubAnswer, HubError> {
    let what = format!("\"{name}\"");
    let text = |value: Option<&Value>| Some(shortened(value?.as_str()?));
    let commit = value.get("sha").and_then(Value::as_str).unwrap_or_default();
    let commit: CommitHash = commit.parse().map_err(|why: String| client.malformed(&what, &why))?;
    let listed = value.get("siblings").and_then(Value::as_array);
    let listed = listed.ok_or_else(|| client.malformed(&what, "it lists no files"))?;
    let mut hashes = BTreeMap::new();
    let mut files: Vec<RemoteFile> = listed
        .iter()
        .filter_map(|file| {
            // A path that leads elsewhere is no file that anybody could want.
            let path: RepoPath = file.get("rfilename")?.as_str()?.parse().ok()?;
            let bytes = file.get("size").and_then(Value::as_u64);
            let bytes = bytes.or_else(|| file.get("lfs")?.get("size")?.as_u64());
            // Of a large file the other one is the hash of the note that stands for it.
            let hash = match file.get("lfs") {
                Some(large) => large.get("sha256"),
                None => file.get("blobId"),
            };
            if let Some(hash) = hash.and_then(Value::as_str).and_then(|text| text.parse().ok()) {
                hashes.insert(path.clone(), hash);
            }
            Some(RemoteFile { path, bytes })
        })
        .collect();
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files.dedup_by(|one, other| one.path == other.path);
    let card = value.get("cardData").filter(|card| card.is_object());
    let tags = value.get("tags").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let licence = text(card.and_then(|card| card.get("license")))
        .or_else(|| tags.clone().find_map(|tag| tag.strip_prefix("license:")).map(shortened));
    let gated = match value.get("gated") {
        Some(Value::Bool(true)) => Gating::Owner,
        Some(Value::String(how)) if how == "auto" => Gating::Terms,
        Some(Value::String(how)) if !how.is_empty() && how != "false" => Gating::Owner,
        _ => Gating::Open,
    };
    let own_name = value.get("id").and_then(Value::as_str).and_then(|id| id.parse().ok());
    let facts = RepoFacts {
        kind,
        name: own_name.unwrap_or_else(|| name.clone()),
        revision: revision.clone(),
        commit,
        private: value.get("private").and_then(Value::as_bool).unwrap_or_default(),
        gated,
        licence,
        task: text(value.get("pipeline_tag")),
        updated: text(value.get("lastModified")),
        parameters: value.get("safetensors").and_then(|counts| counts.get("total")?.as_u64()),
        architecture: None,
        opens: None,
        refusal: None,
        files: Vec::new(),
        bytes: 0,
        bytes_here: 0,
        folder: PathBuf::new(),
        other_files: 0,
        problem: None,
    };
    Ok(HubAnswer { facts, files, hashes, config: value.get("config").cloned().unwrap_or_default() })
}

/// The files that a fetch brings: of a model its settings, its tokenizer and its weights, safetensors before others; of a data set
/// everything but what belongs to git; else those that were named.
pub(super) fn choose(answer: &HubAnswer, request: &FetchRequest) -> Result<Vec<RemoteFile>, HubError> {
    let chosen = choose_any(answer, request)?;
    if chosen.len() > MOST_FILES {
        return Err(HubError::TooManyFiles { name: answer.facts.name.clone(), count: chosen.len(), most: MOST_FILES });
    }
    Ok(chosen)
}

fn choose_any(answer: &HubAnswer, request: &FetchRequest) -> Result<Vec<RemoteFile>, HubError> {
    let name = &answer.facts.name;
    let nothing = |why: &str, remedy: &str| HubError::NothingToFetch {
        name: name.clone(),
        why: why.to_owned(),
        holds: answer.files.iter().map(|file| file.path.to_string()).collect(),
        remedy: remedy.to_owned(),
    };
    let chosen = |is_chosen: &dyn Fn(&str) -> bool| -> Vec<RemoteFile> {
        answer.files.iter().filter(|file| is_chosen(file.path.as_str())).cloned().collect()
    };
    if !request.only.is_empty() {
        for wanted in &request.only {
            if !answer.files.iter().any(|file| is_named(file.path.as_str(), wanted)) {
                return Err(nothing(&format!("it has no file or folder {wanted}."), "Name some of these."));
            }
        }
        return Ok(chosen(&|path| request.only.iter().any(|wanted| is_named(path, wanted))));
    }
    if request.kind == RepoKind::Dataset {
        let files = chosen(&|path| !path.split('/').any(|part| part.starts_with('.')));
        if files.is_empty() {
            return Err(nothing("it has no files.", "Check the name."));
        }
        return Ok(files);
    }
    let has = |name: &str| answer.files.iter().any(|file| file.path.as_str() == name);
    if !has("config.json") {
        let remedy = "Name a model that `transformers` opens, or the files that you want with --only.";
        return Err(nothing("a model needs config.json.", remedy));
    }
    let weights: Vec<RemoteFile> = WEIGHTS
        .iter()
        .map(|(whole, index, start, end)| {
            if has(whole) {
                return chosen(&|path| path == *whole);
            }
            if !has(index) {
                return Vec::new();
            }
            chosen(&|path| path == *index || path.strip_prefix(start).is_some_and(|rest| is_part(rest, end)))
        })
        .find(|found| !found.is_empty())
        .ok_or_else(|| {
            let remedy = "Choose one that was saved for PyTorch.";
            nothing("it has neither model.safetensors nor pytorch_model.bin.", remedy)
        })?;
    let beside = chosen(&|path| MODEL_FILES.contains(&path));
    // Small ones first: whoever watches sees at once what it is.
    Ok(beside.into_iter().chain(weights).collect())
}

/// Whether a path is what was named, or lies in it.
fn is_named(path: &str, wanted: &RepoPath) -> bool {
    path.strip_prefix(wanted.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Address of a file of a commit.
pub(super) fn file_url(
    settings: &HubSettings,
    kind: RepoKind,
    name: &RepoName,
    commit: &CommitHash,
    path: &RepoPath,
) -> String {
    format!("{}/resolve/{commit}/{}", page(settings, kind, name), percent_encoded(path.as_str()))
}

/// A path as addresses have it.
fn percent_encoded(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.' | b'~') {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string never fails.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// `config.json`, and whether it is the whole one; what the hub read in it where the file may not be read.
fn config(client: &Client<'_>, answer: &HubAnswer) -> Result<Option<(Value, bool)>, HubError> {
    let facts = &answer.facts;
    let config = answer.files.iter().find(|file| file.path.as_str() == "config.json");
    let Some(config) = config.filter(|file| file.bytes.is_none_or(|bytes| bytes <= LARGEST_CONFIG)) else {
        return Ok(Some((answer.config.clone(), false)));
    };
    let url = file_url(client.settings, facts.kind, &facts.name, &facts.commit, &config.path);
    let fault = |refusal: &Refusal| fault(client, facts.kind, &facts.name, &facts.revision, refusal);
    match client.json("config.json", || Ask::get(&url), fault) {
        Ok(config) => Ok(Some((config, true))),
        Err(HubError::Stopped) => Err(HubError::Stopped),
        Err(_) => Ok(Some((answer.config.clone(), false))),
    }
}

fn architecture_of(config: &Value) -> Option<RemoteArchitecture> {
    let number = |keys: &[&str]| keys.iter().find_map(|key| config.get(key)?.as_u64());
    let found = RemoteArchitecture {
        model_type: config.get("model_type").and_then(Value::as_str).map(shortened),
        class: config.get("architectures").and_then(|classes| classes.get(0)?.as_str()).map(shortened),
        layers: number(&["num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers"]),
        heads: number(&["num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads"]),
        width: number(&["hidden_size", "n_embd", "dim", "d_model"]),
        vocabulary: number(&["vocab_size"]),
    };
    (found != RemoteArchitecture::default()).then_some(found)
}

/// How much of the files is here already; what is here may be another file of the same contents.
pub(super) fn bytes_here(cache: &RepoCache, hash: &FileHash, bytes: Option<u64>) -> u64 {
    let size = |path| std::fs::metadata(path).map(|there: std::fs::Metadata| there.len()).unwrap_or_default();
    let here = size(cache.blob(hash)).max(size(cache.incomplete(hash.as_str())));
    here.min(bytes.unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {

    use super::*;

    fn answer(paths: &[&str]) -> HubAnswer {
        let files = paths.iter().map(|path| RemoteFile { path: path.parse().unwrap(), bytes: Some(1) }).collect();
        let facts = RepoFacts {
            kind: RepoKind::Model,
            name: "org/m".parse().unwrap(),
            revision: Revision::default(),
            commit: "0".repeat(40).parse().unwrap(),
            private: false,
            gated: Gating::Open,
            licence: None,
            task: None,
            updated: None,
            parameters: None,
            architecture: None,
            opens: None,
            refusal: None,
            files: Vec::new(),
            bytes: 0,
            bytes_here: 0,
            folder: PathBuf::new(),
            other_files: 0,
            problem: None,
        };
        HubAnswer { facts, files, hashes: BTreeMap::new(), config: Value::Null }
    }

    fn chosen(paths: &[&str], kind: RepoKind, only: &[&str]) -> Result<Vec<String>, HubError> {
        let only = only.iter().map(|path| path.parse().unwrap()).collect();
        let request = FetchRequest { kind, only, ..FetchRequest::of("org/m".parse().unwrap()) };
        choose(&answer(paths), &request).map(|files| files.into_iter().map(|file| file.path.to_string()).collect())
    }

    #[test]
    fn safetensors_go_before_others_and_nothing_else_is_fetched() {
        let all = [
            "README.md",
            "config.json",
            "model.safetensors",
            "onnx/model.onnx",
            "pytorch_model.bin",
            "tf_model.h5",
            "vocab.txt",
        ];
        assert_eq!(chosen(&all, RepoKind::Model, &[]).unwrap(), ["config.json", "vocab.txt", "model.safetensors"]);
        let parts = [
            "config.json",
            "model-00001-of-00002.safetensors",
            "model-00002-of-00002.safetensors",
            "model-x-of-2.safetensors",
            "model.safetensors.index.json",
            "pytorch_model.bin",
        ];
        let found = chosen(&parts, RepoKind::Model, &[]).unwrap();
        assert_eq!(found, ["config.json", parts[1], parts[2], parts[4]]);
        assert_eq!(chosen(&["config.json", "pytorch_model.bin"], RepoKind::Model, &[]).unwrap().len(), 2);
        assert_eq!(chosen(&all, RepoKind::Model, &["onnx"]).unwrap(), ["onnx/model.onnx"]);
        assert_eq!(
            chosen(&[".gitattributes", "a/b.txt", "c.csv"], RepoKind::Dataset, &[]).unwrap(),
            ["a/b.txt", "c.csv"]
        );
    }

    #[test]
    fn what_cannot_be_used_is_said_with_what_there_is() {
        let told = |paths: &[&str], only: &[&str]| chosen(paths, RepoKind::Model, only).unwrap_err().to_string();
        assert!(told(&["config.json", "tf_model.h5"], &[]).contains("neither model.safetensors nor pytorch_model.bin"));
        let without = told(&["x.gguf"], &[]);
        assert!(without.contains("config.json") && without.contains("x.gguf"), "{without}");
        assert!(told(&["config.json"], &["b"]).contains("no file or folder b"));
    }

    #[test]
    fn a_list_without_end_is_refused() {
        let paths: Vec<String> = (0..=MOST_FILES).map(|number| format!("data/{number}.txt")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let told = chosen(&paths, RepoKind::Dataset, &[]).unwrap_err().to_string();
        assert!(told.contains("100,001 files") && told.contains("--only"), "{told}");
        assert_eq!(chosen(&paths, RepoKind::Dataset, &["data/7.txt"]).unwrap(), ["data/7.txt"]);
    }

    #[test]
    fn addresses_carry_any_name() {
        assert_eq!(percent_encoded("a b/ü#?.txt"), "a%20b/%C3%BC%23%3F.txt");
    }
}
