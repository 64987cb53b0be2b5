//! Reads generated text with a small parser of its own, which knows the words of the TOML file but none of its
//! rules, and checks agreement.

use std::collections::{HashMap, HashSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    One,
    Many,
}
use Number::{Many, One};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Alone,
    WithObject,
    WithClause,
}

pub(super) struct Checker {
    /// Number and pronoun class (`he`, `she`, `it`, `they`, or none) of each noun and name.
    nouns: HashMap<String, (Number, &'static str)>,
    names: HashSet<String>,
    base: HashMap<String, Verb>,
    third: HashMap<String, Verb>,
    past: HashMap<String, Verb>,
    lists: HashMap<String, HashSet<String>>,
}

/// What was found beside agreement.
#[derive(Default)]
pub(super) struct Report {
    pub(super) sentences: usize,
    pub(super) deepest: usize,
    pub(super) pronouns: usize,
    pub(super) reflexives: usize,
    pub(super) questions: usize,
    /// Verbs whose number was checked.
    pub(super) verbs: usize,
}

const SUBJECTS: [&str; 4] = ["he", "she", "it", "they"];
const OBJECTS: [&str; 4] = ["him", "her", "it", "them"];
const POSSESSIVES: [&str; 4] = ["his", "her", "its", "their"];
const ONLY_ONE: [&str; 7] = ["a", "an", "this", "every", "each", "one", "another"];
const ONLY_MANY: [&str; 12] =
    ["these", "those", "some", "many", "few", "several", "all", "two", "three", "four", "five", "most"];

impl Checker {
    pub(super) fn new(grammar: &str) -> Self {
        let table: toml::Table = grammar.parse().unwrap();
        let strings = |value: &toml::Value| -> Vec<String> {
            value.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
        };
        let mut checker = Self {
            nouns: HashMap::new(),
            names: HashSet::new(),
            base: HashMap::new(),
            third: HashMap::new(),
            past: HashMap::new(),
            lists: table["words"]
                .as_table()
                .unwrap()
                .iter()
                .map(|(name, words)| (name.clone(), strings(words).into_iter().collect()))
                .collect(),
        };
        for (list, class) in [("masculine", "he"), ("feminine", "she")] {
            for name in strings(&table["names"][list]) {
                checker.nouns.insert(name.clone(), (One, class));
                checker.names.insert(name);
            }
        }
        let mut adjectives = HashSet::new();
        for topic in table["topics"].as_table().unwrap().values() {
            let kinds = [("masculine", "he"), ("feminine", "she"), ("person", ""), ("animal", "it"), ("thing", "it")];
            for (list, class) in kinds {
                for noun in strings(&topic[list]) {
                    let (one, many) = noun.split_once(' ').unwrap();
                    assert!(one != many, "{noun}: number must show");
                    checker.nouns.insert(one.to_owned(), (One, class));
                    checker.nouns.insert(many.to_owned(), (Many, "they"));
                }
            }
            let classes = [
                ("iverb", Verb::Alone),
                ("thingverb", Verb::Alone),
                ("tverb", Verb::WithObject),
                ("sverb", Verb::WithClause),
            ];
            for (list, class) in classes {
                for verb in strings(&topic[list]) {
                    let forms: Vec<&str> = verb.split(' ').collect();
                    for (map, form) in [&mut checker.base, &mut checker.third, &mut checker.past].into_iter().zip(forms)
                    {
                        let known = map.insert(form.to_owned(), class);
                        assert!(known.is_none_or(|known| known == class), "{form} is in two classes");
                    }
                }
            }
            adjectives.extend(strings(&topic["adjective"]));
        }
        checker.lists.insert("adjective".to_owned(), adjectives);
        for form in checker.base.keys().chain(checker.third.keys()).chain(checker.past.keys()) {
            assert!(!checker.nouns.contains_key(form), "{form} is a noun and a verb");
        }
        checker
    }

    /// Checks a document; the error is the sentence and what is wrong with it.
    pub(super) fn check(&self, document: &str, report: &mut Report) -> Result<(), String> {
        let mut before: Option<Sentence> = None;
        for text in document.split_inclusive(['.', '?']).map(str::trim).filter(|text| !text.is_empty()) {
            let sentence = Sentence::new(self, text);
            let parsed = sentence.parse();
            let sentence = parsed.map_err(|why| format!("{text}\n  {why}"))?;
            sentence.look_back(before.as_ref()).map_err(|why| format!("{text}\n  {why}"))?;
            report.sentences += 1;
            report.deepest = report.deepest.max(sentence.deepest);
            report.pronouns += sentence.pronouns.len();
            report.verbs += sentence.verbs;
            report.reflexives += usize::from(text.contains("sel"));
            report.questions += usize::from(text.ends_with('?'));
            before = Some(sentence);
        }
        Ok(())
    }
}

struct Sentence<'a> {
    words: &'a Checker,
    tokens: Vec<String>,
    at: usize,
    depth: usize,
    deepest: usize,
    verbs: usize,
    /// Nouns and names with their pronoun class.
    nouns: Vec<(String, &'static str)>,
    /// Pronouns by class.
    pronouns: Vec<&'static str>,
}

type Checked<T> = Result<T, String>;

impl<'a> Sentence<'a> {
    fn new(words: &'a Checker, text: &str) -> Self {
        let spaced = text.replace(',', " ,").replace('.', " .").replace('?', " ?");
        let mut tokens: Vec<String> = spaced.split(' ').map(str::to_owned).collect();
        if !words.names.contains(&tokens[0]) {
            tokens[0] = tokens[0].to_lowercase();
        }
        Self { words, tokens, at: 0, depth: 0, deepest: 0, verbs: 0, nouns: vec![], pronouns: vec![] }
    }

    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", String::as_str)
    }

    fn eat(&mut self, word: &str) -> bool {
        let found = self.peek() == word;
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, word: &str) -> Checked<()> {
        if self.eat(word) { Ok(()) } else { self.fail(&format!("expected `{word}`")) }
    }

    fn fail<T>(&self, why: &str) -> Checked<T> {
        Err(format!("{why} at word {} `{}`", self.at, self.peek()))
    }

    fn eat_one_of(&mut self, list: &str) -> bool {
        let found = self.words.lists[list].contains(self.peek());
        self.at += usize::from(found);
        found
    }

    fn parse(mut self) -> Checked<Self> {
        if self.words.lists["opener"].contains(self.peek())
            && self.tokens.get(self.at + 1).is_some_and(|next| next == ",")
        {
            self.at += 2;
        }
        if self.eat_one_of("subordinator") {
            self.clause()?;
            self.expect(",")?;
            self.clause()?;
            self.expect(".")?;
        } else if let Some(number) = self.auxiliary(&["is", "was"], &["are", "were"]) {
            self.subject(number)?;
            self.adjective()?;
            self.expect("?")?;
        } else if let Some(number) = self.auxiliary(&["does", "did"], &["do", "did"]) {
            self.subject(number)?;
            self.bare_verb()?;
            self.expect("?")?;
        } else if self.eat("who") {
            self.predicate(One)?;
            self.expect("?")?;
        } else {
            self.clause()?;
            if self.eat(",") {
                if !self.eat_one_of("linker") {
                    return self.fail("expected a linker");
                }
                self.clause()?;
            } else if self.eat_one_of("subordinator") {
                self.clause()?;
            }
            self.expect(".")?;
        }
        if self.at == self.tokens.len() { Ok(self) } else { self.fail("expected the end") }
    }

    /// The numbers that an auxiliary agrees with; `did` and the like agree with both.
    fn auxiliary(&mut self, one: &[&str], many: &[&str]) -> Option<&'static [Number]> {
        let word = self.peek();
        let found: Option<&'static [Number]> = match (one.contains(&word), many.contains(&word)) {
            (true, true) => Some(&[One, Many]),
            (true, false) => Some(&[One]),
            (false, true) => Some(&[Many]),
            (false, false) => None,
        };
        self.at += usize::from(found.is_some());
        found
    }

    fn subject(&mut self, wanted: &[Number]) -> Checked<()> {
        let number = self.phrase()?;
        if wanted.contains(&number) { Ok(()) } else { self.fail("the auxiliary disagrees before") }
    }

    fn clause(&mut self) -> Checked<()> {
        if self.eat("there") {
            let Some(wanted) = self.auxiliary(&["is", "was"], &["are", "were"]) else {
                return self.fail("expected is, are, was, were");
            };
            self.subject(wanted)?;
            // The phrase takes a place for its own attribute; either reading is fine.
            self.place()?;
            return Ok(());
        }
        let number = if let Some(number) = self.pronoun(&SUBJECTS) {
            number
        } else if let Some(number) = self.possessed()? {
            number
        } else {
            let one = self.phrase()?;
            if self.eat("and") {
                self.phrase()?;
                Many
            } else {
                one
            }
        };
        self.predicate(number)
    }

    fn pronoun(&mut self, forms: &[&str; 4]) -> Option<Number> {
        let index = forms.iter().position(|form| *form == self.peek())?;
        self.at += 1;
        self.pronouns.push(SUBJECTS[index]);
        Some(if index == 3 { Many } else { One })
    }

    /// `his house`; `her` alone is left for the caller.
    fn possessed(&mut self) -> Checked<Option<Number>> {
        if !POSSESSIVES.contains(&self.peek())
            || !self.tokens.get(self.at + 1).is_some_and(|next| self.words.nouns.contains_key(next))
        {
            return Ok(None);
        }
        self.pronoun(&POSSESSIVES);
        self.noun().map(Some)
    }

    fn noun(&mut self) -> Checked<Number> {
        let Some((number, class)) = self.words.nouns.get(self.peek()).copied() else {
            return self.fail("expected a noun");
        };
        self.nouns.push((self.peek().to_owned(), class));
        self.at += 1;
        Ok(number)
    }

    fn starts_phrase(&self) -> bool {
        let word = self.peek();
        word == "the" || ONLY_ONE.contains(&word) || ONLY_MANY.contains(&word) || self.words.names.contains(word)
    }

    fn phrase(&mut self) -> Checked<Number> {
        if self.words.names.contains(self.peek()) {
            self.noun()?;
            if self.peek() == "," && self.tokens.get(self.at + 1).is_some_and(|next| next == "who") {
                self.at += 2;
                self.predicate(One)?;
                self.expect(",")?;
            }
            return Ok(One);
        }
        let determiner = self.peek().to_owned();
        let wanted = match determiner.as_str() {
            "the" => None,
            word if ONLY_ONE.contains(&word) => Some(One),
            word if ONLY_MANY.contains(&word) => Some(Many),
            // No determiner at all: plural, and begun by an adjective.
            _ => {
                self.at = self.at.wrapping_sub(1);
                Some(Many)
            }
        };
        self.at = self.at.wrapping_add(1);
        let vowel = self.peek().starts_with(['a', 'e', 'i', 'o', 'u']);
        if (determiner == "a" && vowel) || (determiner == "an" && !vowel) {
            return self.fail("a or an is wrong before");
        }
        self.eat_one_of("adjective");
        let number = self.noun()?;
        if wanted.is_some_and(|wanted| wanted != number) {
            return self.fail("the determiner disagrees before");
        }
        match self.peek() {
            "who" | "whom" | "which" | "that" => self.relative(number)?,
            "with" => {
                self.at += 1;
                self.phrase()?;
            }
            _ => self.place()?,
        }
        Ok(number)
    }

    fn deeper(&mut self) {
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
    }

    fn relative(&mut self, head: Number) -> Checked<()> {
        self.deeper();
        let word = self.peek().to_owned();
        self.at += 1;
        let object_first =
            word == "whom" || word == "that" && (self.starts_phrase() || SUBJECTS.contains(&self.peek()));
        if object_first {
            let number = match self.pronoun(&SUBJECTS) {
                Some(number) => number,
                None => self.phrase()?,
            };
            if self.verb(number)? != Verb::WithObject {
                return self.fail("the verb before takes no object");
            }
        } else {
            self.predicate(head)?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// A finite verb that agrees with `number`.
    fn verb(&mut self, number: Number) -> Checked<Verb> {
        let right = if number == One { &self.words.third } else { &self.words.base };
        let Some(class) = right.get(self.peek()).or_else(|| self.words.past.get(self.peek())).copied() else {
            return self.fail(&format!("expected a verb for {number:?}"));
        };
        self.at += 1;
        self.verbs += 1;
        Ok(class)
    }

    fn bare_verb(&mut self) -> Checked<()> {
        let Some(class) = self.words.base.get(self.peek()).copied() else { return self.fail("expected a base form") };
        self.at += 1;
        if class == Verb::WithObject { self.object(None) } else { Ok(()) }
    }

    fn predicate(&mut self, number: Number) -> Checked<()> {
        if let Some(wanted) = self.auxiliary(&["is", "was"], &["are", "were"]) {
            if !wanted.contains(&number) {
                return self.fail("`be` disagrees before");
            }
            self.verbs += 1;
            if self.words.lists["preposition"].contains(self.peek()) {
                return self.place();
            }
            return self.adjective();
        }
        if let Some(wanted) = self.auxiliary(&["does", "did"], &["do", "did"]) {
            if !wanted.contains(&number) {
                return self.fail("`do` disagrees before");
            }
            self.verbs += 1;
            self.expect("not")?;
            return self.bare_verb();
        }
        match self.verb(number)? {
            Verb::WithClause => {
                self.deeper();
                self.eat("that");
                self.clause()?;
                self.depth -= 1;
            }
            Verb::WithObject => {
                self.object(Some(number))?;
                self.place()?;
                self.eat_one_of("adverb");
            }
            Verb::Alone => {
                let next_is_verb = self.tokens.get(self.at + 1).is_some_and(|next| {
                    [&self.words.base, &self.words.third, &self.words.past].iter().any(|map| map.contains_key(next))
                });
                if self.peek() == "and" && next_is_verb {
                    self.at += 1;
                    self.verb(number)?;
                }
                self.eat_one_of("adverb");
                self.place()?;
            }
        }
        Ok(())
    }

    fn object(&mut self, subject: Option<Number>) -> Checked<()> {
        let reflexive = match self.peek() {
            "himself" | "herself" | "itself" => Some(One),
            "themselves" => Some(Many),
            "each" if self.tokens.get(self.at + 1).is_some_and(|next| next == "other") => {
                self.at += 1;
                Some(Many)
            }
            _ => None,
        };
        if reflexive.is_some() {
            self.at += 1;
            return if reflexive == subject { Ok(()) } else { self.fail("the reflexive disagrees before") };
        }
        if self.possessed()?.is_none() && self.pronoun(&OBJECTS).is_none() {
            self.phrase()?;
        }
        Ok(())
    }

    fn adjective(&mut self) -> Checked<()> {
        self.eat_one_of("degree");
        if self.eat_one_of("adjective") { Ok(()) } else { self.fail("expected an adjective") }
    }

    fn place(&mut self) -> Checked<()> {
        while self.eat_one_of("preposition") {
            self.phrase()?;
        }
        Ok(())
    }

    /// Every pronoun's class is in the sentence before, with one noun at most.
    fn look_back(&self, before: Option<&Self>) -> Checked<()> {
        for class in &self.pronouns {
            let Some(before) = before else { return Err(format!("`{class}` in the first sentence")) };
            let nouns: HashSet<&String> =
                before.nouns.iter().filter(|(_, other)| other == class).map(|(noun, _)| noun).collect();
            if nouns.is_empty() && !before.pronouns.contains(class) {
                return Err(format!("`{class}` has no antecedent in: {}", before.tokens.join(" ")));
            }
            if nouns.len() > 1 {
                return Err(format!("`{class}` could be any of {nouns:?}"));
            }
        }
        Ok(())
    }
}
