//! What the values of commands and events are made of.

use std::path::PathBuf;

use proptest::prelude::*;

use crate::protocol::{JobLabel, JobRef, Rebuild, Target, Ticket, TokenCost, Which, WorkKind};
use crate::{
    advise::{Costs, Prediction, Wishes},
    analysis::{Analysis, AnalysisSpec, Measure, ReconstructionSpec, Similarity, SpectrumSpec},
    attention::{HeadAt, ModelFacts, ModelPlan},
    checkpoint::DirectoryFacts,
    config::{Compatibility, DataConfig, ImageShape, NormPlacement, Objective, RunConfig},
    convert::{Conversion, ToCollaborative},
    hub::{CommitHash, FetchRequest, RepoKind, RepoName},
    objective::{Direction, Measurements, Sums},
    speed::{
        AttentionGroup, GenerationMeasurement, GenerationSpec, GenerationTime, GroupTime, LargestBatch, MachineLimits,
        Outcome, PointResult, SideResult, Spread, SweepSpec,
    },
    store::{
        Advised, BenchmarkSummary, Deleted, DeletedKind, Divergence, Failure, Machine, Parent, RunId, RunState,
        RunSummary, SeriesSummary, SnapshotRecord,
    },
    train::{Activity, Health},
};

/// What the values of one case are made of.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    pub(super) text: String,
    pub(super) maybe: Option<String>,
    pub(super) whole: u64,
    pub(super) count: usize,
    pub(super) signed: i64,
    /// Any, also not finite.
    pub(super) any: f64,
    /// Finite.
    pub(super) finite: f64,
    pub(super) yes: bool,
    pub(super) ids: [RunId; 4],
}

pub(super) fn parts() -> impl Strategy<Value = Parts> {
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
    pub(super) fn id(&self) -> RunId {
        self.ids[0].clone()
    }

    pub(super) fn path(&self) -> PathBuf {
        PathBuf::from(&self.text)
    }

    pub(super) fn maybe_any(&self) -> Option<f64> {
        self.maybe.as_ref().map(|_| self.any)
    }

    pub(super) fn maybe_finite(&self) -> Option<f64> {
        self.maybe.as_ref().map(|_| self.finite)
    }

    pub(super) fn maybe_whole(&self) -> Option<u64> {
        self.maybe.as_ref().map(|_| self.whole)
    }

    pub(super) fn config(&self) -> RunConfig {
        let families = Compatibility::examples(4, 64);
        let mut config = RunConfig { name: self.text.clone(), seed: self.whole >> 1, ..RunConfig::default() };
        config.attention.compatibility = families[self.count % families.len()].clone();
        config.train.learning_rate = self.finite;
        config.train.steps = self.maybe_whole();
        config.data.shuffled = self.yes;
        config
    }

    pub(super) fn metrics(&self) -> Measurements {
        let objectives = Objective::EXAMPLES;
        let metrics = objectives[self.count % objectives.len()].task().metrics();
        let sums = Sums { loss: self.any, labelled: 4, counts: vec![self.finite], ..Sums::default() };
        Measurements::of(&metrics[1..], &sums)
    }

    pub(super) fn data(&self) -> Option<Box<DataConfig>> {
        self.maybe.as_ref().map(|_| Box::new(self.config().data))
    }

    pub(super) fn spec(&self) -> AnalysisSpec {
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

    pub(super) fn sweep(&self) -> SweepSpec {
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

    pub(super) fn target(&self) -> Target {
        if self.yes {
            Target::Run { run: self.id(), which: Which::Step(self.whole) }
        } else {
            Target::Directory(self.path())
        }
    }

    pub(super) fn rebuild(&self) -> Rebuild {
        Rebuild { analysis: self.id(), scope: self.count, layer: 1, head: 2, k: self.count }
    }

    pub(super) fn advised(&self) -> Advised {
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

    pub(super) fn health(&self) -> Health {
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

    pub(super) fn machine(&self) -> Machine {
        Machine { cpu: self.text.clone(), cores: 3, os: self.text.clone() }
    }

    pub(super) fn summary(&self) -> RunSummary {
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
            evaluated_hash: self.maybe.clone(),
            evaluated_examples: self.maybe_whole(),
            validation_examples: self.maybe_whole(),
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

    pub(super) fn plan(&self) -> ModelPlan {
        ModelPlan::resolve(&RunConfig::default(), 300 + self.count % 7).unwrap()
    }

    pub(super) fn model_facts(&self) -> ModelFacts {
        ModelFacts {
            vocabulary: Some(self.count),
            outputs: self.yes.then_some(self.count),
            initial: Some(self.plan()),
            image: Some(ImageShape { size: self.count, channels: 3 }),
        }
    }

    pub(super) fn analysis(&self) -> Box<Analysis> {
        let mean = vec![1.0, self.any, self.any, 1.0];
        let similarity = Similarity {
            measure: Measure::Cosine,
            layers: 2,
            heads: 1,
            examples: self.whole,
            mean,
            origins: vec![0, 0],
        };
        Box::new(Analysis {
            target: self.text.clone(),
            step: self.maybe_whole(),
            similarity: vec![similarity],
            secs: self.finite,
            ..Analysis::default()
        })
    }

    pub(super) fn snapshot(&self) -> SnapshotRecord {
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

    pub(super) fn point(&self) -> PointResult {
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
        PointResult { settings: Vec::new(), sides, in_turns: self.yes, others_cores: self.maybe_finite() }
    }

    pub(super) fn limits(&self) -> MachineLimits {
        MachineLimits { product_flops_per_sec: self.finite, copy_bytes_per_sec: self.finite, threads: self.count }
    }

    pub(super) fn benchmark(&self) -> BenchmarkSummary {
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

    pub(super) fn deleted(&self) -> Deleted {
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

    pub(super) fn job(&self) -> JobRef {
        if self.yes { JobRef::Ticket(Ticket::new()) } else { JobRef::Id(self.id()) }
    }

    pub(super) fn labels(&self) -> Vec<JobLabel> {
        let (name, target) = (self.text.clone(), self.text.clone());
        vec![
            JobLabel::train(self.id(), name.clone()),
            JobLabel::of_target(WorkKind::Evaluate, target.clone()),
            JobLabel::of_target(WorkKind::Generate, target.clone()),
            JobLabel::measure(self.id(), name),
            JobLabel::analyse(self.id(), target.clone()),
            JobLabel::of_target(WorkKind::Convert, target),
        ]
    }

    pub(super) fn conversion(&self) -> Conversion {
        let (d_k, random_starts, seed) = (self.count, 3, self.whole);
        Conversion::Collaborative(ToCollaborative { d_k, random_starts, seed, sweeps: 4, tolerance: self.finite })
    }

    pub(super) fn repo(&self) -> RepoName {
        format!("org-{}/m.{}", self.count, self.whole).parse().unwrap()
    }

    pub(super) fn commit(&self) -> CommitHash {
        format!("{:040x}", self.whole).parse().unwrap()
    }

    pub(super) fn fetch_request(&self) -> FetchRequest {
        let kind = if self.yes { RepoKind::Dataset } else { RepoKind::Model };
        let only = vec!["a b/c.txt".parse().unwrap()];
        FetchRequest { kind, name: self.repo(), revision: "refs/pr/1".parse().unwrap(), only }
    }

    pub(super) fn facts(&self) -> DirectoryFacts {
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
            notes: vec![self.text.clone()],
            config: None,
            config_toml: None,
            lineage: None,
            training: None,
            further: None,
            why_not_further: Some(self.text.clone()),
        }
    }

    pub(super) fn costs(&self) -> Vec<TokenCost> {
        vec![TokenCost { seconds: self.any, bytes: self.whole }]
    }

    pub(super) fn numbers(&self) -> Vec<f32> {
        vec![self.any as f32, 0.1, f32::NAN]
    }
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
pub(super) use every;
