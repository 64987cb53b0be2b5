//! ROUGE of summaries (Lin 2004), as `rouge_score` computes it.

use std::collections::{BTreeMap, BTreeSet};

use super::porter_stem;

/// Words of at most so many letters are not stemmed.
const SHORT_WORD: usize = 3;

/// One kind of ROUGE of one text, or the mean over texts. Shares, 0..=1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RougeScore {
    /// Of what the text has, how much its reference has.
    pub precision: f64,
    /// Of what the reference has, how much the text has.
    pub recall: f64,
    /// `2 P R / (P + R)`.
    pub f: f64,
}

impl RougeScore {
    fn of(matches: usize, hypothesis: usize, reference: usize) -> Self {
        let share = |of: usize| if of == 0 { 0.0 } else { matches as f64 / of as f64 };
        let (precision, recall) = (share(hypothesis), share(reference));
        let sum = precision + recall;
        Self { precision, recall, f: if sum > 0.0 { 2.0 * precision * recall / sum } else { 0.0 } }
    }

    fn map(self, other: Self, of: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            precision: of(self.precision, other.precision),
            recall: of(self.recall, other.recall),
            f: of(self.f, other.f),
        }
    }
}

/// All kinds of ROUGE.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rouge {
    /// Words that both have.
    pub rouge_1: RougeScore,
    /// Pairs of neighbouring words that both have.
    pub rouge_2: RougeScore,
    /// The longest common subsequence of words.
    pub rouge_l: RougeScore,
    /// The same sentence by sentence, a line a sentence: for each of the reference, its words in any of the longest common
    /// subsequences with those of the text.
    pub rouge_l_sum: RougeScore,
}

impl Rouge {
    /// Compares a text with its reference, whatever their case; `stems` compares words by their stems.
    pub fn of(hypothesis: &str, reference: &str, stems: bool) -> Self {
        let [h, r] = [hypothesis, reference].map(|text| words(text, stems));
        let lines = |text: &str| -> Vec<Vec<String>> {
            text.split('\n').filter(|line| !line.is_empty()).map(|line| words(line, stems)).collect()
        };
        Self {
            rouge_1: common(&h, &r, 1),
            rouge_2: common(&h, &r, 2),
            rouge_l: RougeScore::of(subsequence(&r, &h).len(), h.len(), r.len()),
            rouge_l_sum: by_sentence(&lines(hypothesis), &lines(reference)),
        }
    }

    fn map(self, other: Self, of: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            rouge_1: self.rouge_1.map(other.rouge_1, &of),
            rouge_2: self.rouge_2.map(other.rouge_2, &of),
            rouge_l: self.rouge_l.map(other.rouge_l, &of),
            rouge_l_sum: self.rouge_l_sum.map(other.rouge_l_sum, &of),
        }
    }
}

/// The sum of scores over texts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RougeSums {
    sum: Rouge,
    texts: u64,
}

impl RougeSums {
    /// Counts one text.
    pub fn add(&mut self, found: &Rouge) {
        self.sum = self.sum.map(*found, |sum, more| sum + more);
        self.texts += 1;
    }

    /// The plain mean over all texts; zeros without any.
    pub fn mean(&self) -> Rouge {
        let texts = self.texts.max(1) as f64;
        self.sum.map(Rouge::default(), |sum, _| sum / texts)
    }
}

/// Runs of letters and digits of ASCII in lower case; everything else separates.
fn words(text: &str, stems: bool) -> Vec<String> {
    let lower = text.to_lowercase();
    let runs = lower.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let stem = |word: &str| if stems && word.len() > SHORT_WORD { porter_stem(word) } else { word.to_owned() };
    runs.map(stem).collect()
}

fn common(hypothesis: &[String], reference: &[String], order: usize) -> RougeScore {
    fn counts(words: &[String], order: usize) -> BTreeMap<&[String], usize> {
        let mut counts = BTreeMap::new();
        for gram in words.windows(order) {
            *counts.entry(gram).or_default() += 1;
        }
        counts
    }
    let (h, r) = (counts(hypothesis, order), counts(reference, order));
    let matches = r.iter().map(|(gram, count)| h.get(gram).copied().unwrap_or(0).min(*count)).sum();
    RougeScore::of(matches, h.values().sum(), r.values().sum())
}

/// Places in `reference` of a longest common subsequence with `hypothesis`: of several, the one that `rouge_score` finds.
fn subsequence(reference: &[String], hypothesis: &[String]) -> Vec<usize> {
    let columns = hypothesis.len() + 1;
    // Row by row: lengths for the first i and j words.
    let mut lengths = vec![0_usize; (reference.len() + 1) * columns];
    let at = |i: usize, j: usize| i * columns + j;
    for (i, a) in reference.iter().enumerate() {
        for (j, b) in hypothesis.iter().enumerate() {
            lengths[at(i + 1, j + 1)] =
                if a == b { lengths[at(i, j)] + 1 } else { lengths[at(i, j + 1)].max(lengths[at(i + 1, j)]) };
        }
    }
    let (mut i, mut j, mut places) = (reference.len(), hypothesis.len(), Vec::new());
    while let (Some(before_i), Some(before_j)) = (i.checked_sub(1), j.checked_sub(1)) {
        if reference[before_i] == hypothesis[before_j] {
            places.push(before_i);
            (i, j) = (before_i, before_j);
        } else if lengths[at(i, before_j)] > lengths[at(before_i, j)] {
            j = before_j;
        } else {
            i = before_i;
        }
    }
    places
}

fn by_sentence(hypothesis: &[Vec<String>], reference: &[Vec<String>]) -> RougeScore {
    fn counts(sentences: &[Vec<String>]) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for word in sentences.iter().flatten() {
            *counts.entry(word.as_str()).or_default() += 1;
        }
        counts
    }
    let (mut left_h, mut left_r) = (counts(hypothesis), counts(reference));
    let mut matches = 0;
    for sentence in reference {
        let union: BTreeSet<usize> = hypothesis.iter().flat_map(|other| subsequence(sentence, other)).collect();
        for word in union.into_iter().map(|place| &sentence[place]) {
            // No word counts more often than both sides have it.
            if let (Some(h), Some(r)) = (left_h.get_mut(word.as_str()), left_r.get_mut(word.as_str()))
                && *h > 0
                && *r > 0
            {
                matches += 1;
                *h -= 1;
                *r -= 1;
            }
        }
    }
    let words = |sentences: &[Vec<String>]| sentences.iter().map(Vec::len).sum();
    RougeScore::of(matches, words(hypothesis), words(reference))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values are those of `rouge_score` 0.1.2.
    #[test]
    fn summaries_of_several_sentences_are_compared_sentence_by_sentence() {
        let cases = [
            (
                "The committee approved the budget.\nPrices rose again.\n\nNobody was surprised by the rising prices.",
                "On Monday the committee approved a budget.\nNobody is surprised: prices rise.",
                false,
                [
                    [0.466_666_666_666_666_7, 0.583_333_333_333_333_4, 0.518_518_518_518_518_6],
                    [0.142_857_142_857_142_85, 0.181_818_181_818_181_82, 0.16],
                    [0.466_666_666_666_666_7, 0.583_333_333_333_333_4, 0.518_518_518_518_518_6],
                    [0.466_666_666_666_666_7, 0.583_333_333_333_333_4, 0.518_518_518_518_518_6],
                ],
            ),
            (
                "The committee approved the budget.\nPrices rose again.\n\nNobody was surprised by the rising prices.",
                "On Monday the committee approved a budget.\nNobody is surprised: prices rise.",
                true,
                [
                    [0.533_333_333_333_333_3, 0.666_666_666_666_666_6, 0.592_592_592_592_592_6],
                    [0.142_857_142_857_142_85, 0.181_818_181_818_181_82, 0.16],
                    [0.466_666_666_666_666_7, 0.583_333_333_333_333_4, 0.518_518_518_518_518_6],
                    [0.466_666_666_666_666_7, 0.583_333_333_333_333_4, 0.518_518_518_518_518_6],
                ],
            ),
            (
                "a b c d\na b e f",
                "a b\nc d a b",
                false,
                [
                    [0.75, 1.0, 0.857_142_857_142_857_1],
                    [0.714_285_714_285_714_3, 1.0, 0.833_333_333_333_333_3],
                    [0.75, 1.0, 0.857_142_857_142_857_1],
                    [0.75, 1.0, 0.857_142_857_142_857_1],
                ],
            ),
            (
                "a b c d\na b e f",
                "a b\nc d a b",
                true,
                [
                    [0.75, 1.0, 0.857_142_857_142_857_1],
                    [0.714_285_714_285_714_3, 1.0, 0.833_333_333_333_333_3],
                    [0.75, 1.0, 0.857_142_857_142_857_1],
                    [0.75, 1.0, 0.857_142_857_142_857_1],
                ],
            ),
            (
                "dogs were running; dog runs",
                "The dog ran.\nDogs run",
                false,
                [
                    [0.4, 0.4, 0.400_000_000_000_000_1],
                    [0.0, 0.0, 0.0],
                    [0.2, 0.2, 0.200_000_000_000_000_04],
                    [0.4, 0.4, 0.400_000_000_000_000_1],
                ],
            ),
            (
                "dogs were running; dog runs",
                "The dog ran.\nDogs run",
                true,
                [[0.6, 0.6, 0.6], [0.25, 0.25, 0.25], [0.6, 0.6, 0.6], [0.6, 0.6, 0.6]],
            ),
        ];
        for (hypothesis, reference, stems, expected) in cases {
            let found = Rouge::of(hypothesis, reference, stems);
            let all = [found.rouge_1, found.rouge_2, found.rouge_l, found.rouge_l_sum];
            for (found, [precision, recall, f]) in all.into_iter().zip(expected) {
                for (found, expected) in [(found.precision, precision), (found.recall, recall), (found.f, f)] {
                    assert!((found - expected).abs() < 1e-12, "{hypothesis:?} {stems}: {found} {expected}");
                }
            }
        }
    }

    #[test]
    fn means_are_those_of_all_texts() {
        let (one, two) = (Rouge::of("a b", "a b", false), Rouge::of("a b", "c d", false));
        let mut sums = RougeSums::default();
        assert_eq!(sums.mean(), Rouge::default());
        sums.add(&one);
        sums.add(&two);
        assert_eq!((sums.mean().rouge_1.f, sums.mean().rouge_l_sum.recall), (0.5, 0.5));
        assert_eq!(Rouge::of("", "", true), Rouge::default());
    }
}
