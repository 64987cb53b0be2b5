//! `ListOps` (Nangia and Bowman 2018) as the Long Range Arena generates it (Tay et al. 2021): a tree whose leaves are digits and
//! whose nodes are operators on lists, written as `[MAX 2 9 [MIN 4 7 ] 0 ]`; every value is a digit.
//!
//! A node above the last level is an operator with probability 1/4, else a digit, each equally likely; at the last level it is
//! always a digit. An operator draws the number of its arguments, generates them from left to right, and draws what it is after
//! them. Trees that are too short or too long are thrown away, and so are those that were drawn before.

use std::collections::HashSet;

use rayon::prelude::*;

use super::loader::{Content, DataSource, Examples, KnownModel, LoadContext};
use crate::config::{DataConfig, ListOpsSource, SourceSettings as _, counted};
use crate::examples::{ExamplesPreview, SHOWN};
use crate::hash::sha256_prefix;
use crate::objective::{Answers, Labels, Objective};
use crate::preview::DataPreview;
use crate::progress::advance;
use crate::rng::{Purpose, Stream, below};
use crate::row_answers::RowAnswers;
use crate::seen::{PreviewExample, brief, seen};
use crate::tokenizer::symbols;
use crate::{DataError, Documents, Progress, Reading, Silent, Split, Stage, memory};

/// Probability of an operator.
const OPERATOR: f64 = 0.25;

/// Trees that are drawn between two reports.
const GROUP: u64 = 1 << 14;

/// Draws for each wanted expression after which the rules are taken to give too few.
const MOST_DRAWS: u64 = 20_000;

/// Draws without one more expression after which there is taken to be none.
const FRUITLESS: u64 = 1 << 20;

/// Digits, and where operators and the end of a list stand among the symbols.
const DIGITS: u8 = 10;
const OPERATORS: [Operator; 4] = [Operator::Min, Operator::Max, Operator::Median, Operator::Sum];
const END: u8 = 14;

/// What is done with the values of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Min,
    Max,
    /// Of an even number of values the mean of the two in the middle, cut to a whole number.
    Median,
    /// Modulo 10.
    Sum,
}

impl Operator {
    fn of(self, values: &mut [u8]) -> u8 {
        values.sort_unstable();
        let middle = values.len() / 2;
        let at = |place: usize| values[place];
        match self {
            Self::Min => at(0),
            Self::Max => at(values.len().saturating_sub(1)),
            Self::Median if values.len().is_multiple_of(2) => at(middle.saturating_sub(1)).midpoint(at(middle)),
            Self::Median => at(middle),
            Self::Sum => (values.iter().map(|value| u32::from(*value)).sum::<u32>() % u32::from(DIGITS)) as u8,
        }
    }
}

/// A tree as its symbols, by their places in [`ListOpsSource::SYMBOLS`], with its value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Expression {
    symbols: Vec<u8>,
    value: u8,
}

/// A draw that grows beyond what is accepted need not be finished.
struct TooLong;

/// Draws a tree whose root is at level 1.
fn draw(source: &ListOpsSource, stream: &mut Stream) -> Result<Expression, TooLong> {
    let mut symbols = Vec::new();
    let value = node(source, 1, stream, &mut symbols)?;
    Ok(Expression { symbols, value })
}

fn node(source: &ListOpsSource, level: usize, stream: &mut Stream, symbols: &mut Vec<u8>) -> Result<u8, TooLong> {
    if symbols.len() >= source.max_length {
        return Err(TooLong);
    }
    if level >= source.max_depth || stream.uniform() >= OPERATOR {
        let digit = below(stream, usize::from(DIGITS)) as u8;
        symbols.push(digit);
        return Ok(digit);
    }
    let arguments = 2 + below(stream, source.max_args - 1);
    let place = symbols.len();
    symbols.push(END);
    let mut values = Vec::with_capacity(arguments);
    for _ in 0..arguments {
        values.push(node(source, level + 1, stream, symbols)?);
    }
    let drawn = below(stream, OPERATORS.len());
    if let Some(symbol) = symbols.get_mut(place) {
        *symbol = DIGITS + drawn as u8;
    }
    symbols.push(END);
    Ok(OPERATORS.get(drawn).map_or(0, |operator| operator.of(&mut values)))
}

/// The value of an expression that is written, with or without parentheses around its parts; none where it is no expression.
#[cfg(test)]
fn evaluate(text: &str) -> Option<u8> {
    let mut open: Vec<(Operator, Vec<u8>)> = Vec::new();
    let mut found = None;
    for symbol in text.split_whitespace().filter(|symbol| !["(", ")"].contains(symbol)) {
        if found.is_some() {
            return None;
        }
        let place = ListOpsSource::SYMBOLS.iter().position(|known| *known == symbol)? as u8;
        let value = match place {
            digit if digit < DIGITS => digit,
            END => {
                let (operator, mut values) = open.pop()?;
                operator.of(&mut values)
            }
            operator => {
                open.push((*OPERATORS.get(usize::from(operator - DIGITS))?, Vec::new()));
                continue;
            }
        };
        match open.last_mut() {
            Some((_, values)) => values.push(value),
            None => found = Some(value),
        }
    }
    found
}

impl DataSource for ListOpsSource {
    fn split(&self, _: f64, context: LoadContext<'_>) -> Result<Examples, DataError> {
        let (texts, answers) = generate(self, context.progress)?;
        Ok(Content::Rows(texts, answers).into())
    }

    fn all(&self, _: KnownModel<'_>, context: LoadContext<'_>) -> Result<Examples, DataError> {
        let (mut texts, mut answers) = generate(self, context.progress)?;
        (texts.train, answers.train) = (Documents::new(), answers.train.of_rows(&[]));
        Ok(Content::Rows(texts, answers).into())
    }

    fn labels(&self, _: LoadContext<'_>) -> Result<Option<Labels>, DataError> {
        Ok(Some(labels()))
    }

    fn preview(
        &self,
        config: &DataConfig,
        (objective, _): (&Objective, &Reading),
    ) -> Result<Option<DataPreview>, DataError> {
        // A number that is half typed is told by the config's own problems.
        if !config.source.is_sound() {
            return Ok(None);
        }
        let tokenizer = symbols(objective.special_tokens(), self.facts().symbols)?;
        let example = |(text, value): (String, u8)| {
            let (tokens, cut_off) = seen(Some(&tokenizer), &[&text], config.sequence_length);
            PreviewExample { texts: vec![brief(&text)], label: value.to_string(), tokens, cut_off }
        };
        let examples = first(self, SHOWN)?.into_iter().map(example).collect();
        let all = counted((self.examples + self.validation_examples) as u64, "expression");
        let about = format!("The first of {all}; classes are the ten digits");
        Ok(Some(DataPreview::Examples(ExamplesPreview { about, examples })))
    }
}

/// The values of expressions.
fn labels() -> Labels {
    Labels::Classes((0..DIGITS).map(|digit| digit.to_string()).collect())
}

/// Expressions to train on and held-out ones, all different.
fn generate(source: &ListOpsSource, progress: &dyn Progress) -> Result<(Split, RowAnswers), DataError> {
    let wanted = source.examples + source.validation_examples;
    let found = expressions(source, wanted, progress)?;
    let mut split = Split::default();
    let mut classes = [Vec::new(), Vec::new()];
    let mut text = String::new();
    for (number, Expression { symbols, value }) in found.into_iter().enumerate() {
        text.clear();
        write(&symbols, &mut text);
        let is_held_out = number >= source.examples;
        let part = if is_held_out { &mut split.validation } else { &mut split.train };
        part.push(&text);
        classes[usize::from(is_held_out)].push(u32::from(value));
    }
    let [train, validation] = classes.map(|classes| Answers::Classes { classes, weights: None });
    Ok((split, RowAnswers { labels: labels(), texts: 1, train, validation }))
}

/// The first expressions of those to train on, each with its value.
fn first(source: &ListOpsSource, wanted: usize) -> Result<Vec<(String, u8)>, DataError> {
    let written = |Expression { symbols, value }: Expression| {
        let mut text = String::new();
        write(&symbols, &mut text);
        (text, value)
    };
    Ok(expressions(source, wanted.min(source.examples), &Silent)?.into_iter().map(written).collect())
}

/// Symbols with a blank between two.
fn write(symbols: &[u8], text: &mut String) {
    for symbol in symbols {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(ListOpsSource::SYMBOLS[usize::from(*symbol)]);
    }
}

/// The first accepted draws, in the order of their numbers: a function of the seed.
fn expressions(source: &ListOpsSource, wanted: usize, progress: &dyn Progress) -> Result<Vec<Expression>, DataError> {
    let longest = (source.max_length * wanted) as u64;
    let mean = (source.min_length.midpoint(source.max_length) * wanted) as u64;
    memory::check(mean.min(longest) * 3, None)?;
    let (mut found, mut known) = (Vec::new(), HashSet::new());
    let (mut draws, mut fruitful) = (0, 0);
    // Of a few, those that the same rules give where all are wanted.
    let most = MOST_DRAWS.saturating_mul((source.examples + source.validation_examples).max(wanted) as u64);
    while found.len() < wanted {
        advance(progress, Stage::Generating, found.len() as u64, wanted as u64)?;
        let numbers: Vec<u64> = (draws..draws + GROUP).collect();
        let drawn: Vec<Option<Expression>> = numbers
            .par_iter()
            .map(|number| {
                let mut stream = Stream::new(source.text_seed, Purpose::ListOps, *number);
                let drawn = draw(source, &mut stream).ok()?;
                let length = drawn.symbols.len();
                (length > source.min_length && length < source.max_length).then_some(drawn)
            })
            .collect();
        draws += GROUP;
        for expression in drawn.into_iter().flatten() {
            if found.len() < wanted && known.insert(sha256_prefix(&expression.symbols)) {
                found.push(expression);
                fruitful = draws;
            }
        }
        if found.len() < wanted && (draws >= most || draws - fruitful >= FRUITLESS) {
            let (min_length, max_length) = (source.min_length, source.max_length);
            return Err(DataError::RareExpressions { found: found.len(), wanted, draws, min_length, max_length });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
