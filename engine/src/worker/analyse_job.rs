use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use rayon::ThreadPoolBuilder;

use super::{
    Event, Subspace, Target,
    job::AnalyseJob,
    job_context::{JobContext, STACK_BYTES},
    job_control::JobControl,
    job_error::JobError,
    subject::Subject,
};
use crate::{
    analysis::{
        Analysis, AnalysisContext, AnalysisError, AnalysisSpec, Basis, ScoreSpectra, SpectrumSpec, Topic, analyse,
        examples_at_once,
    },
    config::{DataConfig, FileTokenizer, Tokenizer, counted},
    data::memory,
};

/// Between two readings of progress.
const APART: Duration = Duration::from_millis(50);

/// Text with the tokenizer by which it was read: of a model directory that of the directory.
fn as_read(mut text: Box<DataConfig>, target: &Target) -> Box<DataConfig> {
    if let Target::Directory(path) = target {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.clone()).join("tokenizer.json");
        text.tokenizer = Tokenizer::File(FileTokenizer { path });
    }
    text
}

/// Analyses the attention of a run's checkpoint or of a model directory, and keeps the result.
pub(super) fn analyse_job(context: &JobContext, job: AnalyseJob, control: &JobControl) {
    let end = |complete, error: Option<JobError>, unwritten: Option<String>| {
        let is_refusal = error.as_ref().is_some_and(|error| error.is_refusal);
        let (analysis, why) = (job.analysis.clone(), error.map(|error| error.why));
        context.outbox.send(Event::AnalyseEnded { analysis, complete, why, is_refusal, unwritten });
    };
    let pool = ThreadPoolBuilder::new()
        .stack_size(STACK_BYTES)
        .thread_name(|index| format!("headroom-analyse-{index}"))
        .build();
    let outcome = match pool {
        Ok(pool) => pool.install(|| carry_out(context, &job, control)),
        Err(error) => {
            Err(Some(JobError::failure(format!("The threads of the analysis could not be started: {error}."))))
        }
    };
    crate::ops::release_buffers();
    match outcome {
        Ok((analysis, run)) => {
            let written = context.store.record_analysis(&job.analysis, run.as_ref(), &job.spec, &analysis);
            // What was found out is shown all the same.
            context.outbox.send(Event::Analysed { analysis: job.analysis.clone(), result: Box::new(analysis.light()) });
            end(true, None, written.err().map(|error| error.to_string()));
        }
        Err(error) => end(false, error, None),
    }
}

/// What was found out, or why not; no reason when the user stopped it.
fn carry_out(
    context: &JobContext,
    job: &AnalyseJob,
    control: &JobControl,
) -> Result<(Analysis, Option<crate::store::RunId>), Option<JobError>> {
    let started = Instant::now();
    let named = Subject::called(&context.store, &job.target);
    let failed = |error: JobError| Some(error.told(|why| format!("Could not analyse the attention of {named}. {why}")));
    let refused = |why: String| failed(JobError::refusal(why));
    let stages = 1 + job.subspaces.len();
    let told = RefCell::new(None::<(Instant, String)>);
    let tell = |stage: usize, what: &str, fraction: f64| {
        let is_new = |(at, said): &(Instant, String)| at.elapsed() >= APART || said != what;
        if told.borrow().as_ref().is_none_or(is_new) || fraction == 0.0 {
            told.replace(Some((Instant::now(), what.to_owned())));
            context.outbox.send(Event::Analysing {
                analysis: job.analysis.clone(),
                stage: what.to_owned(),
                fraction: (stage as f64 + fraction) / stages as f64,
            });
        }
    };
    tell(0, "Loading the model", 0.0);
    let subject = Subject::load(context, &job.target, job.data.as_deref(), job.spec.shuffled).map_err(refused)?;
    subject.require_analysable().map_err(refused)?;
    let tokens = job.spec.tokens.unwrap_or_else(|| subject.tokens());
    subject.require_positions(tokens).map_err(refused)?;
    let stage = |stage: usize, subject: &Subject, spec: &AnalysisSpec, bases: &[Basis]| {
        let at_once = examples_at_once(subject.model.plan(), tokens);
        let held_out = subject.held_out(at_once, tokens).map_err(|why| Some(JobError::refusal(why)))?;
        let wanted = AnalysisContext {
            spec,
            examples: held_out.spread_count(spec.examples),
            tokens,
            bases,
            free: memory::free_bytes().map(|free| free - free / 8),
            tell: &|doing, fraction| tell(stage, &format!("{} {}", doing.words(), subject.named), fraction),
            should_stop: &|| {
                control.wait_while_paused();
                control.should_stop()
            },
        };
        analyse(&subject.model, held_out.spread(spec.examples, at_once), &wanted)
            .map_err(|error| (!matches!(error, AnalysisError::Stopped)).then(|| JobError::from(error)))
    };
    let ended = |error: Option<JobError>| error.and_then(failed);
    let (mut bases, mut of_spaces) = (Vec::new(), Vec::new());
    for (number, Subspace { target, data }) in job.subspaces.iter().enumerate() {
        let other = Subject::load(context, target, data.as_deref(), None).map_err(refused)?;
        other.require_analysable().map_err(refused)?;
        let components = job.spec.spectrum.as_ref().map_or(SpectrumSpec::default().components, |spec| spec.components);
        let spec = AnalysisSpec {
            similarity: Vec::new(),
            captured: false,
            reconstruction: None,
            spectrum: Some(SpectrumSpec {
                components,
                patterns: components,
                heads: false,
                queries: false,
                row_mean_subtracted: false,
                ..SpectrumSpec::default()
            }),
            ..job.spec.clone()
        };
        if tokens > other.model.plan().stack.longest() {
            let (name, most) = (&other.named, other.model.plan().stack.longest());
            return Err(refused(format!(
                "{name} reads at most {most} tokens, so that its space cannot be found with examples of {tokens} tokens."
            )));
        }
        let found = stage(number, &other, &spec, &[]).map_err(ended)?;
        if found.spectra.as_ref().is_some_and(ScoreSpectra::is_sketched) {
            of_spaces.push(format!(
                "The space of {} was found from a sketch: that of its true first components can hold more.",
                other.named
            ));
        }
        let directions = found.spectra.map(|spectra| spectra.patterns).unwrap_or_default();
        bases.push(Basis { name: format!("{} on {}", other.named, other.data), directions });
    }
    let mut found = stage(stages - 1, &subject, &job.spec, &bases).map_err(ended)?;
    found.note(Topic::Spectra, of_spaces);
    let (mut notes, mut topics) = (found.notes.clone(), found.topics.clone());
    let given = found.examples;
    if given < job.spec.examples as u64 {
        topics.insert(0, Topic::Analysis);
        notes.insert(
            0,
            format!(
                "The text has {} of {}, fewer than asked for.",
                counted(given, "whole example"),
                counted(tokens, "token")
            ),
        );
    }
    let analysis = Analysis {
        target: subject.named.clone(),
        step: subject.step,
        data: subject.data.clone(),
        text: job.data.clone().map(|text| as_read(text, &job.target)),
        is_own_text: subject.is_own_text,
        notes,
        topics,
        secs: started.elapsed().as_secs_f64(),
        ..found
    };
    Ok((analysis, subject.run))
}
