/// How an answer is scored against the right ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SquadRules {
    /// As the script of `SQuAD` v1.1 does (Rajpurkar et al. 2016): every question has an answer.
    V1,
    /// As that of v2.0 does (Rajpurkar et al. 2018): no right answer means that there is none, and an empty one is given.
    V2,
}

/// How well an answer fits the right one that it fits best.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SquadScore {
    /// 1 where it is the same but for case, punctuation, articles and white space, else 0.
    pub exact: f64,
    /// F1 of its words, 0..=1.
    pub f1: f64,
}

impl SquadScore {
    /// The score of `answer` against the right ones.
    pub fn of(answer: &str, right: &[String], rules: SquadRules) -> Self {
        let mut right: Vec<String> = right.iter().map(|text| normalized(text)).collect();
        if rules == SquadRules::V2 {
            right.retain(|text| !text.is_empty());
            if right.is_empty() {
                right.push(String::new());
            }
        }
        let answer = normalized(answer);
        right.iter().fold(Self::default(), |best, right| Self {
            exact: best.exact.max(f64::from(u8::from(answer == *right))),
            f1: best.f1.max(f1(&answer, right, rules)),
        })
    }
}

/// F1 of the words of two texts, each as often as it stands there.
fn f1(answer: &str, right: &str, rules: SquadRules) -> f64 {
    let (mine, theirs): (Vec<&str>, Vec<&str>) = (answer.split(' ').collect(), right.split(' ').collect());
    if rules == SquadRules::V2 && (answer.is_empty() || right.is_empty()) {
        return f64::from(u8::from(answer == right));
    }
    if answer.is_empty() || right.is_empty() {
        return 0.0;
    }
    let mut left = theirs.clone();
    let common = mine
        .iter()
        .filter(|word| {
            let place = left.iter().position(|other| other == *word);
            place.map(|place| left.swap_remove(place)).is_some()
        })
        .count();
    // 2 / (1 / precision + 1 / recall)
    2.0 * common as f64 / (mine.len() + theirs.len()) as f64
}

/// A text in small letters, without punctuation of ASCII, without articles, with one blank between words.
pub fn normalized(text: &str) -> String {
    let small: String = text.to_lowercase().chars().filter(|letter| !letter.is_ascii_punctuation()).collect();
    let mut without_articles = String::with_capacity(small.len());
    // Runs of letters and digits, and what stands between them.
    let mut rest = small.as_str();
    while let Some(first) = rest.chars().next() {
        let is_word = first.is_alphanumeric();
        let end = rest.find(|letter: char| letter.is_alphanumeric() != is_word).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        without_articles.push_str(if matches!(run, "a" | "an" | "the") { " " } else { run });
        rest = after;
    }
    let is_space = |letter: char| letter.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&letter);
    without_articles.split(is_space).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn golden() -> Value {
        serde_json::from_str(include_str!("../../../../tests/golden/metrics.json")).unwrap()
    }

    #[test]
    fn texts_are_normalized_as_the_script_does() {
        let golden = golden();
        let examples = golden["squad_normalize"].as_array().unwrap();
        assert!(examples.len() > 5);
        for example in examples {
            assert_eq!(normalized(example["text"].as_str().unwrap()), example["out"].as_str().unwrap());
        }
        assert_eq!(normalized("The\u{a0}caf\u{e9} \u{2013} a\u{1d}THE"), "caf\u{e9} \u{2013}");
    }

    #[test]
    fn scores_are_those_of_the_script() {
        let golden = golden();
        for (name, rules) in [("squad_v1", SquadRules::V1), ("squad_v2", SquadRules::V2)] {
            let (items, expected) = (golden[name]["items"].as_array().unwrap(), &golden[name]["expected"]);
            let mut sum = SquadScore::default();
            for (item, wanted) in items.iter().zip(expected["per_item"].as_array().unwrap()) {
                let right: Vec<String> = serde_json::from_value(item["answers"].clone()).unwrap();
                let found = SquadScore::of(item["prediction"].as_str().unwrap(), &right, rules);
                for (found, wanted) in [(found.exact, &wanted["em"]), (found.f1, &wanted["f1"])] {
                    assert!((found - wanted.as_f64().unwrap()).abs() < 1e-12, "{name} {item}: {found} {wanted}");
                }
                sum = SquadScore { exact: sum.exact + found.exact, f1: sum.f1 + found.f1 };
            }
            for (sum, wanted) in [(sum.exact, &expected["exact_match"]), (sum.f1, &expected["f1"])] {
                let mean = 100.0 * sum / items.len() as f64;
                assert!((mean - wanted.as_f64().unwrap()).abs() < 1e-9, "{name}: {mean} {wanted}");
            }
        }
    }
}
