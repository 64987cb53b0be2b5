use std::{ops::ControlFlow, path::Path};

use candle_core::Device;

use super::{
    context::JobContext,
    error::JobError,
    job::{Job, Place, Threads},
    subject::{self, Subject},
    text_model::TextModel,
};
use crate::{
    config::Source,
    data::{Documents, Silent, all_pairs, held_out_pairs},
    generate::{Ending, Generated, generate_numbered},
    hub,
    objective::text_scores::TextScores,
    protocol::{JobLabel, WorkKind, commands, events},
    train::free_memory,
};

impl Job for commands::EvaluateTranslation {
    type Output = events::TranslationEvaluated;

    const NAME: &'static str = "translate";
    const PLACE: Place = Place::First;

    fn label(&self) -> JobLabel {
        JobLabel::of_target(WorkKind::Evaluate, Subject::name(&self.target))
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
        format!("{} could not be evaluated.", Subject::called(&context.store, &self.target))
    }

    #[cfg(test)]
    fn example(folder: &Path) -> Self {
        Self {
            target: crate::protocol::Target::Directory(folder.join("absent")),
            data: None,
            limit: None,
            batch: 1,
            search: Box::default(),
            words: crate::objective::text_scores::Words::default(),
            precision: crate::config::Precision::F32,
            threads: Some(1),
            base_dir: folder.to_owned(),
        }
    }
}

/// A text that is to be translated.
struct Waiting {
    /// Its pair, from 0.
    pair: usize,
    tokens: Vec<u32>,
}

fn run(context: &JobContext, job: &commands::EvaluateTranslation) -> Result<events::TranslationEvaluated, JobError> {
    let control = &*context.control;
    let text_model = TextModel::open(context, &job.target)?;
    if !text_model.plan.translates() {
        let why =
            "Only an encoder-decoder translates, and this model is none. `headroom eval` measures its loss on text.";
        return Err(JobError::refusal(why));
    }
    let (_, stored) = subject::open(&context.store, &job.target).map_err(JobError::refusal)?;
    let trained_on = stored.map(|stored| stored.config.data).or_else(|| text_model.trained_on.clone());
    let (pairs, data) = pairs(job, trained_on.as_ref())?;
    let count = job.limit.unwrap_or(usize::MAX).min(pairs.len() / 2);
    let text = |place: usize| &pairs[place];
    let (mut waiting, mut cut_sources, mut unknown_sources) = (Vec::with_capacity(count), 0, 0);
    for pair in 0..count {
        let encoded = text_model.encode(text(2 * pair))?;
        cut_sources += usize::from(encoded.is_cut);
        unknown_sources += usize::from(encoded.has_unknown);
        waiting.push(Waiting { pair, tokens: encoded.tokens });
    }
    // Texts of almost equal lengths are read, and end, together.
    waiting.sort_by_key(|waiting| (waiting.tokens.len(), waiting.pair));
    let model = text_model.model(job.precision)?;
    let mut written: Vec<Option<String>> = vec![None; count];
    let (mut tokens, mut seconds, mut reading_seconds, mut cache_bytes, mut done) = (0, 0.0, 0.0, 0, 0);
    let mut stopped = false;
    context.outbox.send(events::Translating { done, pairs: count });
    for batch in waiting.chunks(job.batch.max(1)) {
        let sources: Vec<Vec<u32>> = batch.iter().map(|waiting| waiting.tokens.clone()).collect();
        let free = free_memory(&Device::Cpu);
        let numbers: Vec<u64> = batch.iter().map(|waiting| waiting.pair as u64).collect();
        let found = generate_numbered(&model, (&sources, &numbers), &text_model.marks, &job.search, free, &mut |_| {
            stopped |= control.should_stop();
            if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let Generated { texts, seconds: more, first_seconds, filled_bytes: kept, .. } = found?;
        cache_bytes = cache_bytes.max(kept);
        if stopped {
            break;
        }
        seconds += more;
        reading_seconds += first_seconds;
        for (waiting, text) in batch.iter().zip(&texts) {
            tokens += text.tokens.len();
            debug_assert_ne!(text.ending, Ending::Stopped, "nothing stopped this text");
            if let Some(place) = written.get_mut(waiting.pair) {
                *place = Some(text_model.text(&text.tokens));
            }
        }
        done += texts.len();
        context.outbox.send(events::Translating { done, pairs: count });
    }
    if done == 0 {
        return Err(JobError::stopped("It was stopped before the first translations were written."));
    }
    let mut scores = TextScores::with_words(job.words);
    for (pair, written) in written.iter().enumerate() {
        if let Some(written) = written {
            scores.add(written, text(2 * pair + 1));
        }
    }
    Ok(events::TranslationEvaluated {
        target: Subject::name(&job.target),
        data,
        pairs: done,
        metrics: scores.measurements(),
        bleu_tokenize: job.words,
        unscored_references: scores.unscored(),
        tokens,
        seconds,
        reading_seconds,
        samples_per_sec: done as f64 / seconds,
        cache: job.search.cache.word().to_owned(),
        cache_bytes,
        beams: job.search.beams,
        batch: job.batch,
        cut_sources,
        unknown_sources,
        stopped,
        translations: written.into_iter().map(Option::unwrap_or_default).collect(),
    })
}

/// The pairs that are translated, and what they are called.
fn pairs(
    job: &commands::EvaluateTranslation,
    trained_on: Option<&crate::config::DataConfig>,
) -> Result<(Documents, String), JobError> {
    let source: &Source = match (&job.data, trained_on) {
        (Some(data), _) => &data.source,
        (None, Some(data)) => &data.source,
        (None, None) => {
            return Err(JobError::refusal("A model directory from elsewhere holds no pairs of texts. Name some."));
        }
    };
    if !source.has_pairs() {
        return Err(JobError::refusal(
            "Translations are scored on pairs of texts, not on plain text. Name some pairs.",
        ));
    }
    let (pairs, words) = match (&job.data, trained_on) {
        (None, Some(data)) => {
            let words = format!("held-out text of {}", data.source.held_out_name());
            (held_out_pairs(data, Path::new(""), &Silent), words)
        }
        _ => (all_pairs(source, Path::new(""), &Silent), source.to_string()),
    };
    let pairs = pairs.map_err(|error| JobError::refusal(error.to_string()))?;
    if pairs.len() < 2 {
        return Err(JobError::refusal(format!("There is no pair of texts in {words}.")));
    }
    Ok((pairs, words))
}
