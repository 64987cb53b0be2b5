//! `data.kind = "listops"`: expressions of nested operations on lists of digits.

use serde::{Deserialize, Serialize};

use super::{Modality, SourceFacts, SourceSettings};
use crate::config::{Problem, Sentence};

/// Expressions such as `[MAX 2 9 [MIN 4 7 ] 0 ]` with their values, 0 to 9, by the rules of the Long Range Arena (Nangia and
/// Bowman 2018; Tay et al. 2021). All expressions differ. The defaults are those of the Long Range Arena but for the numbers of
/// examples, there 96,000 and 2,000.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ListOpsSource {
    /// An expression is longer than so many symbols, 0..=100,000.
    pub min_length: usize,
    /// An expression is shorter than so many symbols, 3..=100,000.
    pub max_length: usize,
    /// Levels of an expression: at the last one stand digits alone; 2..=20.
    pub max_depth: usize,
    /// The most arguments of an operator, 2..=20; it has two at least.
    pub max_args: usize,
    /// Expressions to train on, 100..=1,000,000.
    pub examples: usize,
    /// Held-out expressions, 10..=1,000,000.
    pub validation_examples: usize,
    /// Seed of the expressions, apart from the run's seed so that runs with several seeds see the same ones.
    pub text_seed: u64,
}

impl Default for ListOpsSource {
    fn default() -> Self {
        Self {
            min_length: 500,
            max_length: 2_000,
            max_depth: 10,
            max_args: 10,
            examples: 20_000,
            validation_examples: 2_000,
            text_seed: 1,
        }
    }
}

impl ListOpsSource {
    /// The symbols of expressions: ten digits, four operators that begin a list, and what ends it.
    pub const SYMBOLS: [&str; 15] =
        ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "[MIN", "[MAX", "[MED", "[SM", "]"];
}

impl ListOpsSource {
    /// Facts about data of this kind.
    pub(super) const FACTS: SourceFacts = SourceFacts {
        kind: "listops",
        label: "ListOps expressions",
        modality: Modality::Rows,
        name: Some("ListOps expressions"),
        run_names: ["listops"; 2],
        symbols: &Self::SYMBOLS,
        tasks: &["classification"],
        without_task: Some("expressions are for a task; set {task.kind} to {task.kind=classification}"),
        has_own_split: true,
        ..SourceFacts::USUAL
    };
}

impl SourceSettings for ListOpsSource {
    fn facts(&self) -> &'static SourceFacts {
        &Self::FACTS
    }

    /// What does not fit.
    fn problems(&self) -> Vec<Problem> {
        if self.max_length > self.min_length.saturating_add(1) {
            return Vec::new();
        }
        let text = "no expression is longer than {} ({data.min_length}) and shorter than {}; raise it";
        let lengths = [self.min_length, self.max_length].map(|length| length.to_string());
        vec![Problem::new("data.max_length", Sentence::new(text, lengths))]
    }

    fn refusal(&self, task: &str) -> Option<&'static str> {
        (task == "regression").then_some(
            "the value of an expression is one of ten classes; set {task.kind} to {task.kind=classification}",
        )
    }

    fn texts(&self) -> Option<usize> {
        Some(1)
    }

    fn longest(&self) -> Option<usize> {
        Some(self.max_length)
    }
}
