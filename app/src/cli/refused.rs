//! What scripts that read `--json` get of a command that was not carried out: one object, the last on standard output.

use clap::error::{ContextKind, ContextValue};
use headroom_engine::config::Problem;
use serde_json::json;

use super::{
    error::{CliError, WHOLE},
    print,
};

/// Whether the arguments ask for JSON, also where they cannot be read otherwise.
pub fn wants_json(arguments: impl Iterator<Item = std::ffi::OsString>) -> bool {
    arguments.take_while(|argument| argument != "--").any(|argument| argument == "--json")
}

/// Tells why a command ended: `refused` where what was given cannot be used (exit code 2), `failed` where the attempt was
/// made (1). Nothing where the answer was given and says it itself.
pub fn tell(error: &CliError) {
    let problems = error.problem_list();
    let (event, why) = match error {
        CliError::BadInput(why) | CliError::Problems { message: why, .. } => ("refused", why),
        CliError::Failed(why) | CliError::FailedAt { message: why, .. } => ("failed", why),
        CliError::ReaderLeft => return,
    };
    say(event, why, &problems);
}

/// Tells why the arguments cannot be read.
pub fn tell_arguments(error: &clap::Error) {
    let text = error.render().to_string();
    let why = text.trim_start_matches("error: ").split("\n\nUsage:").next().unwrap_or_default().trim().to_owned();
    let named = [ContextKind::InvalidArg, ContextKind::InvalidSubcommand].into_iter().find_map(|kind| error.get(kind));
    let names = match named {
        Some(ContextValue::String(name)) => vec![name.clone()],
        Some(ContextValue::Strings(names)) => names.clone(),
        _ => Vec::new(),
    };
    let mut problems: Vec<Problem> = names.iter().map(|name| Problem::new(field(name), why.clone())).collect();
    if problems.is_empty() {
        problems.push(Problem::new(WHOLE, why.clone()));
    }
    say("refused", &why, &problems);
}

/// Tells that the program ended by an error of its own.
pub fn tell_panic() {
    let why = "Headroom made an error of its own; standard error says where its details are.";
    say("failed", why, &[Problem::new(WHOLE, why)]);
}

/// Tells that the command was stopped before it had an answer.
pub fn tell_stop(why: &str) {
    say("failed", why, &[Problem::new(WHOLE, why.to_owned())]);
    print::aside(why);
}

fn say(event: &str, why: &str, problems: &[Problem]) {
    let line = if event == "failed" {
        json!({ "event": event, "why": why, "what_to_do": "", "problems": problems })
    } else {
        json!({ "event": event, "why": why, "problems": problems })
    };
    // Standard error says it too.
    let _ = print::json_refusal(&line);
}

/// An argument as it is typed: `--steps` of `--steps <STEPS>`, `run` of `<RUN>`.
fn field(argument: &str) -> String {
    let name = argument.split([' ', '=']).next().unwrap_or(argument);
    if name.starts_with('-') {
        return name.to_owned();
    }
    let name = name.trim_matches(['<', '>', '[', ']', '.']);
    // `RUN|DIR` is told as `run`, whatever it was meant as.
    name.split('|').next().unwrap_or(name).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_asked_for_by_its_flag_alone() {
        let wants = |words: &[&str]| wants_json(words.iter().map(std::ffi::OsString::from));
        assert!(wants(&["headroom", "fly", "--json"]));
        assert!(!wants(&["headroom", "runs"]) && !wants(&["headroom", "note", "1", "--", "--json"]));
    }

    #[test]
    fn arguments_are_named_as_they_are_typed() {
        assert_eq!(field("--steps <STEPS>"), "--steps");
        assert_eq!(field("--set=x"), "--set");
        assert_eq!(field("<RUN>..."), "run");
        assert_eq!((field("[CONFIG]"), field("<RUN|DIR>")), ("config".to_owned(), "run".to_owned()));
    }
}
