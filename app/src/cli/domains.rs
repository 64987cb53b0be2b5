//! `headroom domains`: a config trained on its text and on the same text shuffled, each analysed on both.

use std::{collections::BTreeMap, path::Path};

use headroom_engine::{
    analysis::{Analysis, NOT_YET, Similarity},
    config::{RunConfig, counted},
    protocol::{Event, commands, events},
    store::{AnalysisId, RunFilter},
};
use serde_json::json;

use crate::export::TextTable;
use crate::findings;

use super::{
    analyse,
    args::DomainsArgs,
    config_source::GivenConfig,
    error::{CliError, CliResult, joined},
    files,
    job::StopOnce,
    open, plain, print,
    progress::Progress,
    session::{Heard, Session},
    signals, train,
};

/// The four analyses: which of the two runs, on which text.
const ANALYSES: [(&str, &str); 4] =
    [("in order", "in order"), ("in order", "shuffled"), ("shuffled", "in order"), ("shuffled", "shuffled")];

/// Trains twice and analyses four times.
pub fn run(store: Option<&Path>, args: &DomainsArgs) -> CliResult {
    let found = trained(store, args)?;
    if let Some(out) = &args.out {
        for ((model, text), analysis) in ANALYSES.iter().zip(&found) {
            let name = format!("trained-{}-read-{}", model.replace(' ', "-"), text.replace(' ', "-"));
            analyse::write(&out.join(name), analysis)?;
        }
    }
    if args.json {
        let analyses: Vec<_> = ANALYSES
            .iter()
            .zip(&found)
            .map(|((model, text), found)| json!({ "trained_on": model, "reads": text, "result": found }))
            .collect();
        return print::json_answer(&json!({ "event": "domains", "looks": analyses }));
    }
    tell(&found)
}

fn trained(store: Option<&Path>, args: &DomainsArgs) -> CliResult<Vec<Analysis>> {
    if let Some(out) = &args.out {
        files::refuse_occupied(out)?;
    }
    let given = GivenConfig::read_to_train(&args.config)?;
    let session = Session::open(store, false)?;
    carry_out(store, args, &given, &session)
}

fn carry_out(
    store: Option<&Path>,
    args: &DomainsArgs,
    given: &GivenConfig,
    session: &Session,
) -> CliResult<Vec<Analysis>> {
    let problems = train::check(session, &given.config, &given.base_dir)?;
    if !problems.is_empty() {
        return Err(CliError::problems(&given.label, &problems));
    }
    refuse_analysis(args, &given.config)?;
    let tag = {
        let runs = open::reading(store)?.map(|store| store.runs(RunFilter::ALL)).transpose()?.unwrap_or_default();
        let taken = runs.iter().flat_map(|run| run.tags.iter().map(String::as_str)).collect();
        headroom_engine::config::free_tag("domains", &given.config.name, &taken)
    };
    signals::listen();
    let analyses: [AnalysisId; 4] = AnalysisId::distinct();
    let ids = analyses.to_vec();
    let ticket = session.send(commands::CompareDomains {
        config: Box::new(given.config.clone()),
        base_dir: given.base_dir.clone(),
        tag,
        spec: Box::new(args.parts.spec()),
        analyses,
    })?;
    let mut progress = Progress::beside_answer(args.json);
    let mut found: BTreeMap<AnalysisId, Analysis> = BTreeMap::new();
    let (mut runs, mut ended, mut stop) = (Vec::new(), 0, StopOnce::default());
    session.follow(ticket, "the analyses did", |event| {
        stop.cancel(session, ticket)?;
        let Some(event) = event else { return Ok(Heard::Taken) };
        match event {
            Event::Queued(events::Queued { run, .. }) => runs.push(run),
            Event::Failed(events::Failed { run: None, why, what_to_do }) if runs.is_empty() => {
                return Err(CliError::BadInput(joined(&why, &what_to_do)));
            }
            Event::Failed(events::Failed { why, what_to_do, .. }) => {
                print::aside(format!("Warning: {}", joined(&why, &what_to_do)));
            }
            event @ (Event::Warning(_) | Event::Ended) => return Ok(Heard::Usual(event)),
            Event::Analysed(events::Analysed { analysis, result }) => drop(found.insert(analysis, *result)),
            Event::AnalyseEnded(events::AnalyseEnded { why, unwritten, .. }) => {
                ended += 1;
                if let Some(why) = unwritten {
                    print::aside(format!("Warning: an analysis is not kept. {why}"));
                }
                if let Some(why) = why {
                    print::aside(why);
                }
            }
            event => progress.show(&event)?,
        }
        Ok(if ended < ids.len() { Heard::Taken } else { Heard::Answer(()) })
    })?;
    progress.clear();
    let complete: Vec<Analysis> = ids.iter().filter_map(|id| found.remove(id)).collect();
    if complete.len() < ids.len() {
        return Err(CliError::Failed(format!(
            "{} of {} analyses were carried out; what was trained is kept.",
            complete.len(),
            ids.len()
        )));
    }
    Ok(complete)
}

/// Analyses that neither model allows are refused before anything is trained.
fn refuse_analysis(args: &DomainsArgs, config: &RunConfig) -> CliResult {
    if config.model.encoder_depth().is_some() {
        return Err(CliError::at("model.kind", NOT_YET));
    }
    let spec = args.parts.spec();
    let (most, layers, heads) = (config.data.sequence_length, config.model.layers, config.model.heads);
    if let Some(tokens) = spec.tokens.filter(|tokens| *tokens > most) {
        return Err(CliError::at(
            "--tokens",
            format!(
                "Examples of {} are longer than the models' {}. Ask for at most that many with --tokens.",
                counted(tokens, "token"),
                counted(most, "position")
            ),
        ));
    }
    match spec.reconstruction.and_then(|wanted| wanted.head) {
        Some(at) if at.layer >= layers || at.head >= heads => Err(CliError::at(
            "--scope",
            format!(
                "There is no head {} of layer {}: the config has layers 0 to {} and heads 0 to {}.",
                at.head,
                at.layer,
                layers.saturating_sub(1),
                heads.saturating_sub(1)
            ),
        )),
        _ => Ok(()),
    }
}

fn tell(found: &[Analysis]) -> CliResult {
    let told = |value: f64| if value.is_nan() { "-".to_owned() } else { plain::number(value) };
    print::line("")?;
    let mut table = TextTable::new(["trained on", "reads", "neighbouring layers", "further apart", "energy in 1 %"]);
    for ((model, text), analysis) in ANALYSES.iter().zip(found) {
        let (near, far) = analysis.similarity.first().map_or((f64::NAN, f64::NAN), Similarity::near_and_far);
        let share = analysis
            .spectra
            .as_ref()
            .map(|spectra| findings::share_words(&spectra.network, spectra.network.dimension.div_ceil(100)));
        table.row([
            (*model).to_owned(),
            (*text).to_owned(),
            told(near),
            told(far),
            share.unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    print::line(table.to_plain().trim_end())?;
    if let Some(words) = left_out(found) {
        print::line(words)?;
    }
    for ((model, text), analysis) in ANALYSES.iter().zip(found) {
        let Some(similarity) = analysis.similarity.first() else { continue };
        print::line(format!("\nMost alike heads of two layers, trained on text {model}, reading text {text}:"))?;
        let layers = similarity.layers;
        let names = (0..layers).map(|layer| format!("L{layer}"));
        let mut table = TextTable::new(std::iter::once(String::new()).chain(names));
        for (layer, row) in similarity.layer_matrix().chunks(layers.max(1)).enumerate() {
            let cell = |value: &f64| if value.is_nan() { "-".to_owned() } else { format!("{value:.3}") };
            let cells = row.iter().map(cell);
            table.row(std::iter::once(format!("L{layer}")).chain(cells));
        }
        print::line(table.to_plain().trim_end())?;
    }
    Ok(())
}

/// What similarities leave out, where heads borrow: both models have the same plan.
fn left_out(found: &[Analysis]) -> Option<String> {
    let similarity = found.iter().find_map(|analysis| analysis.similarity.first())?;
    let (borrowers, heads) = (similarity.borrowers(), similarity.layers * similarity.heads);
    (borrowers > 0).then(|| findings::left_out_words(borrowers, heads))
}

#[cfg(test)]
mod tests {
    use headroom_engine::analysis::Measure;

    use super::*;

    #[test]
    fn borrowed_maps_are_said_to_be_left_out() {
        let of = |origins: Vec<usize>| {
            let (measure, mean) = (Measure::TotalVariation, vec![1.0; 4]);
            let similarity = Similarity { measure, layers: 2, heads: 1, examples: 1, mean, origins };
            left_out(&[Analysis { similarity: vec![similarity], ..Analysis::default() }])
        };
        assert!(of(vec![0, 0]).is_some_and(|words| words.contains("equal to the lender's by construction")));
        assert_eq!(of(vec![0, 1]), None, "every head computes its own");
        assert_eq!(left_out(&[Analysis::default()]), None, "maps were not compared");
    }
}
