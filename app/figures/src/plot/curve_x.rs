//! What the x of a run's curve is: a count of the run, scaled and shifted.

/// What the x of a curve counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CurveBase {
    /// Optimiser steps.
    #[default]
    Step,
    /// Tokens trained on.
    Tokens,
    /// Seconds of training, pauses left out.
    WallSecs,
}

/// The x of a curve: `base * scale + offset`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurveX {
    /// What is counted.
    pub base: CurveBase,
    /// Factor, such as FLOPs per step.
    pub scale: f64,
    /// Summand, such as the unix time of the start.
    pub offset: f64,
}

impl CurveX {
    /// Optimiser steps.
    pub const STEP: Self = Self { base: CurveBase::Step, scale: 1.0, offset: 0.0 };
    /// Tokens trained on.
    pub const TOKENS: Self = Self { base: CurveBase::Tokens, scale: 1.0, offset: 0.0 };
    /// Seconds of training, pauses left out.
    pub const WALL_SECS: Self = Self { base: CurveBase::WallSecs, scale: 1.0, offset: 0.0 };

    /// FLOPs spent.
    pub fn flops(flops_per_step: f64) -> Self {
        Self { scale: flops_per_step, ..Self::STEP }
    }

    /// Passes over the training text.
    pub fn epochs(train_tokens: f64) -> Self {
        Self { scale: train_tokens.max(1.0).recip(), ..Self::TOKENS }
    }

    /// Unix time in seconds, for a run that started at `start_secs`.
    pub fn clock(start_secs: f64) -> Self {
        Self { offset: start_secs, ..Self::WALL_SECS }
    }
}
