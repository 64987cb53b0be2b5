use crate::train::TrainError;

/// Why a run cannot begin.
pub(crate) enum Unready {
    Train(TrainError),
    /// What it needs is not there: why, and what to do.
    Refused {
        why: String,
        what_to_do: String,
    },
}

impl From<TrainError> for Unready {
    fn from(error: TrainError) -> Self {
        Self::Train(error)
    }
}
