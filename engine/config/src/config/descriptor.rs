use super::{
    Problem,
    field_spec::{Choice, FieldSpec},
};

/// What people read of an answer to one of the questions about attention: in the form of a config, in races and in tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// The name in the file.
    pub kind: &'static str,
    /// The name alone, as in a list of variants.
    pub name: &'static str,
    /// In a menu.
    pub title: &'static str,
    /// Its formula and where it comes from.
    pub formula: &'static str,
    /// What it does, in a line.
    pub note: &'static str,
}

impl About {
    /// The answer as a choice of its field.
    pub(super) const fn choice(&self) -> Choice {
        (self.kind, self.name)
    }
}

/// A number that belongs to an answer: a field of its table in the file.
#[derive(Debug)]
pub struct Number<'a> {
    /// The field.
    pub field: FieldSpec,
    /// Its symbol in formulas and in the names of variants: `P`, `d_k`.
    pub symbol: &'static str,
    /// The smallest that is allowed.
    pub least: usize,
    /// The largest that is allowed.
    pub most: usize,
    /// Why no more is allowed, where that is not plain.
    pub limit: &'static str,
    /// Whether it must divide the number of heads.
    pub divides_heads: bool,
    /// The value.
    pub value: NumberValue<'a>,
}

/// A number that can be changed.
#[derive(Debug)]
pub enum NumberValue<'a> {
    /// It is always there.
    Always(&'a mut usize),
    /// None has a meaning of its own, which the help says.
    Optional(&'a mut Option<usize>),
}

impl Number<'_> {
    /// Its value, if it has one.
    pub fn get(&self) -> Option<usize> {
        match &self.value {
            NumberValue::Always(value) => Some(**value),
            NumberValue::Optional(value) => **value,
        }
    }

    /// Gives it another value, where it has one.
    pub fn set(&mut self, number: usize) {
        match &mut self.value {
            NumberValue::Always(value) => **value = number,
            NumberValue::Optional(value) => **value = value.map(|_| number),
        }
    }

    /// Symbol and value, `P 3`; none where it has no value.
    pub fn words(&self) -> Option<String> {
        Some(format!("{} {}", self.symbol, self.get()?))
    }

    /// What is wrong where it is outside of its range.
    pub fn problem(&self) -> Option<Problem> {
        let why = if self.limit.is_empty() { String::new() } else { format!(" ({})", self.limit) };
        Problem::of_whole(self.field.path, self.get()?, (self.least, self.most), why)
    }
}
