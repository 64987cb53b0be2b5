use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fmt::Write as _,
};

use headroom_engine::{
    config::{counted, grouped},
    store::RunSummary,
    text::escaped_line,
};

use super::is_finished;

/// What runs are called wherever they are shown, so that no two are called the same: a name that several runs have
/// gets the seed where their seeds differ, and a count, by age, where name and seed are the same: `base, seed 2`,
/// `base (2)`, `base, seed 2 (2)`.
pub fn names_apart(runs: &[RunSummary]) -> Vec<String> {
    let mut by_name: HashMap<&str, (usize, HashSet<u64>)> = HashMap::new();
    for run in runs {
        let (count, seeds) = by_name.entry(&run.name).or_default();
        *count += 1;
        seeds.insert(run.seed);
    }
    let mut oldest_first: Vec<usize> = (0..runs.len()).collect();
    oldest_first.sort_by_key(|&index| runs.get(index).map(|run| run.number));
    let mut names = vec![String::new(); runs.len()];
    let mut given: HashMap<(&str, u64), usize> = HashMap::new();
    for index in oldest_first {
        let (Some(run), Some(name)) = (runs.get(index), names.get_mut(index)) else { continue };
        // On one line and with nothing that turns it around, wherever it is drawn.
        *name = escaped_line(&run.name).into_owned();
        let Some((count, seeds)) = by_name.get(run.name.as_str()) else { continue };
        if *count < 2 {
            continue;
        }
        if seeds.len() > 1 {
            let _ = write!(name, ", seed {}", run.seed);
        }
        let repeats = given.entry((&run.name, run.seed)).or_default();
        *repeats += 1;
        if *repeats > 1 {
            let _ = write!(name, " ({repeats})");
        }
    }
    names
}

/// What runs are called together that differ in nothing but the seed, after one of them: a run of a sweep of seeds is named after
/// its own.
pub fn name_of_seeds(run: &RunSummary) -> String {
    let sweep = run.name.strip_suffix(&format!(": seed {}", run.seed));
    sweep.map_or_else(|| run.name.clone(), |sweep| format!("{sweep}: seeds"))
}

/// That the energies in the largest 1 % are of unequal samples, which alone moves them: the fewest and the most of these
/// numbers of samples and names. Nothing where all are equal.
pub fn unequal_samples_words(found: &[(u64, &str)]) -> Option<String> {
    let (fewest, first) = found.iter().min_by_key(|(samples, _)| *samples)?;
    let (most, last) = found.iter().max_by_key(|(samples, _)| *samples)?;
    (fewest != most).then(|| {
        let fewest = counted(*fewest, "sample");
        format!("Energy in 1 %: \"{first}\" has {fewest}, \"{last}\" has {most}; fewer make it larger.")
    })
}

/// Names so many of several; of the others only how many.
const NAMED: usize = 3;

/// The first three of names, and how many more there are: `a, b, c and 2 more`.
pub fn first_names(names: &[&str]) -> String {
    let mut words = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    if names.len() > NAMED {
        words += &[" and ", &(names.len() - NAMED).to_string(), " more"].concat();
    }
    words
}

/// That runs which trained to their end did not train equally long, in steps or else in tokens: how much one came to says less of
/// its config then. Nothing where they did, or differ by less than a twentieth of their tokens, as the texts of other seeds do.
pub fn unequal_training_words<'a>(runs: impl Iterator<Item = &'a RunSummary>) -> Option<String> {
    let done: Vec<&RunSummary> = runs.filter(|run| is_finished(run.state)).collect();
    let steps: BTreeSet<u64> = done.iter().map(|run| run.steps_done).collect();
    if steps.len() > 1 {
        let steps: Vec<String> = steps.into_iter().map(grouped).collect();
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        return Some(format!("They trained for different numbers of steps: {}.", first_names(&steps)));
    }
    let tokens = || done.iter().map(|run| run.tokens);
    let (fewest, most) = (tokens().min()?, tokens().max()?);
    let is_unequal = most - fewest > most / 20;
    is_unequal.then(|| format!("They saw different numbers of tokens: {} to {}.", grouped(fewest), grouped(most)))
}

/// Whether a tag is that of a race, a sweep or a control.
pub fn is_of_race(tag: &str) -> bool {
    ["race:", "sweep:", "domains:"].iter().any(|kind| tag.starts_with(kind))
}

#[cfg(test)]
mod tests {
    use headroom_engine::store::RunState;

    use super::*;
    use crate::examples;

    #[test]
    fn unequal_training_is_told_of_runs_that_are_done() {
        let run = |steps_done: u64, tokens: u64| RunSummary { steps_done, tokens, ..examples::summary(1, "run") };
        let told = |runs: &[RunSummary]| unequal_training_words(runs.iter());
        let steps = told(&[run(800, 9), run(400, 9), run(400, 9)]);
        assert_eq!(steps.as_deref(), Some("They trained for different numbers of steps: 400, 800."));
        let tokens = told(&[run(400, 1_000), run(400, 2_000)]);
        assert_eq!(tokens.as_deref(), Some("They saw different numbers of tokens: 1,000 to 2,000."));
        assert_eq!(told(&[run(400, 1_000), run(400, 1_040)]), None, "texts of another seed");
        let trains = RunSummary { state: RunState::Running, ..run(800, 9) };
        assert_eq!((told(&[run(400, 9), trains]), told(&[])), (None, None));
    }

    #[test]
    fn of_many_names_the_first_are_told() {
        assert_eq!(first_names(&["a", "b", "c"]), "a, b, c");
        assert_eq!(first_names(&["a", "b", "c", "d", "e"]), "a, b, c and 2 more");
    }

    #[test]
    fn unequal_samples_are_told() {
        let told = unequal_samples_words(&[(128, "b"), (64, "a"), (96, "c")]);
        let words = "Energy in 1 %: \"a\" has 64 samples, \"b\" has 128; fewer make it larger.";
        assert_eq!(told.as_deref(), Some(words));
        assert_eq!(unequal_samples_words(&[(64, "a"), (64, "b")]), None);
    }

    #[test]
    fn names_say_what_tells_runs_apart() {
        let run = |number, name: &str, seed| RunSummary { seed, ..examples::summary(number, name) };
        // Newest first, as the engine lists them.
        let runs = [
            run(7, "base", 2),
            run(6, "repeat", 5),
            run(5, "alone", 1),
            run(4, "repeat", 5),
            run(3, "base", 2),
            run(2, "base", 1),
        ];
        let expected = ["base, seed 2 (2)", "repeat (2)", "alone", "repeat", "base, seed 2", "base, seed 1"];
        assert_eq!(names_apart(&runs), expected);
    }

    #[test]
    fn runs_of_a_sweep_of_seeds_are_together_not_called_after_one_seed() {
        let run = |name: &str, seed| RunSummary { seed, ..examples::summary(1, name) };
        for (name, together) in
            [("base: seed 3", "base: seeds"), ("base: seed 4", "base: seed 4"), ("base", "base"), ("seed 3", "seed 3")]
        {
            assert_eq!(name_of_seeds(&run(name, 3)), together);
        }
    }
}
