//! `headroom compare`: runs side by side, measured against the first.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use headroom_engine::{
    config::nearest,
    store::{Direction, RunRecord, SeriesSummary, Store, series_names},
};
use serde_json::{Value, json};

use super::{
    args::CompareArgs,
    config_source,
    curves::{self, Curve},
    error::{CliError, CliResult},
    more_seeds, open, plain, print,
    race_table::{self, Form},
};
use crate::{
    compare::{
        Comparison, NotJudged, RATE, Reading, Standing, Verdict, common_step, flatten, group_all_but, is_rate,
        judged_direction, not_judged_words, unequal_samples_words, unequal_training_words, untested_sentence,
        why_not_judged,
    },
    export::TextTable,
    findings::probe_samples,
};

/// Metrics of the machine rather than of the model: compared only when asked for.
const MACHINE: &str = "system/";

/// Compares runs.
pub fn run(store: Option<&Path>, args: &CompareArgs) -> CliResult {
    let reading = open::reading_existing(store)?;
    if let Some(tag) = &args.tag {
        let form = match (args.json, args.csv) {
            (true, _) => Form::Json,
            (_, true) => Form::Csv,
            _ => Form::Text,
        };
        return race_table::of_tag(&reading, store, tag, form);
    }
    let records = args.runs.iter().map(|query| open::run(&reading, store, query)).collect::<CliResult<Vec<_>>>()?;
    let metrics = metrics(&records, &args.metric)?;
    let differences = differences(&records);
    let judge = Judge::read(&reading, store, &records, &metrics)?;
    if args.json {
        print::json(&as_json(&judge, &metrics, &differences))
    } else if args.csv {
        print::block(&as_csv(&records, &metrics, &differences))
    } else {
        print::block(&as_text(&judge, &metrics, &differences))
    }
}

/// The runs with the curves by which their differences are judged.
struct Judge<'a> {
    /// The store as it was named.
    path: Option<&'a Path>,
    records: &'a [RunRecord],
    /// What each run is called: no two the same.
    names: Vec<String>,
    /// By metric, a curve for each run.
    curves: BTreeMap<&'a str, Vec<Curve>>,
    /// Where some config was trained with several seeds: how the configs stand. Then no single run is called better or worse.
    standings: Option<Vec<Standing>>,
}

/// Which value of a metric is compared.
#[derive(Clone, Copy)]
enum Part {
    Last,
    Best,
}

impl<'a> Judge<'a> {
    fn read(store: &Store, path: Option<&'a Path>, records: &'a [RunRecord], metrics: &'a [String]) -> CliResult<Self> {
        let mut curves = BTreeMap::new();
        for metric in metrics.iter().filter(|metric| Direction::of(metric) != Direction::None) {
            let read = |record: &RunRecord| Curve::read(store, &record.summary.id, metric);
            curves.insert(metric.as_str(), records.iter().map(read).collect::<CliResult<Vec<Curve>>>()?);
        }
        let standings = seeds_repeat(records).then(|| race_table::stand(store, records)).transpose()?;
        let called = open::names(store)?;
        let name = |record: &RunRecord| called.get(&record.summary.id).unwrap_or(&record.summary.name).clone();
        Ok(Self { path, records, names: records.iter().map(name).collect(), curves, standings })
    }

    /// Reason why differences of single runs were not tested; none where all are of one seed, or none has a direction.
    fn untested(&self, metrics: &[String]) -> Option<String> {
        let seeds = |index: usize| {
            let mut all = metrics.iter().flat_map(|metric| [Part::Last, Part::Best].map(|part| (metric, part)));
            all.find_map(|(metric, part)| {
                let delta = self.against_first(index, metric, part)?.delta;
                (delta.verdict == Verdict::NotTested).then(|| delta.basis.seeds()).flatten()
            })
        };
        let others: Vec<(&str, (usize, usize))> = (1..self.records.len())
            .filter_map(|index| Some((self.names.get(index).map_or("", String::as_str), seeds(index)?)))
            .collect();
        untested_sentence(&others)
    }

    /// Comparison of a run with the first, where one of the two is not done at the last step that both reached; none for the first itself
    /// and where one has no value.
    fn against_first(&self, index: usize, metric: &str, part: Part) -> Option<Comparison> {
        let (base, own) = (self.records.first()?, self.records.get(index).filter(|_| index > 0)?);
        // A series of which no values are the better ones has no curve here.
        let until =
            common_step([&base.summary, &own.summary].into_iter(), metric).filter(|_| self.curves.contains_key(metric));
        let reading = |index: usize, record: &RunRecord| -> Option<Reading> {
            let silent = Curve::default();
            let curve = self.curves.get(metric).and_then(|curves| curves.get(index)).unwrap_or(&silent);
            let course = curve.course(&record.summary, metric);
            match part {
                Part::Last => course.last(until),
                Part::Best => course.best(until),
            }
        };
        // With seeds that repeat, no single run is called better or worse.
        let direction = if self.standings.is_some() {
            Direction::None
        } else {
            judged_direction(metric, not_judged(self.records, index))
        };
        Comparison::measured(&[reading(index, own)?], &[reading(0, base)?], direction, until, plain::number)
    }
}

/// The metrics to compare: those asked for, else all of the model.
fn metrics(records: &[RunRecord], wanted: &[String]) -> CliResult<Vec<String>> {
    let known: BTreeSet<&str> =
        records.iter().flat_map(|record| record.summary.metrics.keys().map(String::as_str)).collect();
    if wanted.is_empty() {
        return Ok(known.into_iter().filter(|name| !name.starts_with(MACHINE)).map(str::to_owned).collect());
    }
    for name in wanted {
        if !known.contains(name.as_str()) {
            let hint = nearest(name, known.iter().copied()).map(|near| format!(" Did you mean `{near}`?"));
            let names: Vec<&str> = known.into_iter().collect();
            let (hint, names) = (hint.unwrap_or_default(), names.join(", "));
            let message = format!("No run here has a metric `{name}`.{hint} Known: {names}.");
            return Err(CliError::at("--metric", message));
        }
    }
    Ok(wanted.to_vec())
}

/// Whether there are several configs, and one of them was trained with several seeds: then these tell more than a run alone.
fn seeds_repeat(records: &[RunRecord]) -> bool {
    let flat = records.iter().map(|record| flatten(&record.config));
    let flat: Vec<BTreeMap<String, Value>> = flat.collect();
    let groups = group_all_but(&flat.iter().collect::<Vec<_>>(), "seed");
    let seeds = |members: &[usize]| -> BTreeSet<u64> {
        members.iter().filter_map(|&index| records.get(index)).map(|record| record.summary.seed).collect()
    };
    groups.len() > 1 && groups.iter().any(|group| seeds(&group.members).len() > 1)
}

/// Why the run at `index` is neither better nor worse than the first.
fn not_judged(records: &[RunRecord], index: usize) -> Option<NotJudged> {
    records.first().zip(records.get(index)).and_then(|(first, own)| why_not_judged(&first.summary, &own.summary))
}

fn series<'a>(record: &'a RunRecord, name: &str) -> Option<&'a SeriesSummary> {
    record.summary.metrics.get(name)
}

/// The fields in which the configs differ, with each run's value (null where it has none).
fn differences(records: &[RunRecord]) -> BTreeMap<String, Vec<Value>> {
    let flat: Vec<BTreeMap<String, Value>> = records.iter().map(|record| flatten(&record.config)).collect();
    let names: BTreeSet<&String> = flat.iter().flat_map(BTreeMap::keys).collect();
    names
        .into_iter()
        .map(|name| {
            let values: Vec<Value> =
                flat.iter().map(|fields| fields.get(name).cloned().unwrap_or(Value::Null)).collect();
            (name.clone(), values)
        })
        .filter(|(_, values)| values.windows(2).any(|pair| pair.first() != pair.last()))
        .collect()
}

/// The difference to the first run, none for the first itself or where either has no value.
fn delta(records: &[RunRecord], index: usize, value: impl Fn(&RunRecord) -> Option<f64>) -> Option<f64> {
    let (base, own) = (records.first().and_then(&value)?, records.get(index).and_then(&value)?);
    (index > 0).then_some(own - base)
}

fn as_json(judge: &Judge<'_>, metrics: &[String], differences: &BTreeMap<String, Vec<Value>>) -> Value {
    let records = judge.records;
    let judged =
        |index: usize, metric: &str, part: Part| judge.against_first(index, metric, part).as_ref().map(curves::as_json);
    let runs: Vec<Value> = records
        .iter()
        .enumerate()
        .map(|(index, record)| {
            let run = &record.summary;
            let values: serde_json::Map<String, Value> = metrics
                .iter()
                .filter_map(|name| {
                    let of = series(record, name)?;
                    let value = json!({
                        "last": of.last, "last_step": of.last_step, "best": of.best, "best_step": of.best_step,
                        "direction": of.direction,
                        "last_delta": delta(records, index, |record| series(record, name).map(|of| of.last)),
                        "best_delta": delta(records, index, |record| series(record, name)?.best),
                        "last_judged": judged(index, name, Part::Last),
                        "best_judged": of.best.and_then(|_| judged(index, name, Part::Best)),
                    });
                    Some((name.clone(), value))
                })
                .collect();
            json!({
                "id": run.id, "name": run.name, "state": run.state, "steps": run.steps_done,
                "parameters": run.parameters, "train_secs": run.train_secs, "metrics": values,
                "not_judged": not_judged(records, index).map(NotJudged::reason),
            })
        })
        .collect();
    let entrants = judge.standings.as_ref().map(|all| race_table::entrants_json(records, all));
    json!({
        "baseline": records.first().map(|record| &record.summary.id), "runs": runs, "config": differences,
        "entrants": entrants,
        "not_tested": judge.standings.as_deref().map_or_else(|| judge.untested(metrics), race_table::untested).map(|why| {
            json!({ "why": why, "command": more_seeds::command(judge.path, records, None) })
        }),
    })
}

fn as_csv(records: &[RunRecord], metrics: &[String], differences: &BTreeMap<String, Vec<Value>>) -> String {
    let mut heading: Vec<String> =
        ["id", "name", "state", "steps", "parameters", "train_secs"].map(str::to_owned).to_vec();
    for name in metrics {
        heading.extend(["last", "best", "best_step", "last_delta", "best_delta"].map(|part| format!("{name} {part}")));
    }
    heading.extend(differences.keys().cloned());
    let mut table = TextTable::new(heading);
    for (index, record) in records.iter().enumerate() {
        let run = &record.summary;
        let text = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        let mut cells = vec![
            run.id.to_string(),
            run.name.clone(),
            run.state.to_string(),
            run.steps_done.to_string(),
            run.parameters.map(|count| count.to_string()).unwrap_or_default(),
            run.train_secs.to_string(),
        ];
        for name in metrics {
            let of = series(record, name);
            cells.extend([
                text(of.map(|of| of.last)),
                text(of.and_then(|of| of.best)),
                of.and_then(|of| of.best_step).map(|step| step.to_string()).unwrap_or_default(),
                text(delta(records, index, |record| series(record, name).map(|of| of.last))),
                text(delta(records, index, |record| series(record, name)?.best)),
            ]);
        }
        cells.extend(differences.values().map(|values| values.get(index).map(typed).unwrap_or_default()));
        table.row(cells);
    }
    table.to_csv_lines()
}

/// Where the energy in the largest 1 % is shown: whether it is of unequal samples.
fn unequal_samples(judge: &Judge<'_>, metrics: &[String]) -> Option<String> {
    let metric = series_names::PROBE_ENERGY_IN_1_PERCENT;
    if !metrics.iter().any(|name| name == metric) {
        return None;
    }
    let samples = |(record, name): (&RunRecord, &String)| {
        series(record, metric)?;
        let samples = probe_samples(&config_source::config_of(record).ok()?);
        (samples > 0).then(|| (samples, name.clone()))
    };
    let found: Vec<(u64, String)> = judge.records.iter().zip(&judge.names).filter_map(samples).collect();
    let found: Vec<(u64, &str)> = found.iter().map(|(samples, name)| (*samples, name.as_str())).collect();
    unequal_samples_words(&found)
}

/// A config value as it would be typed; nothing for a field that is not there.
fn typed(value: &Value) -> String {
    if value.is_null() { String::new() } else { crate::compare::plain(value) }
}

fn as_text(judge: &Judge<'_>, metrics: &[String], differences: &BTreeMap<String, Vec<Value>>) -> String {
    let records = judge.records;
    let heading = |first: &'static str| std::iter::once(first).chain(judge.names.iter().map(String::as_str));
    let mut table = TextTable::new(heading("metric"));
    let mut row = |name: String, cells: &mut dyn Iterator<Item = String>| {
        table.row(std::iter::once(name).chain(cells));
    };
    row("id".to_owned(), &mut records.iter().map(|record| record.summary.id.to_string()));
    row("state".to_owned(), &mut records.iter().map(|record| record.summary.state.to_string()));
    row("steps".to_owned(), &mut records.iter().map(|record| plain::count(record.summary.steps_done)));
    row(
        "parameters".to_owned(),
        &mut records.iter().map(|record| record.summary.parameters.map_or_else(|| "-".to_owned(), plain::count)),
    );
    row("training time".to_owned(), &mut records.iter().map(|record| plain::duration(record.summary.train_secs)));
    for name in metrics {
        let direction =
            records.iter().find_map(|record| series(record, name)).map_or(Direction::None, |of| of.direction);
        let cell = |index: usize, part: Part, value: &dyn Fn(&RunRecord) -> Option<f64>| {
            let shown = plain::maybe(records.get(index).and_then(value));
            match judge.against_first(index, name, part) {
                // Beside a difference stands the value that it is of.
                Some(found) if found.at_step.is_some() => {
                    format!("{} ({})", plain::number(found.own.mean), curves::words(&found))
                }
                Some(found) => format!("{shown} ({})", curves::words(&found)),
                None => shown,
            }
        };
        let last = |record: &RunRecord| series(record, name).map(|of| of.last);
        row(format!("{name}, last"), &mut (0..records.len()).map(|index| cell(index, Part::Last, &last)));
        if direction != Direction::None {
            let best = |record: &RunRecord| series(record, name)?.best;
            row(format!("{name}, best"), &mut (0..records.len()).map(|index| cell(index, Part::Best, &best)));
        }
    }
    let mut text = String::new();
    // Otherwise it stands above the table over seeds.
    if judge.standings.is_none()
        && let Some(words) = unequal_training_words(records.iter().map(|record| &record.summary))
    {
        text.extend([words.as_str(), "\n\n"]);
    }
    text += &table.to_plain();
    let is_at_step = |metric: &String, part: Part| {
        (1..records.len())
            .any(|index| judge.against_first(index, metric, part).is_some_and(|found| found.at_step.is_some()))
    };
    if metrics.iter().any(|metric| is_at_step(metric, Part::Last) || is_at_step(metric, Part::Best)) {
        text += "\nat: the value and its difference are those of this step, the last that both reached; the first run stands \
                 with its newest value.\n";
    }
    let others: Vec<(&str, Option<NotJudged>)> = (1..records.len())
        .filter_map(|index| Some((judge.names.get(index)?.as_str(), not_judged(records, index))))
        .collect();
    for told in not_judged_words(judge.names.first().map_or("the first", String::as_str), &others) {
        text.extend(["\n", told.as_str(), "\n"]);
    }
    if records.len() > 1 && metrics.iter().any(|name| is_rate(name)) {
        text.extend(["\n", RATE, "\n"]);
    }
    if let Some(words) = unequal_samples(judge, metrics) {
        text.extend(["\n", words.as_str(), "\n"]);
    }
    if let Some(all) = &judge.standings {
        text += "\nSeeds repeat: what is better or worse is tested over them, below.\n\n";
        text += &race_table::standings_text(judge.path, records, all, None);
    } else if let Some(why) = judge.untested(metrics) {
        text += "\nwithin-run spread: standard deviation of the last evaluations of both runs around a straight line, which is not \
                 the noise between seeds; not tested: one seed on a side.\n";
        text.extend([more_seeds::text(judge.path, &why, records, None).as_str(), "\n"]);
    }
    if differences.is_empty() {
        text += "\nThe configs are the same.\n";
    } else {
        let mut table = TextTable::new(heading("config field"));
        for (field, values) in differences {
            let shown = |value: &Value| if value.is_null() { "-".to_owned() } else { typed(value) };
            table.row(std::iter::once(field.clone()).chain(values.iter().map(shown)));
        }
        text += "\n";
        text += &table.to_plain();
    }
    text
}

#[cfg(test)]
mod tests {
    use headroom_engine::store::RunState;

    use super::*;
    use crate::examples;

    #[test]
    fn last_and_best_are_told_apart_whether_they_are_judged_or_not() {
        let metric = series_names::VALIDATION_LOSS;
        let mut records = [examples::record(1, "one"), examples::record(2, "other")];
        let own = records[1].summary.metrics.get_mut(metric).unwrap();
        (own.last, own.best) = (2.5, Some(1.75));
        for hash in ["beefcafe", "of another text"] {
            records[1].summary.held_out_hash = Some(hash.to_owned());
            let curves = BTreeMap::from([(metric, vec![Curve::default(), Curve::default()])]);
            let judge = Judge { path: None, records: &records, names: Vec::new(), curves, standings: None };
            let difference = |part| judge.against_first(1, metric, part).map(|found| found.delta.absolute);
            assert_eq!((difference(Part::Last), difference(Part::Best)), (Some(1.0), Some(0.5)), "{hash}");
        }
    }

    #[test]
    fn a_rate_is_told_and_not_judged() {
        let metric = series_names::TRAIN_TOKENS_PER_SEC;
        let mut records = [examples::record(1, "slow"), examples::record(2, "fast")];
        for (record, rate) in records.iter_mut().zip([100.0, 300.0]) {
            let mut of = record.summary.metrics[series_names::TRAIN_LOSS].clone();
            (of.last, of.best, of.direction) = (rate, Some(rate), Direction::of(metric));
            record.summary.metrics.insert(metric.to_owned(), of);
        }
        let curves = BTreeMap::from([(metric, vec![Curve::default(), Curve::default()])]);
        let names = vec!["slow".to_owned(), "fast".to_owned()];
        let judge = Judge { path: None, records: &records, names, curves, standings: None };
        for part in [Part::Last, Part::Best] {
            let told = judge.against_first(1, metric, part).map(|found| (found.delta.absolute, found.delta.verdict));
            assert_eq!(told, Some((200.0, Verdict::Neutral)), "not even unclear");
        }
        let (metrics, differences) = ([metric.to_owned()], BTreeMap::new());
        assert!(as_text(&judge, &metrics, &differences).contains(RATE));
        assert!(!as_text(&judge, &[], &differences).contains("faster"), "of what is not shown");
        let json = as_json(&judge, &metrics, &differences);
        assert_eq!(json["runs"][1]["metrics"][metric]["best_judged"]["verdict"], "none", "{json}");
    }

    #[test]
    fn beside_a_difference_at_a_step_stands_the_value_of_that_step() {
        let metric = series_names::VALIDATION_LOSS;
        let mut records = [examples::record(1, "trains"), examples::record(2, "done")];
        records[0].summary.state = RunState::Running;
        let own = records[0].summary.metrics.get_mut(metric).unwrap();
        (own.last, own.last_step, own.best, own.best_step) = (4.5, 50, Some(4.5), Some(50));
        let curves = [[6.0, 4.5], [5.0, 4.25]].map(|values| Curve::of(&[25.0, 50.0], &values));
        let curves = BTreeMap::from([(metric, curves.into_iter().collect())]);
        let names = vec!["trains".to_owned(), "done".to_owned()];
        let judge = Judge { path: None, records: &records, names, curves, standings: None };
        let text = as_text(&judge, &[metric.to_owned()], &BTreeMap::new());
        // At its end it stands at 1.5, and has been at 1.25.
        assert!(text.contains("4.250 (-0.2500 at 50, not tested)"), "{text}");
        assert!(!text.contains("1.500") && !text.contains("1.250"), "{text}");
        assert!(text.contains("the last that both reached"), "{text}");
    }

    #[test]
    fn runs_of_other_text_and_of_other_numbers_of_steps_are_told() {
        let metric = series_names::VALIDATION_LOSS;
        let mut records = [examples::record(1, "one"), examples::record(2, "two"), examples::record(3, "three")];
        records[1].summary.held_out_hash = Some("of another text".to_owned());
        let told = |records: &[RunRecord]| {
            let curves = BTreeMap::from([(metric, records.iter().map(|_| Curve::default()).collect())]);
            let names = records.iter().map(|record| record.summary.name.clone()).collect();
            as_text(
                &Judge { path: None, records, names, curves, standings: None },
                &[metric.to_owned()],
                &BTreeMap::new(),
            )
        };
        let text = told(&records);
        assert!(text.contains("\nNot judged against one: two. The runs were measured on different"), "{text}");
        assert!(text.contains("The others are judged.\n") && !text.contains("They trained for"), "{text}");
        records[2].summary.steps_done = 800;
        let text = told(&records);
        assert!(text.starts_with("They trained for different numbers of steps: 100, 800.\n"), "{text}");
    }

    #[test]
    fn one_run_each_is_not_tested_however_steady_both_are() {
        let metric = series_names::VALIDATION_LOSS;
        let mut records = [examples::record(1, "one"), examples::record(2, "other")];
        records[1].config["model"]["layers"] = 9.into();
        let own = records[1].summary.metrics.get_mut(metric).unwrap();
        (own.last, own.best) = (0.5, Some(0.5));
        let x: Vec<f64> = (1..=8).map(f64::from).collect();
        let curves = [1.5, 0.5].map(|level| Curve::of(&x, &[level, level + 0.01].repeat(4)));
        let curves = BTreeMap::from([(metric, curves.into_iter().collect())]);
        let names = vec!["one".to_owned(), "other".to_owned()];
        let judge = Judge { path: None, records: &records, names, curves, standings: None };
        let metrics = [metric.to_owned()];
        let text = as_text(&judge, &metrics, &differences(&records));
        assert!(text.contains("0.5000 (-1.000, not tested, within-run spread 0.00"), "{text}");
        assert!(!["better", "worse", "unclear", "+/-"].iter().any(|word| text.contains(word)), "{text}");
        let (one, other) = (&records[0].summary.id, &records[1].summary.id);
        let command = format!("headroom repeat {one} {other} --seeds 3");
        assert!(text.contains(&format!("\n1 seed each: not tested. Queue 2 more: {command}\n")), "{text}");
        let json = as_json(&judge, &metrics, &differences(&records));
        let judged = &json["runs"][1]["metrics"][metric]["last_judged"];
        assert_eq!((&judged["verdict"], &judged["rests_on"]), (&"not_tested".into(), &"nothing".into()), "{json}");
        assert!(judged["half_width"].is_null() && judged["within_run_spread"].as_f64() > Some(0.0), "{json}");
        assert_eq!(json["not_tested"]["command"], command, "{json}");
        // Seeds of one config: there is nothing to compare with more of them.
        records[1].config["model"]["layers"] = records[0].config["model"]["layers"].clone();
        let text = more_seeds::text(None, "1 seed each: not tested", &records, None);
        assert_eq!(text, "1 seed each: not tested. The runs differ in nothing but the seed.");
    }
}
