//! Some examples of data that is no table, as a model will see them, before anything is trained on it: questions about
//! paragraphs, texts with their translations, expressions.

use serde::{Deserialize, Serialize};

use super::file::{PairFiles, pairs_beginning, questions_beginning};
use super::listops::first_expressions;
use super::number_words::first_number_words;
use super::seen::{PreviewExample, brief, known_tokenizer, seen};
use super::tokenizer::symbols;
use super::{DataError, Documents};
use crate::config::{DataConfig, ListOpsSource, Source, counted};
use crate::objective::{Objective, Questions};

/// Examples that are shown.
const SHOWN: usize = 3;
/// Articles of a file of questions that are read: some hundred questions.
const ARTICLES: usize = 3;
/// Letters of a paragraph that are shown to either side of an answer.
const AROUND: usize = 120;

/// The beginning of data that is no table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExamplesPreview {
    /// What was looked at, in words: "The first 269 questions on 55 paragraphs".
    pub about: String,
    /// Some examples. Texts of a question: it and its paragraph, around the answer; the label is the answer. Text of a
    /// pair: the source; the label is its translation.
    pub examples: Vec<PreviewExample>,
}

/// Looks at the beginning of the data of a config with absolute paths; nothing where it is a table, plain text or images, or
/// no file is named.
///
/// # Errors
/// If it cannot be read.
pub(super) fn preview_examples(
    config: &DataConfig,
    objective: &Objective,
) -> Result<Option<ExamplesPreview>, DataError> {
    Ok(match &config.source {
        Source::Squad(squad) if !squad.path.as_os_str().is_empty() => {
            let (found, is_whole) = questions_beginning(&squad.path, ARTICLES, squad.strict)?;
            let mut seen = of_questions(&found.questions, is_whole, config, objective);
            if let Some(warning) = found.warning() {
                seen.about += &[". ", warning.trim_end_matches('.')].concat();
            }
            Some(seen)
        }
        Source::Pairs(pairs) => match PairFiles::of(pairs, std::path::Path::new("")).0 {
            Some(files) if files.paths().iter().all(|path| !path.as_os_str().is_empty()) => {
                let (found, is_whole) = pairs_beginning(&files)?;
                let count = counted((found.len() / 2) as u64, "pair");
                Some(of_pairs(&found, if is_whole { count } else { format!("The first {count}") }))
            }
            Some(_) | None => None,
        },
        Source::NumberWords(words) => {
            let found = first_number_words(SHOWN, words.text_seed);
            Some(of_pairs(&found, format!("The first of {}", counted(words.pairs as u64, "pair"))))
        }
        // A number that is half typed is told by the config's own problems.
        Source::ListOps(source) if source.is_sound() => Some(of_expressions(source, config, objective)?),
        Source::Table(_)
        | Source::File(_)
        | Source::Grammar(_)
        | Source::Random(_)
        | Source::Squad(_)
        | Source::ListOps(_)
        | Source::Images(_)
        | Source::Pathfinder(_) => None,
    })
}

fn of_pairs(found: &Documents, about: String) -> ExamplesPreview {
    let text = |place: usize| found.get(place).map(brief).unwrap_or_default();
    let pair = |number: usize| PreviewExample {
        texts: vec![text(2 * number)],
        label: text(2 * number + 1),
        tokens: None,
        cut_off: 0,
    };
    ExamplesPreview { about, examples: (0..SHOWN.min(found.len() / 2)).map(pair).collect() }
}

fn of_expressions(
    source: &ListOpsSource,
    config: &DataConfig,
    objective: &Objective,
) -> Result<ExamplesPreview, DataError> {
    let tokenizer = symbols(objective.special_tokens(), &ListOpsSource::SYMBOLS)?;
    let example = |(text, value): (String, u8)| {
        let (tokens, cut_off) = seen(Some(&tokenizer), &[&text], config.sequence_length);
        PreviewExample { texts: vec![brief(&text)], label: value.to_string(), tokens, cut_off }
    };
    let examples = first_expressions(source, SHOWN)?.into_iter().map(example).collect();
    let all = counted((source.examples + source.validation_examples) as u64, "expression");
    Ok(ExamplesPreview { about: format!("The first of {all}; classes are the ten digits"), examples })
}

fn of_questions(found: &Questions, is_whole: bool, config: &DataConfig, objective: &Objective) -> ExamplesPreview {
    let questions = counted(found.all.len() as u64, "question");
    let paragraphs = counted(found.paragraphs.len() as u64, "paragraph");
    let unanswered = found.all.iter().filter(|question| question.answers.is_empty()).count() as u64;
    let first = if is_whole { "" } else { "The first " };
    let mut about = format!("{first}{questions} on {paragraphs}");
    if unanswered > 0 {
        about += &[", ", &unanswered.to_string(), " without an answer"].concat();
    }
    let tokenizer = known_tokenizer(&config.tokenizer, objective);
    let examples = chosen(found).into_iter().filter_map(|place| {
        let question = found.all.get(place)?;
        let paragraph = &found.paragraphs.get(question.paragraph)?.text;
        let (tokens, cut_off) = seen(tokenizer.as_ref(), &[&question.text, paragraph], config.sequence_length);
        let label = question.answers.first().map_or_else(|| "no answer".to_owned(), |answer| brief(answer));
        let texts = vec![brief(&question.text), around(paragraph, question.place)];
        Some(PreviewExample { texts, label, tokens, cut_off })
    });
    ExamplesPreview { about, examples: examples.collect() }
}

/// The first questions, one that has no answer among them where there is one, about different paragraphs where there are some.
fn chosen(found: &Questions) -> Vec<usize> {
    let of = |place: usize| found.all.get(place);
    let unanswered = found.all.iter().position(|question| question.answers.is_empty());
    let mut chosen: Vec<usize> = unanswered.into_iter().collect();
    for is_other in [true, false] {
        for place in 0..found.all.len() {
            let is_of_other =
                || chosen.iter().all(|own| of(*own).map(|q| q.paragraph) != of(place).map(|q| q.paragraph));
            if chosen.len() < SHOWN && !chosen.contains(&place) && (!is_other || is_of_other()) {
                chosen.push(place);
            }
        }
    }
    chosen.sort_unstable();
    chosen
}

/// The paragraph around a place in it, in bytes.
fn around(paragraph: &str, place: Option<[u32; 2]>) -> String {
    let [start, end] = place.unwrap_or_default().map(|at| at as usize);
    let (before, rest) = paragraph.split_at_checked(start).unwrap_or(("", paragraph));
    let (answer, after) = rest.split_at_checked(end.saturating_sub(start)).unwrap_or(("", rest));
    let skipped = before.chars().count().saturating_sub(AROUND);
    let before: String = before.chars().skip(skipped).collect();
    let kept: String = after.chars().take(if place.is_some() { AROUND } else { 2 * AROUND }).collect();
    let more = if kept.len() < after.len() { "…" } else { "" };
    format!("{}{before}{answer}{kept}{more}", if skipped > 0 { "…" } else { "" })
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::config::{ByteTokenizer, NumberWordsSource, PairsSource, SquadSource, Tokenizer};

    fn look(source: Source, objective: &Objective) -> Option<ExamplesPreview> {
        let tokenizer = Tokenizer::Bytes(ByteTokenizer {});
        let config = DataConfig { source, tokenizer, sequence_length: 32, ..DataConfig::default() };
        preview_examples(&config, objective).unwrap()
    }

    fn article(title: usize, questions: usize) -> serde_json::Value {
        let asked = |number: usize| {
            serde_json::json!({ "id": format!("{title}.{number}"), "question": "Who?", "is_impossible": number == 1,
                "answers": if number == 1 { Vec::new() } else {
                    vec![serde_json::json!({ "text": "Ann", "answer_start": 200 })]
                } })
        };
        let context = format!("{}Ann{}", "x".repeat(200), "y".repeat(400));
        let asked: Vec<_> = (0..questions).map(asked).collect();
        serde_json::json!({ "title": title.to_string(), "paragraphs": [{ "context": context, "qas": asked }] })
    }

    #[test]
    fn questions_are_shown_with_their_paragraphs_around_the_answers() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("train.json");
        let squad = |articles: usize| {
            let data: Vec<_> = (0..articles).map(|title| article(title, 3)).collect();
            std::fs::write(&path, serde_json::json!({ "data": data, "version": "v2.0" }).to_string()).unwrap();
            look(Source::Squad(SquadSource { path: path.clone(), ..SquadSource::default() }), &Objective::SPAN).unwrap()
        };
        let few = squad(2);
        assert_eq!(few.about, "6 questions on 2 paragraphs, 2 without an answer");
        let labels: Vec<&str> = few.examples.iter().map(|example| example.label.as_str()).collect();
        assert_eq!(labels, ["Ann", "no answer", "Ann"], "{few:#?}");
        let answered = &few.examples[0];
        assert_eq!(answered.texts[0], "Who?");
        assert_eq!(answered.texts[1], format!("…{}Ann{}…", "x".repeat(AROUND), "y".repeat(AROUND)));
        assert!(
            answered.tokens.as_ref().is_some_and(|tokens| tokens.len() == 32 && tokens[1..5] == ["W", "h", "o", "?"])
        );
        assert!(answered.cut_off > 500);
        // Of many articles only the first are read, wherever the version stands and whatever comes behind them.
        let many = squad(50);
        assert_eq!(many.about, "The first 9 questions on 3 paragraphs, 3 without an answer");
        let cut: String = std::fs::read_to_string(&path).unwrap().chars().take(6000).collect();
        std::fs::write(&path, cut).unwrap();
        let source = Source::Squad(SquadSource { path: path.clone(), ..SquadSource::default() });
        assert_eq!(look(source, &Objective::SPAN).unwrap().examples.len(), 3, "what is wrong behind is told elsewhere");
        std::fs::write(&path, "{\"data\": [").unwrap();
        let source = Source::Squad(SquadSource { path, ..SquadSource::default() });
        let config = DataConfig { source, ..DataConfig::default() };
        assert!(preview_examples(&config, &Objective::SPAN).is_err());
    }

    #[test]
    fn pairs_stand_beside_their_translations() {
        let folder = TempDir::new().unwrap();
        let paths = ["a.en", "a.de"].map(|name| folder.path().join(name));
        std::fs::write(&paths[0], "one\ntwo\n").unwrap();
        std::fs::write(&paths[1], "eins\nzwei\n").unwrap();
        let [source, target] = paths.map(Some);
        let found =
            look(Source::Pairs(PairsSource { source, target, ..PairsSource::default() }), &Objective::TRANSLATION);
        let found = found.unwrap();
        let shown: Vec<(&str, &str)> =
            found.examples.iter().map(|one| (one.texts[0].as_str(), one.label.as_str())).collect();
        assert_eq!((found.about.as_str(), shown.as_slice()), ("2 pairs", &[("one", "eins"), ("two", "zwei")][..]));
        assert_eq!(look(Source::Pairs(PairsSource::default()), &Objective::TRANSLATION), None, "nothing is named");
        let words = NumberWordsSource { pairs: 5000, text_seed: 7 };
        let generated = look(Source::NumberWords(words.clone()), &Objective::TRANSLATION).unwrap();
        assert_eq!((generated.about.as_str(), generated.examples.len()), ("The first of 5,000 pairs", 3));
        let all = super::super::number_words::all_number_words(5, words.text_seed, &super::super::Silent).unwrap();
        assert_eq!(Some(generated.examples[2].label.as_str()), all.get(5), "those that are trained on");
    }

    #[test]
    fn expressions_are_those_that_are_trained_on() {
        let source = ListOpsSource { min_length: 5, max_length: 60, examples: 100, ..ListOpsSource::default() };
        let found = look(Source::ListOps(source.clone()), &Objective::CLASSIFICATION).unwrap();
        assert_eq!(found.examples.len(), 3);
        let all = super::super::listops::generate_listops(&source, &super::super::Silent).unwrap();
        for (place, example) in found.examples.iter().enumerate() {
            assert_eq!(Some(example.texts[0].as_str()), all.texts.train.get(place));
            let tokens = example.tokens.as_ref().unwrap();
            assert!(tokens[0] == "[CLS]" && tokens.len() <= 32, "{tokens:?}");
        }
        for unsound in [
            ListOpsSource { max_args: 0, ..source.clone() },
            ListOpsSource { max_args: 1, ..source.clone() },
            ListOpsSource { max_length: 6, ..source.clone() },
            ListOpsSource { max_length: usize::MAX, ..source.clone() },
            ListOpsSource { examples: usize::MAX, ..source.clone() },
            ListOpsSource { max_depth: usize::MAX, ..source.clone() },
        ] {
            assert_eq!(look(Source::ListOps(unsound.clone()), &Objective::CLASSIFICATION), None, "{unsound:?}");
        }
        let rare = ListOpsSource { min_length: 1990, max_length: 2000, max_depth: 2, max_args: 2, ..source };
        let config = DataConfig { source: Source::ListOps(rare), ..DataConfig::default() };
        assert!(preview_examples(&config, &Objective::CLASSIFICATION).is_err());
    }
}
