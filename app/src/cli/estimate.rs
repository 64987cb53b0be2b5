//! `headroom estimate`: what a config costs, without running it.

use std::path::Path;

use headroom_engine::{
    attention::{ParameterMatch, Part},
    checkpoint::read_plan,
    config::{Problem, RunConfig, Tokenizer, counted},
    data::TextTokenizer,
    worker::model_facts,
};
use serde_json::json;

use crate::export::TextTable;

use super::{
    args::EstimateArgs,
    config_source::GivenConfig,
    error::{CliError, CliResult},
    open, plain, print,
};

/// Counts parameters, FLOPs and memory of a training step.
pub fn run(args: &EstimateArgs) -> CliResult {
    let GivenConfig { label, config, base_dir } = GivenConfig::read_without_text(&args.config)?;
    let directory = config.model.initial.as_ref().map(|initial| base_dir.join(initial)).filter(|dir| dir.is_dir());
    if let Some(directory) = &directory {
        read_plan(directory).map_err(|error| CliError::at("model.initial", error.to_string()))?;
    }
    // Runs of the usual store, where there is one, are models to begin with too.
    let is_elsewhere = config.model.initial.is_some() && directory.is_none();
    let store = is_elsewhere.then(|| open::reading_existing(None).ok()).flatten();
    let facts = model_facts(store.as_ref(), &config, &base_dir);
    let known_from = if facts.initial.is_some() { KnownFrom::Model } else { known_from(&config, &base_dir) };
    let vocabulary = facts.vocabulary_of(&config);
    let problems = |problems: Vec<Problem>| CliError::problems(&label, &problems);
    let matched = ParameterMatch::of(&config).map_err(problems)?;
    let cost = facts.training_cost(&config).map_err(problems)?;
    let parts: Vec<_> = Part::ALL.into_iter().map(|part| cost.part(part)).collect();
    if args.json {
        return print::json(&json!({
            "name": config.name, "vocabulary": vocabulary, "vocabulary_from": known_from.name(), "parameters": cost.parameters,
            "forward_flops": cost.forward_flops, "backward_flops": cost.backward_flops,
            "flops_per_step": cost.flops_per_step, "weights_bytes": cost.weights_bytes,
            "gradient_bytes": cost.gradient_bytes, "optimiser_bytes": cost.optimiser_bytes,
            "activation_bytes": cost.activation_bytes, "memory_bytes": cost.memory_bytes,
            "parts": parts, "layers": cost.layers, "parameter_match": matched.map(|found| found.to_string()),
        }));
    }
    let mut table = TextTable::new(["part", "parameters", "forward FLOPs", "backward FLOPs", "activations"]);
    for part in &parts {
        table.row([
            part.part.name().to_owned(),
            plain::count(part.parameters),
            plain::flops(part.forward_flops as f64),
            plain::flops(part.backward_flops as f64),
            plain::bytes(part.activation_bytes),
        ]);
    }
    table.row([
        "All".to_owned(),
        plain::count(cost.parameters),
        plain::flops(cost.forward_flops as f64),
        plain::flops(cost.backward_flops as f64),
        plain::bytes(cost.activation_bytes),
    ]);
    print::block(&table.to_plain())?;
    print::line(format!(
        "\nOne step: {}. Memory: {} = weights {} + gradients {} + optimiser {} + activations {}.",
        plain::flops(cost.flops_per_step as f64),
        plain::bytes(cost.memory_bytes),
        plain::bytes(cost.weights_bytes),
        plain::bytes(cost.gradient_bytes),
        plain::bytes(cost.optimiser_bytes),
        plain::bytes(cost.activation_bytes),
    ))?;
    if let Some(found) = matched {
        print::line(format!("{found}."))?;
    }
    if config.task.as_ref().is_some_and(|task| task.class_weights().is_some()) {
        print::line(match facts.outputs {
            Some(outputs) => format!("Counted for the {} of the data.", counted(outputs, "label")),
            None => "Counted for two classes, or as many as have a weight: no labels could be read.".to_owned(),
        })?;
    }
    let tokens = counted(vocabulary, "token");
    print::line(match known_from {
        KnownFrom::Source if vocabulary == 0 => {
            "Counted for images of the size that was found, or is assumed where none could be looked at.".to_owned()
        }
        KnownFrom::Source => format!("Counted for a vocabulary of {tokens}, that of the source."),
        KnownFrom::Bytes => format!("Counted for a vocabulary of {tokens}: bytes and special tokens."),
        KnownFrom::Config => {
            format!("Counted for a vocabulary of {tokens}, as data.tokenizer.vocabulary says; no text was read.")
        }
        KnownFrom::File => {
            format!("Counted for a vocabulary of {tokens}, as in the tokenizer's file; no text was read.")
        }
        KnownFrom::Model => format!("Counted for the {tokens} of the model to begin with; no text was read."),
        KnownFrom::Elsewhere => format!(
            "Counted for a vocabulary of {tokens}, which is assumed: it is that of the model to begin with, and that is neither \
             a directory, nor a run of the usual store, nor a model that was fetched."
        ),
        KnownFrom::Assumption(why) => {
            format!(
                "Counted for a vocabulary of {tokens}, which is assumed: the tokenizer's file cannot be read ({why})."
            )
        }
    })
}

/// Where the number of tokens comes from.
enum KnownFrom {
    /// Every byte is a token.
    Bytes,
    /// The config says how many tokens are trained.
    Config,
    /// The source of the data, which has tokens of its own or none.
    Source,
    /// The tokenizer's file.
    File,
    /// The model to begin with.
    Model,
    /// Nowhere: the model to begin with is no directory that is there.
    Elsewhere,
    /// Nowhere: the file cannot be read, for this reason.
    Assumption(String),
}

impl KnownFrom {
    fn name(&self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Config => "config",
            Self::Source => "source",
            Self::File => "tokenizer_file",
            Self::Model => "model",
            Self::Assumption(_) | Self::Elsewhere => "assumption",
        }
    }
}

/// Source of the number of tokens of a config without an initial model that is there.
fn known_from(config: &RunConfig, base_dir: &Path) -> KnownFrom {
    match &config.data.tokenizer {
        _ if config.data.source.has_own_tokens() => KnownFrom::Source,
        Tokenizer::Bytes(_) => KnownFrom::Bytes,
        Tokenizer::Bpe(_) | Tokenizer::WordPiece(_) | Tokenizer::Words(_) => KnownFrom::Config,
        Tokenizer::Initial(_) => KnownFrom::Elsewhere,
        Tokenizer::File(file) => match TextTokenizer::open_file(&base_dir.join(&file.path)) {
            Ok(_) => KnownFrom::File,
            Err(error) => KnownFrom::Assumption(error.to_string()),
        },
    }
}
