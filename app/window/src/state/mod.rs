//! The view model: what the panels show, filled from the engine's events.
//!
//! May be used from every panel. Panels never ask the engine for curves themselves: they say which curves they show
//! ([`SeriesCache::want`]), and the loads and re-loads follow from it.

mod advice;
mod analysis;
mod answers;
mod apply;
mod configs;
mod current;
mod followed_job;
mod generate;
mod grouped_of;
mod grouping;
mod hub;
mod maps;
mod mistakes;
mod models;
mod purge;
mod rebuilt;
mod request_cache;
mod sampling;
mod sampling_cache;
mod selection;
mod series;
mod speed;
mod styles;
mod subject;
#[cfg(test)]
mod tests;
mod uploads;
mod view;
mod wanted_configs;

pub use advice::AdviceState;
pub use analysis::{AnalysisPart, AnalysisState, MarkedHeads, PendingAnalysis};
pub use answers::{Answering, Answers, AnswersState, Question};
pub use configs::FlatConfigs;
pub use current::{CurrentRun, StartFacts, SystemLoad};
pub use followed_job::{FollowedJob, Phase};
pub use generate::{GenerateState, Generation, GenerationSpec, Proving, step_costs};
pub use grouping::group_anew;
pub use hub::{FetchRun, HubState, Inspection};
pub use maps::{MapsOf, MapsState, ShownMaps};
pub use mistakes::MistakesState;
pub use models::{ConversionRequest, ConversionRun, ModelsState, Preview};
pub use purge::PurgeState;
pub use rebuilt::ShownRebuilt;
pub use sampling_cache::SamplingNoiseCache;
pub use selection::Selection;
pub use series::{RunSeries, SeriesCache};
pub use speed::{Measuring, SpeedState};
pub use styles::Styles;
pub use subject::{SubjectId, folder_name};
pub use uploads::{UploadRequest, UploadRun, UploadsState};
pub use view::{CheckAnswer, State};
