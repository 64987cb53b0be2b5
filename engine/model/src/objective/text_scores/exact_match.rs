/// How many texts equal their reference, white space around them left aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExactMatches {
    /// Texts that equal one of their references.
    pub equal: u64,
    /// All texts.
    pub texts: u64,
}

impl ExactMatches {
    /// Counts one text.
    pub fn add(&mut self, hypothesis: &str, references: &[&str]) {
        self.texts += 1;
        self.equal += u64::from(references.iter().any(|reference| reference.trim() == hypothesis.trim()));
    }

    /// Percent of the texts that equal a reference, 0..=100; NaN without texts.
    pub fn percent(&self) -> f64 {
        100.0 * self.equal as f64 / self.texts as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_equal_but_for_white_space_around_them() {
        let mut found = ExactMatches::default();
        assert!(found.percent().is_nan());
        for (hypothesis, references) in
            [("eins", vec!["eins "]), ("eins", vec!["Eins"]), ("a b", vec!["a  b", "a b"]), ("", vec!["x"])]
        {
            found.add(hypothesis, &references);
        }
        assert_eq!(found, ExactMatches { equal: 2, texts: 4 });
        assert_eq!(found.percent(), 50.0);
    }
}
