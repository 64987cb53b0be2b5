use std::process::ExitCode;

use headroom_engine::{
    config::{Problem, counted},
    store::StoreError,
    train::TrainError,
    worker::EngineError,
};

/// How a command ends when it does not do what was asked.
#[derive(Debug)]
pub enum CliError {
    /// What was given cannot be used; nothing was changed. Exit code 2.
    BadInput(String),
    /// Fields of a config that cannot be used; nothing was started. Exit code 2.
    Problems {
        /// All of it, in words.
        message: String,
        /// Field by field.
        problems: Vec<Problem>,
    },
    /// The attempt was made and failed. Exit code 1.
    Failed(String),
    /// Nobody reads the answer any more (`headroom runs | head`). Exit code 0.
    ReaderLeft,
}

/// What a command comes to.
pub type CliResult<T = ()> = Result<T, CliError>;

impl CliError {
    /// Every problem of a config, one a line, each with its field.
    pub fn problems(config: &str, problems: &[Problem]) -> Self {
        let count = match problems.len() {
            1 => "a problem".to_owned(),
            n => counted(n, "problem"),
        };
        let mut lines = vec![format!("{config} has {count}; nothing was started.")];
        lines.extend(problems.iter().map(|problem| format!("  {problem}")));
        Self::Problems { message: lines.join("\n"), problems: problems.to_vec() }
    }

    /// Trouble with a model that was to be computed: bad input where what was asked for cannot be, in the error's words.
    pub fn of_training(error: &TrainError) -> Self {
        match error {
            refused if refused.is_refusal() => Self::BadInput(refused.to_string()),
            TrainError::State(message) => Self::Failed(message.clone()),
            other => Self::Failed(other.to_string()),
        }
    }

    /// Trouble with the store, told as `message`: bad input where something was named that is not there, or a store
    /// that cannot be used whenever one tries; a failure where it could be in a moment.
    pub fn of_store(cause: &StoreError, message: String) -> Self {
        match cause {
            StoreError::Ambiguous { .. }
            | StoreError::Corrupt { .. }
            | StoreError::Folder { .. }
            | StoreError::Missing { .. }
            | StoreError::Newer { .. }
            | StoreError::NoSuchAnalysis { .. }
            | StoreError::NoSuchBenchmark { .. }
            | StoreError::NoSuchRun { .. }
            | StoreError::NotADatabase { .. }
            | StoreError::NotAFile { .. }
            | StoreError::NotWritable { .. }
            | StoreError::Older { .. }
            | StoreError::OtherProgram { .. }
            | StoreError::RunDamaged { .. } => Self::BadInput(message),
            _ => Self::Failed(message),
        }
    }

    /// The exit code that scripts see.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::ReaderLeft => ExitCode::SUCCESS,
            Self::Failed(_) => ExitCode::from(1),
            Self::BadInput(_) | Self::Problems { .. } => ExitCode::from(2),
        }
    }

    /// What to say on standard error.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::BadInput(message) | Self::Failed(message) | Self::Problems { message, .. } => Some(message),
            Self::ReaderLeft => None,
        }
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        Self::of_store(&error, error.to_string())
    }
}

impl From<EngineError> for CliError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            other => Self::Failed(other.to_string()),
        }
    }
}

/// What happened and what to do about it, as one text.
pub fn joined(why: &str, what_to_do: &str) -> String {
    match (why.trim_end(), what_to_do.trim()) {
        (why, "") => why.to_owned(),
        ("", what_to_do) => what_to_do.to_owned(),
        // A path may end it, to which a full stop would seem to belong.
        (why, what_to_do) if why.ends_with(['.', '!', '?']) => format!("{why} {what_to_do}"),
        (why, what_to_do) => format!("{why}\n{what_to_do}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_stands_on_its_own_line_with_its_field() {
        let problems = [Problem::new("model.width", "is odd"), Problem::new("train.batch", "is 0")];
        let error = CliError::problems("c.toml", &problems);
        assert_eq!(
            error.message(),
            Some("c.toml has 2 problems; nothing was started.\n  model.width: is odd\n  train.batch: is 0")
        );
    }

    #[test]
    fn what_names_nothing_is_bad_input_and_a_full_disk_is_not() {
        let missing = StoreError::NoSuchRun { query: "x".into(), nearest: Vec::new() };
        assert!(matches!(CliError::from(missing), CliError::BadInput(_)));
        let refused = StoreError::NotWritable { path: "x".into(), reason: "no".into() };
        assert!(matches!(CliError::from(refused), CliError::BadInput(_)));
        let full = StoreError::Full { path: "x".into() };
        assert!(matches!(CliError::from(full), CliError::Failed(_)));
    }

    #[test]
    fn a_path_and_a_full_stop_keep_apart() {
        assert_eq!(joined("It failed.", "Try again."), "It failed. Try again.");
        assert_eq!(joined("There is nothing: /a/b", "Try again."), "There is nothing: /a/b\nTry again.");
        assert_eq!((joined("It failed.", ""), joined("", "Try again.")), ("It failed.".into(), "Try again.".into()));
    }
}
