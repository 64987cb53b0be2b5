use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{About, Number, NumberValue, Problem, field::field_of, field_check::outside_of};

/// How many pairs of positions are scored (Eigen analysis of self-attention).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Coverage {
    /// Every pair that the mask allows.
    Full(Full),
    /// Some pairs of each row; the other scores follow from these by a linear map.
    Partial(PartialCoverage),
    /// Every pair, but only the part of each row that lies in a few directions is used. For evaluation, not for training.
    Eigen(EigenCoverage),
}

impl Default for Coverage {
    fn default() -> Self {
        Self::Full(Full {})
    }
}

/// In all layers but the last, each query scores k keys; its other scores are `R a_P`, where pairs P and map R come from
/// the covariance of the scores of a model that computes all of them. (Eigen analysis, section 3, equations 6 to 9)
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PartialCoverage {
    /// Keys that a query scores, 1..=n-1 for sequences of n tokens; a decoder's first queries, which see fewer, score all
    /// that they see.
    pub k: usize,
    /// Whether R is trained.
    pub restore: Restore,
    /// The run, by name or id, from whose best checkpoint pairs and R come; when absent, from the warm-up of the run
    /// itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Steps in which all pairs are scored, before P and R are chosen; they need a `from` that is absent.
    pub warmup_steps: u64,
    /// Examples of the training text that the covariance is estimated from, 1..=1,000,000.
    pub examples: usize,
}

impl Default for PartialCoverage {
    fn default() -> Self {
        Self { k: 16, restore: Restore::default(), from: None, warmup_steps: 100, examples: 256 }
    }
}

/// What becomes of R, the map from computed to restored scores, in training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Restore {
    /// It stays the best one for the covariance that it came from.
    #[default]
    Fixed,
    /// One map for all layers, trained.
    Common,
    /// A map for each layer, trained.
    PerLayer,
}

impl Restore {
    /// Every answer, for menus and conformance tests.
    pub const ALL: [Self; 3] = [Self::Fixed, Self::Common, Self::PerLayer];

    /// The name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Common => "common",
            Self::PerLayer => "per_layer",
        }
    }
}

/// In all layers but the last, each row of scores is replaced by its projection on the k top eigenvectors of its
/// covariance. (Eigen analysis, section 3)
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EigenCoverage {
    /// Eigenvectors of each row, 1..=n-1.
    pub k: usize,
}

impl Default for EigenCoverage {
    fn default() -> Self {
        Self { k: 16 }
    }
}

impl Coverage {
    /// What people read of it.
    pub const fn about(&self) -> About {
        let (kind, name, title, formula, note) = match self {
            Self::Full(_) => (
                "full",
                "All pairs",
                "All pairs",
                "Which pairs of positions are scored.\nAll: n² pairs of a text of n tokens; a decoder masks later positions.",
                "Every pair that the mask allows is scored.",
            ),
            Self::Partial(_) => (
                "partial",
                "Some pairs",
                "Some pairs, the others restored",
                "In all layers but the last, a row of scores a is (a_P, R a_P) with R = C_P̄P C_PP⁻¹, where C is the second \
                 moment of a. Each next pair i of P takes away the most variance: the largest Σ_j C_ij² / C_ii. (Eigen \
                 analysis, equations 6 to 9)",
                "Each query scores its most informative keys; a linear map restores the others.",
            ),
            Self::Eigen(_) => (
                "eigen",
                "Projected",
                "Projected: all pairs (evaluation only)",
                "In all layers but the last, a row of scores a becomes Vᵀ V a with the k top eigenvectors V of its second \
                 moment. (Eigen analysis, section 3)",
                "Every pair is scored, then each row keeps a few directions: for `headroom eval`, not for training.",
            ),
        };
        About { kind, name, title, formula, note }
    }

    /// The name in the file.
    pub const fn kind(&self) -> &'static str {
        self.about().kind
    }

    /// Its number, for sequences of so many tokens.
    pub fn numbers(&mut self, tokens: usize) -> Vec<Number<'_>> {
        let number = |field, k| Number {
            field,
            symbol: "k",
            least: 1,
            most: tokens.saturating_sub(1),
            limit: "",
            divides_heads: false,
            value: NumberValue::Always(k),
        };
        match self {
            Self::Full(_) => Vec::new(),
            Self::Partial(PartialCoverage { k, .. }) => {
                vec![number(const { field_of("partial", "attention.coverage.k") }, k)]
            }
            Self::Eigen(EigenCoverage { k }) => vec![number(const { field_of("eigen", "attention.coverage.k") }, k)],
        }
    }

    /// Whether every score is computed and used.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full(_))
    }

    /// Keys of a row that are computed, or eigenvectors that are kept; none where all are.
    pub fn k(&self) -> Option<usize> {
        match self {
            Self::Full(_) => None,
            Self::Partial(partial) => Some(partial.k),
            Self::Eigen(eigen) => Some(eigen.k),
        }
    }

    /// As much of the answer as the model itself depends on: not where its pairs came from.
    #[must_use]
    pub fn of_model(&self) -> Self {
        match self {
            Self::Partial(PartialCoverage { k, restore, .. }) => {
                Self::Partial(PartialCoverage { k: *k, restore: *restore, ..PartialCoverage::default() })
            }
            other => other.clone(),
        }
    }

    /// At least one of each kind that can be trained, for menus and conformance tests; legal for sequences of at least
    /// `tokens` tokens, 2 or more.
    pub fn examples(tokens: usize) -> Vec<Self> {
        let k = (tokens / 3).max(1);
        let partial = |restore| Self::Partial(PartialCoverage { k, restore, ..PartialCoverage::default() });
        std::iter::once(Self::default()).chain(Restore::ALL.map(partial)).collect()
    }

    /// Numbers outside of what sequences of `tokens` tokens allow.
    pub fn problems(&self, tokens: usize) -> Vec<Problem> {
        let most = tokens.saturating_sub(1).max(1);
        let why = format!(": of {tokens} keys at least one is to be left out");
        let k = self.k().and_then(|k| Problem::of_whole("attention.coverage.k", k, (1, most), why));
        let mut found: Vec<Problem> = k.into_iter().collect();
        if let Self::Partial(PartialCoverage { from, warmup_steps, .. }) = self {
            if from.as_ref().is_some_and(|from| from.trim().is_empty()) {
                found.push(Problem::new("attention.coverage.from", "name a run, or leave the field out"));
            }
            if from.is_none() && *warmup_steps == 0 {
                let text = "pairs are chosen by what a model that scores all of them has learnt; give warm-up steps, or \
                            name a trained run in {attention.coverage.from}";
                found.push(Problem::new("attention.coverage.warmup_steps", text));
            }
        }
        let attention = BTreeMap::from([("attention", BTreeMap::from([("coverage", self)]))]);
        found.extend(outside_of(&attention));
        found
    }
}

/// Every pair that the mask allows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Full {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{RunConfig, from_toml, from_toml_with, to_toml};

    #[test]
    fn every_kind_is_written_and_read() {
        let eigen = Coverage::Eigen(EigenCoverage { k: 5 });
        for coverage in Coverage::examples(64).into_iter().chain([eigen]) {
            let mut config = RunConfig::default();
            config.attention.coverage = coverage.clone();
            assert_eq!(from_toml(&to_toml(&config)).unwrap(), config);
            assert_eq!(coverage.problems(64), vec![], "{coverage:?}");
            let kind = format!("attention.coverage.kind={}", coverage.kind());
            let config = from_toml_with("format = 1", &[kind]).unwrap();
            assert_eq!(config.attention.coverage.kind(), coverage.kind());
        }
        let old = from_toml("format = 1\n[attention]\ncoverage = { kind = \"full\" }").unwrap();
        assert_eq!(old, RunConfig::default());
    }

    #[test]
    fn words_of_a_command_line_are_read() {
        let read = Coverage::from_words("partial: k=8, restore=per_layer").unwrap();
        let wanted = PartialCoverage { k: 8, restore: Restore::PerLayer, ..PartialCoverage::default() };
        assert_eq!(read, Coverage::Partial(wanted));
        assert_eq!(Coverage::from_words("eigen:k=3").unwrap(), Coverage::Eigen(EigenCoverage { k: 3 }));
        assert_eq!(Coverage::from_words("full").unwrap(), Coverage::default());
        for (text, wanted) in [("parial", "`partial`"), ("eigen:kk=3", "`k`"), ("partial:k=many", "whole number")] {
            let error = Coverage::from_words(text).unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
    }

    #[test]
    fn numbers_are_judged_against_the_length() {
        let fields = |coverage: PartialCoverage| {
            let problems = Coverage::Partial(coverage).problems(16);
            problems.into_iter().map(|problem| problem.field).collect::<Vec<_>>()
        };
        let partial = PartialCoverage::default();
        assert_eq!(fields(partial.clone()), ["attention.coverage.k"]);
        assert_eq!(fields(PartialCoverage { k: 15, ..partial.clone() }), Vec::<String>::new());
        let k = PartialCoverage { k: 4, ..partial };
        let none = PartialCoverage { warmup_steps: 0, examples: 0, ..k.clone() };
        assert_eq!(fields(none), ["attention.coverage.warmup_steps", "attention.coverage.examples"]);
        assert_eq!(fields(PartialCoverage { warmup_steps: 0, from: Some("a".to_owned()), ..k.clone() }).len(), 0);
        assert_eq!(fields(PartialCoverage { from: Some(" ".to_owned()), ..k }), ["attention.coverage.from"]);
    }
}
