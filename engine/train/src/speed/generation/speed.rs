use std::ops::ControlFlow;

use super::{GenerationTask, GenerationTime, GroupTime, groups::groups_of};
use crate::{
    attention::ModelPlan,
    config::RunConfig,
    generate::{Generated, Marks, Search, generate},
    model::{Begun, Model, ParameterSet, Room, dtype, open_device_of},
    ops::{
        profile,
        random::{Purpose, Stream},
    },
    train::{TrainError, dtype_of},
};

/// A model with random weights that generates from random tokens, to see how long that takes.
pub struct GenerationSpeed {
    model: Model,
    config: RunConfig,
    parameters: u64,
}

/// What was recorded of one run.
pub struct Profiled {
    /// Attention to the source in a step, as the mean of all steps.
    pub groups: Vec<GroupTime>,
    /// While the sources were read.
    pub reading_groups: Vec<GroupTime>,
    /// A whole step.
    pub step_secs: f64,
}

impl GenerationSpeed {
    /// Builds the model of a config for a vocabulary; its data are never read.
    ///
    /// # Errors
    /// If the config cannot be built or its device is not there.
    pub fn new(config: RunConfig, vocabulary: usize) -> Result<Self, TrainError> {
        let device = &open_device_of(&config)?;
        let plan = ModelPlan::resolve(&config, vocabulary).map_err(TrainError::Config)?;
        let parameters = ParameterSet::init(&plan, config.seed, dtype_of(config.precision), device)?;
        let model = Model::frozen_in(&plan, &parameters, dtype(config.precision))?;
        Ok(Self { model, parameters: parameters.count(), config })
    }

    /// Generates a text for each of some random sources, as any other generation does. `goes_on` is asked at every token;
    /// none if it answered false.
    ///
    /// # Errors
    /// If the model does not generate such texts, or its device fails.
    pub fn run(
        &self,
        task: &GenerationTask,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Option<(GenerationTime, u64)>, TrainError> {
        let mut is_stopped = false;
        let each = |_: crate::generate::Progress<'_>| {
            is_stopped |= !goes_on();
            if is_stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let search = Search {
            cache: task.cache.clone(),
            max_new_tokens: task.new_tokens,
            min_new_tokens: task.new_tokens,
            beams: task.beams,
            ..Search::default()
        };
        let generated = generate(&self.model, &self.sources(task), &self.marks(), &search, None, each)?;
        let Generated { seconds: total_secs, first_seconds: reading_secs, cache_bytes, .. } = generated;
        Ok((!is_stopped).then_some((GenerationTime { total_secs, reading_secs }, cache_bytes)))
    }

    /// The same steps with random tokens in place of chosen ones, operation by operation; none if it was stopped.
    pub(in crate::speed) fn profile(
        &self,
        task: &GenerationTask,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Option<Profiled>, TrainError> {
        let room = Room { rows: task.rows(), tokens: task.new_tokens };
        let sources = self.sources(task);
        let (begun, reading) = profile::record(|| self.model.begin(&task.cache, &sources, self.marks().start, room));
        let Begun { mut decoder, .. } = begun?;
        let parents: Vec<usize> = (0..task.batch).flat_map(|source| vec![source; task.beams]).collect();
        decoder.select(&parents)?;
        let steps = task.new_tokens - 1;
        let (done, operations) = profile::record(|| {
            let start = std::time::Instant::now();
            for step in 0..steps {
                if !goes_on() {
                    return Ok(None);
                }
                decoder.step(&self.tokens(task.rows(), sources.len() + step))?;
            }
            Ok::<_, TrainError>(Some(start.elapsed().as_secs_f64()))
        });
        let Some(seconds) = done? else { return Ok(None) };
        let plan = self.model.plan();
        Ok(Some(Profiled {
            groups: groups_of(&operations, plan, steps),
            reading_groups: groups_of(&reading, plan, 1),
            step_secs: seconds / steps.max(1) as f64,
        }))
    }

    /// Trainable numbers.
    pub fn parameters(&self) -> u64 {
        self.parameters
    }

    /// The plan of its model.
    pub fn plan(&self) -> &ModelPlan {
        self.model.plan()
    }

    /// No token ends a text.
    fn marks(&self) -> Marks {
        Marks { start: self.plan().encoder.as_ref().map(|_| 0), ..Marks::default() }
    }

    fn sources(&self, task: &GenerationTask) -> Vec<Vec<u32>> {
        (0..task.batch).map(|source| self.tokens(task.source, source)).collect()
    }

    /// Tokens drawn evenly from the vocabulary.
    fn tokens(&self, count: usize, index: usize) -> Vec<u32> {
        let vocabulary = self.plan().vocabulary().max(1) as u64;
        let mut stream = Stream::new(self.config.seed, Purpose::Test, index as u64);
        (0..count).map(|_| stream.below(vocabulary) as u32).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::{Cache, ModelKind},
        speed::AttentionGroup,
    };

    fn speed(kind: ModelKind) -> GenerationSpeed {
        GenerationSpeed::new(crate::speed::generation::spec::tiny(kind), 50).unwrap()
    }

    #[test]
    fn texts_have_the_wanted_tokens_and_keep_what_the_cost_model_says() {
        for kind in [ModelKind::Decoder, ModelKind::EncoderDecoder] {
            let speed = speed(kind);
            for cache in Cache::ALL {
                let task = GenerationTask { source: 12, beams: 3, batch: 2, new_tokens: 4, cache };
                let (time, kept) = speed.run(&task, &|| true).unwrap().unwrap();
                assert!(time.total_secs > time.reading_secs && time.reading_secs > 0.0, "{time:?}");
                assert_eq!(kept, task.cache_bytes(speed.plan(), &speed.config), "{kind:?} {:?}", task.cache);
                assert_eq!(speed.run(&task, &|| false).unwrap(), None);
            }
        }
    }

    #[test]
    fn every_cache_has_the_groups_that_it_needs() {
        for kind in [ModelKind::Decoder, ModelKind::EncoderDecoder] {
            let speed = speed(kind);
            for cache in Cache::ALL {
                let task = GenerationTask { source: 12, beams: 3, batch: 2, new_tokens: 4, cache };
                let found = speed.profile(&task, &|| true).unwrap().unwrap();
                let of = |groups: &[GroupTime], group| *groups.iter().find(|found| found.group == group).unwrap();
                let name = format!("{kind:?} {:?}", task.cache);
                for group in [AttentionGroup::BuildQuery, AttentionGroup::Attend] {
                    let time = of(&found.groups, group);
                    assert!(time.seconds > 0.0 && time.flops > 0.0 && time.bytes > 0.0, "{name}: {time:?}");
                }
                // After an encoder, only who keeps nothing builds keys in every step. Other tests may do so meanwhile.
                let built = of(&found.groups, AttentionGroup::BuildKeysValues);
                assert!(built.flops > 0.0 || !task.cache.is_none(), "{name}");
                assert!(found.step_secs > 0.0 && speed.profile(&task, &|| false).unwrap().is_none());
            }
        }
    }
}
