/// What a noun stands for, as far as grammar cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Masculine,
    Feminine,
    /// A person of either sex: no pronoun in the singular.
    Person,
    Animal,
    Thing,
}

impl Kind {
    pub(super) const ALL: [Self; 5] = [Self::Masculine, Self::Feminine, Self::Person, Self::Animal, Self::Thing];
}

/// Something that a text speaks of: what a variable of the grammar is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Entity {
    pub(super) kind: Kind,
    pub(super) plural: bool,
    pub(super) is_name: bool,
    /// Index of its noun among those of its kind, or of its name among those of its kind.
    pub(super) noun: u32,
}

/// Pronouns by what they stand for, in the order of the TOML file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pronoun {
    Masculine,
    Feminine,
    Neuter,
    Plural,
}

impl Pronoun {
    pub(super) const ALL: [Self; 4] = [Self::Masculine, Self::Feminine, Self::Neuter, Self::Plural];

    /// The pronoun for `entity`; none for one person of either sex.
    pub(super) fn of(entity: Entity) -> Option<Self> {
        match entity.kind {
            _ if entity.plural => Some(Self::Plural),
            Kind::Masculine => Some(Self::Masculine),
            Kind::Feminine => Some(Self::Feminine),
            Kind::Animal | Kind::Thing => Some(Self::Neuter),
            Kind::Person => None,
        }
    }
}
