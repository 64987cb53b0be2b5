use std::collections::{HashMap, HashSet};

use super::{Grammar, generate_grammar};
use crate::{DataError, Documents, Progress, Silent, Stage, generate_random};

const ENGLISH: &str = include_str!("../../../../assets/grammar/english.toml");

fn grammar(words: usize, seed: u64) -> Documents {
    generate_grammar(words, seed, &Silent).unwrap()
}

/// Words and punctuation marks.
fn tokens(text: &str) -> Vec<String> {
    text.replace(',', " ,").replace('.', " .").replace('?', " ?").split_whitespace().map(str::to_owned).collect()
}

fn is_word(token: &str) -> bool {
    token.starts_with(char::is_alphabetic)
}

#[test]
fn the_seed_decides_and_longer_text_begins_with_the_shorter() {
    let text = grammar(5000, 1);
    assert_eq!(text, grammar(5000, 1));
    assert_ne!(text, grammar(5000, 2));
    let longer = grammar(8000, 1);
    assert!(longer.iter().zip(text.iter()).all(|(long, short)| long == short));
    let words = text.iter().flat_map(tokens).filter(|token| is_word(token)).count();
    assert!((5000..5400).contains(&words), "{words}");
}

#[test]
fn the_vocabulary_has_several_hundred_words() {
    let words: HashSet<String> = grammar(100_000, 1).iter().flat_map(tokens).map(|word| word.to_lowercase()).collect();
    assert!((600..1500).contains(&words.len()), "{}", words.len());
}

#[test]
fn sentences_begin_with_a_capital_and_end_with_a_mark() {
    for document in grammar(3000, 4).iter() {
        assert!(document.starts_with(char::is_uppercase), "{document}");
        assert!(document.ends_with(['.', '?']), "{document}");
        assert!(!document.contains("  ") && !document.contains(" ,") && !document.contains(" ."), "{document}");
    }
}

#[test]
fn the_control_has_the_frequencies_and_lengths_of_the_grammar() {
    let (text, control) = (grammar(60_000, 5), generate_random(60_000, 5, &Silent).unwrap());
    assert_eq!(control, generate_random(60_000, 5, &Silent).unwrap());
    let count = |documents: &Documents| {
        let mut counts: HashMap<String, f64> = HashMap::new();
        for token in documents.iter().flat_map(tokens) {
            *counts.entry(token).or_default() += 1.0;
        }
        counts
    };
    // A document that begins with a mark, or has several in a row, is cut the same way here.
    let lengths = |documents: &Documents| documents.iter().map(|text| tokens(text).len()).collect::<Vec<_>>();
    assert_eq!(lengths(&text), lengths(&control));
    let (expected, found) = (count(&text), count(&control));
    assert!(found.keys().all(|token| expected.contains_key(token)));
    // Pearson's statistic over the frequent tokens: its mean is the degrees of freedom, its variance twice that.
    let frequent: Vec<(&String, &f64)> = expected.iter().filter(|(_, count)| **count >= 10.0).collect();
    let statistic: f64 = frequent
        .iter()
        .map(|(token, count)| (found.get(*token).copied().unwrap_or(0.0) - **count).powi(2) / **count)
        .sum();
    let freedom = frequent.len() as f64;
    assert!(freedom > 400.0, "{freedom}");
    assert!((statistic - freedom).abs() < 6.0 * (2.0 * freedom).sqrt(), "{statistic} for {freedom}");
    // And no order: in the grammar "the" never follows "the".
    let pairs = |documents: &Documents| documents.iter().filter(|text| text.contains(" the the ")).count();
    assert_eq!(pairs(&text), 0);
    assert!(pairs(&control) > 0);
}

#[test]
fn a_broken_grammar_is_explained() {
    let check = |from: &str, to: &str, expected: &str| {
        assert!(ENGLISH.contains(from));
        let error = Grammar::from_toml(&ENGLISH.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check("subject:s predicate:s", "subject:s predikate:s", "no rule or word class `predikate`");
    check("@animate iverb:n", "@animated iverb:n", "no guard `@animated`");
    check("\"46 clause", "\"many clause", "weight above 0");
    check("king kings", "king", "should have 2 forms");
    check("iverb:n place", "iverb place", "needs a variable");
    check("[limits]", "[limit]", "limit");
}

#[test]
fn a_stop_ends_generation() {
    struct Stopped;
    impl Progress for Stopped {
        fn report(&self, _: Stage, _: f32) {}
        fn is_stopped(&self) -> bool {
            true
        }
    }
    assert!(matches!(generate_grammar(1000, 1, &Stopped), Err(DataError::Stopped)));
    assert!(matches!(generate_random(1000, 1, &Stopped), Err(DataError::Stopped)));
}
