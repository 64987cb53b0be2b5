use std::{
    ops::ControlFlow,
    path::{Path, absolute},
    time::Instant,
};

use candle_core::{DType, Device};

use super::{
    context::JobContext,
    control::JobControl,
    coverage::{approximate, approximate_from},
    error::JobError,
    job::{Job, Place, Threads},
    pace::Pace,
    refusal::Refusal,
    subject::{self, Subject},
};
use crate::{
    advise::{Borrowing, HeadAdvice},
    analysis::{AnalysisContext, AnalysisError, AnalysisSpec, Measure, analyse, examples_at_once},
    checkpoint::{
        AttentionError, Lineage, LoadedModel, MeasuredChange, ModelCard, ModelDirectory, beside_the_model,
        check_can_be_made, load_model_dir, save_model_dir, weights_sha256,
    },
    config::{Coverage, Precision, Reuse, RunConfig, Tokenizer, counted, grouped},
    convert::{
        ConvertError, Converted, Lenders, ModelOnText, PairsLeftOut, Price, Progress, can_be_priced, check, convert,
        price,
    },
    data::memory,
    hub,
    model::Model,
    objective::Batch,
    protocol::{Approximation, Event, JobLabel, Target, WorkKind, commands, events},
    train::evaluate,
};

impl Job for commands::Convert {
    type Output = events::Converted;

    const NAME: &'static str = "convert";
    const PLACE: Place = Place::BehindAnswers;

    fn label(&self) -> JobLabel {
        JobLabel::of_target(WorkKind::Convert, Subject::name(&self.target))
    }

    fn anchor(&mut self) {
        self.data = self.data.take().map(|data| Box::new(hub::anchored_data(*data, &self.base_dir)));
    }

    fn threads(&self) -> Threads {
        Threads::Pool(self.threads)
    }

    fn run(&self, context: &JobContext) -> Result<Self::Output, JobError> {
        run(context, self)
    }

    fn failure(&self, context: &JobContext) -> String {
        format!("{} could not be converted.", Subject::called(&context.store, &self.target))
    }

    #[cfg(test)]
    fn example(folder: &Path) -> Self {
        Self {
            target: Target::Directory(folder.join("absent")),
            conversion: crate::convert::Conversion::examples().remove(0),
            to: folder.join("converted"),
            data: None,
            examples: 1,
            tokens: None,
            threads: None,
            base_dir: folder.to_owned(),
        }
    }
}

fn run(context: &JobContext, job: &commands::Convert) -> Result<events::Converted, JobError> {
    let control = &*context.control;
    let named = Subject::name(&job.target);
    let begun = Instant::now();
    if job.to.is_file() || std::fs::read_dir(&job.to).is_ok_and(|mut entries| entries.next().is_some()) {
        let why = format!(
            "{} is there already. Name a directory that is empty or does not exist yet, so that nothing is overwritten.",
            job.to.display()
        );
        return Err(JobError::refusal(why));
    }
    check_can_be_made(&job.to).map_err(|error| JobError::refusal(error.to_string()))?;
    let (directory, stored) = subject::open(&context.store, &job.target).map_err(JobError::refusal)?;
    let of_run = stored.as_ref().is_some_and(|stored| stored.config.precision == Precision::F64);
    let dtype = if of_run { DType::F64 } else { DType::F32 };
    let loaded = load_model_dir(&directory, dtype, &Device::Cpu);
    let loaded = loaded.map_err(|error| JobError::refusal(error.to_string()))?;
    context.send_notes(&loaded);
    check(&loaded.plan, &job.conversion)?;
    let text = Text::of(context, job, &loaded)?;
    let mut pace = Pace::default();
    let mut each = |progress: Progress<'_>| {
        if pace.is_due() {
            context.outbox.send(events::Converting {
                attention: progress.attention.to_owned(),
                number: progress.number,
                count: progress.count,
                start: progress.start,
                sweep: progress.sweep,
                relative_error: progress.relative_error,
            });
        }
        if control.should_stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let on_text = text.as_ref().ok().map(|text| OnText { context, job, loaded: &loaded, text });
    let on_text = on_text.as_ref().map(|on_text| on_text as &dyn ModelOnText);
    let made = convert((&loaded.plan, &loaded.parameters), &job.conversion, on_text, &mut each)?;
    if text.is_ok() {
        let (number, count) = (made.attentions.len(), made.attentions.len());
        let comparing = Event::Converting(events::Converting {
            attention: String::new(),
            number,
            count,
            start: 0,
            sweep: 0,
            relative_error: 0.0,
        });
        context.outbox.send(comparing);
    }
    let (price, unpriced) = match &text {
        Ok(text) => text.price(&loaded, &made, job, control)?,
        Err(why) => (None, Some(why.to_string())),
    };
    let told =
        stored.as_ref().map_or_else(|| named.clone(), |stored| format!("{named}, step {}", grouped(stored.step)));
    let (run, step) = stored.as_ref().map(|stored| (stored.run.to_string(), stored.step)).unzip();
    let attentions = made.attentions.iter().filter_map(|one| {
        Some(AttentionError { attention: one.attention.clone(), relative_error: one.relative_error? })
    });
    let lineage = Lineage {
        from: directory.display().to_string(),
        run,
        step,
        weights_sha256: weights_sha256(&directory).map_err(failure)?,
        by: [Some(job.conversion.label()), made.found.clone()].into_iter().flatten().collect::<Vec<_>>().join("; "),
        attentions: attentions.collect(),
        measured: price.as_ref().map(measured),
        before: loaded.lineage.clone().map(Box::new),
    };
    let config = loaded.config.clone().or_else(|| stored.map(|stored| stored.config));
    let config = config.map(|config| config_of(config, &made, &job.to));
    // Asked once more before anything is written: the last attention may have needed no search.
    if control.should_stop() {
        return Err(ConvertError::Stopped.into());
    }
    let name = job.to.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let card = ModelCard { name, ..ModelCard::default() };
    let tensors = made.parameters.tensors();
    let contents = ModelDirectory {
        tokenizer_json: loaded.tokenizer_json.as_deref(),
        config: config.as_ref(),
        lineage: Some(&lineage),
        labels: loaded.labels.as_ref(),
        normalisation: loaded.normalisation.as_ref(),
        card: Some(&card),
        ..ModelDirectory::of(&made.plan, &tensors)
    };
    let saved = save_model_dir(&job.to, &contents).map_err(failure)?;
    let left_out = match &job.target {
        Target::Directory(_) => {
            beside_the_model(&directory).into_iter().filter(|name| !job.to.join(name).exists()).collect()
        }
        Target::Run { .. } => Vec::new(),
    };
    Ok(events::Converted {
        target: told,
        conversion: job.conversion.clone(),
        path: job.to.clone(),
        bytes: saved.bytes,
        parameters_before: loaded.parameters.count(),
        parameters: made.parameters.count(),
        attentions: made.attentions,
        found: made.found,
        price,
        unpriced,
        left_out,
        seconds: begun.elapsed().as_secs_f64(),
    })
}

/// A model and the text that a conversion depends on.
struct OnText<'a> {
    context: &'a JobContext,
    job: &'a commands::Convert,
    loaded: &'a LoadedModel,
    text: &'a Text,
}

impl ModelOnText for OnText<'_> {
    fn lenders(&self, similarity: f64) -> Result<Lenders, ConvertError> {
        Ok(self.text.lenders(similarity, self.job, &self.context.control)?)
    }

    fn leave_out(&self, coverage: &Coverage, examples: usize) -> Result<PairsLeftOut, ConvertError> {
        let Self { context, loaded, text, .. } = self;
        let control = &*context.control;
        let wanted = Approximation { coverage: coverage.clone(), examples };
        let model = (&loaded.plan, &loaded.parameters);
        // A run's pairs come from what it was trained on, which is not what it is measured on.
        if self.job.data.is_none() && text.subject.has_text {
            let corpus = Some(&text.subject.corpus);
            let tokenizer = text.subject.corpus.tokenizer.to_json();
            Ok(approximate(context, model, &wanted, (&text.subject.config, tokenizer), corpus, text.tokens, control)?)
        } else {
            let held_out = text.subject.held_out(text.at_once, text.tokens).map_err(JobError::refusal)?;
            let batches = held_out.spread(examples, text.at_once);
            Ok(approximate_from(model, &wanted, batches, text.tokens, control)?)
        }
    }
}

impl From<JobError> for ConvertError {
    fn from(JobError { why, is_refusal, is_stop }: JobError) -> Self {
        Self::Text { why, is_refusal, is_stop }
    }
}

/// The text on which models are compared.
struct Text {
    subject: Subject,
    tokens: usize,
    at_once: usize,
}

/// Whether a row of a batch has no padding.
fn has_whole_row(batch: &Batch) -> bool {
    let is_whole = |row: &[u8]| row.iter().all(|key| *key != 0);
    batch.key_mask.as_ref().is_none_or(|mask| mask.chunks(batch.sequence.max(1)).any(is_whole))
}

impl Text {
    /// The text of a job, or in words why there is none where none has to be.
    fn of(
        context: &JobContext,
        job: &commands::Convert,
        loaded: &LoadedModel,
    ) -> Result<Result<Self, Refusal>, JobError> {
        let is_needed = job.data.is_some() || job.conversion.needs_text();
        // A directory of ours says on which text it was trained.
        let has_none = matches!(job.target, Target::Directory(_)) && loaded.config.is_none();
        if !is_needed && has_none {
            return Ok(Err("no text was named on which to compare it with what it was made from".into()));
        }
        if !can_be_priced(&loaded.plan) && !is_needed {
            return Ok(Err("maps of encoder-decoders and of models that read images are not compared yet".into()));
        }
        if is_needed && job.data.is_none() && has_none {
            return Err(ConvertError::NoText.into());
        }
        let read = || {
            let subject = Subject::load_on_processor(&context.store, &job.target, job.data.as_deref(), &|_| ())?;
            subject.require_analysable()?;
            let tokens = job.tokens.unwrap_or_else(|| subject.tokens());
            subject.require_positions(tokens)?;
            let at_once = examples_at_once(subject.model.plan(), tokens);
            if !subject.held_out(at_once, tokens)?.spread(job.examples, at_once).any(|batch| has_whole_row(&batch)) {
                return Err(Refusal::NoWholeExample { text: subject.data, tokens });
            }
            Ok(Self { subject, tokens, at_once })
        };
        match read() {
            Err(why) if is_needed => Err(JobError::refusal(why)),
            text => Ok(text),
        }
    }

    /// Chooses who borrows from whom at a similarity.
    fn lenders(&self, similarity: f64, job: &commands::Convert, control: &JobControl) -> Result<Lenders, JobError> {
        let held_out = self.subject.held_out(self.at_once, self.tokens).map_err(JobError::refusal)?;
        let spec = AnalysisSpec {
            examples: job.examples,
            tokens: Some(self.tokens),
            similarity: vec![Measure::TotalVariation],
            spectrum: None,
            captured: false,
            reconstruction: None,
            ..AnalysisSpec::default()
        };
        let wanted = AnalysisContext {
            spec: &spec,
            examples: held_out.spread_count(job.examples),
            tokens: self.tokens,
            bases: &[],
            free: memory::free_bytes().map(|free| free - free / 8),
            tell: &|_, _| {},
            should_stop: &|| control.should_stop(),
        };
        let found = analyse(&self.subject.model, &mut held_out.spread(job.examples, self.at_once), &wanted);
        let found = found.map_err(|error| match error {
            AnalysisError::Stopped => ConvertError::Stopped.into(),
            error => JobError::from(error),
        })?;
        let Some(measured) = found.similarity(Measure::TotalVariation) else {
            return Err(JobError::failure("The similarity of its maps could not be measured."));
        };
        let plan = &self.subject.model.plan().stack.head_plan;
        let borrowing = Borrowing::new(plan, measured);
        if borrowing.count(similarity) == 0 {
            let most = borrowing.steps().first().copied();
            let why = most.map_or_else(
                || "It has one layer of heads that compute, so that none could borrow.".to_owned(),
                |most| {
                    format!(
                        "No head's map is that similar to one of an earlier layer; the most similar two reach {most:.4}. Choose \
                         a similarity of at most that."
                    )
                },
            );
            return Err(JobError::refusal(why));
        }
        let given = Reuse::Custom(plan.to_custom());
        let advice = HeadAdvice::new(&borrowing, similarity, &given).map_err(|problems| {
            JobError::failure(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
        })?;
        let mean = advice.mean_similarity.map(|mean| format!(", {mean:.3} alike in the mean")).unwrap_or_default();
        let summary = format!("{} of {} borrow{mean}", advice.borrowers(), counted(advice.maps as u64, "head"));
        Ok(Lenders { heads: advice.plan, reuse: advice.reuse, summary })
    }

    /// What the conversion changed, or why that is not known.
    fn price(
        &self,
        loaded: &LoadedModel,
        converted: &Converted,
        job: &commands::Convert,
        control: &JobControl,
    ) -> Result<(Option<Price>, Option<String>), JobError> {
        let before = Model::frozen(&loaded.plan, &loaded.parameters).map_err(failure)?;
        let after = Model::frozen(&converted.plan, &converted.parameters).map_err(failure)?;
        let held_out = self.subject.held_out(self.at_once, self.tokens).map_err(JobError::refusal)?;
        let batches = || held_out.spread(job.examples, self.at_once);
        let should_stop = || control.should_stop();
        let found = price([&before, &after], batches(), &should_stop)?.ok_or(ConvertError::Stopped)?;
        let predicts = self.subject.require_predictions().is_ok();
        let loss = |model: &Model| {
            if !predicts {
                return Ok(None);
            }
            let found = evaluate(model, &self.subject.objective, batches(), &should_stop).map_err(failure)?;
            let found = found.ok_or(ConvertError::Stopped)?;
            Ok::<_, JobError>(found.loss.is_finite().then_some(found.loss))
        };
        let data = self.subject.data.clone();
        Ok((Some(Price { data, loss_before: loss(&before)?, loss: loss(&after)?, ..found }), None))
    }
}

/// For the lineage.
fn measured(price: &Price) -> MeasuredChange {
    let distances: Vec<f64> = price.layers.iter().filter_map(|layer| layer.map_distance).collect();
    MeasuredChange {
        data: price.data.clone(),
        examples: price.examples,
        tokens: price.tokens,
        map_distance: (!distances.is_empty()).then(|| distances.iter().sum::<f64>() / distances.len() as f64),
        output_error: price.layers.last().map_or(0.0, |layer| layer.output_error),
        loss_before: price.loss_before,
        loss: price.loss,
    }
}

fn failure(error: impl std::fmt::Display) -> JobError {
    JobError::failure(error.to_string())
}

/// The config of a run that would train the model that came out, in the directory `to`.
fn config_of(mut config: RunConfig, made: &Converted, to: &Path) -> RunConfig {
    // What it was trained from has other attention; tokens of that model are those of this one.
    let has_its_tokens = matches!(config.data.tokenizer, Tokenizer::Initial(_));
    config.model.initial = has_its_tokens.then(|| absolute(to).as_deref().unwrap_or(to).display().to_string());
    let plan = &made.plan;
    let attention = &mut config.attention;
    attention.compatibility = plan.stack.compatibility.clone();
    let cross = plan.stack.cross.as_ref().map(|cross| &cross.compatibility);
    let encoder = plan.encoder.as_deref().map(|encoder| &encoder.compatibility);
    for (answers, compatibility) in [(&mut attention.cross, cross), (&mut attention.encoder, encoder)] {
        if let (Some(answers), Some(compatibility)) = (answers, compatibility) {
            answers.compatibility = Some(compatibility.clone());
        }
    }
    if let Some(reuse) = &made.reuse {
        attention.reuse = reuse.clone();
    }
    if let Some(coverage) = &made.coverage {
        attention.coverage = coverage.clone();
    }
    // Layers that were chosen to match parameters are those of the model now.
    if attention.match_parameters.take().is_some() {
        config.model.layers = plan.stack.layers;
    }
    config
}
