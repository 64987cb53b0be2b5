use serde::{Deserialize, Serialize};

use crate::hub::{FetchRequest, HubFacts, RepoFacts};

/// Asks a hub what it knows about a model or a data set; answered by [`super::Event::Inspected`]. Nothing is downloaded but
/// its `config.json`, and nothing is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Inspect {
    /// Of what.
    pub request: FetchRequest,
}

/// Answer to [`super::Command::DescribeHub`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HubDescribed {
    /// What is known on this machine.
    #[serde(flatten)]
    pub facts: Box<HubFacts>,
}

/// Answer to [`super::commands::Inspect`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Inspected {
    /// What the hub says. All text in it is the hub's.
    #[serde(flatten)]
    pub facts: Box<RepoFacts>,
}
