//! What a product is added to.

use crate::{Paired, paired};

/// What stands in the output before the first factor is multiplied.
#[derive(Clone, Copy, Debug)]
pub enum Start<'a, T> {
    /// Zeros, whatever is there.
    Zeros,
    /// What is there.
    There,
    /// This row in every row.
    Row(&'a [T]),
}

impl<T> Start<'_, T> {
    /// What is there where a product is added to it, else zeros.
    pub fn adding(accumulate: bool) -> Self {
        if accumulate { Self::There } else { Self::Zeros }
    }

    /// The same for `count` columns from `first`.
    ///
    /// # Panics
    /// If there are not as many.
    pub fn columns(self, first: usize, count: usize) -> Self {
        match self {
            Self::Row(row) => Self::Row(row.split_at(first).1.split_at(count).0),
            other => other,
        }
    }

    /// The same for the columns from `first` on.
    #[inline]
    pub(crate) fn from(self, first: usize) -> Self {
        match self {
            Self::Row(row) => Self::Row(row.split_at(first).1),
            other => other,
        }
    }
}

impl<'a> Start<'a, Paired> {
    /// The same numbers.
    pub(crate) fn singles(self) -> Start<'a, f32> {
        match self {
            Self::Zeros => Start::Zeros,
            Self::There => Start::There,
            Self::Row(row) => Start::Row(paired::slice_of_singles(row)),
        }
    }
}
