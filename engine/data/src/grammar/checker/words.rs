use std::collections::{BTreeMap, HashMap, HashSet};

use super::super::{
    lexicon::forms,
    written::{Topic, Written},
};

/// Number of a noun, a verb or a determiner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    One,
    Many,
}

use Number::{Many, One};

/// What tense a verb shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tense {
    Present,
    Past,
}

/// What follows a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    Object,
    Clause,
}

/// A word as a form of a verb; it may be several at once, such as `read`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VerbForm {
    pub(super) takes: Takes,
    pub(super) is_base: bool,
    pub(super) is_third: bool,
    pub(super) is_past: bool,
}

impl VerbForm {
    /// Whether it can follow a subject of this number.
    pub(super) fn agrees(self, number: Number) -> bool {
        self.is_past || if number == One { self.is_third } else { self.is_base }
    }

    /// Its tense after a subject of this number; none where it can be either.
    pub(super) fn tense(self, number: Number) -> Option<Tense> {
        let is_present = if number == One { self.is_third } else { self.is_base };
        match (is_present, self.is_past) {
            (true, true) => None,
            (false, true) => Some(Tense::Past),
            (true | false, false) => Some(Tense::Present),
        }
    }
}

/// Pronouns by what they stand for: masculine, feminine, neuter, plural.
pub(super) const SUBJECTS: [&str; 4] = ["he", "she", "it", "they"];
pub(super) const OBJECTS: [&str; 4] = ["him", "her", "it", "them"];
pub(super) const POSSESSIVES: [&str; 4] = ["his", "her", "its", "their"];
pub(super) const REFLEXIVES: [&str; 4] = ["himself", "herself", "itself", "themselves"];
const ONLY_ONE: [&str; 7] = ["a", "an", "this", "every", "each", "one", "another"];
const ONLY_MANY: [&str; 12] =
    ["these", "those", "some", "many", "few", "several", "all", "two", "three", "four", "five", "most"];

/// What a form of `be` or `do` agrees with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Auxiliary {
    /// Subjects that it can have; none for both.
    pub(super) number: Option<Number>,
    pub(super) tense: Tense,
}

/// A form of `be`.
pub(super) fn being(word: &str) -> Option<Auxiliary> {
    let (number, tense) = match word {
        "is" => (One, Tense::Present),
        "are" => (Many, Tense::Present),
        "was" => (One, Tense::Past),
        "were" => (Many, Tense::Past),
        _ => return None,
    };
    Some(Auxiliary { number: Some(number), tense })
}

/// A form of `do`.
pub(super) fn doing(word: &str) -> Option<Auxiliary> {
    match word {
        "does" => Some(Auxiliary { number: Some(One), tense: Tense::Present }),
        "do" => Some(Auxiliary { number: Some(Many), tense: Tense::Present }),
        "did" => Some(Auxiliary { number: None, tense: Tense::Past }),
        _ => None,
    }
}

/// The number of a word that stands before nouns of one number alone.
pub(super) fn determiner(word: &str) -> Option<Number> {
    if ONLY_ONE.contains(&word) {
        Some(One)
    } else if ONLY_MANY.contains(&word) {
        Some(Many)
    } else {
        None
    }
}

/// Place in [`SUBJECTS`] and its like of what a word refers back to: a pronoun, but no reflexive one.
pub(super) fn pronoun(word: &str) -> Option<usize> {
    [SUBJECTS, OBJECTS, POSSESSIVES].iter().find_map(|forms| forms.iter().position(|form| *form == word))
}

/// A noun or a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Noun {
    pub(super) number: Number,
    /// Place of its pronoun in [`SUBJECTS`] and its like; one person of either sex has none.
    pub(super) pronoun: Option<usize>,
}

/// The words of a grammar, in small letters.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// Names too.
    pub(super) nouns: HashMap<String, Noun>,
    pub(super) names: HashSet<String>,
    pub(super) verbs: HashMap<String, VerbForm>,
    lists: HashMap<String, HashSet<String>>,
    /// Each word that agrees with others, with all forms of the same word.
    forms: HashMap<String, Vec<String>>,
    /// A name, and a noun in the singular, of each kind that has a pronoun of its own.
    samples: [BTreeMap<usize, String>; 2],
}

impl Words {
    pub(super) fn new(written: &Written) -> Result<Self, String> {
        let mut words = Self::default();
        for (list, entries) in &written.words {
            words.lists.insert(list.clone(), entries.iter().map(|word| word.to_lowercase()).collect());
        }
        for (names, pronoun) in [(&written.names.masculine, 0), (&written.names.feminine, 1)] {
            for name in names {
                let name = name.to_lowercase();
                words.nouns.insert(name.clone(), Noun { number: One, pronoun: Some(pronoun) });
                words.samples[0].entry(pronoun).or_insert_with(|| name.clone());
                words.names.insert(name);
            }
        }
        for topic in written.topics.values() {
            words.add_topic(topic)?;
        }
        let pronouns = [SUBJECTS, OBJECTS, POSSESSIVES].concat();
        for set in [&["is", "are", "was", "were"][..], &["does", "do", "did"], &pronouns, &REFLEXIVES] {
            words.add_forms(set);
        }
        Ok(words)
    }

    fn add_topic(&mut self, topic: &Topic) -> Result<(), String> {
        let kinds = [
            (&topic.masculine, Some(0)),
            (&topic.feminine, Some(1)),
            (&topic.person, None),
            (&topic.animal, Some(2)),
            (&topic.thing, Some(2)),
        ];
        for (nouns, pronoun) in kinds {
            for entry in nouns {
                let [one, many] = forms::<2>(entry)?;
                self.nouns.insert(one.to_owned(), Noun { number: One, pronoun });
                self.nouns.insert(many.to_owned(), Noun { number: Many, pronoun: Some(3) });
                self.add_forms(&[one, many]);
                if let Some(pronoun) = pronoun {
                    self.samples[1].entry(pronoun).or_insert_with(|| one.to_owned());
                }
            }
        }
        let classes = [
            (&topic.iverb, Takes::Nothing),
            (&topic.thingverb, Takes::Nothing),
            (&topic.tverb, Takes::Object),
            (&topic.sverb, Takes::Clause),
        ];
        for (verbs, takes) in classes {
            for entry in verbs {
                let [base, third, past] = forms::<3>(entry)?;
                for word in [base, third, past] {
                    let unknown = VerbForm { takes, is_base: false, is_third: false, is_past: false };
                    let form = self.verbs.entry(word.to_owned()).or_insert(unknown);
                    form.is_base |= word == base;
                    form.is_third |= word == third;
                    form.is_past |= word == past;
                }
                self.add_forms(&[base, third, past]);
            }
        }
        let adjectives = topic.adjective.iter().map(|word| word.to_lowercase());
        self.lists.entry("adjective".to_owned()).or_default().extend(adjectives);
        Ok(())
    }

    fn add_forms(&mut self, forms: &[&str]) {
        for word in forms {
            let known = self.forms.entry((*word).to_owned()).or_default();
            for form in forms {
                if !known.iter().any(|other| other == form) {
                    known.push((*form).to_owned());
                }
            }
        }
    }

    /// Names, or nouns in the singular, one of each kind that another pronoun stands for.
    pub(super) fn others_than(&self, word: &str, are_names: bool) -> impl Iterator<Item = &str> {
        let own = self.nouns.get(word).and_then(|noun| noun.pronoun);
        let [names, nouns] = &self.samples;
        let samples = if are_names { names } else { nouns };
        samples.iter().filter(move |(pronoun, _)| Some(**pronoun) != own).map(|(_, sample)| sample.as_str())
    }

    /// Whether a list of the grammar has the word.
    pub(super) fn is_in(&self, list: &str, word: &str) -> bool {
        self.lists.get(list).is_some_and(|words| words.contains(word))
    }

    /// All forms of a word that agrees with others, itself among them; none of other words.
    pub(super) fn forms(&self, word: &str) -> &[String] {
        self.forms.get(word).map_or(&[], Vec::as_slice)
    }
}
