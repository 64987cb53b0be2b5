//! `headroom analyses`: what was found out about attention on demand; listed, shown, exported, deleted, brought back.

use std::path::Path;

use headroom_engine::{
    config::counted,
    store::{AnalysisSummary, RunId, Store},
};
use serde_json::json;

use super::{
    analyse,
    error::{CliError, CliResult},
    files, hint, open, plain, print,
    run_args::{AnalysesArgs, AnalysesTask, AnalysisArgs, AnalysisShowArgs},
};
use crate::export::TextTable;
use crate::format;

/// Lists them, or does something with one.
pub fn run(store: Option<&Path>, args: &AnalysesArgs) -> CliResult {
    match &args.task {
        None => list(store, args),
        Some(AnalysesTask::Show(args)) => show(store, args),
        Some(AnalysesTask::Delete(args)) => set_deleted(store, args, true),
        Some(AnalysesTask::Restore(args)) => set_deleted(store, args, false),
    }
}

fn list(given: Option<&Path>, args: &AnalysesArgs) -> CliResult {
    let reading = if args.run.is_some() { Some(open::reading_existing(given)?) } else { open::reading(given)? };
    let Some(store) = reading else {
        return if args.json { print::json(&json!({ "analyses": [] })) } else { nothing(given) };
    };
    let run = args.run.as_ref().map(|query| open::run(&store, given, query)).transpose()?;
    let run: Option<RunId> = run.map(|run| run.summary.id);
    let mut analyses = store.analyses()?;
    analyses.retain(|analysis| run.is_none() || analysis.run == run);
    let live = run.as_ref().map(|run| store.live_analyses(run)).transpose()?.unwrap_or_default();
    if args.json {
        return print::json(&json!({ "run": run, "analyses": analyses, "live_steps": live }));
    }
    if analyses.is_empty() && live.is_empty() {
        return nothing(given);
    }
    if !analyses.is_empty() {
        let mut table = TextTable::new(["#", "id", "model", "step", "text", "examples", "tokens", "when (UTC)"]);
        for known in &analyses {
            table.row([
                known.number.to_string(),
                known.id.to_string(),
                known.target.clone(),
                known.step.map_or_else(|| "-".to_owned(), plain::count),
                known.data.clone(),
                plain::count(known.examples),
                plain::count(known.tokens),
                format::date_time(known.created_ms as f64 / 1e3),
            ]);
        }
        print::block(&table.to_plain())?;
    }
    if let Some(run) = run.filter(|_| !live.is_empty()) {
        let steps: Vec<String> = live.iter().map(|step| plain::count(*step)).collect();
        let command = hint::command(&format!("analyse {run} --live STEP"), given);
        print::line(format!("Analysed while it trained, after steps {}. Show with: {command}", steps.join("; ")))?;
    }
    Ok(())
}

fn nothing(given: Option<&Path>) -> CliResult {
    print::line(format!("Nothing was analysed yet. Analyse with: {}", hint::command("analyse RUN", given)))
}

fn show(given: Option<&Path>, args: &AnalysisShowArgs) -> CliResult {
    if let Some(out) = &args.out {
        files::refuse_occupied(out)?;
    }
    let store = open::reading_existing(given)?;
    let known = find(&store.analyses()?, &args.analysis)?;
    let found = store.analysis(&known.id)?;
    let written = args.out.as_deref().map(|out| analyse::write(out, &found)).transpose()?;
    if args.json {
        return print::json_answer(
            &json!({ "event": "analysed", "analysis": known.id, "result": found, "files": written }),
        );
    }
    analyse::tell(&found)?;
    match (&args.out, written) {
        (Some(out), Some(count)) => print::line(format!("Wrote {} to {}", counted(count, "file"), out.display())),
        _ => Ok(()),
    }
}

fn set_deleted(given: Option<&Path>, args: &AnalysisArgs, deleted: bool) -> CliResult {
    let store: Store = open::writing(given)?;
    let known = if deleted { store.analyses()? } else { store.deleted_analyses()? };
    let known = find(&known, &args.analysis)?;
    store.set_analysis_deleted(&known.id, deleted)?;
    if args.json {
        let event = if deleted { "deleted" } else { "restored" };
        return print::json_answer(&json!({ "event": event, "analysis": known }));
    }
    let id = &known.id;
    print::line(if deleted {
        let command = hint::command(&format!("analyses restore {id}"), given);
        format!("Deleted the analysis {id} of {}. Bring back with: {command}", known.target)
    } else {
        format!("Brought back the analysis {id} of {}", known.target)
    })
}

/// The analysis that is meant: by id, by number, or by the beginning of an id that fits only one.
pub(super) fn find(known: &[AnalysisSummary], query: &str) -> CliResult<AnalysisSummary> {
    let query = query.trim();
    let number = query.strip_prefix('#').unwrap_or(query).parse::<u64>().ok();
    let exact = |one: &&AnalysisSummary| one.id.as_str() == query;
    let numbered =
        |one: &&AnalysisSummary| number == Some(one.number) && query.trim_start_matches('#') == one.number.to_string();
    if let Some(found) = known.iter().find(exact).or_else(|| known.iter().find(numbered)) {
        return Ok(found.clone());
    }
    let lower = query.to_lowercase();
    let fitting: Vec<&AnalysisSummary> =
        known.iter().filter(|one| !lower.is_empty() && one.id.as_str().starts_with(&lower)).collect();
    if let [found] = fitting.as_slice() {
        return Ok((*found).clone());
    }
    let newest: Vec<String> =
        known.iter().take(3).map(|one| format!("#{} {} of {}", one.number, one.id, one.target)).collect();
    let newest =
        if newest.is_empty() { "There are none.".to_owned() } else { format!("The newest: {}.", newest.join("; ")) };
    Err(CliError::at("analysis", format!("There is no analysis `{query}`. {newest}")))
}
