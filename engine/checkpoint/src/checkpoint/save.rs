use std::{fs, path::Path};

use candle_core::{DType, Tensor};
use serde_json::json;

use super::{
    CARD, CONFIG, CheckpointError, GENERATION_CONFIG, MANIFEST, MODULE, ModelDirectory, PREPROCESSOR, RUN_CONFIG,
    SPECIAL_TOKENS, TOKENIZER, TOKENIZER_CONFIG, TRAINING_STATE, TrainingState, WEIGHTS, card, directory::Scratch,
    hugging_face, manifest::Manifest, own_module::SOURCE, preprocessor, space, special_tokens::SpecialTokens, tensors,
    training_state::Header, weights,
};
use crate::config::{Precision, to_toml};

/// Room for settings, headers and the file system's own needs.
const MARGIN_BYTES: u64 = 1 << 20;

/// What was saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedModel {
    /// Bytes of all files.
    pub bytes: u64,
}

/// Writes a model directory, replacing the one that is there.
///
/// Everything is written and synced beside `dir` and moved to its place at the end: whatever goes wrong, a model that
/// was there before is still there.
///
/// # Errors
/// If the disk has too little space (known before writing) or fills up, if the folder cannot be written, or if it
/// holds files that are not a model's.
pub fn save_model_dir(dir: &Path, contents: &ModelDirectory) -> Result<SavedModel, CheckpointError> {
    save_with(dir, contents, space::free_bytes(dir))
}

/// Whether a model directory can be made there, as far as that can be told before there is anything to write: asked before work of which
/// nothing would be left.
///
/// # Errors
/// What the system says of a file in the closest folder above that is there.
pub fn check_can_be_made(dir: &Path) -> Result<(), CheckpointError> {
    let whole = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let Some(above) = whole.ancestors().find(|above| above.exists()) else { return Ok(()) };
    // It has no name and is gone when this returns.
    tempfile::tempfile_in(above).map(drop).map_err(CheckpointError::io("make a folder in", above))
}

/// See [`save_model_dir`]; `free_bytes` is what the disk has, when known.
pub(super) fn save_with(
    dir: &Path,
    contents: &ModelDirectory,
    free_bytes: Option<u64>,
) -> Result<SavedModel, CheckpointError> {
    let needed_bytes = tensors::bytes(contents.tensors)
        + contents.training.map_or(0, |training| tensors::bytes(&training.optimiser))
        + contents.tokenizer_json.map_or(0, |text| text.len() as u64)
        + MARGIN_BYTES;
    if let Some(free_bytes) = free_bytes.filter(|free| *free < needed_bytes) {
        return Err(CheckpointError::DiskSpace { needed_bytes, free_bytes, path: dir.to_owned() });
    }
    write(dir, contents).map_err(|error| error.or_disk_full(needed_bytes, dir))
}

fn write(dir: &Path, contents: &ModelDirectory) -> Result<SavedModel, CheckpointError> {
    let scratch = Scratch::beside(dir)?;
    let mut files = Vec::new();
    let mut text = |file: &'static str, text: &str| {
        let path = scratch.path.join(file);
        fs::write(&path, text).map_err(CheckpointError::io(&format!("write {file}"), &path))?;
        files.push(file);
        scratch.sync(file)
    };
    let special = SpecialTokens::find(contents.tokenizer_json);
    let precision = match contents.tensors.values().map(Tensor::dtype).find(DType::is_float) {
        Some(DType::F64) => Precision::F64,
        _ => Precision::F32,
    };
    text(CONFIG, &hugging_face::config_json(contents, precision, &special))?;
    if let Some(settings) = hugging_face::generation_config_json(contents.plan, &special) {
        text(GENERATION_CONFIG, &settings)?;
    }
    if let Some(tokenizer) = contents.tokenizer_json {
        text(TOKENIZER, tokenizer)?;
        let map = special.map();
        let mut settings = map.clone();
        settings.insert("tokenizer_class".to_owned(), json!("PreTrainedTokenizerFast"));
        settings.insert("model_max_length".to_owned(), json!(contents.plan.stack.longest()));
        settings.insert("clean_up_tokenization_spaces".to_owned(), json!(false));
        text(TOKENIZER_CONFIG, &serde_json::to_string_pretty(&settings).unwrap_or_default())?;
        text(SPECIAL_TOKENS, &serde_json::to_string_pretty(&map).unwrap_or_default())?;
    }
    if let Some(settings) = preprocessor::text(contents.plan, contents.normalisation) {
        text(PREPROCESSOR, &settings)?;
    }
    if let Some(config) = contents.config {
        text(RUN_CONFIG, &to_toml(config))?;
    }
    let named = weights::under_file_names(contents.plan, contents.tensors)
        .map_err(|source| CheckpointError::Tensor { source, path: dir.to_owned() })?;
    // `transformers` asks for this line of metadata.
    tensors::write(&scratch.path.join(WEIGHTS), &named, ("format", "pt".to_owned()))?;
    scratch.sync(WEIGHTS)?;
    files.push(WEIGHTS);
    if let Some(TrainingState { step, tokens, best, optimiser, progress }) = contents.training {
        let header = Header { step: *step, tokens: *tokens, best: best.clone(), progress: progress.clone() };
        let header = serde_json::to_string(&header).unwrap_or_default();
        tensors::write(&scratch.path.join(TRAINING_STATE), optimiser, ("headroom", header))?;
        scratch.sync(TRAINING_STATE)?;
        files.push(TRAINING_STATE);
    }
    let mut manifest = Manifest::of(&scratch.path, &files, contents.run)?;
    manifest.lineage = contents.lineage.cloned();
    let path = scratch.path.join(MANIFEST);
    fs::write(&path, manifest.text()).map_err(CheckpointError::io("write headroom.json", &path))?;
    scratch.sync(MANIFEST)?;
    let mut saved = SavedModel { bytes: manifest.bytes() + manifest.text().len() as u64 };
    if let Some(card) = contents.card {
        // Outside of the manifest: whoever takes the directory may change them.
        let module = hugging_face::module_class(contents.plan).map(|_| (MODULE, SOURCE.to_owned()));
        for (file, text) in [(CARD, card::text(contents, card))].into_iter().chain(module) {
            let path = scratch.path.join(file);
            fs::write(&path, &text).map_err(CheckpointError::io(&format!("write {file}"), &path))?;
            scratch.sync(file)?;
            saved.bytes += text.len() as u64;
        }
    }
    scratch.publish()?;
    Ok(saved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whether_a_directory_can_be_made_is_told_before_there_is_anything_to_write() {
        let dir = tempfile::tempdir().unwrap();
        check_can_be_made(&dir.path().join("new/and/deeper")).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left of the question");
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let error = check_can_be_made(&file.join("below")).unwrap_err().to_string();
        assert!(error.contains("make a folder in") && error.contains("file"), "{error}");
    }
}
