//! stub
use std::{collections::BTreeMap, path::Path};
use candle_core::{DType, Device, Tensor};
use crate::{attention::ModelPlan, config::RunConfig, model::ParameterSet, train::Progress};
/// e
#[derive(Debug, thiserror::Error)]
#[error("x")]
pub struct CheckpointError;
/// s
pub struct TrainingState { pub moments: BTreeMap<String, Tensor>, pub progress: Progress }
/// s
pub struct LoadedModel { pub plan: ModelPlan, pub parameters: ParameterSet, pub tokenizer_json: Option<String>, pub config: Option<RunConfig> }
/// s
pub struct ModelFiles<'a> { pub plan: &'a ModelPlan, pub parameters: &'a ParameterSet, pub tokenizer_json: Option<&'a str>, pub config_toml: &'a str, pub state: Option<&'a TrainingState> }
pub fn save_model_dir(_: &Path, _: &ModelFiles<'_>) -> Result<u64, CheckpointError> { todo!() }
pub fn load_model_dir(_: &Path, _: DType, _: &Device) -> Result<LoadedModel, CheckpointError> { todo!() }
pub fn load_training_state(_: &Path, _: DType, _: &Device) -> Result<TrainingState, CheckpointError> { todo!() }
pub fn has_training_state(_: &Path) -> bool { todo!() }
pub fn export_model_dir(_: &Path, _: &Path) -> Result<(), CheckpointError> { todo!() }
