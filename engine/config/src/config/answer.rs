use super::{
    About, AttentionConfig, Compatibility, Coverage, DEFAULT_STEPS, EigenCoverage, Number, PartialCoverage, Restore,
    Reuse, RunConfig, counted,
};

/// An answer to one of the questions about attention that can be trained: what a variant of a race changes.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// How a pair is scored.
    Compatibility(Compatibility),
    /// Which heads score.
    Reuse(Reuse),
    /// How many pairs are scored.
    Coverage(Coverage),
}

/// The most steps in which a variant scores all pairs before it chooses some.
const MOST_WARMUP_STEPS: u64 = 100;

impl Answer {
    /// Every answer but the baseline's and the hand-drawn table, each with numbers that suit the config: the ways to score
    /// a pair first, then the schedules that change something in so many layers, then a quarter of all pairs.
    pub fn all(config: &RunConfig) -> Vec<Self> {
        let model = &config.model;
        let mut all: Vec<Self> = Vec::new();
        let ways = Compatibility::examples(model.heads, model.width).into_iter().map(Self::Compatibility);
        let schedules = Reuse::examples(model.layers, model.heads).into_iter().map(Self::Reuse);
        let borrows = |answer: &Self| match answer {
            // Neither the first layer borrows, nor in some schedules the last.
            Self::Reuse(Reuse::Partial(_) | Reuse::AllEnd(_)) => model.layers > 2,
            // The last layer scores all pairs.
            Self::Reuse(_) | Self::Coverage(_) => model.layers > 1,
            Self::Compatibility(_) => true,
        };
        let steps = config.train.steps.unwrap_or(DEFAULT_STEPS);
        let some = Coverage::Partial(PartialCoverage {
            k: (config.data.sequence_length / 4).max(1),
            warmup_steps: (steps / 5).clamp(1, MOST_WARMUP_STEPS),
            ..PartialCoverage::default()
        });
        for answer in ways.chain(schedules).chain([Self::Coverage(some)]).filter(borrows) {
            let is_new = !all.iter().any(|known| known.kind() == answer.kind());
            if is_new && !["standard", "none", "custom"].contains(&answer.kind()) {
                all.push(answer);
            }
        }
        all
    }

    /// The answer of this kind, with numbers that suit the config.
    pub fn of_kind(kind: &str, config: &RunConfig) -> Option<Self> {
        Self::all(config).into_iter().find(|answer| answer.kind() == kind)
    }

    /// What people read of it.
    pub const fn about(&self) -> About {
        match self {
            Self::Compatibility(compatibility) => compatibility.about(),
            Self::Reuse(reuse) => reuse.about(),
            Self::Coverage(coverage) => coverage.about(),
        }
    }

    /// Its numbers, for a model and a length of text.
    pub fn numbers(&mut self, config: &RunConfig) -> Vec<Number<'_>> {
        match self {
            Self::Compatibility(compatibility) => compatibility.numbers(&config.model),
            Self::Reuse(reuse) => reuse.numbers(config.model.layers, config.model.heads),
            Self::Coverage(coverage) => coverage.numbers(config.data.sequence_length),
        }
    }

    /// The name in the file; of some pairs `some_pairs`, since there `partial` is a schedule of reuse too.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Compatibility(compatibility) => compatibility.kind(),
            Self::Reuse(reuse) => reuse.kind(),
            Self::Coverage(Coverage::Partial(_)) => "some_pairs",
            Self::Coverage(coverage) => coverage.kind(),
        }
    }

    /// In words with its numbers: "latent rank 32", "full P 3".
    pub fn words(&self) -> String {
        match self {
            Self::Compatibility(compatibility) => compatibility.words(),
            Self::Reuse(reuse) => reuse.words(),
            Self::Coverage(coverage) => coverage_words(coverage),
        }
    }

    /// As an override of a config.
    pub fn to_override(&self) -> String {
        let (field, value) = match self {
            Self::Compatibility(compatibility) => ("compatibility", toml::Value::try_from(compatibility)),
            Self::Reuse(reuse) => ("reuse", toml::Value::try_from(reuse)),
            Self::Coverage(coverage) => ("coverage", toml::Value::try_from(coverage)),
        };
        // Plain data with string keys is always a table.
        let value = value.map_or_else(|_| String::new(), |value| value.to_string());
        format!("attention.{field}={value}")
    }
}

/// The answers of a config in words, without those of the baseline: "symmetric + full P 3", "standard".
pub fn attention_words(attention: &AttentionConfig) -> String {
    let mut parts = Vec::new();
    if attention.compatibility != Compatibility::default() {
        parts.push(attention.compatibility.words());
    }
    if attention.reuse != Reuse::default() {
        parts.push(attention.reuse.words());
    }
    if attention.coverage != Coverage::default() {
        parts.push(coverage_words(&attention.coverage));
    }
    let mut words = if parts.is_empty() { "standard".to_owned() } else { parts.join(" + ") };
    for (name, others) in [("encoder", &attention.encoder), ("cross-attention", &attention.cross)] {
        let Some(others) = others else { continue };
        let compatibility = others.compatibility.as_ref().map(Compatibility::words);
        let answers: Vec<String> = compatibility.into_iter().chain(others.reuse.as_ref().map(Reuse::words)).collect();
        if !answers.is_empty() {
            words.extend([", ", name, " ", &answers.join(" + ")]);
        }
    }
    if attention.match_parameters.is_some() {
        words += ", parameters matched";
    }
    words
}

fn coverage_words(coverage: &Coverage) -> String {
    match coverage {
        Coverage::Full(_) => "all pairs".to_owned(),
        Coverage::Partial(PartialCoverage { k, restore: Restore::Fixed, .. }) => {
            format!("{} per row, fixed R", counted(*k, "pair"))
        }
        Coverage::Partial(PartialCoverage { k, restore: Restore::Common, .. }) => {
            format!("{} per row, common R", counted(*k, "pair"))
        }
        Coverage::Partial(PartialCoverage { k, restore: Restore::PerLayer, .. }) => {
            format!("{} per row, R per layer", counted(*k, "pair"))
        }
        Coverage::Eigen(EigenCoverage { k }) => format!("{} per row", counted(*k, "eigenvector")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{AllEndReuse, Latent, ModelConfig, from_toml_with, to_toml};

    #[test]
    fn every_answer_is_an_override_that_gives_a_sound_config_of_its_own_words() {
        let base = RunConfig::default();
        let all = Answer::all(&base);
        let kinds: Vec<&str> = all.iter().map(Answer::kind).collect();
        // Every way to score but the baseline's, six schedules, and some pairs.
        let ways = Compatibility::usual(&base.model).len() - 1;
        assert_eq!(kinds.len(), ways + 7, "{kinds:?}");
        for answer in all {
            let config = from_toml_with(&to_toml(&base), &[answer.to_override()]).unwrap();
            assert_eq!(config.validate(), vec![], "{answer:?}");
            assert_eq!(attention_words(&config.attention), answer.words());
            let found = match &answer {
                Answer::Compatibility(_) => Answer::Compatibility(config.attention.compatibility),
                Answer::Reuse(_) => Answer::Reuse(config.attention.reuse),
                Answer::Coverage(_) => Answer::Coverage(config.attention.coverage),
            };
            assert_eq!(found, answer);
            assert_eq!(Answer::of_kind(answer.kind(), &base), Some(answer));
        }
        assert_eq!(Answer::of_kind("custom", &base), None);
        let of = |layers: usize| RunConfig { model: ModelConfig { layers, ..base.model.clone() }, ..base.clone() };
        assert_eq!(
            [1, 2, 3].map(|layers| Answer::all(&of(layers)).len()),
            [ways, ways + 5, ways + 7],
            "one layer has nobody to borrow from"
        );
    }

    #[test]
    fn both_answers_are_named_and_the_baseline_is_standard() {
        let mut attention = AttentionConfig::default();
        assert_eq!(attention_words(&attention), "standard");
        attention.compatibility = Compatibility::Latent(Latent { rank: 8 });
        attention.reuse = Reuse::AllEnd(AllEndReuse { layers: 2, heads: None });
        assert_eq!(attention_words(&attention), "latent rank 8 + all end P 2");
        attention = AttentionConfig::default();
        attention.coverage = Coverage::Partial(PartialCoverage::default());
        assert_eq!(attention_words(&attention), "16 pairs per row, fixed R");
    }
}
