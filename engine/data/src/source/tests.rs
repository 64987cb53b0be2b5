use tempfile::TempDir;

use super::*;
use crate::config::{
    ByteTokenizer, Column, ListOpsSource, NumberWordsSource, PairsSource, SquadSource, TableSource, Tokenizer,
};
use crate::{ExamplesPreview, PreviewAnswers, Silent, TablePreview};

fn look_at_table(content: &str, change: impl FnOnce(&mut DataConfig), objective: &Objective) -> TablePreview {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.tsv");
    std::fs::write(&path, content).unwrap();
    let source = Source::Table(TableSource { path, text: vec![Column::named("text")], ..TableSource::default() });
    let tokenizer = Tokenizer::Bytes(ByteTokenizer {});
    let mut config = DataConfig { source, tokenizer, sequence_length: 8, ..DataConfig::default() };
    change(&mut config);
    preview(&config, objective, &Reading::default()).unwrap().unwrap().table().unwrap().clone()
}

#[test]
fn labels_are_counted_and_rows_of_different_ones_are_shown() {
    let rows = "text\tlabel\none\t10\ntwo\t10\nthree\t9\n\t9\nfour is long\t10\n";
    let found = look_at_table(rows, |_| (), &Objective::CLASSIFICATION);
    assert_eq!(found.columns, [("text".to_owned(), "one".to_owned()), ("label".to_owned(), "10".to_owned())]);
    assert_eq!((found.rows, found.without_text, found.is_whole), (4, 1, true));
    assert_eq!(found.answers, PreviewAnswers::Classes(vec![("9".to_owned(), 1), ("10".to_owned(), 3)]));
    let shown: Vec<(&str, &str)> =
        found.examples.iter().map(|one| (one.texts[0].as_str(), one.label.as_str())).collect();
    assert_eq!(shown, [("one", "10"), ("two", "10"), ("three", "9")]);
    let tokens = found.examples[0].tokens.as_ref().unwrap();
    assert_eq!(tokens, &["[CLS]", "o", "n", "e", "[SEP]"]);
}

#[test]
fn columns_are_proposed_by_their_names_and_else_by_what_stands_in_them() {
    let proposed = |content: &str| {
        let found = look_at_table(content, |_| (), &Objective::CLASSIFICATION);
        let (text, label) = found.proposal().unwrap();
        (text.0, label.0, found.has_names())
    };
    let of = |text: &str, label: &str, named: bool| (text.to_owned(), label.to_owned(), named);
    assert_eq!(proposed("id\tSentence\tlabel\n7\tgood\t1\n"), of("Sentence", "label", true));
    assert_eq!(proposed("id\tstory\tverdict\n7\tlong ago\tgood\n"), of("story", "verdict", true));
    assert_eq!(proposed("kind\tstory\nA\tlong ago it was\n"), of("story", "kind", true));
    // CoLA: source, label, mark of the author, sentence, without names.
    assert_eq!(proposed("gj04\t1\t\tOur friends won't buy this analysis.\n"), of("3", "1", false));
    assert_eq!(look_at_table("only\nshort\n", |_| (), &Objective::CLASSIFICATION).proposal(), None);
}

#[test]
fn what_does_not_fit_is_counted() {
    let found = look_at_table("text\tlabel\n0123456789\ta\nb\tb\n", |_| (), &Objective::CLASSIFICATION);
    assert_eq!((found.examples[0].tokens.as_ref().unwrap().len(), found.examples[0].cut_off), (8, 4));
}

#[test]
fn numbers_have_a_range_and_columns_that_are_not_there_leave_the_others() {
    let found = look_at_table("text\tlabel\na\t1\nb\t2.5\n", |_| (), &Objective::REGRESSION);
    assert_eq!(found.answers, PreviewAnswers::Numbers { least: 1.0, most: 2.5, mean: 1.75 });
    let found = look_at_table("sentence\tlabel\na\t1\n", |_| (), &Objective::CLASSIFICATION);
    assert_eq!((found.columns.len(), found.rows, &found.answers), (2, 0, &PreviewAnswers::Unknown));
    let many = (0..201).map(|label| format!("x\tl{label}")).collect::<Vec<_>>().join("\n");
    let found = look_at_table(&format!("text\tlabel\n{many}"), |_| (), &Objective::CLASSIFICATION);
    assert_eq!(found.answers, PreviewAnswers::Many(201));
}

fn look(source: Source, objective: &Objective) -> Option<ExamplesPreview> {
    let tokenizer = Tokenizer::Bytes(ByteTokenizer {});
    let config = DataConfig { source, tokenizer, sequence_length: 32, ..DataConfig::default() };
    preview(&config, objective, &Reading::default()).unwrap().and_then(|found| found.examples().cloned())
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
    assert_eq!(answered.texts[1], format!("…{}Ann{}…", "x".repeat(120), "y".repeat(120)));
    assert!(answered.tokens.as_ref().is_some_and(|tokens| tokens.len() == 32 && tokens[1..5] == ["W", "h", "o", "?"]));
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
    assert!(preview(&config, &Objective::SPAN, &Reading::default()).is_err());
}

#[test]
fn pairs_stand_beside_their_translations() {
    let folder = TempDir::new().unwrap();
    let paths = ["a.en", "a.de"].map(|name| folder.path().join(name));
    std::fs::write(&paths[0], "one\ntwo\n").unwrap();
    std::fs::write(&paths[1], "eins\nzwei\n").unwrap();
    let [source, target] = paths.map(Some);
    let found = look(Source::Pairs(PairsSource { source, target, ..PairsSource::default() }), &Objective::TRANSLATION);
    let found = found.unwrap();
    let shown: Vec<(&str, &str)> =
        found.examples.iter().map(|one| (one.texts[0].as_str(), one.label.as_str())).collect();
    assert_eq!((found.about.as_str(), shown.as_slice()), ("2 pairs", &[("one", "eins"), ("two", "zwei")][..]));
    assert_eq!(look(Source::Pairs(PairsSource::default()), &Objective::TRANSLATION), None, "nothing is named");
    let words = NumberWordsSource { pairs: 5000, text_seed: 7 };
    let generated = look(Source::NumberWords(words.clone()), &Objective::TRANSLATION).unwrap();
    assert_eq!((generated.about.as_str(), generated.examples.len()), ("The first of 5,000 pairs", 3));
    let all = all_pairs(&Source::NumberWords(words), Path::new(""), &Silent).unwrap();
    assert_eq!(Some(generated.examples[2].label.as_str()), all.get(5), "those that are trained on");
}

#[test]
fn expressions_are_those_that_are_trained_on() {
    let source = ListOpsSource { min_length: 5, max_length: 60, examples: 100, ..ListOpsSource::default() };
    let found = look(Source::ListOps(source.clone()), &Objective::CLASSIFICATION).unwrap();
    assert_eq!(found.examples.len(), 3);
    let all = {
        let (objective, reading) = (&Objective::CLASSIFICATION, &Reading::default());
        let context = LoadContext { objective, reading, base_dir: Path::new(""), progress: &Silent };
        let found = reader(&Source::ListOps(source.clone())).split(0.1, context).unwrap();
        found.content.training_texts().unwrap().clone()
    };
    for (place, example) in found.examples.iter().enumerate() {
        assert_eq!(Some(example.texts[0].as_str()), all.get(place));
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
    assert!(preview(&config, &Objective::CLASSIFICATION, &Reading::default()).is_err());
}
