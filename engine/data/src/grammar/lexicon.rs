use std::collections::HashMap;

use super::entity::Kind;
use super::written::{Topic, Written};

/// Number of a word in the inventory.
pub(super) type Word = u32;

/// Every word once, with a number.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    words: Vec<String>,
    numbers: HashMap<String, Word>,
}

impl Inventory {
    pub(super) fn add(&mut self, word: &str) -> Word {
        if let Some(number) = self.numbers.get(word) {
            return *number;
        }
        let number = self.words.len() as Word;
        self.words.push(word.to_owned());
        self.numbers.insert(word.to_owned(), number);
        number
    }

    pub(super) fn words(&self) -> &[String] {
        &self.words
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Noun {
    pub(super) singular: Word,
    pub(super) plural: Word,
    /// Index among the topics.
    pub(super) topic: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Verb {
    pub(super) base: Word,
    pub(super) third: Word,
    pub(super) past: Word,
}

/// Items of one class: all of them, and those of each topic (with the general ones for the general topic).
#[derive(Debug)]
pub(super) struct ByTopic<T> {
    pub(super) topics: Vec<Vec<T>>,
    pub(super) general: Vec<T>,
}

/// The words that agree or belong to topics.
#[derive(Debug)]
pub(super) struct Lexicon {
    nouns: [Vec<Noun>; 5],
    names: [Vec<Word>; 2],
    verbs: [ByTopic<Verb>; 4],
    pub(super) adjectives: ByTopic<Word>,
    /// Number of topics, the general one left out.
    pub(super) topics: usize,
}

/// The topic whose words belong to all; its index comes after the others.
const GENERAL: &str = "general";

impl Lexicon {
    pub(super) fn new(written: &Written, inventory: &mut Inventory) -> Result<Self, String> {
        let general = written.topics.get(GENERAL).ok_or("there is no [topics.general]")?;
        let others: Vec<&Topic> =
            written.topics.iter().filter(|(name, _)| *name != GENERAL).map(|(_, topic)| topic).collect();
        if others.is_empty() {
            return Err("there is no topic beside [topics.general]".to_owned());
        }
        let all: Vec<&Topic> = others.iter().copied().chain([general]).collect();
        let mut nouns: [Vec<Noun>; 5] = Default::default();
        for (kind, list) in Kind::ALL.into_iter().zip(&mut nouns) {
            for (topic, words) in all.iter().enumerate() {
                for noun in nouns_of(words, kind) {
                    let [singular, plural] = forms(noun)?.map(|form| inventory.add(form));
                    list.push(Noun { singular, plural, topic });
                }
            }
            if list.is_empty() {
                return Err(format!("there is no noun of kind {kind:?}"));
            }
        }
        let mut verb_class = |class: VerbClass| -> Result<ByTopic<Verb>, String> {
            let mut read = |topic: &Topic| -> Result<Vec<Verb>, String> {
                let verb = |text: &String| {
                    let [base, third, past] = forms(text)?.map(|form| inventory.add(form));
                    Ok(Verb { base, third, past })
                };
                verbs_of(topic, class).iter().map(verb).collect()
            };
            let topics = others.iter().map(|topic| read(topic)).collect::<Result<_, _>>()?;
            let general = read(general)?;
            if general.is_empty() {
                return Err(format!("there is no general verb of class {class:?}"));
            }
            Ok(ByTopic { topics, general })
        };
        let verbs = [
            verb_class(VerbClass::Intransitive)?,
            verb_class(VerbClass::Transitive)?,
            verb_class(VerbClass::Sentential)?,
            verb_class(VerbClass::OfThings)?,
        ];
        let mut list = |words: &[String]| -> Vec<Word> { words.iter().map(|word| inventory.add(word)).collect() };
        let adjectives = ByTopic {
            topics: others.iter().map(|topic| list(&topic.adjective)).collect(),
            general: list(&general.adjective),
        };
        let names = [list(&written.names.masculine), list(&written.names.feminine)];
        if adjectives.general.is_empty() || names.iter().any(Vec::is_empty) {
            return Err("there are no general adjectives, or no names".to_owned());
        }
        Ok(Self { nouns, names, verbs, adjectives, topics: others.len() })
    }

    pub(super) fn nouns(&self, kind: Kind) -> &[Noun] {
        let [masculine, feminine, person, animal, thing] = &self.nouns;
        match kind {
            Kind::Masculine => masculine,
            Kind::Feminine => feminine,
            Kind::Person => person,
            Kind::Animal => animal,
            Kind::Thing => thing,
        }
    }

    /// Names of a kind; none for kinds that have none.
    pub(super) fn names(&self, kind: Kind) -> &[Word] {
        let [masculine, feminine] = &self.names;
        match kind {
            Kind::Masculine => masculine,
            Kind::Feminine => feminine,
            _ => &[],
        }
    }

    pub(super) fn verbs(&self, class: VerbClass) -> &ByTopic<Verb> {
        let [intransitive, transitive, sentential, of_things] = &self.verbs;
        match class {
            VerbClass::Intransitive => intransitive,
            VerbClass::Transitive => transitive,
            VerbClass::Sentential => sentential,
            VerbClass::OfThings => of_things,
        }
    }
}

fn nouns_of(topic: &Topic, kind: Kind) -> &[String] {
    match kind {
        Kind::Masculine => &topic.masculine,
        Kind::Feminine => &topic.feminine,
        Kind::Person => &topic.person,
        Kind::Animal => &topic.animal,
        Kind::Thing => &topic.thing,
    }
}

fn verbs_of(topic: &Topic, class: VerbClass) -> &[String] {
    match class {
        VerbClass::Intransitive => &topic.iverb,
        VerbClass::Transitive => &topic.tverb,
        VerbClass::Sentential => &topic.sverb,
        VerbClass::OfThings => &topic.thingverb,
    }
}

/// The `N` words of an entry.
pub(super) fn forms<const N: usize>(entry: &str) -> Result<[&str; N], String> {
    let words: Vec<&str> = entry.split_whitespace().collect();
    words.try_into().map_err(|_| format!("`{entry}` should have {N} forms"))
}

/// The verb classes of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VerbClass {
    Intransitive,
    Transitive,
    Sentential,
    OfThings,
}
