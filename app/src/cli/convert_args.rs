//! Arguments of `convert`.

use std::path::PathBuf;

use clap::Args;
use headroom_engine::protocol::Which;

use super::common_args::share;

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
    /// The shared width of `--collaborative`; at the number of heads times their size nothing is lost. Several make a model each, in
    /// folders of their own inside of `--to`: `d_k-16`, `d_k-32`.
    #[arg(long, value_name = "N,..", value_delimiter = ',')]
    pub d_k: Vec<usize>,
    /// With `--borrow`: a lender gets the best single map for itself and its borrowers, the mean of their products `W_Q W_Kᵀ`
    /// cut to the size of a head.
    #[arg(long)]
    pub merge: bool,
    /// Examples from whose scores `--coverage` chooses.
    #[arg(long, value_name = "COUNT", default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub choose_from: u64,
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
    /// Random beginnings of the search beside the one from singular vectors; the best of all is kept.
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u64).range(0..=1000))]
    pub restarts: u64,
    /// What random beginnings are drawn from.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub seed: u64,
    /// The most sweeps from each beginning.
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub sweeps: u64,
    /// A search ends where ten sweeps make the error less by a smaller share than this.
    #[arg(long, value_name = "SHARE", default_value_t = 1e-4, value_parser = share)]
    pub tolerance: f64,
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

/// The conversions, of which exactly one is named.
#[derive(Args, Debug)]
pub struct ConversionArgs {
    /// Standard attention becomes collaborative: queries and keys that all heads share, and a mixing row for each head.
    #[arg(long)]
    pub collaborative: bool,
    /// Queries become keys too, `Q Qᵀ`: of every head the nearest product that is found.
    #[arg(long)]
    pub symmetric: bool,
    /// Queries become keys too with a matrix between them, `Q U Qᵀ`: the nearest product that is found.
    #[arg(long)]
    pub pairwise: bool,
    /// Queries, keys and values get one matrix, told apart by diagonals; the output is refitted to it.
    #[arg(long)]
    pub shared_weight: bool,
    /// Heads give up their own map for one of an earlier layer that is at least that similar (1 less the total-variation
    /// distance, 0 to 1), as in `--borrow 0.9`.
    #[arg(long, value_name = "SIMILARITY")]
    pub borrow: Option<f64>,
    /// Heads in groups share keys and values: this many of them, each the mean of its group.
    #[arg(long, value_name = "KV_HEADS")]
    pub grouped: Option<usize>,
    /// Not every pair is scored: `partial:k=16` (the others follow from these) or `eigen:k=16` (each row projected on its top
    /// eigenvectors), in all layers but the last.
    #[arg(long, value_name = "KIND:k=N")]
    pub coverage: Option<String>,
    /// Keys lose their biases, which softmax ignores: nothing is lost.
    #[arg(long)]
    pub drop_key_biases: bool,
}
