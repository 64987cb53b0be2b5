//! What the scheduler does with jobs that measure: analyses of attention, advice from them, benchmarks.

use std::path::Path;

use super::{
    super::{
        Event, Target, Ticket, Which,
        job::{AnalyseJob, Job, JobLabel, MeasureJob, Work},
        subject::Subject,
    },
    Scheduler,
};
use crate::{
    analysis::{AnalysisSpec, NOT_YET},
    config::RunConfig,
    store::{Advised, AnalysisId, BenchmarkId, StoreError},
};

impl Scheduler {
    pub(super) fn compare_domains(
        &mut self,
        config: RunConfig,
        base_dir: &Path,
        tag: String,
        spec: &AnalysisSpec,
        analyses: [AnalysisId; 4],
    ) -> Result<(), StoreError> {
        if config.model.encoder_depth().is_some() {
            self.outbox.send(Event::Refused { why: NOT_YET.to_owned() });
            return Ok(());
        }
        let of = |shuffled: bool| {
            let mut config = config.clone();
            config.data.shuffled = shuffled;
            config.name = format!("{}, {}", config.name, if shuffled { "shuffled" } else { "in order" });
            config
        };
        let runs = self.enqueue(vec![of(false), of(true)], base_dir, &[tag])?;
        let pairs = runs.iter().flat_map(|run| [false, true].map(|shuffled| (run, shuffled)));
        let jobs: Vec<AnalyseJob> = pairs
            .zip(analyses)
            .map(|((run, shuffled), analysis)| AnalyseJob {
                analysis,
                target: Target::Run { run: run.clone(), which: Which::Best },
                data: None,
                spec: AnalysisSpec { shuffled: Some(shuffled), ..spec.clone() },
                subspaces: Vec::new(),
            })
            .collect();
        for job in jobs {
            self.analyse(job);
        }
        Ok(())
    }

    pub(super) fn train_advice(
        &mut self,
        config: RunConfig,
        again: Option<RunConfig>,
        base_dir: &Path,
        tag: &str,
        mut advised: Advised,
    ) -> Result<(), StoreError> {
        self.store.run(advised.source.as_str())?;
        let configs: Vec<RunConfig> = again.into_iter().chain([config]).collect();
        let runs = self.enqueue(configs, base_dir, &[tag.to_owned()])?;
        let Some((run, beside)) = runs.split_last() else { return Ok(()) };
        advised.beside = beside.first().cloned();
        self.store.record_advice(run, &advised)?;
        self.store.add_tag(&advised.source, tag)?;
        self.send_advice()?;
        self.send_runs()
    }

    pub(super) fn send_advice(&self) -> Result<(), StoreError> {
        self.outbox.send(Event::Advice { advice: self.store.advice()? });
        Ok(())
    }

    pub(super) fn analyse(&mut self, job: AnalyseJob) {
        let (analysis, target) = (job.analysis.clone(), Subject::name(&job.target));
        let run = match &job.target {
            Target::Run { run, .. } => Some(run.clone()),
            Target::Directory(_) => None,
        };
        let position = self.queue.len() + usize::from(self.current.is_some());
        self.outbox.send(Event::AnalyseQueued { analysis, run, target, position });
        self.queue.push_back(Job { outbox: self.outbox.clone(), work: Work::Analyse(Box::new(job)) });
        self.next_job();
    }

    pub(super) fn cancel_analysis(&mut self, analysis: &AnalysisId) {
        if let Some(current) = self.current.as_ref().filter(|current| current.label.analysis() == Some(analysis)) {
            current.control.stop();
        } else if let Some(job) = self.take_waiting(|label| label.analysis() == Some(analysis)) {
            job.outbox.send(Event::AnalyseEnded {
                analysis: analysis.clone(),
                complete: false,
                why: None,
                is_refusal: false,
                unwritten: None,
            });
        }
    }

    /// Puts a job that generates texts or converts a model before what waits, behind others of these kinds.
    pub(super) fn generate(&mut self, work: Work) {
        let is_before = |job: &Job| matches!(job.work, Work::Generate(_) | Work::Prove(_) | Work::Convert(_));
        let place = self.queue.iter().take_while(|job| is_before(job)).count();
        self.queue.insert(place, Job { outbox: self.outbox.clone(), work });
        self.next_job();
    }

    /// Ends the job that a request asked for, or takes it out of the queue, where it is of the kind that is meant.
    pub(super) fn cancel_answer(&mut self, asked: Ticket, is_kind: fn(&JobLabel) -> bool) {
        if let Some(current) = self.current.as_ref().filter(|current| current.ticket == Some(asked)) {
            if is_kind(&current.label) {
                current.control.stop();
            }
            return;
        }
        let is_meant = |job: &Job| job.outbox.ticket() == Some(asked) && is_kind(&job.label());
        if let Some(job) = self.queue.iter().position(is_meant).and_then(|place| self.queue.remove(place)) {
            job.outbox.send(Event::Refused { why: "It was taken out of the queue before it began.".to_owned() });
            self.send_queue();
        }
    }

    pub(super) fn send_analyses(&mut self) -> Result<(), StoreError> {
        let analyses = self.store.analyses()?;
        self.analyses_sent = Some(analyses.clone());
        self.outbox.send(Event::Analyses { analyses });
        Ok(())
    }

    /// Tells of analyses that another program kept, deleted or brought back.
    pub(super) fn look_after_analyses(&mut self) {
        if let Some(sent) = &self.analyses_sent
            && self.store.analyses().is_ok_and(|now| now != *sent)
            && let Err(error) = self.send_analyses()
        {
            self.fail(None, &error);
        }
    }

    pub(super) fn measure(&mut self, job: MeasureJob) {
        let (benchmark, name) = (job.benchmark.clone(), job.name.clone());
        if let Err(error) = job.spec.points() {
            let why = Some(error.to_string());
            self.outbox.send(Event::MeasureEnded { benchmark, name, complete: false, why });
            return;
        }
        let position = self.queue.len() + usize::from(self.current.is_some());
        self.outbox.send(Event::MeasureQueued { benchmark, name, position });
        self.queue.push_back(Job { outbox: self.outbox.clone(), work: Work::Measure(Box::new(job)) });
        self.next_job();
    }

    pub(super) fn cancel_measure(&mut self, benchmark: &BenchmarkId) {
        if let Some(current) = self.current.as_ref().filter(|current| current.label.benchmark() == Some(benchmark)) {
            current.control.stop();
        } else if let Some(Job { outbox, work: Work::Measure(job) }) =
            self.take_waiting(|label| label.benchmark() == Some(benchmark))
        {
            let MeasureJob { benchmark, name, .. } = *job;
            outbox.send(Event::MeasureEnded { benchmark, name, complete: false, why: None });
        }
    }

    pub(super) fn send_benchmarks(&mut self) -> Result<(), StoreError> {
        let benchmarks = self.store.benchmarks()?;
        self.benchmarks_sent = Some(benchmarks.clone());
        self.outbox.send(Event::Benchmarks { benchmarks });
        Ok(())
    }

    /// Sends the benchmarks again where another program changed them since somebody asked for them.
    pub(super) fn look_after_benchmarks(&mut self) {
        if let Some(sent) = &self.benchmarks_sent
            && self.store.benchmarks().is_ok_and(|now| now != *sent)
            && let Err(error) = self.send_benchmarks()
        {
            self.fail(None, &error);
        }
    }
}
