//! Facts about the model of a config that the config does not state, and the plan and the costs that follow from both.

use std::mem::discriminant;

use serde::{Deserialize, Serialize};

use super::{Cost, HeadPlan, ModelPlan, OutputPlan, StackPlan, Workload, estimated_vocabulary, supported_design};
use crate::config::{AttentionConfig, ImageShape, Problem, RunConfig};

/// Facts about the model of a config that stand in its data, its tokenizer or its initial model. What is not known is estimated.
///
/// Whoever says what a config costs asks [`Self::training_cost`], so that the form, a race, a sweep, `estimate` and the Adviser
/// agree with the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelFacts {
    /// Entries of the vocabulary.
    pub vocabulary: Option<usize>,
    /// Outputs of the head of a task: the number of classes, or 1 for a number.
    pub outputs: Option<usize>,
    /// Plan of the initial model.
    pub initial: Option<ModelPlan>,
    /// Shape of the images.
    pub image: Option<ImageShape>,
}

impl ModelFacts {
    /// Facts about the model of a run that has this plan.
    pub fn of_run(config: &RunConfig, plan: &ModelPlan) -> Self {
        let outputs = if let OutputPlan::Classes { classes, .. } = plan.head { Some(classes) } else { None };
        let initial = config.model.initial.is_some().then(|| plan.clone());
        Self { vocabulary: Some(plan.vocabulary()), outputs, initial, image: plan.image_shape() }
    }

    /// Facts about the model of a run that trained so many parameters. The vocabulary follows from the number where it fits one.
    pub fn of_parameters(config: &RunConfig, parameters: Option<u64>) -> Self {
        let count = |vocabulary: usize| {
            let facts = Self { vocabulary: Some(vocabulary), ..Self::default() };
            facts.training_cost(config).map(|cost| cost.parameters)
        };
        let vocabulary = || {
            let (one, two) = (count(1).ok()?, count(2).ok()?);
            let (rest, each) = (parameters?.checked_sub(one)?, two.checked_sub(one).filter(|each| *each > 0)?);
            rest.is_multiple_of(each).then(|| usize::try_from(rest / each).ok()?.checked_add(1))?
        };
        Self { vocabulary: vocabulary(), ..Self::default() }
    }

    /// Facts about another initial model on the same data.
    #[must_use]
    pub fn with_initial(&self, plan: &ModelPlan) -> Self {
        Self { vocabulary: Some(plan.vocabulary()), initial: Some(plan.clone()), ..self.clone() }
    }

    /// The facts about `asked` that hold for `config` too.
    #[must_use]
    pub fn kept_for(&self, asked: &RunConfig, config: &RunConfig) -> Self {
        let (old, new) = (&asked.data, &config.data);
        let (is_same_source, is_same_initial) = (old.source == new.source, asked.model.initial == config.model.initial);
        let are_same_images = old.source.has_images() && old.source.is_of_same_file(&new.source);
        let is_same_task = asked.task.as_ref().map(discriminant) == config.task.as_ref().map(discriminant);
        Self {
            vocabulary: self.vocabulary.filter(|_| old.tokenizer == new.tokenizer && is_same_initial),
            outputs: self.outputs.filter(|_| is_same_source && is_same_task),
            initial: self.initial.clone().filter(|_| is_same_initial),
            image: self.image.filter(|_| is_same_source || are_same_images),
        }
    }

    /// The config with the shape of its images, and as many tokens as they have patches.
    #[must_use]
    pub fn filled(&self, config: &RunConfig) -> RunConfig {
        let mut config = config.clone();
        if let Some(shape) = self.image {
            config.data.source.settings_mut().set_image_shape(Some(shape));
        }
        config.with_image_tokens()
    }

    /// Entries of the vocabulary of the config's model.
    pub fn vocabulary_of(&self, config: &RunConfig) -> usize {
        let initial = self.initial.as_ref().map(ModelPlan::vocabulary);
        initial.or(self.vocabulary).unwrap_or_else(|| estimated_vocabulary(config))
    }

    /// Plan of the model that a run of the config trains.
    ///
    /// # Errors
    /// Every problem of the config, or every field in which it differs from its initial model.
    pub fn plan(&self, config: &RunConfig) -> Result<ModelPlan, Vec<Problem>> {
        let config = &self.filled(config);
        let own = ModelPlan::resolve(config, self.vocabulary_of(config))?;
        let plan = match &self.initial {
            Some(initial) => initial.trained_further(config)?,
            None => own,
        };
        Ok(match self.outputs {
            Some(outputs) => plan.with_outputs(outputs),
            None => plan,
        })
    }

    /// True if the config asks for other attention than its initial model has, which a conversion of that model gives it and
    /// training further does not; false where the config can be trained, or something else is wrong with it.
    pub fn needs_conversion(&self, config: &RunConfig) -> bool {
        let Some(initial) = &self.initial else { return false };
        let config = &self.filled(config);
        ModelPlan::resolve(config, self.vocabulary_of(config)).is_ok() && initial.needs_conversion(config)
    }

    /// Plan of the config's model with other answers about attention, also where its initial model has its own.
    ///
    /// # Errors
    /// As [`Self::plan`]; if the answers do not fit the model.
    pub fn plan_answering(&self, config: &RunConfig, attention: &AttentionConfig) -> Result<ModelPlan, Vec<Problem>> {
        if self.initial.is_some() && config.attention != *attention {
            return self.plan(config)?.answering(config, attention);
        }
        self.plan(&RunConfig { attention: attention.clone(), ..config.clone() })
    }

    /// Costs of a training step of the config.
    ///
    /// # Errors
    /// As [`Self::plan`].
    pub fn training_cost(&self, config: &RunConfig) -> Result<Cost, Vec<Problem>> {
        let config = &self.filled(config);
        Ok(Cost::of(&self.plan(config)?, &Workload::training(config)))
    }

    /// Costs of a training step of the config with other answers about attention.
    ///
    /// # Errors
    /// As [`Self::plan_answering`].
    pub fn answering_cost(&self, config: &RunConfig, attention: &AttentionConfig) -> Result<Cost, Vec<Problem>> {
        let plan = self.plan_answering(config, attention)?;
        let config = RunConfig { attention: attention.clone(), ..self.filled(config) };
        Ok(Cost::of(&plan, &Workload::training(&config)))
    }
}

impl ModelPlan {
    /// The same model with other answers about attention.
    fn answering(mut self, config: &RunConfig, attention: &AttentionConfig) -> Result<Self, Vec<Problem>> {
        let own = RunConfig { attention: attention.clone(), ..config.clone() };
        let problems = [own.validate(), super::supported(&own)].concat();
        if !problems.is_empty() {
            return Err(problems);
        }
        let answer = |stack: &mut StackPlan, answers: &AttentionConfig| -> Result<(), Vec<Problem>> {
            stack.head_plan = HeadPlan::derive(answers, stack.layers, stack.heads)?;
            stack.compatibility = answers.compatibility.clone();
            Ok(())
        };
        answer(&mut self.stack, attention)?;
        if let Some(encoder) = &mut self.encoder {
            answer(encoder, &attention.of_encoder())?;
        }
        if let Some(cross) = &mut self.stack.cross {
            let answers = attention.of_cross();
            cross.head_plan = HeadPlan::derive(&answers, self.stack.layers, self.stack.heads)?;
            cross.compatibility = answers.compatibility;
        }
        let (length, coverage) = (config.data.sequence_length, attention.coverage.of_model());
        self.stack.coverage_tokens = (!coverage.is_full() && length < self.stack.positions).then_some(length);
        self.stack.coverage = coverage;
        self.cache = attention.cache.clone();
        let problems = supported_design(&self.stack);
        if problems.is_empty() { Ok(self) } else { Err(problems) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Baseline, Compatibility, ModelKind, Symmetric, from_toml};

    const TASK: &str = "format = 1\n[data]\nkind = \"table\"\npath = \"rows.tsv\"\ntext = \"text\"\nlabel = \"label\"\n\
                        sequence_length = 16\n[task]\nkind = \"classification\"\n[model]\nkind = \"encoder\"\nlayers = 2\nheads = 2\n\
                        width = 8\n";

    #[test]
    fn classes_of_a_table_are_counted_and_two_are_assumed() {
        let config = from_toml(TASK).unwrap();
        let parameters = |outputs| {
            let facts = ModelFacts { vocabulary: Some(50), outputs, ..ModelFacts::default() };
            facts.training_cost(&config).unwrap().parameters
        };
        assert_eq!(parameters(None), parameters(Some(2)));
        assert_eq!(parameters(Some(4)), parameters(Some(2)) + 2 * 9);
    }

    #[test]
    fn a_run_with_an_initial_model_costs_what_that_model_costs() {
        let given = from_toml(
            "format = 1\n[data]\nsequence_length = 64\n[model]\nkind = \"encoder\"\nlayers = 2\nheads = 2\nwidth = 8\n",
        );
        let model = ModelPlan::resolve(&given.unwrap(), 77).unwrap();
        let text = "format = 1\n[data]\nsequence_length = 16\ntokenizer = { kind = \"initial\" }\n[model]\nkind = \"encoder\"\nlayers = 2\n\
                    heads = 2\nwidth = 8\ninitial = \"m\"\n";
        let config = from_toml(text).unwrap();
        let facts = ModelFacts { initial: Some(model.clone()), ..ModelFacts::default() };
        assert_eq!(facts.vocabulary_of(&config), 77);
        assert_eq!(facts.plan(&config).unwrap(), model.trained_further(&config).unwrap());
        assert_eq!(facts.plan(&config).unwrap().stack.positions, 64, "the model's, not those of the config's texts");
        // Another answer about attention is refused of the run, and counted beside it.
        let mut other = config.clone();
        other.attention.compatibility = Compatibility::Symmetric(Symmetric {});
        assert!(facts.plan(&other).is_err() && facts.needs_conversion(&other) && !facts.needs_conversion(&config));
        assert!(!ModelFacts::default().needs_conversion(&other), "nothing is known of the initial model");
        // No conversion makes it fit where something else is wrong, too.
        let longer = |config: &RunConfig| {
            let mut config = config.clone();
            config.data.sequence_length = 65;
            config
        };
        assert!(facts.plan(&longer(&other)).is_err() && !facts.needs_conversion(&longer(&other)));
        let of = |attention| Cost::of(&facts.plan_answering(&config, attention).unwrap(), &Workload::training(&config));
        let baseline = config.attention.baseline(Baseline::Standard);
        assert_eq!(of(&baseline), facts.training_cost(&config).unwrap());
        // A key projection with its bias is gone from both layers.
        assert_eq!(of(&baseline).parameters - of(&other.attention).parameters, 2 * 8 * 9);
    }

    #[test]
    fn facts_hold_for_as_long_as_what_they_were_read_from() {
        let asked = from_toml(TASK).unwrap();
        let model = ModelPlan::resolve(&RunConfig::default(), 77).unwrap();
        let facts = ModelFacts { vocabulary: Some(9), outputs: Some(4), initial: Some(model), image: None };
        assert_eq!(facts.kept_for(&asked, &asked), facts);
        let mut other = asked.clone();
        other.model.kind = ModelKind::Encoder;
        other.train.batch += 1;
        assert_eq!(facts.kept_for(&asked, &other), facts);
        other.model.initial = Some("m".to_owned());
        assert_eq!(facts.kept_for(&asked, &other), ModelFacts { outputs: Some(4), ..ModelFacts::default() });
        other = asked.clone();
        other.task = None;
        assert_eq!(facts.kept_for(&asked, &other).outputs, None);
    }
}
