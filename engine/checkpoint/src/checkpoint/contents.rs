//! Contents of a model directory.

use std::collections::BTreeMap;

use candle_core::Tensor;

use super::{Lineage, TrainingState};
use crate::{attention::ModelPlan, config::RunConfig, data::Normalisation, objective::Labels};

/// What a model directory is made of.
#[derive(Clone, Copy, Debug)]
pub struct ModelDirectory<'a> {
    /// The architecture.
    pub plan: &'a ModelPlan,
    /// The weights by our names.
    pub tensors: &'a BTreeMap<String, Tensor>,
    /// The text of `tokenizer.json`, where the model reads text.
    pub tokenizer_json: Option<&'a str>,
    /// The config of the run that made it, where there was one.
    pub config: Option<&'a RunConfig>,
    /// What it takes to continue training; none for an export.
    pub training: Option<&'a TrainingState>,
    /// The id of the run that it is a checkpoint of: only a directory that names its run is removed with it. None for an
    /// export.
    pub run: Option<&'a str>,
    /// Where it came from, if it was converted.
    pub lineage: Option<&'a Lineage>,
    /// What its outputs stand for, where that is known.
    pub labels: Option<&'a Labels>,
    /// How pixels become the numbers that it reads, where it reads images and that is known.
    pub normalisation: Option<&'a Normalisation>,
    /// What its card says, if it is taken home: then a card comes along, and where `transformers` does not know the model a
    /// module that computes it.
    pub card: Option<&'a ModelCard>,
}

impl<'a> ModelDirectory<'a> {
    /// Architecture and weights alone.
    pub fn of(plan: &'a ModelPlan, tensors: &'a BTreeMap<String, Tensor>) -> Self {
        Self {
            plan,
            tensors,
            tokenizer_json: None,
            config: None,
            training: None,
            run: None,
            lineage: None,
            labels: None,
            normalisation: None,
            card: None,
        }
    }
}

/// What a card says beside what follows from the directory itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelCard {
    /// What people call the model.
    pub name: String,
    /// The run that it is a checkpoint of, and its step.
    pub run: Option<(String, u64)>,
    /// What was measured of this checkpoint: name, value, unit.
    pub metrics: Vec<(String, f64, String)>,
}
