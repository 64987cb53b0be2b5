//! `headroom repeat`: configs of runs with further seeds, trained and compared with them.

use std::{collections::BTreeSet, path::Path};

use headroom_engine::{
    config::{Problem, RunConfig},
    protocol::commands,
    store::{RunId, RunRecord, RunState},
};

use super::{
    error::{CliError, CliResult},
    hint, more_seeds, open, print,
    race_follow::{Course, unfinished},
    race_table::{self, Form},
    run_args::RepeatArgs,
    session::Session,
    signals, train,
};
use crate::compare::{FurtherRun, name_with_seed};

/// Trains the seeds that are missing, one run after the other, and prints how all runs stand.
pub fn run(store: Option<&Path>, args: &RepeatArgs) -> CliResult {
    let records = given(store, args)?;
    let further = more_seeds::further(&records, args.seeds);
    let configs = further.iter().map(|run| config_of(&records, run)).collect::<CliResult<Vec<RunConfig>>>()?;
    let ids: Vec<RunId> = records.iter().map(|record| record.summary.id.clone()).collect();
    let mut course = Course::new(configs.len(), args.json);
    if configs.is_empty() {
        print::aside(format!("Each config has {} seeds or more, or they wait: nothing is trained.", args.seeds));
    } else {
        train_all(store, args, &records, configs, &mut course)?;
    }
    let reading = open::reading_existing(store)?;
    let all: Vec<RunId> = ids.iter().chain(course.runs()).cloned().collect();
    let form = if args.json { Form::Json } else { Form::Text };
    if !args.json {
        print::aside("");
    }
    race_table::tell(&reading, store, &all, args.tag.as_deref(), &[], form)?;
    let is_finished = |run: &RunId| reading.run(run.as_str()).map(|run| run.summary.state == RunState::Finished);
    if course.runs().iter().map(is_finished).collect::<Result<Vec<bool>, _>>()?.into_iter().all(|finished| finished) {
        return Ok(());
    }
    let again = match &args.tag {
        Some(tag) => format!("compare --tag {}", hint::quoted(tag)),
        None => format!("compare {}", all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")),
    };
    Err(CliError::Failed(unfinished(&reading, course.runs(), &again, store)?))
}

/// The runs that are named, or those of the tag, the baseline first.
fn given(store: Option<&Path>, args: &RepeatArgs) -> CliResult<Vec<RunRecord>> {
    let reading = open::reading_existing(store)?;
    match &args.tag {
        Some(tag) => {
            let ids = race_table::ids_of_tag(&reading, tag)?;
            Ok(ids.iter().map(|run| reading.run(run.as_str())).collect::<Result<Vec<_>, _>>()?)
        }
        None => args.runs.iter().map(|query| open::run(&reading, store, query)).collect(),
    }
}

/// The config of a run with its further seed.
fn config_of(records: &[RunRecord], further: &FurtherRun) -> CliResult<RunConfig> {
    let Some(record) = records.get(further.of) else {
        return Err(CliError::Failed("A run is missing from the list.".to_owned()));
    };
    let config = record.run_config().map_err(|error| {
        let message = format!("The config of the run {} cannot be read. {error}", record.summary.id);
        CliError::Failed(message)
    })?;
    Ok(RunConfig { seed: further.seed, name: name_with_seed(&record.summary, further.seed), ..config })
}

/// Checks each config once, queues all with the tags that all runs share, and follows them to their ends.
fn train_all(
    store: Option<&Path>,
    args: &RepeatArgs,
    records: &[RunRecord],
    configs: Vec<RunConfig>,
    course: &mut Course,
) -> CliResult {
    let base_dir = std::env::current_dir()
        .map_err(|error| CliError::Failed(format!("The current folder cannot be found: {error}.")))?;
    let session = Session::open(store, true)?;
    let mut checked: Vec<RunConfig> = Vec::new();
    let mut problems: Vec<Problem> = Vec::new();
    for config in &configs {
        let plain = RunConfig { seed: 0, ..config.clone() };
        if !checked.contains(&plain) {
            problems.extend(train::check(&session, config, &base_dir)?);
            checked.push(plain);
        }
    }
    if !problems.is_empty() {
        return Err(CliError::problems("A config of these runs", &problems));
    }
    let tags = match &args.tag {
        Some(tag) => vec![tag.clone()],
        None => shared_tags(records),
    };
    signals::listen();
    course.take(session, commands::EnqueueAll { configs, base_dir, tags })
}

/// Tags that all runs have.
fn shared_tags(records: &[RunRecord]) -> Vec<String> {
    let tags = |record: &RunRecord| record.summary.tags.iter().cloned().collect::<BTreeSet<String>>();
    let shared = records.iter().map(tags).reduce(|shared, own| shared.intersection(&own).cloned().collect());
    shared.unwrap_or_default().into_iter().collect()
}
