//! Reading of documents sentence by sentence.

use super::{
    Agreement, Checker,
    sentence::{Before, Sentence},
};

impl Checker {
    /// Reads a document from its beginning. Of a sentence that the grammar does not have, what agrees is counted up to
    /// where it goes wrong; a last sentence without an end is left out.
    pub fn read(&self, document: &str) -> Agreement {
        let mut found = Agreement::default();
        let mut before = Before::Beginning;
        for text in document.split_inclusive(['.', '?']) {
            if !text.ends_with(['.', '?']) {
                break;
            }
            let words = words_of(text);
            let sentence = Sentence::read(&self.words, &words.iter().map(String::as_str).collect::<Vec<_>>(), &before);
            found.add(&sentence.agreement());
            before = Before::Sentence(sentence.mentions);
        }
        found
    }
}

/// Words and punctuation marks in small letters.
pub(super) fn words_of(text: &str) -> Vec<String> {
    let spaced = text.to_lowercase().replace(',', " , ").replace('.', " . ").replace('?', " ? ");
    spaced.split_whitespace().map(str::to_owned).collect()
}
