use thiserror::Error;

use super::{Axis, Problem, counted};

/// An axis as it is written.
const EXAMPLE: &str = "Write it as `data.sequence_length=128,256,512`.";

/// One thing that is wrong with the fields of a sweep.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SweepMistake {
    /// Nothing is swept.
    #[error("A sweep needs a field and its values, such as `model.layers=2,4,6`.")]
    NoAxes,
    /// An axis is of no field.
    #[error("Cannot use the axis `{axis}`: it names no field. {}", EXAMPLE)]
    NoField {
        /// The axis.
        axis: Axis,
    },
    /// An axis is of a field that no config has.
    #[error("{0}")]
    UnknownField(Problem),
    /// Two axes are of one field.
    #[error("`{0}` is there twice. Put all its values together.")]
    SameField(String),
    /// An axis has no values at all.
    #[error("Cannot use the axis `{field}`: it has no `=` with values behind it. {}", EXAMPLE)]
    NoValues {
        /// The field.
        field: String,
    },
    /// Nothing stands where a value should be.
    #[error("Cannot use the axis `{axis}`: one of its values is empty. {}", EXAMPLE)]
    EmptyValue {
        /// The axis.
        axis: Axis,
    },
    /// A value is there more than once.
    #[error("Cannot use the axis `{axis}`: {value} is there twice. Give each value once.")]
    SameValue {
        /// The axis.
        axis: Axis,
        /// The value.
        value: String,
    },
    /// A value that its field does not take.
    #[error("{problem}")]
    Value {
        /// The value.
        value: String,
        /// Why not.
        problem: Problem,
    },
    /// The fields of a list have different numbers of values.
    #[error("{}", Self::of_lengths(.0, |field| format!("`{field}`")))]
    Lengths(Vec<(String, usize)>),
    /// There are more configs than are trained.
    #[error("These fields make {}, at most {most} are trained.", counted(*.count, "config"))]
    TooMany {
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
}

impl SweepMistake {
    /// The message of a list whose fields have these numbers of values, under the names that `named` gives them.
    pub fn of_lengths(lengths: &[(String, usize)], named: impl Fn(&str) -> String) -> String {
        let lengths: Vec<String> =
            lengths.iter().map(|(field, count)| format!("{} has {count}", named(field))).collect();
        format!("A list takes as many values of each field: {}.", lengths.join(", "))
    }

    /// Whether it is not known yet how many values the fields are to have.
    pub(super) fn leaves_values_open(&self) -> bool {
        matches!(self, Self::EmptyValue { .. } | Self::NoField { .. } | Self::NoValues { .. } | Self::SameField(_))
    }
}
