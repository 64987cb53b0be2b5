use super::{
    context::JobContext,
    coverage,
    error::JobError,
    job::{Job, Place},
    mistakes::mistakes,
    subject::Subject,
};
use crate::{
    checkpoint::file_name,
    config::{AttentionConfig, attention_words},
    data::FieldNames,
    hub,
    model::{EmbeddingNoise, Model},
    objective::{Batch, ConfusionMatrix, LearnedTask},
    protocol::{EvaluationCounts, JobLabel, NoisyEvaluation, WorkKind, commands, events},
    train::{AgreementMeasure, TranslationMeasure, evaluate},
};

impl Job for commands::Evaluate {
    type Output = events::Evaluation;

    const NAME: &'static str = "evaluate";
    const PLACE: Place = Place::First;

    fn label(&self) -> JobLabel {
        JobLabel::of_target(WorkKind::Evaluate, Subject::name(&self.target))
    }

    fn anchor(&mut self) {
        self.data = self.data.take().map(|data| Box::new(hub::anchored_data(*data, &self.base_dir)));
    }

    fn run(&self, context: &JobContext) -> Result<Self::Output, JobError> {
        measure(context, self)
    }

    fn failure(&self, context: &JobContext) -> String {
        format!("{} could not be evaluated.", Subject::called(&context.store, &self.target))
    }

    #[cfg(test)]
    fn example(folder: &std::path::Path) -> Self {
        Self {
            target: crate::protocol::Target::Directory(folder.join("absent")),
            data: None,
            labels: Box::default(),
            coverage: None,
            tokens: None,
            noise: Vec::new(),
            noise_seed: 1,
            mistakes: 0,
            precision: None,
            base_dir: folder.to_owned(),
        }
    }
}

/// Options of `headroom eval` for fields of its data.
const OPTIONS: FieldNames = &[("data.text", "--text"), ("data.label", "--label"), ("task.unlabelled", "--unlabelled")];

fn measure(context: &JobContext, job: &commands::Evaluate) -> Result<events::Evaluation, JobError> {
    let control = &*context.control;
    let named_data = (job.data.as_deref(), &*job.labels);
    let mut subject =
        Subject::load_to_evaluate(context, &job.target, named_data, job.precision).map_err(|refusal| {
            // Data that were named with the job are those of a command.
            JobError::refusal(if job.data.is_some() { refusal.named(OPTIONS) } else { refusal })
        })?;
    // Those of its own text were told when it was trained.
    for message in subject.corpus.warnings.iter().filter(|_| job.data.is_some()) {
        context.outbox.send(events::Warning { run: None, message: message.clone() });
    }
    subject.require_predictions().map_err(JobError::refusal)?;
    let length = job.tokens.unwrap_or_else(|| subject.tokens());
    subject.require_positions(length).map_err(JobError::refusal)?;
    let mut score_error = None;
    if let Some(wanted) = &job.coverage {
        subject.require_analysable().map_err(JobError::refusal)?;
        if !subject.has_text {
            let why = "Pairs and directions come from the text that a model was trained on, and this folder does not say \
                       which; name a run.";
            return Err(JobError::refusal(why));
        }
        let own = job.data.is_none().then_some(&subject.corpus);
        let model = (subject.model.plan(), &subject.parameters);
        let tokenizer = subject.corpus.tokenizer.to_json();
        let found = coverage::approximate(context, model, wanted, (&subject.config, tokenizer), own, length, control)?;
        subject.model = Model::frozen_at(&found.plan, &found.parameters, subject.precision).map_err(failure)?;
        score_error = Some(found.score_error);
    }
    let held_out = subject.held_out(subject.batch(length), length).map_err(JobError::refusal)?;
    let limit = if job.data.is_some() { 0 } else { subject.config.evaluation_size() };
    let stopped = || JobError::stopped("It was stopped.");
    let should_stop = || control.should_stop();
    let mut found = evaluate(&subject.model, &subject.objective, held_out.batches(limit), &should_stop)
        .map_err(failure)?
        .ok_or_else(stopped)?;
    if !found.loss.is_finite() {
        return Err(not_finite(&subject, found.loss));
    }
    // What a model makes of the grammar is asked of one that learnt it.
    if job.data.is_none() && subject.has_text {
        let measure = AgreementMeasure::new(&subject.config.data, &subject.objective, &subject.corpus.tokenizer);
        if let Some(measure) = measure.map_err(failure)? {
            let more = measure.measure(&subject.model, held_out.batches(limit), &should_stop).map_err(failure)?;
            found.metrics.extend(more.ok_or_else(stopped)?);
        }
    }
    let translation =
        TranslationMeasure::new(&subject.config, &subject.corpus.tokenizer, &held_out).map_err(failure)?;
    let mut counts = EvaluationCounts {
        questions: found.questions.map(|[all, _]| all),
        questions_with_answer: found.questions.map(|[_, answered]| answered),
        left_out: Some(subject.corpus.left_out as u64).filter(|count| *count > 0),
        ..EvaluationCounts::default()
    };
    if let Some(translation) = translation {
        let more = translation.measure(&subject.model, &should_stop).map_err(failure)?;
        found.metrics.extend(more.ok_or_else(stopped)?);
        (counts.translations, counts.pairs) = (Some(translation.pairs()), Some(held_out.windows() as u64));
        counts.unscored_references = Some(translation.unscored()).filter(|unscored| !unscored.is_none());
    }
    let labels = subject.corpus.labels();
    let confusion = ConfusionMatrix::of(found.class_counts.take(), labels).map(Box::new);
    let wrong = match job.mistakes {
        0 => Vec::new(),
        most => mistakes(&subject, (&held_out, limit), most, &should_stop)?.ok_or_else(stopped)?,
    };
    let noise = noisy(&subject, job, || held_out.batches(limit), &should_stop)?.ok_or_else(stopped)?;
    Ok(events::Evaluation {
        target: Subject::name(&job.target),
        loss: found.loss,
        metrics: found.metrics,
        tokens: found.tokens,
        counts,
        unit: subject.objective.task().loss_unit().to_owned(),
        sequence_length: length,
        precision: subject.precision,
        coverage: job.coverage.as_ref().map(|wanted| {
            attention_words(&AttentionConfig { coverage: wanted.coverage.clone(), ..AttentionConfig::default() })
        }),
        score_error,
        confusion,
        mistakes: wrong,
        noise,
    })
}

/// Evaluations with noise on the embeddings; none where they were cut short.
fn noisy<B: Iterator<Item = Batch>>(
    subject: &Subject,
    job: &commands::Evaluate,
    batches: impl Fn() -> B,
    should_stop: &dyn Fn() -> bool,
) -> Result<Option<Vec<NoisyEvaluation>>, JobError> {
    if job.noise.is_empty() {
        return Ok(Some(Vec::new()));
    }
    subject.require_analysable().map_err(JobError::refusal)?;
    let (mut sum, mut tokens) = (0.0, 0);
    for batch in batches() {
        if should_stop() {
            return Ok(None);
        }
        let (more, count) =
            subject.model.embedding_lengths(&batch.input(&subject.model).map_err(failure)?).map_err(failure)?;
        (sum, tokens) = (sum + more, tokens + count);
    }
    let mean = sum / tokens as f64;
    let mut all = Vec::with_capacity(job.noise.len());
    for share in &job.noise {
        let noise = EmbeddingNoise { length: share * mean, seed: job.noise_seed };
        let model = subject.model.clone().with_noise(Some(noise));
        let Some(found) = evaluate(&model, &subject.objective, batches(), should_stop).map_err(failure)? else {
            return Ok(None);
        };
        all.push(NoisyEvaluation { noise: *share, loss: found.loss, metrics: found.metrics });
    }
    Ok(Some(all))
}

/// Why a loss that is no number is no answer: which weights are to blame, where some are.
fn not_finite(subject: &Subject, loss: f64) -> JobError {
    let why = match subject.parameters.first_non_finite() {
        Ok(Some(name)) => format!(
            "The loss is {loss}: the weights `{}` hold numbers that are not finite. Take an earlier checkpoint; this one \
             was damaged or its run diverged.",
            file_name(subject.model.plan(), &name)
        ),
        Ok(None) => format!(
            "The loss is {loss}, though all weights are finite: numbers overflow on the way through the model. Take an \
             earlier checkpoint; this one diverged."
        ),
        Err(error) => return failure(error),
    };
    JobError::failure(why)
}

fn failure(error: impl std::fmt::Display) -> JobError {
    JobError::failure(error.to_string())
}
