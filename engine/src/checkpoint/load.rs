use std::{io, path::Path};

use candle_core::{DType, Device};

use super::{
    CONFIG, CheckpointError, Lineage, PREPROCESSOR, RUN_CONFIG, TOKENIZER, TRAINING_STATE, TrainingState, WEIGHTS,
    directory::{is_model, recovered, refuse_other_kinds},
    hugging_face, labels,
    manifest::Manifest,
    marks, preprocessor, tensors,
    tokenizer_files::tokenizer_json,
    training_state::Header,
    weights,
};
use crate::{
    attention::ModelPlan,
    config::{RunConfig, from_stored_toml},
    data::{Normalisation, read_text_file},
    generate::Marks,
    model::{ModelError, ParameterSet},
    objective::Labels,
};

/// More steps than any run can do; counting on from here overflows nothing.
const MOST_STEPS: u64 = 1 << 53;

/// The largest text file of a model directory that is read, in bytes.
const LARGEST_TEXT: u64 = 1 << 29;

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
    /// Tokens with a meaning for generation, as far as the directory says.
    pub marks: Marks,
    /// Where it came from, if it was converted.
    pub lineage: Option<Lineage>,
    /// What its outputs stand for, of a model that ends in one class or a number.
    pub labels: Option<Labels>,
    /// How pixels become the numbers that it reads, of a model of images whose directory says so.
    pub normalisation: Option<Normalisation>,
}

/// Reads a model directory: one of ours, checked against its checksums, or a plain Hugging Face directory of a family that
/// `families/` knows. Weights are converted to `dtype`.
///
/// # Errors
/// If a file is missing, was cut off or edited, or describes a model that cannot be computed here.
pub fn load_model_dir(dir: &Path, dtype: DType, device: &Device) -> Result<LoadedModel, CheckpointError> {
    let dir = &recovered(dir);
    if !is_model(dir) {
        return Err(CheckpointError::NotFound { path: dir.clone() });
    }
    refuse_other_kinds(dir)?;
    let manifest = Manifest::read(dir)?;
    if let Some(manifest) = &manifest {
        for file in [CONFIG, WEIGHTS, TOKENIZER, PREPROCESSOR, RUN_CONFIG] {
            manifest.check(dir, file)?;
        }
    }
    let missing = |file: &str| CheckpointError::MissingFile { file: file.to_owned(), path: dir.clone() };
    let settings = text(dir, CONFIG)?.ok_or_else(|| missing(CONFIG))?;
    let plan = hugging_face::plan_of(&settings, &tensors::names(dir)?, dir)?;
    let labels = labels::read(&settings, &plan);
    let normalisation = match (plan.image_shape(), text(dir, PREPROCESSOR)?) {
        (Some(shape), Some(settings)) => Some(preprocessor::read(&settings, shape, dir)?),
        (Some(_), None) | (None, _) => None,
    };
    let config = match text(dir, RUN_CONFIG)? {
        None => None,
        Some(text) => Some(from_stored_toml(&text).map_err(|error| CheckpointError::Settings {
            file: RUN_CONFIG.to_owned(),
            why: error.to_string(),
            path: dir.clone(),
        })?),
    };
    let mut tensors = tensors::read_weights(dir, device)?;
    // Whole numbers, such as the keys of pairs, stay as they are.
    for tensor in tensors.values_mut().filter(|tensor| !tensor.dtype().is_int()) {
        let converted = tensor.to_dtype(dtype).map_err(ModelError::from);
        *tensor = converted.map_err(|source| CheckpointError::Tensor { source, path: dir.clone() })?;
    }
    Ok(LoadedModel {
        parameters: weights::join(&plan, tensors, dir)?,
        plan,
        tokenizer_json: tokenizer_json(dir)?,
        config,
        marks: marks::marks(dir)?,
        lineage: manifest.and_then(|manifest| manifest.lineage),
        labels,
        normalisation,
    })
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
    hugging_face::plan_of(&settings, &tensors::names(dir)?, dir)
}

/// Reads what it takes to continue training. Tensors keep the number format in which they were saved.
///
/// # Errors
/// If the directory has no training state, or if it was cut off or edited.
pub fn load_training_state(dir: &Path, device: &Device) -> Result<TrainingState, CheckpointError> {
    let dir = &recovered(dir);
    if !is_model(dir) {
        return Err(CheckpointError::NotFound { path: dir.clone() });
    }
    refuse_other_kinds(dir)?;
    if let Some(manifest) = Manifest::read(dir)? {
        if !manifest.holds(TRAINING_STATE) {
            return Err(CheckpointError::NoTrainingState { path: dir.clone() });
        }
        manifest.check(dir, TRAINING_STATE)?;
    } else if !dir.join(TRAINING_STATE).exists() {
        return Err(CheckpointError::NoTrainingState { path: dir.clone() });
    }
    let (optimiser, metadata) = tensors::read(dir, TRAINING_STATE, device)?;
    let damaged = |why: String| CheckpointError::Damaged { file: TRAINING_STATE.to_owned(), why, path: dir.clone() };
    let header = metadata.get("headroom").ok_or_else(|| damaged("it says nothing about its run".to_owned()))?;
    let Header { step, tokens, best, progress } =
        serde_json::from_str(header).map_err(|error| damaged(error.to_string()))?;
    if step > MOST_STEPS {
        return Err(damaged(format!("it says {step} steps, more than any run can do")));
    }
    Ok(TrainingState { step, tokens, best, optimiser: weights::under_our_names(optimiser), progress })
}

/// The text of a file; none when it is not there.
pub(super) fn text(dir: &Path, file: &str) -> Result<Option<String>, CheckpointError> {
    match read_text_file(&dir.join(file), LARGEST_TEXT) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(CheckpointError::Damaged {
            file: file.to_owned(),
            why: "it is not UTF-8 text".to_owned(),
            path: dir.to_owned(),
        }),
        Err(error) => Err(CheckpointError::io(&format!("read {file}"), dir)(error)),
    }
}
