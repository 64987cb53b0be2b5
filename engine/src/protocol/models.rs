use serde::{Deserialize, Serialize};

use super::target::Target;

use crate::{attention::ModelPlan, checkpoint::DirectoryFacts};

/// Reads what the files of a model say; answered by [`super::Event::ModelDescribed`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DescribeModel {
    /// Which model.
    pub target: Target,
}

/// Reads the plan of a model, without its weights; answered by [`super::Event::PlanRead`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReadPlan {
    /// Which model.
    pub target: Target,
}

/// Answer to [`super::Command::DescribeModel`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ModelDescribed {
    /// The model.
    pub target: Target,
    /// What its files say.
    pub facts: Box<DirectoryFacts>,
}

/// Answer to [`super::Command::ReadPlan`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanRead {
    /// The model.
    pub target: Target,
    /// What it is.
    pub plan: Box<ModelPlan>,
}
