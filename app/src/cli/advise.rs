//! `headroom advise`: from a trained run's measurements to a model that saves something, and what came of it.

use std::path::Path;

use headroom_engine::{
    advise::{Advice, Adviser, Outcome},
    analysis::{Analysis, NOT_YET},
    attention::ModelFacts,
    checkpoint::read_plan,
    config::{RunConfig, free_tag, to_toml},
    jobs::choose_checkpoint,
    protocol::{Which, commands},
    store::{
        AdviceRecord, Advised, AnalysisId, RunFilter, RunId, RunRecord, RunState, RunSummary, Store, series_names,
    },
    text::escaped_line,
};
use serde_json::{Value as Json, json};

use super::{
    advise_model, advise_words,
    args::AdviseArgs,
    curves::{self, Curve},
    error::{CliError, CliResult},
    hint, more_seeds, open, plain, print,
    race_follow::Course,
    session::Session,
    signals,
    target::{Named, named},
    train,
};
use crate::{
    compare::{Comparison, Verdict, untested_words},
    export::TextTable,
    findings, format,
};

/// Advises, and trains what is advised; or shows what came of it. A model directory is advised conversions.
pub fn run(store: Option<&Path>, args: &AdviseArgs) -> CliResult {
    match subject(store, &args.run)? {
        Named::Directory(directory) => advise_model::run(store, args, &directory),
        Named::Run(reading, record) => of_run(store, args, &reading, &record),
    }
}

/// What is meant: a model directory that is there, else a run, whatever its name looks like.
fn subject(store: Option<&Path>, text: &str) -> CliResult<Named> {
    if Path::new(text).join("config.json").exists() {
        return named(store, text);
    }
    open::reading_run(store, text)
        .map(|(reading, record)| Named::Run(Box::new(reading), Box::new(record)))
        .or_else(|_| named(store, text))
}

fn of_run(store: Option<&Path>, args: &AdviseArgs, reading: &Store, record: &RunRecord) -> CliResult {
    if args.outcome {
        return outcomes(reading, store, record, args.json);
    }
    let config = record.run_config().map_err(|error| {
        CliError::Failed(format!("The config of the run {} cannot be read. {error}", record.summary.id))
    })?;
    if config.model.encoder_depth().is_some() {
        return Err(CliError::at("run", NOT_YET));
    }
    let analysis = analysis(reading, store, record, args)?;
    let id = record.summary.id.clone();
    // Analyses while a run trains do not ask how scores are reconstructed: another analysis of the same run may.
    let other = match (&args.analysis, findings::score_errors(&analysis, &config)) {
        (None, None) => with_errors(reading, &id, &config)?,
        _ => None,
    };
    let of_errors = other.as_ref().unwrap_or(&analysis);
    let errors = findings::score_errors(of_errors, &config);
    let checkpoints = reading.checkpoints(&id)?;
    let best = choose_checkpoint(&checkpoints, Which::Best).ok();
    let plan = best.and_then(|best| read_plan(&best.path).ok());
    let facts = plan.map_or_else(
        || ModelFacts::of_parameters(&config, record.summary.parameters),
        |plan| ModelFacts::of_run(&config, &plan),
    );
    let best = best.map(|best| best.step);
    let adviser = Adviser::new(&config, id.as_str(), &facts, &analysis, errors)
        .map_err(|problems| CliError::problems(&format!("The config of the run {id}"), &problems))?;
    let advice = adviser.advise(advise_words::wishes(args));
    let sources = findings::sources_words(&analysis, errors.map(|_| of_errors), best);
    let courses = conversions(store, record, &adviser, &advice, &analysis);
    let told = (&adviser, &advice, courses.as_slice());
    if !args.train {
        return if args.json {
            print::json(&as_json(record, &analysis, &sources, &advice, &courses))
        } else {
            tell(store, (reading, record), args, (&analysis, &sources), told)
        };
    }
    if !args.json {
        tell(store, (reading, record), args, (&analysis, &sources), told)?;
        print::line("")?;
    }
    let trained = trained(store, args, reading, record, &config, (&analysis, &sources), &advice);
    let run = trained?;
    let reading = open::reading_existing(store)?;
    let kept = reading.advice()?.into_iter().find(|kept| kept.run == run);
    let Some(kept) = kept else { return Err(CliError::Failed("What was predicted was not kept.".to_owned())) };
    let (advised, outcome, losses) = outcome(&reading, &kept)?;
    if args.json {
        print::json(&outcome_json(&advised, &kept, &outcome, losses.as_ref()))?;
    } else {
        print::line("")?;
        tell_outcome(&reading, store, &advised, &kept, &outcome, losses.as_ref())?;
    }
    let RunSummary { id, name, state, .. } = &advised.summary;
    if *state == RunState::Finished {
        return Ok(());
    }
    let name = escaped_line(name);
    Err(CliError::Failed(format!("The advised run {name} ({id}) did not train to its end: {state}.")))
}

/// What is advised from: what was named, else the last analysis while it trained, else the newest on demand.
fn analysis(reading: &Store, store: Option<&Path>, record: &RunRecord, args: &AdviseArgs) -> CliResult<Analysis> {
    let run = &record.summary.id;
    let listed = reading.analyses()?;
    if let Some(id) = &args.analysis {
        let known = listed.iter().find(|found| found.id.as_str() == id && found.run.as_ref() == Some(run));
        let Some(known) = known else {
            let own: Vec<&str> =
                listed.iter().filter(|found| found.run.as_ref() == Some(run)).map(|found| found.id.as_str()).collect();
            let own = if own.is_empty() { "It has none.".to_owned() } else { format!("It has {}.", own.join(", ")) };
            return Err(CliError::at("--analysis", format!("The run {run} has no analysis {id}. {own}")));
        };
        return Ok(reading.analysis(&known.id)?);
    }
    let steps = reading.live_analyses(run)?;
    if let Some(step) = args.step {
        if !steps.contains(&step) {
            let known: Vec<String> = steps.iter().map(ToString::to_string).collect();
            let known = if known.is_empty() { "no step".to_owned() } else { format!("steps {}", known.join(", ")) };
            return Err(CliError::at(
                "--step",
                format!("The run {run} was not analysed after step {step}. It was after {known}."),
            ));
        }
        return Ok(reading.live_analysis(run, step)?);
    }
    newest(reading, record)?.ok_or_else(|| {
        let command = hint::command(&format!("analyse {run}"), store);
        CliError::at("run", format!(
            "The attention of the run {run} was not analysed, so that there is nothing to advise from. Analyse it first with: \
             {command}"
        ))
    })
}

/// The newest analysis on demand that says how a run's scores are reconstructed.
fn with_errors(reading: &Store, run: &RunId, config: &RunConfig) -> CliResult<Option<Analysis>> {
    for known in reading.analyses()?.iter().filter(|found| found.reconstructs && found.run.as_ref() == Some(run)) {
        let found = reading.analysis(&known.id)?;
        if findings::score_errors(&found, config).is_some() {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The last analysis of a run while it trained, else the newest analysis on demand of its own text that compared heads.
fn newest(reading: &Store, record: &RunRecord) -> CliResult<Option<Analysis>> {
    let run = &record.summary.id;
    if let Some(step) = reading.live_analyses(run)?.last() {
        return Ok(Some(reading.live_analysis(run, *step)?));
    }
    let config = record.run_config().unwrap_or_default();
    let mut first = None;
    for known in reading.analyses()?.iter().filter(|found| found.run.as_ref() == Some(run)) {
        let found = reading.analysis(&known.id)?;
        if findings::is_own_text(&found, &config) && !found.similarity.is_empty() {
            return Ok(Some(found));
        }
        first = first.or(Some(found));
    }
    Ok(first)
}

/// The newest analysis on demand of a run's own text that compared heads, where one while it trained goes before it.
fn passed_over(reading: &Store, record: &RunRecord, args: &AdviseArgs) -> CliResult<Option<AnalysisId>> {
    let run = &record.summary.id;
    if args.analysis.is_some() || args.step.is_some() || reading.live_analyses(run)?.is_empty() {
        return Ok(None);
    }
    let config = record.run_config().unwrap_or_default();
    for known in reading.analyses()?.iter().filter(|found| found.run.as_ref() == Some(run)) {
        let found = reading.analysis(&known.id)?;
        if findings::is_own_text(&found, &config) && !found.similarity.is_empty() {
            return Ok(Some(known.id.clone()));
        }
    }
    Ok(None)
}

fn words(analysis: &Analysis) -> String {
    plain::ascii(&findings::analysis_words(analysis))
}

/// The conversions of a run whose model is not trained with other attention; none of every other run.
fn conversions<'a>(
    store: Option<&Path>,
    record: &RunRecord,
    adviser: &Adviser,
    advice: &'a Advice,
    analysis: &Analysis,
) -> Vec<advise_model::Course<'a>> {
    let RunSummary { id, name, .. } = &record.summary;
    let words = name.split(|c: char| !c.is_alphanumeric() && !"_.".contains(c)).filter(|word| !word.is_empty());
    let name = words.collect::<Vec<&str>>().join("-");
    // A run is converted on its own text, and what is made of it knows that text.
    let source = advise_model::ConversionSource { store, model: id.to_string(), name, text: String::new() };
    source.course(advice, analysis, adviser.tokens())
}

/// Reason why the run is not trained by another config.
fn why_not(advice: &Advice) -> Option<String> {
    let why: Vec<String> = advice.why_converted.map(str::to_owned).into_iter().chain(advice.why_not()).collect();
    (!why.is_empty()).then(|| why.join(" "))
}

fn as_json(
    record: &RunRecord,
    analysis: &Analysis,
    sources: &[String],
    advice: &Advice,
    courses: &[advise_model::Course<'_>],
) -> Json {
    json!({
        "event": "advised",
        "run": record.summary.id,
        "analysis": { "step": analysis.step, "examples": analysis.examples, "tokens": analysis.tokens, "data": analysis.data },
        "sources": sources,
        "wishes": advice.wishes,
        "heads": advise_words::part(advice.heads.as_ref()),
        "dimensions": advise_words::part(advice.dimensions.as_ref()),
        "pairs": advise_words::part(advice.pairs.as_ref()),
        "present": advice.prediction.as_ref().ok().map(|prediction| prediction.present),
        "proposed": advice.prediction.as_ref().ok().map(|prediction| prediction.proposed),
        "why_not": why_not(advice),
        "config": advice.config(),
        "left_out": advice.left_out(),
        "conversions": advise_model::conversions_json(courses),
    })
}

fn tell(
    store: Option<&Path>,
    (reading, record): (&Store, &RunRecord),
    args: &AdviseArgs,
    (analysis, sources): (&Analysis, &[String]),
    (adviser, advice, courses): (&Adviser, &Advice, &[advise_model::Course<'_>]),
) -> CliResult {
    let (run, name) = (&record.summary.id, &record.summary.name);
    let name = escaped_line(name);
    print::line(format!("Advice for {name} ({run}), from {}", words(analysis)))?;
    for sentence in sources {
        print::line(plain::ascii(sentence))?;
    }
    if let Some(other) = passed_over(reading, record, args)? {
        let command = hint::command(&format!("advise {run} --analysis {other}"), store);
        print::line(format!(
            "Its analysis {other} is not used for heads and dimensions. Advise from it with: {command}"
        ))?;
    }
    advise_words::tell_found(adviser, advice)?;
    if let Some(why) = advise_words::missing_pairs(adviser, advice) {
        print::line(format!("Pairs: {}", plain::ascii(&why)))?;
        if adviser.errors().is_err() {
            // Beside an analysis that was not named, another one that restores scores is used for pairs alone.
            let parts = if args.analysis.is_some() { " --similarity --captured" } else { "" };
            let analyse = hint::command(&format!("analyse {run}{parts} --reconstruction"), store);
            print::line(format!("  {analyse}"))?;
        }
    }
    advise_words::tell_borrowed(advice)?;
    if let Some(why) = advice.why_converted {
        print::line(format!("\n{why}"))?;
        return match advice.why_not() {
            Some(why) => print::line(format!("Nothing to convert: {}", plain::ascii(&why))),
            None => advise_model::tell_conversions(adviser, advice, courses, None),
        };
    }
    if let Ok(prediction) = &advice.prediction
        && advice.changes()
    {
        let headings = ["", "trained model", "advised", "difference"];
        advise_words::tell_saving(prediction, headings, findings::saving_rows(prediction))?;
    }
    match (advice.why_not(), advice.config()) {
        (Some(why), _) => print::line(format!("Nothing to train: {}", plain::ascii(&why))),
        (None, Some(config)) => print::line(format!("As a config:\n\n{}", attention(config)).trim_end()),
        (None, None) => Ok(()),
    }
}

/// The `[attention]` part of a config.
fn attention(config: &RunConfig) -> String {
    let text = to_toml(config);
    let lines = text.lines().skip_while(|line| !line.starts_with("[attention"));
    let own: Vec<&str> = lines.take_while(|line| line.starts_with("[attention") || !line.starts_with('[')).collect();
    own.join("\n")
}

/// Trains what is advised; the advised run.
fn trained(
    store: Option<&Path>,
    args: &AdviseArgs,
    reading: &Store,
    record: &RunRecord,
    config: &RunConfig,
    (analysis, sources): (&Analysis, &[String]),
    advice: &Advice,
) -> CliResult<RunId> {
    let kept = advice.to_keep().filter(|_| advice.why_not().is_none());
    let (Some(prediction), Some(proposed)) = (kept, advice.config()) else {
        let why = why_not(advice).unwrap_or_default();
        return Err(CliError::at("run", format!("{why} Nothing was started.")));
    };
    let source = &record.summary;
    let proposed = findings::advised_config(&source.name, proposed, prediction);
    let again = args.again.then(|| RunConfig { name: format!("{}: again", source.name), ..config.clone() });
    let tag = {
        let runs = reading.runs(RunFilter::ALL)?;
        free_tag("advice", &source.name, &runs.iter().flat_map(|run| run.tags.iter().map(String::as_str)).collect())
    };
    let base_dir = std::env::current_dir()
        .map_err(|error| CliError::Failed(format!("The current folder cannot be found: {error}.")))?;
    let session = Session::open(store, true)?;
    let problems = train::check(&session, &proposed, &base_dir)?;
    if !problems.is_empty() {
        return Err(CliError::problems("The advised config", &problems));
    }
    let advised = Advised {
        source: source.id.clone(),
        beside: None,
        step: analysis.step,
        words: if advice.pairs.is_some() && !sources.is_empty() {
            format!("{} ({})", words(analysis), plain::ascii(sources.join(" ").trim_end_matches('.')))
        } else {
            words(analysis)
        },
        prediction: prediction.clone(),
    };
    let mut course = Course::new(1 + usize::from(again.is_some()), args.json);
    signals::listen();
    course.take(
        session,
        commands::TrainAdvice {
            config: Box::new(proposed),
            again: again.map(Box::new),
            base_dir,
            tag: tag.clone(),
            advised: Box::new(advised),
        },
    )?;
    if !args.json {
        let again = hint::command(&format!("compare --tag \"{tag}\""), store);
        print::aside(format!("Both are found again with: {again}"));
    }
    course.runs().last().cloned().ok_or_else(|| CliError::Failed("The run was not queued.".to_owned()))
}

/// What came of everything that was advised from a run, or of an advised run.
fn outcomes(reading: &Store, store: Option<&Path>, record: &RunRecord, json: bool) -> CliResult {
    let run = &record.summary.id;
    let kept: Vec<AdviceRecord> =
        reading.advice()?.into_iter().filter(|kept| kept.run == *run || kept.advised.source == *run).collect();
    if kept.is_empty() {
        let command = hint::command(&format!("advise {run} --train"), store);
        return Err(CliError::at(
            "--outcome",
            format!(
                "Nothing was advised from the run {run} and trained, nor was it advised itself. Do so with: {command}"
            ),
        ));
    }
    let mut all = Vec::new();
    for kept in &kept {
        let (advised, outcome, losses) = outcome(reading, kept)?;
        if json {
            all.push(outcome_json(&advised, kept, &outcome, losses.as_ref()));
        } else {
            tell_outcome(reading, store, &advised, kept, &outcome, losses.as_ref())?;
        }
    }
    if json { print::json(&json!({ "event": "outcomes", "outcomes": all })) } else { Ok(()) }
}

/// The run that an advised one is compared with. What was trained again beside it is the fairer comparison.
fn run_before(reading: &Store, kept: &AdviceRecord) -> CliResult<RunRecord> {
    let before = kept.advised.beside.as_ref().unwrap_or(&kept.advised.source);
    Ok(reading.run(before.as_str()).or_else(|_| reading.run(kept.advised.source.as_str()))?)
}

/// The advised run, what came of it, and what to think of its loss.
fn outcome(reading: &Store, kept: &AdviceRecord) -> CliResult<(RunRecord, Outcome, Option<Comparison>)> {
    let (before, after) = (run_before(reading, kept)?, reading.run(kept.run.as_str())?);
    let (old, new) = (newest(reading, &before)?, newest(reading, &after)?);
    let outcome = findings::outcome(
        &kept.advised.prediction,
        &findings::trained(&before.summary, kept.advised.beside.is_some(), old.as_ref()),
        &findings::trained(&after.summary, false, new.as_ref()),
    );
    let curve = |run: &RunRecord| Curve::read(reading, &run.summary.id, series_names::VALIDATION_LOSS);
    let (old, new) = (curve(&before)?, curve(&after)?);
    let losses = Comparison::of_best(
        &new.course(&after.summary, series_names::VALIDATION_LOSS),
        &old.course(&before.summary, series_names::VALIDATION_LOSS),
    );
    Ok((after, outcome, losses))
}

fn outcome_json(advised: &RunRecord, kept: &AdviceRecord, outcome: &Outcome, losses: Option<&Comparison>) -> Json {
    json!({
        "event": "outcome",
        "run": advised.summary.id,
        "name": advised.summary.name,
        "state": advised.summary.state,
        "source": kept.advised.source,
        "beside": kept.advised.beside,
        "prediction": kept.advised.prediction,
        "rows": outcome.rows,
        "loss_judged": losses.map(curves::as_json),
    })
}

fn tell_outcome(
    reading: &Store,
    store: Option<&Path>,
    advised: &RunRecord,
    kept: &AdviceRecord,
    outcome: &Outcome,
    losses: Option<&Comparison>,
) -> CliResult {
    let named = |run: &RunId| reading.run(run.as_str()).map_or_else(|_| run.to_string(), |run| run.summary.name);
    let against = match &kept.advised.beside {
        Some(beside) => format!("{}, trained beside it", named(beside)),
        None => format!("{}, trained before", named(&kept.advised.source)),
    };
    print::line(escaped_line(&format!(
        "{} ({}, {}), against {against}; advised from {}",
        advised.summary.name,
        advised.summary.id,
        findings::stands_words(&advised.summary),
        kept.advised.words
    )))?;
    let mut table = TextTable::new(["", "before", "predicted", "came out", ""]);
    for row in findings::outcome_rows(outcome, losses.map(|losses| losses.delta.words(format::delta)).as_deref()) {
        table.row(row.map(|cell| plain::ascii(&cell.replace(" ± ", " +/-"))));
    }
    print::line(table.to_plain())?;
    if losses.is_some_and(|losses| losses.delta.verdict == Verdict::NotTested) {
        let runs = [run_before(reading, kept)?, advised.clone()];
        print::line(more_seeds::text(store, &untested_words(1, 1), &runs, None))?;
    }
    Ok(())
}
