//! Questions about paragraphs in the format of `SQuAD` v1.1 and v2.0: JSON, also gzipped.

use std::fmt;
use std::io::{BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::find::{Format, Found, wrong};
use super::read::{read_text, text_bytes};
use crate::data::progress::advance;
use crate::data::{DataError, Progress, Silent, SquadError, SquadPlace, Stage, memory, open};
use crate::objective::{Paragraph, Question, Questions};

/// Files of up to so many bytes are read whole to judge them.
const SMALL_BYTES: u64 = 4 << 20;

/// Bytes of text in which the first articles of a file are looked for.
const FIRST_BYTES: u64 = 64 << 20;

/// Whether the answers must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::data) enum Needs {
    /// They are learnt from or judged by.
    Answers,
    /// They are asked for.
    Questions,
}

/// Reads the file at `path`.
///
/// # Errors
/// What is wrong, by file, article, paragraph, question and field.
pub(in crate::data) fn load_questions(
    path: &Path,
    needs: Needs,
    progress: &dyn Progress,
) -> Result<Questions, DataError> {
    let found = found(path)?;
    let mut done = 0;
    let text = read_text(&found, &mut memory::Room::now(), |bytes| {
        done += bytes;
        advance(progress, Stage::Reading, done, found.bytes)
    })?;
    let questions = parse(&text, path, needs)?;
    advance(progress, Stage::Reading, found.bytes, found.bytes)?;
    Ok(questions)
}

/// What is wrong with a small file; of a large one, whether it can be opened.
pub(in crate::data) fn probe_questions(path: &Path) -> Result<(), DataError> {
    let found = found(path)?;
    if text_bytes(&found) > SMALL_BYTES {
        return open::open_file(path).map(drop).map_err(|error| wrong(path, &error));
    }
    load_questions(path, Needs::Answers, &Silent).map(drop)
}

/// The questions of the first articles of a file, and whether these are all. What is wrong behind them is not seen, and
/// answers need not be there.
pub(in crate::data) fn questions_beginning(path: &Path, articles: usize) -> Result<(Questions, bool), DataError> {
    let found = found(path)?;
    let file = open::open_file(path).map_err(|error| wrong(path, &error))?;
    let source: Box<dyn Read> = if found.gzipped { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    let mut first = FirstArticles { articles: Vec::new(), most: articles, version: Value::Null };
    let source = BufReader::new(source.take(FIRST_BYTES));
    let read = first.deserialize(&mut serde_json::Deserializer::from_reader(source));
    if let Err(error) = &read
        && first.articles.is_empty()
    {
        return Err(broken(error, path).into());
    }
    let text = serde_json::json!({ "version": first.version, "data": first.articles }).to_string();
    Ok((parse(&text, path, Needs::Questions)?, read.is_ok()))
}

/// Takes articles in, and ends in an error once there are enough.
struct FirstArticles {
    articles: Vec<Value>,
    most: usize,
    version: Value,
}

impl<'de> DeserializeSeed<'de> for &mut FirstArticles {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut FirstArticles {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with the list `data`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "data" => map.next_value_seed(&mut *self)?,
                "version" => self.version = map.next_value()?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(article) = list.next_element()? {
            self.articles.push(article);
            if self.articles.len() >= self.most {
                return Err(serde::de::Error::custom("enough"));
            }
        }
        Ok(())
    }
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|own| own.eq_ignore_ascii_case(ending))
}

/// Whether a file is one of questions by its ending: `.json`, with or without `.gz`, which no other text has.
pub fn is_squad_name(path: &Path) -> bool {
    let plain = if has_ending(path, "gz") { path.with_extension("") } else { path.to_owned() };
    has_ending(&plain, "json")
}

fn found(path: &Path) -> Result<Found, DataError> {
    let metadata = std::fs::metadata(path).map_err(|error| wrong(path, &error))?;
    if let Some(kind) = open::special_kind(metadata.file_type()) {
        return Err(DataError::NoFile { path: path.to_owned(), kind });
    }
    if metadata.is_dir() {
        return Err(DataError::NoFile { path: path.to_owned(), kind: "a folder" });
    }
    if !is_squad_name(path) {
        return Err(SquadError::NoJson { path: path.to_owned() }.into());
    }
    let gzipped = has_ending(path, "gz");
    Ok(Found { path: path.to_owned(), format: Format::Text, gzipped, bytes: metadata.len() })
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    version: Value,
    data: Option<Vec<Article>>,
    #[serde(flatten)]
    others: serde_json::Map<String, Value>,
}

#[derive(Deserialize)]
struct Article {
    title: Option<String>,
    paragraphs: Option<Vec<Written>>,
}

#[derive(Deserialize)]
struct Written {
    context: Option<String>,
    qas: Option<Vec<Asked>>,
}

#[derive(Deserialize)]
struct Asked {
    id: Option<String>,
    question: Option<String>,
    answers: Option<Vec<Answer>>,
    is_impossible: Option<bool>,
}

#[derive(Deserialize)]
struct Answer {
    text: Option<String>,
    answer_start: Option<i64>,
}

fn broken(error: &serde_json::Error, path: &Path) -> SquadError {
    let words = error.to_string();
    SquadError::Broken {
        path: path.to_owned(),
        line: error.line(),
        column: error.column(),
        why: words.split(" at line ").next().unwrap_or(&words).to_owned(),
    }
}

/// The questions of a file's text.
pub(in crate::data) fn parse(text: &str, path: &Path, needs: Needs) -> Result<Questions, SquadError> {
    let file: File = serde_json::from_str(text).map_err(|error| broken(&error, path))?;
    let version = file.version.as_str().unwrap_or_default().to_lowercase();
    let mut reader = Reader {
        path,
        needs,
        // A v2.0 file need not say of each question that it has no answer.
        is_v2: version.trim_start_matches('v').starts_with('2'),
        has_answers: false,
        unanswered: None,
        questions: Questions::default(),
    };
    let Some(articles) = file.data else {
        let found = file.others.keys().cloned().collect();
        return Err(SquadError::NoSquad { path: path.to_owned(), found });
    };
    for (number, article) in (1_usize..).zip(articles) {
        reader.article(number, article)?;
    }
    let Reader { has_answers, unanswered, questions, .. } = reader;
    if questions.all.is_empty() {
        let place = SquadPlace { article: "any".to_owned(), ..SquadPlace::default() };
        return Err(SquadError::Missing { path: path.to_owned(), place: Box::new(place), field: "qas".to_owned() });
    }
    if needs == Needs::Answers && !has_answers {
        return Err(SquadError::Unanswered { path: path.to_owned() });
    }
    if let Some(place) = unanswered.filter(|_| needs == Needs::Answers) {
        return Err(SquadError::NoAnswer { path: path.to_owned(), place: Box::new(place) });
    }
    Ok(questions)
}

struct Reader<'a> {
    path: &'a Path,
    needs: Needs,
    is_v2: bool,
    /// Whether it says of any question what is right.
    has_answers: bool,
    /// The first question of which it does not.
    unanswered: Option<SquadPlace>,
    questions: Questions,
}

impl Reader<'_> {
    fn missing(&self, place: &SquadPlace, field: &str) -> SquadError {
        SquadError::Missing { path: self.path.to_owned(), place: Box::new(place.clone()), field: field.to_owned() }
    }

    fn article(&mut self, number: usize, article: Article) -> Result<(), SquadError> {
        let title = article.title.filter(|title| !title.trim().is_empty());
        let name = title.map_or_else(|| number.to_string(), |title| format!("\"{title}\""));
        let mut place = SquadPlace { article: name, ..SquadPlace::default() };
        let paragraphs = article.paragraphs.ok_or_else(|| self.missing(&place, "paragraphs"))?;
        for (number, paragraph) in (1_usize..).zip(paragraphs) {
            place.paragraph = number;
            place.question.clear();
            let text = paragraph.context.filter(|text| !text.trim().is_empty());
            let text = text.ok_or_else(|| self.missing(&place, "context"))?;
            let asked = paragraph.qas.ok_or_else(|| self.missing(&place, "qas"))?;
            if asked.is_empty() {
                continue;
            }
            // Where each character begins.
            let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            for (number, asked) in (1_usize..).zip(asked) {
                place.question = asked.id.clone().unwrap_or_else(|| number.to_string());
                self.question(&place, asked, &text, &starts)?;
            }
            self.questions.paragraphs.push(Paragraph { text, offsets: Vec::new() });
        }
        Ok(())
    }

    fn question(&mut self, place: &SquadPlace, asked: Asked, text: &str, starts: &[usize]) -> Result<(), SquadError> {
        let id = asked.id.filter(|id| !id.is_empty()).ok_or_else(|| self.missing(place, "id"))?;
        let question = asked.question.filter(|text| !text.trim().is_empty());
        let question = question.ok_or_else(|| self.missing(place, "question"))?;
        // An empty list of a v2.0 file says that there is none, though not alone: those of a test are empty, too.
        let is_empty_list =
            self.is_v2 && asked.is_impossible.is_none() && asked.answers.as_ref().is_some_and(Vec::is_empty);
        let given = asked.answers.unwrap_or_default();
        match (asked.is_impossible == Some(true), given.is_empty()) {
            (true, false) => {
                return Err(SquadError::ImpossibleAnswer {
                    path: self.path.to_owned(),
                    place: Box::new(place.clone()),
                });
            }
            (false, true) if !is_empty_list => {
                self.unanswered.get_or_insert_with(|| place.clone());
            }
            (true, true) | (false, false) => self.has_answers = true,
            (false, true) => {}
        }
        let lacks_answer = asked.is_impossible == Some(true) || is_empty_list;
        self.questions.may_lack_answers |= lacks_answer || (self.is_v2 && self.needs == Needs::Questions);
        let (mut answers, mut first) = (Vec::with_capacity(given.len()), None);
        for (number, Answer { text: answer, answer_start }) in given.into_iter().enumerate() {
            let field = format!("answers[{number}]");
            let answer = answer.filter(|answer| !answer.trim().is_empty());
            let answer = answer.ok_or_else(|| self.missing(place, &format!("{field}.text")))?;
            let start = answer_start.ok_or_else(|| self.missing(place, &format!("{field}.answer_start")))?;
            let at = usize::try_from(start).ok().and_then(|start| starts.get(start)).copied();
            let here = at.and_then(|at| text.get(at..)).unwrap_or_default();
            if !here.starts_with(&answer) || at.is_none() {
                let letters = answer.chars().count();
                let found = match at {
                    Some(at) if at < text.len() => format!("`{}`", here.chars().take(letters).collect::<String>()),
                    _ => format!("nothing, for it has {} characters", starts.len() - 1),
                };
                let (path, place) = (self.path.to_owned(), Box::new(place.clone()));
                return Err(SquadError::AnswerElsewhere { path, place, field, text: answer, start, found });
            }
            first = first.or_else(|| Some([at? as u32, (at? + answer.len()) as u32]));
            answers.push(answer);
        }
        let paragraph = self.questions.paragraphs.len();
        self.questions.all.push(Question { id, text: question, paragraph, answers, place: first });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};
    use tempfile::TempDir;

    use super::*;

    fn file(version: &str, qas: &str) -> String {
        format!(
            "{{\"version\": \"{version}\", \"data\": [{{\"title\": \"Zo\u{eb}\", \"paragraphs\": [{{\"context\": \"Zo\u{eb} saw \u{1d11e} twice.\", \
             \"qas\": [{qas}]}}]}}]}}"
        )
    }

    fn asked(answers: &str, more: &str) -> String {
        format!("{{\"id\": \"q1\", \"question\": \"Who?\", \"answers\": [{answers}]{more}}}")
    }

    fn read(text: &str) -> Result<Questions, SquadError> {
        parse(text, Path::new("a.json"), Needs::Answers)
    }

    #[test]
    fn offsets_count_characters() {
        let two = "{\"text\": \"twice\", \"answer_start\": 10}, {\"text\": \"Zo\u{eb}\", \"answer_start\": 0}";
        let found = read(&file("1.1", &asked(two, ""))).unwrap();
        assert_eq!(found.all[0].answers, ["twice", "Zo\u{eb}"]);
        // ë has two bytes, the clef four.
        assert_eq!(found.all[0].place, Some([14, 19]));
        assert!(!found.may_lack_answers);
        let none = format!("{}, {}", asked("", ", \"is_impossible\": true"), asked(two, ", \"is_impossible\": false"));
        let found = read(&file("v2.0", &none)).unwrap();
        assert_eq!((found.all[0].place, found.all.len(), found.may_lack_answers), (None, 2, true));
        // Marks may be left out in v2.0.
        assert!(read(&file("v2.0", &format!("{}, {}", asked("", ""), asked(two, "")))).unwrap().may_lack_answers);
        assert!(matches!(read(&file("v2.0", &asked("", ""))), Err(SquadError::Unanswered { .. })), "of a test");
    }

    #[test]
    fn gzipped_files_are_read_and_others_refused_by_their_ending() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a.json.gz");
        let mut packed = GzEncoder::new(std::fs::File::create(&path).unwrap(), Compression::fast());
        let text = file("1.1", &asked("{\"text\": \"saw\", \"answer_start\": 4}", ""));
        packed.write_all(text.as_bytes()).unwrap();
        packed.finish().unwrap();
        let load = |path: &Path| load_questions(path, Needs::Answers, &Silent);
        assert_eq!(load(&path).unwrap().all.len(), 1);
        probe_questions(&path).unwrap();
        let other = folder.path().join("a.tsv");
        std::fs::write(&other, text).unwrap();
        assert!(load(&other).unwrap_err().to_string().contains(".json, with or without .gz"));
        assert!(load(folder.path()).unwrap_err().to_string().contains("a folder"));
        assert!(load(&folder.path().join("b.json")).unwrap_err().to_string().contains("no such file"));
    }

    #[test]
    fn what_is_wrong_is_told_by_file_place_and_field() {
        let answer = |text: &str, start: i64| format!("{{\"text\": \"{text}\", \"answer_start\": {start}}}");
        let one = asked(&answer("saw", 4), "");
        let said = |text: &str| read(text).unwrap_err().to_string();
        for (told, wanted) in [
            (
                said(&file("1.1", &asked(&answer("twice", 12), ""))),
                vec![
                    "article \"Zo\u{eb}\", paragraph 1, question q1",
                    "`twice`",
                    "answers[0].answer_start",
                    "character 12",
                    "`ice.`",
                    "a.json",
                ],
            ),
            (said(&file("1.1", &asked(&answer("twice", 99), ""))), vec!["nothing, for it has 16 characters"]),
            (said(&file("1.1", &asked(&answer("Zo\u{eb}", -1), ""))), vec!["character -1"]),
            (said(&file("1.1", &asked(&answer("", 1), ""))), vec!["`answers[0].text`", "question q1"]),
            (said(&file("1.1", &asked("{\"text\": \"saw\"}", ""))), vec!["`answers[0].answer_start`"]),
            (said(&file("1.1", &format!("{one}, {}", asked("", "")))), vec!["no answer (answers)", "is_impossible"]),
            (said(&file("1.1", &format!("{}, {one}", asked("", "")))), vec!["no answer (answers)", "question q1"]),
            (said(&file("1.1", &asked("", ""))), vec!["No question has an answer", "headroom predict"]),
            (
                said(&file("v2.0", &asked(&answer("saw", 4), ", \"is_impossible\": true"))),
                vec!["There are answers", "is_impossible"],
            ),
            (said(&file("1.1", "{\"id\": \"q1\", \"answers\": []}")), vec!["`question`"]),
            (said(&file("1.1", "{\"question\": \"Who?\"}")), vec!["`id`", "question 1"]),
            (said(&file("1.1", "")), vec!["`qas`"]),
            (said("{\"questions\": []}"), vec!["no SQuAD file", "`questions`"]),
            (said("{\"data\": [{\"title\": \"T\"}]}"), vec!["`paragraphs`", "article \"T\""]),
            (said("{\"data\": [{\"paragraphs\": [{}]}]}"), vec!["`context`", "article 1, paragraph 1"]),
            (said("{\"data\": [{\"paragraphs\": 5}]}"), vec!["Line 1, character", "integer `5`"]),
            (said("[1]"), vec!["Line 1", "a.json"]),
            (said("no"), vec!["Line 1"]),
        ] {
            assert!(wanted.iter().all(|part| told.contains(part)), "{told}");
        }
        let alone = parse(&file("1.1", &asked("", "")), Path::new("a.json"), Needs::Questions).unwrap();
        assert!(alone.all[0].answers.is_empty() && !alone.may_lack_answers);
    }
}
