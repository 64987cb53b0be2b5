use super::compile::Grammar;
use super::lexicon::Word;

/// A word as it stands in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Surface {
    pub(super) word: Word,
    /// Whether its first letter is a capital although the word is not a name.
    pub(super) is_capital: bool,
}

impl Grammar {
    /// The word's letters, without capital.
    pub(super) fn letters(&self, surface: Surface) -> &str {
        self.words.get(surface.word as usize).map_or("", String::as_str)
    }

    /// Whether it is a word rather than a punctuation mark.
    pub(crate) fn is_word(&self, surface: Surface) -> bool {
        self.letters(surface).starts_with(char::is_alphabetic)
    }
}

/// Appends the text of `tokens`: words with blanks between, punctuation close to the word before.
pub(crate) fn join(grammar: &Grammar, tokens: &[Surface], text: &mut String) {
    for (index, token) in tokens.iter().enumerate() {
        let letters = grammar.letters(*token);
        if index > 0 && grammar.is_word(*token) {
            text.push(' ');
        }
        let mut rest = letters.chars();
        match rest.next() {
            Some(first) if token.is_capital => text.extend(first.to_uppercase()),
            Some(first) => text.push(first),
            None => {}
        }
        text.push_str(rest.as_str());
    }
}
