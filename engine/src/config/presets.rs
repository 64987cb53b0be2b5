//! Ready configs, one TOML file each in `assets/presets`.

use super::{ConfigError, RunConfig, from_toml};

/// A ready config with what it is for.
#[derive(Clone, Debug)]
pub struct Preset {
    /// Short name for the command line, such as `grammar-decoder`.
    pub name: &'static str,
    /// The file's text, comments included: the first comment says what the preset is for.
    pub toml: &'static str,
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
    ($($name:literal),* $(,)?) => {
        const PRESETS: &[Preset] = &[$(Preset {
            name: $name,
            toml: include_str!(concat!("../../../assets/presets/", $name, ".toml")),
        }),*];
    };
}

presets!("grammar-decoder", "grammar-encoder", "random-decoder", "text-decoder", "text-encoder");

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
    use super::presets;

    #[test]
    fn every_preset_is_valid_and_says_what_it_is_for() {
        for preset in presets() {
            let config = preset.config().unwrap_or_else(|error| panic!("{}: {error}", preset.name));
            let problems: Vec<_> =
                config.validate().into_iter().filter(|problem| problem.field != "data.path").collect();
            assert_eq!(problems, vec![], "{}", preset.name);
            assert!(preset.about().len() > 20, "{}", preset.name);
            assert!(!config.name.is_empty());
        }
    }
}
