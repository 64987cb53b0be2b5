//! Comparing runs, without drawing anything: differences between configs, the filter language of tables,
//! groups of runs with their statistics, deltas against a baseline and whether they clear their noise, tables to copy.
//!
//! Pure functions over plain data. May be used by the panels; draws nothing.

mod align;
mod comparison;
mod course;
mod diff;
mod evidence;
pub mod filter;
mod flatten;
mod frontier;
mod group;
mod interval;
mod judge;
mod metric;
mod more_seeds;
mod names;
mod outcomes;
mod sampling;
#[cfg(test)]
mod simulation;
mod standings;
mod stats;
mod within_run;
mod x_axis;

pub use align::{Aligned, Alignment, align};
pub use comparison::Comparison;
pub use course::{Course, common_step};
pub use diff::{ConfigDiff, DiffRow};
pub use evidence::{Basis, Delta, Reading, SEEDS_ALONE, Verdict, untested_words};
pub use flatten::{flatten, plain};
pub use frontier::pareto_front;
pub use group::{Group, common_keys, group_all_but, group_by, is_finished, short_key};
pub use judge::{NotJudged, RATE, is_rate, judged_by_most, judged_direction, not_judged_words, why_not_judged};
pub use metric::{
    LOSS_UNIT, common_loss_unit, loss_unit, metric_spread, metric_value, series_axis, series_hint, series_title,
    series_unit, short_title, task_info, task_of,
};
pub use more_seeds::{FurtherRun, SEEDS_TO_TEST, further_runs, most_seeds_each, name_with_seed, untested_sentence};
pub use names::{first_names, is_of_race, name_of_seeds, names_apart, unequal_samples_words, unequal_training_words};
pub use outcomes::RunOutcomes;
pub use sampling::ExampleNoise;
pub use standings::{Figure, Standing, Value, standings};
pub use stats::{Band, Summary, student_t_95};
pub use within_run::WithinRunSpread;
pub use x_axis::{curve_x, why_missing};
