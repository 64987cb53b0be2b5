//! Analyses of attention that a run made while it trained, and those that it left out.

use headroom_engine::{store::RunRecord, train::LIVE_ANALYSIS_SHARE};

/// How many analyses of attention were due while a run trained, as far as it came.
pub fn analyses_due(record: &RunRecord) -> u64 {
    let (Ok(config), run) = (record.run_config(), &record.summary) else { return 0 };
    let steps = run.steps_total.unwrap_or(u64::MAX);
    if run.started_ms.is_none() { 0 } else { config.probe.analyses_due(run.steps_done, steps) }
}

/// How many of them there are and why not all; none where no one is missing. `made`: the steps of those that are there.
pub fn analyses_left_out(record: &RunRecord, made: &[u64]) -> Option<String> {
    let due = analyses_due(record);
    let left_out = due.checked_sub(made.len() as u64).filter(|&left_out| left_out > 0 && !made.is_empty())?;
    Some(format!(
        "{left_out} of {due} analyses of attention left out: they would have taken more than {:.0} % of the training time",
        100.0 * LIVE_ANALYSIS_SHARE
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples;

    #[test]
    fn those_that_are_missing_are_counted() {
        let mut record = examples::record(1, "run");
        record.config_toml = "format = 1\n[probe]\nevery = 50".to_owned();
        (record.summary.steps_done, record.summary.steps_total) = (300, Some(300));
        record.summary.started_ms = Some(1);
        assert_eq!(analyses_due(&record), 7);
        assert_eq!(analyses_left_out(&record, &[0, 50, 100, 150, 200, 250, 300]), None);
        let words = "3 of 7 analyses of attention left out: they would have taken more than 5 % of the training time";
        assert_eq!(analyses_left_out(&record, &[0, 150, 250, 300]).as_deref(), Some(words));
        // A run that leaves no such traces, as one before its first step, says nothing.
        assert_eq!(analyses_left_out(&record, &[]), None);
    }
}
