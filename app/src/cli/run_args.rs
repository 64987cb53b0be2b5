//! The arguments of commands that change what is written about runs, and of those that export what the window draws.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use headroom_engine::protocol::Which;

use crate::{compare::Band, plot::XAxis};

/// `rename`.
#[derive(Args, Debug)]
pub struct RenameArgs {
    /// The run.
    pub run: String,
    /// Its new name.
    pub name: String,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `repeat`.
#[derive(Args, Debug)]
pub struct RepeatArgs {
    /// The runs; the first is the baseline, whose seeds the others take first.
    #[arg(required_unless_present = "tag", value_name = "RUN")]
    pub runs: Vec<String>,
    /// The runs with this tag, such as `race:NAME`, oldest first; further seeds get it, too.
    #[arg(long, conflicts_with = "runs")]
    pub tag: Option<String>,
    /// Seeds that each config is to have; those that it has count.
    #[arg(long, value_name = "COUNT", default_value_t = crate::compare::SEEDS_TO_TEST, value_parser = seeds)]
    pub seeds: usize,
    /// Answer as one JSON object at the end.
    #[arg(long)]
    pub json: bool,
}

/// `tag`.
#[derive(Args, Debug)]
pub struct TagArgs {
    /// The run.
    pub run: String,
    /// A label to add. As often as wanted.
    #[arg(long, value_name = "TAG")]
    pub add: Vec<String>,
    /// A label to take away. As often as wanted.
    #[arg(long, value_name = "TAG")]
    pub remove: Vec<String>,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `note`.
#[derive(Args, Debug)]
pub struct NoteArgs {
    /// The run.
    pub run: String,
    /// The new remark; `-` for standard input. Without it the present one is printed.
    #[arg(allow_hyphen_values = true)]
    pub text: Option<String>,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `archive`.
#[derive(Args, Debug)]
pub struct ArchiveArgs {
    /// The runs.
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<String>,
    /// Bring them back into the everyday list.
    #[arg(long)]
    pub undo: bool,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `delete` and `restore`.
#[derive(Args, Debug)]
pub struct RunsGivenArgs {
    /// The runs.
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<String>,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `analyses`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct AnalysesArgs {
    /// Only those of this run, and the analyses of it while it trained.
    pub run: Option<String>,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
    /// What to do; without it they are listed.
    #[command(subcommand)]
    pub task: Option<AnalysesTask>,
}

/// `analyses` and what is below it.
#[derive(Debug, Subcommand)]
pub enum AnalysesTask {
    /// Show an analysis, and write its figures, tables and arrays.
    Show(AnalysisShowArgs),
    /// Delete an analysis; `restore` brings it back.
    Delete(AnalysisArgs),
    /// Bring a deleted analysis back.
    Restore(AnalysisArgs),
}

/// `analyses show`.
#[derive(Args, Debug)]
pub struct AnalysisShowArgs {
    /// Its id or number in `headroom analyses`, or the beginning of an id.
    pub analysis: String,
    /// Write figures (SVG, PNG), tables (CSV), arrays (.npy) and everything as JSON into this directory, which must be empty or
    /// not there.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `analyses delete` and `analyses restore`.
#[derive(Args, Debug)]
pub struct AnalysisArgs {
    /// Its id or number in `headroom analyses`, or the beginning of an id.
    pub analysis: String,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `chart`.
#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command")]
pub struct ChartArgs {
    /// The runs; differences are to the first.
    #[arg(required_unless_present = "tag", value_name = "RUN")]
    pub runs: Vec<String>,
    /// The runs with this tag, oldest first.
    #[arg(long, conflicts_with = "runs")]
    pub tag: Option<String>,
    /// What is drawn, as in `--metric train/loss`; as often as wanted [default: validation/loss].
    #[arg(long, value_name = "SERIES")]
    pub metric: Vec<String>,
    /// What x counts: `step`, `tokens`, `epoch`, `time` (since the start), `clock` (date and time) or `flops`.
    #[arg(long, value_parser = x_axis, default_value = "step")]
    pub x: XAxis,
    /// Weight of the past in the smoothed curve, 0 to 0.999; the values as they are stay in the table.
    #[arg(long, value_parser = smoothing, default_value = "0")]
    pub smooth: f64,
    /// Put runs together that share this field's value; `seed` puts those together that differ in nothing but the seed.
    #[arg(long, value_name = "FIELD")]
    pub group: Option<String>,
    /// Band around a group's mean: `sd`, `se`, `ci95`, `min_max` or `none`.
    #[arg(long, value_parser = band, default_value = "sd", requires = "group")]
    pub band: Band,
    /// In place of curves a scatter: the metric against a cost, `parameters`, `flops`, `step_time`, `memory`, or a number of the
    /// config such as `attention.compatibility.d_k`, with its Pareto front.
    #[arg(long, value_name = "COST", conflicts_with_all = ["x", "smooth", "difference", "band"])]
    pub against: Option<String>,
    /// A chart of the difference to the first run too.
    #[arg(long)]
    pub difference: bool,
    /// Logarithmic x.
    #[arg(long)]
    pub log_x: bool,
    /// Logarithmic y.
    #[arg(long)]
    pub log_y: bool,
    /// Fit y to the 5th to 95th percentile.
    #[arg(long)]
    pub ignore_outliers: bool,
    /// The directory that gets each chart as SVG, PNG and CSV.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `maps`.
#[derive(Args, Debug)]
pub struct MapsArgs {
    /// A run, or a model directory.
    #[arg(value_name = "RUN|DIR")]
    pub target: String,
    /// Which checkpoint of a run: `best`, `last` or a step.
    #[arg(long, default_value = "best")]
    pub which: Which,
    /// What the model reads: one of sixteen examples of the held-out text, or of the text that `--data` names, from 1
    /// [default: 1].
    #[arg(long, value_name = "NUMBER", conflicts_with = "text", value_parser = clap::value_parser!(u64).range(1..=16))]
    pub example: Option<u64>,
    /// One of all held-out images, from 1.
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["text", "example", "rebuild"],
        value_parser = clap::value_parser!(u64).range(1..))]
    pub image: Option<u64>,
    /// A text file or folder whose examples are read; a model directory from elsewhere has none of its own.
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    pub data: Option<PathBuf>,
    /// The field of a JSONL object that holds the text.
    #[arg(long, requires = "data")]
    pub field: Option<String>,
    /// The column of a CSV or TSV file that holds the text.
    #[arg(long, requires = "data")]
    pub column: Option<String>,
    /// What the model reads: this text.
    #[arg(long)]
    pub text: Option<String>,
    /// Only heads of this layer, from 0.
    #[arg(long)]
    pub layer: Option<usize>,
    /// Only this head of each layer, from 0.
    #[arg(long)]
    pub head: Option<usize>,
    /// Leave special tokens such as `[CLS]` out.
    #[arg(long)]
    pub hide_special: bool,
    /// The directory that gets each map as SVG, PNG and CSV; must not exist or be empty.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Put each map together again from some of its pairs, as this analysis of reconstruction chose them: the true map,
    /// the rebuilt one and their difference.
    #[arg(long, value_name = "ANALYSIS", requires = "pairs")]
    pub rebuild: Option<String>,
    /// Pairs of each query that are kept.
    #[arg(long, value_name = "K", requires = "rebuild")]
    pub pairs: Option<usize>,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `mixing`.
#[derive(Args, Debug)]
pub struct MixingArgs {
    /// A run whose heads collaborate.
    pub run: String,
    /// The directory that gets the newest matrix of each layer as SVG, PNG and CSV; must not exist or be empty.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

fn seeds(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(count) if (1..=100).contains(&count) => Ok(count),
        _ => Err("give a number from 1 to 100".to_owned()),
    }
}

fn x_axis(text: &str) -> Result<XAxis, String> {
    Ok(match text {
        "step" => XAxis::Step,
        "tokens" => XAxis::Tokens,
        "epoch" => XAxis::Epoch,
        "time" => XAxis::RelativeTime,
        "clock" => XAxis::WallTime,
        "flops" => XAxis::Flops,
        _ => return Err("use `step`, `tokens`, `epoch`, `time`, `clock` or `flops`".to_owned()),
    })
}

fn band(text: &str) -> Result<Band, String> {
    Ok(match text {
        "sd" => Band::StandardDeviation,
        "se" => Band::StandardError,
        "ci95" => Band::Confidence95,
        "min_max" => Band::MinMax,
        "none" => Band::None,
        _ => return Err("use `sd`, `se`, `ci95`, `min_max` or `none`".to_owned()),
    })
}

fn smoothing(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(weight) if (0.0..=crate::plot::MAX_SMOOTHING).contains(&weight) => Ok(weight),
        _ => Err("give a number from 0 to 0.999".to_owned()),
    }
}
