//! What is known about a run, as lines of a table.

use std::fmt::Write as _;

use headroom_engine::{
    attention::ParameterMatch,
    config::counted,
    store::{RunRecord, RunSummary},
    train::Numerics,
};

use crate::{format, panels::live::mean_speed};

/// One fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it is.
    pub label: &'static str,
    /// The value as people read it.
    pub shown: String,
    /// What is put on the clipboard.
    pub exact: String,
    /// What it means; may be empty.
    pub about: &'static str,
}

impl Fact {
    fn new(label: &'static str, shown: impl Into<String>, about: &'static str) -> Self {
        let shown = shown.into();
        Self { label, exact: shown.clone(), shown, about }
    }
}

/// What makes the run reproducible and what it amounts to.
///
/// `run` is the run's line in the table: of what is in both, it is the newer.
pub fn facts(record: &RunRecord, run: &RunSummary) -> Vec<Fact> {
    let time = |ms: i64| format::date_time(ms as f64 / 1000.0);
    let mut facts = vec![
        Fact::new("Id", run.id.to_string(), "Never changes; the command line accepts it"),
        Fact::new("Seed", run.seed.to_string(), "Seed of initialisation, data order, dropout and masking"),
        Fact::new("Device", run.device.clone(), ""),
        Fact::new("Threads", run.threads.to_string(), "Threads that the run computes with on the processor"),
    ];
    if let Some(parameters) = run.parameters {
        let exact = parameters.to_string();
        facts.push(Fact { exact, ..Fact::new("Parameters", format::count(parameters), "Trainable parameters") });
    }
    let config = record.run_config().ok();
    if let Some(matched) = config.and_then(|config| ParameterMatch::of(&config).ok().flatten()) {
        let about = "Layers that `attention.match_parameters` added to come closest in parameters";
        facts.push(Fact::new("Matched", matched.to_string(), about));
    }
    let of = run.steps_total.map_or_else(String::new, |total| format!(" of {}", format::count(total)));
    facts.push(Fact::new("Steps", format!("{}{of}", format::count(run.steps_done)), "Optimiser steps done"));
    facts.push(Fact::new("Tokens", format::count(run.tokens), "Tokens trained on"));
    facts.push(Fact::new(
        "Duration",
        format::duration(run.train_secs),
        "Time in training steps, without evaluations, analyses, checkpoints and pauses",
    ));
    if let Some(speed) = mean_speed(run) {
        let exact = format!("{speed:.1} tokens/s");
        let about = "Tokens trained on, divided by the duration: of the whole run";
        facts.push(Fact { exact, ..Fact::new("Mean speed", format::rate(speed, "tokens"), about) });
    }
    facts.push(Fact::new("Queued", format!("{} UTC", time(run.created_ms)), ""));
    facts.extend(run.started_ms.map(|ms| Fact::new("Started", format!("{} UTC", time(ms)), "")));
    facts.extend(run.ended_ms.map(|ms| Fact::new("Ended", format!("{} UTC", time(ms)), "")));
    if record.attempts.len() > 1 {
        let starts: Vec<String> = record.attempts.iter().map(|attempt| format::count(attempt.first_step)).collect();
        let shown = format!("{}, from steps {}", record.attempts.len(), starts.join(", "));
        facts.push(Fact::new("Attempts", shown, "The first start and each resume"));
    }
    if let Some(parent) = &run.parent {
        let shown = format!("{} at step {}", parent.run, format::count(parent.step));
        facts.push(Fact::new("Parent", shown, "The run whose checkpoint it started from"));
    }
    let version = match record.numerics {
        Numerics::CURRENT => record.program_version.clone(),
        Numerics(earlier) => format!("{}, numerics {earlier}", record.program_version),
    };
    facts.push(Fact::new(
        "Version",
        version,
        "Version of the program that made the run, and of its numerics if it is another",
    ));
    let commit = match (&record.git_commit, record.git_dirty) {
        (None, _) => "not known".to_owned(),
        (Some(commit), Some(true)) => format!("{commit}, with changes"),
        (Some(commit), _) => commit.clone(),
    };
    facts.push(Fact::new("Headroom's commit", commit, "Git commit that the program was built from"));
    let hash = record.data_hash.clone().unwrap_or_else(|| "not known yet".to_owned());
    facts.push(Fact::new("Data hash", hash, "Hash of text and tokenizer: equal hashes mean equal data"));
    let machine = &record.machine;
    facts.push(Fact::new("Processor", format!("{}, {}", machine.cpu, counted(machine.cores, "core")), ""));
    facts.push(Fact::new("System", machine.os.clone(), ""));
    facts
}

/// All facts as text, a line each.
pub fn as_text(facts: &[Fact]) -> String {
    let mut text = String::new();
    for fact in facts {
        let _ = writeln!(text, "{}: {}", fact.label, fact.exact);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples;

    #[test]
    fn what_reproduces_a_run_is_there() {
        let record = examples::record(3, "run");
        let text = as_text(&facts(&record, &record.summary));
        for line in [
            "Id: 0000000003",
            "Seed: 1",
            "Parameters: 1240000",
            "Steps: 100 of 100",
            "Mean speed: 1706.7 tokens/s",
            "Headroom's commit: 0123456789abcdef, with changes",
            "Data hash: feedbeef",
            "Processor: a processor, 2 cores",
            "Queued: 2025-03-09 14:05:09 UTC",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is missing in\n{text}");
        }
        assert!(!text.contains("Matched"), "nothing was matched");
        let mut matched = examples::record(4, "matched");
        matched.config_toml =
            "format = 1\n[model]\nlayers = 12\nheads = 4\nwidth = 64\nfeed_forward = 256\n[attention]\n\
            reuse = { kind = \"partial\", heads = 4 }\nmatch_parameters = \"standard\"\n"
                .to_owned();
        let found = as_text(&facts(&matched, &matched.summary));
        assert!(found.contains("Matched: 14 layers instead of 12: "), "{found}");
        assert!(!text.contains("Attempts"), "a run that was never resumed has one");
    }
}
