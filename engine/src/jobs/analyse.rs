use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use super::{
    context::JobContext,
    error::JobError,
    job::{Ending, Job, StoreList},
    subject::Subject,
};
use crate::{
    analysis::{
        Analysis, AnalysisContext, AnalysisSpec, Basis, ScoreSpectra, SpectrumSpec, Topic, analyse, examples_at_once,
    },
    config::{DataConfig, FileTokenizer, Tokenizer, counted},
    data::memory,
    hub,
    protocol::{Event, JobLabel, Subspace, Target, commands, events},
    store::{RunId, StoreError},
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
impl Job for commands::Analyse {
    type Output = events::AnalyseEnded;

    const NAME: &'static str = "analyse";
    const ADDS_TO: Option<StoreList> = Some(StoreList::Analyses);

    fn label(&self) -> JobLabel {
        JobLabel::analyse(self.analysis.clone(), Subject::name(&self.target))
    }

    fn anchor(&mut self) {
        let anchored = |data: &mut Option<Box<DataConfig>>| {
            *data = data.take().map(|data| Box::new(hub::anchored_data(*data, &self.base_dir)));
        };
        anchored(&mut self.data);
        self.subspaces.iter_mut().for_each(|other| anchored(&mut other.data));
    }

    fn queued(&self, position: usize) -> Option<Event> {
        let run = match &self.target {
            Target::Run { run, .. } => Some(run.clone()),
            Target::Directory(_) => None,
        };
        let (analysis, target) = (self.analysis.clone(), Subject::name(&self.target));
        Some(events::AnalyseQueued { analysis, run, target, position }.into())
    }

    fn run(&self, context: &JobContext) -> Result<Self::Output, JobError> {
        let (analysis, run) = analysed(context, self)?;
        let written = context.store.record_analysis(&self.analysis, run.as_ref(), &self.spec, &analysis);
        // What was found out is shown all the same.
        let result = Box::new(analysis.light());
        context.outbox.send(events::Analysed { analysis: self.analysis.clone(), result });
        let unwritten = written.err().map(|error| error.to_string());
        Ok(events::AnalyseEnded { complete: true, unwritten, ..incomplete(self) })
    }

    fn failure(&self, context: &JobContext) -> String {
        format!("Could not analyse the attention of {}.", Subject::called(&context.store, &self.target))
    }

    fn ended(&self, context: &JobContext, ending: Ending) -> Result<Event, StoreError> {
        Ok(match ending {
            Ending::Failed(error) if !error.is_stop => {
                let why = Some(format!("{} {}", self.failure(context), error.why));
                events::AnalyseEnded { why, is_refusal: error.is_refusal, ..incomplete(self) }
            }
            Ending::Failed(_) | Ending::Cancelled => incomplete(self),
        }
        .into())
    }

    fn faulted(&self, _context: &JobContext, why: &str) -> Option<Event> {
        Some(events::AnalyseEnded { why: Some(why.to_owned()), ..incomplete(self) }.into())
    }

    #[cfg(test)]
    fn example(folder: &std::path::Path) -> Self {
        Self {
            analysis: crate::store::AnalysisId::new(),
            target: Target::Directory(folder.join("absent")),
            data: None,
            spec: Box::default(),
            subspaces: Vec::new(),
            base_dir: folder.to_owned(),
        }
    }
}

/// End of an analysis that found nothing.
fn incomplete(job: &commands::Analyse) -> events::AnalyseEnded {
    let analysis = job.analysis.clone();
    events::AnalyseEnded { analysis, complete: false, why: None, is_refusal: false, unwritten: None }
}

/// The result, and the run whose attention it is.
fn analysed(context: &JobContext, job: &commands::Analyse) -> Result<(Analysis, Option<RunId>), JobError> {
    let started = Instant::now();
    let control = &*context.control;
    let stages = 1 + job.subspaces.len();
    let told = RefCell::new(None::<(Instant, String)>);
    let tell = |stage: usize, what: &str, fraction: f64| {
        let is_new = |(at, said): &(Instant, String)| at.elapsed() >= APART || said != what;
        if told.borrow().as_ref().is_none_or(is_new) || fraction == 0.0 {
            told.replace(Some((Instant::now(), what.to_owned())));
            context.outbox.send(events::Analysing {
                analysis: job.analysis.clone(),
                stage: what.to_owned(),
                fraction: (stage as f64 + fraction) / stages as f64,
            });
        }
    };
    tell(0, "Loading the model", 0.0);
    let subject =
        Subject::load(context, &job.target, job.data.as_deref(), job.spec.shuffled).map_err(JobError::refusal)?;
    subject.require_analysable().map_err(JobError::refusal)?;
    let tokens = job.spec.tokens.unwrap_or_else(|| subject.tokens());
    subject.require_positions(tokens).map_err(JobError::refusal)?;
    let stage = |stage: usize, subject: &Subject, spec: &AnalysisSpec, bases: &[Basis]| {
        let at_once = examples_at_once(subject.model.plan(), tokens);
        let held_out = subject.held_out(at_once, tokens).map_err(JobError::refusal)?;
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
        analyse(&subject.model, &mut held_out.spread(spec.examples, at_once), &wanted).map_err(JobError::from)
    };
    let (mut bases, mut of_spaces) = (Vec::new(), Vec::new());
    for (number, Subspace { target, data }) in job.subspaces.iter().enumerate() {
        let other = Subject::load(context, target, data.as_deref(), None).map_err(JobError::refusal)?;
        other.require_analysable().map_err(JobError::refusal)?;
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
            ..(*job.spec).clone()
        };
        if tokens > other.model.plan().stack.longest() {
            let (name, most) = (&other.named, other.model.plan().stack.longest());
            return Err(JobError::refusal(format!(
                "{name} reads at most {most} tokens, so that its space cannot be found with examples of {tokens} tokens."
            )));
        }
        let found = stage(number, &other, &spec, &[])?;
        if found.spectra.as_ref().is_some_and(ScoreSpectra::is_sketched) {
            of_spaces.push(format!(
                "The space of {} was found from a sketch: that of its true first components can hold more.",
                other.named
            ));
        }
        let directions = found.spectra.map(|spectra| spectra.patterns).unwrap_or_default();
        bases.push(Basis { name: format!("{} on {}", other.named, other.data), directions });
    }
    let mut found = stage(stages - 1, &subject, &job.spec, &bases)?;
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
