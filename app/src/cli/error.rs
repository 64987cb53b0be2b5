use std::process::ExitCode;

use headroom_engine::{
    config::{ConfigError, Problem, counted},
    store::StoreError,
    train::TrainError,
    worker::EngineError,
};

/// The field of what no argument and no field of a config is to blame for.
pub const WHOLE: &str = "command";

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
    /// The same, where one argument is to blame. Exit code 1.
    FailedAt {
        /// The argument.
        field: &'static str,
        /// What failed and why.
        message: String,
    },
    /// Nobody reads the answer any more (`headroom runs | head`). Exit code 0.
    ReaderLeft,
}

/// What a command comes to.
pub type CliResult<T = ()> = Result<T, CliError>;

impl CliError {
    /// An argument or a field that cannot be used, named as scripts know it (`run`, `--out`, `model.layers`).
    pub fn at(field: impl Into<String>, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Problems { problems: vec![Problem::new(field, message.clone())], message }
    }

    /// A config that cannot be read, called `label` where its text is to blame.
    pub fn of_config(label: &str, error: &ConfigError) -> Self {
        let problems = error.problems();
        let message = match (error, problems.as_slice()) {
            (ConfigError::Override { .. }, _) => error.to_string(),
            (ConfigError::Fields(_), [_, _, ..]) => return Self::problems(label, &problems),
            (ConfigError::Fields(_), _) => format!("{label}: {}", stopped(&error.to_string())),
            _ => format!("{label}: {error}"),
        };
        Self::Problems { message, problems }
    }

    /// The same in other words.
    #[must_use]
    pub fn explain(self, sentence: impl Fn(String) -> String) -> Self {
        match self {
            Self::BadInput(message) => Self::BadInput(sentence(message)),
            Self::Problems { message, mut problems } => {
                for problem in &mut problems {
                    *problem = Problem::new(problem.field.clone(), sentence(problem.message()));
                }
                Self::Problems { message: sentence(message), problems }
            }
            Self::Failed(message) => Self::Failed(sentence(message)),
            Self::FailedAt { field, message } => Self::FailedAt { field, message: sentence(message) },
            Self::ReaderLeft => Self::ReaderLeft,
        }
    }

    /// What is wrong, one by one, each with its field.
    pub fn problem_list(&self) -> Vec<Problem> {
        match self {
            Self::BadInput(message) | Self::Failed(message) => vec![Problem::new(WHOLE, message.clone())],
            Self::FailedAt { field, message } => vec![Problem::new(*field, message.clone())],
            Self::Problems { message, problems } if problems.is_empty() => vec![Problem::new(WHOLE, message.clone())],
            Self::Problems { problems, .. } => problems.clone(),
            Self::ReaderLeft => Vec::new(),
        }
    }

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
            StoreError::Ambiguous { .. } | StoreError::NoSuchRun { .. } | StoreError::RunDamaged { .. } => {
                Self::at("run", message)
            }
            StoreError::RunIsActive { .. } => Self::FailedAt { field: "run", message },
            StoreError::NoSuchAnalysis { .. } => Self::at("analysis", message),
            StoreError::NoSuchBenchmark { .. } => Self::at("benchmark", message),
            StoreError::Corrupt { .. }
            | StoreError::Folder { .. }
            | StoreError::Linked { .. }
            | StoreError::Missing { .. }
            | StoreError::Newer { .. }
            | StoreError::NotADatabase { .. }
            | StoreError::NotAFile { .. }
            | StoreError::NotWritable { .. }
            | StoreError::Older { .. }
            | StoreError::OtherProgram { .. }
            | StoreError::SuperJournal { .. } => Self::at("store", message),
            _ => Self::FailedAt { field: "store", message },
        }
    }

    /// The exit code that scripts see.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::ReaderLeft => ExitCode::SUCCESS,
            Self::Failed(_) | Self::FailedAt { .. } => ExitCode::from(1),
            Self::BadInput(_) | Self::Problems { .. } => ExitCode::from(2),
        }
    }

    /// What to say on standard error.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::BadInput(message)
            | Self::Failed(message)
            | Self::FailedAt { message, .. }
            | Self::Problems { message, .. } => Some(message),
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

/// The text with a full stop.
fn stopped(text: &str) -> String {
    if text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
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
        assert_eq!(CliError::from(missing).problem_list()[0].field, "run");
        let refused = StoreError::NotWritable { path: "x".into(), reason: "no".into() };
        let refused = CliError::from(refused);
        assert!(matches!(refused, CliError::Problems { .. }) && refused.problem_list()[0].field == "store");
        let full = StoreError::Full { path: "x".into() };
        assert!(matches!(CliError::from(full), CliError::FailedAt { field: "store", .. }));
    }

    #[test]
    fn a_path_and_a_full_stop_keep_apart() {
        assert_eq!(joined("It failed.", "Try again."), "It failed. Try again.");
        assert_eq!(joined("There is nothing: /a/b", "Try again."), "There is nothing: /a/b\nTry again.");
        assert_eq!((joined("It failed.", ""), joined("", "Try again.")), ("It failed.".into(), "Try again.".into()));
    }
}
