use serde::{Deserialize, Serialize};

use super::{Axis, Entrant, RunConfig, Setting, SpecError, counted, to_toml};

/// Configs of a sweep at most.
const MOST_CONFIGS: usize = 256;

/// How the values of several fields come together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Combine {
    /// Every value with every other.
    #[default]
    Grid,
    /// The first values of all fields together, then the second, and so on.
    List,
}

/// Configs that differ in some fields, to be trained one after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sweep {
    /// What is not swept, and the name of the sweep.
    pub base: RunConfig,
    /// The fields with their values; in a grid the last one changes fastest.
    pub axes: Vec<Axis>,
    /// How they come together.
    pub combine: Combine,
}

impl Sweep {
    /// How many configs there are, whether they can be trained or not.
    pub fn count(&self) -> usize {
        let lengths = self.axes.iter().map(|axis| axis.values.len());
        match self.combine {
            Combine::Grid => lengths.fold(1, usize::saturating_mul),
            Combine::List => lengths.max().unwrap_or(0),
        }
    }

    /// Every config of the sweep, named after its values. One that cannot be trained says why, and is never left out.
    ///
    /// # Errors
    /// No fields, a field twice, too many configs, or lists of different lengths.
    pub fn entrants(&self) -> Result<Vec<Entrant>, SpecError> {
        self.check()?;
        let text = to_toml(&self.base);
        let labels = labels(&self.axes);
        let entrant = |settings: Vec<Setting>| {
            let parts = settings.iter().zip(&labels).filter(|(setting, _)| setting.field != "seed");
            let parts: Vec<String> =
                parts.map(|(setting, label)| format!("{label} {}", bare(&setting.value))).collect();
            let name = if parts.is_empty() { "seeds".to_owned() } else { parts.join(", ") };
            Entrant::new(&self.base.name, name, &text, settings.iter().map(Setting::to_override).collect())
        };
        Ok(self.combinations().into_iter().map(entrant).collect())
    }

    fn combinations(&self) -> Vec<Vec<Setting>> {
        let setting = |axis: &Axis, value: &String| Setting { field: axis.field.clone(), value: value.clone() };
        match self.combine {
            Combine::Grid => self.axes.iter().fold(vec![Vec::new()], |known, axis| {
                let with = |settings: &Vec<Setting>, value: &String| {
                    settings.iter().cloned().chain([setting(axis, value)]).collect::<Vec<_>>()
                };
                known.iter().flat_map(|settings| axis.values.iter().map(move |value| with(settings, value))).collect()
            }),
            Combine::List => {
                let nth = |n: usize| {
                    self.axes.iter().filter_map(|axis| Some(setting(axis, axis.values.get(n)?))).collect::<Vec<_>>()
                };
                (0..self.count()).map(nth).collect()
            }
        }
    }

    fn check(&self) -> Result<(), SpecError> {
        let other = |text: String| Err(SpecError::Other(text));
        if self.axes.is_empty() {
            return other("A sweep needs a field and its values, such as `model.layers=2,4,6`.".to_owned());
        }
        let fields: Vec<&String> = self.axes.iter().map(|axis| &axis.field).collect();
        if let Some((_, field)) = fields.iter().enumerate().find(|(place, field)| fields[..*place].contains(field)) {
            return other(format!("`{field}` is there twice. Put all its values together."));
        }
        if let Some(axis) = self.axes.iter().find(|axis| axis.values.is_empty()) {
            return other(format!("`{}` has no values.", axis.field));
        }
        let lengths: Vec<usize> = self.axes.iter().map(|axis| axis.values.len()).collect();
        if self.combine == Combine::List && lengths.windows(2).any(|pair| pair.first() != pair.last()) {
            let lengths: Vec<String> =
                self.axes.iter().map(|axis| format!("`{}` has {}", axis.field, axis.values.len())).collect();
            return other(format!("A list takes as many values of each field: {}.", lengths.join(", ")));
        }
        if self.count() > MOST_CONFIGS {
            return other(format!(
                "These fields make {}, at most {MOST_CONFIGS} are trained.",
                counted(self.count(), "config")
            ));
        }
        Ok(())
    }
}

/// The shortest endings of the fields that tell them apart; `kind` alone says nothing.
fn labels(axes: &[Axis]) -> Vec<String> {
    let ending = |field: &str, parts: usize| {
        let all: Vec<&str> = field.split('.').collect();
        let all = if all.last() == Some(&"kind") { &all[..all.len() - 1] } else { &all[..] };
        all[all.len().saturating_sub(parts)..].join(".")
    };
    let label = |axis: &Axis| {
        let is_alone = |parts: usize| {
            axes.iter().filter(|other| ending(&other.field, parts) == ending(&axis.field, parts)).count() == 1
        };
        let parts = (1..=4).find(|&parts| is_alone(parts)).unwrap_or(4);
        ending(&axis.field, parts)
    };
    axes.iter().map(label).collect()
}

/// A value without the quotes of a text.
fn bare(value: &str) -> &str {
    let trimmed = value.trim();
    ['"', '\''].iter().find_map(|&quote| trimmed.strip_prefix(quote)?.strip_suffix(quote)).unwrap_or(trimmed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep(axes: &[&str], combine: Combine) -> Sweep {
        let base = RunConfig { name: "base".to_owned(), ..RunConfig::default() };
        Sweep { base, axes: axes.iter().map(|axis| axis.parse().unwrap()).collect(), combine }
    }

    fn names(sweep: &Sweep) -> Vec<String> {
        sweep.entrants().unwrap().into_iter().map(|entrant| entrant.name).collect()
    }

    #[test]
    fn a_grid_is_every_combination_and_none_is_dropped() {
        let sweep = sweep(&["model.layers=2,4", "model.heads=2,3"], Combine::Grid);
        assert_eq!(names(&sweep), ["layers 2, heads 2", "layers 2, heads 3", "layers 4, heads 2", "layers 4, heads 3"]);
        let entrants = sweep.entrants().unwrap();
        let sound: Vec<bool> = entrants.iter().map(|entrant| entrant.config.is_ok()).collect();
        assert_eq!(sound, [true, false, true, false], "3 heads do not divide the width");
        assert_eq!(entrants[1].problems()[0].field, "model.width");
        let config = entrants[2].config.as_ref().unwrap();
        assert_eq!((config.model.layers, config.model.heads, config.name.as_str()), (4, 2, "base: layers 4, heads 2"));
    }

    #[test]
    fn a_list_takes_the_values_together() {
        let two = ["model.layers=2,4", "train.learning_rate=1e-3,5e-4"];
        assert_eq!(
            names(&sweep(&two, Combine::List)),
            ["layers 2, learning_rate 1e-3", "layers 4, learning_rate 5e-4"]
        );
        let uneven = sweep(&["model.layers=2,4", "train.batch=1,2,3"], Combine::List);
        let error = uneven.entrants().unwrap_err().to_string();
        assert!(error.contains("`model.layers` has 2") && error.contains("`train.batch` has 3"), "{error}");
    }

    #[test]
    fn seeds_do_not_tell_configs_apart_and_names_are_as_short_as_they_can_be() {
        let seeds = sweep(&["seed=3,4", "attention.reuse.kind=none,full"], Combine::Grid);
        assert_eq!(names(&seeds), ["reuse none", "reuse full", "reuse none", "reuse full"]);
        let seeds: Vec<u64> = seeds.entrants().unwrap().into_iter().map(|e| e.config.unwrap().seed).collect();
        assert_eq!(seeds, [3, 3, 4, 4]);
        let twice = sweep(&["attention.reuse.layers=1,2", "model.layers=4"], Combine::Grid);
        assert_eq!(names(&twice)[0], "reuse.layers 1, model.layers 4");
    }

    #[test]
    fn a_combination_that_no_config_has_is_reported_with_its_reason() {
        let grid = sweep(&["attention.reuse.kind=none,full", "attention.reuse.layers=1,2"], Combine::Grid);
        let entrants = grid.entrants().unwrap();
        assert!(entrants[0].problems()[0].message.contains("No field is known here"), "{:?}", entrants[0]);
        assert!(entrants[2].config.is_ok(), "{:?}", entrants[2]);
        for (axes, wanted) in [
            (vec![], "needs a field"),
            (vec!["seed=1", "seed=2"], "there twice"),
            (vec!["seed=[1,2]", "train.batch=1,2,3,4,5,6,7,8,9,10,11,12"], ""),
        ] {
            match sweep(&axes, Combine::Grid).entrants() {
                Ok(entrants) => assert_eq!((entrants.len(), wanted), (24, "")),
                Err(error) => assert!(!wanted.is_empty() && error.to_string().contains(wanted), "{error}"),
            }
        }
        let values: Vec<String> = (1..=300).map(|seed| seed.to_string()).collect();
        let long = sweep(&[&format!("seed={}", values.join(","))], Combine::Grid);
        assert!(long.entrants().unwrap_err().to_string().contains("300 configs"));
    }
}
