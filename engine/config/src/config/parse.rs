//! Reading and writing the TOML file.

use std::path::Path;

use serde::Deserialize;
use thiserror::Error;
use toml::{Table, Value};

use super::{
    Coverage, FORMAT, Problem, RunConfig, Source, Tokenizer, data,
    field_check::{faults, huge_numbers, is_kind, outside},
};
use crate::text::shortened;

/// The kind of tokenizer that comes from `model.initial`.
const INITIAL_TOKENIZER: &str = "initial";

/// Why a config could not be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ConfigError {
    /// Not TOML at all.
    #[error("The config is not valid TOML. {0}")]
    Syntax(String),
    /// Fields are unknown, or have values of the wrong type.
    #[error("{}", listed(.0))]
    Fields(Vec<Problem>),
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

impl ConfigError {
    /// What is wrong, field by field; the whole config is the field `config`.
    pub fn problems(&self) -> Vec<Problem> {
        let field = match self {
            Self::Fields(problems) => return problems.clone(),
            Self::Syntax(_) => "config",
            Self::NoFormat | Self::NewerFormat { .. } => "format",
            Self::Override { given, .. } => match given.split('=').next().map(str::trim) {
                None | Some("") => "config",
                Some(field) => field,
            },
        };
        vec![Problem::new(field, self.to_string())]
    }
}

/// The most problems that one message tells.
const MOST_TOLD: usize = 40;

/// Problems, one a line.
fn listed(problems: &[Problem]) -> String {
    let mut lines: Vec<String> = problems.iter().take(MOST_TOLD).map(ToString::to_string).collect();
    if let more @ 1.. = problems.len().saturating_sub(MOST_TOLD) {
        lines.push(format!("and {more} more"));
    }
    lines.join("\n")
}

/// Reads a config file's text.
pub fn from_toml(text: &str) -> Result<RunConfig, ConfigError> {
    from_toml_with(text, &[])
}

/// Reads a config file's text after replacing fields by overrides such as `model.layers=4`.
///
/// The right-hand side is TOML; a bare word that is no TOML value counts as a string.
pub fn from_toml_with(text: &str, overrides: &[String]) -> Result<RunConfig, ConfigError> {
    from_toml_noting(text, overrides).map(|(config, _)| config)
}

/// The same, and a sentence for each override that took away what was given: fields of another kind, steps by epochs.
pub fn from_toml_noting(text: &str, overrides: &[String]) -> Result<(RunConfig, Vec<String>), ConfigError> {
    let (table, notes) = overridden(text, overrides)?;
    match table.get("format") {
        None => return Err(ConfigError::NoFormat),
        Some(Value::Integer(found)) if *found > i64::from(FORMAT) => {
            return Err(ConfigError::NewerFormat { found: *found });
        }
        Some(Value::Integer(found)) if *found == i64::from(FORMAT) => {}
        Some(other) => {
            let message = format!("expected {FORMAT}, found {other}");
            return Err(ConfigError::Fields(vec![Problem::new("format", message)]));
        }
    }
    Ok((read(table)?, notes))
}

/// A config as a table after its overrides, with a sentence for each that took away what was given.
fn overridden(text: &str, overrides: &[String]) -> Result<(Table, Vec<String>), ConfigError> {
    let mut table: Table = text.parse().map_err(|error: toml::de::Error| {
        let huge = huge_numbers(text, "");
        if huge.is_empty() {
            // It shows the line, which may be the whole file.
            let lines: Vec<String> = error.to_string().trim_end().lines().map(|line| shortened(line, 300)).collect();
            ConfigError::Syntax(lines.join("\n"))
        } else {
            ConfigError::Fields(huge)
        }
    })?;
    // Kinds first, since another kind takes the fields of the old one away.
    let (kinds, others): (Vec<_>, Vec<_>) = overrides.iter().partition(|given| is_kind(field_of(given)));
    let mut notes = Vec::new();
    for given in kinds.into_iter().chain(others) {
        notes.extend(apply(&mut table, given)?);
    }
    notes.extend(replaced(overrides));
    Ok((table, notes))
}

/// Reads a config that was stored as JSON.
pub fn from_json(text: &str) -> Result<RunConfig, ConfigError> {
    read(serde_json::from_str(text).map_err(|error| ConfigError::Syntax(error.to_string()))?)
}

/// Reads a config that lies in a store, as TOML. It may be anybody's: everything that is checked of a config that somebody
/// is about to train is checked of it before anything is sized by its numbers.
pub fn from_stored_toml(text: &str) -> Result<RunConfig, ConfigError> {
    from_toml(text).and_then(validated)
}

/// The same of the config in the model directory `dir`. Where its tokens are those of an initial model and it names none, they are the
/// directory's own: so says what came out of converting a run that trained a model further.
pub fn from_directory_toml(text: &str, dir: &Path) -> Result<RunConfig, ConfigError> {
    let mut config = from_toml(text)?;
    if matches!(config.data.tokenizer, Tokenizer::Initial(_)) {
        config.model.initial.get_or_insert_with(|| dir.display().to_string());
    }
    validated(config)
}

/// The same of one that is kept as JSON.
pub fn from_stored_json(text: &str) -> Result<RunConfig, ConfigError> {
    from_json(text).and_then(validated)
}

fn validated(config: RunConfig) -> Result<RunConfig, ConfigError> {
    let problems = config.validate();
    if problems.is_empty() { Ok(config) } else { Err(ConfigError::Fields(problems)) }
}

/// The whole config as TOML, every field written out.
pub fn to_toml(config: &RunConfig) -> String {
    // Serialising plain data with string keys cannot fail; an empty file would be seen at once.
    toml::to_string(config).unwrap_or_default()
}

/// Without a word about the tokenizer a run has that of the model it begins with.
fn default_tokenizer(table: &mut Table) {
    if table.get("model").and_then(|model| model.get("initial")).is_none() {
        return;
    }
    let data = table.entry("data").or_insert_with(|| Value::Table(Table::new()));
    if let Some(data) = data.as_table_mut() {
        let source = data.get("kind").and_then(Value::as_str);
        if source.is_some_and(|kind| data::why_absent(kind, "tokenizer").is_some()) {
            return;
        }
        let kind = Value::String(INITIAL_TOKENIZER.to_owned());
        data.entry("tokenizer").or_insert_with(|| Value::Table([("kind".to_owned(), kind)].into_iter().collect()));
    }
}

fn read(mut table: Table) -> Result<RunConfig, ConfigError> {
    default_tokenizer(&mut table);
    let mut found = faults(&table);
    if !found.is_empty() {
        // Whether fields fit each other is not judged, since it may depend on one that cannot be read.
        let outside = outside(&table);
        found.extend(
            outside
                .into_iter()
                .filter(|problem| found.iter().all(|known| known.field != problem.field))
                .collect::<Vec<_>>(),
        );
        return Err(ConfigError::Fields(found));
    }
    let whole = |error: toml::de::Error| ConfigError::Fields(vec![Problem::new("config", error.message().to_owned())]);
    RunConfig::deserialize(Value::Table(table)).map(RunConfig::with_image_tokens).map_err(whole)
}

/// The field of an override.
fn field_of(given: &str) -> &str {
    given.split('=').next().unwrap_or_default().trim()
}

/// The section whose fields are decided by a field: of a kind the one around it, else the field itself.
pub(super) fn section_of(path: &str) -> &str {
    if is_kind(path) { path.rsplit_once('.').map_or(path, |(section, _)| section) } else { path }
}

/// Why the config of this text has no such field after these overrides; none where it has, or where they leave that open.
pub(super) fn unknown_field(text: &str, overrides: &[String], field: &str) -> Option<Problem> {
    // Any value will do: a field is known before its value is looked at.
    let with_it = [overrides, &[format!("{field}=0")]].concat();
    let is_it = |name: &str| field == name || field.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
    match overridden(text, &with_it) {
        Ok((table, _)) => {
            faults(&table).into_iter().find(|problem| problem.is_of_unknown_field() && is_it(&problem.field))
        }
        Err(ConfigError::Override { given, why }) if field_of(&given) == field => Some(Problem::new(field, why)),
        Err(_) => None,
    }
}

/// Replaces one field; a sentence where that took others away.
fn apply(table: &mut Table, given: &str) -> Result<Option<String>, ConfigError> {
    let wrong = |why: &str| ConfigError::Override { given: given.to_owned(), why: why.to_owned() };
    let (path, text) = given.split_once('=').ok_or_else(|| wrong("it has no `=`"))?;
    let path = path.trim();
    let text = text.trim();
    let assignment = format!("value = {text}");
    let value = match assignment.parse::<Table>() {
        Ok(mut parsed) => parsed.remove("value").ok_or_else(|| wrong("its value is empty"))?,
        Err(_) if text.is_empty() => return Err(wrong("its value is empty")),
        Err(_) => {
            let huge = huge_numbers(&assignment, path);
            if !huge.is_empty() {
                return Err(ConfigError::Fields(huge));
            }
            Value::String(text.to_owned())
        }
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
    // Naming one of two that exclude each other replaces the other.
    if let Some((_, other)) = exclusive(path).and_then(|other| other.rsplit_once('.')) {
        inner.remove(other);
    }
    let note = if is_kind(path) { drop_fields(inner, path, &value) } else { None };
    inner.insert(last.to_owned(), value);
    Ok(note)
}

/// Pairs of fields of which a config has one, and what is said of both.
const EXCLUSIVE: [([&str; 2], &str); 2] = [
    (["train.steps", "train.epochs"], "a run has steps or epochs"),
    (["train.evaluate_examples", "train.evaluate_batches"], "an evaluation is of examples or of batches"),
];

/// The field that cannot stand beside `path`.
fn exclusive(path: &str) -> Option<&'static str> {
    EXCLUSIVE.iter().find_map(|([one, other], _)| match path {
        _ if path == *one => Some(*other),
        _ if path == *other => Some(*one),
        _ => None,
    })
}

/// A sentence for each pair of fields that exclude each other where overrides name both: the one that is named last takes the
/// other away.
fn replaced(overrides: &[String]) -> Vec<String> {
    let of_pair = |(pair, why): &([&str; 2], &str)| {
        let given: Vec<&String> = overrides.iter().filter(|given| pair.contains(&field_of(given))).collect();
        let (last, before) = given.split_last()?;
        let gone = before.iter().rev().find(|other| field_of(other) != field_of(last))?;
        Some(format!("{last} leaves out {gone}: {why}, and what is named last counts."))
    };
    EXCLUSIVE.iter().filter_map(of_pair).collect()
}

/// Takes the fields of the kind before away where the kind changes, and says which.
fn drop_fields(section: &mut Table, path: &str, kind: &Value) -> Option<String> {
    let words = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let is_data = path == "data.kind";
    let before = match section.get("kind") {
        Some(before) => words(before),
        None if is_data => Source::default().facts().kind.to_owned(),
        None => String::new(),
    };
    let kind = words(kind);
    if before == kind {
        return None;
    }
    let has_it = |name: &str| data::COMMON.contains(&name) && data::why_absent(&kind, name).is_none();
    let is_shared = |name: &str| name == "kind" || (is_data && has_it(name));
    let gone: Vec<String> =
        section.iter().filter(|(name, _)| !is_shared(name)).map(|(name, value)| format!("{name} = {value}")).collect();
    section.retain(|name, _| is_shared(name));
    (!gone.is_empty()).then(|| {
        let of = if before.is_empty() { String::new() } else { format!(" (of {before})") };
        format!("{path} is now {kind}, which leaves out {}{of}.", gone.join(", "))
    })
}

impl Coverage {
    /// Reads `partial:k=16` or `eigen:k=16`: a kind with its numbers, as on a command line.
    ///
    /// # Errors
    /// If the kind or a field is unknown, with the nearest known one, or a value is of the wrong type.
    pub fn from_words(text: &str) -> Result<Self, ConfigError> {
        let (kind, numbers) = text.split_once(':').unwrap_or((text, ""));
        let kind = Value::String(kind.trim().to_owned());
        let fields = numbers.split(',').map(str::trim).filter(|number| !number.is_empty());
        let mut overrides = vec![format!("attention.coverage.kind={kind}")];
        overrides.extend(fields.map(|field| format!("attention.coverage.{field}")));
        Ok(from_toml_with("format = 1\n", &overrides)?.attention.coverage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{FirstReuse, FullReuse, Precision, Reuse, Source, Tokenizer, names_taken};

    #[test]
    fn a_run_that_begins_with_a_model_has_its_tokenizer_unless_it_says_another() {
        let initial = Tokenizer::Initial(crate::config::InitialTokenizer {});
        let of = |text: &str| from_toml(&format!("format = 1\n{text}")).unwrap();
        let begins = of("model.initial = \"minilm/\"");
        assert_eq!((begins.model.initial.as_deref(), &begins.data.tokenizer), (Some("minilm/"), &initial));
        assert_eq!(from_toml(&to_toml(&begins)).unwrap(), begins);
        let bytes = of("model.initial = \"m\"\ndata.tokenizer.kind = \"bytes\"");
        assert_eq!(bytes.data.tokenizer, Tokenizer::Bytes(crate::config::ByteTokenizer {}));
        let overridden = from_toml_with("format = 1", &["model.initial=m".to_owned()]).unwrap();
        assert_eq!(overridden.data.tokenizer, initial);
        // Without a model nothing is written that was not before.
        let fresh = of("");
        assert_eq!(fresh.data.tokenizer, Tokenizer::default());
        assert!(!to_toml(&fresh).contains("initial"));
        let problems = of("data.tokenizer.kind = \"initial\"").validate();
        assert_eq!(problems.iter().map(|problem| problem.field.as_str()).collect::<Vec<_>>(), ["data.tokenizer.kind"]);
    }

    #[test]
    fn labelled_examples_are_evaluated_whole_unless_it_is_said_on_how_many() {
        let examples = |lines: &str| {
            let text = format!("format = 1\n[data]\nkind = \"table\"\npath = \"x.tsv\"\n{lines}");
            from_toml(&text).unwrap().evaluation_size()
        };
        assert_eq!(examples("[task]\nkind = \"classification\""), 0);
        assert_eq!(examples("[task]\nkind = \"span\"\n[train]\nsteps = 4"), 0);
        assert_eq!(examples("[task]\nkind = \"regression\"\n[train]\nevaluate_batches = 16"), 256);
        assert_eq!(examples("[task]\nkind = \"regression\"\n[train]\nevaluate_examples = 20"), 20);
        assert_eq!(examples("[task]\nkind = \"translation\""), 256);
        assert_eq!(examples(""), 256);
        let mut config = from_toml("format = 1\n[task]\nkind = \"classification\"").unwrap();
        assert_eq!(from_toml(&to_toml(&config)).unwrap().evaluation_size(), 0);
        config.train.evaluate_on(16);
        assert_eq!(from_toml(&to_toml(&config)).unwrap(), config, "what is written is what is read");
        (config.train.evaluate_examples, config.train.evaluate_batches) = (None, Some(2));
        assert_eq!(from_toml(&to_toml(&config)).unwrap(), config, "what is written is what is read");
    }

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
            ("[model]\nlayer = 4", ["`model.layer`", "Did you mean `layers`"]),
            ("[model]\nnorm = \"foo\"", ["model.norm: \"foo\"", "pre, post"]),
            ("[data]\nsequence_lenght = 4", ["`data.sequence_lenght`", "Did you mean `sequence_length`"]),
            ("[data]\nkind = \"file\"\npth = \"x\"", ["`data.pth`", "Did you mean `path`"]),
            ("[data]\ntokeniser = { kind = \"bytes\" }", ["`data.tokeniser`", "Did you mean `tokenizer`"]),
            ("[data]\ntokenizer = { kind = \"bpe\", vocab = 300 }", ["`data.tokenizer.vocab`", "`vocabulary`"]),
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
    fn the_names_that_a_field_takes_are_told_and_numbers_have_none() {
        let config = RunConfig::default();
        let reuse = names_taken(&config, "attention.reuse.kind");
        assert_eq!(reuse[..3], ["none", "first", "partial"]);
        let compatibility = names_taken(&config, "attention.compatibility.kind");
        assert_eq!(compatibility[..2], ["standard", "symmetric"]);
        assert_eq!(names_taken(&config, "precision"), Precision::ALL.map(Precision::name));
        assert_eq!(names_taken(&config, "model.norm"), ["pre", "post"]);
        for other in ["model.heads", "model.haeds", "name", "seed", "", "attention.reuse", "modle.heads"] {
            assert_eq!(names_taken(&config, other), Vec::<&str>::new(), "{other}");
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
    fn every_fault_is_told_at_once_with_its_field() {
        let text = "format = 1\nnaem = \"x\"\n[model]\nnorm = \"foo\"\nlayers = \"four\"\n[data]\nwords = true\n\
                    sequence_lenght = 3\n[data.tokenizer]\nkind = \"bpe\"\nvocabulary = \"many\"\n[train]\nbatch = -1\n\
                    schedule = { kind = \"cosin\" }";
        let fields: Vec<String> =
            from_toml(text).unwrap_err().problems().into_iter().map(|problem| problem.field).collect();
        let wanted = [
            "data.tokenizer.vocabulary",
            "data.sequence_lenght",
            "data.words",
            "model.layers",
            "model.norm",
            "train.schedule.kind",
            "train.batch",
            "naem",
        ];
        assert_eq!(fields, wanted);
    }

    #[test]
    fn numbers_outside_are_told_beside_what_cannot_be_read() {
        let text = "format = 1\n[model]\nlayer = 3\nwidth = 0\nheads = 7\n[data]\nkind = \"gramar\"\nwords = 5\n\
                    sequence_length = 0\n[attention]\nreuse = { kind = \"first\", layers = \"x\" }\n\
                    compatibility = { kind = \"grouped\", kv_heads = 3 }\n[train]\nlearning_rate = -1.0\nbatch = \"x\"\n\
                    schedule = { kind = \"cosine\", final_fraction = 7.0 }";
        let overrides = ["train.steps=0", "probe.examples=0"].map(str::to_owned);
        let found = from_toml_with(text, &overrides).unwrap_err().problems();
        let fields: Vec<&str> = found.iter().map(|problem| problem.field.as_str()).collect();
        let wanted = [
            "data.kind",
            "model.layer",
            "attention.reuse.layers",
            "train.batch",
            "data.sequence_length",
            "model.width",
            "train.steps",
            "train.learning_rate",
            "train.schedule.final_fraction",
            "probe.examples",
        ];
        assert_eq!(fields, wanted, "{found:#?}");
        let wide = found.iter().find(|problem| problem.field == "model.width").unwrap();
        assert!(wide.message().contains("it must be from 1 to"), "{wide}");
        let all =
            from_toml_with("format = 1", &["model.layers=abc", "train.steps=0", "train.batch=-1"].map(str::to_owned));
        let all: Vec<String> = all.unwrap_err().problems().iter().map(ToString::to_string).collect();
        let wanted = [
            "model.layers: \"abc\" is not a whole number; it must be from 1 to 256",
            "train.batch: -1 is too small; it must be from 1 to 65,536",
            "train.steps: 0 is too small; it must be from 1 to 1,000,000,000",
        ];
        assert_eq!(all, wanted);
    }

    #[test]
    fn a_value_of_another_type_is_told_without_names_of_types() {
        for (given, wanted) in [
            ("model.layers=four", "model.layers: \"four\" is not a whole number; it must be from 1 to 256"),
            ("train.batch=2.5", "train.batch: 2.5 is not a whole number; it must be from 1 to 65,536"),
            ("train.batch=[2]", "train.batch: a list is not a whole number; it must be from 1 to 65,536"),
            (
                "train.learning_rate=fast",
                "train.learning_rate: \"fast\" is not a number; it must be more than 0 and at most 100",
            ),
            ("name=1", "name: 1 is not text in quotes"),
            ("train.schedule=1", "train.schedule: 1 is not a table in { } that names its kind"),
            ("attention.match_parameters=1", "attention.match_parameters: 1 is not text in quotes"),
            ("train={steps=5, schedule=true}", "train.schedule: true is not a table in { } that names its kind"),
        ] {
            let error = from_toml_with("format = 1", &[given.to_owned()]).unwrap_err();
            assert_eq!(error.to_string(), wanted, "{given}");
        }
    }

    #[test]
    fn a_number_too_large_says_so_with_what_the_field_takes() {
        let huge = "99999999999999999999";
        for (text, given, field, words) in [
            ("", format!("model.layers={huge}"), "model.layers", "it must be from 1 to 256"),
            ("", format!("train.steps={huge}"), "train.steps", "at most 1,000,000,000"),
            ("", format!("attention.reuse={{kind=\"full\", layers={huge}}}"), "attention.reuse.layers", "is too large"),
            ("[model]\nlayers = 99999999999999999999", String::new(), "model.layers", "is too large"),
            ("", "seed=18446744073709551615".to_owned(), "seed", "18446744073709551615 is too large"),
        ] {
            let overrides: Vec<String> = if given.is_empty() { Vec::new() } else { vec![given] };
            let error = from_toml_with(&format!("format = 1\n{text}"), &overrides).unwrap_err();
            let problems = error.problems();
            let [problem] = problems.as_slice() else { panic!("{error}") };
            let words = words.strip_prefix("at most ").unwrap_or(words);
            assert!(problem.field == field && problem.message().contains(words), "{problem}");
            assert!(problem.message().contains("is too large") && !problem.message().contains("string"), "{problem}");
        }
    }

    #[test]
    fn another_kind_drops_the_fields_of_the_kind_before_and_says_so() {
        let text = "format = 1\n[data]\nwords = 5000\nsequence_length = 32\ntokenizer = { kind = \"bpe\", vocabulary = 500 }\n\
                    [train]\nschedule = { kind = \"cosine\", final_fraction = 0.5 }";
        let given = ["data.tokenizer.kind=bytes", "data.kind=file", "data.path=x", "train.schedule.kind=constant"];
        let (config, notes) = from_toml_noting(text, &given.map(str::to_owned)).unwrap();
        assert_eq!(config.data.tokenizer, Tokenizer::Bytes(crate::config::ByteTokenizer {}));
        assert_eq!((config.data.sequence_length, config.train.schedule.kind()), (32, "constant"));
        assert!(matches!(&config.data.source, Source::File(file) if file.path.ends_with("x")));
        assert_eq!(
            notes,
            [
                "data.tokenizer.kind is now bytes, which leaves out vocabulary = 500 (of bpe).",
                "data.kind is now file, which leaves out words = 5000 (of grammar).",
                "train.schedule.kind is now constant, which leaves out final_fraction = 0.5 (of cosine).",
            ]
        );
        // What the other kind has no use for goes too.
        let (config, notes) = from_toml_noting(text, &["data.kind=images", "data.path=x"].map(str::to_owned)).unwrap();
        assert_eq!((config.data.sequence_length, &config.data.tokenizer), (0, &Tokenizer::default()));
        assert!(notes[0].contains("sequence_length = 32") && notes[0].contains("tokenizer = "), "{notes:?}");
        let same = ["data.tokenizer.kind=bpe".to_owned()];
        assert_eq!(from_toml_noting(text, &same).unwrap().1, Vec::<String>::new());
    }

    #[test]
    fn what_is_set_of_an_evaluation_replaces_what_the_file_says() {
        let read = |text: &str, overrides: &[&str]| {
            let overrides: Vec<String> = overrides.iter().map(|given| (*given).to_owned()).collect();
            let (config, notes) = from_toml_noting(&format!("format = 1\n{text}"), &overrides).unwrap();
            assert_eq!(config.validate(), []);
            (config.evaluation_size(), notes.len())
        };
        let examples = "[train]\nbatch = 8\nevaluate_examples = 100";
        assert_eq!(read(examples, &[]), (100, 0));
        assert_eq!(read(examples, &["train.batch=2"]), (100, 0), "the same examples");
        assert_eq!(read(examples, &["train.evaluate_batches=4"]), (32, 0));
        assert_eq!(read(examples, &["train.evaluate_batches=4", "train.batch=2"]), (8, 0));
        assert_eq!(read("[train]\nbatch = 2\nevaluate_batches = 16", &["train.evaluate_examples=0"]), (0, 0));
        assert_eq!(read("", &["train.evaluate_batches=4", "train.evaluate_examples=5"]), (5, 1));
        assert_eq!(read("", &["train.batch=2"]), (32, 0), "a file that says nothing means batches");
        let both = from_toml("format = 1\n[train]\nevaluate_examples = 8\nevaluate_batches = 2").unwrap();
        let problems = both.validate();
        let [problem] = problems.as_slice() else { panic!("{problems:?}") };
        assert!(problem.message().contains("keep train.evaluate_examples"), "{problem}");
    }

    #[test]
    fn steps_and_epochs_that_are_both_named_are_told_of() {
        let read = |given: &[&str]| {
            let given: Vec<String> = given.iter().map(|given| (*given).to_owned()).collect();
            let (config, notes) = from_toml_noting("format = 1\n[train]\nsteps = 5", &given).unwrap();
            (config.train.steps, config.train.epochs, notes)
        };
        let (steps, epochs, notes) = read(&["train.steps=20", "train.epochs=1.0"]);
        assert_eq!((steps, epochs), (None, Some(1.0)));
        let told = "train.epochs=1.0 leaves out train.steps=20:";
        assert!(notes.len() == 1 && notes[0].starts_with(told), "{notes:?}");
        let (steps, epochs, notes) = read(&["train.epochs=1.0", "train.steps=20"]);
        assert_eq!((steps, epochs, notes.len()), (Some(20), None, 1));
        // What the file says is replaced as everything else is.
        assert_eq!(read(&["train.epochs=1.0"]), (None, Some(1.0), Vec::new()));
        assert_eq!(read(&["train.steps=7", "train.steps=8"]), (Some(8), None, Vec::new()));
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

    /// Every one of a million unknown fields stood in the message, and a line of megabytes.
    #[test]
    fn what_is_told_of_a_config_is_bounded() {
        let fields = |count: usize| {
            let lines: Vec<String> = (0..count).map(|number| format!("zzz{number} = 1")).collect();
            from_toml(&format!("format = 1\n{}\n", lines.join("\n"))).unwrap_err().to_string()
        };
        assert_eq!(fields(MOST_TOLD).lines().count(), MOST_TOLD);
        let many = fields(MOST_TOLD + 7);
        assert_eq!((many.lines().count(), many.lines().last()), (MOST_TOLD + 1, Some("and 7 more")));
        let long = from_toml(&format!("format = 1\nname = \"{}", "x".repeat(1 << 20))).unwrap_err().to_string();
        assert!(long.len() < 2000, "{} bytes", long.len());
    }
}
