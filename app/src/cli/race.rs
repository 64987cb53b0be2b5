//! `headroom race`: a baseline and its variants, trained and compared.

use std::path::Path;

use headroom_engine::{
    checkpoint::read_plan,
    config::{Answer, Beginning, Race, RunConfig, Side, SpecError, nearest},
};

use super::{
    args::RaceArgs,
    config_source,
    config_source::GivenConfig,
    error::{CliError, CliResult},
    race_follow::QueuedRace,
    target::{Named, named},
};

/// Queues a race and follows it to its end.
pub fn run(store: Option<&Path>, args: &RaceArgs) -> CliResult {
    queued(store, args)?.run()
}

fn queued<'a>(store: Option<&'a Path>, args: &RaceArgs) -> CliResult<QueuedRace<'a>> {
    let given = GivenConfig::read_to_train(&args.config)?;
    let (seeds, skip, json) = (args.seeds, args.skip, args.json);
    if !args.begin.is_empty() {
        let beginnings = beginnings(store, &args.begin)?;
        let entrants = Beginning::entrants(&given.config, &beginnings);
        let entrants = entrants.map_err(|error| CliError::at("--begin", error.to_string()))?;
        if entrants.len() == 1 {
            let message = "There is one model to begin with, and nothing to race it against. Name two or more: --begin DIR,OTHER.";
            return Err(CliError::at("--begin", message));
        }
        return Ok(QueuedRace { kind: "race", store, given, entrants, seeds, skip, json });
    }
    let bad = |error: SpecError| CliError::at("--variant", error.to_string());
    let named = args.variant.iter().map(|text| text.parse::<Side>().map_err(bad));
    let families = args.families.iter().map(|kind| family(kind, &given.config));
    let variants = families.chain(named).collect::<CliResult<Vec<Side>>>()?;
    let entrants = Race { base: given.config.clone(), variants }.entrants().map_err(bad)?;
    if let [only] = entrants.as_slice() {
        return Err(CliError::at(
            "--variant",
            format!(
                "There is nothing to race {} against. Add a variant with --families symmetric,full or --variant NAME:FIELD=VALUE, or \
                 name models to begin with: --begin DIR,OTHER.",
                only.name
            ),
        ));
    }
    Ok(QueuedRace { kind: "race", store, given, entrants, seeds, skip, json })
}

/// The models that are named, each with the shape and the attention that it has.
fn beginnings(store: Option<&Path>, given: &[String]) -> CliResult<Vec<Beginning>> {
    let last = |text: &String| {
        let name = Path::new(text.trim_end_matches(['/', '\\'])).file_name();
        name.map_or_else(|| text.clone(), |name| name.to_string_lossy().into_owned())
    };
    let names: Vec<String> = given.iter().map(last).collect();
    let name_of = |place: usize, text: &String| match names.get(place) {
        Some(name) if names.iter().filter(|other| *other == name).count() == 1 => name.clone(),
        _ => text.clone(),
    };
    let beginning = |(place, text): (usize, &String)| {
        let name = name_of(place, text);
        match named(store, text)? {
            Named::Directory(path) => {
                let plan = read_plan(&path).map_err(|error| CliError::at("--begin", error.to_string()))?;
                let (model, attention) = plan
                    .config_to_train_further()
                    .map_err(|why| CliError::at("--begin", format!("{text} cannot be trained further: {why}.")))?;
                Ok(Beginning { name, initial: path.display().to_string(), model, attention })
            }
            Named::Run(_, record) => {
                let RunConfig { model, attention, .. } = config_source::config_of(&record)?;
                // What was given by its id has a name that says more; of several by one name the ids tell them apart.
                let is_id = *text == record.summary.id.to_string();
                let name =
                    if is_id && !names.contains(&record.summary.name) { record.summary.name.clone() } else { name };
                Ok(Beginning { name, initial: record.summary.id.to_string(), model, attention })
            }
        }
    };
    given.iter().enumerate().map(beginning).collect()
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
