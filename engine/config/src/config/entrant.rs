use std::collections::BTreeSet;

use super::{Problem, RunConfig, from_toml_with};

/// One config of a race or a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Entrant {
    /// What tells it from the others, such as "symmetric" or "layers 2, heads 4".
    pub name: String,
    /// What it changes in the base, as overrides.
    pub overrides: Vec<String>,
    /// The whole config, named after race and entrant; else everything that is wrong with it.
    pub config: Result<RunConfig, Vec<Problem>>,
}

impl Entrant {
    /// The base with these overrides, judged. `text` is the base as TOML, `race` what all of it is called.
    pub(super) fn new(race: &str, name: String, text: &str, overrides: Vec<String>) -> Self {
        let config = match from_toml_with(text, &overrides) {
            Ok(config) => Ok(RunConfig { name: format!("{race}: {name}"), ..config }),
            Err(error) => Err(error.problems()),
        };
        Self { name, overrides, config }.judged()
    }

    /// The entrant, refused where its fields do not fit together.
    #[must_use]
    pub(super) fn judged(mut self) -> Self {
        if let Ok(config) = &self.config {
            let problems = config.validate();
            if !problems.is_empty() {
                self.config = Err(problems);
            }
        }
        self
    }

    /// Takes a closer look: `judge` says what is wrong beyond single fields.
    #[must_use]
    pub fn judged_by(mut self, judge: impl FnOnce(&RunConfig) -> Result<(), Vec<Problem>>) -> Self {
        if let Ok(config) = &self.config
            && let Err(problems) = judge(config)
        {
            self.config = Err(problems);
        }
        self
    }

    /// What is wrong with it; nothing for one that can be trained.
    pub fn problems(&self) -> &[Problem] {
        self.config.as_ref().err().map_or(&[], Vec::as_slice)
    }
}

/// The runs of the entrants that can be trained: each with `seeds` seeds, counted up from its own. All entrants take their
/// turn with the first seed before any takes its second, so that a race that is stopped early compares like with like.
pub fn runs_of(entrants: &[Entrant], seeds: u64) -> Vec<RunConfig> {
    let sound = || entrants.iter().filter_map(|entrant| entrant.config.as_ref().ok());
    let of_seed = |offset: u64| {
        sound().map(move |config| RunConfig { seed: config.seed.saturating_add(offset), ..config.clone() })
    };
    (0..seeds).flat_map(of_seed).collect()
}

/// A tag by which the runs of a race or sweep are found again: `kind:name`, with a number where that is taken.
pub fn free_tag(kind: &str, name: &str, taken: &BTreeSet<&str>) -> String {
    let plain = format!("{kind}:{name}");
    // One more candidate than there are tags: one of them is free.
    let numbered = (2..=taken.len() + 2).map(|n| format!("{plain} {n}"));
    std::iter::once(plain.clone()).chain(numbered).find(|tag| !taken.contains(tag.as_str())).unwrap_or(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::to_toml;

    fn entrant(name: &str, overrides: &[&str]) -> Entrant {
        let overrides = overrides.iter().map(|&given| given.to_owned()).collect();
        Entrant::new("race", name.to_owned(), &to_toml(&RunConfig::default()), overrides)
    }

    #[test]
    fn what_cannot_be_trained_says_which_field_is_to_blame() {
        for (given, field, words) in [
            ("model.heads=3", "model.width", "3"),
            ("model.head=3", "model.head", "`heads`"),
            ("model.heads=four", "model.heads", "whole number"),
            ("attention.reuse={ kind = \"full\", layers = 99 }", "attention.reuse.layers", "99"),
        ] {
            let entrant = entrant("bad", &[given]);
            let [problem] = entrant.problems() else { panic!("{entrant:?}") };
            assert!(problem.field == field && problem.message().contains(words), "{problem}");
        }
        assert_eq!(entrant("good", &["model.heads=2"]).problems(), []);
    }

    #[test]
    fn all_take_their_turn_with_a_seed_before_the_next_seed() {
        let entrants = [entrant("a", &[]), entrant("bad", &["model.heads=3"]), entrant("b", &["seed=7"])];
        let runs: Vec<(String, u64)> = runs_of(&entrants, 2).into_iter().map(|run| (run.name, run.seed)).collect();
        let wanted = [("race: a", 1), ("race: b", 7), ("race: a", 2), ("race: b", 8)];
        assert_eq!(runs, wanted.map(|(name, seed)| (name.to_owned(), seed)));
    }

    #[test]
    fn a_tag_that_is_taken_gets_a_number() {
        let taken = BTreeSet::from(["race:a", "race:a 2"]);
        let free = |name: &str| free_tag("race", name, &taken);
        assert_eq!((free("a").as_str(), free("b").as_str()), ("race:a 3", "race:b"));
    }
}
