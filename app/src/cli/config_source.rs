use std::{
    fs::File,
    path::{Path, PathBuf},
};

use headroom_engine::{
    config::{DataConfig, Modality, Problem, RunConfig, from_toml_noting, nearest, preset, presets},
    data::{Reading, data_problems, read_file, read_stream, with_image_shape, wrong_kind},
    hub,
    machine::free_bytes,
    objective::judging_metric,
    store::RunRecord,
};

use super::{
    common_args::ConfigArgs,
    error::{CliError, CliResult},
    print,
};

/// The largest config that is read, in bytes: a table of heads of the largest model has two million.
const LARGEST_CONFIG: u64 = 16 << 20;

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
        Self::parse(args)?.checked()
    }

    /// The same for what trains: where a field is wrong, its files and its device are looked at too, so that all is told at once.
    pub fn read_to_train(args: &ConfigArgs) -> CliResult<Self> {
        let given = Self::parse(args)?;
        let mut problems = given.config.validate();
        problems.extend(judging_metric(&given.config).err());
        if problems.is_empty() {
            return Ok(given);
        }
        let config = hub::anchored(given.config.clone(), &given.base_dir);
        let device = free_bytes(config.device).err().map(|why| Problem::new("device", why));
        let found = data_problems(&config.data, &config.objective(), &Reading::of(config.task.as_ref()));
        for problem in found.into_iter().chain(device) {
            if problems.iter().all(|known| known.field != problem.field) {
                problems.push(problem);
            }
        }
        Err(CliError::problems(&given.label, &problems))
    }

    /// The same for what needs no text: none has to be named.
    pub fn read_without_text(args: &ConfigArgs) -> CliResult<Self> {
        let mut given = Self::parse(args)?;
        let source = &mut given.config.data.source;
        if source.facts().modality == Modality::Text && source.training_files() == [PathBuf::new()] {
            source.put_path("data.path", PathBuf::from("text.txt"));
        }
        given.checked()
    }

    fn parse(args: &ConfigArgs) -> CliResult<Self> {
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
        // What keeps images from being looked at is told where they are read.
        let config = match with_image_shape(hub::anchored(config.clone(), &base_dir)) {
            Ok(known) if config.data.source.has_images() => known,
            Ok(_) | Err(_) => config,
        };
        Ok(Self { label, config, base_dir })
    }

    fn checked(self) -> CliResult<Self> {
        let problems = self.config.validate();
        if problems.is_empty() { Ok(self) } else { Err(CliError::problems(&self.label, &problems)) }
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
    // A model to begin with may be no path but a run, or a model of a hub.
    let is_model = || field.trim() == "model.initial" && current_dir.join(value).is_dir();
    let is_path = DataConfig::path_field_names().contains(&field.trim()) || is_model();
    if is_path && !value.is_empty() && Path::new(value).is_relative() {
        let path = current_dir.join(value).to_string_lossy().into_owned();
        *given = format!("{}={}", field.trim(), toml::Value::String(path));
    }
}

fn text_of(name: &str, current_dir: &Path) -> CliResult<(String, String, PathBuf)> {
    if name == "-" {
        let label = "The config on standard input";
        let bytes = read_stream(&mut std::io::stdin().lock(), LARGEST_CONFIG)
            .map_err(|error| CliError::at("config", format!("{label} cannot be read: {error}.")))?;
        return Ok((label.to_owned(), text(label, bytes)?, current_dir.to_owned()));
    }
    let path = Path::new(name);
    if path.is_dir() {
        let message = format!("{name} is a folder. Name a config file, or one of the presets: {}.", names());
        return Err(CliError::at("config", message));
    }
    if is_open_stream(path) {
        let read = File::open(path).and_then(|mut stream| read_stream(&mut stream, LARGEST_CONFIG));
        let bytes = read.map_err(|error| CliError::at("config", format!("{name} cannot be read: {error}.")))?;
        return Ok((name.to_owned(), text(name, bytes)?, current_dir.to_owned()));
    }
    if path.exists() {
        let bytes = read_file(path, LARGEST_CONFIG).map_err(|error| {
            let message = match wrong_kind(&error) {
                Some(kind) => format!(
                    "{name} is {kind}, not a file. A config is read from a file, from standard input (`headroom train - \
                     < {name}`), or from a pipe that the shell opens (`headroom train <(command)`)."
                ),
                None => format!("{name} cannot be read: {error}."),
            };
            CliError::at("config", message)
        })?;
        let text = text(name, bytes)?;
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

/// The text of a config.
fn text(name: &str, bytes: Vec<u8>) -> CliResult<String> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let message = format!(
            "{name} is not UTF-8 text (byte {at}), so it is no config. Configs are TOML; `headroom presets \
             grammar-decoder` prints one."
        );
        CliError::at("config", message)
    })
}

/// Whether a path stands for a stream that whoever started the program has opened, as in `headroom train <(command)`:
/// reading it waits for that command alone, as `-` does.
fn is_open_stream(path: &Path) -> bool {
    cfg!(unix)
        && (path == Path::new("/dev/stdin") || path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd"))
        && !path.is_dir()
        && path.exists()
}

/// The presets' names.
fn names() -> String {
    presets().iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ")
}

/// The config of a run.
pub(super) fn config_of(record: &RunRecord) -> CliResult<RunConfig> {
    record.run_config().map_err(|error| {
        CliError::Failed(format!("The config of the run {} cannot be read. {error}", record.summary.id))
    })
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
    fn what_is_wrong_with_a_field_and_with_a_file_is_told_at_once() {
        let set = ["model.heads=3", "data.path=/no/such/text.txt", "device=cuda:99"];
        let Err(error) = GivenConfig::read_to_train(&args(Some("text-decoder"), &set)) else { panic!("not refused") };
        let mut fields: Vec<String> = error.problem_list().into_iter().map(|problem| problem.field).collect();
        fields.sort_unstable();
        assert_eq!(fields, ["data.path", "device", "model.width"]);
        assert!(GivenConfig::read_to_train(&args(Some("grammar-decoder"), &["model.layers=2"])).is_ok());
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
