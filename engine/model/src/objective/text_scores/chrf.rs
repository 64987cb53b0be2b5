//! chrF of a whole set of texts (Popovic 2015), as `sacreBLEU` computes chrF2.

use std::collections::HashMap;

use super::tokenize::is_space;

/// The longest runs of characters that are compared.
const ORDERS: usize = 6;

/// How many times as much recall counts as precision.
const BETA: f64 = 2.0;

/// Runs of one length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    hypothesis: u64,
    reference: u64,
    matches: u64,
}

/// What chrF is computed from, summed over texts: runs of 1 to 6 characters, white space left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChrfSums([Counts; ORDERS]);

impl ChrfSums {
    /// Counts one hypothesis against its references, of which the one with the best score counts.
    pub fn add(&mut self, hypothesis: &str, references: &[&str]) {
        let characters = |text: &str| -> Vec<char> { text.chars().filter(|letter| !is_space(*letter)).collect() };
        let hypothesis = characters(hypothesis);
        let mut best: Option<(f64, Self)> = None;
        for reference in references {
            let found = Self::of(&hypothesis, &characters(reference));
            let score = found.score();
            if best.is_none_or(|(known, _)| score > known) {
                best = Some((score, found));
            }
        }
        if let Some((_, found)) = best {
            self.join(&found);
        }
    }

    fn of(hypothesis: &[char], reference: &[char]) -> Self {
        let mut sums = Self::default();
        for (order, counts) in (1..).zip(&mut sums.0) {
            let wanted = runs(reference, order);
            counts.reference = wanted.values().sum();
            for (run, count) in runs(hypothesis, order) {
                counts.matches += count.min(wanted.get(run).copied().unwrap_or(0));
                // Nothing of a length that the reference does not have is held against a hypothesis.
                counts.hypothesis += if wanted.is_empty() { 0 } else { count };
            }
        }
        sums
    }

    /// Adds the sums of other texts.
    pub fn join(&mut self, other: &Self) {
        for (sum, more) in self.0.iter_mut().zip(other.0) {
            sum.hypothesis += more.hypothesis;
            sum.reference += more.reference;
            sum.matches += more.matches;
        }
    }

    /// `100 (1 + 4) P R / (4 P + R)` of the mean precision P and the mean recall R over all lengths that both sides have,
    /// 0..=100.
    pub fn score(&self) -> f64 {
        let (mut precision, mut recall, mut orders) = (0.0, 0.0, 0.0);
        for counts in self.0.iter().filter(|counts| counts.hypothesis > 0 && counts.reference > 0) {
            precision += counts.matches as f64 / counts.hypothesis as f64;
            recall += counts.matches as f64 / counts.reference as f64;
            orders += 1.0;
        }
        if precision + recall == 0.0 {
            return 0.0;
        }
        let (precision, recall): (f64, f64) = (precision / orders, recall / orders);
        let factor = BETA * BETA;
        100.0 * (1.0 + factor) * precision * recall / (factor * precision + recall)
    }
}

fn runs(characters: &[char], order: usize) -> HashMap<&[char], u64> {
    let mut counts = HashMap::new();
    for run in characters.windows(order) {
        *counts.entry(run).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values are those of `sacreBLEU` 2.6, `CHRF().corpus_score`.
    #[test]
    fn scores_are_those_of_sacrebleu() {
        type Pairs<'a> = &'a [(&'a str, &'a [&'a str])];
        let cases: [(Pairs<'_>, f64); 5] = [
            (&[("Der Zug f\u{e4}hrt um acht Uhr ab.", &["Der Zug f\u{e4}hrt um 8 Uhr ab."])], 76.241_641_609_396_94),
            (
                &[
                    ("the cat sat on the mat .", &["the cat is sitting on the mat .", "a cat sat on a mat."]),
                    ("one", &["two", "ones"]),
                    ("", &["x y"]),
                ],
                53.465_039_018_333_73,
            ),
            (&[("ab", &["ab"])], 100.0),
            (&[("x", &["y"])], 0.0),
            (
                &[
                    ("He left; she stayed", &["He left, she stayed: the end."]),
                    ("Prices rose by 2,000 points.", &["Prices fell by 2,000 points!"]),
                ],
                57.354_418_289_489_77,
            ),
        ];
        for (pairs, expected) in cases {
            let (mut all, mut joined) = (ChrfSums::default(), ChrfSums::default());
            for (hypothesis, references) in pairs {
                all.add(hypothesis, references);
                let mut one = ChrfSums::default();
                one.add(hypothesis, references);
                joined.join(&one);
            }
            assert!((all.score() - expected).abs() < 1e-9, "{pairs:?}: {}", all.score());
            assert_eq!(all, joined);
        }
    }
}
