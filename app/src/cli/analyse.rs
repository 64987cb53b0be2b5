//! `headroom analyse`: what the attention of a run or a model directory is like.

use std::path::Path;

use headroom_engine::{
    analysis::{Analysis, AnalysisSpec, Measure, ReconstructionSpec, SpectrumSpec},
    config::{DataConfig, counted},
    protocol::{Event, Subspace, Target, Which, commands, events},
    store::AnalysisId,
    text::{escaped_line, to_json_pretty},
};
use serde_json::json;

use crate::export::TextTable;
use crate::findings;

use super::{
    args::{AnalyseArgs, AnalysisArgs},
    config_source,
    error::{CliError, CliResult},
    eval,
    files::{self, Files},
    job::{Shown, run_job},
    open, print,
    scope::ScopeArg,
    session::Session,
    target::{Named, knows_its_text, named},
};

/// Shows an analysis: a new one, or what was found while the run trained.
pub fn run(store: Option<&Path>, args: &AnalyseArgs) -> CliResult {
    if let Some(out) = &args.out {
        files::refuse_occupied(out)?;
    }
    // What was found while the run trained is kept with the run.
    let (found, kept) = if let Some(step) = &args.live {
        (live(store, args, step)?, None)
    } else {
        let id = AnalysisId::new();
        let (found, unwritten) = analyse(store, args, &id)?;
        (found, Some(unwritten.map_or(Ok(id), Err)))
    };
    if let Some(Err(why)) = &kept {
        print::aside(format!("Warning: what was found is not kept. {why}"));
    }
    let written = args.out.as_deref().map(|out| write(out, &found)).transpose()?;
    if args.json {
        let id = kept.and_then(Result::ok);
        return print::json_answer(&json!({ "event": "analysed", "analysis": id, "result": found }));
    }
    tell(&found)?;
    if let Some(Ok(id)) = kept {
        print::line(format!("Kept as analysis {id}"))?;
    }
    match (&args.out, written) {
        (Some(out), Some(count)) => print::line(format!("Wrote {} to {}", counted(count, "file"), out.display())),
        _ => Ok(()),
    }
}

/// What was found while a run trained.
fn live(store: Option<&Path>, args: &AnalyseArgs, step: &str) -> CliResult<Analysis> {
    let (reading, record) = open::reading_run(store, &args.target)?;
    let run = record.summary.id;
    let steps = reading.live_analyses(&run)?;
    let Some(last) = steps.last().copied() else {
        return Err(CliError::at(
            "--live",
            format!(
                "The attention of the run {run} was not analysed while it trained (probe.every = 0, or it has not begun). \
             Leave out --live to analyse a checkpoint."
            ),
        ));
    };
    let step = if step == "last" {
        last
    } else {
        let wanted: u64 = step.parse().map_err(|_| {
            CliError::at("--live", format!("\"{step}\" is no step. Name one, or none for the last analysis."))
        })?;
        if !steps.contains(&wanted) {
            let known: Vec<String> = steps.iter().map(ToString::to_string).collect();
            return Err(CliError::at(
                "--live",
                format!("The run {run} was not analysed after step {wanted}. It was after steps {}.", known.join(", ")),
            ));
        }
        wanted
    };
    Ok(reading.live_analysis(&run, step)?)
}

/// Analyses a checkpoint now; beside what was found, why it is not kept, if so.
fn analyse(store: Option<&Path>, args: &AnalyseArgs, id: &AnalysisId) -> CliResult<(Analysis, Option<String>)> {
    let current_dir = std::env::current_dir()
        .map_err(|error| CliError::Failed(format!("The current folder cannot be found: {error}.")))?;
    let (target, trained_on) = target(store, &args.target, args.which)?;
    let data = data(args, args.data.as_deref(), &target, trained_on)?;
    let other = |given: &String| {
        // What tells runs apart stands behind an `@` too.
        let (name, which) = match given.rsplit_once('@').map(|(name, which)| (name, which.parse())) {
            Some((name, Ok(which))) => (name, which),
            _ => (given.as_str(), Which::default()),
        };
        let (target, trained_on) = self::target(store, name, which)?;
        let text = match &args.subspace_data {
            Some(path) => Some(path.as_path()),
            None if matches!(target, Target::Directory(_)) => args.data.as_deref(),
            None => None,
        };
        let data = self::data(args, text, &target, trained_on)?;
        Ok(Subspace { target, data })
    };
    let subspaces: Vec<Subspace> = args.subspace.iter().map(other).collect::<CliResult<_>>()?;
    let needs_store = matches!(target, Target::Run { .. })
        || subspaces.iter().any(|other| matches!(other.target, Target::Run { .. }));
    let session = Session::open_for_reading(store, needs_store)?;
    let analysis = id.clone();
    let spec = AnalysisSpec { shuffled: args.shuffled, ..args.parts.beside(!args.subspace.is_empty()) };
    let job = commands::Analyse { analysis, target, data, spec: Box::new(spec), subspaces, base_dir: current_dir };
    let mut found = None;
    let events::AnalyseEnded { complete, why, is_refusal, unwritten, .. } =
        run_job(&session, job, "run", Shown::beside_answer(args.json), |event| {
            if let Event::Analysed(events::Analysed { result, .. }) = event {
                found = Some(*result);
            }
            Ok(())
        })?;
    match (why, found) {
        (Some(why), _) if is_refusal => Err(CliError::at("run", why)),
        (Some(why), _) => Err(CliError::Failed(why)),
        (None, Some(found)) if complete => Ok((found, unwritten)),
        (None, _) if complete => Err(CliError::Failed("Nothing was found.".to_owned())),
        (None, _) => Err(CliError::Failed("It was stopped; nothing is kept.".to_owned())),
    }
}

/// What a name stands for, and the text that a run read.
fn target(store: Option<&Path>, name: &str, which: Which) -> CliResult<(Target, Option<DataConfig>)> {
    match named(store, name)? {
        Named::Directory(path) => Ok((Target::Directory(path), None)),
        Named::Run(_, record) => {
            let config = config_source::config_of(&record)?;
            Ok((Target::Run { run: record.summary.id, which }, Some(config.data)))
        }
    }
}

/// The text that was named.
fn data(
    args: &AnalyseArgs,
    path: Option<&Path>,
    target: &Target,
    trained_on: Option<DataConfig>,
) -> CliResult<Option<Box<DataConfig>>> {
    let named = match path {
        Some(path) => Some(eval::named_text(path, args.field.as_ref(), args.column.as_ref(), None, trained_on)?),
        None if matches!(target, Target::Directory(path) if !knows_its_text(path)) => {
            let message = "A model directory from elsewhere holds no text. Name some with --data, as in \
                           `headroom analyse DIR --data text.txt`.";
            return Err(CliError::at("--data", message));
        }
        None => None,
    };
    Ok(named.map(Box::new))
}

impl AnalysisArgs {
    /// What was asked for; everything where nothing was named.
    pub(super) fn spec(&self) -> AnalysisSpec {
        self.beside(false)
    }

    /// The same beside something else that was asked for.
    fn beside(&self, asks_for_more: bool) -> AnalysisSpec {
        let restores = self.reconstruction || !self.scope.is_empty();
        let names_nothing =
            self.similarity.is_none() && !self.spectrum && !self.captured && !asks_for_more && !restores;
        let components = self.components as usize;
        let spectrum = SpectrumSpec { components, heads: self.heads, exact: self.exact, ..SpectrumSpec::default() };
        AnalysisSpec {
            examples: self.examples as usize,
            tokens: self.tokens.map(|tokens| tokens as usize),
            shuffled: None,
            similarity: match &self.similarity {
                Some(measures) => measures.clone(),
                None if names_nothing => vec![Measure::default()],
                None => Vec::new(),
            },
            spectrum: (self.spectrum || self.heads || self.exact || names_nothing).then_some(spectrum),
            captured: self.captured || names_nothing,
            reconstruction: restores.then(|| ReconstructionSpec {
                layers: self.scope.contains(&ScopeArg::Layers),
                head: self.scope.iter().find_map(|scope| if let ScopeArg::Head(at) = scope { Some(*at) } else { None }),
                ..ReconstructionSpec::default()
            }),
        }
    }
}

pub(super) fn tell(found: &Analysis) -> CliResult {
    print::line(format!("{}, {:.1} s", escaped_line(&findings::about(found)), found.secs))?;
    for line in findings::summary(found) {
        print::line(line)?;
    }
    let (headings, rows) = findings::layer_table(found);
    if !rows.is_empty() {
        told(headings, rows)?;
    }
    if let Some(reconstruction) = &found.reconstruction {
        let (headings, rows) = findings::reconstruction_table(reconstruction);
        told(headings, rows)?;
    }
    Ok(())
}

fn told(headings: Vec<&'static str>, rows: Vec<Vec<String>>) -> CliResult {
    let mut table = TextTable::new(headings);
    for row in rows {
        table.row(row);
    }
    print::line(table.to_plain().trim_end())
}

/// Writes figures, tables and arrays; how many files.
pub(super) fn write(out: &Path, found: &Analysis) -> CliResult<usize> {
    let mut files = Files::create(out)?;
    for (name, figure) in findings::figures(found) {
        files.put_figure(&name, &figure)?;
    }
    for (name, figure) in findings::maps(found) {
        files.put_map(&name, &figure)?;
    }
    for array in found.arrays() {
        files.put(&format!("{}.npy", array.name), &findings::npy(&array))?;
    }
    if let Some(reconstruction) = &found.reconstruction {
        files.put("reconstruction.csv", findings::reconstruction_csv(reconstruction).as_bytes())?;
    }
    let all = to_json_pretty(found).map_err(|error| CliError::Failed(error.to_string()))?;
    files.put("analysis.json", all.as_bytes())?;
    Ok(files.count())
}
