use serde::{Deserialize, Serialize};

use crate::{
    attention::{Cost, Decoding, ModelPlan, OutputPlan, Workload, cache_bytes},
    config::{Cache, Coverage, DeviceChoice, Precision, RunConfig, Setting, SpecError, counted},
    model::sources_read_together,
};

/// Beams of a source at most, as for any search.
const MOST_BEAMS: usize = 1024;
/// Sources of a run at most.
const MOST_BATCH: usize = 1 << 16;
/// New tokens at most.
const MOST_TOKENS: usize = 1 << 20;

/// What is generated at every point of a sweep, as far as no axis says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GenerationSpec {
    /// Tokens of each source: of what an encoder reads, else of a prompt.
    pub source: usize,
    /// Beams of each source; 1 = the most probable token is taken.
    pub beams: usize,
    /// Sources at the same time.
    pub batch: usize,
    /// New tokens of each text; no text ends before.
    pub new_tokens: usize,
    /// The sides: what is kept between tokens.
    pub caches: Vec<Cache>,
}

impl Default for GenerationSpec {
    fn default() -> Self {
        Self { source: 64, beams: 4, batch: 4, new_tokens: 16, caches: Cache::ALL.to_vec() }
    }
}

/// What one side does at one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GenerationTask {
    /// Tokens of each source.
    pub source: usize,
    /// Beams of each source.
    pub beams: usize,
    /// Sources at the same time.
    pub batch: usize,
    /// New tokens of each text.
    pub new_tokens: usize,
    /// What is kept between tokens.
    pub cache: Cache,
}

impl GenerationSpec {
    /// The fields that an axis can name besides those of the config.
    pub const FIELDS: [&'static str; 4] = ["source", "beams", "batch", "new_tokens"];

    /// The names of the sides.
    pub fn side_names(&self) -> Vec<String> {
        self.caches.iter().map(|cache| cache.word().to_owned()).collect()
    }

    /// The same with the settings that name one of its fields.
    ///
    /// # Errors
    /// If a value is no number from 1 on.
    pub(in crate::speed) fn with(&self, settings: &[Setting]) -> Result<Self, SpecError> {
        let mut spec = self.clone();
        for setting in settings {
            let field = match setting.field.as_str() {
                "source" => &mut spec.source,
                "beams" => &mut spec.beams,
                "batch" => &mut spec.batch,
                "new_tokens" => &mut spec.new_tokens,
                _ => continue,
            };
            *field = setting.value.parse().map_err(|_| {
                SpecError::Other(format!("Axis {}: give a whole number from 1 on.", setting.to_override()))
            })?;
        }
        Ok(spec)
    }

    /// What its sides do.
    pub fn tasks(&self) -> Vec<GenerationTask> {
        let Self { source, beams, batch, new_tokens, .. } = *self;
        let task = |cache: &Cache| GenerationTask { source, beams, batch, new_tokens, cache: cache.clone() };
        self.caches.iter().map(task).collect()
    }

    /// Refuses what no model could do.
    pub(in crate::speed) fn check(&self) -> Result<(), SpecError> {
        let other = |text: String| Err(SpecError::Other(text));
        let names = self.side_names();
        if names.is_empty() {
            return other("No cache is to be measured. Name at least one of none, key_value and hidden.".to_owned());
        }
        if let Some((_, name)) = names.iter().enumerate().find(|(place, name)| names[..*place].contains(name)) {
            return other(format!("The cache {name} is named twice. Name each once."));
        }
        for (name, value, most) in [
            ("source", self.source, MOST_TOKENS),
            ("beams", self.beams, MOST_BEAMS),
            ("batch", self.batch, MOST_BATCH),
            ("new_tokens", self.new_tokens, MOST_TOKENS),
        ] {
            if !(1..=most).contains(&value) {
                return other(format!("`{name}` is {value}; it must be from 1 to {most}."));
            }
        }
        if self.new_tokens < 2 {
            return other(
                "The first token comes with the reading of the source: use at least 2 new tokens, so that there is a \
                 step to measure."
                    .to_owned(),
            );
        }
        Ok(())
    }
}

impl GenerationTask {
    /// Refuses a model that does not generate such texts.
    ///
    /// # Errors
    /// If it generates no text, has too few positions, or cannot keep what is to be kept.
    pub(in crate::speed) fn check(&self, plan: &ModelPlan) -> Result<(), SpecError> {
        let other = |text: String| Err(SpecError::Other(text));
        let stack = &plan.stack;
        if !stack.is_causal || !matches!(plan.head, OutputPlan::Vocabulary(_)) {
            return other(format!(
                "This model generates no text: it is of the kind \"{}\". Use a decoder or an encoder-decoder, as with \
                 model.kind=\"decoder\".",
                plan.architecture()
            ));
        }
        if !self.cache.is_none() && !matches!(stack.coverage, Coverage::Full(_)) {
            return other(format!(
                "A model that leaves pairs out (attention.coverage) cannot keep anything between tokens, so that the cache {} \
                 has no meaning for it. Measure the cache none alone.",
                self.cache.word()
            ));
        }
        let (reads, writes) = match &plan.encoder {
            Some(encoder) => (encoder.longest(), stack.longest()),
            // The last token is not read any more.
            None => (stack.longest(), (stack.longest() + 1).saturating_sub(self.source)),
        };
        if self.source > reads || self.new_tokens > writes {
            let all = self.source.max(if plan.encoder.is_some() {
                self.new_tokens
            } else {
                self.source + self.new_tokens - 1
            });
            return other(format!(
                "Sources of {} and {} need {all} positions, and the model has {}. Set data.sequence_length (or \
                 model.positions) to at least {all}, or use shorter ones.",
                counted(self.source, "token"),
                counted(self.new_tokens, "new token"),
                reads.min(stack.longest()),
            ));
        }
        Ok(())
    }

    /// Rows that are written: beams of all sources.
    pub fn rows(&self) -> usize {
        self.batch.saturating_mul(self.beams)
    }

    /// Bytes of what is kept between tokens, by the cost model.
    pub fn cache_bytes(&self, plan: &ModelPlan, config: &RunConfig) -> u64 {
        let decoding = Decoding {
            source_tokens: self.batch.saturating_mul(self.source),
            rows: self.rows(),
            beams: self.beams,
            // A decoder after an encoder reads the token that it begins with.
            written: self.new_tokens + usize::from(plan.encoder.is_some()),
            bytes: config.precision.bytes() as usize,
        };
        cache_bytes(plan, &self.cache, &decoding).total()
    }

    /// An estimate of the memory of a run: weights, what is kept, and twice the larger of what it takes to read the sources and
    /// to do a step, since buffers and the allocator hold on to what earlier operations worked with. Numbers too large for 64
    /// bits stay at the largest.
    pub fn memory_bytes(&self, plan: &ModelPlan, config: &RunConfig) -> u64 {
        let bytes = config.precision.bytes();
        let product = |factors: &[usize]| factors.iter().fold(bytes, |all, &factor| all.saturating_mul(factor as u64));
        let stack = &plan.stack;
        let (d, rows) = (stack.width, self.rows());
        let pass = |batch: usize, sequence: usize| {
            let work = Workload { predicted: batch, ..Workload::inference(batch, sequence, config.precision) };
            Cost::of(plan, &work).memory_bytes
        };
        let is_kept = !matches!(self.cache, Cache::None(_));
        let is_stepped = is_kept && config.device == DeviceChoice::Cpu && config.precision == Precision::F32;
        let together = sources_read_together(is_stepped, self.source, self.batch);
        let reading = pass(together, self.source).saturating_add(match &plan.encoder {
            // The stream before each layer is there until all that is kept was made of it.
            None if !is_stepped => product(&[self.batch, self.source, d, stack.layers + 1]),
            _ => 0,
        });
        let step = match (&self.cache, &plan.encoder) {
            (Cache::KeyValue(_) | Cache::Hidden(_), _) => pass(rows, 1),
            (Cache::None(_), None) => pass(rows, self.source + self.new_tokens),
            // The states for every row, and keys, values and maps of one layer, as they are made and as heads read them.
            (Cache::None(_), Some(_)) => pass(rows, self.new_tokens)
                .saturating_add(product(&[rows, self.source, 5 * d]))
                .saturating_add(product(&[rows, self.new_tokens, self.source, 3 * stack.heads])),
        };
        let logits = (rows as u64).saturating_mul(plan.vocabulary() as u64).saturating_mul(2 * 4);
        let weights = Cost::of(plan, &Workload::inference(1, 1, config.precision)).parameters.saturating_mul(bytes);
        let work = reading.max(step).saturating_sub(weights);
        // Those that steps of several rows have once more, in another order.
        let panels = if is_stepped && rows > 1 { weights } else { 0 };
        [work, work, panels, self.cache_bytes(plan, config), logits].into_iter().fold(weights, u64::saturating_add)
    }
}

/// A small model of tests, whose texts have up to 20 tokens.
#[cfg(test)]
pub(super) fn tiny(kind: crate::config::ModelKind) -> RunConfig {
    // Its data are pairs, as an encoder-decoder wants.
    let name = if kind == crate::config::ModelKind::EncoderDecoder { "number-words" } else { "grammar-decoder" };
    let mut config = crate::config::preset(name).unwrap().config().unwrap();
    config.model.kind = kind;
    (config.model.layers, config.model.heads, config.model.width, config.model.feed_forward) = (2, 2, 16, 24);
    config.data.sequence_length = 20;
    config
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ModelKind;

    fn plan(kind: ModelKind) -> (RunConfig, ModelPlan) {
        let config = tiny(kind);
        let plan = ModelPlan::resolve(&config, 50).unwrap();
        (config, plan)
    }

    #[test]
    fn what_no_model_generates_is_refused_with_what_to_do() {
        let task = |source, new_tokens| GenerationTask {
            source,
            beams: 2,
            batch: 3,
            new_tokens,
            cache: Cache::ALL[1].clone(),
        };
        let refused = |kind, source, new_tokens| {
            task(source, new_tokens).check(&plan(kind).1).err().map(|error| error.to_string()).unwrap_or_default()
        };
        // The last token is not read.
        assert_eq!(refused(ModelKind::Decoder, 17, 4), "");
        assert!(refused(ModelKind::Decoder, 18, 4).contains("need 21 positions, and the model has 20"));
        assert_eq!(refused(ModelKind::EncoderDecoder, 20, 20), "");
        assert!(refused(ModelKind::EncoderDecoder, 21, 4).contains("need 21 positions"));
        assert!(refused(ModelKind::Encoder, 4, 4).contains("generates no text"));
        let spec = |change: fn(&mut GenerationSpec)| {
            let mut spec = GenerationSpec::default();
            change(&mut spec);
            spec.check().err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!(spec(|_| {}), "");
        assert!(spec(|spec| spec.new_tokens = 1).contains("at least 2 new tokens"));
        assert!(spec(|spec| spec.beams = 0).contains("`beams` is 0"));
        assert!(spec(|spec| spec.caches.clear()).contains("No cache"));
        assert!(spec(|spec| spec.caches.push(Cache::default())).contains("named twice"));
        let setting = Setting { field: "source".to_owned(), value: "many".to_owned() };
        assert!(GenerationSpec::default().with(&[setting]).unwrap_err().to_string().contains("source=many"));
    }

    #[test]
    fn memory_grows_with_the_batch_and_is_more_than_the_cache() {
        for kind in [ModelKind::Decoder, ModelKind::EncoderDecoder] {
            let (config, plan) = plan(kind);
            for cache in Cache::ALL {
                let needed = |batch| {
                    let task = GenerationTask { source: 16, beams: 4, batch, new_tokens: 4, cache: cache.clone() };
                    let (all, kept) = (task.memory_bytes(&plan, &config), task.cache_bytes(&plan, &config));
                    assert!(all > kept, "{kind:?} {cache:?}: {all} in all, {kept} kept");
                    all
                };
                assert!(needed(64) > needed(32) && needed(32) > needed(1), "{kind:?} {cache:?}");
            }
        }
    }
}
