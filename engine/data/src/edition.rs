//! Versions of the rules by which data become examples.

/// Version of the rules by which data become examples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edition {
    /// Every label text is a class, images stay as they are stored, a tokenizer's model may find its own special tokens in a text, and the
    /// end token stands after each side of a pair.
    First,
    /// Rows without a label are left out, images are turned as their EXIF data say, a text never holds a special token, and the sides of a
    /// pair are framed by the tokenizer's template.
    #[default]
    Current,
}

impl Edition {
    /// Framing of the sides of a pair.
    pub fn pair_framing(self) -> PairFraming {
        match self {
            Self::First => PairFraming::End,
            Self::Current => PairFraming::Template,
        }
    }
}

/// Tokens around each side of a pair of texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PairFraming {
    /// Tokens that the tokenizer's template puts around a text; where it puts none, the end token stands after it.
    #[default]
    Template,
    /// The end token after it, whatever the template says.
    End,
}
