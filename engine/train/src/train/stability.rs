//! Whether the loss of a run behaves: unstable, diverged, at a plateau. Pure: losses in, verdicts out.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::config::{counted, grouped};

/// The level of the loss is the median of so many steps: fewer than half of them cannot move it far.
const WINDOW: usize = 25;

/// Steps before the level is judged at all.
const FEWEST: usize = 5;

/// Steps in a row after which a run counts as unstable, and in a row after which it is calm again.
const HOLD: u64 = 20;

/// Steps in a row that have lost half of what was learned, after which a run counts as diverged.
const LOST_HOLD: u64 = 100;

/// Steps in a row that are worse than guessing, after which a run counts as diverged.
const WORSE_HOLD: u64 = 50;

/// The same at the end of a run, when there is nothing left to recover in.
const END_HOLD: u64 = 10;

/// Share of what was learned whose loss makes a run unstable, and diverged.
const UNSTABLE_SHARE: f64 = 0.25;
const DIVERGED_SHARE: f64 = 0.5;

/// What was learned counts as at least this share of the loss of guessing.
const LEAST_LEARNED: f64 = 0.2;

/// Above the start by this factor is worse than guessing; by the other it needs no comparison with the noise.
const WORSE: f64 = 1.1;
const FAR_WORSE: f64 = 2.0;

/// A rise counts that is more than so many standard deviations of single steps.
const CLEAR: f64 = 2.0;

/// Evaluations in a row, and share of the run, without an improvement: a plateau.
const PLATEAU_EVALUATIONS: u32 = 5;
const PLATEAU_SHARE: u64 = 3;

/// An improvement is at least this share of the loss, and this share of the median of so many differences between evaluations.
const LEAST_IMPROVEMENT: f64 = 0.001;
const NOISE_SHARE: f64 = 0.75;
const DIFFERENCES: usize = 5;

/// How the loss of a run behaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Health {
    /// Nothing to say.
    #[default]
    Sound,
    /// The validation loss has not improved for a third of the run.
    Plateau {
        /// The evaluation that was the last improvement.
        since_step: u64,
        /// Its loss, nats per token.
        loss: f64,
    },
    /// No step was done for long although the run is not paused.
    Stalled {
        /// Steps done.
        after_step: u64,
        /// Time without a sign of life when it was found.
        secs: f64,
        /// What the run was busy with.
        during: Activity,
    },
    /// The training loss has risen by a quarter of what had been learned, and stays there.
    Unstable {
        /// The first step of the rise.
        since_step: u64,
        /// The level of the training loss when it was found, nats per token.
        loss: f64,
        /// The best level before.
        best: f64,
        /// Its step.
        best_step: u64,
    },
    /// The training loss has lost half of what had been learned, or is worse than guessing, and stays there.
    Diverged {
        /// The first step of it.
        since_step: u64,
        /// The level of the training loss when it was found, nats per token.
        loss: f64,
        /// The best level before.
        best: f64,
        /// Its step.
        best_step: u64,
    },
}

/// What a run is busy with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// A training step.
    #[default]
    Step,
    /// An evaluation or an analysis of the attention.
    Evaluation,
    /// A checkpoint.
    Checkpoint,
}

impl Health {
    /// The word of its kind.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sound => "sound",
            Self::Plateau { .. } => "plateau",
            Self::Stalled { .. } => "stalled",
            Self::Unstable { .. } => "unstable",
            Self::Diverged { .. } => "diverged",
        }
    }

    /// Whether something is wrong, rather than only worth knowing.
    pub fn is_bad(self) -> bool {
        matches!(self, Self::Stalled { .. } | Self::Unstable { .. } | Self::Diverged { .. })
    }

    /// What was found, as a sentence; empty where there is nothing to say.
    pub fn why(self) -> String {
        match self {
            Self::Sound => String::new(),
            Self::Plateau { since_step, loss } => {
                format!(
                    "No improvement of the validation loss beyond its noise since step {} ({}).",
                    grouped(since_step),
                    number(loss)
                )
            }
            Self::Stalled { after_step, secs, during } => {
                let after = if after_step == 0 {
                    "The first".to_owned()
                } else {
                    format!("After step {}, the", grouped(after_step))
                };
                let during = match during {
                    Activity::Step => "step",
                    Activity::Evaluation => "evaluation",
                    Activity::Checkpoint => "checkpoint",
                };
                format!("{after} {during} has shown no progress for {}.", counted(secs.max(0.0) as u64, "second"))
            }
            Self::Unstable { since_step, loss, best, best_step } => format!(
                "The training loss has been up since step {}: {} after {} at step {}.",
                grouped(since_step),
                number(loss),
                number(best),
                grouped(best_step)
            ),
            Self::Diverged { since_step, loss, best, best_step } => format!(
                "The training loss has risen since step {} and did not come back: {} after {} at step {}.",
                grouped(since_step),
                number(loss),
                number(best),
                grouped(best_step)
            ),
        }
    }

    /// What the user can do about it; empty where there is nothing to do.
    pub fn what_to_do(self) -> &'static str {
        match self {
            Self::Sound | Self::Plateau { .. } => "",
            Self::Stalled { .. } => "See whether the disk or the device hangs; stop the run if it stays so.",
            Self::Unstable { .. } => "It may recover. If not: lower the learning rate, warm up longer or clip harder.",
            Self::Diverged { .. } => "Lower the learning rate, warm up longer or clip harder.",
        }
    }
}

/// A loss with three decimals, a large one with commas, a huge one with its power of ten.
fn number(loss: f64) -> String {
    match loss.abs() {
        size if size < 1e3 => format!("{loss:.3}"),
        size if size < 1e9 => grouped(loss.round().max(0.0) as u64),
        _ => format!("{loss:.2e}"),
    }
}

/// Judges the losses of one run as they come.
///
/// With x the training loss of a step, the level m is the median of the last 25 x; the start s = max(first x, ln V) for V
/// tokens of vocabulary; the best b is the lowest m so far, at first s; what was learned is l = max(s - b, 0.2 ln V).
/// A rise m - b is clear where it is more than two standard deviations of x, or m > 2 s.
///
/// - unstable: a clear rise of more than l/4 for 20 steps in a row;
/// - diverged: a clear rise of more than l/2 for 100 steps in a row, or m > 1.1 s with a clear rise for 50 steps in a row; at
///   the end of the run 10 steps suffice;
/// - sound again: no clear rise of more than l/4 for 20 steps in a row;
/// - plateau: an evaluation improves if it is below the last one that did by more than 0.1 % and by more than three
///   quarters of the median difference between the last six; none improved for five evaluations and a third of the run's steps.
#[derive(Clone, Debug)]
pub struct Stability {
    /// Loss of guessing every token with the same probability, ln V.
    chance: f64,
    steps: u64,
    start: Option<f64>,
    recent: Window,
    best: Option<Best>,
    verdict: Health,
    risen: u64,
    calm: u64,
    lost: u64,
    worse: u64,
    level: f64,
    step: u64,
    improved: Option<(f64, u64)>,
    since_improved: u32,
    last_evaluated: Option<f64>,
    differences: VecDeque<f64>,
    plateau: Health,
}

/// The best level so far.
#[derive(Clone, Copy, Debug)]
struct Best {
    level: f64,
    step: u64,
    /// Standard deviation of single steps then; none where there were not enough.
    deviation: Option<f64>,
}

impl Stability {
    /// For a run of so many steps over so many tokens of vocabulary.
    pub fn new(vocabulary: usize, steps: u64) -> Self {
        Self {
            chance: (vocabulary.max(2) as f64).ln(),
            steps,
            start: None,
            recent: Window::default(),
            best: None,
            verdict: Health::Sound,
            risen: 0,
            calm: 0,
            lost: 0,
            worse: 0,
            level: f64::NAN,
            step: 0,
            improved: None,
            since_improved: 0,
            last_evaluated: None,
            differences: VecDeque::new(),
            plateau: Health::Sound,
        }
    }

    /// What holds now. What the training loss does goes before a plateau.
    pub fn health(&self) -> Health {
        if self.verdict == Health::Sound { self.plateau } else { self.verdict }
    }

    /// The training loss of a step; the verdict where its kind changed.
    pub fn step(&mut self, step: u64, loss: f64) -> Option<Health> {
        let before = self.health().word();
        let start = *self.start.get_or_insert(loss.max(self.chance));
        if self.step == 0 {
            self.best = Some(Best { level: start, step, deviation: None });
        }
        self.step = step;
        self.recent.add(loss);
        if self.recent.len() >= FEWEST {
            self.judge(step, start);
        }
        self.changed(before)
    }

    fn judge(&mut self, step: u64, start: f64) {
        let (level, deviation) = (self.recent.median(), self.recent.deviation());
        self.level = level;
        let is_lower = self.best.is_none_or(|best| level < best.level);
        // After another model took over only a whole window says where it stands.
        if is_lower && (self.best.is_some() || self.recent.is_full()) {
            self.best = Some(Best { level, step, deviation: self.recent.is_full().then_some(deviation) });
        }
        let Some(best) = self.best else { return };
        let rise = level - best.level;
        let learned = (start - best.level).max(LEAST_LEARNED * self.chance);
        let noise = best.deviation.map_or(deviation, |then| then.min(deviation));
        let is_clear = rise > CLEAR * noise || level > FAR_WORSE * start;
        let count = |count: u64, holds: bool| if holds { count + 1 } else { 0 };
        let is_risen = is_clear && rise > UNSTABLE_SHARE * learned;
        self.risen = count(self.risen, is_risen);
        self.calm = count(self.calm, !is_risen);
        self.lost = count(self.lost, is_clear && rise > DIVERGED_SHARE * learned);
        self.worse = count(self.worse, is_clear && level > WORSE * start);
        self.decide(best, (HOLD, LOST_HOLD, WORSE_HOLD));
    }

    fn decide(&mut self, best: Best, (hold, lost_hold, worse_hold): (u64, u64, u64)) {
        let since = |count: u64| (self.step + 1).saturating_sub(count);
        let (loss, best, best_step) = (self.level, best.level, best.step);
        self.verdict = match self.verdict {
            Health::Diverged { .. } if self.calm < HOLD => return,
            _ if self.worse >= worse_hold || self.lost >= lost_hold => {
                Health::Diverged { since_step: since(self.worse.max(self.lost)), loss, best, best_step }
            }
            Health::Unstable { .. } if self.calm < HOLD => return,
            _ if self.risen >= hold => Health::Unstable { since_step: since(self.risen), loss, best, best_step },
            _ => Health::Sound,
        };
    }

    /// The loss of an evaluation; the verdict where its kind changed.
    pub fn evaluated(&mut self, step: u64, loss: f64) -> Option<Health> {
        let before = self.health().word();
        if !loss.is_finite() {
            return None;
        }
        if let Some(last) = self.last_evaluated.replace(loss) {
            if self.differences.len() == DIFFERENCES {
                self.differences.pop_front();
            }
            self.differences.push_back((loss - last).abs());
        }
        let noise = NOISE_SHARE * median(self.differences.iter().copied()).unwrap_or(0.0);
        let is_improved = self.improved.is_none_or(|(best, _)| loss < best - noise.max(LEAST_IMPROVEMENT * best.abs()));
        if is_improved {
            self.improved = Some((loss, step));
            self.since_improved = 0;
            self.plateau = Health::Sound;
        } else {
            self.since_improved += 1;
        }
        if let Some((loss, since_step)) = self.improved
            && self.since_improved >= PLATEAU_EVALUATIONS
            && step.saturating_sub(since_step) * PLATEAU_SHARE >= self.steps
        {
            self.plateau = Health::Plateau { since_step, loss };
        }
        self.changed(before)
    }

    /// From here on the run trains another model, whose loss is not to be held against what was before.
    pub fn restart(&mut self) {
        self.recent = Window::default();
        (self.best, self.verdict) = (None, Health::Sound);
        (self.risen, self.calm, self.lost, self.worse) = (0, 0, 0, 0);
        (self.improved, self.since_improved, self.last_evaluated) = (None, 0, None);
        self.differences.clear();
        self.plateau = Health::Sound;
    }

    /// All steps are done: what holds in the end.
    pub fn end(&mut self) -> Health {
        if let Some(best) = self.best
            && self.recent.len() >= FEWEST
        {
            self.decide(best, (HOLD, END_HOLD, END_HOLD));
        }
        // With the numbers of the end.
        if let Health::Unstable { loss, .. } | Health::Diverged { loss, .. } = &mut self.verdict {
            *loss = self.level;
        }
        self.health()
    }

    fn changed(&self, before: &str) -> Option<Health> {
        let now = self.health();
        (now.word() != before).then_some(now)
    }
}

/// The newest numbers of a series.
#[derive(Clone, Debug, Default)]
pub struct Window {
    values: VecDeque<f64>,
}

impl Window {
    /// Takes one in; the oldest of more than 25 goes.
    pub fn add(&mut self, value: f64) {
        if self.values.len() == WINDOW {
            self.values.pop_front();
        }
        self.values.push_back(value);
    }

    fn len(&self) -> usize {
        self.values.len()
    }

    fn is_full(&self) -> bool {
        self.values.len() == WINDOW
    }

    /// Their median; NaN where there are none.
    pub fn median(&self) -> f64 {
        median(self.values.iter().copied()).unwrap_or(f64::NAN)
    }

    /// The standard deviation of single values, from the median difference of neighbours: a trend does not add to it.
    fn deviation(&self) -> f64 {
        let differences = self.values.iter().zip(self.values.iter().skip(1)).map(|(a, b)| (b - a).abs());
        // Of a normal distribution: the median of |difference| is 0.6745 times the square root of 2 of them.
        median(differences).unwrap_or(0.0) / (0.6745 * std::f64::consts::SQRT_2)
    }
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests;
