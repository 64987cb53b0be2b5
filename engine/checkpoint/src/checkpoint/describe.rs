use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{
    BestMetric, CONFIG, CheckpointError, FILES, Lineage, RUN_CONFIG, TOKENIZER, TRAINING_STATE, WEIGHTS,
    directory::recovered,
    load::{OpenedModel, training_header},
    tensors::weight_files,
    text_files::{OLDER_TOKENIZERS, text},
    weights::file_shapes,
};
use crate::{
    attention::ModelPlan,
    config::{AttentionConfig, InitialTokenizer, Modality, ModelConfig, NormPlacement, RunConfig, Source, Tokenizer},
    model::specifications,
};

/// What a model directory holds, by its own files alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectoryFacts {
    /// The directory.
    pub path: PathBuf,
    /// The class of `transformers` that opens it, or our own name of the model.
    pub class: Option<String>,
    /// In which numbers the weights are saved, where it is said.
    pub dtype: Option<String>,
    /// `encoder`, `decoder`, `encoder_decoder` or `vision`.
    pub architecture: String,
    /// Where norms stand.
    pub norm: NormPlacement,
    /// Layers.
    pub layers: usize,
    /// Heads of a layer.
    pub heads: usize,
    /// Width of the residual stream.
    pub width: usize,
    /// Inner width of the feed-forward block.
    pub feed_forward: usize,
    /// The longest text in tokens.
    pub positions: usize,
    /// Tokens of the vocabulary.
    pub vocabulary: usize,
    /// Trained numbers.
    pub parameters: u64,
    /// Every tensor of the weights, by its name in the file.
    pub tensors: Vec<TensorFacts>,
    /// The files that it consists of: settings, weights in however many files, tokenizer, and what stands beside them of ours.
    pub files: Vec<FileFacts>,
    /// Sentences on decisions against its settings, and on tensors that were left out.
    pub notes: Vec<String>,
    /// The config of the run that made it.
    pub config: Option<RunConfig>,
    /// The same as TOML.
    pub config_toml: Option<String>,
    /// Where it came from, if it was converted.
    pub lineage: Option<Lineage>,
    /// How far training had come, where it can go on.
    pub training: Option<TrainingFacts>,
    /// A config that trains it further, where one can; its `model.initial` is the directory.
    pub further: Option<RunConfig>,
    /// Why none can, in words.
    pub why_not_further: Option<String>,
}

/// One tensor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorFacts {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFacts {
    /// Its name.
    pub name: String,
    /// Its size.
    pub bytes: u64,
}

/// How far training had come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainingFacts {
    /// Optimiser steps done.
    pub step: u64,
    /// Tokens trained on.
    pub tokens: u64,
    /// The best value so far.
    pub best: Option<BestMetric>,
}

impl DirectoryFacts {
    /// Bytes of all its files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Bytes of the file that only going on with training needs, where there is one.
    pub fn training_bytes(&self) -> Option<u64> {
        self.files.iter().find(|file| file.name == TRAINING_STATE).map(|file| file.bytes)
    }
}

/// Reads what a model directory says of itself; its files are checked as for loading.
///
/// # Errors
/// If it is no model directory, or was cut off or edited.
pub fn describe_model_dir(dir: &Path) -> Result<DirectoryFacts, CheckpointError> {
    let place = &recovered(dir);
    let loaded = OpenedModel::open(place)?;
    let training = match training_header(place) {
        Ok((_, header)) => Some(TrainingFacts { step: header.step, tokens: header.tokens, best: header.best }),
        Err(CheckpointError::NoTrainingState { .. }) => None,
        Err(error) => return Err(error),
    };
    let read = |file: &str| text(place, file).ok().flatten();
    let hugging_face: serde_json::Value =
        read(CONFIG).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let word = |value: Option<&serde_json::Value>| value.and_then(serde_json::Value::as_str).map(str::to_owned);
    let tensors = file_shapes(&loaded.plan).into_iter().map(|(name, shape)| TensorFacts { name, shape });
    let plan = &loaded.plan;
    let (further, why_not_further) = match further(plan, loaded.config.as_ref(), dir) {
        Ok(config) => (Some(config), None),
        Err(why) => (None, Some(why)),
    };
    Ok(DirectoryFacts {
        path: dir.to_owned(),
        class: word(hugging_face.get("architectures").and_then(|classes| classes.get(0))),
        dtype: word(hugging_face.get("dtype").or_else(|| hugging_face.get("torch_dtype"))),
        architecture: plan.architecture().to_owned(),
        norm: plan.stack.norm,
        layers: plan.stack.layers,
        heads: plan.stack.heads,
        width: plan.stack.width,
        feed_forward: plan.stack.feed_forward,
        positions: plan.stack.positions,
        vocabulary: plan.vocabulary(),
        parameters: specifications(plan).iter().map(|one| one.shape.iter().product::<usize>() as u64).sum(),
        tensors: tensors.collect(),
        files: files_of(dir)?,
        notes: loaded.notes,
        config: loaded.config,
        config_toml: read(RUN_CONFIG),
        lineage: loaded.lineage,
        training,
        further,
        why_not_further,
    })
}

/// The files of a model and their sizes, as far as they are there.
fn files_of(dir: &Path) -> Result<Vec<FileFacts>, CheckpointError> {
    let weights = weight_files(dir)?;
    let names = FILES.iter().flat_map(|name| match *name {
        WEIGHTS => weights.clone(),
        TOKENIZER => [TOKENIZER].into_iter().chain(OLDER_TOKENIZERS).map(str::to_owned).collect(),
        other => vec![other.to_owned()],
    });
    let there = names.filter_map(|name| {
        let found = dir.join(&name).metadata().ok().filter(fs::Metadata::is_file)?;
        Some(FileFacts { name, bytes: found.len() })
    });
    Ok(there.collect())
}

/// Formats of weights of which a directory may hold several.
const WEIGHT_FORMATS: [&str; 8] = ["bin", "gguf", "h5", "msgpack", "onnx", "ot", "pt", "safetensors"];

/// What a directory holds beside the model, by name: files and folders that nothing here reads, such as the `modules.json` and the
/// `1_Pooling` of `sentence-transformers`. Hidden ones and further formats of the weights are not told.
pub fn beside_the_model(dir: &Path) -> Vec<String> {
    let known = files_of(dir).unwrap_or_default();
    let is_told = |name: &String| {
        let is_weights =
            Path::new(name).extension().is_some_and(|end| WEIGHT_FORMATS.iter().any(|format| end == *format));
        !name.starts_with('.') && !is_weights && !known.iter().any(|file| file.name == *name)
    };
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(is_told).collect();
    names.sort();
    names
}

/// Tokens of an example where no run says how many: most models read more than fits into a small machine.
const LENGTH: usize = 128;

/// The learning rate where no run says one: the largest with which BERT was fine-tuned (Devlin et al., 2019).
const LEARNING_RATE: f64 = 5e-5;

/// A config that trains a model further: on the data and in the manner of the run that made it, where there was one.
///
/// # Errors
/// In words: why none can.
fn further(plan: &ModelPlan, made_by: Option<&RunConfig>, dir: &Path) -> Result<RunConfig, String> {
    let (model, attention) = plan.config_to_train_further()?;
    let mut config = made_by.cloned().unwrap_or_else(|| {
        let mut config = RunConfig::default();
        (config.data.sequence_length, config.train.learning_rate) = (LENGTH, LEARNING_RATE);
        if model.kind.has_encoder() {
            config.data.source = Source::generated(Modality::Pairs).unwrap_or_default();
        }
        config
    });
    let name = dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    config.name = match made_by {
        Some(made_by) => format!("{}, trained further", made_by.name),
        None => format!("{name}, trained further"),
    };
    config.data.sequence_length = config.data.sequence_length.min(plan.stack.longest());
    config.data.tokenizer = Tokenizer::Initial(InitialTokenizer {});
    let initial = Some(dir.display().to_string());
    config.model = ModelConfig { initial, positions: None, dropout: config.model.dropout, ..model };
    if made_by.is_none() {
        config.model.dropout = plan.stack.dropout;
    }
    config.attention = AttentionConfig { cache: config.attention.cache, ..attention };
    Ok(config)
}
