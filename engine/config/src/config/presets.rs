//! Ready configs, one TOML file each in `assets/presets`.

use super::{ConfigError, RunConfig, from_toml};

/// A ready config with what it is for.
#[derive(Clone, Debug)]
pub struct Preset {
    /// Short name for the command line, such as `grammar-decoder`.
    pub name: &'static str,
    /// What it is to show.
    pub group: PresetGroup,
    /// The file's text, comments included: the first comment says what the preset is for.
    pub toml: &'static str,
}

/// What a preset is to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PresetGroup {
    /// A first run.
    Start,
    /// A kind of attention, at a size that trains within minutes on two cores.
    Attention,
    /// A set-up from the papers, most of them for a GPU.
    Paper,
}

impl PresetGroup {
    /// Every group, in the order in which people meet them.
    pub const ALL: [Self; 3] = [Self::Start, Self::Attention, Self::Paper];
}

impl Preset {
    /// What the preset is for: the leading comment of its file.
    pub fn about(&self) -> String {
        self.toml
            .lines()
            .take_while(|line| line.starts_with('#'))
            .map(|line| line.trim_start_matches('#').trim())
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// The config itself.
    pub fn config(&self) -> Result<RunConfig, ConfigError> {
        from_toml(self.toml)
    }
}

macro_rules! presets {
    ($($group:ident: $($name:literal),* $(,)?;)*) => {
        const PRESETS: &[Preset] = &[$($(Preset {
            name: $name,
            group: PresetGroup::$group,
            toml: include_str!(concat!("../../../../assets/presets/", $name, ".toml")),
        }),*),*];
    };
}

presets! {
    Start:
        "grammar-decoder", "grammar-encoder", "number-words", "random-decoder", "text-decoder", "text-encoder";
    Attention:
        "grammar-reuse-full", "grammar-reuse-partial", "grammar-reuse-first", "grammar-reuse-alternate",
        "grammar-reuse-all-end", "grammar-reuse-skip", "grammar-reuse-custom", "grammar-encoder-reuse-full",
        "grammar-symmetric", "grammar-pairwise", "grammar-shared-weight", "grammar-collaborative", "grammar-grouped",
        "grammar-latent", "grammar-tied-kv", "grammar-partial-coverage", "grammar-partial-coverage-trained";
    Paper:
        "bert-base-128", "bert-base-128-reuse", "bert-base-512", "bert-base-512-reuse", "bert-large",
        "bert-large-reuse", "transformer-base", "transformer-base-reuse",
        "transformer-base-translation",
        "reuse-savings";
}

/// Every preset, the best first one first.
pub fn presets() -> &'static [Preset] {
    PRESETS
}

/// The preset of that name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

#[cfg(test)]
mod tests {
    use super::{PresetGroup, presets};
    use crate::config::{Compatibility, Coverage, Reuse};

    #[test]
    fn every_preset_is_valid_and_says_what_it_is_for() {
        for preset in presets() {
            let config = preset.config().unwrap_or_else(|error| panic!("{}: {error}", preset.name));
            let problems: Vec<_> =
                config.validate().into_iter().filter(|problem| problem.field != "data.path").collect();
            assert_eq!(problems, vec![], "{}", preset.name);
            assert!(preset.about().len() > 20, "{}", preset.name);
            assert!(!config.name.is_empty());
            assert!(config.train.evaluate_examples.is_some(), "{}: another batch has the same examples", preset.name);
        }
    }

    #[test]
    fn every_file_is_a_preset_and_every_kind_of_attention_has_one() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/presets");
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), presets().len());
        // Those that a small machine trains within minutes.
        let small = presets().iter().filter(|preset| preset.group != PresetGroup::Paper);
        let answers: Vec<_> = small.map(|preset| preset.config().unwrap().attention).collect();
        for compatibility in Compatibility::examples(4, 128) {
            let kind = compatibility.kind();
            assert!(answers.iter().any(|answer| answer.compatibility.kind() == kind), "{kind}");
        }
        for reuse in Reuse::examples(4, 4) {
            let kind = reuse.kind();
            assert!(answers.iter().any(|answer| answer.reuse.kind() == kind), "{kind}");
        }
        for coverage in Coverage::examples(64) {
            let kind = coverage.kind();
            assert!(answers.iter().any(|answer| answer.coverage.kind() == kind), "{kind}");
        }
    }
}
