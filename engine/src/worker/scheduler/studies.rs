//! What the scheduler does with jobs that measure: analyses of attention, advice from them, benchmarks.

use std::path::{Path, PathBuf};

use super::Scheduler;
use crate::{
    analysis::{AnalysisSpec, NOT_YET},
    config::RunConfig,
    protocol::{Target, Which, commands, events},
    store::{Advised, AnalysisId, StoreError},
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
            self.outbox.send(events::Refused { why: NOT_YET.to_owned() });
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
        let jobs: Vec<commands::Analyse> = pairs
            .zip(analyses)
            .map(|((run, shuffled), analysis)| commands::Analyse {
                analysis,
                target: Target::Run { run: run.clone(), which: Which::Best },
                data: None,
                spec: Box::new(AnalysisSpec { shuffled: Some(shuffled), ..spec.clone() }),
                subspaces: Vec::new(),
                base_dir: PathBuf::new(),
            })
            .collect();
        for job in jobs {
            self.start(Box::new(job));
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
        self.outbox.send(events::Advice { advice: self.store.advice()? });
        Ok(())
    }

    pub(super) fn send_analyses(&mut self) -> Result<(), StoreError> {
        let analyses = self.store.analyses()?;
        self.analyses_sent = Some(analyses.clone());
        self.outbox.send(events::Analyses { analyses });
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

    pub(super) fn send_benchmarks(&mut self) -> Result<(), StoreError> {
        let benchmarks = self.store.benchmarks()?;
        self.benchmarks_sent = Some(benchmarks.clone());
        self.outbox.send(events::Benchmarks { benchmarks });
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
