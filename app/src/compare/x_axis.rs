//! What the x of a run's curve is.

use std::collections::BTreeMap;

use headroom_engine::{
    attention::{Cost, ModelPlan, Workload, estimated_vocabulary},
    config::{RunConfig, from_json},
    store::RunId,
};
use serde_json::Value;

use crate::{
    state::{CurveX, State},
    widgets::XAxis,
};

/// The x of runs' curves; remembers what the cost model counted.
#[derive(Default)]
pub struct CurveXs {
    flops: BTreeMap<RunId, Option<f64>>,
}

impl CurveXs {
    /// The x of a run's curves; none while what it needs is not known (asks for the run's record where that helps).
    ///
    /// The clock starts at the run's first start and leaves pauses out. FLOPs are steps times the FLOPs of a step, as
    /// the store has them, else as the cost model counts them from the config. Epochs need the tokens of the training
    /// text, which a run tells when it starts in this program; else they are known where the config asks for epochs.
    pub fn of(&mut self, state: &mut State, run: &RunId, x: XAxis) -> Option<CurveX> {
        match x {
            XAxis::Step => Some(CurveX::STEP),
            XAxis::Tokens => Some(CurveX::TOKENS),
            XAxis::RelativeTime => Some(CurveX::WALL_SECS),
            XAxis::WallTime => state.run(run)?.started_ms.map(|start| CurveX::clock(start as f64 / 1000.0)),
            XAxis::Epoch => match state.started.get(run).filter(|facts| facts.train_tokens > 0) {
                Some(facts) => Some(CurveX::epochs(facts.train_tokens as f64)),
                None => configured_epochs(state, run),
            },
            XAxis::Flops => self.flops_per_step(state, run).map(CurveX::flops),
        }
    }

    fn flops_per_step(&mut self, state: &mut State, run: &RunId) -> Option<f64> {
        if let Some(stored) = state.run(run).and_then(|summary| summary.flops_per_step) {
            return Some(stored as f64);
        }
        if let Some(known) = self.flops.get(run) {
            return *known;
        }
        state.want_record(run);
        let flops = config_of(&state.records.get(run)?.config).and_then(|config| step_flops(&config));
        self.flops.insert(run.clone(), flops);
        flops
    }
}

/// Why runs may be missing over this x, as a sentence.
pub fn why_missing(x: XAxis) -> &'static str {
    match x {
        XAxis::WallTime => "A run that never started has no date.",
        XAxis::Epoch => {
            "Epochs are known of runs that started since the window opened or whose config counts in epochs."
        }
        XAxis::Flops => "Compute is known once the run's config is loaded.",
        XAxis::Step | XAxis::Tokens | XAxis::RelativeTime => "",
    }
}

/// Passes over the text of a run whose config asks for so many of them: they spread evenly over its steps.
fn configured_epochs(state: &mut State, run: &RunId) -> Option<CurveX> {
    state.want_record(run);
    let steps = state.run(run)?.steps_total.filter(|&steps| steps > 0)?;
    let epochs = state.records.get(run)?.config.pointer("/train/epochs")?.as_f64()?;
    Some(CurveX { scale: epochs / steps as f64, ..CurveX::STEP })
}

/// The FLOPs of an optimiser step by the cost model; none for a config that cannot be built. The vocabulary is the
/// one that the config asks for.
fn step_flops(config: &RunConfig) -> Option<f64> {
    let plan = ModelPlan::resolve(config, estimated_vocabulary(config)).ok()?;
    Some(Cost::of(&plan, &Workload::training(config)).flops_per_step as f64)
}

/// A stored config, read.
pub fn config_of(json: &Value) -> Option<RunConfig> {
    from_json(&json.to_string()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{inspector::examples, state::CurveBase};

    fn state(flops_per_step: Option<u64>) -> (State, RunId) {
        let mut state = State::default();
        state.runs = vec![examples::summary(1, "run")];
        state.runs[0].flops_per_step = flops_per_step;
        let id = state.runs[0].id.clone();
        (state, id)
    }

    #[test]
    fn compute_is_what_the_store_says_else_what_the_cost_model_counts() {
        let (mut told, id) = state(Some(2_000));
        assert_eq!(CurveXs::default().of(&mut told, &id, XAxis::Flops), Some(CurveX::flops(2_000.0)));
        let (mut state, id) = state(None);
        let mut xs = CurveXs::default();
        assert_eq!(xs.of(&mut state, &id, XAxis::Flops), None);
        assert_eq!(state.take_wishes().len(), 1, "the record was asked for");
        state.records.insert(id.clone(), examples::record(1, "run"));
        let x = xs.of(&mut state, &id, XAxis::Flops).unwrap();
        assert_eq!(x.base, CurveBase::Step);
        assert!(x.scale > 1e6);
    }

    #[test]
    fn the_clock_starts_with_the_run_and_epochs_follow_from_a_config_that_counts_them() {
        let (mut state, id) = state(None);
        let mut xs = CurveXs::default();
        assert_eq!(xs.of(&mut state, &id, XAxis::WallTime).unwrap().offset, 1_741_529_110.0);
        let mut record = examples::record(1, "run");
        state.records.insert(id.clone(), record.clone());
        assert_eq!(xs.of(&mut state, &id, XAxis::Epoch), None, "this config counts in steps");
        record.config["train"]["epochs"] = 4.0.into();
        state.records.insert(id.clone(), record);
        let x = xs.of(&mut state, &id, XAxis::Epoch).unwrap();
        assert_eq!((x.base, x.scale), (CurveBase::Step, 0.04));
    }
}
