use std::{
    io::Read,
    path::{Path, PathBuf},
};

use headroom_engine::config::{RunConfig, from_toml_noting, nearest, preset, presets};

use super::{
    common_args::ConfigArgs,
    error::{CliError, CliResult},
    print,
};

/// The fields of a config that name files.
const PATH_FIELDS: [&str; 3] = ["data.path", "data.validation_path", "data.tokenizer.path"];

/// A config as it was given on the command line.
pub struct GivenConfig {
    /// What to call it in messages.
    pub label: String,
    /// The config with all overrides, valid.
    pub config: RunConfig,
    /// Folder from which relative paths in it are taken.
    pub base_dir: PathBuf,
}

impl GivenConfig {
    /// Reads the file, the preset, or standard input for `-`; applies the overrides; checks every field.
    pub fn read(args: &ConfigArgs) -> CliResult<Self> {
        let current_dir = std::env::current_dir()
            .map_err(|error| CliError::Failed(format!("The current folder cannot be found: {error}.")))?;
        let (name, mut overrides) = split(args)?;
        for given in &mut overrides {
            from_current_dir(given, &current_dir);
        }
        let (label, text, base_dir) = text_of(&name, &current_dir)?;
        let (config, notes) =
            from_toml_noting(&text, &overrides).map_err(|error| CliError::of_config(&label, &error))?;
        for note in notes {
            print::aside(format!("Note: {note}"));
        }
        let problems = config.validate();
        if problems.is_empty() {
            Ok(Self { label, config, base_dir })
        } else {
            Err(CliError::problems(&label, &problems))
        }
    }
}

/// The config's name and all overrides. `--set a=1 b=2` and `--set a=1 CONFIG` are both understood: a word without
/// `=` is no override.
fn split(args: &ConfigArgs) -> CliResult<(String, Vec<String>)> {
    let mut overrides = args.set.clone();
    let name = if let Some(name) = &args.config {
        name.clone()
    } else {
        let place = overrides.iter().position(|given| !given.contains('='));
        let missing = || {
            let message = format!("Name a config file, a preset or `-` for standard input. Presets: {}.", names());
            CliError::at("config", message)
        };
        overrides.remove(place.ok_or_else(missing)?)
    };
    overrides.extend(args.shortcuts());
    Ok((name, overrides))
}

/// A relative path that was typed on the command line starts at the current folder, not at the config's.
fn from_current_dir(given: &mut String, current_dir: &Path) {
    let Some((field, value)) = given.split_once('=') else { return };
    let value = value.trim().trim_matches(['"', '\'']);
    if PATH_FIELDS.contains(&field.trim()) && !value.is_empty() && Path::new(value).is_relative() {
        let path = current_dir.join(value).to_string_lossy().into_owned();
        *given = format!("{}={}", field.trim(), toml::Value::String(path));
    }
}

fn text_of(name: &str, current_dir: &Path) -> CliResult<(String, String, PathBuf)> {
    if name == "-" {
        let mut text = String::new();
        return match std::io::stdin().lock().read_to_string(&mut text) {
            Ok(_) => Ok(("The config on standard input".to_owned(), text, current_dir.to_owned())),
            Err(error) => Err(CliError::at("config", format!("The config on standard input cannot be read: {error}."))),
        };
    }
    let path = Path::new(name);
    if path.is_dir() {
        let message = format!("{name} is a folder. Name a config file, or one of the presets: {}.", names());
        return Err(CliError::at("config", message));
    }
    if path.exists() {
        let bytes =
            std::fs::read(path).map_err(|error| CliError::at("config", format!("{name} cannot be read: {error}.")))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let message = format!(
                "{name} is not UTF-8 text (byte {at}), so it is no config. Configs are TOML; `headroom presets \
                 grammar-decoder` prints one."
            );
            CliError::at("config", message)
        })?;
        let base_dir = std::path::absolute(path)
            .ok()
            .and_then(|path| path.parent().map(Path::to_owned))
            .unwrap_or_else(|| current_dir.to_owned());
        return Ok((name.to_owned(), text, base_dir));
    }
    if let Some(preset) = preset(name) {
        return Ok((format!("The preset {name}"), preset.toml.to_owned(), current_dir.to_owned()));
    }
    let hint = match nearest(name, presets().iter().map(|preset| preset.name)) {
        Some(near) => format!(" Did you mean `{near}`?"),
        None => String::new(),
    };
    let message = format!("There is no config file and no preset `{name}`.{hint} Presets: {}.", names());
    Err(CliError::at("config", message))
}

/// The presets' names.
fn names() -> String {
    presets().iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(config: Option<&str>, set: &[&str]) -> ConfigArgs {
        let set = set.iter().map(|&given| given.to_owned()).collect();
        ConfigArgs { config: config.map(str::to_owned), set, ..ConfigArgs::default() }
    }

    #[test]
    fn overrides_and_the_config_may_come_in_any_order() {
        for args in [
            args(Some("grammar-decoder"), &["model.layers=2", "seed=7"]),
            args(None, &["model.layers=2", "grammar-decoder", "seed=7"]),
        ] {
            let given = GivenConfig::read(&args).unwrap();
            assert_eq!((given.config.model.layers, given.config.seed), (2, 7));
        }
    }

    #[test]
    fn shortcuts_are_overrides() {
        let mut args = args(Some("grammar-decoder"), &[]);
        (args.seed, args.name, args.steps) = (Some(9), Some("a \"quoted\" = name".to_owned()), Some(3));
        let config = GivenConfig::read(&args).unwrap().config;
        assert_eq!((config.seed, config.train.steps), (9, Some(3)));
        assert_eq!(config.name, "a \"quoted\" = name");
    }

    #[test]
    fn a_typed_path_starts_at_the_current_folder() {
        let mut given = "data.path=texts/a.txt".to_owned();
        from_current_dir(&mut given, Path::new("/here"));
        assert_eq!(given, "data.path=\"/here/texts/a.txt\"");
        let mut given = "model.layers=2".to_owned();
        from_current_dir(&mut given, Path::new("/here"));
        assert_eq!(given, "model.layers=2");
    }

    #[test]
    fn a_name_that_is_nothing_suggests_the_nearest_preset() {
        let Err(CliError::Problems { message, .. }) = GivenConfig::read(&args(Some("gramar-decoder"), &[])) else {
            panic!("not refused")
        };
        assert!(message.contains("`grammar-decoder`"), "{message}");
    }
}
