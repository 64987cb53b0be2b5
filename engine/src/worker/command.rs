use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Ticket;
use crate::{
    analysis::AnalysisSpec,
    config::{Coverage, DataConfig, LabelRules, Precision, RunConfig},
    convert::Conversion,
    generate::Search,
    hub::{FetchRequest, RepoName},
    objective::text_scores::Words,
    speed::SweepSpec,
    store::{Advised, AnalysisId, BenchmarkId, Cursor, OutcomeKind, RunId},
};

/// Everything that can be asked of the engine. The window and the command line use the same commands. Serialised with the
/// variant's name in `command` and flat fields.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// Adds a run at the end of the queue; answered by [`super::Event::Queued`].
    Enqueue {
        /// The config as written.
        config: Box<RunConfig>,
        /// Folder from which the config's relative paths are taken.
        base_dir: PathBuf,
    },
    /// Adds several runs at the end of the queue, in this order, all with the same tags; each is answered by
    /// [`super::Event::Queued`]. None is added where one of them cannot start.
    EnqueueAll {
        /// The configs as written.
        configs: Vec<RunConfig>,
        /// Folder from which the configs' relative paths are taken.
        base_dir: PathBuf,
        /// Labels by which they are found again.
        tags: Vec<String>,
    },
    /// Adds the continuation of a run that ended early to the queue; its curve goes on exactly.
    ResumeRun {
        /// The run.
        run: RunId,
    },
    /// Lists what computes and what waits; answered by [`super::Event::Queue`].
    ListQueue,
    /// Takes a queued run out of the queue; answered by [`super::Event::Done`], the run ends with
    /// [`super::Event::Finished`].
    Cancel {
        /// The run.
        run: RunId,
    },
    /// Moves a queued run, analysis or measurement to a position in the queue (0 = next); answered by [`super::Event::Done`].
    Move {
        /// The run, or the id of the analysis or measurement.
        run: RunId,
        /// The new position; behind the last one where the queue is shorter.
        position: usize,
    },
    /// Pauses the current run after the step it is in. This and the next three are answered by [`super::Event::Done`], or
    /// by [`super::Event::Refused`] where nothing computes.
    Pause,
    /// Goes on with the paused run.
    Resume,
    /// Stops the current run after the step it is in, with a checkpoint.
    Stop,
    /// Writes a checkpoint of the current run after the step it is in.
    Checkpoint,
    /// Measures the loss of a run or model directory on text; answered by [`super::Event::Evaluation`].
    Evaluate {
        /// What to evaluate.
        target: Target,
        /// Which text; `None` = the held-out text that the run was evaluated on.
        data: Option<Box<DataConfig>>,
        /// Labels of that text that the model has other names for, or that mean "none".
        #[serde(default, skip_serializing_if = "LabelRules::is_default")]
        labels: Box<LabelRules>,
        /// Leaves out pairs, or projects scores, of a model that was trained with all of them.
        coverage: Option<Approximation>,
        /// Tokens of an example; none: as the model was trained, or as many as it has positions where nobody says.
        tokens: Option<usize>,
        /// Once more with noise on the embeddings, of these shares of their mean length; of models of one stack.
        noise: Vec<f64>,
        /// The same seed gives the same noise.
        noise_seed: u64,
        /// How many examples are told that the model puts into another class than their own, or questions that it gives another
        /// answer, the surest mistakes first.
        #[serde(default)]
        mistakes: usize,
        /// Number format; none: that of the run, and `f32` for a model directory.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        precision: Option<Precision>,
        /// Folder from which relative paths in `data` are taken.
        base_dir: PathBuf,
    },
    /// Generates texts with a run's model or that of a model directory; answered by [`super::Event::Generating`] as they grow
    /// and by [`super::Event::Generated`]. [`Self::Stop`] keeps what there is.
    Generate {
        /// Which model.
        target: Target,
        /// What it goes on with, or what the encoder before it reads: a text each.
        sources: Vec<GenerateSource>,
        /// How many of them at the same time.
        batch: usize,
        /// How the texts are searched for.
        search: Box<Search>,
        /// The number format in which the model computes.
        precision: Precision,
        /// Threads that compute; none: as many as there are cores.
        threads: Option<usize>,
        /// Whether what the generated tokens attended to, and every prefix that a beam followed, are told at the end.
        #[serde(default)]
        details: bool,
    },
    /// Generates texts from the same sources with every cache and compares them; answered by [`super::Event::ProvingCaches`]
    /// while it goes on and by [`super::Event::CachesProved`].
    ProveCaches {
        /// Which model.
        target: Target,
        /// What it goes on with, or what the encoder before it reads; none: the beginnings of examples of the held-out text.
        sources: Vec<GenerateSource>,
        /// How many of these, spread evenly over it.
        examples: usize,
        /// How many sources at the same time.
        batch: usize,
        /// How the texts are searched for; its cache has no say.
        search: Box<Search>,
        /// The number formats, each for itself.
        precisions: Vec<Precision>,
        /// Threads that compute; none: as many as there are cores.
        threads: Option<usize>,
    },
    /// Stops a [`Self::Generate`] or [`Self::ProveCaches`] and keeps what there is, or takes it out of the queue; answered by
    /// [`super::Event::Done`].
    CancelGeneration {
        /// The request that asked for it.
        generation: Ticket,
    },
    /// Translates pairs of texts with a run's model or that of a model directory and scores the translations; answered by
    /// [`super::Event::Translating`] as it goes on and by [`super::Event::TranslationEvaluated`]. [`Self::Stop`] keeps what
    /// there is.
    EvaluateTranslation {
        /// Which model.
        target: Target,
        /// Which pairs; `None` = those that were held out of the training of the run, or of the one whose config lies in the directory.
        data: Option<Box<DataConfig>>,
        /// How many of them, from the first on; none: all.
        limit: Option<usize>,
        /// How many are translated at the same time.
        batch: usize,
        /// How translations are searched for.
        search: Box<Search>,
        /// Cutting of words for BLEU.
        #[serde(default)]
        words: Words,
        /// The number format in which the model computes.
        precision: Precision,
        /// Threads that compute; none: as many as there are cores.
        threads: Option<usize>,
        /// Folder from which relative paths in `data` are taken.
        base_dir: PathBuf,
    },
    /// Answers about texts or images with a run's model or that of a model directory; answered by [`super::Event::Predicting`] as it
    /// goes on and by [`super::Event::Predicted`].
    Predict {
        /// Which model.
        target: Target,
        /// One or two texts a row; none where there are images.
        rows: Vec<Vec<String>>,
        /// An image, a folder of such, or an IDX or CIFAR file; an absolute path.
        images: Option<PathBuf>,
    },
    /// Ends a [`Self::Predict`] or a [`Self::Evaluate`], in progress or queued. Answered by [`super::Event::Done`].
    CancelPrediction {
        /// The request that asked for it.
        prediction: Ticket,
    },
    /// Reads what the files of a model say; answered by [`super::Event::ModelDescribed`].
    DescribeModel {
        /// Which model.
        target: Target,
    },
    /// Reads the plan of a model, without its weights; answered by [`super::Event::PlanRead`].
    ReadPlan {
        /// Which model.
        target: Target,
    },
    /// Counts what a conversion would come to, without doing it; answered by [`super::Event::ConversionPreviewed`].
    PreviewConversion {
        /// Which model.
        target: Target,
        /// What it would become.
        conversion: Conversion,
    },
    /// Makes another model of a run's or of that of a model directory, behind texts that are being generated and before what
    /// else waits; answered by [`super::Event::Converting`] as it goes on and by [`super::Event::Converted`]. What it was made
    /// from stays as it is. [`Self::Stop`] ends it, and nothing is written then.
    Convert {
        /// Which model.
        target: Target,
        /// What it is to become.
        conversion: Conversion,
        /// The directory to make; must not exist or be empty.
        to: PathBuf,
        /// The text on which both models are compared, and from which heads that borrow and pairs are chosen; none: that of the run, or
        /// of the one whose config lies in the directory.
        data: Option<Box<DataConfig>>,
        /// Examples of it that both read.
        examples: usize,
        /// Tokens of each; none: as the model was trained.
        tokens: Option<usize>,
        /// Threads that compute; none: as many as there are cores.
        threads: Option<usize>,
        /// Folder from which relative paths in `data` are taken.
        base_dir: PathBuf,
    },
    /// Ends a [`Self::Convert`], in progress or queued; nothing is written. Answered by [`super::Event::Done`].
    CancelConversion {
        /// The request that asked for it.
        conversion: Ticket,
    },
    /// Looks where the hub is and which of its models are here already, without asking it; answered by
    /// [`super::Event::HubDescribed`].
    DescribeHub,
    /// Asks a hub what it knows about a model or a data set; answered by [`super::Event::Inspected`]. Nothing is downloaded but
    /// its `config.json`, and nothing is kept.
    Inspect {
        /// Of what.
        request: FetchRequest,
    },
    /// Brings a model or a data set of a hub into the cache that other tools share, beside whatever computes; answered by
    /// [`super::Event::Fetching`] as it goes on and by [`super::Event::Fetched`]. What is there already is not downloaded again.
    Fetch {
        /// Of what.
        request: FetchRequest,
    },
    /// Uploads a run's checkpoint or a model directory to a hub, beside whatever computes; answered by
    /// [`super::Event::Pushing`] as it goes on and by [`super::Event::Pushed`].
    Push {
        /// Which model.
        target: Target,
        /// Where to; without an owner it is the one of the token.
        name: RepoName,
        /// Whether everybody may read it.
        public: bool,
    },
    /// Says what a [`Self::Push`] would send, without asking a hub; answered by [`super::Event::PushPreviewed`].
    PreviewPush {
        /// Which model.
        target: Target,
    },
    /// Ends an [`Self::Inspect`], a [`Self::Fetch`], of which what came is kept, or a [`Self::Push`], which then changes nothing.
    /// Answered by [`super::Event::Done`].
    CancelTransfer {
        /// The request that asked for it.
        transfer: Ticket,
    },
    /// Writes a checkpoint as a model directory; answered by [`super::Event::Exported`].
    Export {
        /// The run.
        run: RunId,
        /// Which of its checkpoints.
        which: Which,
        /// The directory to make; must not exist or be empty.
        to: PathBuf,
    },
    /// Lists runs; answered by [`super::Event::Runs`].
    ListRuns,
    /// Loads one run whole; answered by [`super::Event::Run`].
    LoadRun {
        /// The run.
        run: RunId,
    },
    /// Loads a series from after a cursor on; answered by [`super::Event::Series`].
    LoadSeries {
        /// The run.
        run: RunId,
        /// The series, such as `train/loss`.
        series: String,
        /// Where the last answer ended; `None` = from the start.
        after: Option<Cursor>,
    },
    /// Loads the outcomes of the single examples of an evaluation; answered by [`super::Event::Outcomes`].
    LoadOutcomes {
        /// The run.
        run: RunId,
        /// The evaluation.
        kind: OutcomeKind,
    },
    /// Loads the text samples of a run; answered by [`super::Event::Samples`].
    LoadSamples {
        /// The run.
        run: RunId,
    },
    /// Changes what is written about a run; answered by [`super::Event::Runs`].
    Edit {
        /// The run.
        run: RunId,
        /// The change.
        edit: RunEdit,
    },
    /// Lists what was deleted and can be brought back, with what stands in the way of purging it; answered by
    /// [`super::Event::Deleted`].
    ListDeleted {
        /// Only what was deleted before this moment, unix milliseconds.
        before_ms: i64,
    },
    /// Removes for good what was deleted, runs with their files; answered by [`super::Event::Purged`].
    Purge {
        /// Only what was deleted before this moment, unix milliseconds.
        before_ms: i64,
    },
    /// Asks what cannot be answered from a config alone: do its files exist, is its device there, is there
    /// memory enough; answered by [`super::Event::Checked`].
    Check {
        /// The config.
        config: Box<RunConfig>,
        /// Folder from which relative paths are taken.
        base_dir: PathBuf,
        /// Which state of the config it is; comes back with the answer.
        revision: u64,
    },
    /// Reads what data, tokenizer and initial model say of the model of a config, by which its costs are counted; answered by
    /// [`super::Event::FactsRead`].
    ReadFacts {
        /// The config.
        config: Box<RunConfig>,
        /// Folder from which relative paths are taken.
        base_dir: PathBuf,
    },
    /// Lists devices; answered by [`super::Event::Devices`].
    Devices,
    /// Adds a measurement of training steps at the end of the queue, behind the runs that wait; answered by
    /// [`super::Event::MeasureQueued`], then as it goes on.
    Measure {
        /// The id that it gets.
        benchmark: BenchmarkId,
        /// What people call it.
        name: String,
        /// What is measured.
        spec: Box<SweepSpec>,
    },
    /// Ends a measurement, in progress or queued; what was measured is kept. Answered by [`super::Event::Done`].
    CancelMeasure {
        /// The measurement.
        benchmark: BenchmarkId,
    },
    /// Lists benchmarks; answered by [`super::Event::Benchmarks`].
    ListBenchmarks,
    /// Loads one benchmark whole; answered by [`super::Event::Benchmark`].
    LoadBenchmark {
        /// The benchmark.
        benchmark: BenchmarkId,
    },
    /// Deletes a benchmark so that it can be brought back, or brings it back; answered by
    /// [`super::Event::Benchmarks`].
    DeleteBenchmark {
        /// The benchmark.
        benchmark: BenchmarkId,
        /// Whether it goes or comes back.
        deleted: bool,
    },
    /// Analyses the attention of a run or model directory, behind the jobs that wait; answered by
    /// [`super::Event::AnalyseQueued`], then as it goes on.
    Analyse {
        /// The id that it gets.
        analysis: AnalysisId,
        /// Whose attention.
        target: Target,
        /// On which text; `None` = the held-out text that the run was evaluated on.
        data: Option<Box<DataConfig>>,
        /// What is to be found out.
        spec: Box<AnalysisSpec>,
        /// Whose spaces its scores are projected on.
        subspaces: Vec<Subspace>,
        /// Folder from which relative paths in texts are taken.
        base_dir: PathBuf,
    },
    /// Role of the problem domain: adds a run of the config and one on its shuffled text at the end of the queue, and
    /// behind them analyses both on both; each is answered as if it had been asked for alone.
    CompareDomains {
        /// The config; whether its text is shuffled makes no difference.
        config: Box<RunConfig>,
        /// Folder from which the config's relative paths are taken.
        base_dir: PathBuf,
        /// A label by which the two runs are found again.
        tag: String,
        /// What is to be found out.
        spec: Box<AnalysisSpec>,
        /// The ids of the analyses: the run on text in order on that text, the same on shuffled text, then the run on
        /// shuffled text on both.
        analyses: [AnalysisId; 4],
    },
    /// Ends an analysis, in progress or queued; nothing of it is kept. Answered by [`super::Event::Done`].
    CancelAnalysis {
        /// The analysis.
        analysis: AnalysisId,
    },
    /// Lists what was found out on demand; answered by [`super::Event::Analyses`].
    ListAnalyses,
    /// Loads one analysis; answered by [`super::Event::Analysed`].
    LoadAnalysis {
        /// The analysis.
        analysis: AnalysisId,
    },
    /// Deletes an analysis so that it can be brought back, or brings it back; answered by [`super::Event::Analyses`].
    DeleteAnalysis {
        /// The analysis.
        analysis: AnalysisId,
        /// Whether it goes or comes back.
        deleted: bool,
    },
    /// Trains an advised config: adds it at the end of the queue, and before it the run that it came from once more where that
    /// is wanted. All of them get the tag, the run that it came from too; what was predicted is kept. Answered as
    /// [`Self::EnqueueAll`] is, and by [`super::Event::Advice`].
    TrainAdvice {
        /// The config as written.
        config: Box<RunConfig>,
        /// The config of the run that it came from, to be trained again beside it.
        again: Option<Box<RunConfig>>,
        /// Folder from which the configs' relative paths are taken.
        base_dir: PathBuf,
        /// The label by which the runs are found again.
        tag: String,
        /// Where it came from, and what is predicted; who runs beside it is filled in.
        advised: Box<Advised>,
    },
    /// Lists the runs that were advised; answered by [`super::Event::Advice`].
    ListAdvice,
    /// Lists the steps at which a run's attention was analysed while it trained; answered by
    /// [`super::Event::LiveAnalyses`].
    LoadLiveAnalyses {
        /// The run.
        run: RunId,
    },
    /// Loads such an analysis; answered by [`super::Event::LiveAnalysis`].
    LoadLiveAnalysis {
        /// The run.
        run: RunId,
        /// The step.
        step: u64,
    },
    /// Lists the snapshots of a run of one kind; answered by [`super::Event::Snapshots`].
    LoadSnapshots {
        /// The run.
        run: RunId,
        /// The kind.
        kind: String,
    },
    /// Loads one snapshot; answered by [`super::Event::SnapshotData`].
    LoadSnapshot {
        /// Its key.
        id: i64,
    },
    /// Opens a view of the attention maps of a model on one example; answered by [`super::Event::Maps`].
    LoadMaps {
        /// Comes back with the answers.
        view: u64,
        /// The model.
        target: Target,
        /// The text whose examples can be shown; `None` = the held-out text of the run. A model directory has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Box<DataConfig>>,
        /// The example.
        text: MapText,
    },
    /// Loads one map of an open view; answered by [`super::Event::Map`].
    LoadMap {
        /// The view.
        view: u64,
        /// Layer of the head, from 0.
        layer: usize,
        /// Head, from 0.
        head: usize,
    },
    /// Puts a map of an open view together again from some of its pairs, as an analysis chose them; answered by
    /// [`super::Event::Rebuilt`].
    RebuildMap {
        /// The view.
        view: u64,
        /// The map, and from what.
        rebuild: Rebuild,
    },
    /// Ends the engine; a run in progress is stopped with a checkpoint, and runs that wait are left as interrupted. The last event
    /// is [`super::Event::Ended`].
    Shutdown,
}

/// A change to what is written about a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEdit {
    /// A new name.
    Rename(String),
    /// A new note.
    Note(String),
    /// One more tag.
    AddTag(String),
    /// One tag less.
    RemoveTag(String),
    /// Out of the everyday list, or back into it.
    Archive(bool),
    /// Deleted, can be undone.
    Delete,
    /// Deletion undone.
    Undelete,
}

/// How many pairs of a trained model are scored in an evaluation, other than in its training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Approximation {
    /// The answer; what it says about training has no meaning here.
    pub coverage: Coverage,
    /// Examples of the training text from whose scores pairs or directions are chosen.
    pub examples: usize,
}

/// A run in the store or a model directory on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// A run and one of its checkpoints.
    Run {
        /// The run.
        run: RunId,
        /// Which of its checkpoints.
        which: Which,
    },
    /// A model directory.
    Directory(PathBuf),
}

/// What a model generates a text from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GenerateSource {
    /// Text, which the model's tokenizer cuts into tokens.
    Text(String),
    /// Token ids.
    Tokens(Vec<u32>),
    /// The beginning of one of sixteen examples of the held-out text of a run.
    HeldOut {
        /// Its number; counted on from the first where there are fewer.
        number: usize,
        /// Tokens of it.
        tokens: usize,
    },
}

/// What a model reads while its maps are shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MapText {
    /// One of sixteen examples of the held-out text, or of the text that was named, with no token hidden.
    Example(usize),
    /// Text that somebody wrote; two texts with a tab between, where the model reads pairs. Of a pair that is too long the longer
    /// text is cut off first.
    Written(String),
    /// One of all held-out images, from 0.
    Image(usize),
    /// One of the examples that an analysis of reconstruction measured its errors on and chose nothing from, with no token
    /// hidden. It read `examples` examples of `tokens` tokens, spread evenly over the held-out text.
    HeldOut {
        /// Its number; counted on from the first where there are fewer.
        number: usize,
        /// Tokens of an example.
        tokens: usize,
        /// Examples of the analysis, both halves.
        examples: usize,
    },
}

/// A map that is to be put together from some of its pairs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rebuild {
    /// The analysis that chose pairs.
    pub analysis: AnalysisId,
    /// Which of its parts: a place among `Reconstruction::scopes`.
    pub scope: usize,
    /// Layer of the head, from 0.
    pub layer: usize,
    /// Head, from 0.
    pub head: usize,
    /// Pairs of each query.
    pub k: usize,
}

/// A model, and the text on which its scores span a space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subspace {
    /// The model.
    pub target: Target,
    /// The text; `None` = the held-out text that it was evaluated on.
    pub data: Option<Box<DataConfig>>,
}

/// One of a run's checkpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// The one with the best validation loss.
    #[default]
    Best,
    /// The newest.
    Last,
    /// The one at this step.
    Step(u64),
}

impl std::str::FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "best" => Ok(Self::Best),
            "last" => Ok(Self::Last),
            _ => text
                .parse()
                .map(Self::Step)
                .map_err(|_| format!("\"{text}\" is no checkpoint. Use `best`, `last` or a step number.")),
        }
    }
}

impl std::fmt::Display for Which {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Best => f.write_str("best"),
            Self::Last => f.write_str("last"),
            Self::Step(step) => write!(f, "step {step}"),
        }
    }
}
