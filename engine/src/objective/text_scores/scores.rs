use super::{BleuOptions, BleuSums, ChrfSums, ExactMatches, Rouge, RougeSums};
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
}

impl TextScores {
    /// Counts a text against its reference.
    pub fn add(&mut self, text: &str, reference: &str) {
        self.bleu.add(text, &[reference], &BleuOptions::default());
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
