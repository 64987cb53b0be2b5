//! `headroom estimate`: what a config costs, without running it.

use std::path::Path;

use headroom_engine::{
    attention::{Cost, ModelPlan, ParameterMatch, Part, Workload, estimated_vocabulary},
    checkpoint::read_plan,
    config::{Problem, RunConfig, Tokenizer, counted},
    data::TextTokenizer,
};
use serde_json::json;

use super::{
    args::EstimateArgs,
    config_source::GivenConfig,
    error::{CliError, CliResult},
    plain, print,
    table::Table,
};

/// Counts parameters, FLOPs and memory of a training step.
pub fn run(args: &EstimateArgs) -> CliResult {
    let GivenConfig { label, config, base_dir } = GivenConfig::read_without_text(&args.config)?;
    let (mut vocabulary, mut known_from) = vocabulary(&config, &base_dir);
    let problems = |problems: Vec<Problem>| CliError::problems(&label, &problems);
    let mut plan = ModelPlan::resolve(&config, vocabulary).map_err(problems)?;
    if let Some(initial) =
        config.model.initial.as_ref().map(|initial| base_dir.join(initial)).filter(|dir| dir.is_dir())
    {
        let given = read_plan(&initial).map_err(|error| CliError::at("model.initial", error.to_string()))?;
        plan = given.trained_further(&config).map_err(problems)?;
        (vocabulary, known_from) = (plan.vocabulary(), KnownFrom::Model);
    }
    let matched = ParameterMatch::of(&config).map_err(|problems| CliError::problems(&label, &problems))?;
    let cost = Cost::of(&plan, &Workload::training(&config));
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
    let mut table = Table::new(["part", "parameters", "forward FLOPs", "backward FLOPs", "activations"]);
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
    print::block(&table.text())?;
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
    let tokens = counted(vocabulary, "token");
    print::line(match known_from {
        KnownFrom::Source if vocabulary == 0 => {
            "Counted for images of the size that was found, or is assumed where none could be looked at, and two classes where \
             nothing says how many there are."
                .to_owned()
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
            "Counted for a vocabulary of {tokens}, which is assumed: it is that of the model to begin with, which is looked for \
             here only where model.initial is a directory."
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

/// How many tokens a model of the config knows, as far as can be known without its text.
fn vocabulary(config: &RunConfig, base_dir: &Path) -> (usize, KnownFrom) {
    let estimated = estimated_vocabulary(config);
    match &config.data.tokenizer {
        _ if config.data.source.has_own_tokens() => (estimated, KnownFrom::Source),
        Tokenizer::Bytes(_) => (estimated, KnownFrom::Bytes),
        Tokenizer::Bpe(_) | Tokenizer::WordPiece(_) | Tokenizer::Words(_) => (estimated, KnownFrom::Config),
        Tokenizer::Initial(_) => (estimated, KnownFrom::Elsewhere),
        Tokenizer::File(file) => match TextTokenizer::open_file(&base_dir.join(&file.path)) {
            Ok(tokenizer) => (tokenizer.vocabulary_size(), KnownFrom::File),
            Err(error) => (estimated, KnownFrom::Assumption(error.to_string())),
        },
    }
}
