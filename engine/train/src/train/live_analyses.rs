use crate::{
    analysis::{Analysis, AnalysisContext, AnalysisError, AnalysisSpec, analyse, examples_at_once},
    attention::ModelPlan,
    config::RunConfig,
    data::{HeldOut, memory},
    model::Model,
};

/// The largest share of the training time that analyses of the probe batch may take; those that would take more are
/// left out. The one before the first step and the one after the last are always made and do not count.
pub const LIVE_ANALYSIS_SHARE: f64 = 0.05;

/// Analyses of the attention on the probe batch, and the time that they take.
///
/// Each counts with the shortest time that one has taken so far: the first makes buffers that the others find, and what other
/// programs on the machine add is not its own. The time is spent before it is earned: an analysis is left out where those
/// before it have used up the share, so that the first is always made.
#[derive(Debug)]
pub(super) struct LiveAnalyses {
    spec: AnalysisSpec,
    examples: usize,
    at_once: usize,
    tokens: usize,
    /// How many were made between the first step and the last.
    made: u32,
    shortest_secs: Option<f64>,
    has_told: bool,
}

impl LiveAnalyses {
    pub(super) fn new(config: &RunConfig, plan: &ModelPlan, held_out: &HeldOut) -> Self {
        let tokens = config.data.sequence_length;
        let examples = held_out.spread_count(config.probe.examples);
        let mut spec = AnalysisSpec::live(examples, tokens);
        if config.answers_examples() && !config.data.source.has_images() {
            // Texts of a task have lengths of their own: maps can be compared, scores of one length have no space in common.
            spec.spectrum = None;
        }
        let at_once = examples_at_once(plan, tokens);
        Self { spec, examples, at_once, tokens, made: 0, shortest_secs: None, has_told: false }
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
            tell: &|_, _| (),
            should_stop,
        };
        analyse(model, &mut held_out.spread(self.examples, self.at_once), &wanted)
    }

    /// Notes how long one took; `counts`: it was neither the one before the first step nor the one after the last.
    pub(super) fn spent(&mut self, secs: f64, counts: bool) {
        self.made += u32::from(counts);
        self.shortest_secs = Some(self.shortest_secs.map_or(secs, |shortest| shortest.min(secs)));
    }

    fn shortest_secs(&self) -> f64 {
        self.shortest_secs.unwrap_or(0.0)
    }

    pub(super) fn has_time(&self, train_secs: f64) -> bool {
        f64::from(self.made) * self.shortest_secs() <= LIVE_ANALYSIS_SHARE * train_secs
    }

    pub(super) fn first_left_out(&mut self) -> Option<f64> {
        (!std::mem::replace(&mut self.has_told, true)).then_some(self.shortest_secs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none_yet() -> LiveAnalyses {
        LiveAnalyses {
            spec: AnalysisSpec::default(),
            examples: 1,
            at_once: 1,
            tokens: 8,
            made: 0,
            shortest_secs: None,
            has_told: false,
        }
    }

    #[test]
    fn analyses_take_no_more_than_their_share_and_one() {
        let mut analyses = none_yet();
        analyses.spent(0.5, false); // the one before the first step
        for step in 1..=1000 {
            let train_secs = f64::from(step) * 0.1;
            if analyses.has_time(train_secs) {
                analyses.spent(0.5, true);
                assert!(0.5 * f64::from(analyses.made - 1) <= LIVE_ANALYSIS_SHARE * train_secs + 1e-9);
            }
        }
        // 100 s of training have room for ten analyses of half a second, and the first is made in advance.
        assert_eq!(analyses.made, 11);
        assert_eq!(analyses.first_left_out(), Some(0.5));
        assert_eq!(analyses.first_left_out(), None);
    }

    #[test]
    fn a_slow_first_one_and_a_busy_machine_leave_none_out() {
        // Measured while other programs computed: 50 steps of 6 s, analyses of 0.11 to 0.4 s.
        let mut analyses = none_yet();
        analyses.spent(0.4, false);
        for (probe, secs) in [(1, 0.35), (2, 0.27), (3, 0.11), (4, 0.2), (5, 0.25), (6, 0.37)] {
            assert!(analyses.has_time(f64::from(probe) * 7.4), "probe {probe}");
            analyses.spent(secs, true);
        }
    }
}
