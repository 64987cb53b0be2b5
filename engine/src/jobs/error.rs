use crate::{
    analysis::AnalysisError,
    convert::ConvertError,
    generate::GenerateError,
    hub::HubError,
    protocol::{Event, events},
    train::TrainError,
};

/// Why a job came to nothing, in words.
#[derive(Debug)]
pub(crate) struct JobError {
    /// What failed, why, what to do.
    pub(crate) why: String,
    /// Whether what was asked for cannot be had as it was asked for, rather than the attempt having failed.
    pub(crate) is_refusal: bool,
    /// The user stopped it.
    pub(crate) is_stop: bool,
}

impl JobError {
    /// Of what was asked for: a model, a text or a size that is not there or does not fit.
    pub(crate) fn refusal(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_refusal: true, is_stop: false }
    }

    /// Of the attempt.
    pub(crate) fn failure(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_refusal: false, is_stop: false }
    }

    /// Failure of a job that the user stopped.
    pub(crate) fn stopped(why: impl Into<String>) -> Self {
        Self { is_stop: true, ..Self::failure(why) }
    }

    fn new(why: &dyn std::fmt::Display, is_refusal: bool) -> Self {
        Self { why: why.to_string(), is_refusal, is_stop: false }
    }

    /// The same, with its reason as part of a sentence.
    #[must_use]
    pub(crate) fn explain(self, sentence: impl FnOnce(&str) -> String) -> Self {
        Self { why: sentence(&self.why), ..self }
    }
}

impl From<JobError> for Event {
    fn from(error: JobError) -> Self {
        let JobError { why, is_refusal, .. } = error;
        if is_refusal {
            events::Refused { why }.into()
        } else {
            events::Failed { run: None, why, what_to_do: String::new() }.into()
        }
    }
}

impl From<HubError> for JobError {
    fn from(error: HubError) -> Self {
        Self::new(&error, error.is_refusal())
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
        Self { is_stop: matches!(error, AnalysisError::Stopped), ..Self::new(&error, is_refusal) }
    }
}

impl From<ConvertError> for JobError {
    fn from(error: ConvertError) -> Self {
        let is_stop = matches!(error, ConvertError::Text { is_stop: true, .. });
        Self { is_stop, ..Self::new(&error, error.is_refusal()) }
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
        Self::new(&error, is_refusal)
    }
}

impl From<TrainError> for JobError {
    fn from(error: TrainError) -> Self {
        Self::new(&error, error.is_refusal())
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
        let told = JobError::refusal("It is short.").explain(|why| format!("No. {why}"));
        assert_eq!((told.why.as_str(), told.is_refusal), ("No. It is short.", true));
    }
}
