use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{
    analysis::{Analysis, MapThumbnails, reconstruction::RebuiltMap},
    attention::{ModelFacts, ModelPlan},
    checkpoint::DirectoryFacts,
    config::{Precision, Problem, RunConfig},
    convert::{Conversion, ConvertedAttention, Price},
    data::{DataPreview, PreviewImage},
    generate::{BeamNode, CacheProof, Ending, SourceAttention},
    hub::{Fetched, HubFacts, PushContents, Pushed, RepoFacts, RepoName},
    objective::{
        ConfusionMatrix, Labels, Measurements,
        text_scores::{UnscoredReferences, Words},
    },
    speed::{MachineLimits, PointResult},
    store::{
        AdviceRecord, AnalysisId, AnalysisSummary, BenchmarkId, BenchmarkRecord, BenchmarkSummary, CheckpointRecord,
        DamagedRun, Deleted, ExampleOutcomes, OutcomeKind, PurgeReport, RunId, RunRecord, RunState, RunSummary,
        SeriesData, SnapshotData, SnapshotRecord, TextSample,
    },
    text::floats,
    train::Health,
};

use super::{DeviceInfo, Filling, GpuReading, JobLabel, Mistake, ModelCost, Rebuild, Target};

/// Everything that the engine tells. Serialised with the variant's name in `event` and flat fields.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A run was written down and waits for its turn.
    Queued {
        /// The run.
        run: RunId,
        /// Its name.
        name: String,
        /// Stable number, for its colour.
        number: u64,
        /// Runs before it in the queue.
        position: usize,
    },
    /// Answer to [`super::Command::ListQueue`], and after each change: what computes, what waits, in order.
    Queue {
        /// The job in progress.
        current: Option<JobLabel>,
        /// Whether it is paused, or will be after the step that it is in.
        is_paused: bool,
        /// The jobs that wait.
        waiting: Vec<JobLabel>,
    },
    /// The request was carried out; nothing else answers it.
    Done,
    /// Text is read, tokenised or a tokenizer trained before the first step.
    Preparing {
        /// The run.
        run: RunId,
        /// What is done, as words.
        stage: String,
        /// Share done, 0..=1.
        #[serde(with = "floats")]
        fraction: f64,
    },
    /// The first step follows.
    Started {
        /// The run.
        run: RunId,
        /// Its name.
        name: String,
        /// Trainable numbers.
        parameters: u64,
        /// Steps done before (0 for a fresh run).
        first_step: u64,
        /// Steps in all.
        steps: u64,
        /// The device in words.
        device: String,
        /// Threads used on the CPU.
        threads: usize,
        /// Tokens of vocabulary.
        vocabulary: usize,
        /// Tokens of training text.
        train_tokens: u64,
        /// Tokens of held-out text.
        validation_tokens: u64,
        /// FLOPs of one optimiser step by the cost model.
        flops_per_step: u64,
        /// What `attention.match_parameters` did, as a sentence without its full stop.
        #[serde(skip_serializing_if = "Option::is_none")]
        parameter_match: Option<String>,
    },
    /// A step is done. At most some 30 a second: steps in between are in the store.
    Step {
        /// The run.
        run: RunId,
        /// Steps done, from 1.
        step: u64,
        /// Steps in all.
        steps: u64,
        /// Mean training loss of the step in nats per token.
        #[serde(with = "floats")]
        loss: f64,
        /// Learning rate of the step.
        #[serde(with = "floats")]
        learning_rate: f64,
        /// Global gradient norm before clipping.
        #[serde(with = "floats")]
        grad_norm: f64,
        /// Training speed.
        #[serde(with = "floats")]
        tokens_per_sec: f64,
        /// Tokens trained on.
        tokens: u64,
        /// Time left.
        #[serde(with = "floats")]
        eta_secs: f64,
    },
    /// The held-out text was evaluated.
    Evaluated {
        /// The run.
        run: RunId,
        /// Steps done.
        step: u64,
        /// Mean loss in nats per token.
        #[serde(with = "floats")]
        loss: f64,
        /// The other metrics of its objective, each a field.
        #[serde(flatten)]
        metrics: Measurements,
        /// Whether it is the lowest loss so far.
        best: bool,
    },
    /// How the loss of a run behaves became another matter, or the run shows no progress; `kind` is `sound` when that is over.
    Health {
        /// The run.
        run: RunId,
        /// Steps done.
        step: u64,
        /// What holds now.
        #[serde(flatten)]
        health: Health,
        /// What was found and what to do, as sentences; empty where all is well.
        message: String,
    },
    /// The model showed what it can do: a continuation (decoder) or filled-in words (encoder).
    Sample {
        /// The run.
        run: RunId,
        /// Steps done.
        step: u64,
        /// The text.
        text: String,
    },
    /// The weights of a run begin with those of a model.
    BegunWith {
        /// The run.
        run: RunId,
        /// The model, in words: its directory, or the name of its run and the step.
        model: String,
        /// SHA-256 of its weights, where they are one file.
        weights_sha256: Option<String>,
        /// Tensors that were taken.
        taken: usize,
        /// Tensors that start fresh, since the model has none, by their names in files.
        fresh: Vec<String>,
        /// Tensors of the model that the run has no use for, by their names in files.
        left_out: Vec<String>,
    },
    /// The pairs of each row that are scored were chosen: from the next step on the others follow from them.
    PairsChosen {
        /// The run.
        run: RunId,
        /// Steps done.
        step: u64,
        /// Pairs of each row.
        k: usize,
        /// Mean squared error of the scores as a share of their mean square, 0..=1.
        #[serde(with = "floats")]
        score_error: f64,
        /// Maps of scores that were read.
        samples: u64,
    },
    /// A checkpoint was written.
    Checkpointed {
        /// The run.
        run: RunId,
        /// Steps done.
        step: u64,
        /// The model directory.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// Whether it is the best so far.
        best: bool,
    },
    /// The current run is paused.
    Paused {
        /// The run.
        run: RunId,
        /// Steps done.
        step: u64,
    },
    /// The paused run goes on.
    Resumed {
        /// The run.
        run: RunId,
        /// Steps done.
        step: u64,
    },
    /// A run or a request could not be carried out.
    Failed {
        /// The run, if one was meant.
        #[serde(skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
        /// What failed and why.
        why: String,
        /// What to do about it.
        what_to_do: String,
    },
    /// A request that cannot be carried out as it was made: what it names is not there or does not fit.
    Refused {
        /// What cannot be, why, and what to do.
        why: String,
    },
    /// Something to know that stops nothing.
    Warning {
        /// The run, if one is meant.
        #[serde(skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
        /// What happened and what to do.
        message: String,
    },
    /// A run ended; always its last event.
    Finished {
        /// The run.
        run: RunId,
        /// Its name.
        name: String,
        /// The state that was written down.
        state: RunState,
        /// Steps done.
        step: u64,
        /// Last training loss.
        #[serde(default, with = "floats", skip_serializing_if = "Option::is_none")]
        loss: Option<f64>,
        /// Best validation loss.
        #[serde(default, with = "floats", skip_serializing_if = "Option::is_none")]
        best_validation_loss: Option<f64>,
        /// Its step.
        #[serde(skip_serializing_if = "Option::is_none")]
        best_step: Option<u64>,
        /// Time spent in training steps.
        #[serde(with = "floats")]
        train_secs: f64,
        /// Why it ended early, in words.
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// Where its record is and what to do, in words, if it could not be written to the store.
        #[serde(skip_serializing_if = "Option::is_none")]
        unwritten: Option<String>,
    },
    /// What the machine is doing: once a second while a job is done, else only when it changed.
    System {
        /// Use of all cores by this program, 100 = one core.
        #[serde(with = "floats")]
        cpu_percent: f64,
        /// Resident memory of this program.
        memory_bytes: u64,
        /// Memory that is free on the machine.
        free_bytes: u64,
        /// Room on the disk that holds the store; none where it cannot be found out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disk_free_bytes: Option<u64>,
        /// What the GPUs do; none where there is none, or the program was built without.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        gpus: Vec<GpuReading>,
    },
    /// Answer to [`super::Command::ListRuns`], and after each change.
    Runs {
        /// All runs, newest first, deleted ones left out.
        runs: Vec<RunSummary>,
    },
    /// The runs whose records cannot be read; with [`Event::Runs`], whenever they are others than before.
    Damaged {
        /// These runs, in the order of their making; deleted ones left out.
        runs: Vec<DamagedRun>,
    },
    /// Answer to [`super::Command::ListDeleted`].
    Deleted {
        /// What was deleted, oldest first, with the reason where it would stay.
        deleted: Vec<Deleted>,
    },
    /// Answer to [`super::Command::Purge`].
    Purged {
        /// What is gone, and what stayed.
        #[serde(flatten)]
        report: PurgeReport,
    },
    /// Answer to [`super::Command::LoadRun`].
    Run {
        /// The run.
        record: Box<RunRecord>,
        /// Its checkpoints, by step.
        checkpoints: Vec<CheckpointRecord>,
        /// The folder that holds its files.
        folder: PathBuf,
    },
    /// Answer to [`super::Command::LoadSeries`].
    Series {
        /// The run.
        run: RunId,
        /// The series.
        series: String,
        /// Whether it starts at the beginning (else it is a continuation).
        whole: bool,
        /// The points.
        data: SeriesData,
    },
    /// Answer to [`super::Command::LoadOutcomes`].
    Outcomes {
        /// The run.
        run: RunId,
        /// The evaluation.
        kind: OutcomeKind,
        /// The outcomes; none where they were not recorded.
        outcomes: Option<Box<ExampleOutcomes>>,
    },
    /// Answer to [`super::Command::LoadSamples`].
    Samples {
        /// The run.
        run: RunId,
        /// Its text samples, in step order.
        samples: Vec<TextSample>,
    },
    /// Answer to [`super::Command::Check`].
    Checked {
        /// Which state of the config it is, as asked.
        revision: u64,
        /// What is wrong.
        problems: Vec<Problem>,
        /// Free memory on the chosen device, when known.
        free_bytes: Option<u64>,
        /// Facts about its model that its data, its tokenizer and its initial model say.
        facts: Box<ModelFacts>,
        /// The beginning of the table or of the images that the config names, if these can be read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        preview: Option<Box<DataPreview>>,
    },
    /// Answer to [`super::Command::ReadFacts`].
    FactsRead {
        /// The config, as asked.
        config: Box<RunConfig>,
        /// Folder from which its relative paths are taken.
        base_dir: PathBuf,
        /// Facts about its model.
        facts: Box<ModelFacts>,
    },
    /// Answer to [`super::Command::Evaluate`].
    Evaluation {
        /// What was evaluated, as given.
        target: String,
        /// Mean loss, in `unit`.
        #[serde(with = "floats")]
        loss: f64,
        /// The other metrics of its objective, each a field.
        #[serde(flatten)]
        metrics: Measurements,
        /// Labelled tokens, or examples, that were counted.
        tokens: u64,
        /// What its metrics are of, where that is something else.
        #[serde(default, skip_serializing_if = "EvaluationCounts::is_none")]
        counts: EvaluationCounts,
        /// The unit of the loss in words: `nats per token`, `nats per example`, `squared error per example`.
        unit: String,
        /// Tokens of an example.
        sequence_length: usize,
        /// Number format of the computation.
        #[serde(default)]
        precision: Precision,
        /// How many pairs were scored, in words, where it is not as the model was trained.
        #[serde(skip_serializing_if = "Option::is_none")]
        coverage: Option<String>,
        /// Mean squared error of the scores that this makes on the training text, as a share of their mean square.
        #[serde(default, with = "floats", skip_serializing_if = "Option::is_none")]
        score_error: Option<f64>,
        /// How often each class was predicted where each is right, where examples are classified.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        confusion: Option<Box<ConfusionMatrix>>,
        /// Examples that the model puts into another class than their own, or questions that it gives another answer, where that was
        /// asked for, the surest mistakes first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        mistakes: Vec<Mistake>,
        /// The same with noise on the embeddings, where that was asked for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        noise: Vec<NoisyEvaluation>,
    },
    /// A text grows that is being generated. At most some 30 a second of all texts together.
    Generating {
        /// Which of the sources, from 0.
        source: usize,
        /// Tokens that were chosen for it.
        step: usize,
        /// The most probable text so far; with several beams an earlier part of it may change. Token ids where there is no tokenizer.
        text: String,
        /// Time since its batch was begun.
        #[serde(with = "floats")]
        seconds: f64,
        /// What is kept between tokens.
        cache_bytes: u64,
        /// The tokens of the text so far.
        tokens: Vec<u32>,
        /// Each of them as text.
        pieces: Vec<String>,
        /// What each step cost, this one included.
        costs: Vec<TokenCost>,
    },
    /// Answer to [`super::Command::Generate`].
    Generated {
        /// The model, as given.
        target: String,
        /// The texts, in the order of the sources; those that were not begun when it was stopped are left out.
        texts: Vec<WrittenText>,
        /// Time that it took to generate them, in all.
        #[serde(with = "floats")]
        seconds: f64,
        /// The part of it in which sources were read.
        #[serde(with = "floats")]
        reading_seconds: f64,
        /// The most that was kept between tokens, room for tokens to come included.
        cache_bytes: u64,
        /// Whether it was stopped.
        stopped: bool,
        /// Keys of the model's `generation_config.json` that have no effect here.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unused_settings: Vec<String>,
        /// Settings of it that this search has others for, such as `num_beams: 4`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        other_settings: Vec<String>,
    },
    /// The caches of a model are compared. At most some 30 a second.
    ProvingCaches {
        /// What is done, in words.
        label: String,
        /// The share of the whole that is done, 0..=1.
        #[serde(with = "floats")]
        fraction: f64,
    },
    /// Answer to [`super::Command::ProveCaches`].
    CachesProved {
        /// The model, as given.
        target: String,
        /// The texts in words.
        data: String,
        /// What was found, one for each precision.
        proofs: Vec<PrecisionProof>,
        /// Whether it was stopped.
        stopped: bool,
    },
    /// Texts are being translated to score them.
    Translating {
        /// Those that are done.
        done: usize,
        /// All.
        pairs: usize,
    },
    /// Answer to [`super::Command::EvaluateTranslation`].
    TranslationEvaluated {
        /// The model, as given.
        target: String,
        /// The pairs in words.
        data: String,
        /// How many pairs were translated.
        pairs: usize,
        /// The scores, each a field, from 0 to 100.
        #[serde(flatten)]
        metrics: Measurements,
        /// Cutting of words for BLEU.
        #[serde(default)]
        bleu_tokenize: Words,
        /// References that ROUGE or BLEU says nothing of.
        #[serde(default)]
        unscored_references: UnscoredReferences,
        /// Tokens that were written, what ends texts included.
        tokens: usize,
        /// Time of all translations together.
        #[serde(with = "floats")]
        seconds: f64,
        /// The part of it in which sources were read.
        #[serde(with = "floats")]
        reading_seconds: f64,
        /// Translations a second.
        #[serde(with = "floats")]
        samples_per_sec: f64,
        /// What was kept between tokens, in a word.
        cache: String,
        /// The most that was kept, without room for tokens to come.
        cache_bytes: u64,
        /// Texts that were followed for each source.
        beams: usize,
        /// How many sources were translated at the same time.
        batch: usize,
        /// Sources that the model's positions cut off.
        cut_sources: usize,
        /// Sources with characters that the tokenizer does not know.
        unknown_sources: usize,
        /// Whether it was stopped.
        stopped: bool,
        /// The translations, in the order of the pairs.
        translations: Vec<String>,
    },
    /// A [`super::Command::Predict`] is being answered. At most some 30 a second.
    Predicting {
        /// Texts or images with an answer.
        done: usize,
        /// All of them.
        count: usize,
    },
    /// Answer to [`super::Command::Predict`].
    Predicted {
        /// The model, as given.
        target: String,
        /// What the outputs stand for.
        labels: Labels,
        /// Of each row the probabilities of all classes, in the order of the labels, or its number.
        outputs: Vec<Vec<f64>>,
        /// Rows that were longer than the model reads, and cut off.
        cut_rows: usize,
        /// The file of each image, where each is one of its own; else none.
        names: Vec<String>,
        /// The first of the images, made small; none of texts.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pictures: Vec<PreviewImage>,
    },
    /// Answer to [`super::Command::Predict`] of a model that answers questions about paragraphs.
    AnswersFound {
        /// The model, as given.
        target: String,
        /// Whether it learnt that a question may have no answer in its paragraph.
        may_lack_answers: bool,
        /// The least excess of the score of no answer over that of the best one with which no answer is given.
        no_answer_threshold: f64,
        /// Of each row.
        answers: Vec<FoundAnswer>,
        /// Questions that were longer than the model reads, and cut off.
        cut_questions: usize,
    },
    /// Answer to [`super::Command::DescribeModel`].
    ModelDescribed {
        /// The model.
        target: Target,
        /// What its files say.
        facts: Box<DirectoryFacts>,
    },
    /// Answer to [`super::Command::ReadPlan`].
    PlanRead {
        /// The model.
        target: Target,
        /// What it is.
        plan: Box<ModelPlan>,
    },
    /// Answer to [`super::Command::PreviewConversion`].
    ConversionPreviewed {
        /// The model.
        target: Target,
        /// What it would become.
        conversion: Conversion,
        /// What it costs now.
        before: ModelCost,
        /// What it would cost; none where that depends on a text.
        after: Option<ModelCost>,
    },
    /// A model is being converted. At most some 30 a second.
    Converting {
        /// The attention in progress, as in `encoder.0.self`; empty once all are converted.
        attention: String,
        /// Its number, from 0; that of all while both models are compared on a text.
        number: usize,
        /// All of them.
        count: usize,
        /// Which beginning of the search, from 0.
        start: usize,
        /// The sweep of the search, from 1.
        sweep: usize,
        /// The least error so far from this beginning, 0..=1.
        #[serde(with = "floats")]
        relative_error: f64,
    },
    /// Answer to [`super::Command::Convert`].
    Converted {
        /// The model, as given.
        target: String,
        /// What it became.
        conversion: Conversion,
        /// The model directory.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// Trained numbers before.
        parameters_before: u64,
        /// Trained numbers now.
        parameters: u64,
        /// What became of each attention, in the order of a forward pass.
        attentions: Vec<ConvertedAttention>,
        /// What was found on the text that the conversion depends on, in words.
        found: Option<String>,
        /// What it changed in what the model does with a text.
        price: Option<Price>,
        /// Why that is not known.
        unpriced: Option<String>,
        /// What stood beside the model in its directory and was not taken over, by name: nothing here reads it, but another
        /// program may, such as `modules.json` of `sentence-transformers`.
        #[serde(default)]
        left_out: Vec<String>,
        /// Time that it took.
        #[serde(with = "floats")]
        seconds: f64,
    },
    /// Answer to [`super::Command::DescribeHub`].
    HubDescribed {
        /// What is known on this machine.
        #[serde(flatten)]
        facts: Box<HubFacts>,
    },
    /// Answer to [`super::Command::Inspect`].
    Inspected {
        /// What the hub says. All text in it is the hub's.
        #[serde(flatten)]
        facts: Box<RepoFacts>,
    },
    /// Something is being fetched. At most some 30 a second.
    Fetching {
        /// What.
        name: RepoName,
        /// The file in progress.
        file: String,
        /// Its number, from 0.
        number: usize,
        /// All of them.
        count: usize,
        /// Bytes of all files that are here.
        bytes: u64,
        /// Bytes of all files, as far as the hub says it.
        total_bytes: u64,
        /// How fast it came so far.
        #[serde(with = "floats")]
        bytes_per_sec: f64,
    },
    /// Answer to [`super::Command::Fetch`].
    Fetched {
        /// What is here now.
        #[serde(flatten)]
        fetched: Box<Fetched>,
        /// Its size.
        bytes: u64,
        /// Bytes that had to be downloaded.
        downloaded: u64,
        /// Time that it took.
        #[serde(with = "floats")]
        seconds: f64,
    },
    /// A model is being uploaded. At most some 30 a second.
    Pushing {
        /// Where to, as given.
        name: RepoName,
        /// The file in progress.
        file: String,
        /// Its number, from 0.
        number: usize,
        /// Large files in all.
        count: usize,
        /// Bytes of large files that are there.
        bytes: u64,
        /// Bytes of all large files.
        total_bytes: u64,
        /// How fast it went so far.
        #[serde(with = "floats")]
        bytes_per_sec: f64,
    },
    /// Answer to [`super::Command::Push`].
    Pushed {
        /// The model, as given.
        target: String,
        /// What is there now.
        #[serde(flatten)]
        pushed: Box<Pushed>,
        /// Time that it took.
        #[serde(with = "floats")]
        seconds: f64,
    },
    /// Answer to [`super::Command::PreviewPush`].
    PushPreviewed {
        /// Which model.
        target: Target,
        /// What would be sent, and what would not.
        #[serde(flatten)]
        contents: Box<PushContents>,
        /// Bytes of all files.
        bytes: u64,
    },
    /// Answer to [`super::Command::Export`].
    Exported {
        /// The run.
        run: RunId,
        /// Its step.
        step: u64,
        /// The model directory.
        path: PathBuf,
        /// Whether `transformers` opens it.
        opens_in_transformers: bool,
        /// As which class, or why not.
        reason: String,
    },
    /// Answer to [`super::Command::Devices`].
    Devices {
        /// Every device that this build can use, and why others cannot be used.
        devices: Vec<DeviceInfo>,
    },
    /// A measurement waits for its turn.
    MeasureQueued {
        /// The measurement.
        benchmark: BenchmarkId,
        /// Its name.
        name: String,
        /// Jobs before it in the queue.
        position: usize,
    },
    /// A measurement goes on, told after every round of steps.
    Measuring {
        /// The measurement.
        benchmark: BenchmarkId,
        /// The point, from 1.
        point: usize,
        /// Points in all.
        points: usize,
        /// The point in words: the fields that are swept with their values.
        label: String,
        /// Share of the whole measurement that is done, 0..=1.
        #[serde(with = "floats")]
        fraction: f64,
    },
    /// A point was measured, or cannot be.
    MeasuredPoint {
        /// The measurement.
        benchmark: BenchmarkId,
        /// The limits of the machine.
        #[serde(skip_serializing_if = "Option::is_none")]
        limits: Option<MachineLimits>,
        /// What came of the point; none when only the limits came.
        #[serde(skip_serializing_if = "Option::is_none")]
        point: Option<Box<PointResult>>,
    },
    /// A measurement ended; always its last event.
    MeasureEnded {
        /// The measurement.
        benchmark: BenchmarkId,
        /// Its name.
        name: String,
        /// Whether every point was measured.
        complete: bool,
        /// Why it could not be carried out, and what to do.
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// Answer to [`super::Command::ListBenchmarks`], and after each change.
    Benchmarks {
        /// All benchmarks, newest first, deleted ones left out.
        benchmarks: Vec<BenchmarkSummary>,
    },
    /// Answer to [`super::Command::LoadBenchmark`].
    Benchmark {
        /// The benchmark.
        record: Box<BenchmarkRecord>,
    },
    /// An analysis of attention waits for its turn.
    AnalyseQueued {
        /// The analysis.
        analysis: AnalysisId,
        /// The run whose model it is; none for a directory.
        #[serde(skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
        /// The model, as given.
        target: String,
        /// Jobs before it in the queue.
        position: usize,
    },
    /// An analysis of attention goes on.
    Analysing {
        /// The analysis.
        analysis: AnalysisId,
        /// What is done, in words.
        stage: String,
        /// Share of the whole that is done, 0..=1.
        #[serde(with = "floats")]
        fraction: f64,
    },
    /// What an analysis of attention found: when it is made, and in answer to [`super::Command::LoadAnalysis`].
    Analysed {
        /// The analysis.
        analysis: AnalysisId,
        /// What was found.
        result: Box<Analysis>,
    },
    /// An analysis of attention ended; always its last event.
    AnalyseEnded {
        /// The analysis.
        analysis: AnalysisId,
        /// Whether it was carried out.
        complete: bool,
        /// Why not, and what to do; none where it was cancelled.
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// Whether it is what was asked for that cannot be, rather than the attempt that failed.
        is_refusal: bool,
        /// Why what was found is not kept in the store, in words, if it could not be written.
        #[serde(skip_serializing_if = "Option::is_none")]
        unwritten: Option<String>,
    },
    /// Answer to [`super::Command::ListAnalyses`], and after each change.
    Analyses {
        /// Everything that was found out on demand, newest first, deleted ones left out.
        analyses: Vec<AnalysisSummary>,
    },
    /// Answer to [`super::Command::ListAdvice`], and after each change.
    Advice {
        /// Every run that was advised, newest first, deleted ones left out.
        advice: Vec<AdviceRecord>,
    },
    /// The attention of a run was analysed while it trains; the store has what was found.
    Snapshot {
        /// The run.
        run: RunId,
        /// Its step.
        step: u64,
        /// Time that the analysis took.
        #[serde(with = "floats")]
        secs: f64,
    },
    /// Answer to [`super::Command::LoadLiveAnalyses`].
    LiveAnalyses {
        /// The run.
        run: RunId,
        /// Steps at which it was analysed, ascending.
        steps: Vec<u64>,
    },
    /// Answer to [`super::Command::LoadLiveAnalysis`].
    LiveAnalysis {
        /// The run.
        run: RunId,
        /// What was found, with its step.
        result: Box<Analysis>,
    },
    /// Answer to [`super::Command::LoadSnapshots`].
    Snapshots {
        /// The run.
        run: RunId,
        /// The kind.
        kind: String,
        /// The snapshots without their elements, by step.
        snapshots: Vec<SnapshotRecord>,
    },
    /// Answer to [`super::Command::LoadSnapshot`].
    SnapshotData {
        /// The snapshot with its elements.
        snapshot: Box<SnapshotData>,
    },
    /// Answer to [`super::Command::LoadMaps`].
    Maps {
        /// The view.
        view: u64,
        /// The model in words.
        target: String,
        /// Its step, where known.
        step: Option<u64>,
        /// The tokens of the example as text; the squares of an image by row and column, from 0.
        tokens: Vec<String>,
        /// The image that was read, with its class; none of a text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        picture: Option<Box<PreviewImage>>,
        /// How many examples of the text there are to choose from; 0 where one was written.
        #[serde(default)]
        examples: usize,
        /// All maps, made small.
        thumbnails: Box<MapThumbnails>,
    },
    /// Answer to [`super::Command::LoadMap`].
    Map {
        /// The view.
        view: u64,
        /// Layer of the head, from 0.
        layer: usize,
        /// Head, from 0.
        head: usize,
        /// Its map, `[n, n]`, query by query; empty where the head has none.
        #[serde(with = "floats")]
        values: Vec<f32>,
    },
    /// Answer to [`super::Command::RebuildMap`].
    Rebuilt {
        /// The view.
        view: u64,
        /// What was asked for.
        rebuild: Rebuild,
        /// The map beside itself; none where it cannot be put together.
        rebuilt: Option<Box<RebuiltMap>>,
        /// Why it cannot.
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// The engine ended; nothing follows.
    Ended,
}

/// A text that was generated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WrittenText {
    /// It without special tokens; token ids where there is no tokenizer.
    pub text: String,
    /// Its tokens, the last of which may be an end token.
    pub tokens: Vec<u32>,
    /// Why there are no more.
    pub ending: Ending,
    /// What texts were compared by: the log-probability in nats over the length to the power of the length penalty.
    #[serde(with = "floats")]
    pub score: f64,
    /// Each token as text.
    #[serde(default)]
    pub pieces: Vec<String>,
    /// What each step cost, from the first token on. With beams there may be more steps than tokens.
    #[serde(default)]
    pub costs: Vec<TokenCost>,
    /// Each token of the source as text.
    #[serde(default)]
    pub source: Vec<String>,
    /// Every prefix that a beam followed, where details were asked for.
    #[serde(default)]
    pub tree: Vec<BeamNode>,
    /// The tokens of `tree` as text.
    #[serde(default)]
    pub tree_pieces: Vec<String>,
    /// What the tokens attended to, where details were asked for and it is not too much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention: Option<Box<SourceAttention>>,
    /// What an encoder filled in; nothing of a text that was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filled: Option<Box<Filling>>,
}

/// What a token cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TokenCost {
    /// When it was chosen, from the beginning of its batch.
    #[serde(with = "floats")]
    pub seconds: f64,
    /// What was kept then, of all texts of the batch; room for tokens to come is left out.
    pub bytes: u64,
}

/// What the caches make of texts in one number format.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrecisionProof {
    /// The number format.
    pub precision: Precision,
    /// What was found.
    pub proof: CacheProof,
}

impl Event {
    /// The health of a run with its sentences.
    pub(super) fn health(run: &RunId, step: u64, health: Health) -> Self {
        let message = format!("{} {}", health.why(), health.what_to_do()).trim().to_owned();
        Self::Health { run: run.clone(), step, health, message }
    }
}

/// What the metrics of an evaluation are of, where that is neither tokens nor examples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EvaluationCounts {
    /// Questions, each of which may be read in several windows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub questions: Option<u64>,
    /// Those of them that have an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub questions_with_answer: Option<u64>,
    /// Pairs that were translated and scored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub translations: Option<u64>,
    /// Pairs that there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<u64>,
    /// Rows without a label and questions whose answers stand elsewhere than they say, which were left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<u64>,
    /// Translated pairs whose references ROUGE or BLEU says nothing of, where there are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unscored_references: Option<UnscoredReferences>,
}

impl EvaluationCounts {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// An evaluation with noise on the embeddings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoisyEvaluation {
    /// The length of the noise as a share of the mean length of the embeddings.
    pub noise: f64,
    /// Mean loss.
    #[serde(with = "floats")]
    pub loss: f64,
    /// The other metrics of its objective, each a field.
    #[serde(flatten)]
    pub metrics: Measurements,
}

/// What a model says of a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundAnswer {
    /// The best answer; none where nothing of the paragraph could be read.
    pub answer: Option<AnswerSpan>,
    /// The score of there being no answer, the sum of two logits.
    pub no_answer_score: f64,
}

/// An answer in its paragraph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerSpan {
    /// Its text.
    pub text: String,
    /// Where it begins, in characters from 0.
    pub start: usize,
    /// Where it ends, in characters.
    pub end: usize,
    /// The sum of the logits of its beginning and its end.
    pub score: f64,
}
