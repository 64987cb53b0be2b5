use super::{
    Search,
    search::{MOST_BEAMS, MOST_TOKENS},
};

/// When a search with beams stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlyStopping {
    /// When no running text can be better at the length that it has.
    No,
    /// As soon as as many texts as beams have ended.
    Yes,
    /// When no running text can be better at any length.
    Never,
}

impl EarlyStopping {
    /// All of them by name, as options and `generation_config.json` spell them.
    pub const ALL: [(&'static str, Self); 3] = [("false", Self::No), ("true", Self::Yes), ("never", Self::Never)];
}

/// Settings of a search as far as somebody chose them: a model's `generation_config.json`, or a user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchSettings {
    /// New tokens at most.
    pub max_new_tokens: Option<usize>,
    /// Tokens of the whole text at most.
    pub max_length: Option<usize>,
    /// New tokens before an end token may come.
    pub min_new_tokens: Option<usize>,
    /// Tokens of the whole text before an end token may come.
    pub min_length: Option<usize>,
    /// Texts that are followed at the same time.
    pub beams: Option<usize>,
    /// Groups of them.
    pub groups: Option<usize>,
    /// Loss of a token for every beam of an earlier group that chose it.
    pub diversity: Option<f64>,
    /// Power of the length by which log-probabilities are divided.
    pub length_penalty: Option<f64>,
    /// When beams stop.
    pub early_stopping: Option<EarlyStopping>,
    /// Length of the sequences that do not come twice.
    pub no_repeat: Option<usize>,
    /// True where tokens are drawn; none where the temperature decides.
    pub draws: Option<bool>,
    /// Temperature.
    pub temperature: Option<f64>,
    /// Most probable tokens that are drawn from.
    pub top_k: Option<usize>,
    /// Share of the probability that is drawn from.
    pub top_p: Option<f64>,
}

/// Tokens that are drawn from where a model draws and does not say, as in `transformers`.
const TOP_K: usize = 50;

impl SearchSettings {
    /// A search by the settings of a user (`self`), those of a model, and `usual` where neither says anything; and the keys of the
    /// model's that have no say because the user's do not go with them.
    ///
    /// A user's choice is taken as it is, and refused by [`Search::check`] where it does not do.
    pub fn resolve(&self, model: &Self, usual: &Search) -> (Search, Vec<&'static str>) {
        let mut unused = Vec::new();
        let model_draws = model.draws == Some(true);
        let user_draws = self.temperature.is_some_and(|temperature| temperature > 0.0);
        let wanted_beams = self.beams.or(model.beams).unwrap_or(usual.beams);
        // Beams draw nothing: whoever chose one of the two goes first, and beams where the model chose both.
        let beams = if wanted_beams > 1 && user_draws && self.beams.is_none() {
            unused.push("num_beams");
            1
        } else {
            wanted_beams
        };
        let draws = match self.temperature {
            Some(temperature) => temperature > 0.0,
            None if model_draws && beams > 1 => {
                unused.push("do_sample");
                false
            }
            None => model_draws || usual.temperature > 0.0,
        };
        let temperature = match self.temperature {
            Some(temperature) => temperature,
            None if draws && model_draws => model.temperature.unwrap_or(1.0),
            None if draws => usual.temperature,
            None => 0.0,
        };
        let model_top_k = model.top_k.or(model_draws.then_some(TOP_K)).filter(|k| draws && *k > 0);
        let groups = self.groups.unwrap_or_else(|| {
            let groups = model.groups.unwrap_or(usual.groups);
            if groups > 0 && beams.is_multiple_of(groups) {
                return groups;
            }
            unused.push("num_beam_groups");
            1
        });
        let diversity = self.diversity.unwrap_or_else(|| {
            let diversity = model.diversity.unwrap_or(usual.diversity);
            if groups > 1 { diversity } else { 0.0 }
        });
        let stopping = self.early_stopping.or(model.early_stopping).unwrap_or(match usual {
            Search { is_exhaustive: true, .. } => EarlyStopping::Never,
            Search { early_stopping: true, .. } => EarlyStopping::Yes,
            Search { .. } => EarlyStopping::No,
        });
        let max_new_tokens = self.max_new_tokens.or(model.max_new_tokens);
        let max_length = match (max_new_tokens, self.max_length.or(model.max_length)) {
            (None, length) => length.or(usual.max_length),
            (Some(_), _) => None,
        };
        let max_new_tokens = max_new_tokens.unwrap_or(usual.max_new_tokens);
        let of_model = |least: usize| if max_length.is_some() { least } else { least.min(max_new_tokens) };
        let (min_new_tokens, min_length) = match (self.min_new_tokens, self.min_length) {
            (None, None) => match (model.min_new_tokens, model.min_length) {
                (None, length) => (of_model(usual.min_new_tokens), length.unwrap_or(usual.min_length)),
                (Some(new), _) => (of_model(new), 0),
            },
            (new, length) => (new.unwrap_or(0), length.unwrap_or(0)),
        };
        let search = Search {
            cache: usual.cache.clone(),
            max_new_tokens,
            max_length,
            min_new_tokens,
            min_length,
            beams,
            groups,
            diversity,
            length_penalty: self.length_penalty.or(model.length_penalty).unwrap_or(usual.length_penalty),
            early_stopping: stopping == EarlyStopping::Yes,
            is_exhaustive: stopping == EarlyStopping::Never,
            no_repeat: self.no_repeat.or(model.no_repeat).unwrap_or(usual.no_repeat),
            temperature,
            top_k: self.top_k.or(model_top_k).or(usual.top_k.filter(|_| draws)),
            top_p: self.top_p.or(model.top_p.filter(|_| draws)).or(usual.top_p.filter(|_| draws)),
            seed: usual.seed,
            keep_tree: usual.keep_tree,
        };
        (search, unused)
    }

    /// The keys of a model's settings that a search has no use for, with the reason where it is not plain from the key.
    pub fn unused_words(keys: &[String], search: &Search) -> String {
        let with_reason = |key: &String| {
            let why = match key.as_str() {
                "do_sample" if search.beams > 1 => "beams follow the most probable texts, and nothing is drawn",
                "num_beams" if search.temperature > 0.0 => "one text is drawn at this temperature",
                _ => return key.clone(),
            };
            format!("{key} ({why})")
        };
        keys.iter().map(with_reason).collect::<Vec<_>>().join(", ")
    }

    /// The settings that a search has others for, each as it stands in `generation_config.json`.
    pub fn other_than(&self, search: &Search) -> Vec<String> {
        let (own, _) = Self::default().resolve(self, &Search { cache: search.cache.clone(), ..Search::default() });
        let mut other = Vec::new();
        let mut tell = |key: &str, value: Option<String>, is_other: bool| {
            other.extend(value.filter(|_| is_other).map(|value| format!("{key}: {value}")));
        };
        let whole = |number: Option<usize>| number.map(|number| number.to_string());
        let decimal = |number: Option<f64>| number.map(|number| number.to_string());
        let has_other_length = (own.max_new_tokens, own.max_length) != (search.max_new_tokens, search.max_length);
        tell("max_new_tokens", whole(self.max_new_tokens), has_other_length);
        tell("max_length", whole(self.max_length.filter(|_| self.max_new_tokens.is_none())), has_other_length);
        let has_other_least = (own.min_new_tokens, own.min_length) != (search.min_new_tokens, search.min_length);
        tell("min_new_tokens", whole(self.min_new_tokens), has_other_least);
        tell("min_length", whole(self.min_length.filter(|_| self.min_new_tokens.is_none())), has_other_least);
        tell("num_beams", whole(self.beams), own.beams != search.beams);
        tell("num_beam_groups", whole(self.groups), own.groups != search.groups);
        tell("diversity_penalty", decimal(self.diversity), own.diversity != search.diversity);
        tell("length_penalty", decimal(self.length_penalty), own.length_penalty != search.length_penalty);
        let stopping = EarlyStopping::ALL.into_iter().find(|(_, one)| Some(*one) == self.early_stopping);
        let has_other_end = (own.early_stopping, own.is_exhaustive) != (search.early_stopping, search.is_exhaustive);
        tell("early_stopping", stopping.map(|(name, _)| name.to_owned()), has_other_end);
        tell("no_repeat_ngram_size", whole(self.no_repeat), own.no_repeat != search.no_repeat);
        let is_drawn = own.temperature > 0.0;
        let draws = self.draws.map(|draws| draws.to_string());
        tell("do_sample", draws, is_drawn != (search.temperature > 0.0));
        tell("temperature", decimal(self.temperature), is_drawn && own.temperature != search.temperature);
        tell("top_k", whole(self.top_k), is_drawn && own.top_k != search.top_k);
        tell("top_p", decimal(self.top_p), is_drawn && own.top_p != search.top_p);
        other
    }

    /// Leaves out what no search does, and returns the keys of it.
    pub fn drop_impossible(&mut self) -> Vec<&'static str> {
        let mut dropped = Vec::new();
        let mut check = |key: &'static str, is_possible: bool| {
            if !is_possible {
                dropped.push(key);
            }
            is_possible
        };
        let tokens = 1..=MOST_TOKENS;
        self.max_new_tokens = self.max_new_tokens.filter(|n| check("max_new_tokens", tokens.contains(n)));
        self.max_length = self.max_length.filter(|n| check("max_length", *n > 0));
        self.beams = self.beams.filter(|n| check("num_beams", (1..=MOST_BEAMS).contains(n)));
        self.groups = self.groups.filter(|n| check("num_beam_groups", *n > 0));
        self.diversity = self.diversity.filter(|x| check("diversity_penalty", x.is_finite() && *x >= 0.0));
        self.length_penalty = self.length_penalty.filter(|x| check("length_penalty", x.is_finite()));
        self.temperature = self.temperature.filter(|x| check("temperature", *x > 0.0 && *x <= 100.0));
        self.top_p = self.top_p.filter(|p| check("top_p", *p > 0.0 && *p <= 1.0)).filter(|p| *p < 1.0);
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> SearchSettings {
        SearchSettings {
            max_length: Some(30),
            min_length: Some(6),
            beams: Some(4),
            length_penalty: Some(2.0),
            early_stopping: Some(EarlyStopping::Never),
            no_repeat: Some(3),
            ..SearchSettings::default()
        }
    }

    #[test]
    fn a_user_goes_before_the_model() {
        let (search, unused) = SearchSettings::default().resolve(&model(), &Search::default());
        assert_eq!((search.beams, search.length_penalty, search.no_repeat), (4, 2.0, 3));
        assert_eq!((search.max_length, search.min_length, search.is_exhaustive), (Some(30), 6, true));
        assert!(unused.is_empty() && search.check().is_ok());
        let user = SearchSettings {
            max_new_tokens: Some(5),
            min_new_tokens: Some(2),
            beams: Some(1),
            early_stopping: Some(EarlyStopping::Yes),
            no_repeat: Some(0),
            ..SearchSettings::default()
        };
        let (search, unused) = user.resolve(&model(), &Search::default());
        assert_eq!((search.max_new_tokens, search.max_length, search.min_new_tokens), (5, None, 2));
        assert_eq!((search.min_length, search.beams, search.no_repeat), (0, 1, 0));
        assert!(search.early_stopping && !search.is_exhaustive && unused.is_empty());
        let (search, _) = SearchSettings::default().resolve(&SearchSettings::default(), &Search::default());
        assert_eq!(search, Search::default());
    }

    #[test]
    fn a_model_that_draws_draws_as_in_transformers() {
        let draws = SearchSettings { draws: Some(true), top_p: Some(0.9), ..SearchSettings::default() };
        let (search, unused) = SearchSettings::default().resolve(&draws, &Search::default());
        assert_eq!((search.temperature, search.top_k, search.top_p), (1.0, Some(50), Some(0.9)));
        assert!(unused.is_empty() && search.check().is_ok());
        // What is drawn from has no meaning where nothing is drawn.
        let greedy = SearchSettings { temperature: Some(0.0), ..SearchSettings::default() };
        let (search, unused) = greedy.resolve(&draws, &Search::default());
        assert_eq!((search.temperature, search.top_k, search.top_p), (0.0, None, None));
        assert!(unused.is_empty() && search.check().is_ok());
        let (search, _) = SearchSettings::default().resolve(
            &SearchSettings { top_k: Some(7), temperature: Some(0.5), ..SearchSettings::default() },
            &Search::default(),
        );
        assert_eq!((search.temperature, search.top_k), (0.0, None));
    }

    #[test]
    fn settings_that_a_search_has_others_for_are_told_as_they_are_written() {
        let (own, _) = SearchSettings::default().resolve(&model(), &Search::default());
        assert!(model().other_than(&own).is_empty());
        assert!(SearchSettings::default().other_than(&Search { beams: 3, ..Search::default() }).is_empty());
        let other = model().other_than(&Search { beams: 3, length_penalty: 2.0, no_repeat: 3, ..Search::default() });
        assert_eq!(other, ["max_length: 30", "min_length: 6", "num_beams: 4", "early_stopping: never"]);
    }

    /// Beams and draws do not go together: the keys that have no say are named.
    #[test]
    fn what_does_not_go_together_is_named() {
        let both = SearchSettings { draws: Some(true), ..model() };
        let (search, unused) = SearchSettings::default().resolve(&both, &Search::default());
        assert_eq!((search.beams, search.temperature, unused), (4, 0.0, vec!["do_sample"]));
        let keys = ["do_sample".to_owned(), "stop_strings".to_owned()];
        let words = "do_sample (beams follow the most probable texts, and nothing is drawn), stop_strings";
        assert_eq!(SearchSettings::unused_words(&keys, &search), words);
        let user = SearchSettings { temperature: Some(0.8), ..SearchSettings::default() };
        let (search, unused) = user.resolve(&model(), &Search::default());
        assert_eq!((search.beams, search.temperature, unused), (1, 0.8, vec!["num_beams"]));
        let words = SearchSettings::unused_words(&["num_beams".to_owned(), "do_sample".to_owned()], &search);
        assert_eq!(words, "num_beams (one text is drawn at this temperature), do_sample");
        let groups = SearchSettings { groups: Some(3), diversity: Some(0.5), ..model() };
        let (search, unused) = SearchSettings::default().resolve(&groups, &Search::default());
        assert_eq!((search.groups, search.diversity, unused), (1, 0.0, vec!["num_beam_groups"]));
        let mut wrong = SearchSettings {
            beams: Some(0),
            temperature: Some(-1.0),
            top_p: Some(1.0),
            length_penalty: Some(f64::NAN),
            ..SearchSettings::default()
        };
        assert_eq!(wrong.drop_impossible(), ["num_beams", "length_penalty", "temperature"]);
        assert_eq!(wrong, SearchSettings::default());
    }
}
