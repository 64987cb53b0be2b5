use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use headroom_engine::{
    analysis::Measure,
    config::{Cache, LabelMap},
    objective::text_scores::Words,
    protocol::Which,
    speed::MEASURE_MEMORY,
};

use super::{
    bench_args::BenchTask,
    common_args::{ConfigArgs, DevicesArgs, share},
    convert_args::ConvertArgs,
    run_args::{
        AnalysesArgs, ArchiveArgs, ChartArgs, MapsArgs, MixingArgs, NoteArgs, RenameArgs, RepeatArgs, RunsGivenArgs,
        TagArgs,
    },
    scope::ScopeArg,
};

const AFTER_HELP: &str = "\
Exit codes: 0 done; 1 failed, or the run ended early (stopped, diverged, failed); 2 bad input, nothing was trained.
Ctrl-C stops a run after the step it is in, with a checkpoint; `headroom resume RUN` goes on exactly where it stopped.
A RUN is its number in `headroom runs` (12 or #12), an id, a name, or the beginning of one that fits only one run.
Runs of one name are told apart by seed and age: NAME@seed=3, NAME@newest, NAME@oldest; @newest is the newest of all.
With --json a command that is not carried out answers {\"event\":\"refused\" or \"failed\",\"problems\":[{\"field\",\"message\"}]}.";

const STORE_HELP: &str = "Where runs are kept: a database file, or the folder of one. What is not there yet is made: a file where the name ends in .db, .sqlite or .sqlite3, else a folder [default: $HEADROOM_STORE, else the folder for user data]";

/// Trains transformers beside their variants, and keeps what was measured. Without a command it opens the window.
#[derive(Debug, Parser)]
#[command(name = "headroom", version, about, after_help = AFTER_HELP)]
pub struct Cli {
    /// Where runs are kept: a database file, or the folder of one.
    #[arg(long, global = true, value_name = "PATH", help = STORE_HELP)]
    pub store: Option<PathBuf>,
    /// What to do; without it the window opens.
    #[command(subcommand)]
    pub command: Option<Task>,
}

/// What the command line can do.
#[derive(Debug, Subcommand)]
pub enum Task {
    /// From a trained run's measurements to a model that saves something: what it would save, and what came out.
    Advise(AdviseArgs),
    /// Analyse the attention of a run or a model directory: similarity of heads, spectra of scores, captured variance.
    Analyse(AnalyseArgs),
    /// List what was found out about attention; show and export it, delete it and bring it back.
    Analyses(AnalysesArgs),
    /// Put runs away, or bring them back into the everyday list.
    Archive(ArchiveArgs),
    /// Measure how fast models train here, and how much memory they take.
    #[command(subcommand)]
    Bench(BenchTask),
    /// Write the curves of runs as charts: SVG, PNG and CSV.
    Chart(ChartArgs),
    /// Compare runs: metrics with deltas against the first, and where their configs differ.
    Compare(CompareArgs),
    /// Print a script with which a shell completes commands and options.
    Completions(CompletionsArgs),
    /// Make another model of a run's or of a model directory, and say what it loses.
    Convert(ConvertArgs),
    /// Judge each of some runs on the held-out data of all of them: a matrix of trained on and judged on.
    Cross(CrossArgs),
    /// Delete runs; `restore` brings them back.
    Delete(RunsGivenArgs),
    /// List the devices that runs can compute on, or check that one computes correctly.
    Devices(DevicesArgs),
    /// Train a config on its text and on the same text shuffled, and analyse the attention of both on both.
    Domains(DomainsArgs),
    /// Count parameters, FLOPs and memory of a config without running it.
    Estimate(EstimateArgs),
    /// Measure the loss of a run or a model directory on text.
    Eval(EvalArgs),
    /// Write a checkpoint as a model directory.
    Export(ExportArgs),
    /// Bring a model or a data set of a hub here, into the cache that other tools share; print where it lies.
    Fetch(FetchArgs),
    /// Generate text with a run or a model directory: go on with prompts, write what follows from sources, or fill in hidden words.
    Generate(GenerateArgs),
    /// Write the attention maps of heads on one text: SVG, PNG and CSV.
    Maps(MapsArgs),
    /// Measure what a model takes: one request on standard input, one answer on standard output. For this program itself.
    #[command(name = MEASURE_MEMORY, hide = true)]
    MeasureMemory,
    /// Write the mixing matrices of a run whose heads collaborate: SVG, PNG and CSV.
    Mixing(MixingArgs),
    /// Move a run, an analysis or a measurement that waits in the queue of another program on the store.
    Move(MoveArgs),
    /// Write a remark about a run, or print it.
    Note(NoteArgs),
    /// Pause the run that trains in another program on the store.
    Pause(JobArgs),
    /// Answer about texts with a run or a model directory that has a task: a label with its probabilities, or a number.
    Predict(PredictArgs),
    /// List the presets, or print one as TOML.
    Presets(PresetsArgs),
    /// Show what the data of a config hold before training: columns, labels and rows of a table, questions, pairs or expressions, images by class.
    Preview(EstimateArgs),
    /// Remove for good what was deleted: runs with their files, benchmarks, analyses. Nothing else ever does.
    Purge(PurgeArgs),
    /// Upload a run or a model directory to a hub; private unless --public says otherwise.
    Push(PushArgs),
    /// List what runs and what waits in other programs on the store.
    Queue(QueueArgs),
    /// Train a config's baseline and variants of it, with the same seeds and data, and compare them.
    Race(RaceArgs),
    /// Give a run another name.
    Rename(RenameArgs),
    /// Train configs of runs with further seeds, until each has as many, and compare them: with one seed nothing is tested.
    Repeat(RepeatArgs),
    /// Bring deleted runs back.
    Restore(RunsGivenArgs),
    /// Go on with a run that ended early.
    Resume(ResumeArgs),
    /// Let the run go on that was paused in another program on the store.
    ResumeCurrent(JobArgs),
    /// List runs, newest first.
    Runs(RunsArgs),
    /// Show all about one run, or what a model directory holds.
    Show(ShowArgs),
    /// Stop the run that trains in another program on the store, with a checkpoint; or take one that waits out of its queue.
    Stop(JobArgs),
    /// Train a config with several values of its fields, and compare what comes of them.
    Sweep(SweepArgs),
    /// Add labels to a run and take labels away, or print them.
    Tag(TagArgs),
    /// Train a config to its end.
    Train(TrainArgs),
    /// Translate pairs of texts with a run or a model directory, and score the translations.
    TranslateEval(TranslateEvalArgs),
}

/// Arguments of `train`.
#[derive(Args, Debug)]
pub struct TrainArgs {
    #[command(flatten)]
    pub config: ConfigArgs,
    /// One JSON object a line for each event; the last is `finished`.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `queue`.
#[derive(Args, Debug)]
pub struct QueueArgs {
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `pause`, `resume-current`, `stop`.
#[derive(Args, Debug)]
pub struct JobArgs {
    /// The run (number, id or name), or the id of a measurement or an analysis; without it, what runs now.
    #[arg(value_name = "RUN")]
    pub job: Option<String>,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `move`.
#[derive(Args, Debug)]
pub struct MoveArgs {
    /// What waits: the number, id or name of a run, or the id of an analysis or measurement.
    #[arg(value_name = "RUN")]
    pub job: String,
    /// Its new place among those that wait, as `headroom queue` counts: 1 = next.
    #[arg(value_name = "PLACE", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub place: u64,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `race`.
#[derive(Args, Debug)]
pub struct RaceArgs {
    #[command(flatten)]
    pub config: ConfigArgs,
    /// A variant: a name and what it changes in the config, as in `--variant half:attention.reuse.kind=full,
    /// attention.reuse.layers=2`. As often as wanted.
    #[arg(long, value_name = "NAME:FIELD=VALUE")]
    pub variant: Vec<String>,
    /// Variants by the kind of their answer, with numbers that suit the model: `symmetric`, `pairwise`, `shared_weight`,
    /// `collaborative`, `grouped`, `latent`, `tied_kv`; `first`, `partial`, `full`, `alternate`, `all_end`, `skip`; `some_pairs`.
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    pub families: Vec<String>,
    /// Models that the entrants begin with, in place of variants: model directories, runs or fetched models, the first of which
    /// the others are held against. Each has the shape and the attention of its model, and all learn the same task.
    #[arg(long, value_name = "RUN|DIR,..", value_delimiter = ',', conflicts_with_all = ["variant", "families"])]
    pub begin: Vec<String>,
    /// Seeds that each is trained with, counted up from the config's; with one, differences are shown and not tested.
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub seeds: u64,
    /// Leave out what cannot be trained, instead of refusing all; it is listed with its reason.
    #[arg(long)]
    pub skip: bool,
    /// Answer as one JSON object at the end.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `sweep`.
#[derive(Args, Debug)]
pub struct SweepArgs {
    #[command(flatten)]
    pub config: ConfigArgs,
    /// A field and its values, as in `--over model.layers=2,4,6`. Several make every combination.
    #[arg(long, value_name = "FIELD=VALUES", required = true)]
    pub over: Vec<String>,
    /// Take the values of several fields together, the first with the first, instead of every combination.
    #[arg(long)]
    pub list: bool,
    /// Seeds that each is trained with, counted up from the config's; with one, differences are shown and not tested.
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub seeds: u64,
    /// Leave out what cannot be trained, instead of refusing all; it is listed with its reason.
    #[arg(long)]
    pub skip: bool,
    /// Answer as one JSON object at the end.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `estimate` and `preview`.
#[derive(Args, Debug)]
pub struct EstimateArgs {
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `resume`.
#[derive(Args, Debug)]
pub struct ResumeArgs {
    /// The run.
    pub run: String,
    /// One JSON object a line for each event; the last is `finished`.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `presets`.
#[derive(Args, Debug)]
pub struct PresetsArgs {
    /// The preset to print as TOML; without it, a list.
    pub name: Option<String>,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `purge`.
#[derive(Args, Debug)]
pub struct PurgeArgs {
    /// Only what was deleted more than so many days ago.
    #[arg(long, value_name = "DAYS", default_value_t = 0)]
    pub older_than: u32,
    /// List what would go and what would stay, and remove nothing.
    #[arg(long, conflicts_with = "yes")]
    pub dry_run: bool,
    /// Remove without asking.
    #[arg(long)]
    pub yes: bool,
    /// Answer as one JSON object; needs --yes or --dry-run.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `runs`.
#[derive(Args, Debug)]
pub struct RunsArgs {
    /// List archived runs too.
    #[arg(long)]
    pub all: bool,
    /// List the runs that this finds, as the filter of the window does: `loss<2 and model.layers=4`, `tag=paper`, or words.
    #[arg(long, value_name = "FILTER")]
    pub filter: Option<String>,
    /// Show these fields of each run behind its name: `model.layers,loss.best`; every field that a filter can name.
    #[arg(long, value_name = "FIELD,…", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `show`.
#[derive(Args, Debug)]
pub struct ShowArgs {
    /// The run, or a model directory.
    #[arg(value_name = "RUN|DIR")]
    pub run: String,
    /// Add every point of every series (with --json).
    #[arg(long, requires = "json")]
    pub points: bool,
    /// Print its config as TOML and nothing else, as in `headroom show RUN --config | headroom train - --seed 2`.
    #[arg(long, conflicts_with_all = ["json", "points"])]
    pub config: bool,
    /// Print a config that begins with the model's weights and trains it further, as TOML and nothing else; of a run, with those
    /// of its best checkpoint.
    #[arg(long, conflicts_with_all = ["json", "points", "config"])]
    pub further: bool,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `compare`.
#[derive(Args, Debug)]
pub struct CompareArgs {
    /// The runs; the first is what the others are measured against.
    #[arg(required_unless_present = "tag", num_args = 2.., value_name = "RUN")]
    pub runs: Vec<String>,
    /// Compare the runs with this tag, such as `race:NAME`: seeds put together, in the table that `race` ends with.
    #[arg(long, conflicts_with_all = ["runs", "metric"])]
    pub tag: Option<String>,
    /// Only these metrics, such as `validation/loss`.
    #[arg(long, value_name = "SERIES")]
    pub metric: Vec<String>,
    /// Answer as CSV.
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `completions`.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// The shell, as in `headroom completions bash > ~/.local/share/bash-completion/completions/headroom`.
    pub shell: Shell,
}

/// Arguments of `cross`.
#[derive(Args, Debug)]
pub struct CrossArgs {
    /// The runs.
    #[arg(value_name = "RUN", required = true, num_args = 2..)]
    pub runs: Vec<String>,
    /// The metric: `loss`, or one of the task such as `accuracy`. Without it, the first of the task.
    #[arg(long)]
    pub metric: Option<String>,
    /// Which checkpoint of each: `best`, `last` or a step.
    #[arg(long, default_value = "best")]
    pub which: Which,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `eval`.
#[derive(Args, Debug)]
pub struct EvalArgs {
    /// A run, or a model directory.
    #[arg(value_name = "RUN|DIR")]
    pub target: String,
    /// The text: a file or a folder. Without it, the text that was held out of the run, or of the run that an exported
    /// directory comes from.
    #[arg(long, value_name = "PATH")]
    pub data: Option<PathBuf>,
    /// The field of a JSONL object that holds the text.
    #[arg(long, requires = "data")]
    pub field: Option<String>,
    /// The column of a CSV or TSV file that holds the text.
    #[arg(long, requires = "data")]
    pub column: Option<String>,
    /// A column of the texts of a table with labels, by name or by number from 0; twice where rows have two texts. Without
    /// it, the columns that the run learnt from.
    #[arg(long, value_name = "COLUMN", requires = "data")]
    pub text: Vec<String>,
    /// The column of the labels of such a table.
    #[arg(long, value_name = "COLUMN", requires = "data")]
    pub label: Option<String>,
    /// Classes of the model that labels of the data stand for, where these have other names, such as `0=entailment,1=neutral`. Without it,
    /// labels are found by their names, also in other letters where these are clear.
    #[arg(long, value_name = "LABEL=CLASS,..", requires = "data")]
    pub labels: Option<LabelMap>,
    /// The label text of rows that have no label and are left out, such as `-1`; `none`: every text is a label.
    #[arg(long, value_name = "TEXT", requires = "data", allow_hyphen_values = true)]
    pub unlabelled: Option<String>,
    /// The file of the translations, line by line, of a model that translates; without it, `--data` names a table of both.
    #[arg(long, value_name = "FILE", requires = "data")]
    pub translations: Option<PathBuf>,
    /// Which checkpoint of a run: `best`, `last` or a step.
    #[arg(long, default_value = "best")]
    pub which: Which,
    /// How many pairs are scored, of a model that was trained to score all of them: `partial:k=16` (the others follow from
    /// these) or `eigen:k=16` (each row projected on its top eigenvectors), in all layers but the last.
    #[arg(long, value_name = "KIND:k=N")]
    pub coverage: Option<String>,
    /// Examples of the training text from which pairs or eigenvectors are chosen.
    #[arg(long, requires = "coverage", default_value_t = 256)]
    pub examples: usize,
    /// Tokens of an example. Without it, as the model was trained; a folder from elsewhere is read in examples as long as it
    /// has positions.
    #[arg(long, value_name = "N")]
    pub tokens: Option<usize>,
    /// The number format: `f32`, `f64`, `f16`, `bf16`; without it that of the run, and `f32` for a directory.
    #[arg(long)]
    pub precision: Option<String>,
    /// Tell so many examples that the model puts into another class than their own, or questions that it gives another answer, the surest
    /// mistakes first.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub mistakes: usize,
    /// Once more with Gaussian noise on the embeddings: the length of the noise as shares of the mean length of the embeddings, such
    /// as `0,0.1,0.2`.
    #[arg(long, value_name = "SHARE,..", value_delimiter = ',', value_parser = noise)]
    pub noise: Vec<f64>,
    /// The same seed gives the same noise.
    #[arg(long, requires = "noise", default_value_t = 1)]
    pub noise_seed: u64,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// A share of the mean length of embeddings.
fn noise(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(share) if (0.0..=10.0).contains(&share) => Ok(share),
        _ => Err(format!("{text} is no share from 0 to 10, such as 0.1 for 10 % of the mean length of the embeddings")),
    }
}

/// Arguments of `generate`.
#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("source").required(true).multiple(true).args(["prompt", "input", "ids", "prove"]))]
pub struct GenerateArgs {
    /// A run, or a model directory.
    #[arg(value_name = "RUN|DIR")]
    pub target: String,
    /// The text that a decoder goes on with, or that the encoder before it reads; of an encoder alone one with its mask token.
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["input", "ids"])]
    pub prompt: Option<String>,
    /// A file with a text in each line; `-`: standard input.
    #[arg(long, value_name = "FILE|-", conflicts_with = "ids")]
    pub input: Option<PathBuf>,
    /// Token ids instead of a text.
    #[arg(long, value_name = "ID,..", value_delimiter = ',')]
    pub ids: Vec<u32>,
    /// Generate with every cache and compare tokens, logits, bytes and times. Without a text: from examples of the text that
    /// was held out of the run.
    #[arg(long, conflicts_with_all = ["cache", "details"])]
    pub prove: bool,
    /// With `--prove`: how many examples of the held-out text.
    #[arg(long, value_name = "COUNT", default_value_t = 64, requires = "prove",
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub examples: u64,
    /// With `--json`: what the tokens attended to, and every prefix that a beam followed.
    #[arg(long, requires = "json")]
    pub details: bool,
    /// Which checkpoint of a run: `best`, `last` or a step.
    #[arg(long, default_value = "best")]
    pub which: Which,
    /// What is kept between tokens: `none`, `key_value`, `hidden` (EL-attention). Without it what the config of a run says, or
    /// `key_value` where the model can use it. It changes no token.
    #[arg(long, value_name = "CACHE")]
    pub cache: Option<Cache>,
    /// Texts that are followed at the same time. Without it, as without the options below, what the model's
    /// `generation_config.json` says; 1 where it does not.
    #[arg(long)]
    pub beam: Option<usize>,
    /// Groups of beams that avoid each other's tokens; 1 where nobody says.
    #[arg(long)]
    pub groups: Option<usize>,
    /// Loss in log-probability of a token for every beam of an earlier group that chose it; 0 where nobody says.
    #[arg(long)]
    pub diversity: Option<f64>,
    /// Beams are compared by their log-probability over their length to this power; 1 where nobody says.
    #[arg(long, value_name = "POWER", allow_negative_numbers = true)]
    pub length_penalty: Option<f64>,
    /// Stop as soon as as many texts as beams have ended (`true`), when no running one can be better at the length that it has
    /// (`false`, where nobody says), or at any length (`never`).
    #[arg(long, value_name = "true|false|never", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub early_stopping: Option<String>,
    /// New tokens at least; 0 where nobody says.
    #[arg(long, value_name = "TOKENS")]
    pub min_length: Option<usize>,
    /// New tokens at most; 64 where nobody says.
    #[arg(long, value_name = "TOKENS")]
    pub max_length: Option<usize>,
    /// No sequence of so many tokens comes twice; 0, where nobody says: any may.
    #[arg(long, value_name = "TOKENS")]
    pub no_repeat: Option<usize>,
    /// Draw tokens at this temperature; 0, where nobody says: take the most probable one.
    #[arg(long, allow_negative_numbers = true)]
    pub temperature: Option<f64>,
    /// Draw from that many most probable tokens.
    #[arg(long, value_name = "TOKENS")]
    pub top_k: Option<usize>,
    /// Draw from the most probable tokens that have this share of the probability together.
    #[arg(long, value_name = "SHARE")]
    pub top_p: Option<f64>,
    /// The same seed draws the same tokens.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Texts of a file that are generated at the same time.
    #[arg(long, value_name = "TEXTS", default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..=65_536))]
    pub batch: u64,
    /// The number format: `f32`, `f64`, `f16`, `bf16`. With `--prove` several, such as `f32,bf16`.
    #[arg(long, value_delimiter = ',', default_value = "f32")]
    pub precision: Vec<String>,
    /// Threads that compute; as many as there are cores without it.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub threads: Option<u64>,
    /// One JSON object a line for each text, or one for all that `--prove` found.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `predict`.
#[derive(Args, Debug)]
pub struct PredictArgs {
    /// A run with a task, or a model directory that ends in classes, a number or spans, or translates.
    #[arg(value_name = "RUN|DIR")]
    pub target: String,
    /// A file with a text in each line, two with a tab between where the model reads two: a question and its paragraph, for which a
    /// `SQuAD` file (`.json`) will do as well; `-`: standard input. For a model of images: a PNG or JPEG file, a folder of such, or an
    /// IDX or CIFAR file.
    #[arg(long, value_name = "FILE|FOLDER|-")]
    pub input: PathBuf,
    /// Which checkpoint of a run: `best`, `last` or a step.
    #[arg(long, default_value = "best")]
    pub which: Which,
    /// No answer to a question where the score of there being none exceeds that of the best answer by more than this. Without it
    /// what the config of a run says, and 0 for a directory, where the model or the `SQuAD` file knows questions without answers.
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true)]
    pub no_answer_threshold: Option<f64>,
    /// One JSON object a line for each line of the input, or each question or image.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `translate-eval`.
#[derive(Args, Debug)]
pub struct TranslateEvalArgs {
    /// A run, or a model directory.
    #[arg(value_name = "RUN|DIR")]
    pub target: String,
    /// The texts, a line each; without `--translations` a table of texts and translations, separated by tabs. Without it, the
    /// pairs that were held out of the run, also of the one whose config lies in a model directory.
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// The right translations, line by line.
    #[arg(long, value_name = "FILE", requires = "data")]
    pub translations: Option<PathBuf>,
    /// Only the first pairs.
    #[arg(long, value_name = "PAIRS", value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: Option<u64>,
    /// Which checkpoint of a run: `best`, `last` or a step.
    #[arg(long, default_value = "best")]
    pub which: Which,
    /// What is kept between tokens: `none`, `key_value`, `hidden` (EL-attention). Without it what the config of a run says, or
    /// `key_value`. It changes no token.
    #[arg(long, value_name = "CACHE")]
    pub cache: Option<Cache>,
    /// Texts that are followed at the same time for each source. Without it, as without the next two options, what the model's
    /// `generation_config.json` says; 1 where it does not.
    #[arg(long)]
    pub beam: Option<usize>,
    /// Beams are compared by their log-probability over their length to this power; 1 where nobody says.
    #[arg(long, value_name = "POWER", allow_negative_numbers = true)]
    pub length_penalty: Option<f64>,
    /// Tokens of a translation at most, as far as the model has positions; 256 where nobody says.
    #[arg(long, value_name = "TOKENS")]
    pub max_length: Option<usize>,
    /// Cutting of words for BLEU, by the names of sacreBLEU: `13a`, `intl`, `zh` (Chinese), `char` (any script without blanks) or `none`.
    #[arg(long, value_name = "NAME", default_value = "13a")]
    pub bleu_tokenize: Words,
    /// Sources that are translated at the same time.
    #[arg(long, value_name = "TEXTS", default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..=65_536))]
    pub batch: u64,
    /// The number format: `f32`, `f64`, `f16`, `bf16`.
    #[arg(long, default_value = "f32")]
    pub precision: String,
    /// Threads that compute; as many as there are cores without it.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub threads: Option<u64>,
    /// A file for the translations, a line each; it must not exist.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `analyse`.
#[derive(Args, Debug)]
pub struct AnalyseArgs {
    /// A run, or a model directory.
    #[arg(value_name = "RUN|DIR")]
    pub target: String,
    /// The text: a file or a folder. Without it, the text that was held out of the run, or of the run that an exported
    /// directory comes from.
    #[arg(long, value_name = "PATH")]
    pub data: Option<PathBuf>,
    /// The field of a JSONL object that holds the text.
    #[arg(long, requires = "data")]
    pub field: Option<String>,
    /// The column of a CSV or TSV file that holds the text.
    #[arg(long, requires = "data")]
    pub column: Option<String>,
    /// Put every token of the text at a random place (`true`) or leave it in order (`false`), whatever the run read.
    #[arg(long, value_name = "true|false", num_args = 0..=1, default_missing_value = "true")]
    pub shuffled: Option<bool>,
    /// Which checkpoint of a run: `best`, `last` or a step.
    #[arg(long, default_value = "best")]
    pub which: Which,
    /// What was found while the run trained, at this step (the last without a number), instead of a new analysis.
    #[arg(long, value_name = "STEP", num_args = 0..=1, default_missing_value = "last",
          conflicts_with_all = ["data", "shuffled", "subspace", "tokens", "reconstruction", "heads", "exact"])]
    pub live: Option<String>,
    #[command(flatten)]
    pub parts: AnalysisArgs,
    /// Share of the scores' energy in the space of another model's scores: RUN, RUN@STEP, RUN@last, or a directory.
    #[arg(long, value_name = "RUN|DIR", num_args = 1..)]
    pub subspace: Vec<String>,
    /// Find the spaces of `--subspace` on this text instead of the one that each model was evaluated on.
    #[arg(long, value_name = "PATH", requires = "subspace")]
    pub subspace_data: Option<PathBuf>,
    /// Write figures (SVG, PNG), tables (CSV), arrays (.npy) and everything as JSON into this directory, which must be empty or
    /// not there.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// What is analysed.
#[derive(Args, Debug)]
pub struct AnalysisArgs {
    /// Similarity of attention maps: `total_variation`, `cosine`, `jensen_shannon`, `linear_cka`; the first without a name.
    #[arg(long, value_name = "MEASURE,..", num_args = 0..=1, value_delimiter = ',',
          default_missing_value = "total_variation")]
    pub similarity: Option<Vec<Measure>>,
    /// Spectra of scores before the softmax.
    #[arg(long)]
    pub spectrum: bool,
    /// Captured variance of query and key weights.
    #[arg(long)]
    pub captured: bool,
    /// How well scores are restored from k pairs of each query, on held-out examples: pairs, eigenvectors, FLOPs.
    #[arg(long)]
    pub reconstruction: bool,
    /// Reconstruction of parts for themselves beside the network: `layers` (each layer), a head such as `L3H7`.
    #[arg(long, value_name = "SCOPE,..", value_delimiter = ',')]
    pub scope: Vec<ScopeArg>,
    /// Examples that are analysed, spread evenly over the text.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..))]
    pub examples: u64,
    /// Tokens of an example; as the model was trained without it.
    #[arg(long, value_parser = clap::value_parser!(u64).range(2..))]
    pub tokens: Option<u64>,
    /// Eigenvalues that are kept where there are too many dimensions for all.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..))]
    pub components: u64,
    /// Spectra of every head too.
    #[arg(long)]
    pub heads: bool,
    /// All eigenvalues from the covariance itself, whatever its size, where memory allows.
    #[arg(long)]
    pub exact: bool,
}

/// Arguments of `advise`.
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command")]
pub struct AdviseArgs {
    /// The run that was measured, with --outcome also the one that was advised; or a model directory, of which conversions
    /// are advised.
    #[arg(value_name = "RUN|DIR")]
    pub run: String,
    /// Let heads borrow maps that are at least this similar to their own, 0 to 1. Without any of the three: 0.9.
    #[arg(long, value_name = "SHARE", value_parser = share, num_args = 0..=1, default_missing_value = "0.9")]
    pub similarity: Option<f64>,
    /// Let all heads share as many dimensions of queries and keys as keep this share of the energy of `W_Q W_K^T`,
    /// summed over heads, 0 to 1. Single heads may keep less of theirs.
    #[arg(long, value_name = "SHARE", value_parser = share, num_args = 0..=1, default_missing_value = "0.95")]
    pub energy: Option<f64>,
    /// Let each query score as many pairs as restore the others within this share of their energy, 0 to 1.
    #[arg(long, value_name = "SHARE", value_parser = share, num_args = 0..=1, default_missing_value = "0.05")]
    pub error: Option<f64>,
    /// The analysis on demand to advise from, by the id that `analyse` keeps it under [default: the last one while it
    /// trained, else the newest analysis].
    #[arg(long, value_name = "ID", conflicts_with = "step")]
    pub analysis: Option<String>,
    /// The analysis while it trained to advise from, by its step.
    #[arg(long, value_name = "STEP")]
    pub step: Option<u64>,
    /// Train what is advised: same seed, order of the data, schedule and length; then show what came out.
    #[arg(long, conflicts_with = "outcome")]
    pub train: bool,
    /// Train the run itself again beside it, so that both are timed on the machine as it is now.
    #[arg(long, requires = "train")]
    pub again: bool,
    /// Show what was predicted beside what came out, of the runs that were advised from this one.
    #[arg(long, conflicts_with_all = ["similarity", "energy", "error", "analysis", "step"])]
    pub outcome: bool,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `domains`.
#[derive(Args, Debug)]
pub struct DomainsArgs {
    #[command(flatten)]
    pub config: ConfigArgs,
    #[command(flatten)]
    pub parts: AnalysisArgs,
    /// Write figures (SVG, PNG), tables (CSV), arrays (.npy) and everything as JSON into folders of this directory, which must be
    /// empty or not there.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Answer as one JSON object at the end.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `fetch`.
#[derive(Args, Debug)]
pub struct FetchArgs {
    /// The name on the hub: `NAME` or `OWNER/NAME`. `HF_ENDPOINT`, `HF_HOME`, `HF_HUB_CACHE`, `HF_TOKEN` and
    /// `HF_HUB_OFFLINE` hold here too.
    #[arg(required_unless_present = "cached")]
    pub name: Option<String>,
    /// A branch, a tag or a commit; `main` without it.
    #[arg(long, value_name = "REVISION")]
    pub revision: Option<String>,
    /// A data set, not a model.
    #[arg(long)]
    pub dataset: bool,
    /// Say what there is, and download nothing.
    #[arg(long)]
    pub info: bool,
    /// List the models that are in the cache, without asking the hub.
    #[arg(long, conflicts_with_all = ["name", "revision", "dataset", "info", "only"])]
    pub cached: bool,
    /// Only this file or folder of it; may be given more than once.
    #[arg(long, value_name = "PATH")]
    pub only: Vec<String>,
    /// One JSON object a line, the last is `fetched`; with --info or --cached, one object.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `push`.
#[derive(Args, Debug)]
pub struct PushArgs {
    /// A run, or a model directory.
    #[arg(value_name = "RUN|DIR")]
    pub target: String,
    /// The name on the hub: `NAME` (yours) or `OWNER/NAME`. It is made where it is not there.
    pub name: String,
    /// Everybody may read it; private without it.
    #[arg(long)]
    pub public: bool,
    /// Which checkpoint of a run: `best`, `last` or a step.
    #[arg(long, default_value = "best")]
    pub which: Which,
    /// Say what would be sent, and send nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// One JSON object a line; the last is `pushed`, or `push_previewed` with --dry-run.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `export`.
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// The run.
    pub run: String,
    /// The model directory to make.
    #[arg(long, value_name = "DIR")]
    pub to: PathBuf,
    /// Which checkpoint: `best`, `last` or a step.
    #[arg(long, default_value = "best")]
    pub which: Which,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }
}
