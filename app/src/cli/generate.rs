//! `headroom generate`: text from a run or a model directory.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use headroom_engine::{
    attention::ModelPlan,
    config::{Cache, Precision, counted},
    data::DataError,
    generate::{CacheProof, Ending, Search, SearchSettings},
    protocol::{Event, Filling, GenerateSource, PrecisionProof, Target, WordGuess, commands, events},
    text::escaped_line,
};
use serde_json::json;

use crate::export::TextTable;

use super::{
    args::GenerateArgs,
    config_source,
    error::{CliError, CliResult},
    generation_config::{ResolvedSearch, early_stopping},
    job::{Shown, ignored, run_job},
    plain, print,
    session::Session,
    target::{Named, named, plan_of},
};

/// The largest text that is read, in bytes.
const LARGEST_INPUT: u64 = 1 << 28;

/// The most that held something of what was kept between tokens, in bytes.
fn filled_bytes(answer: &events::Generated) -> u64 {
    answer.texts.iter().flat_map(|text| &text.costs).map(|cost| cost.bytes).max().unwrap_or(0)
}

/// Generates.
pub fn run(store: Option<&Path>, args: &GenerateArgs) -> CliResult {
    let sources = if args.prove && args.ids.is_empty() && args.prompt.is_none() && args.input.is_none() {
        Vec::new()
    } else {
        sources(args)?
    };
    let found = named(store, &args.target)?;
    // What cannot be read is told of where it is opened.
    let plan = plan_of(&found, args.which);
    if let Some(plan) = &plan {
        refuse_unknown(&args.ids, plan)?;
    }
    let usable = || plan.as_ref().and_then(|plan| usable_cache(args, plan));
    let configured = match &found {
        Named::Directory(_) => usable(),
        Named::Run(_, record) => {
            let config = config_source::config_of(record)?;
            Some(config.attention.cache).filter(|cache| !cache.is_none()).or_else(usable)
        }
    };
    let (resolved, precisions) = (search(args, &found, configured)?, precisions(args)?);
    let target = match found {
        Named::Directory(path) => Target::Directory(path),
        Named::Run(_, record) => Target::Run { run: record.summary.id, which: args.which },
    };
    if !args.json && plan.as_ref().is_none_or(|plan| !plan.fills_in()) {
        resolved.print_unused();
    }
    let ResolvedSearch { search, unused } = resolved;
    let beams = search.beams;
    let session = Session::open_for_reading(store, matches!(target, Target::Run { .. }))?;
    let threads = args.threads.and_then(|threads| usize::try_from(threads).ok());
    let batch = usize::try_from(args.batch).unwrap_or(usize::MAX);
    let (search, count) = (Box::new(search), sources.len());
    if args.prove {
        let examples = usize::try_from(args.examples).unwrap_or(usize::MAX);
        let job = commands::ProveCaches { target, sources, examples, batch, search, precisions, threads };
        return prove(session, job, args.json, &unused);
    }
    let single = count == 1;
    let precision = precisions.first().copied().unwrap_or_default();
    let details = args.details;
    let job = commands::Generate { target, sources, batch, search, precision, threads, details };
    let mut shown = String::new();
    // Beams may still change what they wrote.
    let streams = single && !args.json && beams == 1;
    let answer = run_job(&session, job, "run", Shown::Silent, |event| {
        if let Event::Generating(events::Generating { text, .. }) = event
            && streams
        {
            let text = complete(&text);
            if let Some(more) = text.strip_prefix(shown.as_str()) {
                print::block(more)?;
                text.clone_into(&mut shown);
            }
        }
        Ok(())
    })?;
    session.end();
    if args.json { tell_json(&answer, args, (beams, &unused)) } else { tell(&answer, &shown, count) }
}

/// Compares the caches and tells what came of it.
fn prove(session: Session, job: commands::ProveCaches, json: bool, unused: &[String]) -> CliResult {
    let found = run_job(&session, job, "run", Shown::beside_answer(json), ignored)?;
    let events::CachesProved { data, proofs, stopped, .. } = found;
    session.end();
    if json {
        return print::json(&json!({
            "event": "caches_proved",
            "data": data,
            "lossless": proofs.iter().all(|found| found.proof.is_lossless()),
            "proofs": proofs,
            "stopped": stopped,
            "unused_settings": unused,
        }));
    }
    for PrecisionProof { precision, proof } in &proofs {
        let (texts, tokens) = (counted(proof.texts as u64, "text"), counted(proof.tokens as u64, "token"));
        print::line(format!("{}: {texts}, {tokens}, {data}", precision.name()))?;
        print::block(&proof_table(proof).to_plain())?;
    }
    if stopped {
        print::aside("Stopped: what was compared before that is told.");
    }
    Ok(())
}

fn proof_table(proof: &CacheProof) -> TextTable {
    let has_reference = proof.caches.iter().any(|row| row.as_reference.is_some());
    let mut headings = vec!["cache", "identical", "largest logit difference", "kept", "time"];
    if has_reference {
        headings.insert(2, "identical to the first format");
    }
    let mut table = TextTable::new(headings);
    for row in &proof.caches {
        if let Some(why) = &row.why {
            table.row([row.cache.word(), why]);
            continue;
        }
        let share = |count: usize| format!("{count} of {}", proof.texts);
        let mut cells = vec![row.cache.word().to_owned(), share(row.identical)];
        cells.extend(row.as_reference.map(share));
        cells.extend([
            plain::number(row.largest_difference),
            plain::bytes(row.cache_bytes),
            format!("{} s", plain::number(row.seconds)),
        ]);
        table.row(cells);
    }
    table
}

fn sources(args: &GenerateArgs) -> CliResult<Vec<GenerateSource>> {
    if let Some(prompt) = &args.prompt {
        if prompt.trim().is_empty() {
            return Err(CliError::at("--prompt", "The text is empty. Give at least one word."));
        }
        return Ok(vec![GenerateSource::Text(prompt.clone())]);
    }
    if !args.ids.is_empty() {
        return Ok(vec![GenerateSource::Tokens(args.ids.clone())]);
    }
    let path = args.input.clone().unwrap_or_else(|| PathBuf::from("-"));
    let text = read(&path)?;
    let mut sources = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            return Err(CliError::at(
                "--input",
                format!("Line {number} of the input is empty. Give a text in each line."),
            ));
        }
        sources.push(GenerateSource::Text(line.to_owned()));
    }
    if sources.is_empty() {
        return Err(CliError::at("--input", "The input is empty. Give a text in each line."));
    }
    Ok(sources)
}

/// Refuses an id that the model does not have.
fn refuse_unknown(ids: &[u32], plan: &ModelPlan) -> CliResult {
    let vocabulary = plan.vocabulary();
    match (ids.iter().find(|id| **id as usize >= vocabulary), vocabulary.checked_sub(1)) {
        (Some(id), Some(last)) => {
            let message = format!("--ids: {id} is no id of this model, which has ids 0 to {last}.");
            Err(CliError::at("--ids", message))
        }
        _ => Ok(()),
    }
}

/// The text of an input.
pub(super) fn read(path: &Path) -> CliResult<String> {
    let told = |error: std::io::Error| {
        CliError::at(
            "--input",
            format!("The input {} cannot be read: {error}.", escaped_line(&path.display().to_string())),
        )
    };
    let mut bytes = Vec::new();
    if path.as_os_str() == "-" {
        std::io::stdin().lock().take(LARGEST_INPUT + 1).read_to_end(&mut bytes).map_err(told)?;
    } else {
        let file = std::fs::File::open(path).map_err(told)?;
        if !file.metadata().map_err(told)?.is_file() {
            let message = format!("The input {} is no file.", escaped_line(&path.display().to_string()));
            return Err(CliError::at("--input", message));
        }
        file.take(LARGEST_INPUT + 1).read_to_end(&mut bytes).map_err(told)?;
    }
    if bytes.len() as u64 > LARGEST_INPUT {
        return Err(CliError::at("--input", "The input is larger than 256 MiB. Cut it into parts."));
    }
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        let before = error.as_bytes().get(..offset).unwrap_or_default();
        let line = before.split(|byte| *byte == b'\n').count();
        let path = if path.as_os_str() == "-" { PathBuf::from("standard input") } else { path.to_owned() };
        CliError::at("--input", DataError::NotUtf8 { path, offset, line }.to_string())
    })
}

/// The cache of a model that the usual one has no meaning for, where none was named; says so.
fn usable_cache(args: &GenerateArgs, plan: &ModelPlan) -> Option<Cache> {
    let is_open = args.cache.is_none() && !args.prove && plan.stack.is_causal;
    let why = plan.stack.why_not_kept(&Search::default().cache).filter(|_| is_open)?;
    let why = why.split(';').next().unwrap_or(why);
    print::aside(format!("Without a cache, as by --cache none: {why}."));
    Some(Cache::default())
}

fn search(args: &GenerateArgs, found: &Named, configured: Option<Cache>) -> CliResult<ResolvedSearch> {
    let usual = Search::default();
    let cache = args.cache.clone().or(configured).unwrap_or(usual.cache);
    let user = SearchSettings {
        max_new_tokens: args.max_length,
        min_new_tokens: args.min_length,
        beams: args.beam,
        groups: args.groups,
        diversity: args.diversity,
        length_penalty: args.length_penalty,
        early_stopping: args.early_stopping.as_deref().map(early_stopping).transpose()?,
        no_repeat: args.no_repeat,
        temperature: args.temperature,
        top_k: args.top_k,
        top_p: args.top_p,
        ..SearchSettings::default()
    };
    ResolvedSearch::of(found, args.which, &user, &Search { cache, seed: args.seed, ..Search::default() })
}

fn precisions(args: &GenerateArgs) -> CliResult<Vec<Precision>> {
    if args.precision.len() > 1 && !args.prove {
        let message = "Texts are generated in one number format; several can be compared with --prove.";
        return Err(CliError::at("--precision", message));
    }
    args.precision.iter().map(|word| precision(word)).collect()
}

pub(super) fn precision(word: &str) -> CliResult<Precision> {
    Precision::FORMATS.into_iter().find(|precision| precision.name() == word).ok_or_else(|| {
        let known: Vec<&str> = Precision::FORMATS.iter().map(|precision| precision.name()).collect();
        let message = format!("\"{word}\" is no number format. Use one of these: {}.", known.join(", "));
        CliError::at("--precision", message)
    })
}

/// Bytes that are no character yet may become one with the next token.
fn complete(text: &str) -> &str {
    text.trim_end_matches('\u{fffd}')
}

fn tell(answer: &events::Generated, shown: &str, count: usize) -> CliResult {
    for text in &answer.texts {
        // What was streamed stands there already.
        let rest = if shown.is_empty() { Some(text.text.as_str()) } else { text.text.strip_prefix(shown) };
        print::line(rest.unwrap_or(&text.text))?;
        if let Some(filling) = &text.filled {
            print::block(&guesses(filling).to_plain())?;
        }
    }
    let filled: Option<usize> = answer.texts.iter().map(|text| Some(text.filled.as_ref()?.words.len())).sum();
    if let Some(filled) = filled.filter(|_| !answer.texts.is_empty()) {
        print::aside(format!("{} filled in in {} s", counted(filled, "hidden word"), plain::number(answer.seconds)));
        return Ok(());
    }
    let tokens: usize = answer.texts.iter().map(|text| text.tokens.len()).sum();
    print::aside(format!(
        "{} in {} s ({} s of it for reading), {}",
        counted(tokens, "token"),
        plain::number(answer.seconds),
        plain::number(answer.reading_seconds),
        kept_words(filled_bytes(answer), answer.cache_bytes)
    ));
    if answer.stopped {
        print::aside(format!("Stopped: {} of {count} begun.", counted(answer.texts.len(), "text")));
    }
    if answer.texts.iter().any(|text| text.ending == Ending::Positions) {
        print::aside("A text ended because the model has no more positions.");
    }
    Ok(())
}

/// What was kept between tokens, in bytes: `filled` of `room`. Room is set aside for all tokens that were asked for; a
/// text may end before.
fn kept_words(filled: u64, room: u64) -> String {
    if filled > 0 && filled < room {
        format!("{} kept, {} set aside", plain::bytes(filled), plain::bytes(room))
    } else {
        format!("{} kept", plain::bytes(room))
    }
}

/// What may stand in the place of each hidden word.
fn guesses(filling: &Filling) -> TextTable {
    let mut table = TextTable::new(vec!["word", "most probable"]);
    for (number, word) in (1..).zip(&filling.words) {
        let told =
            |guess: &WordGuess| format!("{} {}", escaped_line(guess.word.trim()), plain::share(guess.probability));
        let all: Vec<String> = word.guesses.iter().map(told).collect();
        table.row([number.to_string(), all.join(", ")]);
    }
    table
}

fn tell_json(answer: &events::Generated, args: &GenerateArgs, (beams, unused): (usize, &[String])) -> CliResult {
    for (source, text) in answer.texts.iter().enumerate() {
        let mut object = json!({
            "event": "generated",
            "source": source,
            "text": text.text,
            "tokens": text.tokens,
            "ending": text.ending,
            "score": text.score,
            "seconds": answer.seconds,
            "reading_seconds": answer.reading_seconds,
            "cache_bytes": filled_bytes(answer),
            "room_bytes": answer.cache_bytes,
            "beams": beams,
            "texts": answer.texts.len(),
            "stopped": answer.stopped,
            "pieces": text.pieces,
            "costs": text.costs,
            "unused_settings": unused,
        });
        if let (Some(filling), Some(object)) = (&text.filled, object.as_object_mut()) {
            object.insert("filled".to_owned(), json!(filling));
        }
        if let (true, Some(object)) = (args.details, object.as_object_mut()) {
            object.insert("source_pieces".to_owned(), json!(text.source));
            object.insert("tree".to_owned(), json!(text.tree));
            object.insert("tree_pieces".to_owned(), json!(text.tree_pieces));
            object.insert("attention".to_owned(), json!(text.attention));
        }
        print::json_line(&object)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::kept_words;

    #[test]
    fn what_was_kept_is_told_apart_from_the_room_for_it() {
        assert_eq!(kept_words(139_264, 266_240), "136 KiB kept, 260 KiB set aside");
        assert_eq!(kept_words(266_240, 266_240), "260 KiB kept");
        assert_eq!(kept_words(0, 0), "0 B kept");
    }
}
