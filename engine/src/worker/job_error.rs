use crate::{analysis::AnalysisError, convert::ConvertError, generate::GenerateError, train::TrainError};

/// Why a job came to nothing, in words.
#[derive(Debug)]
pub(super) struct JobError {
    /// What failed, why, what to do.
    pub(super) why: String,
    /// Whether what was asked for cannot be had as it was asked for, rather than the attempt having failed.
    pub(super) is_refusal: bool,
}

impl JobError {
    /// Of what was asked for: a model, a text or a size that is not there or does not fit.
    pub(super) fn refusal(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_refusal: true }
    }

    /// Of the attempt.
    pub(super) fn failure(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_refusal: false }
    }

    /// The same, told as part of a sentence.
    #[must_use]
    pub(super) fn told(self, tell: impl FnOnce(&str) -> String) -> Self {
        Self { why: tell(&self.why), ..self }
    }
}

impl From<AnalysisError> for JobError {
    fn from(error: AnalysisError) -> Self {
        let is_refusal = match &error {
            AnalysisError::Data(_)
            | AnalysisError::Impossible(_)
            | AnalysisError::Memory { .. }
            | AnalysisError::NoExamples => true,
            AnalysisError::Eigenvalues
            | AnalysisError::Model(_)
            | AnalysisError::NotFinite { .. }
            | AnalysisError::OtherSizes { .. }
            | AnalysisError::Stopped
            | AnalysisError::Tensor(_) => false,
        };
        Self { why: error.to_string(), is_refusal }
    }
}

impl From<ConvertError> for JobError {
    fn from(error: ConvertError) -> Self {
        Self { is_refusal: error.is_refusal(), why: error.to_string() }
    }
}

impl From<GenerateError> for JobError {
    fn from(error: GenerateError) -> Self {
        let is_refusal = match &error {
            GenerateError::EmptyPrompt
            | GenerateError::EmptySource
            | GenerateError::Memory { .. }
            | GenerateError::NoDecoder
            | GenerateError::NoEncoder
            | GenerateError::NoMask { .. }
            | GenerateError::NoRoom { .. }
            | GenerateError::NoStart
            | GenerateError::NoTokens
            | GenerateError::Setting(_)
            | GenerateError::Temperature(_)
            | GenerateError::TooLong { .. }
            | GenerateError::TopK
            | GenerateError::UnknownToken { .. } => true,
            GenerateError::Model(_) | GenerateError::NotFinite | GenerateError::NothingLeft { .. } => false,
        };
        Self { why: error.to_string(), is_refusal }
    }
}

impl From<TrainError> for JobError {
    fn from(error: TrainError) -> Self {
        Self { why: error.to_string(), is_refusal: error.is_refusal() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_and_what_goes_wrong_fails() {
        for refused in [AnalysisError::NoExamples, AnalysisError::Impossible("There is no head 3.".to_owned())] {
            assert!(JobError::from(refused).is_refusal);
        }
        assert!(JobError::from(TrainError::Memory { needed: 2, free: 1 }).is_refusal);
        assert!(!JobError::from(AnalysisError::Eigenvalues).is_refusal);
        assert!(!JobError::from(TrainError::Scores).is_refusal);
        let told = JobError::refusal("It is short.").told(|why| format!("No. {why}"));
        assert_eq!((told.why.as_str(), told.is_refusal), ("No. It is short.", true));
    }
}
