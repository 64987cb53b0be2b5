//! `headroom eval`: the loss of a run or a model directory on text.

use std::path::Path;

use headroom_engine::{
    config::{Coverage, DataConfig, LabelRules, Modality, OtherText, Precision, Source, TextPlace, counted},
    data::is_squad_name,
    objective::text_scores::Words,
    protocol::{Approximation, EvaluationCounts, Event, Mistake, Target, commands, events},
    text::escaped_line,
};

use crate::export::TextTable;
use crate::findings::same_class;

use super::{
    args::EvalArgs,
    config_source::config_of,
    error::{CliError, CliResult},
    generate,
    job::{Shown, ignored, run_command},
    plain, print,
    session::Session,
    target::{Named, knows_its_text, named},
};

/// Classes of which the table of confusions is written out; JSON has that of any number.
const MOST_CLASSES: usize = 20;

/// Evaluates.
pub fn run(store: Option<&Path>, args: &EvalArgs) -> CliResult {
    let current_dir = std::env::current_dir()
        .map_err(|error| CliError::Failed(format!("The current folder cannot be found: {error}.")))?;
    let coverage = args.coverage.as_deref().map(|text| approximation(text, args.examples)).transpose()?.flatten();
    let given = Path::new(&args.target);
    if args.data.is_none() && given.is_dir() && !knows_its_text(given) {
        return Err(no_text());
    }
    let (target, trained_on) = match named(store, &args.target)? {
        Named::Directory(path) => (Target::Directory(path), None),
        Named::Run(_, record) => {
            let config = config_of(&record)?;
            (Target::Run { run: record.summary.id, which: args.which }, Some(config.data))
        }
    };
    let is_directory = matches!(target, Target::Directory(_));
    let data = match &args.data {
        Some(path) => {
            let translations = args.translations.as_deref();
            let (field, column) = (args.field.as_ref(), args.column.as_ref());
            let labelled = labelled(path, args, trained_on.as_ref());
            let named = named_text(path, field, column, translations, trained_on)?;
            Some(Box::new(match labelled {
                Some(source) => DataConfig { source, ..named },
                None => named,
            }))
        }
        None if matches!(&target, Target::Directory(path) if !knows_its_text(path)) => return Err(no_text()),
        None => None,
    };
    let session = Session::open_for_reading(store, !is_directory)?;
    let job = commands::Evaluate {
        target,
        data,
        labels: Box::new(LabelRules {
            unlabelled: args.unlabelled.clone(),
            classes: args.labels.clone().unwrap_or_default(),
        }),
        coverage,
        tokens: args.tokens,
        noise: args.noise.clone(),
        noise_seed: args.noise_seed,
        mistakes: args.mistakes,
        precision: args.precision.as_deref().map(generate::precision).transpose()?,
        base_dir: current_dir,
    };
    let found: events::Evaluation = run_command(&session, job, "run", Shown::Silent, ignored)?;
    session.end();
    if args.json { tell_json(found) } else { tell(&found) }
}

/// Examples with labels: questions about paragraphs by the name of the file; a table where its columns are named, or the run learnt
/// from one, whose columns it has otherwise.
fn labelled(path: &Path, args: &EvalArgs, trained_on: Option<&DataConfig>) -> Option<Source> {
    if is_squad_name(path) {
        return Some(Source::of_file(Modality::Spans, path));
    }
    let is_table = |source: &Source| source.facts().modality == Modality::Rows && source.reads_files();
    let own = trained_on.map(|data| &data.source).filter(|source| is_table(source));
    if own.is_none() && args.text.is_empty() && args.label.is_none() {
        return None;
    }
    let of_file = || Source::of_file(Modality::Rows, path);
    let mut table = own.map_or_else(of_file, |own| own.reading(Modality::Rows, path));
    let place = TextPlace { texts: args.text.clone(), label: args.label.clone(), ..TextPlace::default() };
    table.settings_mut().set_text_place(&place);
    Some(table)
}

/// The evaluation with its loss and its metrics once more as one map.
fn tell_json(found: events::Evaluation) -> CliResult {
    let metrics = serde_json::to_value(&found.metrics);
    let mut value = serde_json::to_value(Event::from(found)).map_err(|error| CliError::Failed(error.to_string()))?;
    // Pictures are for windows; a script has the images.
    for mistake in value.pointer_mut("/mistakes").and_then(serde_json::Value::as_array_mut).into_iter().flatten() {
        mistake.as_object_mut().map(|mistake| mistake.remove("picture"));
    }
    if let Some(fields) = value.as_object_mut() {
        let mut metrics = metrics.map_err(|error| CliError::Failed(error.to_string()))?;
        if let (Some(metrics), Some(loss)) = (metrics.as_object_mut(), fields.get("loss")) {
            metrics.insert("loss".to_owned(), loss.clone());
        }
        fields.insert("metrics".to_owned(), metrics);
    }
    print::json_answer(&value)
}

/// Why a directory alone is not enough.
fn no_text() -> CliError {
    let message = "A model directory from elsewhere holds no text. Name some with --data, as in `headroom eval DIR \
                   --data text.txt`.";
    CliError::at("--data", message)
}

/// What `--coverage` says; nothing where all pairs are scored as ever.
fn approximation(text: &str, examples: usize) -> CliResult<Option<Approximation>> {
    let coverage =
        Coverage::from_words(text).map_err(|error| CliError::at("--coverage", format!("--coverage: {error}")))?;
    Ok((!coverage.is_full()).then_some(Approximation { coverage, examples }))
}

/// The text that was named, read as the run read its own.
pub(super) fn named_text(
    path: &Path,
    field: Option<&String>,
    column: Option<&String>,
    translations: Option<&Path>,
    trained_on: Option<DataConfig>,
) -> CliResult<DataConfig> {
    if let Some(translations) = translations.filter(|path| !path.exists()) {
        let message = format!("translations: there is no file {}.", translations.display());
        return Err(CliError::at("--translations", message));
    }
    if !path.exists() {
        return Err(CliError::at("--data", format!("--data: there is no file or folder {}.", path.display())));
    }
    let place = TextPlace { field: field.cloned(), column: column.cloned(), ..TextPlace::default() };
    let other = OtherText { place, translations: translations.map(Path::to_owned) };
    Ok(trained_on.unwrap_or_default().reading(path, other))
}

/// What metrics are of, where that is neither tokens nor examples.
fn counts_words(counts: &EvaluationCounts) -> Option<String> {
    if let (Some(questions), Some(answered)) = (counts.questions, counts.questions_with_answer) {
        let all = counted(questions, "question");
        return Some(match questions - answered.min(questions) {
            0 => format!("{all}:"),
            without => format!("{all}, {} without an answer:", plain::count(without)),
        });
    }
    let (scored, pairs) = counts.translations.zip(counts.pairs)?;
    let more = if scored < pairs { "; `headroom translate-eval` scores all of them" } else { "" };
    Some(format!("{} of {} were translated and scored{more}:", plain::count(scored), counted(pairs, "pair")))
}

fn tell(found: &events::Evaluation) -> CliResult {
    let events::Evaluation {
        target,
        loss,
        metrics,
        tokens,
        counts,
        unit,
        sequence_length,
        precision,
        coverage,
        score_error,
        confusion,
        mistakes,
        noise,
    } = found;
    let is_of_examples = unit.ends_with("example");
    print::line(format!(
        "{target}: loss {} {unit}{}, on {} {} {}",
        plain::number(*loss),
        if *precision == Precision::F32 { String::new() } else { format!(", in {}", precision.name()) },
        counted(*tokens, if is_of_examples { "example" } else { "token" }),
        if is_of_examples { "of at most" } else { "in examples of" },
        counted(*sequence_length, "token")
    ))?;
    if let (Some(coverage), Some(error)) = (coverage, score_error) {
        let error = 100.0 * error;
        print::line(format!(
            "{coverage}, in all layers but the last: {error:.2} % of the scores' mean square is lost"
        ))?;
    }
    if let Some(left_out) = counts.left_out {
        print::line(format!("{} left out.", counted(left_out, "more example")))?;
    }
    if let Some(words) = counts_words(counts) {
        print::line(words)?;
    }
    let (scored, words) = (counts.translations.unwrap_or_default(), Words::default());
    for warning in counts.unscored_references.iter().flat_map(|unscored| unscored.warnings(scored, words)) {
        print::aside(warning);
    }
    for found in metrics.iter() {
        print::line(found.metric.sentence(&plain::metric(found.metric, found.value, 2)))?;
    }
    if let Some(words) = confusion.as_deref().and_then(same_class) {
        print::line(escaped_line(&words))?;
    }
    if let Some(confusion) = confusion.as_deref().filter(|found| found.labels.len() <= MOST_CLASSES) {
        let mut table =
            TextTable::new(["right \\ predicted".to_owned()].into_iter().chain(confusion.labels.iter().cloned()));
        for (label, counts) in confusion.labels.iter().zip(&confusion.counts) {
            table.row([label.clone()].into_iter().chain(counts.iter().map(|count| plain::count(*count))));
        }
        print::block(&table.to_plain())?;
    }
    for Mistake { texts, image, right, predicted, confidence, places, .. } in mistakes {
        let what = image.map_or_else(|| texts.join(" | "), |image| format!("image {}", image + 1));
        let sure = plain::number(100.0 * confidence);
        let words = if places.is_some() {
            format!("{predicted} ({sure} %), not {right}: ")
        } else {
            format!("{right} taken for {predicted} ({sure} %): ")
        };
        print::line(words + &escaped_line(&what))?;
    }
    for noisy in noise {
        let more =
            noisy.metrics.iter().map(|found| found.metric.sentence(&plain::metric(found.metric, found.value, 2)));
        let told: Vec<String> = [format!("loss {}", plain::number(noisy.loss))].into_iter().chain(more).collect();
        print::line(format!(
            "with noise of {} % of the embeddings' mean length: {}",
            // As it was asked for: 0, 12.5, 20.
            (1e6 * noisy.noise).round() / 1e4,
            told.join(", ")
        ))?;
    }
    Ok(())
}
