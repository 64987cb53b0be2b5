//! `headroom estimate`: what a config costs, without running it.

use headroom_engine::{
    attention::{Cost, ModelPlan, ParameterMatch, Part, Workload, estimated_vocabulary},
    config::{Tokenizer, counted},
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
    let GivenConfig { label, config, .. } = GivenConfig::read(&args.config)?;
    let vocabulary = estimated_vocabulary(&config);
    let plan = ModelPlan::resolve(&config, vocabulary).map_err(|problems| CliError::problems(&label, &problems))?;
    let matched = ParameterMatch::of(&config).map_err(|problems| CliError::problems(&label, &problems))?;
    let cost = Cost::of(&plan, &Workload::training(&config));
    // The vocabulary of a file or of trained merges is known only once the text was read.
    let is_exact = matches!(config.data.tokenizer, Tokenizer::Bytes(_));
    let parts: Vec<_> = Part::ALL.into_iter().map(|part| cost.part(part)).collect();
    if args.json {
        return print::json(&json!({
            "name": config.name, "vocabulary": vocabulary, "parameters": cost.parameters,
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
    let about = if is_exact { "" } else { "; the tokenizer decides the exact number" };
    print::line(format!("Counted for a vocabulary of {}{about}.", counted(vocabulary, "token")))
}
