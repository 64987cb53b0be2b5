//! The model that a run begins with (`model.initial`): where it is, what is taken of it, and what the run keeps of that.

use std::path::{Path, PathBuf};

use candle_core::Device;

use super::{
    checkpoints::choose_checkpoint, context::JobContext, refusal::Refusal, train_run::TrainRun, unready::Unready,
};
use crate::{
    attention::{ModelPlan, OutputPlan},
    checkpoint::{Lineage, LoadedModel, file_name, load_model_dir, read_plan, weights_sha256},
    config::{Problem, RunConfig},
    data::{Corpus, Normalisation, Reading, Silent, TextTokenizer, source_labels},
    hub::{HubSettings, RepoKind, RepoName, cached},
    model::{ParameterSet, is_of_head, is_of_pooler},
    objective::Labels,
    ops::Activation,
    protocol::{Event, Which, events},
    store::{RunId, Store, StoreError},
    train::{Start, dtype_of},
};

/// The field.
const FIELD: &str = "model.initial";

/// What a lineage says of training.
const TRAINED_FURTHER: &str = "trained further";

/// Where a model to begin with is.
struct Located {
    directory: PathBuf,
    /// The run whose checkpoint it is, and its step.
    run: Option<(RunId, u64)>,
}

/// What is meant by a text: a folder that is there goes before a run, and a run before a model in the cache of a hub.
enum Meant {
    Directory(PathBuf),
    Run(RunId),
    Fetched(PathBuf),
}

fn meant(store: Option<&Store>, text: &str) -> Result<Meant, Refusal> {
    let path = Path::new(text);
    if path.is_dir() {
        return Ok(Meant::Directory(path.to_owned()));
    }
    let name: Option<RepoName> = text.parse().ok();
    let fetched = || {
        let settings = HubSettings::from_environment().ok()?;
        cached(&settings, RepoKind::Model, name.as_ref()?, None).map(|here| Meant::Fetched(here.path))
    };
    let fetch = || match &name {
        Some(name) => format!("fetch a model of a hub first, with `headroom fetch {name}`"),
        None => "or the name of a model that was fetched".to_owned(),
    };
    let found = store.map(|store| store.run(text));
    // Names of runs may look like paths.
    if text.contains(['/', '\\']) && matches!(found, None | Some(Err(StoreError::NoSuchRun { .. }))) {
        return fetched().ok_or_else(|| {
            let why = format!("there is no model directory {text}, and no model of that name was fetched");
            Refusal::Nowhere { why, what_to_do: format!("check the path, {}", fetch()) }
        });
    }
    let why = match found {
        Some(Ok(record)) => return Ok(Meant::Run(record.summary.id)),
        Some(Err(error)) => error.to_string(),
        None => format!("There is no store with a run \"{text}\""),
    };
    fetched().ok_or_else(|| Refusal::Nowhere {
        why: why.trim_end_matches('.').to_owned(),
        what_to_do: format!("name a run, a model directory, {}", fetch()),
    })
}

/// The config with a model to begin with that means the same from anywhere, and later: an absolute path, or the id of a run.
///
/// # Errors
/// If it is nowhere.
pub(crate) fn anchored(store: Option<&Store>, mut config: RunConfig, base_dir: &Path) -> Result<RunConfig, Problem> {
    let Some(initial) = &mut config.model.initial else { return Ok(config) };
    // A text that is no path joins to no folder that is there.
    let joined = base_dir.join(&*initial);
    let text = if joined.is_dir() { joined.display().to_string() } else { initial.clone() };
    match meant(store, &text).map_err(|why| Problem::new(FIELD, why.to_string()))? {
        Meant::Directory(path) => {
            let path = std::path::absolute(&path).unwrap_or(path);
            *initial = path.display().to_string();
        }
        Meant::Run(run) => *initial = run.to_string(),
        Meant::Fetched(_) => {}
    }
    Ok(config)
}

fn locate(store: Option<&Store>, text: &str) -> Result<Located, Refusal> {
    match meant(store, text)? {
        Meant::Directory(directory) | Meant::Fetched(directory) => Ok(Located { directory, run: None }),
        Meant::Run(run) => {
            let store = store.ok_or_else(|| Refusal::NoStore(run.to_string()))?;
            let records = store.checkpoints(&run)?;
            let chosen = choose_checkpoint(&records, Which::Best)?;
            Ok(Located { directory: chosen.path.clone(), run: Some((run, chosen.step)) })
        }
    }
}

/// The plan of a run that begins with a model, by the model's settings alone; none of another run.
///
/// # Errors
/// What does not fit.
pub(crate) fn plan_of(store: &Store, config: &RunConfig) -> Result<Option<ModelPlan>, Vec<Problem>> {
    let Some(text) = &config.model.initial else { return Ok(None) };
    let at_field = |why: String| vec![Problem::new(FIELD, why.trim_end_matches('.').to_owned())];
    let Located { directory, run } = match locate(Some(store), text) {
        Ok(located) => located,
        // A run that waits before this one may have none yet.
        Err(why) => return if store.run(text).is_ok() { Ok(None) } else { Err(at_field(why.to_string())) },
    };
    drop(run);
    let plan = read_plan(&directory).map_err(|error| at_field(error.to_string()))?;
    plan.trained_further(config).map(Some)
}

/// Plan of the model itself that a run begins with, whether the config's or not; none where it cannot be read, or is yet to be trained.
pub(crate) fn model_of(store: Option<&Store>, config: &RunConfig) -> Option<ModelPlan> {
    let directory = locate(store, config.model.initial.as_ref()?).ok()?.directory;
    read_plan(&directory).ok()
}

/// The directory of the model that a run begins with; none where there is none, or it has no checkpoint yet.
pub(crate) fn directory_of(store: Option<&Store>, config: &RunConfig, base_dir: &Path) -> Option<PathBuf> {
    let config = anchored(store, config.clone(), base_dir).ok()?;
    locate(store, config.model.initial.as_ref()?).ok().map(|located| located.directory)
}

/// With what a run begins that does not begin with drawn weights alone.
pub(crate) struct Begun {
    /// The plan that the config asks for.
    pub(crate) plan: ModelPlan,
    pub(crate) start: Start,
    pub(crate) tokenizer_json: Option<String>,
    /// For the run's checkpoints.
    pub(crate) lineage: Option<Lineage>,
    /// What is told of it.
    pub(crate) told: Option<Event>,
    /// What its outputs stand for, where it has a task and that is known.
    pub(crate) labels: Option<Labels>,
    /// Mean and deviation of the images that it was trained on, where it reads images and names them.
    pub(crate) normalisation: Option<Normalisation>,
    named: String,
}

impl Begun {
    /// A state of the run itself: the model that it began with is not needed any more.
    ///
    /// # Errors
    /// If it is not the config's.
    pub(crate) fn resumed(
        job: &TrainRun,
        plan: &ModelPlan,
        start: Start,
        tokenizer_json: Option<String>,
        lineage: Option<Lineage>,
    ) -> Result<Self, Unready> {
        let plan =
            plan.trained_further(&job.config).map_err(|problems| refused("its checkpoint", &listed(&problems)))?;
        let named = "its checkpoint".to_owned();
        Ok(Self { plan, start, tokenizer_json, lineage, told: None, labels: None, normalisation: None, named })
    }

    /// The same with what its outputs stand for, and how images become its numbers.
    pub(crate) fn reading(self, labels: Option<Labels>, normalisation: Option<Normalisation>) -> Self {
        Self { labels, normalisation, ..self }
    }

    /// The model that the config names.
    ///
    /// # Errors
    /// If it is not there, or does not fit.
    pub(crate) fn with(context: &JobContext, job: &TrainRun, text: &str, device: &Device) -> Result<Self, Unready> {
        let config = &job.config;
        let Located { directory, run } =
            locate(Some(&context.store), text).map_err(|why| refused(text, &why.to_string()))?;
        let named = match &run {
            None => directory.display().to_string(),
            Some((run, step)) => {
                let name = context.store.record(run).map_or_else(|_| run.to_string(), |record| record.summary.name);
                format!("\"{name}\", step {step}")
            }
        };
        let failed = |why: String| refused(&named, &why);
        let loaded = load_model_dir(&directory, dtype_of(config.precision), device);
        let loaded = loaded.map_err(|error| failed(error.to_string()))?;
        context.send_notes(&loaded);
        let plan = loaded.plan.trained_further(config).map_err(|problems| failed(listed(&problems)))?;
        // Before the texts become tokens, which takes the tokenizer of this model.
        let reading = Reading::of(config.task.as_ref()).in_edition(job.numerics.edition());
        let labels = source_labels(&config.data.source, &config.objective(), (Path::new(""), &reading), &Silent);
        let labels = labels.map_err(|error| failed(error.to_string()))?;
        let plan = labels.as_ref().map_or_else(|| plan.clone(), |labels| plan.clone().with_outputs(labels.outputs()));
        if plan.image_shape().is_none() {
            let tokenizer = tokenizer_of(&loaded).map_err(|why| failed(why.into()))?;
            begins_as_trained(&loaded, &tokenizer).map_err(|why| failed(why.into()))?;
        }
        let known: std::collections::BTreeMap<_, _> = loaded
            .parameters
            .tensors()
            .into_iter()
            .filter(|(name, _)| !is_of_head(name) || keeps_of_head(&loaded, &plan, labels.as_ref(), name))
            .collect();
        let built = if loaded.plan.stack.coverage.is_full() { plan.exact() } else { plan.clone() };
        let made = ParameterSet::init_around(&built, config.seed, dtype_of(config.precision), device, &known);
        let (parameters, fresh) = made.map_err(|error| failed(error.to_string()))?;
        let in_files = |plan: &ModelPlan, name: &String| file_name(plan, name);
        let of_run = parameters.tensors();
        let left_out: Vec<String> = loaded
            .parameters
            .tensors()
            .keys()
            .filter(|name| !known.contains_key(*name) || !of_run.contains_key(*name))
            .map(|name| in_files(&loaded.plan, name))
            .collect();
        let taken = of_run.len() - fresh.len();
        let fresh: Vec<String> = fresh.iter().map(|name| in_files(&built, name)).collect();
        let weights_sha256 = weights_sha256(&directory).map_err(|error| failed(error.to_string()))?;
        let by = if fresh.is_empty() {
            TRAINED_FURTHER.to_owned()
        } else {
            format!("{TRAINED_FURTHER}, with fresh {}", fresh.join(", "))
        };
        let (of, step) = run.map(|(run, step)| (run.to_string(), step)).unzip();
        let lineage = Lineage {
            from: directory.display().to_string(),
            run: of,
            step,
            weights_sha256: weights_sha256.clone(),
            by,
            attentions: Vec::new(),
            measured: None,
            before: loaded.lineage.map(Box::new),
        };
        let told = Event::BegunWith(events::BegunWith {
            run: job.run.clone(),
            model: named.clone(),
            weights_sha256,
            taken,
            fresh,
            left_out,
        });
        Ok(Self {
            plan,
            start: Start::Weights(parameters),
            tokenizer_json: loaded.tokenizer_json,
            lineage: Some(lineage),
            told: Some(told),
            labels,
            normalisation: loaded.normalisation,
            named,
        })
    }

    /// Refuses text in other tokens than the model's.
    ///
    /// # Errors
    /// What to set.
    pub(crate) fn require_tokens(&self, corpus: &Corpus) -> Result<(), Unready> {
        if corpus.images().is_some() {
            return Ok(());
        }
        let value = |json: &str| serde_json::from_str::<serde_json::Value>(json).ok();
        let theirs = self.tokenizer_json.as_deref().map(TextTokenizer::from_json).transpose();
        let theirs = theirs.map_err(|error| refused(&self.named, &error.to_string()))?;
        let is_same = theirs.is_some_and(|theirs| {
            theirs.to_json() == corpus.tokenizer.to_json()
                || value(theirs.to_json()) == value(corpus.tokenizer.to_json())
        });
        if !is_same {
            let why = "data.tokenizer: it makes other tokens than those of the model to begin with, whose weights are for \
                       its own; set data.tokenizer to { kind = \"initial\" }, or leave it out";
            return Err(refused(&self.named, why));
        }
        corpus.require_known(self.plan.vocabulary()).map_err(|error| refused(&self.named, &error.to_string()))
    }
}

/// Whether a tensor of the head of the model to begin with has the same meaning in the run's: of another kind of head nothing is
/// the same but names, and outputs stand for the labels of their own task.
fn keeps_of_head(loaded: &LoadedModel, plan: &ModelPlan, labels: Option<&Labels>, name: &str) -> bool {
    match (loaded.plan.head, plan.head) {
        (OutputPlan::Vocabulary(_), OutputPlan::Vocabulary(_)) | (OutputPlan::Span, OutputPlan::Span) => true,
        (OutputPlan::Classes { pooler, .. }, OutputPlan::Classes { pooler: own, .. }) => {
            pooler == own && (is_of_pooler(name) || loaded.labels.as_ref() == labels)
        }
        (OutputPlan::States { .. }, OutputPlan::Classes { pooler: Some(Activation::Tanh), .. }) => is_of_pooler(name),
        (
            OutputPlan::Vocabulary(_)
            | OutputPlan::Classes { .. }
            | OutputPlan::Span
            | OutputPlan::Replaced
            | OutputPlan::States { .. },
            OutputPlan::Vocabulary(_)
            | OutputPlan::Classes { .. }
            | OutputPlan::Span
            | OutputPlan::Replaced
            | OutputPlan::States { .. },
        ) => false,
    }
}

fn tokenizer_of(loaded: &LoadedModel) -> Result<TextTokenizer, Refusal> {
    let json = loaded.tokenizer_json.as_deref().ok_or(
        "It has no tokenizer.json, so that it is not known what its tokens stand for. Put the model's tokenizer beside its \
         weights",
    )?;
    Ok(TextTokenizer::from_json(json)?)
}

/// Refuses models whose texts begin otherwise than those that training makes: with the token that ends a text.
fn begins_as_trained(loaded: &LoadedModel, tokenizer: &TextTokenizer) -> Result<(), Refusal> {
    let (start, end) = (loaded.generation.marks.start, tokenizer.specials().end_of_text);
    match (loaded.plan.translates(), start, end) {
        (true, Some(start), Some(end)) if start != end => {
            let word = |id: u32| tokenizer.token(id).map_or_else(|| id.to_string(), |token| format!("\"{token}\""));
            Err(Refusal::BeginsOtherwise { own: word(start), trained: word(end) })
        }
        _ => Ok(()),
    }
}

fn listed(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn refused(named: &str, why: &str) -> Unready {
    Unready::Refused {
        why: format!("The run cannot begin with {named} ({FIELD}). {}.", why.trim_end_matches('.')),
        what_to_do: String::new(),
    }
}
