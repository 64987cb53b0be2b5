//! Rust source as tokens: enough to read `use` lines and paths, in macros too. Comments and numbers are left out.

/// A token of Rust source.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Token {
    /// A name or a keyword.
    Word(String),
    /// The text between the quotes of a string.
    Text(String),
    /// `::`.
    Joint,
    /// Any other character.
    Sign(char),
}

impl Token {
    /// True for this name or keyword.
    pub fn is_word(&self, word: &str) -> bool {
        matches!(self, Self::Word(own) if own == word)
    }
}

/// Returns the tokens of a source file.
pub fn tokens(source: &str) -> Vec<Token> {
    let mut scanner = Scanner { letters: source.chars().collect(), at: 0, tokens: Vec::new() };
    while scanner.at < scanner.letters.len() {
        scanner.step();
    }
    scanner.tokens
}

struct Scanner {
    letters: Vec<char>,
    at: usize,
    tokens: Vec<Token>,
}

impl Scanner {
    fn letter(&self, ahead: usize) -> char {
        self.letters.get(self.at + ahead).copied().unwrap_or('\n')
    }

    fn step(&mut self) {
        match (self.letter(0), self.letter(1)) {
            ('/', '/') => {
                while self.at < self.letters.len() && self.letter(0) != '\n' {
                    self.at += 1;
                }
            }
            ('/', '*') => self.skip_block_comment(),
            ('"', _) => self.text(),
            ('\'', _) => self.character_or_lifetime(),
            (':', ':') => {
                self.tokens.push(Token::Joint);
                self.at += 2;
            }
            (letter, _) if letter.is_alphabetic() || letter == '_' => self.word(),
            (letter, _) if letter.is_ascii_digit() => {
                while self.is_in_word(0) {
                    self.at += 1;
                }
            }
            (letter, _) => {
                if !letter.is_whitespace() {
                    self.tokens.push(Token::Sign(letter));
                }
                self.at += 1;
            }
        }
    }

    fn is_in_word(&self, ahead: usize) -> bool {
        self.letter(ahead).is_alphanumeric() || self.letter(ahead) == '_'
    }

    fn skip_block_comment(&mut self) {
        let mut depth = 0;
        while self.at < self.letters.len() {
            match (self.letter(0), self.letter(1)) {
                ('/', '*') => depth += 1,
                ('*', '/') => depth -= 1,
                _ => {
                    self.at += 1;
                    continue;
                }
            }
            self.at += 2;
            if depth == 0 {
                break;
            }
        }
    }

    /// Reads a string that begins with its quote.
    fn text(&mut self) {
        self.at += 1;
        let start = self.at;
        while self.at < self.letters.len() && self.letter(0) != '"' {
            self.at += if self.letter(0) == '\\' { 2 } else { 1 };
        }
        let end = self.at.min(self.letters.len());
        self.tokens.push(Token::Text(self.letters[start..end].iter().collect()));
        self.at += 1;
    }

    /// Reads a string that begins with `hashes` signs before its quote, in which nothing is escaped.
    fn raw_text(&mut self, hashes: usize) {
        self.at += hashes + 1;
        let start = self.at;
        while self.at < self.letters.len()
            && !(self.letter(0) == '"' && (1..=hashes).all(|ahead| self.letter(ahead) == '#'))
        {
            self.at += 1;
        }
        self.tokens.push(Token::Text(self.letters[start..self.at].iter().collect()));
        self.at += hashes + 1;
    }

    /// Skips `'a'`, `'\n'` and `'static`.
    fn character_or_lifetime(&mut self) {
        if self.letter(1) == '\\' {
            self.at += 3;
            while self.at < self.letters.len() && self.letter(0) != '\'' {
                self.at += 1;
            }
            self.at += 1;
        } else if self.letter(2) == '\'' {
            self.at += 3;
        } else {
            self.at += 1;
            while self.is_in_word(0) {
                self.at += 1;
            }
        }
    }

    fn word(&mut self) {
        let start = self.at;
        while self.is_in_word(0) {
            self.at += 1;
        }
        let word: String = self.letters[start..self.at].iter().collect();
        let hashes = self.letters[self.at..].iter().take_while(|&&letter| letter == '#').count();
        match word.as_str() {
            "r" | "br" | "cr" if self.letter(hashes) == '"' => self.raw_text(hashes),
            "b" | "c" if self.letter(0) == '"' => self.text(),
            "b" if self.letter(0) == '\'' => self.character_or_lifetime(),
            "r" if hashes == 1 => {
                self.at += 1;
                self.word();
            }
            _ => self.tokens.push(Token::Word(word)),
        }
    }
}

#[test]
fn names_are_told_from_texts_and_comments() {
    let source = r##"use a::b; // c::d
        /* e /* f */ g */ 'h' '\'' 'i: b"j\"" r#"k"l"# r#type 1_u32 x.y"##;
    let word = |word: &str| Token::Word(word.to_owned());
    let text = |text: &str| Token::Text(text.to_owned());
    let expected = [
        word("use"),
        word("a"),
        Token::Joint,
        word("b"),
        Token::Sign(';'),
        Token::Sign(':'),
        text("j\\\""),
        text("k\"l"),
        word("type"),
        word("x"),
        Token::Sign('.'),
        word("y"),
    ];
    assert_eq!(tokens(source), expected);
}
