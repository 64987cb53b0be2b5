//! Every command and every event goes over the wire and comes back as it was.

use std::path::PathBuf;

use proptest::prelude::*;

use super::{
    Approximation, Command, DeviceInfo, Event, GenerateSource, GpuReading, JobLabel, MapText, ModelCost, Notice,
    PrecisionProof, Rebuild, Request, RunEdit, Subspace, Target, Ticket, TokenCost, Which, WrittenText, from_line,
    to_line,
};
use crate::{
    advise::{Costs, Prediction, Wishes},
    analysis::{
        Analysis, AnalysisSpec, MapThumbnails, Measure, ReconstructionSpec, Similarity, SpectrumSpec,
        reconstruction::RebuiltMap,
    },
    attention::{HeadAt, ModelPlan},
    checkpoint::{DirectoryFacts, FileFacts},
    config::{Cache, Compatibility, Coverage, DataConfig, NormPlacement, Objective, Precision, Problem, RunConfig},
    convert::{Conversion, ConvertedAttention, LayerPrice, Price, ToCollaborative},
    generate::{BeamNode, CacheProof, Ending, ProvedCache, Search, SourceAttention},
    hub::{
        CachedModel, CommitHash, FetchRequest, Fetched, FetchedFile, Gating, HubFacts, InterruptedFetch, PushContents,
        Pushed, RemoteArchitecture, RemoteFile, RepoFacts, RepoKind, RepoName, Revision,
    },
    objective::{Direction, Measurements, Sums, text_scores::TEXT_SCORES},
    speed::{
        AttentionGroup, GenerationMeasurement, GenerationSpec, GenerationTime, GroupTime, LargestBatch, MachineLimits,
        Outcome, PointResult, SideResult, Spread, SweepResult, SweepSpec,
    },
    store::{
        AdviceRecord, Advised, AnalysisSummary, AttemptRecord, BenchmarkRecord, BenchmarkSummary, CheckpointKind,
        CheckpointRecord, Cut, DamagedRun, Deleted, DeletedKind, Divergence, Failure, Machine, Parent, PurgeReport,
        RunId, RunRecord, RunState, RunSummary, SeriesData, SeriesSummary, SnapshotData, SnapshotRecord, TextSample,
    },
    train::{Activity, Health},
};

/// What the values of one case are made of.
#[derive(Clone, Debug)]
struct Parts {
    text: String,
    maybe: Option<String>,
    whole: u64,
    count: usize,
    signed: i64,
    /// Any, also not finite.
    any: f64,
    /// Finite.
    finite: f64,
    yes: bool,
    ids: [RunId; 4],
}

fn parts() -> impl Strategy<Value = Parts> {
    let numbers = (any::<u64>(), any::<u32>(), any::<i64>(), any_float(), finite_float(), any::<bool>());
    (any::<String>(), any::<Option<String>>(), numbers).prop_map(|(text, maybe, numbers)| {
        let (whole, count, signed, any, finite, yes) = numbers;
        Parts { text, maybe, whole, count: count as usize, signed, any, finite, yes, ids: RunId::distinct() }
    })
}

/// Numbers of every length, down to the last place.
fn finite_float() -> impl Strategy<Value = f64> {
    use proptest::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    NORMAL | SUBNORMAL | ZERO | POSITIVE | NEGATIVE
}

fn any_float() -> impl Strategy<Value = f64> {
    prop_oneof![finite_float(), Just(f64::NAN), Just(f64::INFINITY), Just(f64::NEG_INFINITY)]
}

impl Parts {
    fn id(&self) -> RunId {
        self.ids[0].clone()
    }

    fn path(&self) -> PathBuf {
        PathBuf::from(&self.text)
    }

    fn maybe_any(&self) -> Option<f64> {
        self.maybe.as_ref().map(|_| self.any)
    }

    fn maybe_finite(&self) -> Option<f64> {
        self.maybe.as_ref().map(|_| self.finite)
    }

    fn maybe_whole(&self) -> Option<u64> {
        self.maybe.as_ref().map(|_| self.whole)
    }

    fn config(&self) -> RunConfig {
        let families = Compatibility::examples(4, 64);
        let mut config = RunConfig { name: self.text.clone(), seed: self.whole >> 1, ..RunConfig::default() };
        config.attention.compatibility = families[self.count % families.len()].clone();
        config.train.learning_rate = self.finite;
        config.train.steps = self.maybe_whole();
        config.data.shuffled = self.yes;
        config
    }

    fn metrics(&self) -> Measurements {
        let objectives = Objective::EXAMPLES;
        let metrics = objectives[self.count % objectives.len()].task().metrics();
        let sums = Sums { loss: self.any, labelled: 4, counts: vec![self.finite] };
        Measurements::of(&metrics[1..], &sums)
    }

    fn data(&self) -> Option<Box<DataConfig>> {
        self.maybe.as_ref().map(|_| Box::new(self.config().data))
    }

    fn spec(&self) -> AnalysisSpec {
        AnalysisSpec {
            examples: self.count,
            tokens: self.maybe.as_ref().map(|_| self.count),
            shuffled: self.maybe.as_ref().map(|_| self.yes),
            similarity: vec![Measure::Cosine, Measure::TotalVariation],
            spectrum: self.maybe.as_ref().map(|_| SpectrumSpec::default()),
            reconstruction: Some(ReconstructionSpec { head: Some(HeadAt::new(1, 2)), ..ReconstructionSpec::default() }),
            ..AnalysisSpec::default()
        }
    }

    fn sweep(&self) -> SweepSpec {
        let axes = vec!["train.batch=1,2".parse().unwrap()];
        SweepSpec {
            base: self.config(),
            axes,
            steps: self.count,
            memory_bytes: self.maybe_whole(),
            generation: self.maybe_whole().map(|_| GenerationSpec { beams: self.count, ..GenerationSpec::default() }),
            ..SweepSpec::default()
        }
    }

    fn target(&self) -> Target {
        if self.yes {
            Target::Run { run: self.id(), which: Which::Step(self.whole) }
        } else {
            Target::Directory(self.path())
        }
    }

    fn rebuild(&self) -> Rebuild {
        Rebuild { analysis: self.id(), scope: self.count, layer: 1, head: 2, k: self.count }
    }

    fn advised(&self) -> Advised {
        let costs = |parameters| Costs {
            parameters,
            forward_flops_per_example: 1,
            flops_per_step: 2,
            activation_bytes: 3,
            model_bytes: 4,
            memory_bytes: 5,
        };
        Advised {
            source: self.id(),
            beside: Some(self.ids[1].clone()),
            step: self.maybe_whole(),
            words: self.text.clone(),
            prediction: Prediction {
                wishes: Wishes { similarity: self.maybe_finite(), ..Wishes::USUAL },
                present: costs(self.whole),
                proposed: costs(7),
                heads: None,
                dimensions: None,
                pairs: None,
            },
        }
    }

    fn health(&self) -> Health {
        let (since_step, loss) = (self.whole, self.finite);
        let all = [
            Health::Sound,
            Health::Plateau { since_step, loss },
            Health::Stalled { after_step: since_step, secs: loss, during: Activity::Checkpoint },
            Health::Unstable { since_step, loss, best: 1.5, best_step: 3 },
            Health::Diverged { since_step, loss, best: 1.5, best_step: 3 },
        ];
        all[self.count % all.len()]
    }

    fn machine(&self) -> Machine {
        Machine { cpu: self.text.clone(), cores: 3, os: self.text.clone() }
    }

    fn summary(&self) -> RunSummary {
        let series = SeriesSummary {
            last: self.any,
            last_step: self.whole,
            best: self.maybe_finite(),
            best_step: self.maybe_whole(),
            direction: Direction::Lower,
            count: 3,
        };
        RunSummary {
            id: self.id(),
            number: self.whole,
            name: self.text.clone(),
            state: RunState::Diverged,
            seed: self.whole,
            device: self.text.clone(),
            threads: 2,
            parameters: self.maybe_whole(),
            flops_per_step: None,
            train_tokens: self.maybe_whole(),
            held_out_hash: self.maybe.clone(),
            created_ms: self.signed,
            started_ms: Some(self.signed),
            ended_ms: None,
            steps_done: self.whole,
            steps_total: self.maybe_whole(),
            tokens: self.whole,
            train_secs: self.finite,
            failure: Some(Failure { why: self.text.clone(), what_to_do: String::new() }),
            diverged: Some(Divergence { step: self.whole, at: self.maybe.clone() }),
            health: self.maybe.as_ref().map(|_| self.health()),
            parent: Some(Parent { run: self.id(), step: self.whole }),
            note: self.text.clone(),
            tags: vec![self.text.clone()],
            archived: self.yes,
            deleted_ms: None,
            metrics: [(self.text.clone(), series)].into(),
        }
    }

    fn analysis(&self) -> Box<Analysis> {
        let mean = vec![1.0, self.any, self.any, 1.0];
        let similarity = Similarity { measure: Measure::Cosine, layers: 2, heads: 1, examples: self.whole, mean };
        Box::new(Analysis {
            target: self.text.clone(),
            step: self.maybe_whole(),
            similarity: vec![similarity],
            secs: self.finite,
            ..Analysis::default()
        })
    }

    fn snapshot(&self) -> SnapshotRecord {
        SnapshotRecord {
            id: self.signed,
            step: self.whole,
            kind: self.text.clone(),
            layer: self.maybe.as_ref().map(|_| 3),
            head: None,
            dtype: "f32".to_owned(),
            shape: vec![self.whole],
            created_ms: self.signed,
            bytes: self.whole,
        }
    }

    fn point(&self) -> PointResult {
        let largest_batch = LargestBatch {
            batch: self.count,
            needed_bytes: 1,
            free_bytes: 2,
            machine_free_bytes: self.maybe_whole(),
            peak_memory_bytes: None,
            is_confirmed: self.yes,
            run_secs: self.maybe_whole().map(|_| self.finite),
        };
        let group = GroupTime { group: AttentionGroup::Attend, seconds: self.finite, flops: 1.5, bytes: 2.0 };
        let generated = GenerationMeasurement {
            times: vec![GenerationTime { total_secs: self.finite, reading_secs: 0.5 }],
            total_secs: Spread { lower: 1.0, median: self.finite, upper: 2.0 },
            reading_secs: self.finite,
            texts: self.whole,
            tokens: self.whole,
            parameters: 1,
            cache_bytes: self.whole,
            predicted_cache_bytes: 2,
            predicted_memory_bytes: 3,
            groups: vec![group],
            reading_groups: Vec::new(),
            step_secs: self.finite,
        };
        let side = |outcome| SideResult { side: self.text.clone(), outcome, largest_batch: Some(largest_batch) };
        let sides = vec![
            side(Outcome::OutOfMemory { needed_bytes: self.whole, free_bytes: 1 }),
            side(Outcome::Invalid { reason: self.text.clone() }),
            side(Outcome::Generated(Box::new(generated))),
        ];
        PointResult { settings: Vec::new(), sides, in_turns: self.yes }
    }

    fn limits(&self) -> MachineLimits {
        MachineLimits { product_flops_per_sec: self.finite, copy_bytes_per_sec: self.finite, threads: self.count }
    }

    fn benchmark(&self) -> BenchmarkSummary {
        BenchmarkSummary {
            id: self.id(),
            number: self.whole,
            name: self.text.clone(),
            created_ms: self.signed,
            ended_ms: None,
            machine: self.machine(),
            program_version: self.text.clone(),
            git_commit: self.maybe.clone(),
            git_dirty: self.maybe.as_ref().map(|_| self.yes),
            device: self.text.clone(),
            device_name: None,
            driver: self.maybe.clone(),
            threads: 1,
            precision: "f32".to_owned(),
            points: self.whole,
            points_total: self.whole,
        }
    }

    fn deleted(&self) -> Deleted {
        Deleted {
            kind: DeletedKind::Analysis,
            number: self.signed,
            id: self.text.clone(),
            name: self.text.clone(),
            deleted_ms: self.signed,
            bytes: self.whole,
            folder: self.maybe.as_ref().map(PathBuf::from),
            refused: self.maybe.clone(),
        }
    }

    fn labels(&self) -> Vec<JobLabel> {
        let (name, target) = (self.text.clone(), self.text.clone());
        vec![
            JobLabel::Train { run: self.id(), name: name.clone() },
            JobLabel::Evaluate { target: target.clone() },
            JobLabel::Generate { target: target.clone() },
            JobLabel::Measure { benchmark: self.id(), name },
            JobLabel::Analyse { analysis: self.id(), target: target.clone() },
            JobLabel::Convert { target },
        ]
    }

    fn conversion(&self) -> Conversion {
        let (d_k, random_starts, seed) = (self.count, 3, self.whole);
        Conversion::Collaborative(ToCollaborative { d_k, random_starts, seed, sweeps: 4, tolerance: self.finite })
    }

    fn repo(&self) -> RepoName {
        format!("org-{}/m.{}", self.count, self.whole).parse().unwrap()
    }

    fn commit(&self) -> CommitHash {
        format!("{:040x}", self.whole).parse().unwrap()
    }

    fn fetch_request(&self) -> FetchRequest {
        let kind = if self.yes { RepoKind::Dataset } else { RepoKind::Model };
        let only = vec!["a b/c.txt".parse().unwrap()];
        FetchRequest { kind, name: self.repo(), revision: "refs/pr/1".parse().unwrap(), only }
    }

    fn facts(&self) -> DirectoryFacts {
        DirectoryFacts {
            path: self.path(),
            class: Some(self.text.clone()),
            dtype: None,
            architecture: self.text.clone(),
            norm: NormPlacement::Post,
            layers: self.count,
            heads: self.count,
            width: self.count,
            feed_forward: self.count,
            positions: self.count,
            vocabulary: self.count,
            parameters: self.whole,
            tensors: Vec::new(),
            files: Vec::new(),
            config: None,
            config_toml: None,
            lineage: None,
            training: None,
            further: None,
            why_not_further: Some(self.text.clone()),
        }
    }

    fn costs(&self) -> Vec<TokenCost> {
        vec![TokenCost { seconds: self.any, bytes: self.whole }]
    }

    fn numbers(&self) -> Vec<f32> {
        vec![self.any as f32, 0.1, f32::NAN]
    }
}

fn plan() -> ModelPlan {
    ModelPlan::resolve(&RunConfig::default(), 300).unwrap()
}

/// Values of every variant: without one this does not compile.
macro_rules! every {
    ($of:ty, { $($variant:pat => $value:expr,)* }) => {{
        let _is_complete = |value: &$of| match value { $($variant => (),)* };
        let values: Vec<$of> = vec![$({
            let value: $of = $value;
            assert!(matches!(value, $variant), "{value:?} is not {}", stringify!($variant));
            value
        },)*];
        values
    }};
}

fn commands(p: &Parts) -> Vec<Command> {
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

fn events(p: &Parts) -> Vec<Event> {
    let (run, text) = (p.id(), p.text.clone());
    let mut labels = p.labels();
    every!(Event, {
        Event::Queued { .. } => Event::Queued { run: run.clone(), name: text.clone(), number: p.whole, position: p.count },
        Event::Queue { .. } => Event::Queue { current: labels.pop(), is_paused: p.yes, waiting: labels.clone() },
        Event::Done => Event::Done,
        Event::Preparing { .. } => Event::Preparing { run: run.clone(), stage: text.clone(), fraction: p.finite },
        Event::Started { .. } => Event::Started {
            run: run.clone(),
            name: text.clone(),
            parameters: p.whole,
            first_step: 1,
            steps: 2,
            device: text.clone(),
            threads: p.count,
            vocabulary: p.count,
            train_tokens: 3,
            validation_tokens: 4,
            flops_per_step: p.whole,
            parameter_match: p.maybe.clone(),
        },
        Event::Step { .. } => Event::Step {
            run: run.clone(),
            step: p.whole,
            steps: p.whole,
            loss: p.any,
            learning_rate: p.finite,
            grad_norm: p.any,
            tokens_per_sec: p.any,
            tokens: p.whole,
            eta_secs: p.any,
        },
        Event::Evaluated { .. } => Event::Evaluated {
            run: run.clone(),
            step: p.whole,
            loss: p.any,
            metrics: p.metrics(),
            best: p.yes,
        },
        Event::Health { .. } => Event::Health { run: run.clone(), step: p.whole, health: p.health(), message: text.clone() },
        Event::Sample { .. } => Event::Sample { run: run.clone(), step: p.whole, text: text.clone() },
        Event::BegunWith { .. } => Event::BegunWith {
            run: run.clone(),
            model: text.clone(),
            weights_sha256: p.maybe.as_ref().map(|_| text.clone()),
            taken: p.count,
            fresh: vec![text.clone()],
            left_out: vec![text.clone()],
        },
        Event::PairsChosen { .. } => Event::PairsChosen { run: run.clone(), step: p.whole, k: p.count, score_error: p.any, samples: 3 },
        Event::Checkpointed { .. } => Event::Checkpointed { run: run.clone(), step: p.whole, path: p.path(), bytes: p.whole, best: p.yes },
        Event::Paused { .. } => Event::Paused { run: run.clone(), step: p.whole },
        Event::Resumed { .. } => Event::Resumed { run: run.clone(), step: p.whole },
        Event::Failed { .. } => Event::Failed { run: p.maybe.as_ref().map(|_| run.clone()), why: text.clone(), what_to_do: text.clone() },
        Event::Refused { .. } => Event::Refused { why: text.clone() },
        Event::Warning { .. } => Event::Warning { run: None, message: text.clone() },
        Event::Finished { .. } => Event::Finished {
            run: run.clone(),
            name: text.clone(),
            state: RunState::Stopped,
            step: p.whole,
            loss: p.maybe_any(),
            best_validation_loss: p.maybe_any(),
            best_step: p.maybe_whole(),
            train_secs: p.finite,
            why: p.maybe.clone(),
            unwritten: p.maybe.clone(),
        },
        Event::System { .. } => Event::System {
            cpu_percent: p.finite,
            memory_bytes: p.whole,
            free_bytes: p.whole,
            gpus: if p.yes {
                vec![GpuReading { device: text.clone(), memory_bytes: 1, total_bytes: p.maybe_whole(), percent: p.maybe_finite() }]
            } else {
                Vec::new()
            },
        },
        Event::Runs { .. } => Event::Runs { runs: vec![p.summary()] },
        Event::Damaged { .. } => Event::Damaged {
            runs: vec![DamagedRun { number: p.signed, id: None, name: p.maybe.clone(), deleted_ms: None, problems: vec![text.clone()] }],
        },
        Event::Deleted { .. } => Event::Deleted { deleted: vec![p.deleted()] },
        Event::Purged { .. } => Event::Purged { report: PurgeReport { purged: vec![p.deleted()], refused: Vec::new() } },
        Event::Run { .. } => Event::Run {
            record: Box::new(RunRecord {
                summary: p.summary(),
                config_toml: text.clone(),
                config: serde_json::json!({ "name": text.clone(), "n": p.whole }),
                program_version: text.clone(),
                git_commit: p.maybe.clone(),
                git_dirty: None,
                data_hash: p.maybe.clone(),
                machine: p.machine(),
                attempts: vec![AttemptRecord { attempt: 1, first_step: p.whole, started_ms: p.signed, ended_ms: None }],
            }),
            checkpoints: vec![CheckpointRecord {
                step: p.whole,
                path: p.path(),
                kind: CheckpointKind::Best,
                metric: p.maybe.clone(),
                value: p.maybe_finite(),
                bytes: p.whole,
                created_ms: p.signed,
                problem: p.maybe.clone(),
            }],
            folder: p.path(),
        },
        Event::Series { .. } => Event::Series {
            run: run.clone(),
            series: text.clone(),
            whole: p.yes,
            data: SeriesData {
                steps: vec![p.whole; 2],
                values: vec![p.any, p.finite],
                wall_ms: vec![1, 2],
                tokens: vec![3, 4],
                cuts: vec![Cut { attempt: 1, first_step: p.whole, index: 0 }],
                is_whole: p.yes,
                cursor: None,
            },
        },
        Event::Samples { .. } => Event::Samples {
            run: run.clone(),
            samples: vec![TextSample { step: p.whole, text: text.clone(), created_ms: p.signed }],
        },
        Event::Checked { .. } => Event::Checked {
            revision: p.whole,
            problems: vec![Problem::new(text.clone(), text.clone())],
            free_bytes: p.maybe_whole(),
        },
        Event::Evaluation { .. } => Event::Evaluation {
            target: text.clone(),
            loss: p.any,
            metrics: p.metrics(),
            tokens: p.whole,
            sequence_length: p.count,
            coverage: p.maybe.clone(),
            score_error: p.maybe_any(),
        },
        Event::Generating { .. } => Event::Generating {
            source: p.count,
            step: p.count,
            text: text.clone(),
            seconds: p.any,
            cache_bytes: p.whole,
            tokens: vec![p.count as u32, 1],
            pieces: vec![text.clone(), String::new()],
            costs: p.costs(),
        },
        Event::Generated { .. } => Event::Generated {
            target: text.clone(),
            texts: vec![WrittenText {
                text: text.clone(),
                tokens: vec![p.count as u32, 0],
                ending: Ending::Positions,
                score: p.any,
                pieces: vec![text.clone()],
                costs: p.costs(),
                source: vec![text.clone(), text.clone()],
                tree: vec![BeamNode {
                    parent: p.yes.then_some(p.count),
                    token: 3,
                    group: 1,
                    log_probability: p.any,
                    score: p.maybe_any(),
                    is_running: p.yes,
                }],
                tree_pieces: vec![text.clone()],
                attention: p.yes.then(|| {
                    Box::new(SourceAttention { layers: 1, tokens: 1, source: 3, values: p.numbers() })
                }),
            }],
            seconds: p.any,
            reading_seconds: p.any,
            cache_bytes: p.whole,
            stopped: p.yes,
        },
        Event::ProvingCaches { .. } => Event::ProvingCaches { label: text.clone(), fraction: p.any },
        Event::CachesProved { .. } => Event::CachesProved {
            target: text.clone(),
            data: text.clone(),
            proofs: vec![PrecisionProof {
                precision: Precision::F16,
                proof: CacheProof {
                    texts: p.count,
                    tokens: 5,
                    caches: vec![ProvedCache {
                        cache: Cache::default(),
                        identical: p.count,
                        as_reference: p.yes.then_some(p.count),
                        largest_difference: p.any,
                        cache_bytes: p.whole,
                        seconds: p.any,
                        why: p.maybe.clone(),
                    }],
                    stopped: p.yes,
                },
            }],
            stopped: p.yes,
        },
        Event::Translating { .. } => Event::Translating { done: p.count, pairs: p.count },
        Event::TranslationEvaluated { .. } => Event::TranslationEvaluated {
            target: text.clone(),
            data: text.clone(),
            pairs: p.count,
            metrics: Measurements::of_values(TEXT_SCORES, [p.any; 6]),
            tokens: p.count,
            seconds: p.any,
            reading_seconds: p.any,
            samples_per_sec: p.any,
            cache: text.clone(),
            cache_bytes: p.whole,
            beams: p.count,
            batch: p.count,
            cut_sources: p.count,
            unknown_sources: p.count,
            stopped: p.yes,
            translations: vec![text.clone()],
        },
        Event::ModelDescribed { .. } => Event::ModelDescribed { target: p.target(), facts: Box::new(p.facts()) },
        Event::PlanRead { .. } => Event::PlanRead { target: p.target(), plan: Box::new(plan()) },
        Event::ConversionPreviewed { .. } => Event::ConversionPreviewed {
            target: p.target(),
            conversion: p.conversion(),
            before: ModelCost { parameters: p.whole, forward_flops: 7, tokens: p.count },
            after: Some(ModelCost::default()),
        },
        Event::Converting { .. } => Event::Converting {
            attention: text.clone(),
            number: p.count,
            count: p.count,
            start: 1,
            sweep: 2,
            relative_error: p.any,
        },
        Event::Converted { .. } => Event::Converted {
            target: text.clone(),
            conversion: p.conversion(),
            path: PathBuf::from(&text),
            bytes: p.whole,
            parameters_before: p.whole,
            parameters: 3,
            attentions: vec![ConvertedAttention {
                attention: text.clone(),
                relative_error: Some(p.finite),
                sweeps: p.count,
                seconds: p.finite,
            }],
            found: Some(text.clone()),
            price: Some(Price {
                data: text.clone(),
                examples: p.count,
                tokens: p.count,
                layers: vec![LayerPrice { layer: 1, map_distance: Some(p.finite), output_error: p.finite }],
                loss_before: Some(p.finite),
                loss: None,
            }),
            unpriced: Some(text.clone()),
            seconds: p.any,
        },
        Event::HubDescribed { .. } => Event::HubDescribed {
            facts: Box::new(HubFacts {
                endpoint: text.clone(),
                cache: p.path(),
                has_token: p.yes,
                is_offline: !p.yes,
                models: vec![CachedModel {
                    name: p.repo(),
                    commit: p.commit(),
                    revisions: vec![Revision::default()],
                    path: p.path(),
                    bytes: p.whole,
                }],
                interrupted: vec![InterruptedFetch { name: p.repo(), bytes: p.whole }],
            }),
        },
        Event::Inspected { .. } => Event::Inspected {
            facts: Box::new(RepoFacts {
                kind: RepoKind::Model,
                name: p.repo(),
                revision: Revision::default(),
                commit: p.commit(),
                private: p.yes,
                gated: Gating::Terms,
                licence: p.maybe.clone(),
                task: p.maybe.clone(),
                updated: None,
                parameters: p.maybe_whole(),
                architecture: p.yes.then(|| RemoteArchitecture {
                    model_type: p.maybe.clone(),
                    layers: p.maybe_whole(),
                    ..RemoteArchitecture::default()
                }),
                opens: Some(p.yes),
                refusal: p.maybe.clone(),
                files: vec![RemoteFile { path: "config.json".parse().unwrap(), bytes: p.maybe_whole() }],
                bytes: p.whole,
                bytes_here: p.whole / 2,
                folder: p.path(),
                other_files: p.count,
                problem: p.maybe.clone(),
            }),
        },
        Event::Fetching { .. } => Event::Fetching {
            name: p.repo(),
            file: text.clone(),
            number: 1,
            count: p.count,
            bytes: p.whole,
            total_bytes: 3,
            bytes_per_sec: p.any,
        },
        Event::Fetched { .. } => Event::Fetched {
            fetched: Box::new(Fetched {
                kind: RepoKind::Dataset,
                name: p.repo(),
                commit: p.commit(),
                path: p.path(),
                files: vec![FetchedFile { path: "a/b.txt".parse().unwrap(), bytes: p.whole, downloaded: 1 }],
            }),
            bytes: p.whole,
            downloaded: 1,
            seconds: p.any,
        },
        Event::Pushing { .. } => Event::Pushing {
            name: p.repo(),
            file: text.clone(),
            number: 1,
            count: p.count,
            bytes: p.whole,
            total_bytes: 3,
            bytes_per_sec: p.any,
        },
        Event::Pushed { .. } => Event::Pushed {
            target: text.clone(),
            pushed: Box::new(Pushed {
                name: p.repo(),
                url: text.clone(),
                commit: p.yes.then(|| p.commit()),
                is_new: p.yes,
                public: p.yes,
                files: vec![text.clone()],
                bytes: p.whole,
                sent: 1,
                left_out: Vec::new(),
            }),
            seconds: p.any,
        },
        Event::PushPreviewed { .. } => Event::PushPreviewed {
            target: p.target(),
            contents: Box::new(PushContents {
                files: vec![FileFacts { name: text.clone(), bytes: p.whole }],
                left_out: vec![text.clone()],
            }),
            bytes: p.whole,
        },
        Event::Exported { .. } => Event::Exported {
            run: run.clone(),
            step: p.whole,
            path: p.path(),
            opens_in_transformers: p.yes,
            reason: text.clone(),
        },
        Event::Devices { .. } => Event::Devices {
            devices: vec![DeviceInfo {
                id: text.clone(),
                name: text.clone(),
                available: p.yes,
                note: p.maybe.clone(),
                memory_bytes: p.maybe_whole(),
                free_bytes: None,
                cores: Some(p.count),
                driver: p.maybe.clone(),
            }],
        },
        Event::MeasureQueued { .. } => Event::MeasureQueued { benchmark: run.clone(), name: text.clone(), position: p.count },
        Event::Measuring { .. } => Event::Measuring {
            benchmark: run.clone(),
            point: 1,
            points: p.count,
            label: text.clone(),
            fraction: p.finite,
        },
        Event::MeasuredPoint { .. } => Event::MeasuredPoint {
            benchmark: run.clone(),
            limits: p.maybe.as_ref().map(|_| p.limits()),
            point: Some(Box::new(p.point())),
        },
        Event::MeasureEnded { .. } => Event::MeasureEnded { benchmark: run.clone(), name: text.clone(), complete: p.yes, why: p.maybe.clone() },
        Event::Benchmarks { .. } => Event::Benchmarks { benchmarks: vec![p.benchmark()] },
        Event::Benchmark { .. } => Event::Benchmark {
            record: Box::new(BenchmarkRecord {
                summary: p.benchmark(),
                spec: p.sweep(),
                results: SweepResult { limits: Some(p.limits()), points: vec![p.point()], is_complete: p.yes },
            }),
        },
        Event::AnalyseQueued { .. } => Event::AnalyseQueued {
            analysis: run.clone(),
            run: p.maybe.as_ref().map(|_| run.clone()),
            target: text.clone(),
            position: p.count,
        },
        Event::Analysing { .. } => Event::Analysing { analysis: run.clone(), stage: text.clone(), fraction: p.finite },
        Event::Analysed { .. } => Event::Analysed { analysis: run.clone(), result: p.analysis() },
        Event::AnalyseEnded { .. } => Event::AnalyseEnded { analysis: run.clone(), complete: p.yes, why: p.maybe.clone(), is_refusal: p.yes },
        Event::Analyses { .. } => Event::Analyses {
            analyses: vec![AnalysisSummary {
                id: run.clone(),
                number: p.whole,
                run: None,
                target: text.clone(),
                step: p.maybe_whole(),
                data: text.clone(),
                shuffled: p.maybe.as_ref().map(|_| p.yes),
                examples: p.whole,
                tokens: p.whole,
                created_ms: p.signed,
                reconstructs: p.yes,
            }],
        },
        Event::Advice { .. } => Event::Advice {
            advice: vec![AdviceRecord { run: run.clone(), created_ms: p.signed, advised: p.advised() }],
        },
        Event::Snapshot { .. } => Event::Snapshot { run: run.clone(), step: p.whole, secs: p.finite },
        Event::LiveAnalyses { .. } => Event::LiveAnalyses { run: run.clone(), steps: vec![p.whole, 3] },
        Event::LiveAnalysis { .. } => Event::LiveAnalysis { run: run.clone(), result: p.analysis() },
        Event::Snapshots { .. } => Event::Snapshots { run: run.clone(), kind: text.clone(), snapshots: vec![p.snapshot()] },
        Event::SnapshotData { .. } => Event::SnapshotData {
            snapshot: Box::new(SnapshotData { record: p.snapshot(), data: text.clone().into_bytes() }),
        },
        Event::Maps { .. } => Event::Maps {
            view: p.whole,
            target: text.clone(),
            step: p.maybe_whole(),
            tokens: vec![text.clone()],
            thumbnails: Box::new(MapThumbnails { layers: 1, heads: 1, side: 1, values: p.numbers() }),
        },
        Event::Map { .. } => Event::Map { view: p.whole, layer: 1, head: p.count, values: p.numbers() },
        Event::Rebuilt { .. } => Event::Rebuilt {
            view: p.whole,
            rebuild: p.rebuild(),
            rebuilt: p.maybe.as_ref().map(|_| Box::new(RebuiltMap { scores: p.numbers(), map: p.numbers(), ..RebuiltMap::default() })),
            why: p.maybe.clone(),
        },
        Event::Ended => Event::Ended,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_command_comes_back_as_it_was(parts in parts()) {
        for command in commands(&parts) {
            let request = Request::from(command);
            let line = to_line(&request).unwrap();
            prop_assert!(line.ends_with('\n') && line.lines().count() == 1);
            let back: Request = from_line(&line).map_err(|error| TestCaseError::fail(format!("{error}: {line}")))?;
            prop_assert_eq!(format!("{back:?}"), format!("{request:?}"));
        }
    }

    #[test]
    fn every_event_comes_back_as_it_was(parts in parts()) {
        for event in events(&parts) {
            let notice = Notice { ticket: parts.yes.then(Ticket::new), event };
            let line = to_line(&notice).unwrap();
            prop_assert!(line.ends_with('\n') && line.lines().count() == 1);
            let back: Notice = from_line(&line).map_err(|error| TestCaseError::fail(format!("{error}: {line}")))?;
            prop_assert_eq!(format!("{back:?}"), format!("{notice:?}"));
        }
    }
}

#[test]
fn the_wire_is_one_flat_object_a_line() {
    let request = Request::from(Command::LoadRun { run: "0bkq3m5x2a".parse().unwrap() });
    let ticket = to_line(&request.ticket).unwrap();
    let expected = format!("{{\"ticket\":{},\"command\":\"load_run\",\"run\":\"0bkq3m5x2a\"}}\n", ticket.trim());
    assert_eq!(to_line(&request).unwrap(), expected);
    assert_eq!(to_line(&Notice::from(Event::Done)).unwrap(), "{\"event\":\"done\"}\n");
    for broken in [
        "",
        "{}",
        "{\"ticket\":1}",
        "{\"ticket\":1,\"command\":\"fly\"}",
        "[1]",
        "{\"ticket\":-1,\"command\":\"stop\"}",
    ] {
        assert!(from_line::<Request>(broken).is_err(), "{broken}");
    }
    // A run's id names a folder: only an id is taken.
    assert!(from_line::<Request>("{\"ticket\":1,\"command\":\"load_run\",\"run\":\"../../x\"}").is_err());
}
