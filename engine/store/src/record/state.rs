use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a run stands. Every run ends in a state that is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Waits for its turn.
    Queued,
    /// Trains now.
    Running,
    /// Held by the user; goes on from where it stands.
    Paused,
    /// Did all its steps.
    Finished,
    /// Ended by the user before its last step.
    Stopped,
    /// A value became non-finite, or the loss rose and did not come back.
    Diverged,
    /// Ended by an error; the record says why and what to do.
    Failed,
    /// The program that ran it died, found at the next open; or it ended while the run waited.
    Interrupted,
    /// Taken from the queue before it started.
    Cancelled,
}

impl RunState {
    /// Every state, in the order of a run's life.
    pub const ALL: [Self; 9] = [
        Self::Queued,
        Self::Running,
        Self::Paused,
        Self::Finished,
        Self::Stopped,
        Self::Diverged,
        Self::Failed,
        Self::Interrupted,
        Self::Cancelled,
    ];

    /// The state's word in the store and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Finished => "finished",
            Self::Stopped => "stopped",
            Self::Diverged => "diverged",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::Cancelled => "cancelled",
        }
    }

    /// The state of a word, or none.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Queued, running or paused: some program answers for the run.
    pub fn is_active(self) -> bool {
        matches!(self, Self::Queued | Self::Running | Self::Paused)
    }

    /// The run ended early or waited in vain, and can go on from its newest checkpoint or begin.
    pub fn can_resume(self) -> bool {
        matches!(self, Self::Stopped | Self::Interrupted | Self::Failed)
    }

    /// The run has ended, in whatever way.
    pub fn is_ended(self) -> bool {
        !self.is_active()
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip_and_agree_with_json() {
        for state in RunState::ALL {
            assert_eq!(RunState::parse(state.as_str()), Some(state));
            assert_eq!(serde_json::to_string(&state).unwrap(), format!("\"{state}\""));
        }
        assert_eq!(RunState::parse("sleeping"), None);
    }
}
