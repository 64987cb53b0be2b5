//! Questions about paragraphs in the format of `SQuAD` v1.1 and v2.0: JSON, also gzipped.

mod articles;
mod parse;
mod version;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

pub(crate) use self::parse::{load_questions, parse, probe_questions, questions_beginning};
use super::find::{Format, Found, wrong};
use crate::config::counted;
use crate::objective::{Paragraph, Question, Questions};
use crate::text::shortened;
use crate::{DataError, SquadError, SquadPlace, open};

/// Files of up to so many bytes are read whole to judge them.
const SMALL_BYTES: u64 = 4 << 20;

/// Bytes of text in which the first articles of a file are looked for.
const FIRST_BYTES: u64 = 64 << 20;

/// Whether the answers must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// They are learnt from or judged by.
    Answers,
    /// They are asked for.
    Questions,
}

/// Questions of a file.
#[derive(Debug)]
pub(crate) struct Asking {
    pub questions: Questions,
    /// Questions that were left out since an answer stands elsewhere than it says, and the first of these.
    pub elsewhere: usize,
    pub first_elsewhere: Option<SquadError>,
}

impl Asking {
    /// A warning where questions were left out.
    pub fn warning(&self) -> Option<String> {
        let first = self.first_elsewhere.as_ref()?;
        Some(format!(
            "{} left out, since an answer stands elsewhere than it says. {first}",
            if self.elsewhere == 1 {
                "1 question was".to_owned()
            } else {
                format!("{} were", counted(self.elsewhere as u64, "question"))
            }
        ))
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
struct Asked {
    #[serde(default)]
    id: Id,
    question: Option<String>,
    answers: Option<Answers>,
    is_impossible: Option<bool>,
}

/// An id, which some files have as a number.
#[derive(Default)]
struct Id(Option<String>);

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Id;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text or a number")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Id, E> {
                Ok(Id(Some(text.to_owned())))
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Id, E> {
                Ok(Id(Some(number.to_string())))
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Id, E> {
                Ok(Id(Some(number.to_string())))
            }

            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Id, E> {
                Ok(Id(Some(number.to_string())))
            }

            fn visit_unit<E: serde::de::Error>(self) -> Result<Id, E> {
                Ok(Id(None))
            }
        }
        deserializer.deserialize_any(Text)
    }
}

/// Answers up to the first that lacks something.
struct Answers(Vec<Answer>);

impl<'de> Deserialize<'de> for Answers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Answers;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list of answers")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Answers, A::Error> {
                let mut answers: Vec<Answer> = Vec::new();
                while answers.last().is_none_or(Answer::is_whole) {
                    let Some(answer) = list.next_element()? else { return Ok(Answers(answers)) };
                    answers.push(answer);
                }
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Answers(answers))
            }
        }
        deserializer.deserialize_seq(All)
    }
}

impl Answer {
    fn is_whole(&self) -> bool {
        self.text.as_ref().is_some_and(|text| !text.is_empty()) && self.answer_start.is_some()
    }
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
        why: shortened(words.split(" at line ").next().unwrap_or(&words), 200),
    }
}

/// Takes articles in one by one: of what was read nothing is kept but what is learnt from.
struct Reader<'a> {
    path: &'a Path,
    needs: Needs,
    /// True if an answer that stands elsewhere ends reading.
    strict: bool,
    /// True if a question is left out whose answer stands elsewhere; without it, it is asked without that answer.
    leaves_out: bool,
    elsewhere: usize,
    first_elsewhere: Option<SquadError>,
    /// A v2.0 file need not say of each question that it has no answer.
    is_v2: bool,
    /// Whether it says of any question what is right.
    has_answers: bool,
    /// The first question of which it does not.
    unanswered: Option<SquadPlace>,
    questions: Questions,
    /// Articles that were read, after which reading ends at `most_articles`.
    articles: usize,
    most_articles: usize,
    has_data: bool,
    /// Other keys of the file.
    others: BTreeSet<String>,
    /// Reason why reading ended.
    refused: Option<SquadError>,
}

impl<'a> Reader<'a> {
    fn new(path: &'a Path, needs: Needs, strict: bool) -> Self {
        Self {
            path,
            needs,
            strict,
            leaves_out: needs == Needs::Answers,
            elsewhere: 0,
            first_elsewhere: None,
            is_v2: false,
            has_answers: false,
            unanswered: None,
            questions: Questions::default(),
            articles: 0,
            most_articles: usize::MAX,
            has_data: false,
            others: BTreeSet::new(),
            refused: None,
        }
    }

    fn take_version(&mut self, version: &str) {
        self.is_v2 = version.to_lowercase().trim_start_matches('v').starts_with('2');
    }

    /// The questions, if all is well with them.
    fn finish(self, read: Result<(), SquadError>) -> Result<Asking, SquadError> {
        let Self { path, needs, has_answers, unanswered, questions, has_data, others, refused, .. } = self;
        let (elsewhere, first_elsewhere) = (self.elsewhere, self.first_elsewhere);
        if let Some(refused) = refused {
            return Err(refused);
        }
        read?;
        if !has_data {
            return Err(SquadError::NoSquad { path: path.to_owned(), found: others.into_iter().collect() });
        }
        if questions.all.is_empty()
            && let Some(first) = first_elsewhere
        {
            return Err(first);
        }
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
        Ok(Asking { questions, elsewhere, first_elsewhere })
    }

    fn missing(&self, place: &SquadPlace, field: &str) -> SquadError {
        SquadError::Missing { path: self.path.to_owned(), place: Box::new(place.clone()), field: field.to_owned() }
    }

    /// Ends reading.
    fn refuse<E: serde::de::Error>(&mut self, why: SquadError) -> E {
        self.refused.get_or_insert(why);
        E::custom("refused")
    }

    /// Takes in a paragraph with its questions.
    fn paragraph(&mut self, place: &mut SquadPlace, text: String, asked: Vec<Asked>) -> Result<(), SquadError> {
        if asked.is_empty() {
            return Ok(());
        }
        let starts = Characters::of(&text);
        for (number, asked) in (1_usize..).zip(asked) {
            place.question = asked.id.0.clone().unwrap_or_else(|| number.to_string());
            self.question(place, asked, &text, &starts)?;
        }
        // A paragraph all of whose questions were left out is nobody's.
        if self.questions.all.last().is_some_and(|last| last.paragraph == self.questions.paragraphs.len()) {
            self.questions.paragraphs.push(Paragraph { text, offsets: Vec::new() });
        }
        Ok(())
    }

    fn question(
        &mut self,
        place: &SquadPlace,
        asked: Asked,
        text: &str,
        starts: &Characters,
    ) -> Result<(), SquadError> {
        let id = asked.id.0.filter(|id| !id.is_empty()).ok_or_else(|| self.missing(place, "id"))?;
        let question = asked.question.filter(|text| !text.trim().is_empty());
        let question = question.ok_or_else(|| self.missing(place, "question"))?;
        // An empty list of a v2.0 file says that there is none, though not alone: those of a test are empty, too.
        let is_empty_list = self.is_v2
            && asked.is_impossible.is_none()
            && asked.answers.as_ref().is_some_and(|answers| answers.0.is_empty());
        let given = asked.answers.map(|answers| answers.0).unwrap_or_default();
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
        let (mut answers, mut first, mut is_elsewhere) = (Vec::with_capacity(given.len()), None, false);
        for (number, Answer { text: answer, answer_start }) in given.into_iter().enumerate() {
            let field = format!("answers[{number}]");
            let answer = answer.filter(|answer| !answer.trim().is_empty());
            let answer = answer.ok_or_else(|| self.missing(place, &format!("{field}.text")))?;
            let start = answer_start.ok_or_else(|| self.missing(place, &format!("{field}.answer_start")))?;
            let at = usize::try_from(start).ok().and_then(|start| starts.begin(start, text));
            let here = at.and_then(|at| text.get(at..)).unwrap_or_default();
            if !here.starts_with(&answer) || at.is_none() {
                let letters = answer.chars().count();
                let found = match at {
                    Some(at) if at < text.len() => format!("`{}`", here.chars().take(letters).collect::<String>()),
                    _ => format!("nothing, for it has {} characters", starts.count),
                };
                if self.first_elsewhere.is_none() {
                    let found = format!("{found}.{}", starts.fits(text, &answer, start));
                    let (path, place) = (self.path.to_owned(), Box::new(place.clone()));
                    let text = answer.clone();
                    let error = SquadError::AnswerElsewhere { path, place, field, text, start, found };
                    if self.strict {
                        return Err(error);
                    }
                    self.first_elsewhere = Some(error);
                }
                self.elsewhere += usize::from(!is_elsewhere);
                is_elsewhere = true;
                if self.leaves_out {
                    return Ok(());
                }
                answers.push(answer);
                continue;
            }
            first = first.or_else(|| Some([at? as u32, (at? + answer.len()) as u32]));
            answers.push(answer);
        }
        let paragraph = self.questions.paragraphs.len();
        self.questions.all.push(Question { id, text: question, paragraph, answers, place: first });
        Ok(())
    }
}

/// Offsets of the characters of a text, kept for every [`Characters::STEP`]th.
struct Characters {
    marks: Vec<usize>,
    count: usize,
}

impl Characters {
    const STEP: usize = 128;

    fn of(text: &str) -> Self {
        let marks = text.char_indices().map(|(at, _)| at).step_by(Self::STEP).collect();
        Self { marks, count: text.chars().count() }
    }

    /// The byte of `text` in which a character begins; that behind the last one ends the text.
    fn begin(&self, character: usize, text: &str) -> Option<usize> {
        if character == self.count {
            return Some(text.len());
        }
        let mark = *self.marks.get(character / Self::STEP)?;
        let (at, _) = text.get(mark..)?.char_indices().nth(character % Self::STEP)?;
        Some(mark + at)
    }

    /// A sentence about where an answer stands that does not begin at character `start` of its paragraph: by which other unit of
    /// offsets it would, or its nearest place.
    fn fits(&self, text: &str, answer: &str, start: i64) -> String {
        let stands_at = |at: usize| text.get(at..).is_some_and(|here| here.starts_with(answer));
        let Ok(offset) = usize::try_from(start) else {
            return format!(" It has {} characters.", self.count);
        };
        if stands_at(offset) {
            return " It stands there where offsets count bytes of UTF-8.".to_owned();
        }
        let mut units = 0;
        let by_units = text.char_indices().find_map(|(at, letter)| {
            let found = (units >= offset).then_some((at, units));
            units += letter.len_utf16();
            found
        });
        if by_units.is_some_and(|(at, units)| units == offset && stands_at(at)) {
            return " It stands there where offsets count units of UTF-16.".to_owned();
        }
        let (mut before, mut characters, mut nearest) = (0, 0_usize, None);
        for (at, _) in text.match_indices(answer) {
            characters += text.get(before..at).map_or(0, |part| part.chars().count());
            before = at;
            let is_nearer = |known: &usize| characters.abs_diff(offset) < known.abs_diff(offset);
            if nearest.as_ref().is_none_or(is_nearer) {
                nearest = Some(characters);
            }
        }
        match nearest {
            Some(place) => format!(" It stands at character {place}."),
            None => " It stands nowhere in it.".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};
    use tempfile::TempDir;

    use super::*;
    use crate::Silent;

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
        parse(text, Path::new("a.json"), Needs::Answers, true).map(|found| found.questions)
    }

    /// The first or the last of them would be lost without a word.
    #[test]
    fn a_key_that_stands_twice_is_refused() {
        let once = file("1.1", &asked("{\"text\": \"saw\", \"answer_start\": 4}", ""));
        assert!(read(&once).is_ok());
        for (key, value) in [("context", "\"I.\""), ("qas", "[]"), ("paragraphs", "[]"), ("question", "\"Where?\"")] {
            let twice = once.replacen(&format!("\"{key}\": "), &format!("\"{key}\": {value}, \"{key}\": "), 1);
            let why = read(&twice).unwrap_err().to_string();
            assert!(why.contains("duplicate field") && why.contains(key), "{why}");
        }
    }

    /// Texts of a few bytes took 220 times as much.
    #[test]
    fn what_says_nothing_is_not_kept() {
        for hollow in ["{\"data\": [REST]}", "{\"data\": [{\"paragraphs\": [REST]}]}", "{\"x\": [REST], \"data\": []}"]
        {
            let text = hollow.replace("REST", &"{},".repeat(100_000)).replace(",]", "]");
            assert!(read(&text).is_err());
        }
        let answers = file("1.1", &asked("{},".repeat(100_000).trim_end_matches(','), ""));
        assert!(read(&answers).unwrap_err().to_string().contains("`answers[0].text`"));
        // Names behind what they are of, and a version behind both.
        let text = format!(
            "{{\"data\": [{{\"paragraphs\": [{{\"qas\": [{}], \"context\": \"I saw.\"}}], \"title\": \"T\"}}], \"version\": \"v2.0\"}}",
            asked("", "")
        );
        let found = parse(&text, Path::new("a.json"), Needs::Questions, false).unwrap().questions;
        assert_eq!((found.all.len(), found.may_lack_answers), (1, true));
        let long = "\u{eb}".repeat(1000);
        let places = Characters::of(&long);
        assert_eq!([0, 127, 128, 999, 1000].map(|at| places.begin(at, &long)), [0, 254, 256, 1998, 2000].map(Some));
        assert_eq!(places.begin(1001, &long), None);
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
    fn questions_whose_answers_stand_elsewhere_are_left_out_and_counted() {
        let answer = |id: &str, text: &str, start: usize| {
            format!(
                "{{\"id\": {id}, \"question\": \"Who?\", \"answers\": [{{\"text\": \"{text}\", \"answer_start\": {start}}}]}}"
            )
        };
        // An id may be a number. ë has two bytes, the clef four and two units of UTF-16.
        let qas = [answer("7", "saw", 4), answer("8", "twice", 14), answer("\"c\"", "saw", 5)].join(", ");
        let load = |strict| parse(&file("1.1", &qas), Path::new("a.json"), Needs::Answers, strict);
        let found = load(false).unwrap();
        let ids: Vec<&str> = found.questions.all.iter().map(|question| question.id.as_str()).collect();
        assert_eq!((ids.as_slice(), found.questions.paragraphs.len(), found.elsewhere), (&["7"][..], 1, 2));
        let told = found.warning().unwrap();
        let wanted = ["2 questions were left out", "question 8", "`twice`", "bytes of UTF-8", "a.json"];
        assert!(wanted.iter().all(|part| told.contains(part)), "{told}");
        assert!(load(true).unwrap_err().to_string().contains("bytes of UTF-8"));
        for (text, start, wanted) in [
            ("twice", 11, "units of UTF-16"),
            ("saw", 6, "It stands at character 4."),
            ("never", 5, "It stands nowhere in it."),
        ] {
            let text = file("1.1", &answer("1", text, start));
            let told = parse(&text, Path::new("a.json"), Needs::Answers, false).unwrap_err().to_string();
            assert!(told.contains(wanted), "{told}");
        }
        // Where it is asked for its answer, what is said of it does not matter.
        let asked = parse(&file("1.1", &qas), Path::new("a.json"), Needs::Questions, false).unwrap();
        assert_eq!((asked.questions.all.len(), asked.questions.all[1].place), (3, None));
    }

    #[test]
    fn gzipped_files_are_read_and_others_refused_by_their_ending() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a.json.gz");
        let mut packed = GzEncoder::new(std::fs::File::create(&path).unwrap(), Compression::fast());
        let text = file("1.1", &asked("{\"text\": \"saw\", \"answer_start\": 4}", ""));
        packed.write_all(text.as_bytes()).unwrap();
        packed.finish().unwrap();
        let load = |path: &Path| load_questions(path, Needs::Answers, false, &Silent).map(|found| found.questions);
        assert_eq!(load(&path).unwrap().all.len(), 1);
        probe_questions(&path, true).unwrap();
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
        let alone =
            parse(&file("1.1", &asked("", "")), Path::new("a.json"), Needs::Questions, false).unwrap().questions;
        assert!(alone.all[0].answers.is_empty() && !alone.may_lack_answers);
    }
}
