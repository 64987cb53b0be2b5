use super::{
    counts::{Agreement, Checked},
    words::{Auxiliary, Noun, Number, OBJECTS, POSSESSIVES, REFLEXIVES, SUBJECTS, Takes, Tense, Words},
    words::{being, determiner, doing, pronoun},
};
use Number::{Many, One};

/// What a sentence leaves to the one after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Mentions {
    /// Nouns and names with their pronouns.
    nouns: Vec<(String, usize)>,
    /// What its own pronouns stood for.
    pronouns: [bool; 4],
    /// Of its last verb that shows one.
    tense: Option<Tense>,
}

/// What stands before a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// Nothing: it begins a document.
    Beginning,
    /// A sentence.
    Sentence(Mentions),
    /// Nobody knows: pronouns are not checked.
    Unknown,
}

/// Where a sentence is not one of the grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unread {
    /// The word, from 0.
    pub(super) at: usize,
    /// What should stand there.
    pub(super) expected: &'static str,
}

type Parsed<T> = Result<T, Unread>;

/// A sentence that was read.
#[derive(Debug)]
pub(super) struct Sentence {
    pub(super) end: Parsed<()>,
    pub(super) verbs: Checked,
    pub(super) determiners: Checked,
    pub(super) pronouns: Checked,
    /// Clauses inside of one another, at most.
    pub(super) deepest: usize,
    pub(super) mentions: Mentions,
}

impl Sentence {
    /// Reads words in small letters, with the mark at their end.
    pub(super) fn read(words: &Words, tokens: &[&str], before: &Before) -> Self {
        let tense = if let Before::Sentence(mentions) = before { mentions.tense } else { None };
        let mut parser = Parser { words, tokens, at: 0, depth: 0, deepest: 0, tense, found: [Checked::default(); 3] };
        let end = parser.sentence();
        let Parser { tense, deepest, found: [verbs, determiners, mut pronouns], .. } = parser;
        // Words of a sentence that goes wrong are spoken of, too.
        let mut mentions = Mentions { tense, ..Mentions::default() };
        for token in tokens {
            if let Some(Noun { pronoun: Some(class), .. }) = words.nouns.get(*token) {
                mentions.nouns.push(((*token).to_owned(), *class));
            }
            if let Some(class) = pronoun(token) {
                mentions.pronouns[class] = true;
                match before {
                    Before::Unknown => {}
                    Before::Beginning => pronouns.add(false),
                    Before::Sentence(before) => pronouns.add(before.has_one(class)),
                }
            }
        }
        Self { end, verbs, determiners, pronouns, deepest, mentions }
    }

    /// Whether it is one of the grammar and everything agrees.
    pub(super) fn is_right(&self) -> bool {
        self.end.is_ok() && self.verbs.all() && self.determiners.all() && self.pronouns.all()
    }

    pub(super) fn agreement(&self) -> Agreement {
        Agreement {
            sentences: 1,
            parsed: u64::from(self.end.is_ok()),
            right: u64::from(self.is_right()),
            verbs: self.verbs,
            determiners: self.determiners,
            pronouns: self.pronouns,
            deepest: self.deepest,
        }
    }
}

impl Mentions {
    /// Whether a pronoun refers to one thing alone of this sentence.
    fn has_one(&self, class: usize) -> bool {
        let mut nouns = self.nouns.iter().filter(|(_, other)| *other == class).map(|(noun, _)| noun);
        match nouns.next() {
            None => self.pronouns.get(class).is_some_and(|spoken| *spoken),
            Some(first) => nouns.all(|noun| noun == first),
        }
    }
}

const VERBS: usize = 0;
const DETERMINERS: usize = 1;
const PRONOUNS: usize = 2;

/// Whom a verb is said of.
#[derive(Clone, Copy, Debug)]
struct Subject {
    number: Number,
    /// Place of its pronoun, where it has one.
    class: Option<usize>,
}

impl Subject {
    const SOMEBODY: Self = Self { number: One, class: None };
    const SEVERAL: Self = Self { number: Many, class: Some(PLURAL) };
}

/// The place of what stands for several.
const PLURAL: usize = 3;

/// Reads a sentence from left to right. Words that disagree are counted and read on; an order that is none of the grammar
/// ends it.
struct Parser<'a> {
    words: &'a Words,
    tokens: &'a [&'a str],
    at: usize,
    depth: usize,
    deepest: usize,
    /// Of the last verb that shows one.
    tense: Option<Tense>,
    /// Verbs, determiners, pronouns.
    found: [Checked; 3],
}

impl<'a> Parser<'a> {
    fn peek(&self) -> &'a str {
        self.tokens.get(self.at).copied().unwrap_or_default()
    }

    fn after_next(&self) -> &'a str {
        self.tokens.get(self.at + 1).copied().unwrap_or_default()
    }

    fn eat(&mut self, word: &str) -> bool {
        let found = self.peek() == word;
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, word: &'static str) -> Parsed<()> {
        if self.eat(word) { Ok(()) } else { self.fail(word) }
    }

    fn fail<T>(&self, expected: &'static str) -> Parsed<T> {
        Err(Unread { at: self.at, expected })
    }

    fn eat_one_of(&mut self, list: &str) -> bool {
        let found = self.words.is_in(list, self.peek());
        self.at += usize::from(found);
        found
    }

    fn check(&mut self, kind: usize, agrees: bool) {
        if let Some(found) = self.found.get_mut(kind) {
            found.add(agrees);
        }
    }

    fn sentence(&mut self) -> Parsed<()> {
        if self.words.is_in("opener", self.peek()) && self.after_next() == "," {
            self.at += 2;
        }
        if self.eat_one_of("subordinator") {
            self.clause()?;
            self.expect(",")?;
            self.clause()?;
            self.expect(".")?;
        } else if let Some(is) = self.auxiliary(being) {
            self.subject(is)?;
            self.adjective()?;
            self.expect("?")?;
        } else if let Some(does) = self.auxiliary(doing) {
            let subject = self.subject(does)?;
            self.bare_verb(subject)?;
            self.expect("?")?;
        } else if self.eat("who") {
            self.predicate(Subject::SOMEBODY)?;
            self.expect("?")?;
        } else {
            self.clause()?;
            if self.eat(",") {
                if !self.eat_one_of("linker") {
                    return self.fail("a linker");
                }
                self.clause()?;
            } else if self.eat_one_of("subordinator") {
                self.clause()?;
            }
            self.expect(".")?;
        }
        if self.at == self.tokens.len() { Ok(()) } else { self.fail("the end") }
    }

    fn auxiliary(&mut self, of: fn(&str) -> Option<Auxiliary>) -> Option<Auxiliary> {
        let found = of(self.peek());
        self.at += usize::from(found.is_some());
        found
    }

    /// A verb with its subject: number, and the tense of the verb before.
    fn check_verb(&mut self, agrees: bool, tense: Option<Tense>) {
        let goes_on = self.tense.is_none() || tense.is_none() || self.tense == tense;
        self.check(VERBS, agrees && goes_on);
        self.tense = tense.or(self.tense);
    }

    fn check_auxiliary(&mut self, auxiliary: Auxiliary, number: Number) {
        let agrees = auxiliary.number.is_none_or(|wanted| wanted == number);
        self.check_verb(agrees, Some(auxiliary.tense));
    }

    fn subject(&mut self, auxiliary: Auxiliary) -> Parsed<Subject> {
        let subject = self.phrase()?;
        self.check_auxiliary(auxiliary, subject.number);
        Ok(subject)
    }

    fn clause(&mut self) -> Parsed<()> {
        if self.eat("there") {
            let Some(is) = self.auxiliary(being) else { return self.fail("is, are, was or were") };
            self.subject(is)?;
            // The phrase takes a place for its own attribute; either reading is fine.
            return self.place();
        }
        let subject = if let Some(subject) = self.pronoun(&SUBJECTS) {
            subject
        } else if let Some(subject) = self.possessed()? {
            subject
        } else {
            let one = self.phrase()?;
            if self.eat("and") {
                self.phrase()?;
                Subject::SEVERAL
            } else {
                one
            }
        };
        self.predicate(subject)
    }

    fn pronoun(&mut self, forms: &[&str; 4]) -> Option<Subject> {
        let class = forms.iter().position(|form| *form == self.peek())?;
        self.at += 1;
        Some(Subject { number: if class == PLURAL { Many } else { One }, class: Some(class) })
    }

    /// `his house`; `her` alone is left for the caller.
    fn possessed(&mut self) -> Parsed<Option<Subject>> {
        if !POSSESSIVES.contains(&self.peek()) || !self.words.nouns.contains_key(self.after_next()) {
            return Ok(None);
        }
        self.at += 1;
        self.noun().map(Some)
    }

    fn noun(&mut self) -> Parsed<Subject> {
        let Some(noun) = self.words.nouns.get(self.peek()) else { return self.fail("a noun") };
        self.at += 1;
        Ok(Subject { number: noun.number, class: noun.pronoun })
    }

    fn starts_phrase(&self) -> bool {
        let word = self.peek();
        word == "the" || determiner(word).is_some() || self.words.names.contains(word)
    }

    fn phrase(&mut self) -> Parsed<Subject> {
        if self.words.names.contains(self.peek()) {
            let name = self.noun()?;
            if self.peek() == "," && self.after_next() == "who" {
                self.at += 2;
                self.predicate(Subject::SOMEBODY)?;
                self.expect(",")?;
            }
            return Ok(name);
        }
        let first = self.peek();
        let mut wanted = determiner(first);
        if wanted.is_some() || first == "the" {
            self.at += 1;
        } else {
            // No determiner at all: plural, and begun by an adjective.
            wanted = Some(Many);
        }
        if matches!(first, "a" | "an") {
            let has_vowel = self.peek().starts_with(['a', 'e', 'i', 'o', 'u']);
            self.check(DETERMINERS, has_vowel == (first == "an"));
        }
        self.eat_one_of("adjective");
        if self.words.names.contains(self.peek()) {
            return self.fail("a common noun");
        }
        let noun = self.noun()?;
        if let Some(wanted) = wanted {
            self.check(DETERMINERS, wanted == noun.number);
        }
        match self.peek() {
            "who" | "whom" | "which" | "that" => self.relative(noun)?,
            "with" => {
                self.at += 1;
                self.phrase()?;
            }
            _ => self.place()?,
        }
        Ok(noun)
    }

    fn deeper(&mut self) {
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
    }

    fn relative(&mut self, head: Subject) -> Parsed<()> {
        self.deeper();
        let word = self.peek();
        self.at += 1;
        let object_first =
            word == "whom" || word == "that" && (self.starts_phrase() || SUBJECTS.contains(&self.peek()));
        if object_first {
            let subject = match self.pronoun(&SUBJECTS) {
                Some(subject) => subject,
                None => self.phrase()?,
            };
            if self.verb(subject.number)? != Takes::Object {
                return self.fail("a verb with an object before");
            }
        } else {
            self.predicate(head)?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// A finite verb.
    fn verb(&mut self, number: Number) -> Parsed<Takes> {
        let Some(form) = self.words.verbs.get(self.peek()).copied() else { return self.fail("a verb") };
        self.at += 1;
        self.check_verb(form.agrees(number), form.tense(number));
        Ok(form.takes)
    }

    /// A verb after a form of `do`.
    fn bare_verb(&mut self, subject: Subject) -> Parsed<()> {
        let Some(form) = self.words.verbs.get(self.peek()).copied() else { return self.fail("a verb") };
        self.at += 1;
        self.check(VERBS, form.is_base);
        if form.takes == Takes::Object { self.object(subject) } else { Ok(()) }
    }

    fn predicate(&mut self, subject: Subject) -> Parsed<()> {
        if let Some(is) = self.auxiliary(being) {
            self.check_auxiliary(is, subject.number);
            return if self.words.is_in("preposition", self.peek()) { self.place() } else { self.adjective() };
        }
        if let Some(does) = self.auxiliary(doing) {
            self.check_auxiliary(does, subject.number);
            self.expect("not")?;
            return self.bare_verb(subject);
        }
        match self.verb(subject.number)? {
            Takes::Clause => {
                self.deeper();
                self.eat("that");
                self.clause()?;
                self.depth -= 1;
            }
            Takes::Object => {
                self.object(subject)?;
                self.place()?;
                self.eat_one_of("adverb");
            }
            Takes::Nothing => {
                if self.peek() == "and" && self.words.verbs.contains_key(self.after_next()) {
                    self.at += 1;
                    self.verb(subject.number)?;
                }
                self.eat_one_of("adverb");
                self.place()?;
            }
        }
        Ok(())
    }

    fn object(&mut self, subject: Subject) -> Parsed<()> {
        let reflexive = match self.peek() {
            "each" if self.after_next() == "other" => {
                self.at += 2;
                Some(Subject::SEVERAL)
            }
            _ => self.pronoun(&REFLEXIVES),
        };
        if let Some(reflexive) = reflexive {
            let is_same = subject.class.is_none() || subject.class == reflexive.class;
            self.check(PRONOUNS, is_same && subject.number == reflexive.number);
            return Ok(());
        }
        if self.possessed()?.is_none() && self.pronoun(&OBJECTS).is_none() {
            self.phrase()?;
        }
        Ok(())
    }

    fn adjective(&mut self) -> Parsed<()> {
        self.eat_one_of("degree");
        if self.eat_one_of("adjective") { Ok(()) } else { self.fail("an adjective") }
    }

    fn place(&mut self) -> Parsed<()> {
        while self.eat_one_of("preposition") {
            self.phrase()?;
        }
        Ok(())
    }
}
