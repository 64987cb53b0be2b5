use crate::{
    analysis::{Analysis, AnalysisContext, AnalysisError, AnalysisSpec, analyse, examples_at_once},
    attention::ModelPlan,
    config::RunConfig,
    data::{HeldOut, memory},
    model::Model,
};

/// The largest share of the training time that analyses of the probe batch may take; those that would take more are
/// left out.
pub const LIVE_ANALYSIS_SHARE: f64 = 0.05;

/// Analyses of the attention on the probe batch, and the time that they take.
#[derive(Debug)]
pub(super) struct LiveAnalyses {
    spec: AnalysisSpec,
    examples: usize,
    at_once: usize,
    tokens: usize,
    total_secs: f64,
    last_secs: f64,
    has_told: bool,
}

impl LiveAnalyses {
    pub(super) fn new(config: &RunConfig, plan: &ModelPlan, held_out: &HeldOut) -> Self {
        let tokens = config.data.sequence_length;
        let examples = held_out.spread_count(config.probe.examples);
        let spec = AnalysisSpec::live(examples, tokens);
        let at_once = examples_at_once(plan, tokens);
        Self { spec, examples, at_once, tokens, total_secs: 0.0, last_secs: 0.0, has_told: false }
    }

    pub(super) fn analyse(
        &self,
        model: &Model,
        held_out: &HeldOut,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<Analysis, AnalysisError> {
        let wanted = AnalysisContext {
            spec: &self.spec,
            examples: self.examples,
            tokens: self.tokens,
            bases: &[],
            // Beside a run that trains.
            free: memory::free_bytes().map(|free| free / 2),
            tell: &|_| (),
            should_stop,
        };
        analyse(model, held_out.spread(self.examples, self.at_once), &wanted)
    }

    pub(super) fn spent(&mut self, secs: f64) {
        self.total_secs += secs;
        self.last_secs = secs;
    }

    pub(super) fn has_time(&self, train_secs: f64) -> bool {
        self.total_secs + self.last_secs <= LIVE_ANALYSIS_SHARE * train_secs
    }

    pub(super) fn first_left_out(&mut self) -> Option<f64> {
        (!std::mem::replace(&mut self.has_told, true)).then_some(self.last_secs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn analyses_never_take_more_than_their_share() {
        let mut analyses = LiveAnalyses {
            spec: AnalysisSpec::default(),
            examples: 1,
            at_once: 1,
            tokens: 8,
            total_secs: 0.0,
            last_secs: 0.0,
            has_told: false,
        };
        analyses.spent(0.5); // the one before the first step
        let mut taken = 0;
        for step in 1..=1000 {
            let train_secs = f64::from(step) * 0.1;
            if analyses.has_time(train_secs) {
                analyses.spent(0.5);
                taken += 1;
                assert!(analyses.total_secs <= LIVE_ANALYSIS_SHARE * train_secs + 1e-9);
            }
        }
        // 100 s of training have room for ten analyses of half a second.
        assert_eq!(taken, 9);
        assert_eq!(analyses.first_left_out(), Some(0.5));
        assert_eq!(analyses.first_left_out(), None);
    }
}
