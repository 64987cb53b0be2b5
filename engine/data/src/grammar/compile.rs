use std::collections::HashMap;

use super::lexicon::{Inventory, Lexicon, VerbClass, Word, forms};
use super::rule::{Alternative, Class, Flags, Part};
use super::written::{DocumentShape, Written};
use crate::DataError;

/// The built-in grammar's text.
pub(super) const ENGLISH: &str = include_str!("../../../../assets/grammar/english.toml");

/// The rule that every sentence expands.
const START: &str = "sentence";

/// A grammar that is ready to generate.
#[derive(Debug)]
pub struct Grammar {
    pub(super) rules: Vec<Vec<Alternative>>,
    pub(super) start: usize,
    pub(super) depth: u32,
    pub(super) shape: DocumentShape,
    pub(super) lexicon: Lexicon,
    /// Present and past, each singular and plural.
    pub(super) forms: Vec<[[Word; 2]; 2]>,
    /// In the order of `Pronoun::ALL`.
    pub(super) pronouns: Vec<[Word; 4]>,
    /// Singular and plural.
    pub(super) determiners: [Vec<Word>; 2],
    pub(super) lists: Vec<Vec<Word>>,
    pub(super) words: Vec<String>,
    pub(super) a: Word,
    pub(super) an: Word,
}

impl Grammar {
    /// The built-in English-like grammar.
    pub fn english() -> Result<Self, DataError> {
        Self::from_toml(ENGLISH)
    }

    /// A grammar in the notation of `assets/grammar/english.toml`.
    pub fn from_toml(text: &str) -> Result<Self, DataError> {
        let broken = |why: String| DataError::Grammar { why };
        let written: Written = toml::from_str(text).map_err(|error| broken(error.to_string()))?;
        compile(&written).map_err(broken)
    }
}

fn compile(written: &Written) -> Result<Grammar, String> {
    let mut inventory = Inventory::default();
    let lexicon = Lexicon::new(written, &mut inventory)?;
    let mut agreeing = Vec::new();
    for [present, past] in written.forms.values() {
        let mut pair = |entry: &str| Ok::<_, String>(forms::<2>(entry)?.map(|form| inventory.add(form)));
        agreeing.push([pair(present)?, pair(past)?]);
    }
    let mut pronouns = Vec::new();
    for entry in written.pronouns.values() {
        pronouns.push(forms::<4>(entry)?.map(|form| inventory.add(form)));
    }
    let mut list = |words: &[String], name: &str| match words {
        [] => Err(format!("the list `{name}` is empty")),
        words => Ok(words.iter().map(|word| inventory.add(word)).collect::<Vec<_>>()),
    };
    let determiners = [
        list(&written.determiners.singular, "determiners.singular")?,
        list(&written.determiners.plural, "determiners.plural")?,
    ];
    let lists = written.words.iter().map(|(name, words)| list(words, name)).collect::<Result<_, _>>()?;
    let mut symbols = Symbols::new(written);
    let mut rules = Vec::new();
    for (name, alternatives) in &written.rules {
        let mut compiled = Vec::new();
        for alternative in alternatives {
            let alternative = symbols
                .alternative(alternative, &mut inventory)
                .map_err(|why| format!("in rule `{name}`, alternative `{alternative}`: {why}"))?;
            compiled.push(alternative);
        }
        rules.push(compiled);
    }
    let start = symbols.rule(START).ok_or_else(|| format!("there is no rule `{START}`"))?;
    let [least, most] = written.document.sentences;
    if least == 0 || most < least {
        return Err("document.sentences must be two rising numbers from 1".to_owned());
    }
    let (a, an) = (inventory.add("a"), inventory.add("an"));
    Ok(Grammar {
        rules,
        start,
        depth: written.limits.depth,
        shape: written.document,
        lexicon,
        forms: agreeing,
        pronouns,
        determiners,
        lists,
        words: inventory.words().to_vec(),
        a,
        an,
    })
}

/// What the names in rules mean.
struct Symbols<'a> {
    rules: HashMap<&'a str, usize>,
    classes: HashMap<&'a str, Class>,
    nests: &'a [String],
}

impl<'a> Symbols<'a> {
    fn new(written: &'a Written) -> Self {
        let mut classes = HashMap::from([
            ("noun", Class::Noun),
            ("name", Class::Name),
            ("determiner", Class::Determiner),
            ("adjective", Class::Adjective),
            ("iverb", Class::Verb(VerbClass::Intransitive)),
            ("tverb", Class::Verb(VerbClass::Transitive)),
            ("sverb", Class::Verb(VerbClass::Sentential)),
            ("thingverb", Class::Verb(VerbClass::OfThings)),
        ]);
        classes.extend(written.forms.keys().enumerate().map(|(index, name)| (name.as_str(), Class::Form(index))));
        classes.extend(written.pronouns.keys().enumerate().map(|(index, name)| (name.as_str(), Class::Pronoun(index))));
        classes.extend(written.words.keys().enumerate().map(|(index, name)| (name.as_str(), Class::List(index))));
        let rules = written.rules.keys().enumerate().map(|(index, name)| (name.as_str(), index)).collect();
        Self { rules, classes, nests: &written.limits.nests }
    }

    fn rule(&self, name: &str) -> Option<usize> {
        self.rules.get(name).copied()
    }

    /// `weight [@guard ...] symbol ...`
    fn alternative(&mut self, text: &str, inventory: &mut Inventory) -> Result<Alternative, String> {
        let mut tokens = text.split_whitespace();
        let weight = tokens.next().and_then(|weight| weight.parse::<f64>().ok()).filter(|weight| *weight > 0.0);
        let weight = weight.ok_or("it should begin with a weight above 0")?;
        let mut guards = Flags::default();
        let mut parts = Vec::new();
        for token in tokens {
            if let Some(guard) = token.strip_prefix('@') {
                let flag = Flags::named(guard).ok_or_else(|| format!("there is no guard `@{guard}`"))?;
                guards = guards.with(flag, true);
            } else {
                parts.push(self.part(token, inventory)?);
            }
        }
        let nests = parts.iter().any(|part| matches!(part, Part::Rule { nests: true, .. }));
        Ok(Alternative { weight, guards, nests, parts })
    }

    fn part(&self, token: &str, inventory: &mut Inventory) -> Result<Part, String> {
        if let Some(word) = token.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
            return Ok(Part::Word(inventory.add(word)));
        }
        let (symbol, variable) = match token.split_once(':') {
            None => (token, None),
            Some((symbol, variable)) => match variable.as_bytes() {
                [letter @ b'a'..=b'z'] => (symbol, Some(*letter)),
                _ => return Err(format!("the variable of `{token}` should be a letter")),
            },
        };
        if let Some(rule) = self.rule(symbol) {
            return Ok(Part::Rule { rule, variable, nests: self.nests.iter().any(|name| name == symbol) });
        }
        let (name, base) = symbol.strip_suffix(".base").map_or((symbol, false), |name| (name, true));
        let class = *self.classes.get(name).ok_or_else(|| format!("there is no rule or word class `{name}`"))?;
        let agrees = !matches!(class, Class::Adjective | Class::List(_)) && !base;
        if agrees && variable.is_none() {
            return Err(format!("`{name}` needs a variable to agree with"));
        }
        Ok(Part::Class { class, variable, base })
    }
}
