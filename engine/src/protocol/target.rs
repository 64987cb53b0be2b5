use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::store::RunId;

/// A run in the store or a model directory on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// A run and one of its checkpoints.
    Run {
        /// The run.
        run: RunId,
        /// Which of its checkpoints.
        which: Which,
    },
    /// A model directory.
    Directory(PathBuf),
}

/// One of a run's checkpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// The one with the best validation loss.
    #[default]
    Best,
    /// The newest.
    Last,
    /// The one at this step.
    Step(u64),
}

impl std::str::FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "best" => Ok(Self::Best),
            "last" => Ok(Self::Last),
            _ => text
                .parse()
                .map(Self::Step)
                .map_err(|_| format!("\"{text}\" is no checkpoint. Use `best`, `last` or a step number.")),
        }
    }
}

impl std::fmt::Display for Which {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Best => f.write_str("best"),
            Self::Last => f.write_str("last"),
            Self::Step(step) => write!(f, "step {step}"),
        }
    }
}
