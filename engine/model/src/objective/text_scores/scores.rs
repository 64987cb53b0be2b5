use serde::{Deserialize, Serialize};

use super::{BleuOptions, BleuSums, ChrfSums, ExactMatches, Rouge, RougeSums, Words, tokenize::is_ideograph_or_kana};
use crate::config::{counted, grouped};
use crate::objective::{Direction, Measurements, Metric, Quantity};

const fn score(series: &'static str, title: &'static str, phrase: &'static str, formula: &'static str) -> Metric {
    Metric {
        series,
        title,
        phrase,
        unit: "",
        quantity: Quantity::Number,
        direction: Direction::Higher,
        formula,
        of_sums: None,
        of_examples: None,
    }
}

/// How good texts are that were written, each against one reference; all from 0 to 100.
pub const TEXT_SCORES: &[Metric] = &[
    score(
        "translation/bleu",
        "BLEU",
        "BLEU {}",
        "100 x brevity penalty x geometric mean of the shares of 1- to 4-grams that the references have too; words as \
         mteval-v13a cuts them",
    ),
    score("translation/chrf", "chrF", "chrF {}", "100 x F-score (recall counts twice) of 1- to 6-grams of characters"),
    score("translation/rouge_1", "ROUGE-1", "ROUGE-1 {}", "100 x mean F-score of words, without stemming"),
    score("translation/rouge_2", "ROUGE-2", "ROUGE-2 {}", "100 x mean F-score of pairs of neighbouring words"),
    score(
        "translation/rouge_l",
        "ROUGE-L",
        "ROUGE-L {}",
        "100 x mean F-score of the longest common subsequence of words",
    ),
    score(
        "translation/exact_match",
        "Exact match",
        "exact match {} %",
        "100 x texts that equal their reference / texts",
    ),
];

/// Everything that [`TEXT_SCORES`] are computed from, summed over texts.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextScores {
    bleu: BleuSums,
    chrf: ChrfSums,
    rouge: RougeSums,
    equal: ExactMatches,
    words: Words,
    unscored: UnscoredReferences,
}

/// References that some scores say nothing of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UnscoredReferences {
    /// References without a Latin letter or a digit, of which ROUGE knows no word: it is 0 for them whatever was written.
    pub without_latin: u64,
    /// References in Chinese or Japanese whose sentences are single words for BLEU.
    pub uncut: u64,
}

impl UnscoredReferences {
    /// Counts a reference whose words are cut so for BLEU.
    pub fn add(&mut self, reference: &str, words: Words) {
        let has_latin = reference.to_lowercase().contains(|letter: char| letter.is_ascii_alphanumeric());
        self.without_latin += u64::from(!has_latin && !reference.trim().is_empty());
        self.uncut += u64::from(words.joins_ideographs() && reference.contains(is_ideograph_or_kana));
    }

    /// True where all scores mean something for every reference.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Warnings for so many references, cut so for BLEU.
    pub fn warnings(self, references: u64, words: Words) -> Vec<String> {
        let of = |count: u64| format!("{} of {}", grouped(count), counted(references, "reference"));
        let mut told = Vec::new();
        if self.without_latin > 0 {
            told.push(format!(
                "{} without a Latin letter or digit: ROUGE knows no other words and is 0 there whatever was written. Read BLEU, chrF and \
                 exact matches.",
                of(self.without_latin)
            ));
        }
        if self.uncut > 0 {
            told.push(format!(
                "{} in Chinese or Japanese, which {words} does not cut into words: BLEU compares whole sentences there. Score with zh or \
                 char (--bleu-tokenize).",
                of(self.uncut)
            ));
        }
        told
    }
}

impl TextScores {
    /// Scores whose BLEU cuts words so.
    pub fn with_words(words: Words) -> Self {
        Self { words, ..Self::default() }
    }

    /// References that some scores say nothing of.
    pub fn unscored(&self) -> UnscoredReferences {
        self.unscored
    }

    /// Counts a text against its reference.
    pub fn add(&mut self, text: &str, reference: &str) {
        self.unscored.add(reference, self.words);
        self.bleu.add(text, &[reference], &BleuOptions { words: self.words, ..BleuOptions::default() });
        self.chrf.add(text, &[reference]);
        self.rouge.add(&Rouge::of(text, reference, false));
        self.equal.add(text, &[reference]);
    }

    /// The value of each of [`TEXT_SCORES`].
    pub fn measurements(&self) -> Measurements {
        let rouge = self.rouge.mean();
        let shares = [rouge.rouge_1, rouge.rouge_2, rouge.rouge_l].map(|score| 100.0 * score.f);
        let values =
            [self.bleu.bleu().score, self.chrf.score()].into_iter().chain(shares).chain([self.equal.percent()]);
        Measurements::of_values(TEXT_SCORES, values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `exact_match` and chrF are 100 there, and ROUGE is 0, as `rouge_score` has it.
    #[test]
    fn references_that_a_score_knows_no_word_of_are_counted() {
        let mut found = TextScores::default();
        found.add("\u{434}\u{43e}\u{43c} \u{434}\u{43e}\u{43c}", "\u{434}\u{43e}\u{43c} \u{434}\u{43e}\u{43c}");
        found.add("caf\u{e9}", "caf\u{e9}");
        found.add("\u{732b}", "\u{732b}\u{3068} 1");
        assert_eq!(found.unscored(), UnscoredReferences { without_latin: 1, uncut: 1 });
        let told = found.unscored().warnings(3, Words::default());
        assert!(
            told[0].starts_with("1 of 3 references without a Latin letter") && told[0].contains("ROUGE"),
            "{told:?}"
        );
        assert!(told[1].contains("13a") && told[1].contains("zh or char"), "{told:?}");
        let mut cut = TextScores::with_words(Words::Chinese);
        cut.add("\u{732b}", "\u{732b}");
        assert_eq!(cut.unscored(), UnscoredReferences { without_latin: 1, uncut: 0 });
    }

    #[test]
    fn every_score_has_its_value() {
        let mut found = TextScores::default();
        found.add("the cat sat on the mat", "the cat sat on the mat");
        let values = |found: &TextScores| -> Vec<(&str, f64)> {
            found.measurements().iter().map(|one| (one.metric.field(), (one.value * 1e6).round() / 1e6)).collect()
        };
        let names = ["bleu", "chrf", "rouge_1", "rouge_2", "rouge_l", "exact_match"];
        assert_eq!(values(&found), names.map(|name| (name, 100.0)));
        found.add("a dog", "the cat");
        let found = values(&found);
        // Of eight words six match, of the two texts one.
        assert_eq!([found[2].1, found[5].1], [50.0, 50.0]);
        assert!(found[0].1 < 100.0 && found[1].1 < 100.0 && found[0].1 > 50.0, "{found:?}");
    }
}
