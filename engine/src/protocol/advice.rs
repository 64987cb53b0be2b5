use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{
    config::RunConfig,
    store::{AdviceRecord, Advised},
};

/// Trains an advised config: adds it at the end of the queue, and before it the run that it came from once more where that
/// is wanted. All of them get the tag, the run that it came from too; what was predicted is kept. Answered as
/// [`super::Command::EnqueueAll`] is, and by [`super::Event::Advice`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrainAdvice {
    /// The config as written.
    pub config: Box<RunConfig>,
    /// The config of the run that it came from, to be trained again beside it.
    pub again: Option<Box<RunConfig>>,
    /// Folder from which the configs' relative paths are taken.
    pub base_dir: PathBuf,
    /// The label by which the runs are found again.
    pub tag: String,
    /// Where it came from, and what is predicted; who runs beside it is filled in.
    pub advised: Box<Advised>,
}

/// Answer to [`super::Command::ListAdvice`], and after each change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Advice {
    /// Every run that was advised, newest first, deleted ones left out.
    pub advice: Vec<AdviceRecord>,
}
