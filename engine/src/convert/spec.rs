use serde::{Deserialize, Serialize};

/// What a model is to become.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Conversion {
    /// All heads share queries and keys. (Cordonnier et al., 2020, section 3.3)
    Collaborative(ToCollaborative),
}

impl Conversion {
    /// The name of what the model becomes.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Collaborative(_) => "collaborative",
        }
    }

    /// In words, with its numbers: `collaborative, d_k 256, 1 random start, seed 1`.
    pub fn words(&self) -> String {
        match self {
            Self::Collaborative(to) => {
                let starts = if to.random_starts == 1 { "start" } else { "starts" };
                format!("{}, d_k {}, {} random {starts}, seed {}", self.kind(), to.d_k, to.random_starts, to.seed)
            }
        }
    }
}

/// How standard attention becomes collaborative attention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToCollaborative {
    /// Shared width D of queries and keys of all heads together, from 1 to the heads' number times their size, where nothing
    /// is lost.
    pub d_k: usize,
    /// Random beginnings of the search beside the one from singular vectors; the best is kept.
    pub random_starts: usize,
    /// What they are drawn from.
    pub seed: u64,
    /// The most sweeps from each beginning.
    pub sweeps: usize,
    /// A search ends where ten sweeps make the error less by a smaller share than this.
    pub tolerance: f64,
}

impl Default for ToCollaborative {
    fn default() -> Self {
        Self { d_k: 64, random_starts: 1, seed: 1, sweeps: 1000, tolerance: 1e-4 }
    }
}
