use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{
    attention::ModelFacts,
    config::{Problem, RunConfig},
    data::DataPreview,
    machine::DeviceInfo,
};

/// Asks what cannot be answered from a config alone: do its files exist, is its device there, is there
/// memory enough; answered by [`super::Event::Checked`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Check {
    /// The config.
    pub config: Box<RunConfig>,
    /// Folder from which relative paths are taken.
    pub base_dir: PathBuf,
    /// Which state of the config it is; comes back with the answer.
    pub revision: u64,
}

/// Reads what data, tokenizer and initial model say of the model of a config, by which its costs are counted; answered by
/// [`super::Event::FactsRead`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReadFacts {
    /// The config.
    pub config: Box<RunConfig>,
    /// Folder from which relative paths are taken.
    pub base_dir: PathBuf,
}

/// Answer to [`super::Command::Check`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Checked {
    /// Which state of the config it is, as asked.
    pub revision: u64,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// Free memory on the chosen device, when known.
    pub free_bytes: Option<u64>,
    /// Facts about its model that its data, its tokenizer and its initial model say.
    pub facts: Box<ModelFacts>,
    /// The beginning of the table or of the images that the config names, if these can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<Box<DataPreview>>,
}

/// Answer to [`super::Command::ReadFacts`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FactsRead {
    /// The config, as asked.
    pub config: Box<RunConfig>,
    /// Folder from which its relative paths are taken.
    pub base_dir: PathBuf,
    /// Facts about its model.
    pub facts: Box<ModelFacts>,
}

/// Answer to [`super::Command::Devices`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Devices {
    /// Every device that this build can use, and why others cannot be used.
    pub devices: Vec<DeviceInfo>,
}
