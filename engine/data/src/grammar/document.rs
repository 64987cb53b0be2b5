use super::compile::Grammar;
use super::entity::{Entity, Kind, Pronoun};
use super::lexicon::{ByTopic, Word};
use super::rule::{Alternative, Class, Flags, Part};
use super::surface::Surface;
use crate::rng::{Stream, below};

/// Nouns of each kind in a document's cast.
const CAST: usize = 2;

/// The grammar's variable that a rule was called with.
const OWN: u8 = b'n';

/// Writes one document.
pub(super) struct Writer<'a> {
    grammar: &'a Grammar,
    stream: &'a mut Stream,
    out: &'a mut Vec<Surface>,
    is_past: bool,
    topic: usize,
    /// Nouns of each kind, in the order of `Kind::ALL`.
    cast: [[u32; CAST]; 5],
    /// What this sentence spoke of so far.
    mentions: Vec<Entity>,
    /// What pronouns can stand for: from the sentence before, not used in this one yet.
    antecedents: Vec<Entity>,
    /// Whether the next word begins a sentence.
    at_start: bool,
    /// Whether the last word is an `a` that the next may turn into `an`.
    after_a: bool,
}

/// What the variables of one use of a rule are bound to.
#[derive(Default)]
struct Bindings(Vec<(u8, Entity)>);

impl<'a> Writer<'a> {
    pub(super) fn new(grammar: &'a Grammar, stream: &'a mut Stream, out: &'a mut Vec<Surface>) -> Self {
        let is_past = stream.uniform() < grammar.shape.past;
        let topic = below(stream, grammar.lexicon.topics);
        let mut cast = [[0; CAST]; 5];
        for (kind, nouns) in Kind::ALL.into_iter().zip(&mut cast) {
            let of_topic: Vec<u32> = (0..)
                .zip(grammar.lexicon.nouns(kind))
                .filter(|(_, noun)| noun.topic == topic)
                .map(|(index, _)| index)
                .collect();
            for noun in nouns {
                *noun = if of_topic.is_empty() {
                    below(stream, grammar.lexicon.nouns(kind).len()) as u32
                } else {
                    pick(stream, &of_topic).unwrap_or(0)
                };
            }
        }
        Self {
            grammar,
            stream,
            out,
            is_past,
            topic,
            cast,
            mentions: Vec::new(),
            antecedents: Vec::new(),
            at_start: true,
            after_a: false,
        }
    }

    /// Writes one sentence.
    pub(super) fn sentence(&mut self) {
        self.at_start = true;
        self.expand(self.grammar.start, None, 0);
        self.antecedents.clear();
        for pronoun in Pronoun::ALL {
            let mut meant = self.mentions.iter().filter(|entity| Pronoun::of(**entity) == Some(pronoun));
            // A pronoun singles out: there must be one candidate only.
            if let Some(first) = meant.next()
                && meant.all(|other| other == first)
            {
                self.antecedents.push(*first);
            }
        }
        self.mentions.clear();
    }

    fn expand(&mut self, rule: usize, own: Option<Entity>, depth: u32) {
        let Some(alternative) = self.choose(rule, own, depth) else { return };
        let mut bindings = Bindings::default();
        for part in &alternative.parts {
            match *part {
                Part::Word(word) => self.say(word),
                Part::Rule { rule, variable, nests } => {
                    let entity = variable.map(|variable| self.bound(variable, own, &mut bindings));
                    self.expand(rule, entity, depth + u32::from(nests));
                }
                Part::Class { class, variable, base } => {
                    let entity = variable.map(|variable| self.bound(variable, own, &mut bindings));
                    self.class(class, entity, base);
                }
            }
        }
    }

    /// Draws among the alternatives of `rule` whose guards hold.
    fn choose(&mut self, rule: usize, own: Option<Entity>, depth: u32) -> Option<&'a Alternative> {
        let flags = self.flags(own);
        let deepest = depth >= self.grammar.depth;
        let allowed =
            |alternative: &&Alternative| flags.holds_all(alternative.guards) && !(deepest && alternative.nests);
        let alternatives = self.grammar.rules.get(rule)?;
        let total: f64 = alternatives.iter().filter(allowed).map(|alternative| alternative.weight).sum();
        let mut left = self.stream.uniform() * total;
        let mut last = None;
        for alternative in alternatives.iter().filter(allowed) {
            last = Some(alternative);
            left -= alternative.weight;
            if left < 0.0 {
                break;
            }
        }
        last
    }

    fn flags(&self, own: Option<Entity>) -> Flags {
        let flags = Flags::default().with(Flags::BACK, !self.antecedents.is_empty());
        let Some(entity) = own else { return flags };
        flags
            .with(Flags::ANIMATE, entity.kind != Kind::Thing)
            .with(Flags::THING, entity.kind == Kind::Thing)
            .with(Flags::SINGULAR, !entity.plural)
            .with(Flags::PLURAL, entity.plural)
            .with(Flags::PROPER, entity.is_name)
            .with(Flags::COMMON, !entity.is_name)
            .with(Flags::PRONOUN, Pronoun::of(entity).is_some())
    }

    /// What `variable` is bound to; drawn at its first use.
    fn bound(&mut self, variable: u8, own: Option<Entity>, bindings: &mut Bindings) -> Entity {
        if let (OWN, Some(own)) = (variable, own) {
            return own;
        }
        if let Some((_, entity)) = bindings.0.iter().find(|(letter, _)| *letter == variable) {
            return *entity;
        }
        let entity = self.draw(variable);
        bindings.0.push((variable, entity));
        entity
    }

    fn draw(&mut self, variable: u8) -> Entity {
        if variable == b'b' && !self.antecedents.is_empty() {
            let chosen = below(self.stream, self.antecedents.len());
            return self.antecedents.swap_remove(chosen);
        }
        let mut entity = self.fresh(variable);
        // Nobody is spoken of twice in a sentence by noun, unless chance insists.
        for _ in 0..4 {
            let same =
                |other: &Entity| (other.kind, other.noun, other.is_name) == (entity.kind, entity.noun, entity.is_name);
            if !self.mentions.iter().any(same) {
                break;
            }
            entity = self.fresh(variable);
        }
        entity
    }

    /// A new entity of the sort that the letter stands for.
    fn fresh(&mut self, variable: u8) -> Entity {
        let shape = self.grammar.shape;
        let is_animate = match variable {
            b'm' | b'p' | b'q' | b'r' | b'u' => true,
            b't' => false,
            _ => self.stream.uniform() < shape.animate,
        };
        let kind = if is_animate {
            match below(self.stream, 8) {
                0..=2 => Kind::Masculine,
                3..=5 => Kind::Feminine,
                6 => Kind::Person,
                _ => Kind::Animal,
            }
        } else {
            Kind::Thing
        };
        let plural = match variable {
            b'm' => true,
            b'u' => false,
            _ => self.stream.uniform() < shape.plural,
        };
        let names = self.grammar.lexicon.names(kind);
        if !plural && variable != b'c' && !names.is_empty() && self.stream.uniform() < shape.name {
            return Entity { kind, plural, is_name: true, noun: below(self.stream, names.len()) as u32 };
        }
        let noun = if self.stream.uniform() < shape.cast {
            let of_kind = self.cast.get(kind as usize).copied().unwrap_or_default();
            pick(self.stream, &of_kind).unwrap_or(0)
        } else {
            below(self.stream, self.grammar.lexicon.nouns(kind).len()) as u32
        };
        Entity { kind, plural, is_name: false, noun }
    }

    fn class(&mut self, class: Class, entity: Option<Entity>, base: bool) {
        let grammar = self.grammar;
        let plural = entity.is_some_and(|entity| entity.plural);
        let word = match class {
            Class::Noun => entity.and_then(|entity| {
                self.mentions.push(entity);
                let noun = grammar.lexicon.nouns(entity.kind).get(entity.noun as usize)?;
                Some(if plural { noun.plural } else { noun.singular })
            }),
            Class::Name => entity.and_then(|entity| {
                self.mentions.push(entity);
                grammar.lexicon.names(entity.kind).get(entity.noun as usize).copied()
            }),
            Class::Determiner => {
                let [singular, many] = &grammar.determiners;
                pick(self.stream, if plural { many } else { singular })
            }
            Class::Adjective => self.of_topic(&grammar.lexicon.adjectives),
            Class::Verb(class) => self.of_topic(grammar.lexicon.verbs(class)).map(|verb| match (base, self.is_past) {
                (true, _) => verb.base,
                (false, true) => verb.past,
                (false, false) if plural => verb.base,
                (false, false) => verb.third,
            }),
            Class::Form(index) => grammar.forms.get(index).map(|[present, past]| {
                let [one, many] = if self.is_past { past } else { present };
                if plural { *many } else { *one }
            }),
            Class::Pronoun(index) => entity.and_then(|entity| {
                self.mentions.push(entity);
                let pronoun = Pronoun::of(entity)?;
                grammar.pronouns.get(index)?.get(pronoun as usize).copied()
            }),
            Class::List(index) => grammar.lists.get(index).and_then(|list| pick(self.stream, list)),
        };
        if let Some(word) = word {
            self.say(word);
        }
    }

    fn of_topic<T: Copy>(&mut self, items: &ByTopic<T>) -> Option<T> {
        let of_topic = items.topics.get(self.topic).filter(|list| !list.is_empty());
        match of_topic {
            Some(list) if self.stream.uniform() < self.grammar.shape.topic => pick(self.stream, list),
            _ => pick(self.stream, &items.general),
        }
    }

    fn say(&mut self, word: Word) {
        let begins_with_vowel = |word: &String| word.starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O', 'U']);
        if self.after_a
            && self.grammar.words.get(word as usize).is_some_and(begins_with_vowel)
            && let Some(last) = self.out.last_mut()
        {
            last.word = self.grammar.an;
        }
        self.after_a = word == self.grammar.a;
        self.out.push(Surface { word, is_capital: self.at_start });
        self.at_start = false;
    }
}

/// One of `items`, all equally likely.
fn pick<T: Copy>(stream: &mut Stream, items: &[T]) -> Option<T> {
    if items.is_empty() { None } else { items.get(below(stream, items.len())).copied() }
}
