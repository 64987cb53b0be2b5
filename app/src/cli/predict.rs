//! `headroom predict`: what a run or a model directory with a task answers about texts or images.

use std::path::Path;

use headroom_engine::{
    checkpoint::read_plan,
    config::{Precision, RunConfig, counted},
    data::holds_images,
    generate::{Ending, Search, SearchSettings},
    objective::Labels,
    protocol::{GenerateSource, Prediction, Target, commands, events},
    text::escaped_line,
};
use serde_json::{Map, Value, json};

use super::{
    answers::{Asked, tell_answers},
    args::PredictArgs,
    config_source,
    error::{CliError, CliResult},
    generation_config::ResolvedSearch,
    job::{Shown, ignored, run_job},
    plain, print,
    session::Session,
    target::{Named, named},
};

/// Texts that are translated at the same time.
const AT_ONCE: usize = 16;

/// Answers about every line, question or image of the input.
pub fn run(store: Option<&Path>, args: &PredictArgs) -> CliResult {
    let images = (args.input.as_os_str() != "-" && holds_images(&args.input))
        .then(|| std::path::absolute(&args.input).unwrap_or_else(|_| args.input.clone()));
    let asked = match &images {
        Some(_) => Asked::Lines(String::new()),
        None => Asked::read(&args.input)?,
    };
    let rows = asked.rows();
    if rows.is_empty() && images.is_none() {
        return Err(CliError::at("--input", "The input is empty. Give a text in each line."));
    }
    let found = named(store, &args.target)?;
    let of_model =
        |found: &Named| ResolvedSearch::of(found, args.which, &SearchSettings::default(), &Search::default());
    let own = match &found {
        Named::Directory(path) if read_plan(path).is_ok_and(|plan| plan.encoder.is_some()) => Some(of_model(&found)?),
        Named::Directory(_) | Named::Run(..) => None,
    };
    let (target, search) = match found {
        Named::Directory(path) => {
            own.iter().for_each(ResolvedSearch::print_unused);
            (Target::Directory(path), own.map(|own| own.search))
        }
        Named::Run(_, record) => {
            let search = search_of(&config_source::config_of(&record)?);
            (Target::Run { run: record.summary.id, which: args.which }, search)
        }
    };
    if let Some(search) = search.filter(|_| images.is_none()) {
        if matches!(asked, Asked::Questions(_)) {
            let message = "The model translates, and these are questions to paragraphs. Give a text in each line.";
            return Err(CliError::at("--input", message));
        }
        return translate(store, target, &rows, search, args.json);
    }
    let session = Session::open_for_reading(store, matches!(target, Target::Run { .. }))?;
    let job = commands::Predict { target, rows, images };
    let found = run_job(&session, job, "run", Shown::beside_answer(args.json), ignored)?;
    session.end();
    let events::Predicted { labels, outputs, cut_rows, names, .. } = match found {
        Prediction::Outputs(outputs) => outputs,
        Prediction::Answers(answers) => return tell_answers(&answers, &asked, args),
    };
    for (place, outputs) in outputs.iter().enumerate() {
        let name = names.get(place).map(String::as_str);
        if args.json { tell_json(name, &labels, outputs)? } else { tell(name, &labels, outputs)? }
    }
    if cut_rows > 0 {
        print::aside(format!("{} longer than the model reads: cut off.", counted(cut_rows as u64, "text")));
    }
    Ok(())
}

/// How a run translates, the same way as its evaluations do; none of one that does not.
fn search_of(config: &RunConfig) -> Option<Search> {
    let beams = config.task.as_ref().and_then(|task| task.scoring()).map_or(1, |scoring| scoring.beams);
    let length = config.data.sequence_length;
    let search = Search { beams, max_new_tokens: length + length / 2, ..Search::default() };
    config.model.kind.has_encoder().then_some(search)
}

/// Translates every line; one without a text has none.
fn translate(store: Option<&Path>, target: Target, rows: &[Vec<String>], search: Search, json: bool) -> CliResult {
    let texts: Vec<String> = rows.iter().map(|row| row.join("\t")).collect();
    let is_there = |text: &&String| !text.trim().is_empty();
    let sources: Vec<GenerateSource> = texts.iter().filter(is_there).cloned().map(GenerateSource::Text).collect();
    if sources.is_empty() {
        return Err(CliError::at("--input", "The input is empty. Give a text in each line."));
    }
    let count = sources.len();
    let session = Session::open_for_reading(store, matches!(target, Target::Run { .. }))?;
    let job = commands::Generate {
        target,
        sources,
        batch: AT_ONCE,
        search: Box::new(search),
        precision: Precision::default(),
        threads: None,
        details: false,
    };
    let events::Generated { texts: written, .. } = run_job(&session, job, "run", Shown::beside_answer(json), ignored)?;
    session.end();
    let mut translations = written.iter().map(|text| text.text.as_str());
    for text in &texts {
        let Some(told) = (if is_there(&text) { translations.next() } else { Some("") }) else { break };
        if json { print::json_line(&json!({ "text": told }))? } else { print::line(escaped_line(told))? }
    }
    if written.len() < count {
        print::aside(format!("Stopped: {} of {count} begun.", counted(written.len() as u64, "text")));
    }
    let cut = written.iter().filter(|text| matches!(text.ending, Ending::Length | Ending::Positions)).count() as u64;
    if cut > 0 {
        print::aside(format!("{} longer than the model writes: cut off.", counted(cut, "translation")));
    }
    Ok(())
}

/// The most probable class, with its place.
fn best(outputs: &[f64]) -> Option<usize> {
    outputs.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map(|(place, _)| place)
}

fn tell_json(name: Option<&str>, labels: &Labels, outputs: &[f64]) -> CliResult {
    let mut answer = match labels {
        // Told as answers.
        Labels::Span { .. } => return Ok(()),
        Labels::Number => json!({ "value": outputs.first() }),
        Labels::Classes(names) => {
            let probabilities: Map<String, Value> =
                names.iter().cloned().zip(outputs.iter().map(|probability| json!(probability))).collect();
            let label = best(outputs).and_then(|place| labels.name(place));
            json!({ "label": label, "probabilities": probabilities })
        }
    };
    if let (Some(name), Some(answer)) = (name, answer.as_object_mut()) {
        answer.insert("image".to_owned(), json!(name));
    }
    print::json_line(&answer)
}

/// The label, then all labels with their probabilities, with tabs between; or the number. The file of an image comes first.
fn tell(name: Option<&str>, labels: &Labels, outputs: &[f64]) -> CliResult {
    let name = name.map(|name| format!("{name}\t")).unwrap_or_default();
    match labels {
        Labels::Span { .. } => Ok(()),
        Labels::Number => print::line(outputs.first().map(|number| plain::number(*number)).unwrap_or_default()),
        Labels::Classes(names) => {
            let label = best(outputs).and_then(|place| labels.name(place)).unwrap_or_default();
            let all = names.iter().zip(outputs).map(|(name, probability)| format!("\t{name} {probability:.4}"));
            print::line(format!("{name}{label}{}", all.collect::<String>()))
        }
    }
}
