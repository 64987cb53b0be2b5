//! Parsing of a file of questions.

use std::io::{BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde::de::DeserializeSeed as _;

use super::articles::Root;
use super::version::Version;
use super::{Asking, FIRST_BYTES, Needs, Reader, SMALL_BYTES, broken, found};
use crate::file::find::wrong;
use crate::file::read::{read_text, text_bytes};
use crate::progress::advance;
use crate::{DataError, Progress, Silent, SquadError, Stage, memory, open};

/// Reads the file at `path`; a `strict` reader refuses answers that stand elsewhere than they say.
///
/// # Errors
/// What is wrong, by file, article, paragraph, question and field.
pub(crate) fn load_questions(
    path: &Path,
    needs: Needs,
    strict: bool,
    progress: &dyn Progress,
) -> Result<Asking, DataError> {
    let found = found(path)?;
    let mut done = 0;
    let text = read_text(&found, &mut memory::Room::now(), |bytes| {
        done += bytes;
        advance(progress, Stage::Reading, done, found.bytes)
    })?;
    let questions = parse(&text, path, needs, strict)?;
    advance(progress, Stage::Reading, found.bytes, found.bytes)?;
    Ok(questions)
}

/// What is wrong with a small file; of a large one, whether it can be opened.
pub(crate) fn probe_questions(path: &Path, strict: bool) -> Result<(), DataError> {
    let found = found(path)?;
    if text_bytes(&found) > SMALL_BYTES {
        return open::open_file(path).map(drop).map_err(|error| wrong(path, &error));
    }
    load_questions(path, Needs::Answers, strict, &Silent).map(drop)
}

/// The questions of the first articles of a file, and whether these are all. What is wrong behind them is not seen, and
/// answers need not be there.
pub(crate) fn questions_beginning(path: &Path, articles: usize, strict: bool) -> Result<(Asking, bool), DataError> {
    let found = found(path)?;
    let file = open::open_file(path).map_err(|error| wrong(path, &error))?;
    let source: Box<dyn Read> = if found.gzipped { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    let source = BufReader::new(source.take(FIRST_BYTES));
    let mut reader =
        Reader { most_articles: articles, leaves_out: true, ..Reader::new(path, Needs::Questions, strict) };
    let read = Root(&mut reader).deserialize(&mut serde_json::Deserializer::from_reader(source));
    if let Err(error) = &read
        && reader.articles == 0
        && reader.refused.is_none()
    {
        return Err(broken(error, path).into());
    }
    // What was cut off behind whole articles is not seen.
    Ok((reader.finish(Ok(()))?, read.is_ok()))
}

/// The questions of a file's text.
pub(crate) fn parse(text: &str, path: &Path, needs: Needs, strict: bool) -> Result<Asking, SquadError> {
    let mut reader = Reader::new(path, needs, strict);
    // The version may stand behind what it is about. What is no JSON is told when it is read.
    let mut version = Version(String::new());
    let _ = version.deserialize(&mut serde_json::Deserializer::from_str(text));
    reader.take_version(&version.0);
    let mut json = serde_json::Deserializer::from_str(text);
    let read = Root(&mut reader).deserialize(&mut json).and_then(|()| json.end());
    reader.finish(read.map_err(|error| broken(&error, path)))
}
