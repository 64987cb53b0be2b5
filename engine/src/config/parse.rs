//! Reading and writing the TOML file.

use serde::Deserialize;
use thiserror::Error;
use toml::{Table, Value};

use super::{FORMAT, RunConfig};

/// Why a config could not be read.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ConfigError {
    /// Not TOML at all.
    #[error("The config is not valid TOML. {0}")]
    Syntax(String),
    /// A field is unknown or has a value of the wrong type.
    #[error("{0}")]
    Field(String),
    /// The file says no version.
    #[error("The config has no `format` field. Add the line `format = {FORMAT}` at its top.")]
    NoFormat,
    /// The file was written by a newer program.
    #[error("The config has format {found}, this program reads format {FORMAT}. Use a newer Headroom.")]
    NewerFormat {
        /// The version in the file.
        found: i64,
    },
    /// An override is not `key=value`.
    #[error("Cannot use the override `{given}`: {why}. Write it as `model.layers=4`.")]
    Override {
        /// What was given.
        given: String,
        /// What is wrong with it.
        why: String,
    },
}

/// Reads a config file's text.
pub fn from_toml(text: &str) -> Result<RunConfig, ConfigError> {
    from_toml_with(text, &[])
}

/// Reads a config file's text after replacing fields by overrides such as `model.layers=4`.
///
/// The right-hand side is TOML; a bare word that is no TOML value counts as a string.
pub fn from_toml_with(text: &str, overrides: &[String]) -> Result<RunConfig, ConfigError> {
    let mut table: Table =
        text.parse().map_err(|error: toml::de::Error| ConfigError::Syntax(error.to_string().trim_end().to_owned()))?;
    // Kinds first, since another kind takes the fields of the old one away.
    let (kinds, others): (Vec<_>, Vec<_>) = overrides.iter().partition(|given| is_answer(given));
    for given in kinds.into_iter().chain(others) {
        apply(&mut table, given)?;
    }
    match table.get("format") {
        None => return Err(ConfigError::NoFormat),
        Some(Value::Integer(found)) if *found > i64::from(FORMAT) => {
            return Err(ConfigError::NewerFormat { found: *found });
        }
        Some(Value::Integer(found)) if *found == i64::from(FORMAT) => {}
        Some(other) => {
            return Err(ConfigError::Field(format!("format: expected {FORMAT}, found {other}.")));
        }
    }
    section_by_section(&table)?;
    read(&Value::Table(table), "")
}

/// Reads a config that was stored as JSON.
pub fn from_json(text: &str) -> Result<RunConfig, ConfigError> {
    let table: Table = serde_json::from_str(text).map_err(|error| ConfigError::Syntax(error.to_string()))?;
    RunConfig::deserialize(Value::Table(table)).map_err(|error| ConfigError::Field(explain("", &error)))
}

/// The whole config as TOML, every field written out.
pub fn to_toml(config: &RunConfig) -> String {
    // Serialising plain data with string keys cannot fail; an empty file would be seen at once.
    toml::to_string(config).unwrap_or_default()
}

/// Reads each section for itself so that an error can say where it is.
fn section_by_section(table: &Table) -> Result<(), ConfigError> {
    fn check<T: serde::de::DeserializeOwned>(table: &Table, path: &str) -> Result<(), ConfigError> {
        let mut value = table;
        let mut names = path.split('.').peekable();
        while let Some(name) = names.next() {
            let Some(next) = value.get(name) else { return Ok(()) };
            if names.peek().is_none() {
                return read::<T>(next, path).map(drop);
            }
            let Value::Table(inner) = next else { return Ok(()) };
            value = inner;
        }
        Ok(())
    }
    check::<super::DeviceChoice>(table, "device")?;
    check::<super::Precision>(table, "precision")?;
    check::<super::Tokenizer>(table, "data.tokenizer")?;
    check::<super::DataConfig>(table, "data")?;
    check::<super::ModelConfig>(table, "model")?;
    check::<super::Reuse>(table, "attention.reuse")?;
    check::<super::Compatibility>(table, "attention.compatibility")?;
    check::<super::Coverage>(table, "attention.coverage")?;
    check::<super::Cache>(table, "attention.cache")?;
    check::<super::AttentionConfig>(table, "attention")?;
    check::<super::Schedule>(table, "train.schedule")?;
    check::<super::StabilityChoice>(table, "train.stability")?;
    check::<super::TrainConfig>(table, "train")?;
    check::<super::ProbeConfig>(table, "probe")
}

/// Reads one part of the file; an error names the field.
fn read<T: serde::de::DeserializeOwned>(value: &Value, path: &str) -> Result<T, ConfigError> {
    T::deserialize(value.clone()).map_err(|error| {
        let is_about_a_name = error.message().starts_with("unknown") || error.message().starts_with("missing");
        // serde does not say which field has a value of the wrong type: it is the one without which all is well.
        let culprit = value.as_table().filter(|_| !is_about_a_name).and_then(|table| {
            table.keys().find(|key| {
                let mut without = table.clone();
                without.remove(key.as_str());
                T::deserialize(Value::Table(without)).is_ok()
            })
        });
        let place = match culprit {
            Some(key) if path.is_empty() => key.clone(),
            Some(key) => format!("{path}.{key}"),
            None => path.to_owned(),
        };
        ConfigError::Field(explain(&place, &error))
    })
}

/// Rust's names of types in plain words.
fn in_words(message: &str) -> String {
    [
        ("expected usize", "expected a whole number from 0 on"),
        ("expected u64", "expected a whole number from 0 on"),
        ("expected u32", "expected a whole number from 0 on"),
        ("expected f64", "expected a number"),
        ("expected a string", "expected text in quotes"),
    ]
    .iter()
    .fold(message.to_owned(), |message, (rust, plain)| message.replace(rust, plain))
}

/// Turns serde's message into a sentence with the field's path and the nearest known name.
fn explain(path: &str, error: &toml::de::Error) -> String {
    let message = error.message().trim().trim_end_matches('.');
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let at = |field: &str| if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") };
    let (subject, known) = match quoted.split_first() {
        Some((first, rest)) if message.starts_with("unknown field") => {
            (format!("Unknown field `{}`.", at(first)), (first, rest))
        }
        Some((first, rest)) if message.starts_with("unknown variant") => {
            let owner = if path.is_empty() { String::new() } else { format!("{path}: ") };
            (format!("{owner}\"{first}\" is not known here."), (first, rest))
        }
        _ => {
            let place = if path.is_empty() { error_key(error) } else { path.to_owned() };
            let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
            return format!("{place}{}.", in_words(message));
        }
    };
    let (given, names) = known;
    if let Some(name) = nearest(given, names.iter().copied()) {
        format!("{subject} Did you mean `{name}`? Known here: {}.", names.join(", "))
    } else if names.is_empty() {
        format!("{subject} No field is known here.")
    } else {
        format!("{subject} Known here: {}.", names.join(", "))
    }
}

/// The key that a type error names, if it names one.
fn error_key(error: &toml::de::Error) -> String {
    error
        .to_string()
        .lines()
        .find_map(|line| line.trim().strip_prefix("in `").and_then(|rest| rest.strip_suffix('`')).map(str::to_owned))
        .unwrap_or_default()
}

/// The name most like `given`, when one is similar enough to be meant.
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    names
        .into_iter()
        .map(|name| (strsim::jaro_winkler(given, name), name))
        .filter(|(similarity, _)| *similarity > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// Whether an override names the kind of an answer to one of the four questions, of which each has fields of its own.
fn is_answer(given: &str) -> bool {
    given.split('=').next().is_some_and(|path| {
        let path = path.trim();
        path.starts_with("attention.") && path.rsplit('.').next() == Some("kind")
    })
}

/// Replaces one field.
fn apply(table: &mut Table, given: &str) -> Result<(), ConfigError> {
    let wrong = |why: &str| ConfigError::Override { given: given.to_owned(), why: why.to_owned() };
    let (path, text) = given.split_once('=').ok_or_else(|| wrong("it has no `=`"))?;
    let path = path.trim();
    let text = text.trim();
    let value = match format!("value = {text}").parse::<Table>() {
        Ok(mut parsed) => parsed.remove("value").ok_or_else(|| wrong("its value is empty"))?,
        Err(_) if text.is_empty() => return Err(wrong("its value is empty")),
        Err(_) => Value::String(text.to_owned()),
    };
    let (parents, last) = match path.rsplit_once('.') {
        Some((parents, last)) => (parents.split('.').collect(), last),
        None => (Vec::new(), path),
    };
    if last.is_empty() {
        return Err(wrong("it names no field"));
    }
    let mut inner = table;
    for name in parents {
        let entry = inner.entry(name).or_insert_with(|| Value::Table(Table::new()));
        inner = entry.as_table_mut().ok_or_else(|| wrong(&format!("`{name}` holds no fields")))?;
    }
    // Steps and epochs exclude each other: naming one on the command line replaces the other.
    if path == "train.steps" {
        inner.remove("epochs");
    } else if path == "train.epochs" {
        inner.remove("steps");
    }
    if is_answer(path) && inner.get(last).is_some_and(|kind| *kind != value) {
        inner.clear();
    }
    inner.insert(last.to_owned(), value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{FirstReuse, FullReuse, Reuse, Source, Tokenizer};

    #[test]
    fn the_documented_example_reads() {
        let text = r#"
            format = 1
            name = "wikitext decoder"
            seed = 1
            device = "cpu"
            threads = 2
            [data]
            kind = "file"
            path = "wikitext2/train.txt.gz"
            sequence_length = 128
            tokenizer = { kind = "bpe", vocabulary = 8192 }
            [model]
            kind = "decoder"
            layers = 4
            heads = 4
            width = 256
            feed_forward = 1024
            dropout = 0.0
            norm = "pre"
            [attention]
            compatibility = { kind = "standard" }
            coverage = { kind = "full" }
            [train]
            steps = 1000
            batch = 16
            learning_rate = 1e-3
            schedule = { kind = "cosine", warmup_steps = 100 }
            weight_decay = 0.01
            clip_norm = 1.0
            evaluate_every = 100
            [probe]
            every = 100
            examples = 16
        "#;
        let config = from_toml(text).unwrap();
        assert!(matches!(&config.data.source, Source::File(file) if file.path.ends_with("train.txt.gz")));
        assert!(matches!(&config.data.tokenizer, Tokenizer::Bpe(bpe) if bpe.vocabulary == 8192));
        assert_eq!(from_toml(&to_toml(&config)).unwrap(), config);
        assert_eq!(from_json(&serde_json::to_string(&config).unwrap()).unwrap(), config);
    }

    #[test]
    fn every_field_but_format_has_a_default() {
        assert_eq!(from_toml("format = 1").unwrap(), RunConfig::default());
        assert_eq!(from_toml("").unwrap_err(), ConfigError::NoFormat);
        assert_eq!(from_toml("format = 2").unwrap_err(), ConfigError::NewerFormat { found: 2 });
    }

    #[test]
    fn unknown_names_are_errors_that_suggest_the_nearest() {
        for (text, wanted) in [
            ("[model]\nlayer = 4", ["`model.layer`", "`layers`"]),
            ("[data]\nsequence_lenght = 4", ["`data.sequence_lenght`", "Known here"]),
            ("[data]\nkind = \"gramar\"", ["\"gramar\"", "`grammar`"]),
            ("[attention]\nreuse = { kind = \"none\", layers = 2 }", ["`attention.reuse.layers`", "No field"]),
            ("[attention]\nreuse = { kind = \"first\", layer = 2 }", ["`attention.reuse.layer`", "`layers`"]),
            ("[attention]\nreuse = { kind = \"frist\" }", ["attention.reuse", "`first`"]),
            ("[attention]\ncompatibility = { kind = \"latent\", dim = 2 }", ["`attention.compatibility.dim`", "rank"]),
            ("[attention]\nmatch_parameter = \"standard\"", ["`attention.match_parameter`", "`match_parameters`"]),
            ("[train]\nschedule = { kind = \"cosin\" }", ["train.schedule", "`cosine`"]),
            ("[train]\nstability = { kind = \"of\" }", ["train.stability", "`off`"]),
            ("[train]\nstability = { kind = \"watch\", stopp = true }", ["`train.stability.stopp`", "`stop`"]),
            ("naem = \"x\"", ["`naem`", "`name`"]),
        ] {
            let message = from_toml(&format!("format = 1\n{text}")).unwrap_err().to_string();
            for part in wanted {
                assert!(message.contains(part), "{message}");
            }
        }
    }

    #[test]
    fn a_value_of_the_wrong_type_names_its_field() {
        let message = from_toml("format = 1\n[model]\nlayers = \"four\"").unwrap_err().to_string();
        assert!(message.starts_with("model.layers: ") && message.contains("a whole number"), "{message}");
        let message =
            from_toml("format = 1\n[attention.reuse]\nkind = \"full\"\nlayers = \"two\"").unwrap_err().to_string();
        assert!(message.starts_with("attention.reuse.layers: "), "{message}");
        let message = from_toml("format = 1\nthreads = -1").unwrap_err().to_string();
        assert!(message.starts_with("threads: "), "{message}");
        let message = from_toml("format = 1\ndevice = \"gpu\"").unwrap_err().to_string();
        assert!(message.contains("device") && message.contains("cuda:0"), "{message}");
    }

    #[test]
    fn overrides_replace_fields() {
        let given = ["model.layers=7", "name=a b", "train.schedule={kind=\"linear\"}", "train.epochs=2.0"];
        let config = from_toml_with("format = 1\n[train]\nsteps = 5", &given.map(str::to_owned)).unwrap();
        assert_eq!((config.model.layers, config.name.as_str()), (7, "a b"));
        assert_eq!(config.train.schedule.kind(), "linear");
        assert_eq!((config.train.steps, config.train.epochs), (None, Some(2.0)));
        let given = ["attention.reuse.layers=2", "attention.reuse.kind=full"].map(str::to_owned);
        let text = "format = 1\n[attention]\nreuse = { kind = \"first\", layers = 1, heads = 1 }";
        let config = from_toml_with(text, &given).unwrap();
        assert_eq!(config.attention.reuse, Reuse::Full(FullReuse { layers: 2 }), "the old kind's heads are gone");
        let config = from_toml_with(text, &given[..1]).unwrap();
        assert_eq!(config.attention.reuse, Reuse::First(FirstReuse { layers: 2, heads: 1 }));
        for bad in ["model.layers", "=3", "model.layers="] {
            assert!(matches!(from_toml_with("format = 1", &[bad.to_owned()]), Err(ConfigError::Override { .. })));
        }
    }
}
