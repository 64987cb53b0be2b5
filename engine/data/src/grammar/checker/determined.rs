use std::ops::Range;

use super::{
    Checker,
    sentence::{Before, Sentence},
    words::{Words, determiner},
};

/// More fillings of the hidden words of two sentences are not tried: such words count as not determined.
const MOST_FILLINGS: usize = 1024;

/// A part of a document, in words and punctuation marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    words: Vec<String>,
    begins: bool,
}

impl Passage {
    /// Words in their order. `begins` says that the document begins with the first of them.
    pub fn new(words: &[String], begins: bool) -> Self {
        Self { words: words.iter().map(|word| word.to_lowercase()).collect(), begins }
    }

    /// Whole sentences, each with the one before it, where that is whole too.
    fn sentences(&self) -> Vec<(Context, Range<usize>)> {
        let mut found = Vec::new();
        let mut context = if self.begins { Context::Beginning } else { Context::Unknown };
        let (mut from, mut is_whole) = (0, self.begins);
        for (at, word) in self.words.iter().enumerate() {
            if matches!(word.as_str(), "." | "?") {
                let range = from..at + 1;
                if is_whole {
                    found.push((context, range.clone()));
                    context = Context::Sentence(range);
                }
                (from, is_whole) = (at + 1, true);
            }
        }
        found
    }

    fn words(&self, range: &Range<usize>) -> Vec<&str> {
        self.words.get(range.clone()).unwrap_or_default().iter().map(String::as_str).collect()
    }
}

/// What stands before a sentence of a passage.
#[derive(Clone, Debug)]
enum Context {
    Beginning,
    Unknown,
    Sentence(Range<usize>),
}

impl Checker {
    /// The hidden words that the grammar determines: those that can stand in no other of their own forms, whatever the
    /// other hidden words are. Forms are those by which words agree: of nouns the two numbers, of verbs number and tense,
    /// of pronouns all of them. A word is judged in its sentence after the one before; where its sentence is not whole, it
    /// is not judged.
    pub fn determined(&self, passage: &Passage, hidden: &[bool]) -> Vec<usize> {
        let is_hidden = |at: &usize| hidden.get(*at).copied().unwrap_or(false);
        let mut found = Vec::new();
        for (context, range) in passage.sentences() {
            let own: Vec<usize> = range.clone().filter(is_hidden).collect();
            let candidates: Vec<usize> =
                own.iter().copied().filter(|at| !self.forms_at(passage, *at).is_empty()).collect();
            if candidates.is_empty() {
                continue;
            }
            let before = if let Context::Sentence(range) = &context { range.clone() } else { 0..0 };
            let earlier: Vec<usize> = before.filter(is_hidden).collect();
            found.extend(self.determined_in(passage, (&context, &range), (&earlier, &own), candidates));
        }
        found
    }

    fn determined_in(
        &self,
        passage: &Passage,
        (context, range): (&Context, &Range<usize>),
        (earlier, own): (&[usize], &[usize]),
        mut candidates: Vec<usize>,
    ) -> Vec<usize> {
        let fillings = |places: &[usize]| -> Vec<Vec<&str>> {
            places.iter().map(|at| self.words.fillings(passage.words.get(*at).map_or("", String::as_str))).collect()
        };
        let (earlier_words, own_words) = (fillings(earlier), fillings(own));
        let count = |words: &[Vec<&str>]| words.iter().fold(1_usize, |all, some| all.saturating_mul(some.len()));
        let (outer, inner) = (count(&earlier_words), count(&own_words));
        if outer.saturating_mul(inner) > MOST_FILLINGS {
            return Vec::new();
        }
        let mut tokens = passage.words(range);
        // The words as they are.
        let Some(before) = self.before(passage, context, (&[], &[], 0)) else { return Vec::new() };
        if !Sentence::read(&self.words, &tokens, &before).is_right() {
            return Vec::new();
        }
        for outer in 0..outer {
            let Some(before) = self.before(passage, context, (earlier, &earlier_words, outer)) else { continue };
            for inner in 0..inner {
                fill(&mut tokens, range.start, own, &own_words, inner);
                // What is as it was tells nothing.
                if !candidates.iter().any(|at| self.is_other_form(passage, *at, &tokens, range)) {
                    continue;
                }
                if Sentence::read(&self.words, &tokens, &before).is_right() {
                    candidates.retain(|at| !self.is_other_form(passage, *at, &tokens, range));
                }
            }
        }
        candidates
    }

    /// Whether in the place of a word there is another form of it.
    fn is_other_form(&self, passage: &Passage, at: usize, tokens: &[&str], range: &Range<usize>) -> bool {
        let (Some(word), Some(there)) = (passage.words.get(at), tokens.get(at - range.start)) else { return false };
        word != there && self.words.forms(word).iter().any(|form| form == there)
    }

    fn forms_at(&self, passage: &Passage, at: usize) -> &[String] {
        passage.words.get(at).map_or(&[], |word| self.words.forms(word))
    }

    /// What stands before a sentence with one filling of its hidden words; none where the grammar refuses it.
    fn before(
        &self,
        passage: &Passage,
        context: &Context,
        (hidden, words, number): (&[usize], &[Vec<&str>], usize),
    ) -> Option<Before> {
        let range = match context {
            Context::Beginning => return Some(Before::Beginning),
            Context::Unknown => return Some(Before::Unknown),
            Context::Sentence(range) => range,
        };
        let mut tokens = passage.words(range);
        fill(&mut tokens, range.start, hidden, words, number);
        let sentence = Sentence::read(&self.words, &tokens, &Before::Unknown);
        sentence.is_right().then_some(Before::Sentence(sentence.mentions))
    }

    /// Whether a word in the place of a determined one has the right form: the grammar allows it there, and no other form of
    /// it. It need not be the same word.
    pub fn has_right_form(&self, passage: &Passage, at: usize, word: &str) -> bool {
        let word = word.to_lowercase();
        let Some((context, range)) = passage.sentences().into_iter().find(|(_, range)| range.contains(&at)) else {
            return false;
        };
        let Some(before) = self.before(passage, &context, (&[], &[], 0)) else { return false };
        let tokens = passage.words(&range);
        let agrees = |word: &str| {
            let mut filled = tokens.clone();
            if let Some(place) = filled.get_mut(at - range.start) {
                *place = word;
            }
            Sentence::read(&self.words, &filled, &before).is_right()
        };
        let forms = self.words.forms(&word);
        !forms.is_empty() && agrees(&word) && forms.iter().all(|form| *form == word || !agrees(form))
    }
}

impl Words {
    /// What may stand in the place of a hidden word as far as agreement goes: its forms, and of what is spoken of
    /// something of each other kind.
    fn fillings<'a>(&'a self, word: &'a str) -> Vec<&'a str> {
        let mut found = vec![word];
        found.extend(self.forms(word).iter().map(String::as_str).filter(|form| *form != word));
        if self.names.contains(word) {
            found.extend(self.others_than(word, true));
            found.push("they");
        } else if self.nouns.contains_key(word) {
            found.extend(self.others_than(word, false));
        } else if determiner(word).is_some() {
            found.push("the");
        }
        found
    }
}

/// Puts filling `number` of the hidden words in their places; `tokens` begin with word `first`.
fn fill<'a>(tokens: &mut [&'a str], first: usize, hidden: &[usize], words: &[Vec<&'a str>], mut number: usize) {
    for (at, words) in hidden.iter().zip(words) {
        if let (Some(token), Some(word)) = (tokens.get_mut(at - first), words.get(number % words.len().max(1))) {
            *token = word;
        }
        number /= words.len().max(1);
    }
}
