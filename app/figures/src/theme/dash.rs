//! Dash patterns: the second code beside the colour.

/// How a line is broken. Lengths scale with nothing: they are points on the screen and user units in SVG.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dash {
    /// Unbroken.
    #[default]
    Solid,
    /// Long dashes.
    Dashed,
    /// Short dots.
    Dotted,
    /// Dash, dot, dash, dot.
    DashDotted,
}

impl Dash {
    /// Every pattern, in the order in which runs take them.
    pub const ALL: [Self; 4] = [Self::Solid, Self::Dashed, Self::Dotted, Self::DashDotted];

    /// Lengths of drawn and empty parts in turn, in points; empty for a solid line.
    pub fn pattern(self) -> &'static [f32] {
        match self {
            Self::Solid => &[],
            Self::Dashed => &[7.0, 4.0],
            Self::Dotted => &[2.0, 3.0],
            Self::DashDotted => &[8.0, 3.0, 2.0, 3.0],
        }
    }

    /// The pattern in words, for screen readers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Solid => "solid",
            Self::Dashed => "dashed",
            Self::Dotted => "dotted",
            Self::DashDotted => "dash-dotted",
        }
    }
}
