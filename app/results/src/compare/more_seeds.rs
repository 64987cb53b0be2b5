//! Seeds that are still missing for a test: which further runs make a comparison of one seed each one that is tested.

use std::collections::{BTreeMap, BTreeSet};

use headroom_engine::store::RunSummary;
use serde_json::Value;

use super::{first_names, group_all_but, is_finished};

/// Seeds that a config is brought to where it has one: two more.
pub const SEEDS_TO_TEST: usize = 3;

/// A run that is to be queued: the config of another run with a further seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FurtherRun {
    /// Place of the run whose config it has, in the list that was given.
    pub of: usize,
    /// Seed of the run.
    pub seed: u64,
}

/// Seeds of one config.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ConfigSeeds {
    /// Seeds of runs that trained to their end, or still may.
    counted: BTreeSet<u64>,
    /// Seeds of any run: a run that ended early would end so again with its seed.
    taken: BTreeSet<u64>,
}

/// Runs that bring every config among `runs` to `count` seeds, seed by seed, so that all configs have the same seeds as far as
/// possible: pairs tell more. `configs` are the flat configs of the runs, [`super::flatten()`]; the first run is the baseline, whose seeds the
/// others take first.
pub fn further_runs(runs: &[&RunSummary], configs: &[&BTreeMap<String, Value>], count: usize) -> Vec<FurtherRun> {
    let groups = group_all_but(configs, "seed");
    let seeds = |members: &[usize]| {
        let mut seeds = ConfigSeeds::default();
        for run in members.iter().filter_map(|&place| runs.get(place)) {
            seeds.taken.insert(run.seed);
            if is_finished(run.state) || !run.state.is_ended() {
                seeds.counted.insert(run.seed);
            }
        }
        seeds
    };
    let missing = missing_seeds(&groups.iter().map(|group| seeds(&group.members)).collect::<Vec<_>>(), count);
    let firsts: Vec<Option<usize>> = groups.iter().map(|group| group.members.first().copied()).collect();
    let rounds = missing.iter().map(Vec::len).max().unwrap_or_default();
    let of_round = |round: usize| {
        let all = firsts.iter().zip(&missing);
        all.filter_map(move |(of, seeds)| Some(FurtherRun { of: (*of)?, seed: *seeds.get(round)? }))
    };
    (0..rounds).flat_map(of_round).collect()
}

/// Seeds that each config lacks until it has `count`. All take them in the same order: the seeds of the first config, those of
/// the others, and then the next numbers.
fn missing_seeds(configs: &[ConfigSeeds], count: usize) -> Vec<Vec<u64>> {
    let mut order: Vec<u64> = Vec::new();
    for seed in configs.iter().flat_map(|config| &config.counted) {
        if !order.contains(seed) {
            order.push(*seed);
        }
    }
    let highest = configs.iter().flat_map(|config| &config.taken).max().copied().unwrap_or_default();
    let largest = i64::MAX as u64;
    let next = (1..=count as u64).map(|more| if highest < largest - more { highest + more } else { more });
    order.extend(next);
    let of = |config: &ConfigSeeds| {
        // What never trained to its end has no seed that more could be added to.
        let lacks = if config.counted.is_empty() { 0 } else { count.saturating_sub(config.counted.len()) };
        order.iter().copied().filter(|seed| !config.taken.contains(seed)).take(lacks).collect()
    };
    configs.iter().map(of).collect()
}

/// Further seeds of the config that gets the most of them.
pub fn most_seeds_each(further: &[FurtherRun]) -> usize {
    let count = |of: usize| further.iter().filter(|run| run.of == of).count();
    further.iter().map(|run| count(run.of)).max().unwrap_or_default()
}

/// Differences that were not tested: the names of the others, each with the seeds of the baseline and its own; none where there are
/// none.
pub fn untested_sentence(others: &[(&str, (usize, usize))]) -> Option<String> {
    let (base, _) = others.first()?.1;
    let single: Vec<&str> = others.iter().filter(|(_, (_, own))| *own == 1).map(|(name, _)| *name).collect();
    Some(match base {
        1 if single.len() == others.len() => "1 seed each: not tested".to_owned(),
        1 => "1 seed of the baseline: not tested".to_owned(),
        _ => format!("1 seed of {}: not tested", first_names(&single)),
    })
}

/// Name of a run with a further seed: runs of a sweep over seeds have theirs in their names.
pub fn name_with_seed(run: &RunSummary, seed: u64) -> String {
    let sweep = run.name.strip_suffix(&format!(": seed {}", run.seed));
    sweep.map_or_else(|| run.name.clone(), |sweep| format!("{sweep}: seed {seed}"))
}

#[cfg(test)]
mod tests {
    use headroom_engine::store::RunState;
    use serde_json::json;

    use super::*;
    use crate::{compare::flatten, examples};

    /// Configs by their layers, each with a seed and how its run ended: what is to be queued, as layers and seeds.
    fn queued(runs: &[(u64, u64, RunState)], count: usize) -> Vec<(u64, u64)> {
        let made = |(place, (_, seed, state)): (usize, &(u64, u64, RunState))| RunSummary {
            seed: *seed,
            state: *state,
            ..examples::summary(place as u64, "run")
        };
        let summaries: Vec<RunSummary> = runs.iter().enumerate().map(made).collect();
        let config = |(layers, seed, _): &(u64, u64, RunState)| flatten(&json!({ "seed": seed, "layers": layers }));
        let flat: Vec<_> = runs.iter().map(config).collect();
        let further = further_runs(&summaries.iter().collect::<Vec<_>>(), &flat.iter().collect::<Vec<_>>(), count);
        further.iter().map(|further| (runs[further.of].0, further.seed)).collect()
    }

    #[test]
    fn each_config_with_one_seed_gets_two_more_and_all_get_the_same() {
        let done = RunState::Finished;
        assert_eq!(queued(&[(4, 1, done), (8, 1, done)], 3), [(4, 2), (8, 2), (4, 3), (8, 3)]);
        assert_eq!(queued(&[(4, 5, done), (4, 6, done), (4, 7, done), (8, 1, done)], 3), [(8, 5), (8, 6)]);
        // Of one config with two seeds there is nothing to compare yet; the seeds are common all the same.
        assert_eq!(queued(&[(4, 1, done), (8, 2, done)], 3), [(4, 2), (8, 1), (4, 3), (8, 3)]);
        assert_eq!(queued(&[(4, 1, done), (4, 2, done), (8, 1, done)], 3), [(4, 3), (8, 2), (8, 3)]);
        assert_eq!(queued(&[(4, 1, done), (4, 2, done), (4, 3, done)], 3), []);
        assert_eq!(queued(&[], 3), []);
    }

    #[test]
    fn what_waits_counts_and_a_seed_that_ended_early_is_not_tried_again() {
        let (done, waits) = (RunState::Finished, RunState::Queued);
        assert_eq!(queued(&[(4, 1, done), (4, 2, waits), (4, 3, waits), (8, 1, done)], 3), [(8, 2), (8, 3)]);
        let diverged = RunState::Diverged;
        assert_eq!(queued(&[(4, 1, done), (8, 1, done), (8, 2, diverged)], 2), [(4, 3), (8, 3)]);
        assert_eq!(queued(&[(4, 1, done), (8, 1, diverged)], 2), [(4, 2)], "it has no seed yet");
        let highest = i64::MAX as u64;
        assert_eq!(queued(&[(4, highest, done)], 3), [(4, 1), (4, 2)]);
    }

    #[test]
    fn the_sentence_says_who_has_one_seed() {
        let told = |others: &[(&str, (usize, usize))]| untested_sentence(others);
        assert_eq!(told(&[]), None);
        assert_eq!(told(&[("a", (1, 1)), ("b", (1, 1))]).as_deref(), Some("1 seed each: not tested"));
        assert_eq!(told(&[("a", (1, 3)), ("b", (1, 1))]).as_deref(), Some("1 seed of the baseline: not tested"));
        assert_eq!(told(&[("a", (3, 1)), ("b", (3, 1))]).as_deref(), Some("1 seed of a, b: not tested"));
        assert_eq!(most_seeds_each(&[(0, 2), (1, 2), (1, 3)].map(|(of, seed)| FurtherRun { of, seed })), 2);
    }

    #[test]
    fn a_run_of_a_sweep_of_seeds_is_called_after_its_own() {
        let run = |name: &str| RunSummary { seed: 3, ..examples::summary(1, name) };
        assert_eq!(name_with_seed(&run("tiny: seed 3"), 5), "tiny: seed 5");
        assert_eq!(name_with_seed(&run("tiny"), 5), "tiny");
    }
}
