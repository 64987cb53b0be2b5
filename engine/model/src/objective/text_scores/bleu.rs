//! BLEU of a whole set of texts (Papineni et al. 2002), as `sacreBLEU` computes it (Post 2018).

use std::collections::HashMap;

use super::tokenize::{Words, is_space};

/// The longest n-grams that are compared.
const ORDERS: usize = 4;

/// What is done to texts before they are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BleuOptions {
    /// How they are cut into words.
    pub words: Words,
    /// Whether case is ignored.
    pub lowercase: bool,
    /// Whether words with hyphens are cut there first, as older papers on translation to German do; see
    /// [`split_compounds`].
    pub splits_compounds: bool,
}

impl BleuOptions {
    fn words(self, text: &str) -> Vec<String> {
        let text = text.trim_end_matches(is_space);
        let lower;
        let text = if self.lowercase {
            lower = text.to_lowercase();
            &lower
        } else {
            text
        };
        let split;
        let text = if self.splits_compounds {
            split = split_compounds(text);
            &split
        } else {
            text
        };
        self.words.of(text)
    }
}

/// Cuts words at hyphens: `rich-text` becomes `rich ##AT##-##AT## text` (Vaswani et al. 2017 and others scored German
/// so). From left to right; no letter is part of two cuts.
pub fn split_compounds(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut split = String::with_capacity(text.len());
    let mut rest = letters.as_slice();
    while let [a, after @ ..] = rest {
        split.push(*a);
        rest = after;
        if let ['-', b, after @ ..] = rest
            && !is_space(*a)
            && !is_space(*b)
        {
            split.push_str(" ##AT##-##AT## ");
            split.push(*b);
            rest = after;
        }
    }
    split
}

/// What BLEU is computed from, summed over texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BleuSums {
    /// N-grams of the hypotheses that their references have too, as often as these; for n = 1 to 4.
    pub matches: [u64; ORDERS],
    /// N-grams of the hypotheses.
    pub totals: [u64; ORDERS],
    /// Words of the hypotheses.
    pub hypothesis_words: u64,
    /// Words of the references; of several the one of nearest length counts, the shorter one of two as near.
    pub reference_words: u64,
}

/// BLEU with its parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bleu {
    /// `100 * brevity_penalty * (p_1 p_2 p_3 p_4)^(1/4)`, 0..=100.
    pub score: f64,
    /// Share of n-grams that match, percent. The i-th of those without a match becomes `1 / 2^i` matches (exponential
    /// smoothing).
    pub precisions: [f64; ORDERS],
    /// `exp(1 - r / c)` where the hypotheses have c words and the references r, which is more; else 1.
    pub brevity_penalty: f64,
}

impl BleuSums {
    /// Counts one hypothesis against its references.
    pub fn add(&mut self, hypothesis: &str, references: &[&str], options: &BleuOptions) {
        let words = options.words(hypothesis);
        let mut allowed: HashMap<&[String], u64> = HashMap::new();
        let references: Vec<Vec<String>> = references.iter().map(|reference| options.words(reference)).collect();
        for reference in &references {
            for (gram, count) in n_grams(reference) {
                let most = allowed.entry(gram).or_default();
                *most = count.max(*most);
            }
        }
        for (gram, count) in n_grams(&words) {
            let order = gram.len() - 1;
            self.totals[order] += count;
            self.matches[order] += count.min(allowed.get(gram).copied().unwrap_or(0));
        }
        let lengths = references.iter().map(Vec::len);
        let nearest = lengths.min_by_key(|length| (length.abs_diff(words.len()), *length)).unwrap_or(0);
        self.hypothesis_words += words.len() as u64;
        self.reference_words += nearest as u64;
    }

    /// Adds the sums of other texts.
    pub fn join(&mut self, other: &Self) {
        for (sum, more) in
            self.matches.iter_mut().chain(&mut self.totals).zip(other.matches.iter().chain(&other.totals))
        {
            *sum += more;
        }
        self.hypothesis_words += other.hypothesis_words;
        self.reference_words += other.reference_words;
    }

    /// BLEU of all texts together. 0 where nothing matches, and where no text is as long as the longest n-grams.
    pub fn bleu(&self) -> Bleu {
        let (c, r) = (self.hypothesis_words as f64, self.reference_words as f64);
        let brevity_penalty = match self.hypothesis_words {
            0 if self.reference_words > 0 => 0.0,
            words if words < self.reference_words => (1.0 - r / c).exp(),
            _ => 1.0,
        };
        let mut precisions = [0.0; ORDERS];
        if self.matches.iter().all(|count| *count == 0) {
            return Bleu { score: 0.0, precisions, brevity_penalty };
        }
        let mut smoothing = 1.0;
        for ((precision, matches), total) in precisions.iter_mut().zip(self.matches).zip(self.totals) {
            if total == 0 {
                break;
            }
            *precision = if matches == 0 {
                smoothing *= 2.0;
                100.0 / (smoothing * total as f64)
            } else {
                100.0 * matches as f64 / total as f64
            };
        }
        let logarithms: f64 = precisions.iter().map(|precision| precision.ln()).sum();
        Bleu { score: brevity_penalty * (logarithms / ORDERS as f64).exp(), precisions, brevity_penalty }
    }
}

/// All n-grams of up to [`ORDERS`] words, each with its count.
fn n_grams(words: &[String]) -> HashMap<&[String], u64> {
    let mut counts = HashMap::new();
    for order in 1..=ORDERS {
        for gram in words.windows(order) {
            *counts.entry(gram).or_default() += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::super::tokenize_13a;
    use super::*;

    fn bleu_of(pairs: &[(&str, &str)]) -> Bleu {
        let mut sums = BleuSums::default();
        for (hypothesis, reference) in pairs {
            sums.add(hypothesis, &[reference], &BleuOptions::default());
        }
        sums.bleu()
    }

    #[test]
    fn words_are_those_of_mteval() {
        for (text, words) in [
            ("It's 5-year, e-mail.", "It's 5 - year , e-mail ."),
            ("3.5 kg for $12.40... (2,000)!", "3.5 kg for $ 12.40 . . . ( 2,000 ) !"),
            ("&quot;AT&amp;T&quot; &lt;skip>", "\" AT & T \" < skip >"),
            ("a -\nb\nc <skipped>", "a b c"),
            (".5, ,.", ". 5 , , ."),
            ("caf\u{e9} \u{201e}x\u{201c}", "caf\u{e9} \u{201e}x\u{201c}"),
            ("  ", ""),
        ] {
            assert_eq!(tokenize_13a(text).join(" "), words, "{text:?}");
        }
    }

    #[test]
    fn a_text_that_equals_its_reference_has_100_and_batches_add_up() {
        assert!((bleu_of(&[("a b c d e", "a b c d e")]).score - 100.0).abs() < 1e-9);
        assert_eq!(bleu_of(&[("x", "y")]).score, 0.0);
        assert_eq!(bleu_of(&[("a b c", "a b c")]).score, 0.0, "no text has four words");
        assert_eq!(bleu_of(&[]).score, 0.0);
        let options = BleuOptions::default();
        let (mut one, mut two, mut both) = (BleuSums::default(), BleuSums::default(), BleuSums::default());
        one.add("the cat sat", &["the cat"], &options);
        two.add("on a mat", &["on the mat", "on"], &options);
        both.add("the cat sat", &["the cat"], &options);
        both.add("on a mat", &["on the mat", "on"], &options);
        one.join(&two);
        assert_eq!(one, both);
        assert_eq!(both.reference_words, 5);
    }
}
