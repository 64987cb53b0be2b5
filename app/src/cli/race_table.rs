//! The table that a race or sweep ends with, also of stored runs.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    path::Path,
};

use headroom_engine::{
    config::Entrant,
    store::{RunFilter, RunId, RunRecord, RunState, RunSummary, Store},
    text::escaped_line,
    train::Health,
};
use serde_json::{Map, Value as Json, json};

use super::{
    curves::{self, Curve},
    error::{CliError, CliResult},
    more_seeds, plain, print,
};
use crate::compare::{
    Figure, NotJudged, Reading, SEEDS_ALONE, Standing, Value, Verdict, not_judged_words, standings,
    unequal_training_words, untested_sentence,
};
use crate::export::TextTable;

/// In which form the table is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For people.
    Text,
    /// One JSON object.
    Json,
    /// A row for each variant.
    Csv,
}

/// Prints how the runs with a tag stand, oldest first. `path`: the store as it was named.
pub fn of_tag(store: &Store, path: Option<&Path>, tag: &str, form: Form) -> CliResult {
    let ids = ids_of_tag(store, tag)?;
    tell(store, path, &ids, Some(tag), &[], form).map(drop)
}

/// The runs with a tag, oldest first.
pub fn ids_of_tag(store: &Store, tag: &str) -> CliResult<Vec<RunId>> {
    let runs = store.runs(RunFilter { include_archived: true, include_deleted: false })?;
    Ok(tagged(&runs, tag)?.into_iter().map(|run| run.id.clone()).collect())
}

/// The runs with a tag, oldest first.
pub fn tagged<'a>(runs: &'a [RunSummary], tag: &str) -> CliResult<Vec<&'a RunSummary>> {
    let mut tagged: Vec<_> = runs.iter().filter(|run| run.tags.iter().any(|own| own == tag)).collect();
    tagged.sort_by_key(|run| run.number);
    if tagged.is_empty() {
        let tags: BTreeSet<&String> = runs.iter().flat_map(|run| &run.tags).collect();
        let known: Vec<&str> = tags.iter().map(|tag| tag.as_str()).collect();
        let known =
            if known.is_empty() { "No run has one.".to_owned() } else { format!("Known: {}.", known.join(", ")) };
        return Err(CliError::at("--tag", format!("No run has the tag `{tag}`. {known}")));
    }
    Ok(tagged)
}

/// Prints how these runs stand, and what could not be trained. `tag`: a tag that all of them have. Returns whether all of them
/// trained to their end.
pub fn tell(
    store: &Store,
    path: Option<&Path>,
    runs: &[RunId],
    tag: Option<&str>,
    entrants: &[Entrant],
    form: Form,
) -> CliResult<bool> {
    let records = runs.iter().map(|run| store.run(run.as_str())).collect::<Result<Vec<_>, _>>()?;
    let all = stand(store, &records)?;
    let illegal: Vec<&Entrant> = entrants.iter().filter(|entrant| entrant.config.is_err()).collect();
    let complete = records.iter().all(|record| record.summary.state == RunState::Finished);
    match form {
        Form::Text => print::block(&as_text(path, &records, &all, tag, &illegal))?,
        Form::Json => print::json(&as_json(path, &records, &all, tag, &illegal, complete))?,
        Form::Csv => print::block(&as_csv(&Figure::of_runs(&records), &all))?,
    }
    Ok(complete)
}

/// How these runs stand, their seeds put together.
pub fn stand(store: &Store, records: &[RunRecord]) -> CliResult<Vec<Standing>> {
    let mut curves: BTreeMap<(usize, &str), Curve> = BTreeMap::new();
    for series in Figure::of_runs(records).into_iter().filter_map(Figure::series) {
        for (place, record) in records.iter().enumerate() {
            curves.insert((place, series), Curve::read(store, &record.summary.id, series)?);
        }
    }
    let reading = |place: usize, figure: Figure, plain: Reading| {
        let of_curve = || {
            let (record, series) = (records.get(place)?, figure.series()?);
            let course = curves.get(&(place, series))?.course(&record.summary, series);
            if figure == Figure::LastLoss { course.last(None) } else { course.best(None) }
        };
        of_curve().unwrap_or(plain)
    };
    Ok(standings(records, &reading))
}

fn as_json(
    path: Option<&Path>,
    records: &[RunRecord],
    all: &[Standing],
    tag: Option<&str>,
    illegal: &[&Entrant],
    complete: bool,
) -> Json {
    let refused: Vec<Json> =
        illegal.iter().map(|entrant| json!({ "name": entrant.name, "problems": entrant.problems() })).collect();
    json!({
        "tag": tag, "baseline": all.first().map(|first| &first.name), "complete": complete,
        "entrants": entrants_json(records, all), "refused": refused,
        "not_tested": untested(all).map(|why| json!({ "why": why, "command": more_seeds::command(path, records, tag) })),
    })
}

/// Every entrant with its runs and figures, for scripts.
pub fn entrants_json(records: &[RunRecord], all: &[Standing]) -> Vec<Json> {
    let figures = Figure::of_runs(records);
    let entrant = |standing: &Standing| {
        let runs: Vec<Json> = standing
            .runs
            .iter()
            .filter_map(|&index| records.get(index))
            .map(|record| {
                let run = &record.summary;
                let of = |figure: &Figure| (figure.key().to_owned(), json!(figure.of(record)));
                let figures: Map<String, Json> = figures.iter().map(of).collect();
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
            for figure in &figures {
                // A figure that no run came to is there too, as null: scripts find every key whatever was cut short.
                let Some(value) = standing.values.get(figure) else {
                    object.insert(figure.key().to_owned(), Json::Null);
                    continue;
                };
                let Value { summary, against } = value;
                let sd = summary.sd.is_finite().then_some(summary.sd);
                let judged = against.map(|against| curves::as_json(&against));
                let value = json!({
                    "mean": summary.mean, "sd": sd, "n": summary.n, "delta": value.delta(), "relative": value.relative(),
                    "judged": judged,
                });
                object.insert(figure.key().to_owned(), value);
            }
        }
        object
    };
    all.iter().map(entrant).collect()
}

/// Why a run failed, or what its loss did that diverged.
fn why_it_ended(run: &RunSummary) -> Option<String> {
    let diverged = || run.health.filter(|health| matches!(health, Health::Diverged { .. })).map(Health::why);
    run.failure.as_ref().map(|failure| failure.why.clone()).or_else(diverged)
}

/// A row for each variant: every figure with its spread over seeds and its difference to the first.
fn as_csv(figures: &[Figure], all: &[Standing]) -> String {
    let parts = ["", "_sd", "_delta", "_relative", "_delta_half_width", "_verdict"];
    let columns = figures.iter().flat_map(|figure| parts.map(|part| format!("{}{part}", figure.key())));
    let heading: Vec<String> =
        ["variant", "runs", "not_judged"].map(str::to_owned).into_iter().chain(columns).collect();
    let rows = all.iter().map(|standing| {
        let not_judged = standing.not_judged.map(NotJudged::reason).unwrap_or_default();
        let mut cells = vec![standing.name.clone(), standing.finished.to_string(), not_judged.into_owned()];
        for figure in figures {
            let value = standing.values.get(figure);
            let number = |number: Option<f64>| {
                number.filter(|number| number.is_finite()).map(|number| number.to_string()).unwrap_or_default()
            };
            cells.extend([
                number(value.map(|value| value.summary.mean)),
                number(value.map(|value| value.summary.sd)),
                number(value.and_then(Value::delta)),
                number(value.and_then(Value::relative)),
                number(value.and_then(|value| value.against?.delta.half_width)),
                value
                    .and_then(|value| value.against)
                    .map(|against| against.delta.verdict.word())
                    .unwrap_or_default()
                    .to_owned(),
            ]);
        }
        cells
    });
    TextTable::new(heading).with_rows(rows).to_csv_lines()
}

/// The difference of a figure of the machine or of the model's size, as a share of the first's.
fn share_words(value: &Value) -> Option<String> {
    if value.against?.delta.verdict == Verdict::Same {
        Some("=".to_owned())
    } else {
        value.relative().map(plain::percent)
    }
}

fn as_text(
    path: Option<&Path>,
    records: &[RunRecord],
    all: &[Standing],
    tag: Option<&str>,
    illegal: &[&Entrant],
) -> String {
    let mut text = standings_text(path, records, all, tag);
    if let Some(tag) = tag {
        let _ = writeln!(text, "Tag of these runs: {}", escaped_line(tag));
    }
    for entrant in illegal {
        let problems: Vec<String> = entrant.problems().iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "Not trained: {}. {}", escaped_line(&entrant.name), problems.join("; "));
    }
    text
}

/// Note on differences that were not tested, where some were not.
pub fn untested(all: &[Standing]) -> Option<String> {
    let others: Vec<(&str, (usize, usize))> =
        all.iter().filter_map(|standing| Some((standing.name.as_str(), standing.untested()?))).collect();
    untested_sentence(&others)
}

/// The table for people, with what its words mean, what was not tested and which runs do not count.
pub fn standings_text(path: Option<&Path>, records: &[RunRecord], all: &[Standing], tag: Option<&str>) -> String {
    let figures: Vec<Figure> =
        Figure::of_runs(records).into_iter().filter(|figure| *figure != Figure::LastLoss).collect();
    let mut heading = vec!["variant".to_owned(), "n".to_owned()];
    for figure in &figures {
        heading.push(figure.title());
        heading.extend(figure.series().map(|_| "sd".to_owned()));
        heading.push("vs baseline".to_owned());
    }
    let mut table = TextTable::new(heading);
    for standing in all {
        let mut cells = vec![standing.name.clone(), standing.finished.to_string()];
        for figure in &figures {
            let value = standing.values.get(figure);
            let shown = |value: &Value| plain::ascii(&figure.written(value.summary.mean));
            cells.push(value.map_or_else(|| "-".to_owned(), shown));
            if figure.series().is_some() {
                let sd = value.map(|value| value.summary.sd).filter(|sd| sd.is_finite());
                cells.push(sd.map(plain::number).unwrap_or_default());
                let against = value.and_then(|value| value.against);
                cells.push(against.map(|against| curves::words(&against)).unwrap_or_default());
            } else {
                cells.push(value.and_then(share_words).unwrap_or_default());
            }
        }
        table.row(cells);
    }
    let mut text = String::new();
    if let Some(words) = unequal_training_words(records.iter().map(|record| &record.summary)) {
        text.extend([words.as_str(), "\n\n"]);
    }
    text += &table.to_plain();
    let base = escaped_line(all.first().map(|first| first.name.as_str()).unwrap_or_default());
    let _ = writeln!(
        text,
        "\nvs baseline: difference from {base}, seed by seed where seeds repeat; +/-: its 95 % interval, over seeds and validation \
         examples; seeds alone: {SEEDS_ALONE}; unclear: within the interval; not tested: one seed on a side; =: written with \
         the same digits. sd: over seeds."
    );
    if let Some(why) = untested(all) {
        let _ = writeln!(text, "{}", more_seeds::text(path, &why, records, tag));
    }
    let ended: Vec<&RunRecord> = records.iter().filter(|record| record.summary.state != RunState::Finished).collect();
    for record in ended {
        let run = &record.summary;
        let why = why_it_ended(run).map(|why| format!(" {why}")).unwrap_or_default();
        let name = escaped_line(&run.name);
        let _ = writeln!(text, "Not counted: {name} ({}), seed {}: {}.{why}", run.id, run.seed, run.state);
    }
    let others: Vec<(&str, Option<NotJudged>)> =
        all.iter().skip(1).map(|other| (other.name.as_str(), other.not_judged)).collect();
    for told in not_judged_words(&base, &others) {
        let _ = writeln!(text, "{}", escaped_line(&told));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples;

    #[test]
    fn the_table_says_who_is_not_judged_and_that_runs_did_not_train_equally_long() {
        let entrants = [(1, "race: base"), (2, "race: wide"), (3, "race: deep")];
        let mut records = entrants.map(|(number, name)| {
            let mut record = examples::record(number, name);
            record.config["model"]["layers"] = number.into();
            record
        });
        records[2].summary.held_out_hash = Some("other text".to_owned());
        let text =
            |records: &[RunRecord]| standings_text(None, records, &standings(records, &|_, _, reading| reading), None);
        let equal = text(&records);
        assert!(equal.contains("\nNot judged against base: deep. The runs were measured on different"), "{equal}");
        assert!(equal.contains("The others are judged.\n") && !equal.contains("They trained for"), "{equal}");
        records[1].summary.steps_done = 800;
        let unequal = text(&records);
        assert!(unequal.starts_with("They trained for different numbers of steps: 100, 800.\n\nvariant"), "{unequal}");
    }

    #[test]
    fn one_seed_each_is_not_tested_and_the_command_for_more_is_told() {
        let entrants = [(1, "race: base", 4_u64, 1_u64), (2, "race: wide", 8, 1)];
        let mut records: Vec<RunRecord> = entrants
            .map(|(number, name, layers, seed)| {
                let mut record = examples::record(number, name);
                (record.config["model"]["layers"], record.config["seed"]) = (layers.into(), seed.into());
                record.summary.seed = seed;
                let loss = record.summary.metrics.get_mut("validation/loss").unwrap();
                loss.best = Some(2.0 + layers as f64);
                record
            })
            .into();
        let told = |records: &[RunRecord], tag: Option<&str>| {
            let all = standings(records, &|_, _, reading| reading);
            let json = as_json(None, records, &all, tag, &[], true);
            (standings_text(Some(Path::new("/a.db")), records, &all, tag), json)
        };
        let (text, json) = told(&records, Some("race:race"));
        let command =
            "\n1 seed each: not tested. Queue 2 more: headroom repeat --tag race:race --seeds 3 --store /a.db\n";
        assert!(text.contains(command), "{text}");
        assert!(text.contains("+4.000, not tested") && !text.contains("better") && !text.contains("worse"), "{text}");
        let judged = &json["entrants"][1]["best_validation_loss"]["judged"];
        assert_eq!((&judged["verdict"], &judged["tested"]), (&json!("not_tested"), &json!(false)), "{json}");
        assert_eq!(json["not_tested"]["command"], "headroom repeat --tag race:race --seeds 3", "{json}");
        // Without a tag the runs are named; with a second seed of both there is nothing to tell.
        assert!(told(&records, None).0.contains(&format!(": headroom repeat {} ", records[0].summary.id)));
        for place in [0, 1] {
            let mut second = records[place].clone();
            (second.config["seed"], second.summary.seed) = (2.into(), 2);
            second.summary.metrics.get_mut("validation/loss").unwrap().best = Some(2.1 + place as f64 * 4.003);
            records.push(second);
        }
        let (text, json) = told(&records, None);
        assert!(!text.contains("Queue") && json["not_tested"].is_null(), "{text}");
    }
}
