//! `headroom predict`: what a run or a model directory with a task answers about texts.

use std::path::Path;

use headroom_engine::{
    config::counted,
    objective::Labels,
    worker::{Command, Event, Target},
};
use serde_json::{Map, Value, json};

use super::{
    answers::{Asked, tell_answers},
    args::PredictArgs,
    error::{CliError, CliResult, joined},
    plain, print,
    session::{Heard, Session},
    signals,
    target::{Named, named},
};

/// Answers about every line of the input.
pub fn run(store: Option<&Path>, args: &PredictArgs) -> CliResult {
    let asked = Asked::read(&args.input)?;
    let rows = asked.rows();
    if rows.is_empty() {
        return Err(CliError::at("--input", "The input is empty. Give a text in each line."));
    }
    let target = match named(store, &args.target)? {
        Named::Directory(path) => Target::Directory(path),
        Named::Run(_, record) => Target::Run { run: record.summary.id, which: args.which },
    };
    let session = Session::open_for_reading(store, matches!(target, Target::Run { .. }))?;
    signals::listen();
    let ticket = session.send(Command::Predict { target, rows })?;
    let mut is_stopping = false;
    let found = session.follow(ticket, "the answers were there", |event| {
        if signals::is_stop_wanted() && !is_stopping {
            is_stopping = true;
            session.send(Command::Stop)?;
        }
        match event {
            Some(event @ (Event::Predicted { .. } | Event::AnswersFound { .. })) => Ok(Heard::Answer(event)),
            Some(Event::Failed { why, what_to_do, .. }) => {
                Err(CliError::FailedAt { field: "run", message: joined(&why, &what_to_do) })
            }
            event => Ok(event.map_or(Heard::Taken, Heard::Usual)),
        }
    })?;
    session.end();
    let (labels, outputs, cut_rows) = match found {
        Event::Predicted { labels, outputs, cut_rows, .. } => (labels, outputs, cut_rows),
        other => return tell_answers(&other, &asked, args),
    };
    for outputs in &outputs {
        if args.json { tell_json(&labels, outputs)? } else { tell(&labels, outputs)? }
    }
    if cut_rows > 0 {
        print::aside(format!("{} longer than the model reads: cut off.", counted(cut_rows as u64, "text")));
    }
    Ok(())
}

/// The most probable class, with its place.
fn best(outputs: &[f64]) -> Option<usize> {
    outputs.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map(|(place, _)| place)
}

fn tell_json(labels: &Labels, outputs: &[f64]) -> CliResult {
    match labels {
        // Told as answers.
        Labels::Span { .. } => Ok(()),
        Labels::Number => print::json_line(&json!({ "value": outputs.first() })),
        Labels::Classes(names) => {
            let probabilities: Map<String, Value> =
                names.iter().cloned().zip(outputs.iter().map(|probability| json!(probability))).collect();
            let label = best(outputs).and_then(|place| labels.name(place));
            print::json_line(&json!({ "label": label, "probabilities": probabilities }))
        }
    }
}

/// The label, then all labels with their probabilities, with tabs between; or the number.
fn tell(labels: &Labels, outputs: &[f64]) -> CliResult {
    match labels {
        Labels::Span { .. } => Ok(()),
        Labels::Number => print::line(outputs.first().map(|number| plain::number(*number)).unwrap_or_default()),
        Labels::Classes(names) => {
            let label = best(outputs).and_then(|place| labels.name(place)).unwrap_or_default();
            let all = names.iter().zip(outputs).map(|(name, probability)| format!("\t{name} {probability:.4}"));
            print::line(format!("{label}{}", all.collect::<String>()))
        }
    }
}
