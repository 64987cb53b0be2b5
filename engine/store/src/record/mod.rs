//! What the store keeps, as plain data: no handle, no lock, no candle type, everything serialisable.

mod advice;
mod analysis;
mod benchmark;
mod checkpoint;
mod damaged;
mod details;
mod id;
mod new_run;
mod outcomes;
mod purge;
mod run;
mod series;
mod snapshot;
mod state;

pub use crate::objective::{Direction, series_names};
pub use advice::{AdviceRecord, Advised};
pub use analysis::{AnalysisId, AnalysisSummary};
pub use benchmark::{BenchmarkId, BenchmarkRecord, BenchmarkSummary, MeasuredDevice};
pub use checkpoint::{CheckpointKind, CheckpointRecord, NewCheckpoint};
pub use damaged::{DamagedRun, RunList};
pub use details::{Divergence, Failure, Parent, Progress, RunFacts, StateDetails};
pub use id::{NoId, RunId};
pub use new_run::{Machine, NewRun};
pub use outcomes::{ExampleOutcomes, OutcomeKind};
pub use purge::{Deleted, DeletedKind, PurgeReport};
pub use run::{AttemptRecord, RunFilter, RunRecord, RunSummary};
pub use series::{Cursor, Cut, SeriesData, SeriesSummary};
pub use snapshot::{NewSnapshot, SnapshotData, SnapshotRecord, TextSample, snapshot_kinds};
pub use state::RunState;
