use super::{
    AttentionConfig, Baseline, Entrant, InitialTokenizer, ModelConfig, RunConfig, Side, SpecError, Tokenizer,
    attention_words, to_toml,
};

/// Entrants of a race at most.
const MOST_ENTRANTS: usize = 64;

/// A baseline and its variants, trained with the same seeds, the same order of the data and the same schedule.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Race {
    /// The config as written: everything that is not varied, and the name of the race.
    pub base: RunConfig,
    /// What is raced, each a change of the base.
    pub variants: Vec<Side>,
}

impl Race {
    /// The baseline first: the base with standard attention in which every head computes. Then the base itself, where
    /// its own answers are others. Then the variants, in their order. One that cannot be trained says why.
    ///
    /// # Errors
    /// Two variants of one name, or too many.
    pub fn entrants(&self) -> Result<Vec<Entrant>, SpecError> {
        let Self { base, variants } = self;
        // Variants with another batch are evaluated on the same examples.
        let base = &base.with_evaluation_size();
        if variants.len() > MOST_ENTRANTS {
            let count = variants.len();
            return Err(SpecError::Other(format!("There are {count} variants, at most {MOST_ENTRANTS} are raced.")));
        }
        let baseline = base.attention.baseline(Baseline::Standard);
        let with = |attention: &AttentionConfig| {
            let name = attention_words(attention);
            let config =
                RunConfig { name: format!("{}: {name}", base.name), attention: attention.clone(), ..base.clone() };
            Entrant { name, overrides: Vec::new(), config: Ok(config) }.judged()
        };
        let mut entrants = vec![with(&baseline)];
        if base.attention != baseline {
            entrants.push(with(&base.attention));
        }
        let text = to_toml(base);
        for Side { name, overrides } in variants {
            if entrants.iter().any(|entrant| entrant.name == *name) {
                return Err(SpecError::Other(format!(
                    "Two variants are called `{name}`. Give each a name of its own."
                )));
            }
            let entrant = Entrant::new(&base.name, name.clone(), &text, overrides.clone());
            if let Some(same) = entrants.iter().find(|known| is_same(known, &entrant)) {
                return Err(SpecError::Other(format!(
                    "`{name}` is the same config as `{}`. Leave it out, or change something in it.",
                    same.name
                )));
            }
            entrants.push(entrant);
        }
        Ok(entrants)
    }
}

/// A model that an entrant of a race begins with.
#[derive(Clone, Debug, PartialEq)]
pub struct Beginning {
    /// What the entrant is called.
    pub name: String,
    /// As [`ModelConfig::initial`].
    pub initial: String,
    /// The model that it is.
    pub model: ModelConfig,
    /// Its attention.
    pub attention: AttentionConfig,
}

impl Beginning {
    /// Entrants that differ in the model that they begin with, and in the shape and the attention that come with it: the same
    /// data, task and training otherwise. The first is what the others are held against. One that cannot be trained says why.
    ///
    /// # Errors
    /// Two of one name, or too many.
    pub fn entrants(base: &RunConfig, beginnings: &[Self]) -> Result<Vec<Entrant>, SpecError> {
        if beginnings.len() > MOST_ENTRANTS {
            let count = beginnings.len();
            return Err(SpecError::Other(format!("There are {count} models, at most {MOST_ENTRANTS} are raced.")));
        }
        let base = &base.with_evaluation_size();
        let mut entrants: Vec<Entrant> = Vec::with_capacity(beginnings.len());
        for Self { name, initial, model, attention } in beginnings {
            if entrants.iter().any(|entrant| entrant.name == *name) {
                return Err(SpecError::Other(format!("Two models to begin with are called `{name}`. Name each once.")));
            }
            let mut config = RunConfig {
                name: format!("{}: {name}", base.name),
                model: ModelConfig { initial: Some(initial.clone()), dropout: base.model.dropout, ..model.clone() },
                attention: attention.clone(),
                ..base.clone()
            };
            // Each model reads text in its own tokens.
            if !config.data.source.has_own_tokens() && !config.data.source.has_images() {
                config.data.tokenizer = Tokenizer::Initial(InitialTokenizer {});
            }
            entrants.push(Entrant { name: name.clone(), overrides: Vec::new(), config: Ok(config) }.judged());
        }
        Ok(entrants)
    }
}

/// Whether two can be trained and differ in their names alone.
fn is_same(a: &Entrant, b: &Entrant) -> bool {
    match (&a.config, &b.config) {
        (Ok(a), Ok(b)) => *a == RunConfig { name: a.name.clone(), ..b.clone() },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Answer, Combine, Compatibility, Reuse, Sweep, Symmetric, runs_of};

    fn side(text: &str) -> Side {
        text.parse().unwrap()
    }

    #[test]
    fn a_race_differs_from_its_baseline_in_what_its_variants_say_and_in_nothing_else() {
        let base = RunConfig { name: "base".to_owned(), seed: 5, ..RunConfig::default() };
        let base = base.with_evaluation_size();
        let full = Answer::of_kind("full", &base).unwrap();
        let variants = vec![
            Side { name: full.words(), overrides: vec![full.to_override()] },
            side("both:attention.compatibility.kind=symmetric,attention.reuse.kind=alternate"),
        ];
        let entrants = Race { base: base.clone(), variants }.entrants().unwrap();
        let names: Vec<&str> = entrants.iter().map(|entrant| entrant.name.as_str()).collect();
        assert_eq!(names, ["standard", full.words().as_str(), "both"]);
        for run in runs_of(&entrants, 3) {
            let (name, attention) = (base.name.clone(), base.attention.clone());
            assert!((5..8).contains(&run.seed) && run.name.starts_with("base: "), "{run:?}");
            assert_eq!(RunConfig { name, attention, seed: 5, ..run }, base);
        }
        let both = entrants[2].config.as_ref().unwrap();
        assert_eq!((both.attention.compatibility.kind(), both.attention.reuse.kind()), ("symmetric", "alternate"));
    }

    /// A baseline of batch 16 was evaluated on 256 examples and its variant of batch 2 on 32.
    #[test]
    fn variants_with_another_batch_are_evaluated_on_the_examples_of_the_baseline() {
        let mut base = RunConfig::default();
        (base.train.batch, base.train.evaluate_batches) = (16, Some(4));
        let sizes = |entrants: Vec<Entrant>| -> Vec<Option<usize>> {
            let size = |entrant: Entrant| {
                let train = entrant.config.unwrap().train;
                assert_eq!(train.evaluate_batches, None);
                train.evaluate_examples
            };
            entrants.into_iter().map(size).collect()
        };
        let variants = vec![side("small:train.batch=2"), side("own:train.batch=2,train.evaluate_examples=10")];
        let race = Race { base: base.clone(), variants };
        assert_eq!(sizes(race.entrants().unwrap()), [Some(64), Some(64), Some(10)]);
        let axes = vec!["train.batch=2,8,16".parse().unwrap()];
        let sweep = Sweep { base, axes, combine: Combine::Grid };
        assert_eq!(sizes(sweep.entrants().unwrap()), [Some(64); 3]);
    }

    #[test]
    fn a_variant_as_the_base_races_against_its_baseline() {
        let mut base = RunConfig::default();
        base.attention.compatibility = Compatibility::Symmetric(Symmetric {});
        let entrants = Race { base, variants: Vec::new() }.entrants().unwrap();
        let [baseline, own] = entrants.as_slice() else { panic!("{entrants:?}") };
        assert_eq!((baseline.name.as_str(), own.name.as_str()), ("standard", "symmetric"));
        assert_eq!(baseline.config.as_ref().unwrap().attention.reuse, Reuse::default());
    }

    #[test]
    fn models_to_begin_with_bring_their_shape_and_attention_and_change_nothing_else() {
        let base = RunConfig { name: "base".to_owned(), seed: 5, ..RunConfig::default() };
        let beginning = |name: &str, heads: usize| {
            let model = ModelConfig { heads, dropout: 0.7, ..ModelConfig::default() };
            let attention =
                AttentionConfig { compatibility: Compatibility::Symmetric(Symmetric {}), ..AttentionConfig::default() };
            Beginning { name: name.to_owned(), initial: format!("/{name}"), model, attention }
        };
        let (two, three) = (beginning("two", 2), beginning("three", 3));
        let entrants = Beginning::entrants(&base, &[two.clone(), three]).unwrap();
        let config = entrants[0].config.as_ref().unwrap();
        assert_eq!((config.name.as_str(), config.model.initial.as_deref()), ("base: two", Some("/two")));
        assert_eq!((config.model.heads, config.attention.compatibility.kind()), (2, "symmetric"));
        assert_eq!(config.model.dropout, base.model.dropout, "how it is trained is the race's");
        assert_eq!(config.data.tokenizer, Tokenizer::Initial(InitialTokenizer {}));
        assert_eq!((&config.train, config.seed), (&base.with_evaluation_size().train, 5));
        assert!(entrants[1].problems()[0].field.starts_with("model."), "{:?}", entrants[1]);
        let error = Beginning::entrants(&base, &[two.clone(), two]).unwrap_err().to_string();
        assert!(error.contains("`two`"), "{error}");
    }

    #[test]
    fn illegal_variants_stay_with_their_reason_and_names_are_used_once() {
        let race = |variants: &[&str]| Race {
            base: RunConfig::default(),
            variants: variants.iter().map(|text| side(text)).collect(),
        };
        let entrants = race(&["wide:model.width=65", "odd:model.widht=64"]).entrants().unwrap();
        assert_eq!(entrants.len(), 3);
        assert!(entrants[1].problems()[0].field.starts_with("model."), "{:?}", entrants[1]);
        assert!(entrants[2].problems()[0].message().contains("`width`"), "{:?}", entrants[2]);
        let error = race(&["same:model.layers=3", "again:model.layers=3"]).entrants().unwrap_err().to_string();
        assert!(error.contains("`again` is the same config as `same`"), "{error}");
        let error = race(&["standard:model.layers=2"]).entrants().unwrap_err().to_string();
        assert!(error.contains("`standard`"), "{error}");
    }
}
