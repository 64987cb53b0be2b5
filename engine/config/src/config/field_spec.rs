//! The shape of a description of a config field.

use std::collections::BTreeMap;

use super::range::{
    End::{self, At, Beyond},
    Range,
};

/// Description of one field of a config.
#[derive(Clone, Copy, Debug)]
pub struct FieldSpec {
    /// Dotted path in the file, such as `model.heads`.
    pub path: &'static str,
    /// Kinds of its section that have it, such as `bpe` of `data.tokenizer`; empty: all of them.
    pub kinds: &'static [&'static str],
    /// Its label, which is its accessible name too; unique in a form.
    pub label: &'static str,
    /// Its effect, for the tooltip.
    pub help: &'static str,
    /// The unit behind it.
    pub unit: &'static str,
    /// Meaning of an empty field.
    pub empty: &'static str,
    /// Values that it takes.
    pub takes: Takes,
    /// Names that it takes, or labels of `true` and `false`, in the order of menus.
    pub choices: &'static [Choice],
    /// Change by a click on a button of its form.
    pub step: u64,
}

/// Fields of a config by their paths.
pub type Fields = BTreeMap<&'static str, FieldSpec>;

/// A value by its name in the file and its label in a form.
pub type Choice = (&'static str, &'static str);

/// Type of a field, and its range where that does not depend on other fields.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Takes {
    /// A column of a table: a name or a number.
    Column,
    /// Columns of one or two texts.
    Columns,
    /// A device.
    Device,
    /// `true` or `false`.
    Flag,
    /// Nothing: it is a control of the form alone.
    Form,
    /// One of the choices.
    Name,
    /// Numbers by name.
    Numbers(Range),
    /// A number.
    Number(Range),
    /// Names of parts of a model.
    Parts,
    /// A file or a folder.
    Path,
    /// Any text.
    Text,
    /// A list of texts.
    Texts,
    /// A list of two texts.
    TwoTexts,
}

impl Takes {
    /// Range of its numbers.
    pub const fn range(self) -> Option<Range> {
        match self {
            Self::Number(range) | Self::Numbers(range) => Some(range),
            _ => None,
        }
    }
}

impl FieldSpec {
    /// A field that takes any text.
    pub(super) const fn new(path: &'static str, label: &'static str, help: &'static str) -> Self {
        Self { path, kinds: &[], label, help, unit: "", empty: "", takes: Takes::Text, choices: &[], step: 1 }
    }

    /// A field that takes whole numbers.
    pub(super) const fn whole(self, least: u64, most: u64) -> Self {
        self.takes(Takes::Number(Range::Whole(least, most)))
    }

    /// A field that takes whole numbers from 0 on, or whose range depends on others.
    pub(super) const fn count(self) -> Self {
        self.takes(Takes::Number(Range::COUNT))
    }

    /// A field that takes numbers between two ends, both included.
    pub(super) const fn ends(self, least: f64, most: f64) -> Self {
        self.between(At(least), At(most))
    }

    /// A field that takes numbers from 0 on, 1 excluded.
    pub(super) const fn share(self) -> Self {
        self.between(At(0.0), Beyond(1.0))
    }

    /// A field that takes numbers above 0.
    pub(super) const fn above_zero(self, most: f64) -> Self {
        self.between(Beyond(0.0), At(most))
    }

    const fn between(self, least: End, most: End) -> Self {
        self.takes(Takes::Number(Range::Real(least, most)))
    }

    /// A field that takes one of some names.
    pub(super) const fn names(self, choices: &'static [Choice]) -> Self {
        Self { choices, takes: Takes::Name, ..self }
    }

    /// A field that is set or not, with its labels in menus where it has one.
    pub(super) const fn flag(self, choices: &'static [Choice]) -> Self {
        Self { choices, takes: Takes::Flag, ..self }
    }

    /// A field that names a file or a folder.
    pub(super) const fn file(self) -> Self {
        self.takes(Takes::Path)
    }

    /// With other values.
    pub(super) const fn takes(self, takes: Takes) -> Self {
        Self { takes, ..self }
    }

    /// A field of some kinds of its section alone.
    pub(super) const fn of(self, kinds: &'static [&'static str]) -> Self {
        Self { kinds, ..self }
    }

    /// With a unit.
    pub(super) const fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// With the meaning of an empty field.
    pub(super) const fn empty(self, empty: &'static str) -> Self {
        Self { empty, ..self }
    }

    /// With another step.
    pub(super) const fn step(self, step: u64) -> Self {
        Self { step, ..self }
    }

    /// With another help, such as the formula of the chosen answer.
    #[must_use]
    pub const fn explained(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    /// The section around it, empty for the whole config, and its name in it.
    pub fn place(&self) -> (&'static str, &'static str) {
        self.path.rsplit_once('.').unwrap_or(("", self.path))
    }

    /// Returns true if a section of this kind has it; none: of no kind.
    pub fn is_of(&self, kind: Option<&str>) -> bool {
        self.kinds.is_empty() || kind.is_some_and(|kind| self.kinds.contains(&kind))
    }

    /// Returns true if a problem at `field` is to be shown at it: a kind stands for its whole section.
    pub fn is_at(&self, field: &str) -> bool {
        self.path == field || self.path.strip_suffix(".kind") == Some(field)
    }

    /// Label of a choice by its name.
    pub fn choice(&self, name: &str) -> Option<&'static str> {
        self.choices.iter().find(|(own, _)| *own == name).map(|(_, label)| *label)
    }
}
