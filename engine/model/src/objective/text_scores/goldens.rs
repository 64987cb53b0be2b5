//! Scores of texts against `tests/golden/metrics.json`, which an independent implementation made.

use std::path::PathBuf;

use serde_json::Value;

use super::{BleuOptions, BleuSums, Rouge, RougeScore, RougeSums, Words, split_compounds};

const TOLERANCE: f64 = 1e-9;

fn golden() -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/metrics.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn near(found: f64, expected: &Value, what: &str) {
    let expected = expected.as_f64().unwrap();
    assert!((found - expected).abs() <= TOLERANCE, "{what}: {found} instead of {expected}");
}

fn check(sums: &BleuSums, expected: &Value, what: &str) {
    let bleu = sums.bleu();
    near(bleu.score, &expected["score"], what);
    near(bleu.brevity_penalty, &expected["brevity_penalty"], what);
    let counts = |name: &str| -> Vec<u64> { serde_json::from_value(expected[name].clone()).unwrap() };
    assert_eq!(sums.matches.to_vec(), counts("counts"), "{what}");
    assert_eq!(sums.totals.to_vec(), counts("totals"), "{what}");
    for (found, expected) in bleu.precisions.iter().zip(expected["precisions"].as_array().unwrap()) {
        near(*found, expected, what);
    }
    let words = [sums.hypothesis_words, sums.reference_words];
    assert_eq!(words, [&expected["sys_len"], &expected["ref_len"]].map(|count| count.as_u64().unwrap()), "{what}");
}

#[test]
fn bleu_is_that_of_the_goldens() {
    let golden = golden();
    let sentences = golden["sentences"].as_array().unwrap();
    let text = |sentence: &'static str, of: &Value| of[sentence].as_str().unwrap().to_owned();
    let usual = BleuOptions::default();
    let spaced = BleuOptions { words: Words::WhiteSpace, ..usual };
    let cases = [
        ("default_13a", usual, usize::MAX, false),
        ("lowercase_13a", BleuOptions { lowercase: true, ..usual }, usize::MAX, false),
        ("tokenize_none", spaced, usize::MAX, false),
        ("compound_split_none", BleuOptions { splits_compounds: true, ..spaced }, usize::MAX, false),
        ("two_references_13a", usual, usize::MAX, true),
        ("first_ten_13a", usual, 10, false),
    ];
    for (name, options, count, has_two) in cases {
        let mut sums = BleuSums::default();
        for sentence in sentences.iter().take(count) {
            let [hypothesis, one, two] = ["hyp", "ref", "ref2"].map(|key| text(key, sentence));
            let references = [one.as_str(), two.as_str()];
            sums.add(&hypothesis, if has_two { &references } else { &references[..1] }, &options);
        }
        check(&sums, &golden["bleu"][name], name);
    }
    for name in ["short_case", "smoothed_case", "empty_case"] {
        let case = &golden["bleu"][name];
        let mut sums = BleuSums::default();
        sums.add(&text("hyp", case), &[&text("ref", case)], &usual);
        check(&sums, if case["result"].is_null() { case } else { &case["result"] }, name);
    }
    for example in golden["compound_split_examples"].as_array().unwrap() {
        assert_eq!(split_compounds(&text("text", example)), text("out", example));
    }
}

/// `tests/golden/bleu_tokenizers.json`, which `tests/python/bleu_tokenizers.py` made with `sacreBLEU`.
#[test]
fn words_of_every_tokenizer_are_those_of_sacrebleu() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/bleu_tokenizers.json");
    let golden: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let texts = |key: &str| -> Vec<String> { serde_json::from_value(golden[key].clone()).unwrap() };
    let (hypotheses, references) = (texts("texts"), texts("references"));
    for name in ["13a", "intl", "zh", "char"] {
        let words: Words = name.parse().unwrap();
        let expected: Vec<Vec<String>> = serde_json::from_value(golden["words"][name].clone()).unwrap();
        let mut sums = BleuSums::default();
        for ((text, reference), expected) in hypotheses.iter().zip(&references).zip(&expected) {
            assert_eq!(words.of(text), *expected, "{name}: {text:?}");
            sums.add(text, &[reference], &BleuOptions { words, ..BleuOptions::default() });
        }
        near(sums.bleu().score, &golden["bleu"][name], name);
    }
}

#[test]
fn rouge_is_that_of_the_goldens() {
    let golden = golden();
    let sentences = golden["sentences"].as_array().unwrap();
    let compare = |found: RougeScore, expected: &Value, what: &str| {
        for (found, expected) in [found.precision, found.recall, found.f].into_iter().zip(expected.as_array().unwrap())
        {
            near(found, expected, what);
        }
    };
    let all = |found: Rouge, expected: &Value, what: &str| {
        let kinds = [
            ("rouge1", found.rouge_1),
            ("rouge2", found.rouge_2),
            ("rougeL", found.rouge_l),
            ("rougeLsum", found.rouge_l_sum),
        ];
        for (kind, found) in kinds {
            compare(found, &expected[kind], &format!("{what} {kind}"));
        }
    };
    for (name, stems) in [("no_stemmer", false), ("stemmer", true)] {
        let expected = &golden["rouge"][name];
        let mut sums = RougeSums::default();
        for (number, sentence) in sentences.iter().enumerate() {
            let found = Rouge::of(sentence["hyp"].as_str().unwrap(), sentence["ref"].as_str().unwrap(), stems);
            all(found, &expected["per_pair"][number], &format!("{name} {number}"));
            sums.add(&found);
        }
        all(sums.mean(), &expected["mean"], name);
    }
}
