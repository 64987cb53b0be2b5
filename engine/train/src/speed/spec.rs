use serde::{Deserialize, Serialize};

use super::{Axis, GenerationSpec, GenerationTask, Setting, Side, SpecError};
use crate::attention::{ModelPlan, estimated_vocabulary};
use crate::config::{Combine, DataConfig, Problem, RunConfig, Sweep, SweepMistake, from_toml_with, to_toml};

/// Points that a sweep has at most: enough for a curve of each, few enough to be measured by somebody who waits.
const MOST_POINTS: usize = 256;
/// Sides at most.
const MOST_SIDES: usize = 8;

/// What is to be measured: a config, the fields of it that take several values, and the sides that are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SweepSpec {
    /// What is not swept. Its data are never read.
    pub base: RunConfig,
    /// Tokens of the vocabulary; none = as many as the tokenizer of each config is expected to have.
    pub vocabulary: Option<usize>,
    /// One or two axes; points are all their combinations, the last axis fastest.
    pub axes: Vec<Axis>,
    /// What is compared at every point; none = the base alone.
    pub sides: Vec<Side>,
    /// Steps of each side that do not count, before those that do.
    pub warmup: usize,
    /// Steps of each side and repeat that count.
    pub steps: usize,
    /// How often each point is built and measured anew.
    pub repeats: usize,
    /// Whether the largest batch that fits is looked for as well, at every point and for every side.
    pub largest_batch: bool,
    /// Bytes that this search may use at most; none = three quarters of what is free.
    pub memory_bytes: Option<u64>,
    /// Texts that are generated in place of training steps. An axis can name its fields too; the sides are its caches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<GenerationSpec>,
}

impl Default for SweepSpec {
    fn default() -> Self {
        Self {
            base: RunConfig::default(),
            vocabulary: None,
            axes: Vec::new(),
            sides: Vec::new(),
            warmup: 2,
            steps: 10,
            repeats: 1,
            largest_batch: false,
            memory_bytes: None,
            generation: None,
        }
    }
}

/// One point of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The values of the axes.
    pub settings: Vec<Setting>,
    /// What is measured there.
    pub subjects: Vec<Subject>,
}

/// One side of a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// The side's name.
    pub side: String,
    /// Its whole config.
    pub config: RunConfig,
    /// What keeps it from being built.
    pub problems: Vec<Problem>,
    /// What it generates; none where it trains.
    pub generation: Option<GenerationTask>,
}

/// Everything that is wrong with the axes and sides of a sweep as they were typed.
#[derive(Debug, Default, PartialEq)]
pub struct TypedMistakes {
    /// Of single axes, and of axes of one field.
    pub axes: Vec<SweepMistake>,
    /// Of single sides.
    pub sides: Vec<SpecError>,
    /// Of the sweep, where axes and sides have nothing wrong by themselves.
    pub whole: Vec<SpecError>,
}

impl TypedMistakes {
    /// In words, a mistake each.
    pub fn told(&self) -> Vec<String> {
        let axes = self.axes.iter().map(ToString::to_string);
        axes.chain(self.sides.iter().chain(&self.whole).map(ToString::to_string)).collect()
    }
}

impl SweepSpec {
    /// The sweep with these axes and sides as they were typed, and its points.
    ///
    /// # Errors
    /// Everything that is wrong with single axes and sides; where that is nothing, the first that keeps points from being made.
    pub fn typed(&self, axes: &[String], sides: &[String]) -> Result<(Self, Vec<Point>), TypedMistakes> {
        let made = self.read(axes, sides).and_then(|spec| spec.points().map(|points| (spec, points)));
        made.map_err(|first| {
            let mut mistakes = self.mistakes(axes, sides);
            if mistakes == TypedMistakes::default() {
                mistakes.whole.push(first);
            }
            mistakes
        })
    }

    fn read(&self, axes: &[String], sides: &[String]) -> Result<Self, SpecError> {
        let axes = axes.iter().map(|given| given.parse::<Axis>()).collect::<Result<_, _>>()?;
        let sides = sides.iter().map(|given| given.parse::<Side>()).collect::<Result<_, _>>()?;
        Ok(Self { axes, sides, ..self.clone() })
    }

    fn mistakes(&self, axes: &[String], sides: &[String]) -> TypedMistakes {
        let text = to_toml(&self.base);
        let mut mistakes = TypedMistakes::default();
        let mut sound: Vec<Side> = Vec::new();
        for given in sides {
            let side = given.parse::<Side>().and_then(|side| match from_toml_with(&text, &side.overrides) {
                Ok(_) => Ok(side),
                Err(error) => Err(SpecError::Config { place: format!("Side {}", side.name), error }),
            });
            match side {
                Ok(side) => sound.push(side),
                Err(error) => mistakes.sides.push(error),
            }
        }
        if sound.is_empty() {
            sound.push(Side::default());
        }
        let axes = axes.iter().map(|given| Axis::as_typed(given)).collect();
        let sweep = Sweep { base: self.base.clone(), axes, combine: Combine::Grid };
        let can_be = |field: &str, value: &str| {
            let setting = Setting { field: field.to_owned(), value: value.to_owned() };
            Self::point(&text, vec![setting], &sound).is_ok()
        };
        mistakes.axes = sweep.mistakes(&text);
        mistakes.axes.retain(|mistake| match mistake {
            // How many there may be is another matter here.
            SweepMistake::NoAxes | SweepMistake::TooMany { .. } => false,
            // A side may make a field known, and what cannot be built is a result.
            SweepMistake::UnknownField(problem) => {
                let is_of = |axis: &&Axis| {
                    let rest = axis.field.strip_prefix(problem.field.as_str());
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                };
                let axis = sweep.axes.iter().find(is_of);
                !axis.is_some_and(|axis| axis.values.first().is_some_and(|value| can_be(&axis.field, value)))
            }
            SweepMistake::Value { value, problem } => !can_be(&problem.field, value),
            _ => true,
        });
        mistakes
    }

    /// The names of the sides; "base" where none was given.
    pub fn side_names(&self) -> Vec<String> {
        if let Some(generation) = &self.generation {
            generation.side_names()
        } else if self.sides.is_empty() {
            vec!["base".to_owned()]
        } else {
            self.sides.iter().map(|side| side.name.clone()).collect()
        }
    }

    /// Tokens of the vocabulary that a config is measured with.
    pub fn vocabulary_of(&self, config: &RunConfig) -> usize {
        self.vocabulary.unwrap_or_else(|| estimated_vocabulary(config))
    }

    /// How many points there are.
    pub fn point_count(&self) -> usize {
        self.axes.iter().map(|axis| axis.values.len()).fold(1, usize::saturating_mul)
    }

    /// Every point with the config of each side. A config that is well written but cannot be built is a point with
    /// problems; a field or value that no config has is an error.
    ///
    /// # Errors
    /// No or too many axes, points, sides or steps; a field twice; a name twice; an unknown field or a value of the
    /// wrong type, with the nearest known one.
    pub fn points(&self) -> Result<Vec<Point>, SpecError> {
        self.check()?;
        let text = to_toml(&self.base);
        let alone = [Side { name: "base".to_owned(), overrides: Vec::new() }];
        let sides = if self.sides.is_empty() { &alone[..] } else { &self.sides };
        for side in sides {
            from_toml_with(&text, &side.overrides)
                .map_err(|error| SpecError::Config { place: format!("Side {}", side.name), error })?;
        }
        let combine = |known: Vec<Vec<Setting>>, axis: &Axis| {
            let add = |settings: &Vec<Setting>, value: &String| {
                let setting = Setting { field: axis.field.clone(), value: value.clone() };
                settings.iter().cloned().chain([setting]).collect::<Vec<_>>()
            };
            known.iter().flat_map(|settings| axis.values.iter().map(move |value| add(settings, value))).collect()
        };
        let combinations = self.axes.iter().fold(vec![Vec::new()], combine);
        combinations
            .into_iter()
            .map(|settings| match &self.generation {
                Some(generation) => self.generation_point(&text, settings, generation),
                None => Self::point(&text, settings, sides),
            })
            .collect()
    }

    /// A point whose sides are caches.
    fn generation_point(
        &self,
        text: &str,
        settings: Vec<Setting>,
        generation: &GenerationSpec,
    ) -> Result<Point, SpecError> {
        let generation = generation.with(&settings)?;
        generation.check()?;
        let of_config = settings.iter().filter(|setting| !GenerationSpec::FIELDS.contains(&setting.field.as_str()));
        let alone = [Side { name: String::new(), overrides: Vec::new() }];
        let Point { subjects, .. } = Self::point(text, of_config.cloned().collect(), &alone)?;
        let Some(subject) = subjects.into_iter().next() else { return Ok(Point { settings, subjects: Vec::new() }) };
        // What cannot be built has no plan that texts could be checked against.
        let plan = ModelPlan::resolve(&subject.config, self.vocabulary_of(&subject.config)).ok();
        let subject = |task: GenerationTask| {
            if let Some(plan) = plan.as_ref().filter(|_| subject.problems.is_empty()) {
                task.check(plan)?;
            }
            Ok(Subject { side: task.cache.word().to_owned(), generation: Some(task), ..subject.clone() })
        };
        let subjects = generation.tasks().into_iter().map(subject).collect::<Result<_, SpecError>>()?;
        Ok(Point { settings, subjects })
    }

    fn point(text: &str, settings: Vec<Setting>, sides: &[Side]) -> Result<Point, SpecError> {
        let subjects = sides.iter().map(|side| {
            let overrides: Vec<String> =
                settings.iter().map(Setting::to_override).chain(side.overrides.iter().cloned()).collect();
            let config = from_toml_with(text, &overrides).map_err(|error| {
                let place = settings.iter().map(Setting::to_override).collect::<Vec<_>>().join(", ");
                SpecError::Config { place: format!("Axis {place}"), error }
            })?;
            // Nothing is read, so that it does not matter what is missing there.
            let problems = config.validate().into_iter().filter(|problem| !is_about_text(&problem.field)).collect();
            Ok(Subject { side: side.name.clone(), config, problems, generation: None })
        });
        let subjects = subjects.collect::<Result<_, SpecError>>()?;
        Ok(Point { settings, subjects })
    }

    fn check(&self) -> Result<(), SpecError> {
        let other = |text: String| Err(SpecError::Other(text));
        if self.axes.is_empty() || self.axes.len() > 2 {
            return other("A sweep has one or two axes. Name a field and its values.".to_owned());
        }
        if let [first, second] = self.axes.as_slice()
            && first.field == second.field
        {
            return other(format!("Both axes are `{}`. Put all its values on one axis.", first.field));
        }
        if let Some(axis) = self.axes.iter().find(|axis| axis.values.is_empty()) {
            return other(format!("The axis `{}` has no values.", axis.field));
        }
        if self.point_count() > MOST_POINTS {
            return other(format!(
                "These axes have {} points, at most {MOST_POINTS} are measured at once.",
                self.point_count()
            ));
        }
        if self.sides.len() > MOST_SIDES {
            return other(format!("There are {} sides, at most {MOST_SIDES} are compared.", self.sides.len()));
        }
        // Caches are told apart where the texts are checked.
        let names = if self.generation.is_some() { Vec::new() } else { self.side_names() };
        if let Some((_, name)) = names.iter().enumerate().find(|(place, name)| names[..*place].contains(name)) {
            return other(format!("Two sides are called `{name}`. Give each a name of its own."));
        }
        if self.generation.is_some() && !self.sides.is_empty() {
            return other("Where texts are generated the sides are the caches; leave other sides out.".to_owned());
        }
        if self.steps == 0 || self.repeats == 0 {
            return other("With 0 steps or repeats there would be nothing to measure.".to_owned());
        }
        if self.vocabulary.is_some_and(|tokens| tokens < 2) {
            return other("The vocabulary needs at least 2 tokens.".to_owned());
        }
        Ok(())
    }
}

fn is_about_text(field: &str) -> bool {
    DataConfig::path_field_names().contains(&field) || ["data.field", "data.column"].contains(&field)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(axes: &[&str], sides: &[&str]) -> SweepSpec {
        SweepSpec {
            axes: axes.iter().map(|axis| axis.parse().unwrap()).collect(),
            sides: sides.iter().map(|side| side.parse().unwrap()).collect(),
            ..SweepSpec::default()
        }
    }

    #[test]
    fn points_are_all_combinations_with_every_side() {
        let points =
            spec(&["data.sequence_length=16,32", "train.batch=1,2,3"], &["a", "b:model.norm=post"]).points().unwrap();
        let shape =
            |point: &Point| (point.subjects[1].config.data.sequence_length, point.subjects[1].config.train.batch);
        assert_eq!(
            points.iter().map(shape).collect::<Vec<_>>(),
            [(16, 1), (16, 2), (16, 3), (32, 1), (32, 2), (32, 3)]
        );
        assert_ne!(points[0].subjects[0].config.model.norm, points[0].subjects[1].config.model.norm);
        assert!(points.iter().flat_map(|point| &point.subjects).all(|subject| subject.problems.is_empty()));
    }

    #[test]
    fn what_cannot_be_built_is_a_point_and_what_is_misspelt_is_refused() {
        let points = spec(&["model.heads=3,4"], &[]).points().unwrap();
        assert_eq!(points[0].subjects[0].problems[0].field, "model.width");
        assert!(points[1].subjects[0].problems.is_empty());
        for (axes, sides, wanted) in [
            (vec!["model.head=3"], vec![], "`heads`"),
            (vec!["model.heads=four"], vec![], "model.heads: "),
            (vec!["train.batch=1"], vec!["a:model.widht=8"], "`width`"),
            (vec!["train.batch=1"], vec!["a", "a"], "Two sides"),
            (vec!["train.batch=1", "train.batch=2"], vec![], "Both axes"),
            (vec![], vec![], "one or two axes"),
        ] {
            let error = spec(&axes, &sides).points().unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
        let error = SweepSpec { steps: 0, ..spec(&["train.batch=1"], &[]) }.points().unwrap_err();
        assert!(error.to_string().contains("nothing to measure"), "{error}");
    }

    #[test]
    fn every_mistake_of_what_was_typed_is_told() {
        let typed = |axes: &[&str], sides: &[&str]| {
            let owned = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect::<Vec<_>>();
            SweepSpec::default().typed(&owned(axes), &owned(sides))
        };
        let told =
            typed(&["model.haeds=2,2", "train.batch=many,0"], &["a:model.widht=8", "b", "=8"]).unwrap_err().told();
        for (line, words) in told.iter().zip([
            "`model.haeds`. Did you mean `heads`?",
            "2 is there twice",
            "train.batch: \"many\" is not a whole number",
            "`width`",
            "it has no name",
        ]) {
            assert!(line.contains(words), "{words} is not told in {line}");
        }
        assert_eq!(told.len(), 5, "{told:?}");
        // What is wrong with the whole is told where the parts are sound.
        let told = typed(&["train.batch=1"], &["a", "a"]).unwrap_err().told();
        assert!(told.len() == 1 && told[0].contains("Two sides"), "{told:?}");
        let (made, points) = typed(&["model.heads=3,4"], &["a"]).unwrap();
        assert_eq!((made, points.len()), (spec(&["model.heads=3,4"], &["a"]), 2), "what cannot be built is a result");
        // A side decides whether there is a field.
        let layers = "attention.reuse.layers=1,2";
        let full = "full:attention.reuse.kind=full";
        assert!(typed(&[layers], &[full]).is_ok() && typed(&[layers], &[]).is_err());
        let told = typed(&[layers], &[full, ":"]).unwrap_err().told();
        assert!(told.len() == 1 && told[0].contains("it has no name"), "{told:?}");
    }
}
