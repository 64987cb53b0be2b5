//! The command that trains further seeds of runs whose differences were not tested.

use std::{collections::BTreeMap, path::Path};

use headroom_engine::store::RunRecord;
use serde_json::Value;

use super::hint;
use crate::compare::{FurtherRun, SEEDS_TO_TEST, flatten, further_runs, group_all_but, most_seeds_each};

/// Runs that bring each config of these to `count` seeds.
pub fn further(records: &[RunRecord], count: usize) -> Vec<FurtherRun> {
    let flat: Vec<BTreeMap<String, Value>> = records.iter().map(|record| flatten(&record.config)).collect();
    let runs: Vec<_> = records.iter().map(|record| &record.summary).collect();
    further_runs(&runs, &flat.iter().collect::<Vec<_>>(), count)
}

/// The command that queues further seeds of these runs, on the store that was named; none where there is nothing to queue, or nothing
/// to compare. `tag`: a tag that all of them have.
pub fn command(path: Option<&Path>, records: &[RunRecord], tag: Option<&str>) -> Option<String> {
    if !has_several_configs(records) || further(records, SEEDS_TO_TEST).is_empty() {
        return None;
    }
    let runs = match tag {
        Some(tag) => format!("--tag {}", hint::quoted(tag)),
        None => records.iter().map(|record| record.summary.id.to_string()).collect::<Vec<_>>().join(" "),
    };
    Some(hint::command(&format!("repeat {runs} --seeds {SEEDS_TO_TEST}"), path))
}

/// Note on differences that were not tested, with a command that helps: `1 seed each: not tested. Queue 2 more: headroom repeat ...`.
pub fn text(path: Option<&Path>, why: &str, records: &[RunRecord], tag: Option<&str>) -> String {
    match command(path, records, tag) {
        Some(command) => {
            format!("{why}. Queue {} more: {command}", most_seeds_each(&further(records, SEEDS_TO_TEST)))
        }
        None if has_several_configs(records) => format!("{why}. The seeds that are missing wait or train."),
        None => format!("{why}. The runs differ in nothing but the seed."),
    }
}

fn has_several_configs(records: &[RunRecord]) -> bool {
    let flat: Vec<BTreeMap<String, Value>> = records.iter().map(|record| flatten(&record.config)).collect();
    group_all_but(&flat.iter().collect::<Vec<_>>(), "seed").len() > 1
}
