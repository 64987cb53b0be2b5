//! What the form calls the fields of a config, known without drawing it.

use headroom_engine::config::{Compatibility, Coverage, ModelConfig, Number, PartialCoverage, Reuse, RunConfig};

use super::{
    super::field::{Labels, Words},
    answer::GivenAnswer,
    attention, compatibility, coverage,
    data::words_of,
    matching, model, parts, probe, reuse, run, stopping, train,
};

/// Labels by path. Where the same path is another field with another answer or of other data, those of this config.
pub fn labels_of(config: &RunConfig) -> Labels {
    let mut labels = Labels::new();
    let fixed: [&[Words]; 11] = [
        &run::WORDS,
        &model::WORDS,
        &attention::WORDS,
        &compatibility::WORDS,
        &coverage::WORDS,
        &reuse::WORDS,
        &matching::WORDS,
        &train::WORDS,
        &stopping::WORDS,
        &parts::WORDS,
        &probe::WORDS,
    ];
    labels.extend(fixed.into_iter().flatten().map(|words| (words.path, words.label)));
    labels.extend(words_of(&config.data.source).into_iter().map(|words| (words.path, words.label)));
    labels.extend([
        (Reuse::PATH, Reuse::LABEL),
        (Compatibility::PATH, Compatibility::LABEL),
        (Coverage::PATH, Coverage::LABEL),
    ]);
    add_numbers(&mut labels, config);
    labels
}

/// The numbers of all answers, those of the config's own last.
fn add_numbers(labels: &mut Labels, config: &RunConfig) {
    let usual = ModelConfig::default();
    let mut add = |numbers: Vec<Number<'_>>| {
        labels.extend(numbers.into_iter().map(|number| (number.path, number.label)));
    };
    // What is added last stays: of several answers with a number of the same path, that of the first.
    for mut reuse in Reuse::examples(1, 1).into_iter().rev() {
        add(reuse.numbers(1, 1));
    }
    for mut compatibility in Compatibility::usual(&usual).into_iter().rev() {
        add(compatibility.numbers(&usual));
    }
    add(Coverage::Partial(PartialCoverage::default()).numbers(1));
    let mut own = config.attention.clone();
    add(own.reuse.numbers(config.model.layers, config.model.heads));
    add(own.compatibility.numbers(&config.model));
    add(own.coverage.numbers(config.data.sequence_length));
}
