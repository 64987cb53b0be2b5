//! Every command.

use super::{
    super::{Approximation, Command, GenerateSource, MapText, RunEdit, Subspace, Ticket, Which},
    parts::{Parts, every},
};
use crate::{
    config::{Coverage, Precision, RunConfig},
    generate::Search,
};

pub(super) fn commands(p: &Parts) -> Vec<Command> {
    let (run, base_dir) = (p.id(), p.path());
    every!(Command, {
        Command::Enqueue { .. } => Command::Enqueue { config: Box::new(p.config()), base_dir: base_dir.clone() },
        Command::EnqueueAll { .. } =>
            Command::EnqueueAll { configs: vec![p.config(), RunConfig::default()], base_dir: base_dir.clone(), tags: vec![p.text.clone()] },
        Command::ResumeRun { .. } => Command::ResumeRun { run: run.clone() },
        Command::ListQueue => Command::ListQueue,
        Command::Cancel { .. } => Command::Cancel { run: run.clone() },
        Command::Move { .. } => Command::Move { run: run.clone(), position: p.count },
        Command::Pause => Command::Pause,
        Command::Resume => Command::Resume,
        Command::Stop => Command::Stop,
        Command::Checkpoint => Command::Checkpoint,
        Command::Evaluate { .. } => Command::Evaluate {
            target: p.target(),
            data: p.data(),
            coverage: Some(Approximation { coverage: Coverage::default(), examples: p.count }),
            tokens: Some(p.count),
            noise: vec![p.finite],
            noise_seed: p.whole,
            base_dir: base_dir.clone(),
        },
        Command::Generate { .. } => Command::Generate {
            target: p.target(),
            sources: vec![GenerateSource::Text(p.text.clone()), GenerateSource::Tokens(vec![p.count as u32])],
            batch: p.count,
            search: Box::new(Search { beams: p.count, length_penalty: p.finite, top_k: Some(p.count), ..Search::default() }),
            precision: Precision::Bf16,
            threads: Some(p.count),
            details: p.yes,
        },
        Command::ProveCaches { .. } => Command::ProveCaches {
            target: p.target(),
            sources: vec![GenerateSource::HeldOut { number: p.count, tokens: 3 }],
            examples: p.count,
            batch: 4,
            search: Box::default(),
            precisions: Precision::ALL.to_vec(),
            threads: None,
        },
        Command::CancelGeneration { .. } => Command::CancelGeneration { generation: Ticket::new() },
        Command::EvaluateTranslation { .. } => Command::EvaluateTranslation {
            target: p.target(),
            data: p.data(),
            limit: Some(p.count),
            batch: p.count,
            search: Box::new(Search { beams: p.count, length_penalty: p.finite, ..Search::default() }),
            precision: Precision::F32,
            threads: None,
            base_dir: base_dir.clone(),
        },
        Command::Predict { .. } => Command::Predict {
            target: p.target(),
            rows: vec![vec![p.text.clone(), p.text.clone()]],
            images: Some(base_dir.clone()),
        },
        Command::Convert { .. } => Command::Convert {
            target: p.target(),
            conversion: p.conversion(),
            to: base_dir.clone(),
            data: p.data(),
            examples: p.count,
            tokens: Some(p.count),
            threads: Some(p.count),
            base_dir: base_dir.clone(),
        },
        Command::DescribeModel { .. } => Command::DescribeModel { target: p.target() },
        Command::ReadPlan { .. } => Command::ReadPlan { target: p.target() },
        Command::PreviewConversion { .. } => Command::PreviewConversion {
            target: p.target(),
            conversion: p.conversion(),
        },
        Command::DescribeHub => Command::DescribeHub,
        Command::Inspect { .. } => Command::Inspect { request: p.fetch_request() },
        Command::Fetch { .. } => Command::Fetch { request: p.fetch_request() },
        Command::Push { .. } => Command::Push { target: p.target(), name: p.repo(), public: p.yes },
        Command::PreviewPush { .. } => Command::PreviewPush { target: p.target() },
        Command::CancelTransfer { .. } => Command::CancelTransfer { transfer: Ticket::new() },
        Command::CancelConversion { .. } => Command::CancelConversion { conversion: Ticket::new() },
        Command::Export { .. } => Command::Export { run: run.clone(), which: Which::Last, to: base_dir.clone() },
        Command::ListRuns => Command::ListRuns,
        Command::LoadRun { .. } => Command::LoadRun { run: run.clone() },
        Command::LoadSeries { .. } => Command::LoadSeries { run: run.clone(), series: p.text.clone(), after: None },
        Command::LoadSamples { .. } => Command::LoadSamples { run: run.clone() },
        Command::Edit { .. } => Command::Edit { run: run.clone(), edit: RunEdit::Rename(p.text.clone()) },
        Command::ListDeleted { .. } => Command::ListDeleted { before_ms: p.signed },
        Command::Purge { .. } => Command::Purge { before_ms: p.signed },
        Command::Check { .. } =>
            Command::Check { config: Box::new(p.config()), base_dir: base_dir.clone(), revision: p.whole },
        Command::Devices => Command::Devices,
        Command::Measure { .. } =>
            Command::Measure { benchmark: run.clone(), name: p.text.clone(), spec: Box::new(p.sweep()) },
        Command::CancelMeasure { .. } => Command::CancelMeasure { benchmark: run.clone() },
        Command::ListBenchmarks => Command::ListBenchmarks,
        Command::LoadBenchmark { .. } => Command::LoadBenchmark { benchmark: run.clone() },
        Command::DeleteBenchmark { .. } => Command::DeleteBenchmark { benchmark: run.clone(), deleted: p.yes },
        Command::Analyse { .. } => Command::Analyse {
            analysis: run.clone(),
            target: p.target(),
            data: p.data(),
            spec: Box::new(p.spec()),
            subspaces: vec![Subspace { target: p.target(), data: p.data() }],
            base_dir: base_dir.clone(),
        },
        Command::CompareDomains { .. } => Command::CompareDomains {
            config: Box::new(p.config()),
            base_dir: base_dir.clone(),
            tag: p.text.clone(),
            spec: Box::new(p.spec()),
            analyses: p.ids.clone(),
        },
        Command::CancelAnalysis { .. } => Command::CancelAnalysis { analysis: run.clone() },
        Command::ListAnalyses => Command::ListAnalyses,
        Command::LoadAnalysis { .. } => Command::LoadAnalysis { analysis: run.clone() },
        Command::DeleteAnalysis { .. } => Command::DeleteAnalysis { analysis: run.clone(), deleted: p.yes },
        Command::TrainAdvice { .. } => Command::TrainAdvice {
            config: Box::new(p.config()),
            again: p.maybe.as_ref().map(|_| Box::new(p.config())),
            base_dir: base_dir.clone(),
            tag: p.text.clone(),
            advised: Box::new(p.advised()),
        },
        Command::ListAdvice => Command::ListAdvice,
        Command::LoadLiveAnalyses { .. } => Command::LoadLiveAnalyses { run: run.clone() },
        Command::LoadLiveAnalysis { .. } => Command::LoadLiveAnalysis { run: run.clone(), step: p.whole },
        Command::LoadSnapshots { .. } => Command::LoadSnapshots { run: run.clone(), kind: p.text.clone() },
        Command::LoadSnapshot { .. } => Command::LoadSnapshot { id: p.signed },
        Command::LoadMaps { .. } => Command::LoadMaps {
            view: p.whole,
            target: p.target(),
            data: p.data(),
            text: if p.yes {
                MapText::Written(p.text.clone())
            } else {
                MapText::HeldOut { number: p.count, tokens: 8, examples: 4 }
            },
        },
        Command::LoadMap { .. } => Command::LoadMap { view: p.whole, layer: p.count, head: 1 },
        Command::RebuildMap { .. } => Command::RebuildMap { view: p.whole, rebuild: p.rebuild() },
        Command::Shutdown => Command::Shutdown,
    })
}
