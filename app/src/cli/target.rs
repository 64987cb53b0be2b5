//! What a command takes as a model: a run, a model directory, or the name of a model that was fetched.

use std::path::{Path, PathBuf};

use headroom_engine::{
    attention::ModelPlan,
    checkpoint::read_plan,
    config::Problem,
    hub::{HubSettings, RepoKind, RepoName, cached},
    jobs::choose_checkpoint,
    protocol::Which,
    store::{RunRecord, Store},
};

use super::{
    error::{CliError, CliResult},
    open,
};

/// What a name stands for.
pub(super) enum Named {
    /// A model directory that is there, its path absolute.
    Directory(PathBuf),
    /// A run, in the store, which is open.
    Run(Box<Store>, Box<RunRecord>),
}

/// Finds what is meant: a folder that is there goes before a run, and a run before a model in the cache. Names of runs may look like
/// paths. Nothing is asked of a hub.
pub(super) fn named(store: Option<&Path>, text: &str) -> CliResult<Named> {
    if Path::new(text).is_dir() {
        if !Path::new(text).join("config.json").exists() {
            return Err(CliError::at("run", no_model_directory(text)));
        }
        let path = std::path::absolute(text)
            .map_err(|error| CliError::at("run", format!("The directory {text} cannot be used: {error}.")))?;
        return Ok(Named::Directory(path));
    }
    let looks_like_a_path = text.contains(['/', '\\']);
    let name: Option<RepoName> = text.parse().ok();
    if !looks_like_a_path {
        // A run is found by its name too: only where there is none a model may be meant.
        return match open::reading_run(store, text) {
            Ok((store, record)) => Ok(Named::Run(Box::new(store), Box::new(record))),
            Err(error) => {
                let directory = name.and_then(|name| fetched(&name)).map(Named::Directory);
                directory.ok_or_else(|| if open::is_no_run(store, text) { nor_a_model(error, text) } else { error })
            }
        };
    }
    if !open::is_no_run(store, text)
        && let Ok(Some(runs)) = open::reading(store)
    {
        let record = open::run(&runs, store, text)?;
        return Ok(Named::Run(Box::new(runs), Box::new(record)));
    }
    if Path::new(text).is_file() {
        let message = format!("{text} is a file. Name the model directory that it lies in.");
        return Err(CliError::at("run", message));
    }
    let Some(name) = name else {
        return Err(CliError::at("run", format!("There is no model directory {text}.")));
    };
    fetched(&name).map(Named::Directory).ok_or_else(|| {
        let message = format!(
            "There is no model directory {text}, and no model of that name was fetched. Fetch it with `headroom fetch {name}`."
        );
        CliError::at("run", message)
    })
}

/// What the model is that was found, without its weights; none where that cannot be read, which is told by what computes.
pub(super) fn plan_of(found: &Named, which: Which) -> Option<ModelPlan> {
    read_plan(&directory_of(found, which)?).ok()
}

/// Folder of the model; none for a run without such a checkpoint.
pub(super) fn directory_of(found: &Named, which: Which) -> Option<PathBuf> {
    match found {
        Named::Directory(path) => Some(path.clone()),
        Named::Run(store, record) => {
            let records = store.checkpoints(&record.summary.id).ok()?;
            Some(choose_checkpoint(&records, which).ok()?.path.clone())
        }
    }
}

/// Whether a model directory says on which text it was trained: those of Headroom do, by the config of their run.
pub(super) fn knows_its_text(directory: &Path) -> bool {
    directory.join("headroom.toml").is_file()
}

/// Where a model lies that was fetched before.
fn fetched(name: &RepoName) -> Option<PathBuf> {
    let settings = HubSettings::from_environment().ok()?;
    cached(&settings, RepoKind::Model, name, None).map(|here| here.path)
}

/// The refusal of what is no run, which says that it is no model directory either.
fn nor_a_model(refusal: CliError, text: &str) -> CliError {
    let what = if Path::new(text).is_file() {
        format!("{text} is a file, not a model directory.")
    } else {
        format!("There is no folder {text} here, and no model of that name was fetched.")
    };
    match refusal {
        CliError::Problems { message, problems } => {
            let told = |problem: &Problem| Problem::new(problem.field.clone(), format!("{what} {}", problem.message()));
            let problems = problems.iter().map(told).collect();
            CliError::Problems { message: format!("{what} {message}"), problems }
        }
        other => other,
    }
}

/// Why a folder is refused.
fn no_model_directory(folder: &str) -> String {
    format!(
        "{folder} is no model directory: it has no config.json. Name a folder that `headroom export` made, or one of Hugging \
         Face's with its config.json."
    )
}
