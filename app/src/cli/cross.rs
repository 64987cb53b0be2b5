//! `headroom cross`: each of some runs on the held-out data of all of them, as a matrix (table 6 of "Does self-attention need
//! separate weights?": trained on one data set, judged on another).

use std::path::{Path, PathBuf};

use headroom_engine::{
    config::DataConfig,
    objective::{Direction, Quantity},
    protocol::{Target, commands, events},
};
use serde_json::json;

use crate::export::TextTable;

use super::{
    args::CrossArgs,
    config_source::config_of,
    error::{CliError, CliResult},
    job::{Shown, ignored, run_command},
    plain, print,
    session::Session,
    target::{Named, named},
};

/// A run of the matrix.
struct Side {
    name: String,
    target: Target,
    data: DataConfig,
}

/// What was measured of a model on some data.
struct Cell {
    metric: String,
    title: String,
    words: String,
    value: f64,
    direction: Direction,
}

/// Evaluates every run on the held-out data of every run.
pub fn run(store: Option<&Path>, args: &CrossArgs) -> CliResult {
    let sides = args.runs.iter().map(|text| side(store, text, args)).collect::<CliResult<Vec<Side>>>()?;
    // What cannot be evaluated on is said before anything is computed.
    let held_out = sides.iter().map(|side| held_out(side, &sides)).collect::<CliResult<Vec<Option<DataConfig>>>>()?;
    let session = Session::open_for_reading(store, true)?;
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for model in &sides {
        let cells = sides.iter().zip(&held_out).map(|(on, data)| {
            let own = on.data == model.data;
            let data = data.as_ref().filter(|_| !own).map(|data| {
                // Read as the model reads its own text.
                let source = data.source.clone();
                Box::new(DataConfig { source, ..model.data.clone() })
            });
            evaluate(&session, model, data, args)
        });
        rows.push(cells.collect::<CliResult<Vec<Cell>>>()?);
    }
    session.end();
    if args.json { tell_json(&sides, &rows) } else { tell(&sides, &rows) }
}

fn side(store: Option<&Path>, text: &str, args: &CrossArgs) -> CliResult<Side> {
    match named(store, text)? {
        Named::Directory(_) => {
            let message = format!(
                "{text} is a model directory, which has no data of its own. Name runs; `headroom eval` takes it."
            );
            Err(CliError::at("run", message))
        }
        Named::Run(_, record) => {
            let data = config_of(&record)?.data;
            let target = Target::Run { run: record.summary.id, which: args.which };
            Ok(Side { name: record.summary.name, target, data })
        }
    }
}

/// The held-out data of a run for the others: files of their own; generated text as it is. None where all have the same data.
fn held_out(side: &Side, all: &[Side]) -> CliResult<Option<DataConfig>> {
    if all.iter().all(|other| other.data == side.data) {
        return Ok(None);
    }
    if let Some(source) = side.data.source.clone().held_out_alone() {
        return Ok(Some(DataConfig { source, ..side.data.clone() }));
    }
    let message = format!(
        "\"{}\" holds out a share of its data, which another model cannot be judged on. Train it with data.validation_path, or \
         judge with `headroom eval RUN --data FILE`.",
        side.name
    );
    Err(CliError::at("run", message))
}

fn evaluate(session: &Session, model: &Side, data: Option<Box<DataConfig>>, args: &CrossArgs) -> CliResult<Cell> {
    let job = commands::Evaluate {
        target: model.target.clone(),
        data,
        labels: Box::default(),
        coverage: None,
        tokens: None,
        noise: Vec::new(),
        noise_seed: 1,
        mistakes: 0,
        precision: None,
        base_dir: PathBuf::new(),
    };
    let events::Evaluation { loss, metrics, unit, .. } = run_command(session, job, "run", Shown::Silent, ignored)
        .map_err(|error| error.explain(|why| format!("\"{}\": {why}", model.name)))?;
    let wanted = args.metric.as_deref();
    let of_loss = || Cell {
        metric: "loss".to_owned(),
        title: format!("Loss in {unit}"),
        words: plain::number(loss),
        value: loss,
        direction: Direction::Lower,
    };
    if wanted == Some("loss") {
        return Ok(of_loss());
    }
    let is_it = |name: &str| wanted.is_none_or(|wanted| wanted == name);
    // The first one judges the task.
    if let Some(one) = metrics.iter().find(|one| is_it(one.metric.field())) {
        let decimals = if one.metric.quantity == Quantity::Share { 1 } else { 2 };
        return Ok(Cell {
            metric: one.metric.field().to_owned(),
            title: one.metric.title.to_owned(),
            words: plain::metric(one.metric, one.value, decimals),
            value: one.value,
            direction: one.metric.direction,
        });
    }
    match wanted {
        None => Ok(of_loss()),
        Some(wanted) => {
            let known: Vec<&str> = ["loss"].into_iter().chain(metrics.iter().map(|one| one.metric.field())).collect();
            let message =
                format!("--metric: an evaluation of \"{}\" has no {wanted}. It has: {}.", model.name, known.join(", "));
            Err(CliError::at("--metric", message))
        }
    }
}

fn tell(sides: &[Side], rows: &[Vec<Cell>]) -> CliResult {
    let names = sides.iter().map(|side| side.name.clone());
    let mut table = TextTable::new(["trained on \\ judged on".to_owned()].into_iter().chain(names));
    for (side, cells) in sides.iter().zip(rows) {
        table.row([side.name.clone()].into_iter().chain(cells.iter().map(|cell| cell.words.clone())));
    }
    print::block(&table.to_plain())?;
    match rows.first().and_then(|row| row.first()) {
        Some(first) => {
            let better = if first.direction == Direction::Lower { "less" } else { "more" };
            print::line(format!("\n{}; {better} is better. Each column: the held-out data of that run.", first.title))
        }
        None => Ok(()),
    }
}

fn tell_json(sides: &[Side], rows: &[Vec<Cell>]) -> CliResult {
    let names: Vec<&str> = sides.iter().map(|side| side.name.as_str()).collect();
    let values: Vec<Vec<f64>> = rows.iter().map(|row| row.iter().map(|cell| cell.value).collect()).collect();
    let metric = rows.first().and_then(|row| row.first()).map(|cell| cell.metric.as_str());
    print::json_answer(&json!({ "metric": metric, "runs": names, "values": values }))
}
