use super::lexicon::{VerbClass, Word};

/// One way to expand a symbol.
#[derive(Debug)]
pub(super) struct Alternative {
    pub(super) weight: f64,
    /// Every one of these flags must hold.
    pub(super) guards: Flags,
    /// Whether it uses a rule whose nesting is bounded.
    pub(super) nests: bool,
    pub(super) parts: Vec<Part>,
}

/// One symbol of an alternative.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Word(Word),
    Rule { rule: usize, variable: Option<u8>, nests: bool },
    Class { class: Class, variable: Option<u8>, base: bool },
}

/// Classes of words that are chosen by agreement or by topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Noun,
    Name,
    Determiner,
    Adjective,
    Verb(VerbClass),
    /// Index among `[forms]`.
    Form(usize),
    /// Index among `[pronouns]`.
    Pronoun(usize),
    /// Index among `[words]`.
    List(usize),
}

/// A set of facts that guards ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags(u16);

impl Flags {
    pub(super) const ANIMATE: Self = Self(1);
    pub(super) const THING: Self = Self(1 << 1);
    pub(super) const SINGULAR: Self = Self(1 << 2);
    pub(super) const PLURAL: Self = Self(1 << 3);
    pub(super) const PROPER: Self = Self(1 << 4);
    pub(super) const COMMON: Self = Self(1 << 5);
    pub(super) const PRONOUN: Self = Self(1 << 6);
    pub(super) const BACK: Self = Self(1 << 7);

    /// The flag that a guard names.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "animate" => Self::ANIMATE,
            "thing" => Self::THING,
            "singular" => Self::SINGULAR,
            "plural" => Self::PLURAL,
            "proper" => Self::PROPER,
            "common" => Self::COMMON,
            "pronoun" => Self::PRONOUN,
            "back" => Self::BACK,
            _ => return None,
        })
    }

    pub(super) fn with(self, other: Self, holds: bool) -> Self {
        if holds { Self(self.0 | other.0) } else { self }
    }

    pub(super) fn holds_all(self, wanted: Self) -> bool {
        self.0 & wanted.0 == wanted.0
    }
}
