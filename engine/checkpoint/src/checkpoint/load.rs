use std::{collections::BTreeMap, fs, path::Path};

use candle_core::{DType, Device};

use super::{
    CONFIG, CheckpointError, Lineage, PREPROCESSOR, RUN_CONFIG, TOKENIZER, TRAINING_STATE, TrainingState, WEIGHTS,
    directory::{is_model, recovered, refuse_other_kinds},
    generation_config::{self, GenerationConfig},
    hugging_face::{self, Described},
    labels,
    manifest::Manifest,
    preprocessor,
    tensor_file::TensorFile,
    tensors::{self, Weights},
    text_files::text,
    tokenizer_files::tokenizer_json,
    training_state::Header,
    weights::{self, Matched},
};
use crate::{
    attention::ModelPlan,
    config::{RunConfig, from_directory_toml},
    data::Normalisation,
    model::{ParameterSet, tensor_shapes},
    objective::Labels,
};

/// More steps than any run can do; counting on from here overflows nothing.
const MOST_STEPS: u64 = 1 << 53;

/// Numbers of a training state beside the two moments of every trained number: counts of steps, a scale of losses.
const MOST_COUNTS: u64 = 1 << 20;

/// A model that was read from a directory.
#[derive(Clone, Debug)]
pub struct LoadedModel {
    /// The architecture.
    pub plan: ModelPlan,
    /// The weights, under our names.
    pub parameters: ParameterSet,
    /// The text of `tokenizer.json`, where there is one.
    pub tokenizer_json: Option<String>,
    /// The config of the run that made it, where there was one.
    pub config: Option<RunConfig>,
    /// Settings of generation in the directory.
    pub generation: GenerationConfig,
    /// Lineage, if it was converted.
    pub lineage: Option<Lineage>,
    /// What its outputs stand for, of a model that ends in one class or a number.
    pub labels: Option<Labels>,
    /// How pixels become the numbers that it reads, of a model of images whose directory says so.
    pub normalisation: Option<Normalisation>,
    /// Sentences on decisions against its settings, and on what was left out.
    pub notes: Vec<String>,
}

/// A model directory whose files were checked and whose weights are known by their headers.
pub(super) struct OpenedModel<'a> {
    dir: &'a Path,
    /// The architecture.
    pub plan: ModelPlan,
    /// The config of the run that made it, where there was one.
    pub config: Option<RunConfig>,
    /// Lineage, if it was converted.
    pub lineage: Option<Lineage>,
    /// Sentences on decisions against the settings, and on what was left out.
    pub notes: Vec<String>,
    labels: Option<Labels>,
    normalisation: Option<Normalisation>,
    weights: Weights<'a>,
    /// Names in the files of every tensor, under our names.
    names: BTreeMap<String, String>,
}

/// Files of weights up to this size, in bytes, are held against their checksum before their headers are read: what was edited
/// is then told as such. In larger ones the header goes first, since a size that is a lie is to cost nothing.
const HASHED_FIRST: u64 = 1 << 30;

impl<'a> OpenedModel<'a> {
    /// Reads settings and headers, and checks both against each other; no weights are read.
    ///
    /// # Errors
    /// If a file is missing, was cut off or edited, or describes a model that cannot be computed here.
    pub fn open(dir: &'a Path) -> Result<Self, CheckpointError> {
        if !is_model(dir) {
            return Err(CheckpointError::NotFound { path: dir.to_owned() });
        }
        refuse_other_kinds(dir)?;
        let manifest = Manifest::read(dir)?;
        let is_hashed_first = fs::metadata(dir.join(WEIGHTS)).is_ok_and(|there| there.len() <= HASHED_FIRST);
        if let Some(manifest) = &manifest {
            for file in [CONFIG, WEIGHTS, TOKENIZER, PREPROCESSOR, RUN_CONFIG] {
                if file == WEIGHTS && !is_hashed_first {
                    manifest.check_size(dir, file)?;
                } else {
                    manifest.check(dir, file)?;
                }
            }
        }
        let missing = |file: &str| CheckpointError::MissingFile { file: file.to_owned(), path: dir.to_owned() };
        let settings = text(dir, CONFIG)?.ok_or_else(|| missing(CONFIG))?;
        let weights = Weights::open(dir)?;
        let Described { plan, tied, mut notes } = hugging_face::described(&settings, Some(&weights), dir)?;
        let labels = labels::read(&settings, &plan);
        let normalisation = match (plan.image_shape(), text(dir, PREPROCESSOR)?) {
            (Some(shape), Some(settings)) => Some(preprocessor::read(&settings, shape, dir)?),
            (Some(_), None) | (None, _) => None,
        };
        let config = match text(dir, RUN_CONFIG)? {
            None => None,
            Some(text) => Some(from_directory_toml(&text, dir).map_err(|error| CheckpointError::Settings {
                file: RUN_CONFIG.to_owned(),
                why: error.to_string(),
                path: dir.to_owned(),
            })?),
        };
        let Matched { names, left_out } = weights::matched(&plan, &tied, weights.shapes(), dir)?;
        notes.extend(weights::left_out_note(&left_out));
        if let Some(manifest) = manifest.as_ref().filter(|_| !is_hashed_first) {
            manifest.check(dir, WEIGHTS)?;
        }
        let lineage = manifest.and_then(|manifest| manifest.lineage);
        Ok(Self { dir, plan, config, lineage, notes, labels, normalisation, weights, names })
    }

    /// Reads the weights that the plan needs, converted to `dtype`.
    ///
    /// # Errors
    /// If they do not fit into memory or cannot be read.
    fn load(self, dtype: DType, device: &Device) -> Result<LoadedModel, CheckpointError> {
        let Self { dir, plan, config, lineage, notes, labels, normalisation, weights, names } = self;
        let tensors = weights.read(&names, dtype, device)?;
        Ok(LoadedModel {
            parameters: weights::join(&plan, tensors, dir)?,
            plan,
            tokenizer_json: tokenizer_json(dir)?,
            config,
            generation: generation_config::read(dir)?,
            lineage,
            labels,
            normalisation,
            notes,
        })
    }
}

/// Reads a model directory: one of ours, checked against its checksums, or a plain Hugging Face directory of a family that
/// `families/` knows. Weights are converted to `dtype`.
///
/// # Errors
/// If a file is missing, was cut off or edited, or describes a model that cannot be computed here.
pub fn load_model_dir(dir: &Path, dtype: DType, device: &Device) -> Result<LoadedModel, CheckpointError> {
    OpenedModel::open(&recovered(dir))?.load(dtype, device)
}

/// The architecture of a model directory, without its weights.
///
/// # Errors
/// If it is no model directory, or describes a model that cannot be computed here.
pub fn read_plan(dir: &Path) -> Result<ModelPlan, CheckpointError> {
    let dir = &recovered(dir);
    if !is_model(dir) {
        return Err(CheckpointError::NotFound { path: dir.clone() });
    }
    refuse_other_kinds(dir)?;
    let missing = || CheckpointError::MissingFile { file: CONFIG.to_owned(), path: dir.clone() };
    let settings = text(dir, CONFIG)?.ok_or_else(missing)?;
    Ok(hugging_face::described(&settings, Some(&Weights::open(dir)?), dir)?.plan)
}

/// Reads what it takes to continue training. Tensors keep the number format in which they were saved.
///
/// # Errors
/// If the directory has no training state, or if it was cut off or edited.
pub fn load_training_state(dir: &Path, device: &Device) -> Result<TrainingState, CheckpointError> {
    let dir = &recovered(dir);
    let (file, Header { step, tokens, best, progress }) = training_header(dir)?;
    let numbers = |shape: &Vec<usize>| shape.iter().fold(1, |product: u64, size| product.saturating_mul(*size as u64));
    let trained: u64 = tensor_shapes(&read_plan(dir)?).values().map(numbers).fold(0, u64::saturating_add);
    let most = trained.saturating_mul(2).saturating_add(MOST_COUNTS);
    let optimiser = tensors::read_state(&file, most, dir, device)?;
    Ok(TrainingState { step, tokens, best, optimiser: weights::under_our_names(optimiser), progress })
}

/// Reads how far training had come; no tensor is read.
///
/// # Errors
/// If the directory has no training state, or if it was cut off or edited.
pub(super) fn training_header(dir: &Path) -> Result<(TensorFile, Header), CheckpointError> {
    if !is_model(dir) {
        return Err(CheckpointError::NotFound { path: dir.to_owned() });
    }
    refuse_other_kinds(dir)?;
    if let Some(manifest) = Manifest::read(dir)? {
        if !manifest.holds(TRAINING_STATE) {
            return Err(CheckpointError::NoTrainingState { path: dir.to_owned() });
        }
        manifest.check(dir, TRAINING_STATE)?;
    } else if !dir.join(TRAINING_STATE).exists() {
        return Err(CheckpointError::NoTrainingState { path: dir.to_owned() });
    }
    let file = TensorFile::open(dir, TRAINING_STATE)?;
    let damaged = |why: String| CheckpointError::Damaged { file: TRAINING_STATE.to_owned(), why, path: dir.to_owned() };
    let written = file.metadata().get("headroom").ok_or_else(|| damaged("it says nothing about its run".to_owned()))?;
    let header: Header = serde_json::from_str(written).map_err(|error| damaged(error.to_string()))?;
    if header.step > MOST_STEPS {
        return Err(damaged(format!("it says {} steps, more than any run can do", header.step)));
    }
    Ok((file, header))
}
