use serde::{Deserialize, Serialize};

use super::{
    Axis, Entrant, RunConfig, Setting, SweepMistake,
    field_check::outside_of,
    from_toml_with,
    parse::{section_of, unknown_field},
    to_toml,
};

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
    /// Everything that is wrong with the fields, where there is more than values that some field does not take.
    pub fn entrants(&self) -> Result<Vec<Entrant>, Vec<SweepMistake>> {
        // Configs with another batch are evaluated on the same examples.
        let text = to_toml(&self.base.with_evaluation_size());
        let mistakes = self.mistakes(&text);
        // A value alone is told beside the configs that have it.
        if mistakes.iter().any(|mistake| !matches!(mistake, SweepMistake::Value { .. })) {
            return Err(mistakes);
        }
        let labels = labels(&self.axes);
        let entrant = |settings: Vec<Setting>| {
            // Seeds of one config have one name, unless nothing else tells the runs apart.
            let is_of_seeds = settings.iter().all(|setting| setting.field == "seed");
            let parts = settings.iter().zip(&labels).filter(|(setting, _)| is_of_seeds || setting.field != "seed");
            let parts: Vec<String> =
                parts.map(|(setting, label)| format!("{label} {}", bare(&setting.value))).collect();
            let name = parts.join(", ");
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

    /// Everything that is wrong with the fields, the most fundamental first: fields, then their values, then how they come together.
    /// `text` is the base as TOML.
    pub fn mistakes(&self, text: &str) -> Vec<SweepMistake> {
        if self.axes.is_empty() {
            return vec![SweepMistake::NoAxes];
        }
        let (mut of_fields, mut of_values) = (Vec::new(), Vec::new());
        for (place, axis) in self.axes.iter().enumerate() {
            let is_again = self.axes.iter().take(place).any(|before| before.field == axis.field);
            let fault = if axis.field.is_empty() {
                Some(SweepMistake::NoField { axis: axis.clone() })
            } else if is_again {
                Some(SweepMistake::SameField(axis.field.clone()))
            } else {
                self.unknown_field(axis, text)
            };
            let has_field = fault.is_none();
            of_fields.extend(fault);
            of_values.extend(faults_of_values(axis));
            if has_field && self.deciding(axis).is_empty() {
                of_values.extend(unfit_values(axis, text));
            }
        }
        // Told once, however many axes have it.
        let mut all: Vec<SweepMistake> = Vec::with_capacity(of_fields.len() + of_values.len());
        for mistake in of_fields.into_iter().chain(of_values) {
            if !all.contains(&mistake) {
                all.push(mistake);
            }
        }
        let lengths: Vec<usize> = self.axes.iter().map(|axis| axis.values.len()).collect();
        // How many values there are is not known as long as some are missing or stand elsewhere.
        let is_partial = all.iter().any(SweepMistake::leaves_values_open);
        if self.combine == Combine::List && !is_partial && lengths.windows(2).any(|pair| pair.first() != pair.last()) {
            let lengths = self.axes.iter().map(|axis| (axis.field.clone(), axis.values.len())).collect();
            all.push(SweepMistake::Lengths(lengths));
        }
        if self.count() > MOST_CONFIGS {
            all.push(SweepMistake::TooMany { count: self.count(), most: MOST_CONFIGS });
        }
        all
    }

    /// Axes that decide which fields there are where that of `axis` lies, such as the kind of its section.
    fn deciding(&self, axis: &Axis) -> Vec<Axis> {
        let decides = |other: &&Axis| {
            let inside = axis.field.strip_prefix(section_of(&other.field));
            other.field != axis.field && inside.is_some_and(|rest| rest.starts_with('.'))
        };
        self.axes.iter().filter(decides).cloned().collect()
    }

    /// That no config of the sweep has the field of an axis.
    fn unknown_field(&self, axis: &Axis, text: &str) -> Option<SweepMistake> {
        let deciding = Self { axes: self.deciding(axis), combine: Combine::Grid, ..self.clone() };
        if deciding.count() > MOST_CONFIGS {
            return None;
        }
        let mut first = None;
        // One of the values may make it known.
        for settings in deciding.combinations() {
            let overrides: Vec<String> = settings.iter().map(Setting::to_override).collect();
            let problem = unknown_field(text, &overrides, &axis.field)?;
            first = first.or(Some(problem));
        }
        first.map(SweepMistake::UnknownField)
    }
}

/// What is wrong with the values of an axis whatever its field is.
fn faults_of_values(axis: &Axis) -> Vec<SweepMistake> {
    if axis.values.is_empty() {
        return vec![SweepMistake::NoValues { field: axis.field.clone() }];
    }
    let is_empty = axis.values.iter().any(String::is_empty);
    let empty = is_empty.then(|| SweepMistake::EmptyValue { axis: axis.clone() });
    let again = |value: &str| SweepMistake::SameValue { axis: axis.clone(), value: value.to_owned() };
    empty.into_iter().chain(axis.doubled().into_iter().map(again)).collect()
}

/// Values that the field does not take, whatever stands in the others.
fn unfit_values(axis: &Axis, text: &str) -> Vec<SweepMistake> {
    let unfit = |value: &String| {
        let setting = Setting { field: axis.field.clone(), value: value.clone() };
        let problems = match from_toml_with(text, &[setting.to_override()]) {
            Ok(config) => outside_of(&config),
            Err(error) => error.problems(),
        };
        let problem = problems.into_iter().find(|problem| problem.field == axis.field)?;
        Some(SweepMistake::Value { value: value.clone(), problem })
    };
    axis.values.iter().filter(|value| !value.is_empty()).filter_map(unfit).collect()
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

    /// What is wrong, a mistake a line.
    fn told(sweep: &Sweep) -> String {
        sweep.entrants().unwrap_err().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
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
        let error = told(&uneven);
        assert!(error.contains("`model.layers` has 2") && error.contains("`train.batch` has 3"), "{error}");
    }

    #[test]
    fn seeds_do_not_tell_configs_apart_and_names_are_as_short_as_they_can_be() {
        let seeds = sweep(&["seed=3,4", "attention.reuse.kind=none,full"], Combine::Grid);
        assert_eq!(names(&seeds), ["reuse none", "reuse full", "reuse none", "reuse full"]);
        let seeds: Vec<u64> = seeds.entrants().unwrap().into_iter().map(|e| e.config.unwrap().seed).collect();
        assert_eq!(seeds, [3, 3, 4, 4]);
        assert_eq!(names(&sweep(&["seed=3,4"], Combine::Grid)), ["seed 3", "seed 4"], "nothing else tells them apart");
        let twice =
            sweep(&["attention.reuse.kind=full", "attention.reuse.layers=1,2", "model.layers=4"], Combine::Grid);
        assert_eq!(names(&twice)[0], "reuse full, reuse.layers 1, model.layers 4");
    }

    #[test]
    fn a_combination_that_no_config_has_is_reported_with_its_reason() {
        let grid = sweep(&["attention.reuse.kind=none,full", "attention.reuse.layers=1,2"], Combine::Grid);
        let entrants = grid.entrants().unwrap();
        assert!(entrants[0].problems()[0].message().contains("No field is known here"), "{:?}", entrants[0]);
        assert!(entrants[2].config.is_ok(), "{:?}", entrants[2]);
        for (axes, wanted) in [
            (vec![], "needs a field"),
            (vec!["seed=1", "seed=2"], "there twice"),
            (vec!["seed=[1,2]", "train.batch=1,2,3,4,5,6,7,8,9,10,11,12"], ""),
        ] {
            let sweep = sweep(&axes, Combine::Grid);
            match sweep.entrants() {
                Ok(entrants) => assert_eq!((entrants.len(), wanted), (24, "")),
                Err(_) => assert!(!wanted.is_empty() && told(&sweep).contains(wanted), "{}", told(&sweep)),
            }
        }
        let values: Vec<String> = (1..=300).map(|seed| seed.to_string()).collect();
        let long = sweep(&[&format!("seed={}", values.join(","))], Combine::Grid);
        assert!(told(&long).contains("300 configs"));
    }

    #[test]
    fn every_mistake_is_told_fields_before_values() {
        let typed = |axes: &[&str], combine| Sweep {
            axes: axes.iter().map(|axis| Axis::as_typed(axis)).collect(),
            ..sweep(&[], combine)
        };
        let all = typed(&["model.layers=2,2", "model.haeds=2,2.0", "train.batch=2,,many", "=3", "seed"], Combine::List);
        let told = told(&all);
        let lines: Vec<&str> = told.lines().collect();
        for (line, words) in lines.iter().zip([
            "`model.haeds`. Did you mean `heads`?",
            "`=3`: it names no field",
            "`model.layers=2,2`: 2 is there twice. Give each value once.",
            "`model.haeds=2,2.0`: 2.0 is there twice",
            "`train.batch=2,,many`: one of its values is empty",
            "train.batch: \"many\" is not a whole number",
            "`seed`: it has no `=`",
        ]) {
            assert!(line.contains(words), "{words} is not told in {line}");
        }
        assert_eq!(lines.len(), 7, "{told}");
        // A value alone is told beside its configs.
        let unfit = sweep(&["model.heads=2,many", "model.layers=0,1"], Combine::Grid).entrants().unwrap();
        assert_eq!(unfit.iter().filter(|entrant| entrant.config.is_ok()).count(), 1);
    }

    #[test]
    fn a_field_that_one_of_the_kinds_has_is_known() {
        for axes in [
            ["attention.reuse.kind=none,full", "attention.reuse.layers=1,2"],
            ["attention.reuse={ kind = \"full\" },{ kind = \"none\" }", "attention.reuse.layers=1,2"],
            ["train.schedule.kind=fast,constant", "train.schedule.warmup_steps=1,2"],
        ] {
            assert!(sweep(&axes, Combine::Grid).entrants().is_ok(), "{axes:?}");
        }
        for (axes, field) in [
            (vec!["attention.reuse.kind=none,full", "attention.reuse.layres=1,2"], "attention.reuse.layres"),
            (vec!["attention.reuse.layers=1,2"], "attention.reuse.layers"),
            (vec!["modle.layers=1,2"], "modle"),
            (vec!["train.batch.size=1,2"], "train.batch.size"),
        ] {
            let mistakes = sweep(&axes, Combine::Grid).entrants().unwrap_err();
            let [SweepMistake::UnknownField(problem)] = mistakes.as_slice() else { panic!("{mistakes:?}") };
            assert_eq!(problem.field, field, "{problem}");
        }
    }
}
