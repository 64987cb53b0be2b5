//! `headroom show DIR`: what a model directory holds.

use std::path::Path;

use headroom_engine::{
    checkpoint::{DirectoryFacts, describe_model_dir},
    config::{RunConfig, to_toml},
    jobs::choose_checkpoint,
    protocol::Which,
    store::{RunRecord, Store},
};

use crate::export::TextTable;

use super::{
    args::ShowArgs,
    error::{CliError, CliResult},
    plain, print,
};

/// Shows it.
pub fn run(directory: &Path, args: &ShowArgs) -> CliResult {
    let facts = describe_model_dir(directory).map_err(|error| CliError::at("run", error.to_string()))?;
    if args.config {
        let missing = || {
            let message = format!("{} holds no run config (headroom.toml): another program made it.", args.run);
            CliError::at("--config", message)
        };
        return print::toml(facts.config_toml.as_deref().ok_or_else(missing)?);
    }
    if args.further {
        return further(&facts, facts.further.clone());
    }
    if args.json { print::json(&facts) } else { print::block(&text(&facts)) }
}

/// Prints a config that trains a run further.
pub fn run_further(store: &Store, record: &RunRecord) -> CliResult {
    let run = &record.summary.id;
    let records = store.checkpoints(run)?;
    let chosen = choose_checkpoint(&records, Which::Best).map_err(|why| CliError::at("--further", why))?;
    let facts = describe_model_dir(&chosen.path).map_err(|error| CliError::at("run", error.to_string()))?;
    let config = facts.further.clone().map(|mut config| {
        config.model.initial = Some(run.to_string());
        config
    });
    further(&facts, config)
}

fn further(facts: &DirectoryFacts, config: Option<RunConfig>) -> CliResult {
    let why = facts.why_not_further.as_deref().unwrap_or_default();
    let refused = || CliError::at("--further", format!("It cannot be trained further: {why}."));
    print::toml(&to_toml(&config.ok_or_else(refused)?))
}

fn text(facts: &DirectoryFacts) -> String {
    let mut table = TextTable::default();
    let mut fact = |name: &str, value: String| table.row([name.to_owned(), value]);
    fact("directory", facts.path.display().to_string());
    fact("class", facts.class.clone().unwrap_or_else(|| "-".to_owned()));
    fact("architecture", format!("{}, norm {}", word(&facts.architecture), word(&facts.norm)));
    for (name, count) in [
        ("layers", facts.layers),
        ("heads", facts.heads),
        ("width", facts.width),
        ("feed-forward", facts.feed_forward),
        ("positions", facts.positions),
        ("vocabulary", facts.vocabulary),
    ] {
        fact(name, plain::count(count as u64));
    }
    fact("parameters", plain::count(facts.parameters));
    fact("numbers", facts.dtype.clone().unwrap_or_else(|| "-".to_owned()));
    match &facts.training {
        Some(training) => {
            let best = training.best.as_ref();
            let best = best.map(|best| {
                format!("; best {} {} at step {}", best.name, plain::number(best.value), plain::count(best.step))
            });
            let (step, tokens) = (plain::count(training.step), plain::count(training.tokens));
            fact("training", format!("step {step}, {tokens} tokens{}", best.unwrap_or_default()));
        }
        None => fact("training", "cannot go on from here: weights alone".to_owned()),
    }
    if let Some(lineage) = &facts.lineage {
        let of_run = lineage.run.as_deref().map(|run| {
            let step = lineage.step.map(|step| format!(", step {}", plain::count(step))).unwrap_or_default();
            format!(" (run {run}{step})")
        });
        fact("made from", format!("{}{}", lineage.from, of_run.unwrap_or_default()));
        let largest =
            lineage.largest_error().map(|error| format!("; largest error of an attention {:.2} %", 100.0 * error));
        fact("made by", format!("{}{}", lineage.by, largest.unwrap_or_default()));
        if let Some(measured) = &lineage.measured {
            let losses = measured
                .loss
                .zip(measured.loss_before)
                .map(|(loss, before)| format!("loss {}, {} before; ", plain::number(loss), plain::number(before)));
            let output = format!("output off by {:.2} %", 100.0 * measured.output_error);
            fact("measured then", format!("{}{output} on {}", losses.unwrap_or_default(), measured.data));
        }
    }
    for note in &facts.notes {
        fact("note", note.clone());
    }
    let mut files = TextTable::new(["file", "size"]);
    for file in &facts.files {
        files.row([file.name.clone(), plain::bytes(file.bytes)]);
    }
    let mut tensors = TextTable::new(["tensor", "shape"]);
    for tensor in &facts.tensors {
        let shape: Vec<String> = tensor.shape.iter().map(ToString::to_string).collect();
        tensors.row([tensor.name.clone(), shape.join(" x ")]);
    }
    let config = facts.config_toml.as_deref().map(|toml| format!("\n{toml}")).unwrap_or_default();
    format!("{}\n{}\n{}{config}", table.to_plain(), files.to_plain(), tensors.to_plain())
}

/// A value as configs write it.
fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
