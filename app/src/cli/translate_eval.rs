//! `headroom translate-eval`: how well a run or a model directory translates pairs of texts.

use std::{fs::File, io::Write, path::Path};

use headroom_engine::{
    config::{Cache, DataConfig, Modality, Source, counted},
    generate::{Search, SearchSettings},
    protocol::{Event, Target, commands, events},
    text::escaped_line,
};
use serde_json::{Value, json};

use super::{
    args::TranslateEvalArgs,
    config_source,
    error::{CliError, CliResult},
    generate,
    generation_config::ResolvedSearch,
    job::{Shown, ignored, run_job},
    plain, print,
    session::Session,
    target::{Named, knows_its_text, named},
};

/// Tokens of a translation at most, where nobody says.
const MAX_LENGTH: usize = 256;

/// Translates and scores.
pub fn run(store: Option<&Path>, args: &TranslateEvalArgs) -> CliResult {
    let current_dir = std::env::current_dir()
        .map_err(|error| CliError::Failed(format!("The current folder cannot be found: {error}.")))?;
    let found = named(store, &args.target)?;
    let (trained_on, configured) = match &found {
        Named::Directory(_) => (None, None),
        Named::Run(_, record) => {
            let config = config_source::config_of(record)?;
            (Some(config.data), Some(config.attention.cache).filter(|cache| !cache.is_none()))
        }
    };
    let resolved = search(args, &found, configured)?;
    let target = match found {
        Named::Directory(path) => Target::Directory(path),
        Named::Run(_, record) => Target::Run { run: record.summary.id, which: args.which },
    };
    let is_directory = matches!(target, Target::Directory(_));
    let data = match &args.data {
        Some(path) => Some(Box::new(named_pairs(path, args.translations.as_deref(), trained_on)?)),
        None if matches!(&target, Target::Directory(path) if !knows_its_text(path)) => {
            let message = "A model directory from elsewhere holds no text. Name pairs with --data, as in `headroom \
                           translate-eval DIR --data test.en --translations test.de`.";
            return Err(CliError::at("--data", message));
        }
        None => None,
    };
    let precision = generate::precision(&args.precision)?;
    let output = args.output.as_deref().map(|path| create(path).map(|file| (path, file))).transpose()?;
    let session = Session::open_for_reading(store, !is_directory)?;
    let whole = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let job = commands::EvaluateTranslation {
        target,
        data,
        limit: args.limit.map(whole),
        batch: whole(args.batch),
        search: Box::new(resolved.search.clone()),
        words: args.bleu_tokenize,
        precision,
        threads: args.threads.map(whole),
        base_dir: current_dir,
    };
    let found = run_job(&session, job, "run", Shown::beside_answer(args.json), ignored)?;
    session.end();
    if let Some((path, file)) = output {
        write(path, file, &found.translations)?;
    }
    if args.json {
        return tell_json(found, &resolved.unused);
    }
    resolved.print_unused();
    tell(&found)
}

fn search(args: &TranslateEvalArgs, found: &Named, configured: Option<Cache>) -> CliResult<ResolvedSearch> {
    let usual = Search::default();
    let cache = args.cache.clone().or(configured).unwrap_or(usual.cache);
    let user = SearchSettings {
        max_new_tokens: args.max_length,
        beams: args.beam,
        length_penalty: args.length_penalty,
        ..SearchSettings::default()
    };
    ResolvedSearch::of(found, args.which, &user, &Search { cache, max_new_tokens: MAX_LENGTH, ..Search::default() })
}

/// The pairs that were named: two files, or a table with the columns of the one that the run learnt from.
fn named_pairs(path: &Path, translations: Option<&Path>, trained_on: Option<DataConfig>) -> CliResult<DataConfig> {
    for (option, path) in [("--data", Some(path)), ("--translations", translations)] {
        if let Some(path) = path.filter(|path| !path.is_file()) {
            let path = path.display().to_string();
            return Err(CliError::at(option, format!("There is no file {}.", escaped_line(&path))));
        }
    }
    let before = trained_on.unwrap_or_default();
    let source = match translations {
        Some(translations) => Source::of_translations(path, translations),
        None => before.source.reading(Modality::Pairs, path),
    };
    Ok(DataConfig { source, ..before })
}

/// A file that is not there yet.
fn create(path: &Path) -> CliResult<File> {
    File::create_new(path).map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> CliError {
    let path = path.display().to_string();
    let why = match error.kind() {
        std::io::ErrorKind::AlreadyExists => "there is such a file already; name another one".to_owned(),
        _ => error.to_string(),
    };
    CliError::at("--output", format!("The translations cannot be written to {}: {why}.", escaped_line(&path)))
}

fn write(path: &Path, mut file: File, translations: &[String]) -> CliResult {
    let mut text = String::new();
    for translation in translations {
        // A line each, whatever the model wrote.
        text.push_str(&translation.split(['\n', '\r']).map(str::trim).collect::<Vec<_>>().join(" "));
        text.push('\n');
    }
    file.write_all(text.as_bytes()).map_err(|error| failed(path, &error))
}

fn tell_json(found: events::TranslationEvaluated, unused: &[String]) -> CliResult {
    let mut value = serde_json::to_value(Event::from(found)).map_err(|error| CliError::Failed(error.to_string()))?;
    if let Some(Value::Object(fields)) = Some(&mut value) {
        // They are in the file that --output names.
        fields.remove("translations");
        fields.insert("unused_settings".to_owned(), json!(unused));
    }
    print::json_answer(&value)
}

fn tell(found: &events::TranslationEvaluated) -> CliResult {
    let events::TranslationEvaluated {
        target,
        data,
        pairs,
        metrics,
        tokens,
        seconds,
        reading_seconds,
        samples_per_sec,
        cache,
        cache_bytes,
        beams,
        batch,
        cut_sources,
        unknown_sources,
        bleu_tokenize,
        unscored_references,
        stopped,
        translations: _,
    } = found;
    print::line(format!("{target}: {} of {data}", counted(*pairs, "translation")))?;
    for found in metrics.iter() {
        print::line(found.metric.sentence(&plain::metric(found.metric, found.value, 2)))?;
    }
    print::line(format!(
        "{} translations/s: {} in {} s ({} s of it for reading), {} at a time, {}",
        plain::number(*samples_per_sec),
        counted(*tokens, "token"),
        plain::number(*seconds),
        plain::number(*reading_seconds),
        counted(*batch, "source"),
        counted(*beams, "beam")
    ))?;
    print::line(format!("cache {cache}: {} at most", plain::bytes(*cache_bytes)))?;
    if *cut_sources > 0 {
        print::aside(format!("{} longer than the model's positions: cut off.", counted(*cut_sources, "source")));
    }
    if *unknown_sources > 0 {
        print::aside(format!(
            "{} with characters that the tokenizer does not know.",
            counted(*unknown_sources, "source")
        ));
    }
    for warning in unscored_references.warnings(*pairs as u64, *bleu_tokenize) {
        print::aside(warning);
    }
    if *stopped {
        print::aside("Stopped: only these pairs were translated.");
    }
    Ok(())
}
