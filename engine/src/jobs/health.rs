use crate::{
    config::RunConfig,
    store::{Divergence, RunId, RunState, StateDetails, Store, series_names},
    train::{Health, Stability},
};

/// How the loss of the current run behaves, where the config has it watched.
#[derive(Default)]
pub(crate) struct HealthWatch {
    stability: Option<Stability>,
    stops: bool,
}

impl HealthWatch {
    /// `outcomes` is how many tokens or classes the model tells apart.
    pub(crate) fn new(config: &RunConfig, outcomes: usize, steps: u64) -> Self {
        let choice = &config.train.stability;
        let stability = choice.is_watched().then(|| Stability::new(outcomes, steps));
        Self { stability, stops: choice.stops() }
    }

    /// Takes in what the run logged until `step`, so that a continued run is judged as one that never stopped.
    pub(crate) fn catch_up(&mut self, store: &Store, run: &RunId, step: u64) {
        let Some(stability) = &mut self.stability else { return };
        let points = |series: &str| {
            let data = store.series(run, series, None).unwrap_or_default();
            data.steps.into_iter().zip(data.values).take_while(move |(at, _)| *at <= step).collect::<Vec<_>>()
        };
        let mut evaluations = points(series_names::VALIDATION_LOSS).into_iter().peekable();
        let mut choices = points(series_names::COVERAGE_SCORE_ERROR).into_iter().peekable();
        for (at, loss) in points(series_names::TRAIN_LOSS) {
            let _ = stability.step(at, loss);
            while let Some((of, loss)) = evaluations.next_if(|(of, _)| *of <= at) {
                let _ = stability.evaluated(of, loss);
            }
            while choices.next_if(|(of, _)| *of <= at).is_some() {
                stability.restart();
            }
        }
    }

    /// What holds now; none where nobody watches.
    pub(crate) fn now(&self) -> Option<Health> {
        self.stability.as_ref().map(Stability::health)
    }

    /// A step was done; what is new.
    pub(crate) fn step(&mut self, step: u64, loss: f64) -> Option<Health> {
        self.stability.as_mut()?.step(step, loss)
    }

    /// The held-out text was evaluated; what is new.
    pub(crate) fn evaluated(&mut self, step: u64, loss: f64) -> Option<Health> {
        self.stability.as_mut()?.evaluated(step, loss)
    }

    /// The run trains another model from now on; what is new.
    pub(crate) fn restart(&mut self) -> Option<Health> {
        let stability = self.stability.as_mut()?;
        let before = stability.health();
        stability.restart();
        (before != Health::Sound).then_some(Health::Sound)
    }

    /// Whether the run is to end because it has diverged.
    pub(crate) fn is_over(&self) -> bool {
        self.stops && matches!(self.now(), Some(Health::Diverged { .. }))
    }

    /// What holds in the end, all steps done or ended by [`HealthWatch::is_over`].
    pub(crate) fn end(&mut self) -> Option<Health> {
        self.stability.as_mut().map(Stability::end)
    }
}

/// The state, its reason and its details of a run that came to an end with this health.
pub(crate) fn ended(health: Option<Health>) -> (RunState, Option<String>, StateDetails) {
    match health {
        Some(health @ Health::Diverged { since_step, .. }) => {
            let details =
                StateDetails { diverged: Some(Divergence { step: since_step, at: None }), ..StateDetails::default() };
            (RunState::Diverged, Some(format!("{} {}", health.why(), health.what_to_do())), details)
        }
        _ => (RunState::Finished, None, StateDetails::default()),
    }
}
