use std::path::PathBuf;

use candle_core::Device;

use super::{checkpoints, context::JobContext, refusal::Refusal};
use crate::{
    analysis::{NOT_YET, examples_at_once},
    attention::OutputPlan,
    checkpoint,
    config::{DataConfig, DeviceChoice, LabelRules, Modality, Precision, RunConfig, Source},
    data::{Corpus, DataError, Dataset, Edition, HeldOut, PairFraming, Reading, Silent, TextTokenizer},
    hub::name_of_snapshot,
    machine,
    model::{Model, ParameterSet},
    objective::{Labels, Objective},
    protocol::{Target, events},
    store::{RunId, Store},
    train::dtype_of,
};

/// What the store knows of a run's model.
pub(crate) struct StoredModel {
    name: String,
    pub(crate) config: RunConfig,
    pub(crate) run: RunId,
    pub(crate) step: u64,
    /// Rules by which its data are read.
    edition: Edition,
}

impl StoredModel {
    /// The model in words.
    pub(crate) fn named(&self) -> String {
        format!("{}, step {}", self.name, self.step)
    }
}

/// Where the files of a target are, and of a run what is known of it.
///
/// # Errors
/// In words: why there is none.
pub(crate) fn open(store: &Store, target: &Target) -> Result<(PathBuf, Option<StoredModel>), Refusal> {
    Ok(match target {
        Target::Directory(path) => (path.clone(), None),
        Target::Run { run, which } => {
            let record = store.run(run.as_str())?;
            let run = record.summary.id.clone();
            let records = store.checkpoints(&run)?;
            let config = record.run_config()?;
            let chosen = checkpoints::choose_checkpoint(&records, *which)?;
            let edition = record.numerics.edition();
            let stored = StoredModel { name: record.summary.name, config, run, step: chosen.step, edition };
            (chosen.path.clone(), Some(stored))
        }
    })
}

/// A single file of plain text that is named for a model of other examples: a file of such, which is read as that was which the model
/// learnt from.
fn as_file_of(modality: Modality, data: &DataConfig, trained_on: &Source) -> Option<DataConfig> {
    let is_plain = data.source.facts().modality == Modality::Text;
    let path = data.source.training_files().into_iter().next().filter(|_| is_plain)?;
    Some(DataConfig { source: trained_on.reading(modality, &path), ..data.clone() })
}

/// Refuses texts or images with labels or answers of another kind than those that a model gives.
fn require_fitting(source: &Source, labels: Option<&Labels>) -> Result<(), Refusal> {
    let takes = match (source.facts().modality, labels) {
        (Modality::Text | Modality::Pairs, _)
        | (Modality::Rows, Some(Labels::Classes(_) | Labels::Number))
        | (Modality::Spans, Some(Labels::Span { .. }))
        | (Modality::Images, Some(Labels::Classes(_))) => return Ok(()),
        (Modality::Rows, Some(Labels::Span { .. })) => {
            "It answers questions about paragraphs, so that it takes a SQuAD file (.json), not a table with labels."
        }
        (Modality::Rows, None) => {
            "It does not end in one of some classes or a number, so that it takes plain text, not examples with labels."
        }
        (Modality::Spans, Some(Labels::Classes(_) | Labels::Number)) => {
            "It ends in classes or a number, so that it takes a table with labels, not questions about paragraphs."
        }
        (Modality::Spans, None) => {
            "It does not end in spans of a paragraph, so that it takes plain text, not questions about paragraphs."
        }
        (Modality::Images, _) => "It does not tell classes of images, so that it takes no images.",
    };
    Err(takes.into())
}

/// Where a finished model computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Computes {
    /// On the device that its run was trained on, where that is there; models of folders on the processor.
    WhereTrained,
    /// On the processor, whatever trains beside it.
    OnProcessor,
}

impl Computes {
    /// The device, and in words why it is not the one that was wanted.
    fn device(self, stored: Option<&StoredModel>) -> (Device, Option<String>) {
        let wanted = match self {
            Self::WhereTrained => stored.map_or(DeviceChoice::Cpu, |stored| stored.config.device),
            Self::OnProcessor => DeviceChoice::Cpu,
        };
        match machine::open(wanted) {
            Ok(device) => (device, None),
            Err(why) => {
                let why = format!("It was trained on {wanted} and is computed on the processor here: {why}");
                (Device::Cpu, Some(why))
            }
        }
    }
}

/// Why a model of images cannot read any.
pub(crate) const NO_NORMALISATION: &str = "The model directory does not say how pixels become the numbers that it reads \
                                           (preprocessor_config.json), or which classes it tells apart, so that no image can be \
                                           read. Put that file beside its weights.";

/// A finished model with the text that it is measured on.
pub(crate) struct Subject {
    /// The model in words.
    pub(crate) named: String,
    /// The run, if it is one's.
    pub(crate) run: Option<RunId>,
    /// Its step, where known.
    pub(crate) step: Option<u64>,
    /// The text in words.
    pub(crate) data: String,
    /// Whether it is the held-out text of the run in its own order.
    pub(crate) is_own_text: bool,
    pub(crate) model: Model,
    /// Number format of the computation.
    pub(crate) precision: Precision,
    pub(crate) parameters: ParameterSet,
    /// Whether it is known on which text it was trained.
    pub(crate) has_text: bool,
    pub(crate) config: RunConfig,
    pub(crate) objective: Objective,
    pub(crate) corpus: Corpus,
}

impl Subject {
    /// What a target is called.
    pub(crate) fn name(target: &Target) -> String {
        match target {
            Target::Run { run, which } => format!("{run} ({which})"),
            // What is kept of it says where it is from any folder.
            Target::Directory(path) => std::path::absolute(path).as_ref().unwrap_or(path).display().to_string(),
        }
    }

    /// What a user calls it: the name of a run in place of its id, where the store knows it; of a directory the last part of
    /// its path, or the name that its hub gave it. What is wrong with a directory says where it is.
    pub(crate) fn called(store: &Store, target: &Target) -> String {
        match target {
            Target::Run { run, which } => store
                .record(run)
                .map_or_else(|_| Self::name(target), |record| format!("\"{}\" ({which})", record.summary.name)),
            Target::Directory(path) => {
                let last = || path.file_name().map(|name| name.to_string_lossy().into_owned());
                let short = name_of_snapshot(path).map(|name| name.to_string()).or_else(last);
                short.map_or_else(|| Self::name(target), |name| format!("\"{name}\""))
            }
        }
    }

    /// Loads a model where it was trained, and the text that it was evaluated on or other text, with its order changed where
    /// `shuffled` says so; or says in words why that cannot be.
    pub(crate) fn load(
        context: &JobContext,
        target: &Target,
        data: Option<&DataConfig>,
        shuffled: Option<bool>,
    ) -> Result<Self, Refusal> {
        let tell = |message| context.outbox.send(events::Warning { run: None, message });
        let named = (data, &LabelRules::default());
        Self::load_from(&context.store, target, named, shuffled, (Computes::WhereTrained, Some(Precision::F32)), &tell)
    }

    /// Loads a model to be evaluated, other data by rules of their own for labels, in a precision: where none is given in that of its run,
    /// as training evaluated it, and else in `f32`.
    pub(crate) fn load_to_evaluate(
        context: &JobContext,
        target: &Target,
        named: (Option<&DataConfig>, &LabelRules),
        precision: Option<Precision>,
    ) -> Result<Self, Refusal> {
        let tell = |message| context.outbox.send(events::Warning { run: None, message });
        Self::load_from(&context.store, target, named, None, (Computes::WhereTrained, precision), &tell)
    }

    /// The same from a store on the processor; `tell` takes what was decided in spite of the model's settings.
    pub(crate) fn load_on_processor(
        store: &Store,
        target: &Target,
        data: Option<&DataConfig>,
        tell: &dyn Fn(String),
    ) -> Result<Self, Refusal> {
        let named = (data, &LabelRules::default());
        Self::load_from(store, target, named, None, (Computes::OnProcessor, Some(Precision::F32)), tell)
    }

    fn load_from(
        store: &Store,
        target: &Target,
        (data, labels): (Option<&DataConfig>, &LabelRules),
        shuffled: Option<bool>,
        (computes, precision): (Computes, Option<Precision>),
        tell: &dyn Fn(String),
    ) -> Result<Self, Refusal> {
        let (directory, stored) = open(store, target)?;
        let (device, elsewhere) = computes.device(stored.as_ref());
        if let Some(why) = elsewhere {
            tell(format!("{}: {why}", Self::called(store, target)));
        }
        let edition = stored.as_ref().map_or_else(Edition::default, |stored| stored.edition);
        let (stored, run, step) = stored
            .map_or((None, None, None), |StoredModel { name, config, run, step, .. }| {
                (Some((name, config)), Some(run), Some(step))
            });
        let precision = precision.or(stored.as_ref().map(|(_, config)| config.precision)).unwrap_or_default();
        let loaded = checkpoint::load_model_dir(&directory, dtype_of(precision), &device)?;
        loaded.notes.iter().cloned().for_each(tell);
        let translates = loaded.plan.translates();
        let shape = loaded.plan.image_shape().filter(|_| loaded.plan.classifies_images());
        let reads_text = loaded.plan.is_analysable() && loaded.plan.image_shape().is_none();
        if !reads_text && !translates && shape.is_none() {
            let why = "It reads images and does not end in one of some classes, or attends to an encoder and predicts no tokens. \
                       Such models can be shown, but not yet measured, analysed or gone on with.";
            return Err(why.into());
        }
        let (name, config) = stored.map_or((None, None), |(name, config)| (Some(name), Some(config)));
        let config = config.or(loaded.config);
        let has_text = config.is_some();
        // A folder from elsewhere does not say on which examples it was trained, only how long they can be.
        let mut config = config.unwrap_or_else(|| {
            let mut config = RunConfig::default();
            config.data.sequence_length = loaded.plan.stack.positions;
            config
        });
        if shape.is_some() {
            config.data.sequence_length = loaded.plan.stack.positions;
        }
        let modality = if translates { Some(Modality::Pairs) } else { shape.map(|_| Modality::Images) };
        let other = data.zip(modality).and_then(|(data, modality)| as_file_of(modality, data, &config.data.source));
        let data = other.as_ref().or(data);
        match (shape, data.unwrap_or(&config.data).source.has_images()) {
            (Some(_), true) | (None, false) => {}
            (Some(_), false) => {
                return Err("It reads images, and it is not known on which it was trained. Name some.".into());
            }
            (None, true) => return Err("It reads text, so that it takes no images. Name a text or a table.".into()),
        }
        let is_shuffled = shuffled.unwrap_or(data.unwrap_or(&config.data).shuffled);
        let is_own_text = data.is_none() && is_shuffled == config.data.shuffled;
        config.data.shuffled = is_shuffled;
        let has_table = data.unwrap_or(&config.data).source.has_labels();
        require_fitting(&data.unwrap_or(&config.data).source, loaded.labels.as_ref())?;
        let objective = if let (Some(labels), true) = (&loaded.labels, has_table) {
            // Of a run with the numbers of its task.
            match (labels.objective(), config.objective()) {
                (of_labels, own) if of_labels.spans().is_some() && own.spans().is_some() => own,
                (of_labels, _) => of_labels,
            }
        } else if translates {
            Objective::of_pairs(config.train.label_smoothing)
        } else {
            Objective::of_language_model(loaded.plan.stack.is_causal, config.train.mask_fraction)
        };
        match (translates, data.unwrap_or(&config.data).source.has_pairs()) {
            (true, true) | (false, false) => {}
            (true, false) if data.is_none() => {
                return Err(
                    "It translates, and it is not known on which pairs of texts it was trained. Name some.".into()
                );
            }
            (true, false) => return Err("It translates, so that it takes pairs of texts, not plain text.".into()),
            (false, true) => {
                return Err("It does not translate, so that it takes plain text, not pairs of texts.".into());
            }
        }
        let own = Reading::of(config.task.as_ref()).in_edition(edition);
        let mut reading = Reading { labels: labels.clone(), ..Reading::of(None) };
        reading.labels.unlabelled = reading.labels.unlabelled.or_else(|| own.labels.unlabelled.clone());
        let mut corpus = match (data, &loaded.tokenizer_json) {
            (Some(data), _) if data.source.has_images() => {
                let (Some(shape), Some(normalisation), Some(labels)) = (shape, &loaded.normalisation, &loaded.labels)
                else {
                    return Err(NO_NORMALISATION.into());
                };
                let base = PathBuf::new();
                let rules = (labels, &reading);
                Corpus::load_held_out_images(&data.source, rules, (shape, normalisation), &base, &Silent)
            }
            // Other text is cut into the tokens that the model knows, whatever the config says, and looked at whole.
            (Some(data), Some(json)) => {
                let tokenizer = TextTokenizer::from_json(json)?;
                let (labels, base) = (loaded.labels.as_ref(), PathBuf::new());
                let rules = (labels, &reading);
                let corpus = Corpus::load_held_out(&data.source, tokenizer, &objective, rules, &base, &Silent);
                corpus.map(|corpus| if is_shuffled { corpus.shuffled() } else { corpus })
            }
            (None, json) => {
                let cache = store.paths().tokenizer_cache();
                let rules = (&objective, &own);
                Corpus::load_for(json.as_deref(), &config.data, rules, &PathBuf::new(), &cache, &Silent)
            }
            (Some(_), None) => {
                return Err("The model directory has no tokenizer.json, so text cannot be read.".into());
            }
        }?;
        if translates {
            // Runs of earlier versions are measured as they were trained.
            let framing = edition.pair_framing();
            let start = loaded.generation.marks.start.filter(|_| framing == PairFraming::Template);
            if let Dataset::Pairs { rules, .. } = &mut corpus.dataset {
                (rules.framing, rules.start) = (framing, start);
            }
        }
        if let Some(own) = corpus.labels()
            && !loaded.labels.as_ref().is_some_and(|labels| labels.fits(own))
        {
            return Err(
                "The data that it was trained on have other labels than its outputs now; name others with --data."
                    .into(),
            );
        }
        if corpus.images().is_none() {
            corpus.require_known(loaded.plan.vocabulary())?;
            corpus.tokenizer = corpus.tokenizer.known_to(loaded.plan.vocabulary());
        }
        let named = match (name, step) {
            (Some(name), Some(step)) => format!("{name}, step {step}"),
            _ => Self::name(target),
        };
        let mut words = match data {
            Some(data) => data.source.to_string(),
            None if shape.is_some() => format!("held-out images of {}", config.data.source.held_out_name()),
            None => format!("held-out text of {}", config.data.source.held_out_name()),
        };
        if is_shuffled {
            words.push_str(", shuffled");
        }
        let model = Model::frozen_at(&loaded.plan, &loaded.parameters, precision)?;
        let parameters = loaded.parameters;
        Ok(Self {
            named,
            run,
            step,
            data: words,
            is_own_text,
            model,
            precision,
            parameters,
            has_text,
            config,
            objective,
            corpus,
        })
    }

    /// Refuses models whose attention is not analysed yet.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn require_analysable(&self) -> Result<(), Refusal> {
        if self.model.plan().is_analysable() { Ok(()) } else { Err(NOT_YET.into()) }
    }

    /// Refuses models that predict no tokens: there is no loss.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn require_predictions(&self) -> Result<(), Refusal> {
        let ends_in = match self.model.plan().head {
            OutputPlan::Vocabulary(_) => return Ok(()),
            OutputPlan::Classes { .. } | OutputPlan::Span if self.objective.answers_examples() => return Ok(()),
            OutputPlan::Classes { .. } => "classes",
            OutputPlan::Span => "spans",
            OutputPlan::Replaced => "whether tokens were replaced",
            OutputPlan::States { .. } => "its hidden states",
        };
        Err(Refusal::NoLoss { ends_in })
    }

    /// The longest examples that both config and model have.
    pub(crate) fn tokens(&self) -> usize {
        self.config.data.sequence_length.min(self.model.plan().stack.longest())
    }

    /// Refuses examples that are longer than the model can read.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn require_positions(&self, tokens: usize) -> Result<(), Refusal> {
        let longest = self.model.plan().stack.longest();
        if tokens <= longest {
            return Ok(());
        }
        Err(Refusal::TooLong { longest, tokens })
    }

    /// Examples that are evaluated together: as in training where that is known, else as many as stay small.
    pub(crate) fn batch(&self, tokens: usize) -> usize {
        if self.has_text { self.config.train.batch } else { examples_at_once(self.model.plan(), tokens) }
    }

    /// The beginnings of examples of the held-out text, spread evenly over it: as many tokens of each as are asked for, else
    /// half of it.
    ///
    /// # Errors
    /// In words: why there is none.
    pub(crate) fn beginnings(&self, examples: usize, tokens: Option<usize>) -> Result<Vec<Vec<u32>>, Refusal> {
        let whole = self.tokens();
        let tokens = tokens.unwrap_or(whole / 2).clamp(1, whole.max(1));
        let held_out = self.held_out(1, whole)?.without_labels();
        let found: Vec<Vec<u32>> = held_out
            .spread(examples, 1)
            .map(|batch| match batch.sources {
                // What is translated is read whole.
                Some(sources) => sources.rows().pop().unwrap_or_default(),
                None => batch.input_ids.into_iter().take(tokens).collect(),
            })
            .filter(|ids: &Vec<u32>| !ids.is_empty())
            .collect();
        if found.is_empty() { Err("There is no held-out example.".into()) } else { Ok(found) }
    }

    /// Its text in batches of examples of `tokens`.
    ///
    /// # Errors
    /// In words: why the text or the length does not do.
    pub(crate) fn held_out(&self, batch: usize, tokens: usize) -> Result<HeldOut, Refusal> {
        let held_out = HeldOut::new(&self.corpus, &self.objective, batch, tokens);
        // Nothing is hidden from a model that is to fill in nothing.
        let predicts = matches!(self.model.plan().head, OutputPlan::Vocabulary(_)) || self.objective.answers_examples();
        let held_out = held_out.map(|all| if predicts { all } else { all.without_labels() });
        held_out.map_err(|error| match error {
            // Nobody spoke of the fields of a config.
            DataError::BadShape { least, .. } => {
                let around = if least > 2 { " between the special tokens around it" } else { "" };
                Refusal::NoRoom { tokens, around, least }
            }
            DataError::TooShort { tokens: given, needed, .. } => {
                Refusal::TextTooShort { text: self.data.clone(), tokens: given, needed }
            }
            other => other.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_computes_where_it_was_trained_or_on_the_processor_with_a_word() {
        let trained_on = |device| StoredModel {
            name: "run".to_owned(),
            config: RunConfig { device, ..RunConfig::default() },
            run: RunId::new(),
            step: 1,
            edition: Edition::default(),
        };
        let gone = trained_on(DeviceChoice::Cuda(999));
        let (device, why) = Computes::WhereTrained.device(Some(&gone));
        assert!(device.is_cpu());
        assert!(why.is_some_and(|why| why.starts_with("It was trained on cuda:999 and is computed on the processor here: ")));
        assert_eq!(Computes::OnProcessor.device(Some(&gone)).1, None, "nothing else was wanted");
        assert_eq!(Computes::WhereTrained.device(Some(&trained_on(DeviceChoice::Cpu))).1, None);
        assert_eq!(Computes::WhereTrained.device(None).1, None);
    }
}
