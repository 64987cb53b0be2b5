//! The arguments of `bench` and what is below it.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::common_args::{JsonArgs, OverrideParser};

/// Arguments of `bench`.
#[derive(Debug, Subcommand)]
pub enum BenchTask {
    /// Time whole training steps of one model on random tokens.
    Step(BenchStepArgs),
    /// Time training steps while fields of a config take several values, side against side, and keep what was found.
    Sweep(BenchSweepArgs),
    /// Time the generation of texts with each cache, in turns, over lengths, beams and batches, and keep what was found.
    #[command(after_help = GENERATE_EXAMPLES)]
    Generate(BenchGenerateArgs),
    /// Time forward passes of a model directory over random tokens, up to its last hidden states.
    Forward(BenchForwardArgs),
    /// Find the largest batch that fits into memory, and take one step with it.
    LargestBatch(LargestBatchArgs),
    /// List what was measured, newest first.
    List(JsonArgs),
    /// Show what was measured.
    Show(BenchShowArgs),
    /// Compare two benchmarks: the points that both have, and the ratio of their medians.
    Compare(BenchCompareArgs),
    /// Delete a benchmark; `restore` brings it back.
    Delete(BenchmarkArgs),
    /// Bring a deleted benchmark back.
    Restore(BenchmarkArgs),
}

const GENERATE_EXAMPLES: &str = "\
Examples:
  headroom bench generate --preset length
  headroom bench generate --preset batch --memory 4000000000
  headroom bench generate number-words --set data.sequence_length=1024 --axis source=64,256,1024 --beam 4 --batch 4
  headroom bench generate grammar-decoder --axis beams=1,2,4,8 --source 48 --cache key_value,hidden --json";

/// Arguments of `bench forward`.
#[derive(Args, Debug)]
pub struct BenchForwardArgs {
    /// The model directory.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Examples that are read together.
    #[arg(long, value_name = "COUNT", default_value_t = 32, value_parser = clap::value_parser!(u64).range(1..=65_536))]
    pub batch: u64,
    /// Tokens of each.
    #[arg(long, value_name = "COUNT", default_value_t = 128, value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    pub tokens: u64,
    /// Passes that are timed.
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub runs: u64,
    /// Passes before those.
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = clap::value_parser!(u64).range(0..=100_000))]
    pub warmup: u64,
    /// Threads that compute; without it, as many as there are cores.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub threads: Option<u64>,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `bench generate`.
#[derive(Args, Debug)]
pub struct BenchGenerateArgs {
    /// The model: a TOML file or a preset's name. Its text is never read; weights and sources are random.
    #[arg(value_name = "CONFIG", default_value = "number-words")]
    pub config: String,
    /// One of the measurements of the Speed panel: `length`, `beams` or `batch`, with a model of its own.
    #[arg(long, value_name = "NAME", conflicts_with = "config")]
    pub preset: Option<String>,
    /// `source`, `beams`, `batch`, `new_tokens` or a field of the config with its values, as in `--axis source=64,256,1024`.
    /// Once or twice; points are all combinations [default: a quarter, half and all of the positions of a source].
    #[arg(long, value_name = "FIELD=VALUES")]
    pub axis: Vec<String>,
    /// Tokens of each source: of what an encoder reads, else of a prompt [default: 64].
    #[arg(long, value_name = "TOKENS")]
    pub source: Option<usize>,
    /// Beams of each source; 1 takes the most probable token [default: 4].
    #[arg(long, visible_alias = "beams", value_name = "BEAMS")]
    pub beam: Option<usize>,
    /// Sources at the same time [default: 4].
    #[arg(long, value_name = "SOURCES")]
    pub batch: Option<usize>,
    /// New tokens of each text, none of which ends it [default: 16].
    #[arg(long, value_name = "TOKENS")]
    pub new_tokens: Option<usize>,
    /// What is kept between tokens: the sides [default: all three of `none`, `key_value` and `hidden`].
    #[arg(long, value_name = "CACHES", value_delimiter = ',')]
    pub cache: Vec<String>,
    /// What to call it [default: the name of the preset, or the axes].
    #[arg(long)]
    pub name: Option<String>,
    /// Replace a field of the config, as in `--set model.layers=4 model.heads=2`.
    #[arg(long, value_name = "FIELD=VALUE", num_args = 1.., value_parser = OverrideParser, hide_possible_values = true)]
    pub set: Vec<String>,
    /// Tokens of the vocabulary [default: as the tokenizer is expected to have].
    #[arg(long)]
    pub vocabulary: Option<usize>,
    /// Runs of each cache that count.
    #[arg(long, default_value_t = 3)]
    pub runs: usize,
    /// Runs before them that do not.
    #[arg(long, default_value_t = 1)]
    pub warmup: usize,
    /// Search for the most sources at the same time that fit into memory as well, and generate once with them.
    #[arg(long)]
    pub largest_batch: bool,
    /// Bytes that runs may use by estimate, and that a process may hold with the largest batch [default: what is free; for the largest
    /// batch 75 % of it].
    #[arg(long, value_name = "BYTES")]
    pub memory: Option<u64>,
    /// Replace `threads`.
    #[arg(long)]
    pub threads: Option<usize>,
    /// Replace `device`: `cpu`, `cuda:0`, `metal`.
    #[arg(long)]
    pub device: Option<String>,
    /// Answer as CSV.
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `bench sweep`.
#[derive(Args, Debug)]
pub struct BenchSweepArgs {
    /// The base: a TOML file or a preset's name. Its text is never read.
    #[arg(value_name = "CONFIG", default_value = "grammar-decoder")]
    pub config: String,
    /// A field and its values, as in `--axis data.sequence_length=128,256,512`. Once or twice; points are all
    /// combinations [default: a quarter, half and all of the config's sequence length].
    #[arg(long, value_name = "FIELD=VALUES")]
    pub axis: Vec<String>,
    /// A side to compare at every point, as in `--side narrow:model.width=128,model.heads=2`; a name alone is the base.
    #[arg(long, value_name = "NAME:FIELD=VALUE")]
    pub side: Vec<String>,
    /// What to call it [default: the swept fields].
    #[arg(long)]
    pub name: Option<String>,
    /// Replace a field of the base, as in `--set model.layers=4 train.batch=8`.
    #[arg(long, value_name = "FIELD=VALUE", num_args = 1.., value_parser = OverrideParser, hide_possible_values = true)]
    pub set: Vec<String>,
    /// Tokens of the vocabulary [default: as the tokenizer is expected to have].
    #[arg(long)]
    pub vocabulary: Option<usize>,
    /// Steps of each side and repeat that count.
    #[arg(long, default_value_t = 10)]
    pub steps: usize,
    /// Steps before them that do not.
    #[arg(long, default_value_t = 2)]
    pub warmup: usize,
    /// How often each point is built and measured anew.
    #[arg(long, default_value_t = 1)]
    pub repeats: usize,
    /// Search for the largest batch that fits into memory as well, at every point and for every side.
    #[arg(long)]
    pub largest_batch: bool,
    /// Bytes that a process with the largest batch may hold [default: 75 % of what is free; never more].
    #[arg(long, value_name = "BYTES", requires = "largest_batch")]
    pub memory: Option<u64>,
    /// Replace `threads`.
    #[arg(long)]
    pub threads: Option<usize>,
    /// Replace `device`: `cpu`, `cuda:0`, `metal`.
    #[arg(long)]
    pub device: Option<String>,
    /// Answer as CSV.
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `bench largest-batch`.
#[derive(Args, Debug)]
pub struct LargestBatchArgs {
    /// The config: a TOML file or a preset's name. Its text is never read.
    #[arg(value_name = "CONFIG", default_value = "grammar-decoder")]
    pub config: String,
    /// Replace a field of the config, as in `--set model.layers=4 data.sequence_length=512`.
    #[arg(long, value_name = "FIELD=VALUE", num_args = 1.., value_parser = OverrideParser, hide_possible_values = true)]
    pub set: Vec<String>,
    /// Tokens of the vocabulary [default: as the tokenizer is expected to have].
    #[arg(long)]
    pub vocabulary: Option<usize>,
    /// Bytes that a process may hold that takes a step [default: 75 % of what is free; never more].
    #[arg(long, value_name = "BYTES")]
    pub memory: Option<u64>,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `bench show`.
#[derive(Args, Debug)]
pub struct BenchShowArgs {
    /// Its number in `bench list`, its id, the beginning of one, or its name.
    #[arg(value_name = "BENCHMARK")]
    pub benchmark: String,
    /// Answer as CSV.
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
    /// Write figures of every measured quantity (SVG, PNG, CSV), the table as CSV and everything as JSON into this
    /// directory too.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// `bench delete` and `bench restore`.
#[derive(Args, Debug)]
pub struct BenchmarkArgs {
    /// Its number in `bench list`, its id, the beginning of one, or its name.
    #[arg(value_name = "BENCHMARK")]
    pub benchmark: String,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `bench compare`.
#[derive(Args, Debug)]
pub struct BenchCompareArgs {
    /// What the other is measured against.
    #[arg(value_name = "BENCHMARK")]
    pub first: String,
    /// The other.
    #[arg(value_name = "OTHER")]
    pub second: String,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `bench step`.
#[derive(Args, Debug)]
pub struct BenchStepArgs {
    /// `encoder`, `decoder` or `encoder_decoder`, which has as many layers on both sides.
    #[arg(long, default_value = "decoder")]
    pub kind: String,
    /// Width of the residual stream.
    #[arg(long, default_value_t = 256)]
    pub width: usize,
    /// Layers.
    #[arg(long, default_value_t = 6)]
    pub layers: usize,
    /// Attention heads of each layer.
    #[arg(long, default_value_t = 4)]
    pub heads: usize,
    /// Inner width of the feed-forward block [default: four times the width].
    #[arg(long)]
    pub feed_forward: Option<usize>,
    /// Tokens of an example.
    #[arg(long, default_value_t = 128)]
    pub sequence_length: usize,
    /// Examples of a forward pass.
    #[arg(long, default_value_t = 16)]
    pub batch: usize,
    /// Tokens of the vocabulary; the table is the matrix of the head too.
    #[arg(long, default_value_t = 8192)]
    pub vocabulary: usize,
    /// Dropout probability.
    #[arg(long, default_value_t = 0.0)]
    pub dropout: f64,
    /// Steps that count.
    #[arg(long, default_value_t = 20)]
    pub steps: usize,
    /// Steps before them that do not.
    #[arg(long, default_value_t = 3)]
    pub warmup: usize,
    /// Threads that compute [default: every core].
    #[arg(long)]
    pub threads: Option<usize>,
    /// `cpu`, `cuda:0`, `metal`.
    #[arg(long, default_value = "cpu")]
    pub device: String,
    /// Which heads score: a kind with its numbers, as in `--reuse first:layers=2,heads=4` or `--reuse alternate`. A
    /// custom table goes through `--set`.
    #[arg(long, value_name = "KIND[:FIELD=VALUE,...]")]
    pub reuse: Option<String>,
    /// How a pair is scored, as in `--compatibility collaborative:d_k=64`.
    #[arg(long, value_name = "KIND[:FIELD=VALUE,...]")]
    pub compatibility: Option<String>,
    /// How many pairs are scored, as in `--coverage partial:k=16,restore=common`.
    #[arg(long, value_name = "KIND[:FIELD=VALUE,...]")]
    pub coverage: Option<String>,
    /// Set any other field of the config, as in `--set model.norm=post`.
    #[arg(long, value_name = "FIELD=VALUE", num_args = 1.., value_parser = OverrideParser, hide_possible_values = true)]
    pub set: Vec<String>,
    /// Add what each kind of operation takes, beside the limits of the machine.
    #[arg(long)]
    pub profile: bool,
    /// Answer as JSON.
    #[arg(long)]
    pub json: bool,
}
