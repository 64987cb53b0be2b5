use headroom_engine::{
    attention::ModelPlan,
    config::{RunConfig, counted, grouped},
};

use super::left_out_words;

/// From how many maps of scores an analysis during training tells the energy in the largest eigenvalues: one of each probe
/// example and head that scores. 0 where nothing can be said.
pub fn probe_samples(config: &RunConfig) -> u64 {
    // The vocabulary has no say in which heads score.
    let Ok(plan) = ModelPlan::resolve(config, 1) else { return 0 };
    let heads = &plan.stack.head_plan;
    let scoring: usize = (0..heads.layers()).map(|layer| heads.computed(layer)).sum();
    (scoring * config.probe.examples) as u64
}

/// From how few maps an analysis during training tells the energy in the largest eigenvalues, where they are fewer than these
/// maps have entries; nothing where there are enough.
///
/// `samples`: how many there are, where that is known; else as many as the config asks for.
pub fn few_samples_words(config: &RunConfig, samples: Option<u64>) -> Option<String> {
    let samples = samples.unwrap_or_else(|| probe_samples(config));
    let tokens = config.data.sequence_length as u64;
    let entries = if config.model.kind.is_causal() { tokens * (tokens + 1) / 2 } else { tokens * tokens };
    (1..entries).contains(&samples).then(|| {
        format!(
            "Energy: from {} of {} entries each; fewer maps make it larger. \"Analyse…\" takes more.",
            counted(samples, "map"),
            grouped(entries)
        )
    })
}

/// That heads which borrow are left out of the similarity that analyses during training tell; nothing where none borrows.
pub fn borrowed_words(config: &RunConfig) -> Option<String> {
    let plan = ModelPlan::resolve(config, 1).ok()?;
    let heads = &plan.stack.head_plan;
    let borrowers: usize = (0..heads.layers()).map(|layer| heads.borrowed(layer)).sum();
    (borrowers > 0).then(|| format!("Similarity: {}", left_out_words(borrowers, heads.layers() * heads.heads())))
}

#[cfg(test)]
mod tests {
    use headroom_engine::config::from_toml;

    use super::*;

    #[test]
    fn few_maps_are_told_and_many_are_not() {
        let words = |kind: &str, examples: usize| {
            let model =
                format!("format = 1\ndata.sequence_length = 8\n[model]\nkind = \"{kind}\"\nlayers = 4\nheads = 2\n");
            few_samples_words(&from_toml(&format!("{model}[probe]\nexamples = {examples}\n")).unwrap(), None)
        };
        assert!(words("decoder", 4).is_some_and(|words| words.contains("32 maps of 36 entries")));
        assert_eq!(words("decoder", 5), None);
        assert!(words("encoder", 5).is_some_and(|words| words.contains("40 maps of 64 entries")));
    }

    #[test]
    fn heads_that_borrow_are_told_to_be_left_out() {
        let of = |reuse: &str| {
            let config = "format = 1\n[model]\nlayers = 4\nheads = 2\n";
            borrowed_words(&from_toml(&[config, reuse].concat()).unwrap())
        };
        assert_eq!(of(""), None);
        let words = of("[attention.reuse]\nkind = \"full\"\nlayers = 1\n").unwrap();
        assert!(words.starts_with("Similarity: 2 of 8 heads borrow"), "{words}");
    }

    #[test]
    fn heads_that_borrow_their_maps_give_no_sample() {
        let of = |reuse: &str| {
            let config = "format = 1\n[model]\nlayers = 4\nheads = 2\n[probe]\nexamples = 5\n";
            probe_samples(&from_toml(&[config, reuse].concat()).unwrap())
        };
        assert_eq!(of(""), 4 * 2 * 5);
        assert_eq!(of("[attention.reuse]\nkind = \"full\"\nlayers = 1\n"), 3 * 2 * 5);
    }
}
