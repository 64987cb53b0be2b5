//! Words of texts as `sacreBLEU` cuts them, by the names of its `--tokenize`.

use std::{fmt, str::FromStr, sync::LazyLock};

use regex::Regex;
use serde::{Deserialize, Serialize};

/// Cutting of texts into words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Words {
    /// As `mteval-v13a` does; see [`tokenize_13a`].
    #[default]
    #[serde(rename = "13a")]
    Mteval13a,
    /// As `mteval-v14` does: at punctuation and symbols of all scripts; see [`tokenize_intl`].
    #[serde(rename = "intl")]
    International,
    /// Chinese characters one by one, the rest as `mteval-v13a` does; see [`tokenize_zh`].
    #[serde(rename = "zh")]
    Chinese,
    /// Characters one by one.
    #[serde(rename = "char")]
    Characters,
    /// At white space alone, for text that is cut already.
    #[serde(rename = "none")]
    WhiteSpace,
}

/// Names that [`Words`] has here.
const NAMES: [(&str, Words); 5] = [
    ("13a", Words::Mteval13a),
    ("intl", Words::International),
    ("zh", Words::Chinese),
    ("char", Words::Characters),
    ("none", Words::WhiteSpace),
];

impl Words {
    /// Words of a text.
    pub fn of(self, text: &str) -> Vec<String> {
        match self {
            Self::Mteval13a => tokenize_13a(text),
            Self::International => tokenize_intl(text),
            Self::Chinese => tokenize_zh(text),
            Self::Characters => {
                text.chars().filter(|letter| !is_space(*letter)).map(|letter| letter.to_string()).collect()
            }
            Self::WhiteSpace => spaced(text),
        }
    }

    /// True where Chinese and Japanese sentences are single words.
    pub fn joins_ideographs(self) -> bool {
        match self {
            Self::Mteval13a | Self::International | Self::WhiteSpace => true,
            Self::Chinese | Self::Characters => false,
        }
    }
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAMES.iter().find(|(_, words)| words == self).map_or("", |(name, _)| name))
    }
}

impl FromStr for Words {
    type Err = WordsError;

    fn from_str(name: &str) -> Result<Self, WordsError> {
        let found = NAMES.iter().find(|(own, _)| *own == name).map(|(_, words)| *words);
        found.ok_or_else(|| match name {
            "ja-mecab" | "ko-mecab" => WordsError::Dictionary { name: name.to_owned() },
            _ => WordsError::Unknown { name: name.to_owned() },
        })
    }
}

/// Reason why words cannot be cut by a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WordsError {
    /// A tokenizer with a dictionary.
    #[error(
        "{name} cuts words with a dictionary of MeCab, which is not part of this program. Take char, or write the translations to a file \
         (--output) and score that with `sacrebleu --tokenize {name}`"
    )]
    Dictionary {
        /// Name.
        name: String,
    },

    /// Another name.
    #[error("`{name}` is none of 13a, intl, zh, char and none, by which words are cut")]
    Unknown {
        /// The name.
        name: String,
    },
}

/// Words of `mteval-v14`: punctuation of all scripts stands alone but between two numbers, and symbols always.
pub fn tokenize_intl(text: &str) -> Vec<String> {
    static STEPS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        let steps =
            [(r"(?s)(\P{N})(\p{P})", "${1} ${2} "), (r"(?s)(\p{P})(\P{N})", " ${1} ${2}"), (r"(?s)(\p{S})", " ${1} ")];
        steps.into_iter().filter_map(|(pattern, by)| Some((Regex::new(pattern).ok()?, by))).collect()
    });
    let cut = STEPS.iter().fold(text.to_owned(), |text, (pattern, by)| pattern.replace_all(&text, *by).into_owned());
    spaced(&cut)
}

/// Chinese characters as `sacreBLEU` has them. Its bounds beyond the basic plane are cut off there, so that U+2001 to U+2A6D, with
/// punctuation, arrows and mathematics, and U+2F81 to U+2FA1 are among them.
fn is_chinese(letter: char) -> bool {
    matches!(letter,
        '\u{2001}'..='\u{2a6d}'
        | '\u{2e80}'..='\u{2fdf}'
        | '\u{2ff0}'..='\u{303f}'
        | '\u{3100}'..='\u{312f}'
        | '\u{31a0}'..='\u{31bf}'
        | '\u{31c0}'..='\u{31ef}'
        | '\u{3200}'..='\u{4db5}'
        | '\u{4e00}'..='\u{9fbb}'
        | '\u{f900}'..='\u{fa2d}'
        | '\u{fa30}'..='\u{fa6a}'
        | '\u{fa70}'..='\u{fad9}'
        | '\u{fe10}'..='\u{fe1f}'
        | '\u{fe30}'..='\u{fe4f}'
        | '\u{ff00}'..='\u{ffef}')
}

/// Words of `sacreBLEU` for Chinese: each Chinese character, and the rest as [`tokenize_13a`] cuts it, without its names of
/// characters (`&amp;`).
pub fn tokenize_zh(text: &str) -> Vec<String> {
    let mut letters: Vec<char> = Vec::with_capacity(2 * text.len());
    for letter in text.trim_matches(is_space).chars() {
        if is_chinese(letter) { letters.extend([' ', letter, ' ']) } else { letters.push(letter) }
    }
    split_symbols(&letters)
}

/// True for characters of Chinese and Japanese, which are written without blanks between words.
pub fn is_ideograph_or_kana(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{323af}')
}

/// White space as `str.split` of Python has it: four control characters more than Unicode's.
pub(super) fn is_space(letter: char) -> bool {
    letter.is_whitespace() || ('\x1c'..='\x1f').contains(&letter)
}

pub(super) fn spaced(text: &str) -> Vec<String> {
    text.split(is_space).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The words of `mteval-v13a`: punctuation and symbols of ASCII stand alone, but periods and commas only where no digit
/// is on both sides, hyphens only after a digit, and apostrophes never.
pub fn tokenize_13a(text: &str) -> Vec<String> {
    let mut text = text.replace("<skipped>", "").replace("-\n", "").replace('\n', " ");
    for (name, letter) in [("&quot;", "\""), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")] {
        text = text.replace(name, letter);
    }
    let framed: Vec<char> = [' '].into_iter().chain(text.chars()).chain([' ']).collect();
    split_symbols(&framed)
}

/// Words of a text whose symbols of ASCII stand alone, and its periods, commas and hyphens as [`tokenize_13a`] has it.
pub(super) fn split_symbols(text: &[char]) -> Vec<String> {
    let is_symbol = |letter: char| matches!(letter, '{'..='~' | '['..='`' | ' '..='&' | '('..='+' | ':'..='@' | '/');
    let mut letters: Vec<char> = Vec::with_capacity(text.len() + 2);
    for letter in text.iter().copied() {
        if is_symbol(letter) { letters.extend([' ', letter, ' ']) } else { letters.push(letter) }
    }
    let is_stop = |letter: char| letter == '.' || letter == ',';
    let letters = pairwise(&letters, |a, b| !a.is_ascii_digit() && is_stop(b), |a, b| [a, ' ', b, ' '].into());
    let letters = pairwise(&letters, |a, b| is_stop(a) && !b.is_ascii_digit(), |a, b| [' ', a, ' ', b].into());
    let letters = pairwise(&letters, |a, b| a.is_ascii_digit() && b == '-', |a, b| [a, ' ', b, ' '].into());
    spaced(&letters.into_iter().collect::<String>())
}

/// Replaces pairs of neighbours, from left to right; no letter is part of two.
fn pairwise(letters: &[char], is_pair: impl Fn(char, char) -> bool, by: impl Fn(char, char) -> Vec<char>) -> Vec<char> {
    let mut replaced = Vec::with_capacity(letters.len() + letters.len() / 4);
    let mut rest = letters;
    while let [a, after @ ..] = rest {
        match after {
            [b, after @ ..] if is_pair(*a, *b) => {
                replaced.extend(by(*a, *b));
                rest = after;
            }
            _ => {
                replaced.push(*a);
                rest = after;
            }
        }
    }
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_the_names_of_sacrebleu() {
        for (name, words) in NAMES {
            assert_eq!((name.parse(), words.to_string().as_str()), (Ok(words), name));
            assert_eq!(serde_json::to_value(words).unwrap(), name);
        }
        let told = "ja-mecab".parse::<Words>().unwrap_err().to_string();
        assert!(told.contains("dictionary") && told.contains("sacrebleu --tokenize ja-mecab"), "{told}");
        assert!("spm".parse::<Words>().unwrap_err().to_string().contains("`spm`"));
    }

    #[test]
    fn chinese_is_cut_into_characters_where_it_is_asked_for() {
        let text = "\u{732b}\u{5750}\u{7740}\u{3002}OK.";
        assert_eq!(Words::Chinese.of(text), ["\u{732b}", "\u{5750}", "\u{7740}", "\u{3002}", "OK", "."]);
        assert_eq!(Words::Characters.of("a b"), ["a", "b"]);
        assert_eq!(
            Words::International.of("\u{201e}Ja\u{201c}, 1,5\u{20ac}"),
            ["\u{201e}", "Ja", "\u{201c}", ",", "1,5", "\u{20ac}"]
        );
    }
}
