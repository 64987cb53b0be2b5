//! Operators of filters.

/// A comparison between a run's field and a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
    /// `=`
    Equal,
    /// `!=`
    Unequal,
    /// `~`
    Contains,
}

impl Operator {
    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::More => ">",
            Self::AtLeast => ">=",
            Self::Equal => "=",
            Self::Unequal => "!=",
            Self::Contains => "~",
        }
    }
}
