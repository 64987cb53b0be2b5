//! From tokens to a filter.

use std::{iter::Peekable, ops::Range};

use super::{
    FilterError, Operator, Record, Value,
    evaluate::is_called,
    lexer::{Kind, Token, tokens},
};

/// A filter's meaning.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// Matches everything.
    Everything,
    /// Some of the run's words hold this one (lower case).
    Word(String),
    /// A field compared with a value.
    Compare {
        /// The field as written.
        field: String,
        /// Where it stands.
        at: Range<usize>,
        /// The comparison.
        operator: Operator,
        /// The value as written.
        text: String,
        /// The value as a number, when it is one and was not quoted.
        number: Option<f64>,
    },
    /// Does not match.
    Not(Box<Self>),
    /// Both match.
    And(Box<Self>, Box<Self>),
    /// At least one matches.
    Or(Box<Self>, Box<Self>),
}

/// A filter that was read without an error.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    expression: Expression,
}

impl Default for Filter {
    fn default() -> Self {
        Self { expression: Expression::Everything }
    }
}

/// Fields of every run that hold words. `tag:` with a word is read as `tag=` before it comes here.
const WORD_FIELDS: [&str; 6] = ["device", "name", "note", "state", "tag", "tags"];
/// Fields of every run that hold numbers.
const NUMBER_FIELDS: [&str; 6] = ["number", "parameters", "seed", "steps", "threads", "tokens"];

/// How deep parentheses and `not` may be nested, so that no text can exhaust the stack.
const DEEPEST: usize = 64;
/// How many words and signs a filter may have, for the same reason.
const LONGEST: usize = 1000;

impl Filter {
    /// Reads a filter; an empty one matches everything.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let tokens = tokens(text)?;
        if tokens.is_empty() {
            return Ok(Self::default());
        }
        if let Some(first_too_many) = tokens.get(LONGEST) {
            return Err(FilterError::new(
                first_too_many.at.clone(),
                format!("A filter has at most {LONGEST} words and signs."),
            ));
        }
        let mut parser = Parser { tokens: tokens.into_iter().peekable(), end: text.len(), depth: 0 };
        let expression = parser.either()?;
        match parser.tokens.next() {
            None => Ok(Self { expression }),
            Some(Token { kind: Kind::Close, at }) => {
                Err(FilterError::new(at, "This parenthesis was never opened. Remove it or add \"(\" before."))
            }
            Some(Token { at, .. }) => Err(FilterError::new(at, "Expected `and`, `or` or the end here.")),
        }
    }

    /// Whether a record matches.
    pub fn matches(&self, record: &impl Record) -> bool {
        self.expression.matches(record)
    }

    /// Whether everything matches.
    pub fn is_everything(&self) -> bool {
        self.expression == Expression::Everything
    }

    /// The fields that are compared, as written and where.
    pub fn fields(&self) -> Vec<(&str, Range<usize>)> {
        fn walk<'a>(expression: &'a Expression, found: &mut Vec<(&'a str, Range<usize>)>) {
            match expression {
                Expression::Everything | Expression::Word(_) => {}
                Expression::Compare { field, at, .. } => found.push((field, at.clone())),
                Expression::Not(inner) => walk(inner, found),
                Expression::And(a, b) | Expression::Or(a, b) => {
                    walk(a, found);
                    walk(b, found);
                }
            }
        }
        let mut found = Vec::new();
        walk(&self.expression, &mut found);
        found
    }
}

impl Expression {
    fn matches(&self, record: &impl Record) -> bool {
        match self {
            Self::Everything => true,
            Self::Word(word) => record.has_word(word) || (word.contains(',') && is_called(record, word)),
            Self::Compare { field, operator, text, number, .. } => match record.value(field) {
                Some(value) => value.compares(*operator, text, *number),
                None => *operator == Operator::Unequal,
            },
            Self::Not(inner) => !inner.matches(record),
            Self::And(a, b) => a.matches(record) && b.matches(record),
            Self::Or(a, b) => a.matches(record) || b.matches(record),
        }
    }
}

struct Parser<I: Iterator<Item = Token>> {
    tokens: Peekable<I>,
    end: usize,
    depth: usize,
}

impl<I: Iterator<Item = Token>> Parser<I> {
    fn either(&mut self) -> Result<Expression, FilterError> {
        let mut left = self.both()?;
        while self.take_word("or") {
            left = Expression::Or(Box::new(left), Box::new(self.both()?));
        }
        Ok(left)
    }

    fn both(&mut self) -> Result<Expression, FilterError> {
        let mut left = self.inverse()?;
        loop {
            let named = self.take_word("and");
            let goes_on = match self.tokens.peek().map(|token| &token.kind) {
                None | Some(Kind::Close) => false,
                Some(Kind::Word(word)) => !word.eq_ignore_ascii_case("or"),
                Some(_) => true,
            };
            if !named && !goes_on {
                return Ok(left);
            }
            let is_group = matches!(self.tokens.peek(), Some(Token { kind: Kind::Open, .. }));
            let right = self.inverse()?;
            // As in "base, seed 2 (2)": which one it is of those with the same name and seed, which no run knows of itself.
            let is_number = matches!(&right, Expression::Word(word) if word.parse::<u64>().is_ok());
            if named || !is_group || !is_number {
                left = Expression::And(Box::new(left), Box::new(right));
            }
        }
    }

    fn inverse(&mut self) -> Result<Expression, FilterError> {
        let Some(token) = self.tokens.next() else {
            return Err(FilterError::new(
                self.end..self.end,
                "Something is missing here: a word, or a comparison such as loss<2.",
            ));
        };
        if self.depth >= DEEPEST {
            return Err(FilterError::new(token.at, "This is nested too deeply."));
        }
        self.depth += 1;
        let found = match token.kind {
            Kind::Open => {
                let inner = self.either()?;
                match self.tokens.next() {
                    Some(Token { kind: Kind::Close, .. }) => Ok(inner),
                    _ => {
                        Err(FilterError::new(token.at, "This parenthesis is not closed. Add \")\" after its content."))
                    }
                }
            }
            Kind::Close => Err(FilterError::new(token.at, "Expected a word or a comparison before \")\".")),
            Kind::Operator(operator) => Err(FilterError::new(
                token.at,
                format!("Expected a field before \"{0}\", as in loss{0}2.", operator.symbol()),
            )),
            Kind::Word(word) if word.eq_ignore_ascii_case("not") && !self.operator_follows() => {
                self.inverse().map(|inner| Expression::Not(Box::new(inner)))
            }
            Kind::Word(word) if is_joint(&word) && !self.operator_follows() => {
                Err(FilterError::new(token.at, format!("Expected a word or a comparison before `{word}`.")))
            }
            Kind::Word(word) => match instead_of_colon(&word) {
                Some(message) => Err(FilterError::new(token.at, message)),
                None => self.comparison(word, token.at),
            },
            Kind::Quoted(word) => self.comparison(word, token.at),
        };
        self.depth -= 1;
        found
    }

    fn comparison(&mut self, field: String, at: Range<usize>) -> Result<Expression, FilterError> {
        let Some(Token { kind: Kind::Operator(operator), at: sign }) =
            self.tokens.next_if(|token| matches!(token.kind, Kind::Operator(_)))
        else {
            return Ok(self.word(&field, at));
        };
        let (text, number, place) = match self.tokens.next() {
            Some(Token { kind: Kind::Word(word), at }) => {
                let number = Value::parse_number(&word);
                (word, number, at)
            }
            Some(Token { kind: Kind::Quoted(text), at }) => (text, None, at),
            _ => {
                let message = format!("Expected a value after \"{0}\", as in {field}{0}2.", operator.symbol());
                return Err(FilterError::new(sign, message));
            }
        };
        let needs_number = matches!(operator, Operator::Less | Operator::AtMost | Operator::More | Operator::AtLeast);
        if needs_number && number.is_none() {
            let message =
                format!("\"{}\" compares numbers, and \"{text}\" is none. Use = or ~ for words.", operator.symbol());
            return Err(FilterError::new(place, message));
        }
        Ok(Expression::Compare { field, at, operator, text, number })
    }

    /// A plain word. `seed` with a number behind it also means the seed: runs of one name are called so.
    fn word(&mut self, word: &str, at: Range<usize>) -> Expression {
        let plain = Expression::Word(word.to_lowercase());
        if !word.eq_ignore_ascii_case("seed") {
            return plain;
        }
        let is_number = |token: &Token| matches!(&token.kind, Kind::Word(word) if word.parse::<u64>().is_ok());
        let Some(Token { kind: Kind::Word(text), .. }) = self.tokens.next_if(is_number) else { return plain };
        let number = Value::parse_number(&text);
        let both = Expression::And(Box::new(plain), Box::new(Expression::Word(text.clone())));
        let seed = Expression::Compare { field: "seed".to_owned(), at, operator: Operator::Equal, text, number };
        Expression::Or(Box::new(both), Box::new(seed))
    }

    fn operator_follows(&mut self) -> bool {
        matches!(self.tokens.peek(), Some(Token { kind: Kind::Operator(_), .. }))
    }

    fn take_word(&mut self, wanted: &str) -> bool {
        self.tokens
            .next_if(|token| matches!(&token.kind, Kind::Word(word) if word.eq_ignore_ascii_case(wanted)))
            .is_some()
    }
}

fn is_joint(word: &str) -> bool {
    word.eq_ignore_ascii_case("and") || word.eq_ignore_ascii_case("or")
}

/// What is wrong with a colon behind a field, as in `state:finished`; none for words such as `race:long`.
fn instead_of_colon(word: &str) -> Option<String> {
    let (field, value) = word.split_once(':')?;
    let is_one_of = |fields: &[&str]| fields.iter().any(|known| field.eq_ignore_ascii_case(known));
    let operator = if is_one_of(&WORD_FIELDS) {
        Operator::Contains
    } else if is_one_of(&NUMBER_FIELDS) && Value::parse_number(value).is_some() {
        Operator::Equal
    } else {
        return None;
    };
    let value = if value.is_empty() { "word" } else { value };
    Some(format!("\":\" compares nothing. Write {field}{}{value}.", operator.symbol()))
}
