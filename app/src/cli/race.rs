//! `headroom race`: a baseline and its variants, trained and compared.

use std::path::Path;

use headroom_engine::config::{Answer, Race, RunConfig, Side, SpecError, nearest};

use super::{
    args::RaceArgs,
    config_source::GivenConfig,
    error::{CliError, CliResult},
    race_follow::QueuedRace,
};

/// Queues a race and follows it to its end.
pub fn run(store: Option<&Path>, args: &RaceArgs) -> CliResult {
    queued(store, args)?.run()
}

fn queued<'a>(store: Option<&'a Path>, args: &RaceArgs) -> CliResult<QueuedRace<'a>> {
    let given = GivenConfig::read_to_train(&args.config)?;
    let bad = |error: SpecError| CliError::at("--variant", error.to_string());
    let named = args.variant.iter().map(|text| text.parse::<Side>().map_err(bad));
    let families = args.families.iter().map(|kind| family(kind, &given.config));
    let variants = families.chain(named).collect::<CliResult<Vec<Side>>>()?;
    let entrants = Race { base: given.config.clone(), variants }.entrants().map_err(bad)?;
    if let [only] = entrants.as_slice() {
        return Err(CliError::at(
            "--variant",
            format!(
                "There is nothing to race {} against. Add a variant with --families symmetric,full or --variant NAME:FIELD=VALUE.",
                only.name
            ),
        ));
    }
    let (seeds, skip, json) = (args.seeds, args.skip, args.json);
    Ok(QueuedRace { kind: "race", store, given, entrants, seeds, skip, json })
}

fn family(kind: &str, config: &RunConfig) -> CliResult<Side> {
    if let Some(answer) = Answer::of_kind(kind.trim(), config) {
        return Ok(Side { name: answer.words(), overrides: vec![answer.to_override()] });
    }
    let mut deeper = config.clone();
    deeper.model.layers = deeper.model.layers.max(3);
    if Answer::of_kind(kind.trim(), &deeper).is_some() {
        return Err(CliError::at(
            "--families",
            format!(
                "`{kind}` changes nothing in a model of {} {}: the first layer has nobody to borrow from, and the last one \
             computes everything. Leave it out, or take more layers.",
                config.model.layers,
                if config.model.layers == 1 { "layer" } else { "layers" }
            ),
        ));
    }
    let known: Vec<&str> = Answer::all(config).iter().map(Answer::kind).collect();
    let hint = nearest(kind, known.iter().copied()).map(|near| format!(" Did you mean `{near}`?"));
    let (hint, known) = (hint.unwrap_or_default(), known.join(", "));
    Err(CliError::at("--families", format!("There is no variant `{kind}`.{hint} Known: {known}.")))
}
