//! From text to tokens.

use std::ops::Range;

use super::{FilterError, Operator};

/// A word that begins so names a tag.
const TAG: &str = "tag:";

/// A token and its bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Where it stands.
    pub at: Range<usize>,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A bare word: a field, a number, a search word, `and`, `or`, `not`.
    Word(String),
    /// A word in quotes.
    Quoted(String),
    /// A comparison.
    Operator(Operator),
    /// `(`
    Open,
    /// `)`
    Close,
}

/// Cuts a filter into tokens.
pub fn tokens(text: &str) -> Result<Vec<Token>, FilterError> {
    let mut found = Vec::new();
    let mut letters = text.char_indices().peekable();
    while let Some((start, letter)) = letters.next() {
        let mut end = start + letter.len_utf8();
        let kind = match letter {
            _ if letter.is_whitespace() => continue,
            '(' => Kind::Open,
            ')' => Kind::Close,
            '"' | '\'' => {
                let mut inner = String::new();
                let mut closed = false;
                while let Some((at, next)) = letters.next() {
                    end = at + next.len_utf8();
                    match next {
                        '\\' if letters.peek().is_some_and(|(_, after)| *after == letter || *after == '\\') => {
                            inner.extend(letters.next().map(|(_, after)| after));
                        }
                        _ if next == letter => {
                            closed = true;
                            break;
                        }
                        _ => inner.push(next),
                    }
                }
                if !closed {
                    return Err(FilterError::new(
                        start..end,
                        format!("This quote is not closed. Add {letter} at its end."),
                    ));
                }
                Kind::Quoted(inner)
            }
            '<' | '>' | '=' | '!' | '~' => {
                let equals = letters.peek().is_some_and(|(_, next)| *next == '=');
                let operator = match (letter, equals) {
                    ('<', true) => Operator::AtMost,
                    ('<', false) => Operator::Less,
                    ('>', true) => Operator::AtLeast,
                    ('>', false) => Operator::More,
                    ('!', true) => Operator::Unequal,
                    ('!', false) => {
                        return Err(FilterError::new(start..end, "\"!\" alone means nothing. Write != or `not`."));
                    }
                    ('=', _) => Operator::Equal,
                    _ => Operator::Contains,
                };
                if equals && letter != '~' {
                    letters.next();
                    end += 1;
                }
                Kind::Operator(operator)
            }
            _ => {
                let mut word = String::from(letter);
                while let Some((_, next)) = letters.next_if(|(_, next)| is_word(*next)) {
                    word.push(next);
                    end += next.len_utf8();
                }
                Kind::Word(word)
            }
        };
        match kind {
            // As many write it.
            Kind::Word(word) if word.starts_with(TAG) && word.len() > TAG.len() => {
                let (field, mark) = (start + TAG.len() - 1, start + TAG.len());
                found.push(Token { kind: Kind::Word(TAG.trim_end_matches(':').to_owned()), at: start..field });
                found.push(Token { kind: Kind::Operator(Operator::Equal), at: field..mark });
                found.push(Token { kind: Kind::Word(word[TAG.len()..].to_owned()), at: mark..end });
            }
            kind => found.push(Token { kind, at: start..end }),
        }
    }
    Ok(found)
}

fn is_word(letter: char) -> bool {
    !letter.is_whitespace() && !"()<>=!~\"'".contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        tokens(text).unwrap().into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn blanks_do_not_matter_and_quotes_keep_them() {
        assert_eq!(kinds("loss<=2"), kinds(" loss  <= 2 "));
        assert_eq!(
            kinds("name=\"a \\\"b\\\" c\""),
            [Kind::Word("name".to_owned()), Kind::Operator(Operator::Equal), Kind::Quoted("a \"b\" c".to_owned()),]
        );
        assert_eq!(kinds("a==b"), kinds("a=b"));
    }

    #[test]
    fn places_are_bytes_of_the_text() {
        let found = tokens("é loss>1").unwrap();
        assert_eq!(found[1].at, 3..7);
        assert_eq!(&"é loss>1"[found[2].at.clone()], ">");
    }

    #[test]
    fn a_tag_may_be_written_with_a_colon() {
        assert_eq!(kinds("tag:race:long"), kinds("tag=race:long"));
        assert_eq!(kinds("loss<2 and tag:x"), kinds("loss<2 and tag=x"));
        let places: Vec<Range<usize>> = tokens("a tag:x").unwrap().into_iter().map(|token| token.at).collect();
        assert_eq!(places, [0..1, 2..5, 5..6, 6..7]);
        assert_eq!(kinds("tag:"), [Kind::Word("tag:".to_owned())]);
        assert_eq!(kinds("race:long"), [Kind::Word("race:long".to_owned())]);
    }

    #[test]
    fn an_open_quote_and_a_lone_mark_are_errors_in_their_place() {
        assert_eq!(tokens("a = \"b").unwrap_err().at, 4..6);
        assert!(tokens("a ! b").unwrap_err().message.contains("!="));
    }
}
