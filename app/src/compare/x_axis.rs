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
    /// the run reported them when it started in this program, else as the cost model counts them from the config.
    /// Epochs need the tokens of the training text, which only a run that started in this program has told.
    pub fn of(&mut self, state: &mut State, run: &RunId, x: XAxis) -> Option<CurveX> {
        match x {
            XAxis::Step => Some(CurveX::STEP),
            XAxis::Tokens => Some(CurveX::TOKENS),
            XAxis::RelativeTime => Some(CurveX::WALL_SECS),
            XAxis::WallTime => state.run(run)?.started_ms.map(|start| CurveX::clock(start as f64 / 1000.0)),
            XAxis::Epoch => state.started.get(run).map(|facts| CurveX::epochs(facts.train_tokens as f64)),
            XAxis::Flops => self.flops_per_step(state, run).map(CurveX::flops),
        }
    }

    fn flops_per_step(&mut self, state: &mut State, run: &RunId) -> Option<f64> {
        if let Some(facts) = state.started.get(run).filter(|facts| facts.flops_per_step > 0) {
            return Some(facts.flops_per_step as f64);
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
        XAxis::Epoch => "Epochs are known only of runs that were started since the window opened.",
        XAxis::Flops => "Compute is known once the run's config is loaded.",
        XAxis::Step | XAxis::Tokens | XAxis::RelativeTime => "",
    }
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

    #[test]
    fn compute_follows_from_the_config_where_the_run_has_not_told_it() {
        let mut state = State { runs: vec![examples::summary(1, "run")], ..State::default() };
        let id = state.runs[0].id.clone();
        let mut xs = CurveXs::default();
        assert_eq!(xs.of(&mut state, &id, XAxis::Flops), None);
        assert_eq!(state.take_wishes().len(), 1, "the record was asked for");
        state.records.insert(id.clone(), examples::record(1, "run"));
        let x = xs.of(&mut state, &id, XAxis::Flops).unwrap();
        assert_eq!(x.base, CurveBase::Step);
        assert!(x.scale > 1e6);
        assert_eq!(xs.of(&mut state, &id, XAxis::Epoch), None);
        let clock = xs.of(&mut state, &id, XAxis::WallTime).unwrap();
        assert_eq!(clock.offset, 1_741_529_110.0);
    }
}
