//! Arguments of `convert`.

use std::path::PathBuf;

use clap::Args;
use headroom_engine::protocol::Which;

use super::conversion_args::ConversionArgs;

/// Arguments of `convert`.
#[derive(Args, Debug)]
pub struct ConvertArgs {
    /// A run, or a model directory.
    #[arg(value_name = "RUN|DIR")]
    pub target: String,
    /// The model directory to make; must not exist or be empty.
    #[arg(long, value_name = "DIR")]
    pub to: PathBuf,
    /// What it is to become.
    #[command(flatten)]
    pub conversion: ConversionArgs,
    /// The text on which it is compared with what it was made from, and on which `--borrow` and `--coverage` depend: a file or
    /// a folder. Without it, the text that was held out of the run, also of the one whose config lies in a model directory.
    #[arg(long, value_name = "PATH")]
    pub data: Option<PathBuf>,
    /// The field of a JSONL object that holds the text.
    #[arg(long, requires = "data")]
    pub field: Option<String>,
    /// The column of a CSV or TSV file that holds the text.
    #[arg(long, requires = "data")]
    pub column: Option<String>,
    /// Examples of it, spread evenly over the text.
    #[arg(long, value_name = "COUNT", default_value_t = 32, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub examples: u64,
    /// Tokens of an example. Without it, as the model was trained; a folder from elsewhere is read in examples as long as it
    /// has positions.
    #[arg(long, value_name = "N")]
    pub tokens: Option<usize>,
    /// Which checkpoint of a run: `best`, `last` or a step.
    #[arg(long, default_value = "best")]
    pub which: Which,
    /// Threads that compute; without it, as many as there are cores. They change no bit of the result.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub threads: Option<u64>,
    /// One JSON object a line; the last is `converted`.
    #[arg(long)]
    pub json: bool,
}
