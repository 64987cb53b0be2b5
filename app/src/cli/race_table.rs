//! The table that a race or sweep ends with, also of stored runs.

use std::{collections::BTreeSet, fmt::Write as _};

use headroom_engine::{
    config::Entrant,
    store::{RunFilter, RunId, RunRecord, RunState, RunSummary, Store},
    train::Health,
};
use serde_json::{Map, Value as Json, json};

use super::{
    error::{CliError, CliResult},
    plain, print,
    table::Table,
};
use crate::{
    compare::{Figure, NotJudged, Standing, Value, standings},
    widgets::format,
};

/// Prints how the runs with a tag stand, oldest first.
pub fn of_tag(store: &Store, tag: &str, json: bool) -> CliResult {
    let runs = store.runs(RunFilter { include_archived: true, include_deleted: false })?;
    let mut tagged: Vec<_> = runs.iter().filter(|run| run.tags.iter().any(|own| own == tag)).collect();
    tagged.sort_by_key(|run| run.number);
    if tagged.is_empty() {
        let tags: BTreeSet<&String> = runs.iter().flat_map(|run| &run.tags).collect();
        let known: Vec<&str> = tags.iter().map(|tag| tag.as_str()).collect();
        let known =
            if known.is_empty() { "No run has one.".to_owned() } else { format!("Known: {}.", known.join(", ")) };
        return Err(CliError::BadInput(format!("No run has the tag `{tag}`. {known}")));
    }
    let ids: Vec<RunId> = tagged.iter().map(|run| run.id.clone()).collect();
    tell(store, &ids, tag, &[], json).map(drop)
}

/// Prints how these runs stand, and what could not be trained. Returns whether all of them trained to their end.
pub fn tell(store: &Store, runs: &[RunId], tag: &str, entrants: &[Entrant], json: bool) -> CliResult<bool> {
    let records = runs.iter().map(|run| store.run(run.as_str())).collect::<Result<Vec<_>, _>>()?;
    let all = standings(&records);
    let illegal: Vec<&Entrant> = entrants.iter().filter(|entrant| entrant.config.is_err()).collect();
    let complete = records.iter().all(|record| record.summary.state == RunState::Finished);
    if json {
        print::json(&as_json(&records, &all, tag, &illegal, complete))?;
    } else {
        print::block(&as_text(&records, &all, tag, &illegal))?;
    }
    Ok(complete)
}

fn as_json(records: &[RunRecord], all: &[Standing], tag: &str, illegal: &[&Entrant], complete: bool) -> Json {
    let entrant = |standing: &Standing| {
        let runs: Vec<Json> = standing
            .runs
            .iter()
            .filter_map(|&index| records.get(index))
            .map(|record| {
                let run = &record.summary;
                let figures: Map<String, Json> =
                    Figure::ALL.into_iter().map(|figure| (figure.key().to_owned(), json!(figure.of(record)))).collect();
                let why = why_it_ended(run);
                let mut object = json!({ "id": run.id, "seed": run.seed, "state": run.state, "why": why });
                if let Json::Object(object) = &mut object {
                    object.extend(figures);
                }
                object
            })
            .collect();
        let mut object = json!({
            "name": standing.name, "finished": standing.finished, "runs": runs,
            "not_judged": standing.not_judged.map(NotJudged::reason),
        });
        if let Json::Object(object) = &mut object {
            for (figure, Value { summary, delta, relative }) in &standing.values {
                let sd = summary.sd.is_finite().then_some(summary.sd);
                let value =
                    json!({ "mean": summary.mean, "sd": sd, "n": summary.n, "delta": delta, "relative": relative });
                object.insert(figure.key().to_owned(), value);
            }
        }
        object
    };
    let refused: Vec<Json> =
        illegal.iter().map(|entrant| json!({ "name": entrant.name, "problems": entrant.problems() })).collect();
    json!({
        "tag": tag, "baseline": all.first().map(|first| &first.name), "complete": complete,
        "entrants": all.iter().map(entrant).collect::<Vec<_>>(), "refused": refused,
    })
}

/// Why a run failed, or what its loss did that diverged.
fn why_it_ended(run: &RunSummary) -> Option<String> {
    let diverged = || run.health.filter(|health| matches!(health, Health::Diverged { .. })).map(Health::why);
    run.failure.as_ref().map(|failure| failure.why.clone()).or_else(diverged)
}

fn as_text(records: &[RunRecord], all: &[Standing], tag: &str, illegal: &[&Entrant]) -> String {
    let mut table = Table::new([
        "variant",
        "n",
        "best validation loss",
        "sd",
        "+-",
        "parameters",
        "+-",
        "FLOPs/step",
        "+-",
        "steps/s",
        "+-",
        "peak memory",
        "+-",
    ]);
    for standing in all {
        let cell = |figure: Figure, show: &dyn Fn(f64) -> String| {
            standing.values.get(&figure).map_or_else(|| "-".to_owned(), |value| show(value.summary.mean))
        };
        let of = |figure: Figure| standing.values.get(&figure);
        let percent =
            |figure: Figure| of(figure).and_then(|value| value.relative).map(plain::percent).unwrap_or_default();
        let loss = of(Figure::BestLoss);
        table.row([
            standing.name.clone(),
            standing.finished.to_string(),
            cell(Figure::BestLoss, &plain::number),
            loss.map(|value| value.summary.sd).filter(|sd| sd.is_finite()).map(plain::number).unwrap_or_default(),
            loss.and_then(|value| value.delta).map(plain::delta).unwrap_or_default(),
            cell(Figure::Parameters, &|n| plain::count(n.round() as u64)),
            percent(Figure::Parameters),
            cell(Figure::FlopsPerStep, &plain::flops),
            percent(Figure::FlopsPerStep),
            cell(Figure::StepsPerSec, &|rate| format::significant(rate, 3)),
            percent(Figure::StepsPerSec),
            cell(Figure::PeakMemory, &|n| plain::bytes(n.max(0.0) as u64)),
            percent(Figure::PeakMemory),
        ]);
    }
    let mut text = table.text();
    let base = all.first().map(|first| first.name.as_str()).unwrap_or_default();
    let _ = writeln!(text, "\n+-: against {base}. sd: over seeds. Tag of these runs: {tag}");
    let ended: Vec<&RunRecord> = records.iter().filter(|record| record.summary.state != RunState::Finished).collect();
    for record in ended {
        let run = &record.summary;
        let why = why_it_ended(run).map(|why| format!(" {why}")).unwrap_or_default();
        let _ = writeln!(text, "Not counted: {} ({}), seed {}: {}.{why}", run.name, run.id, run.seed, run.state);
    }
    for entrant in illegal {
        let problems: Vec<String> = entrant.problems().iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "Not trained: {}. {}", entrant.name, problems.join("; "));
    }
    let reasons: BTreeSet<&str> =
        all.iter().filter_map(|standing| standing.not_judged).map(NotJudged::reason).collect();
    for reason in reasons {
        text.extend([reason, "\n"]);
    }
    text
}
