//! The registry against the structs that configs are read into, and against the handbook.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, Visitor, value::Error},
    forward_to_deserialize_any,
};

use super::{
    registry::{fields, fields_in, fields_of_files, sections_of},
    *,
};
use crate::config::{
    self, End, FieldSpec, Range, RunConfig, Takes, data::COMMON, data::why_absent, field_check::is_kind, from_toml_with,
};

/// Notes the names of a struct's fields.
struct Names<'a>(&'a mut Vec<&'static str>);

impl<'de> Deserializer<'de> for Names<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("no struct"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        self.0.extend(fields);
        Err(Error::custom("noted"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct
        seq tuple tuple_struct map enum identifier ignored_any
    }
}

fn names_of<T: for<'de> Deserialize<'de>>() -> Vec<&'static str> {
    let mut names = Vec::new();
    let _ = T::deserialize(Names(&mut names));
    names
}

/// Every section with its kind and the names that its struct has.
fn sections() -> Vec<(&'static str, &'static str, Vec<&'static str>)> {
    macro_rules! sections {
        ($($section:literal $kind:literal $struct:ident),* $(,)?) => {
            vec![$(($section, $kind, names_of::<config::$struct>())),*]
        };
    }
    let mut all = sections![
        "" "" RunConfig, "data" "file" FileSource, "data" "grammar" GrammarSource, "data" "random" RandomSource,
        "data" "pairs" PairsSource, "data" "number_words" NumberWordsSource, "data" "table" TableSource,
        "data" "squad" SquadSource, "data" "images" ImagesSource, "data" "pathfinder" PathfinderSource,
        "data" "listops" ListOpsSource, "data.tokenizer" "bytes" ByteTokenizer, "data.tokenizer" "bpe" TrainedTokenizer,
        "data.tokenizer" "word_piece" TrainedTokenizer, "data.tokenizer" "words" WordTokenizer,
        "data.tokenizer" "file" FileTokenizer, "data.tokenizer" "initial" InitialTokenizer,
        "task" "classification" ClassificationTask, "task" "regression" RegressionTask, "task" "span" SpanTask,
        "task" "image_classification" ImageClassificationTask, "task" "translation" TranslationTask,
        "model" "" ModelConfig, "attention" "" AttentionConfig, "attention.encoder" "" OtherAnswers,
        "attention.cross" "" OtherAnswers, "attention.reuse" "none" NoReuse, "attention.reuse" "first" FirstReuse,
        "attention.reuse" "partial" PartialReuse, "attention.reuse" "full" FullReuse,
        "attention.reuse" "alternate" AlternateReuse, "attention.reuse" "all_end" AllEndReuse,
        "attention.reuse" "skip" SkipReuse, "attention.reuse" "custom" CustomReuse,
        "attention.compatibility" "standard" Standard, "attention.compatibility" "symmetric" Symmetric,
        "attention.compatibility" "pairwise" Pairwise, "attention.compatibility" "shared_weight" SharedWeight,
        "attention.compatibility" "collaborative" Collaborative, "attention.compatibility" "grouped" Grouped,
        "attention.compatibility" "latent" Latent, "attention.compatibility" "tied_kv" TiedKv,
        "attention.coverage" "full" Full, "attention.coverage" "partial" PartialCoverage,
        "attention.coverage" "eigen" EigenCoverage, "attention.cache" "none" NoCache,
        "attention.cache" "key_value" KeyValueCache, "attention.cache" "hidden" HiddenCache, "train" "" TrainConfig,
        "train.schedule" "constant" Constant, "train.schedule" "linear" Linear, "train.schedule" "cosine" Cosine,
        "train.schedule" "inverse_square_root" InverseSquareRoot, "train.stability" "watch" Watched,
        "train.stability" "off" Unwatched, "train.stop_early" "" StopEarly, "probe" "" ProbeConfig,
    ];
    for (_, kind, names) in all.iter_mut().filter(|(section, ..)| *section == "data") {
        names.extend(COMMON.iter().filter(|name| why_absent(kind, name).is_none()));
    }
    all
}

#[test]
fn every_field_has_exactly_one_description_and_every_description_a_field() {
    let sections = sections();
    for (section, kind, names) in &sections {
        let own = |field: &&FieldSpec| field.is_of(Some(kind)) && (kind.is_empty() || field.place().1 != "kind");
        let own = fields_in(section).filter(own).map(|field| field.place().1);
        let own = own.filter(|name| why_absent(kind, name).is_none() || *section != "data");
        let mut described: Vec<&str> = own.chain(sections_of(section)).collect();
        described.retain(|name| *section != "data" || why_absent(kind, name).is_none());
        let mut names = names.clone();
        described.sort_unstable();
        names.sort_unstable();
        assert_eq!(described, names, "[{section}] {kind}");
    }
    // No kind is left out above.
    for field in fields_of_files() {
        let (section, name) = field.place();
        let kinds = if is_kind(field.path) {
            field.choices.iter().map(|(kind, _)| *kind).collect()
        } else {
            field.kinds.to_vec()
        };
        for kind in kinds {
            assert!(sections.iter().any(|known| (known.0, known.1) == (section, kind)), "{section}.{name} of {kind}");
        }
    }
}

#[test]
fn every_name_of_a_choice_is_read_and_every_kind_is_a_choice() {
    for field in fields_of_files().filter(|field| !field.choices.is_empty()) {
        for (name, label) in field.choices.iter().filter(|(name, _)| !name.is_empty()) {
            assert!(!label.is_empty(), "{} {name}", field.path);
            let kind = field.kinds.first().map(|kind| format!("{}.kind={kind}", field.place().0));
            let overrides: Vec<String> = kind.into_iter().chain([format!("{}={name}", field.path)]).collect();
            let written = from_toml_with("format = 1", &overrides).map(|config| toml::Table::try_from(config).unwrap());
            let written = written.unwrap_or_else(|error| panic!("{overrides:?}: {error}"));
            // What is as usual may be left out.
            let found =
                field.path.split('.').try_fold(&toml::Value::Table(written), |value, name| value.get(name)).cloned();
            let is_it = |value: &toml::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned) == *name;
            assert!(found.as_ref().is_none_or(is_it), "{overrides:?}: {found:?}");
        }
    }
    let model = config::ModelConfig::default();
    let named = |path: &str, kinds: Vec<&'static str>| {
        let choices: Vec<&str> = field(path).choices.iter().map(|(name, _)| *name).collect();
        assert_eq!(BTreeSet::from_iter(choices), BTreeSet::from_iter(kinds), "{path}");
    };
    named("attention.reuse.kind", config::Reuse::examples(3, 2).iter().map(config::Reuse::kind).collect());
    named(
        "attention.compatibility.kind",
        config::Compatibility::usual(&model).iter().map(config::Compatibility::kind).collect(),
    );
    named("attention.cache.kind", config::Cache::ALL.iter().map(config::Cache::word).collect());
    named("train.schedule.kind", config::Schedule::examples().iter().map(config::Schedule::kind).collect());
    named(
        "train.stability.kind",
        config::StabilityChoice::examples().iter().map(config::StabilityChoice::kind).collect(),
    );
    named("task.kind", config::TaskConfig::examples().iter().map(config::TaskConfig::kind).collect());
    named("model.kind", config::ModelKind::ALL.map(config::ModelKind::name).to_vec());
    named("precision", config::Precision::ALL.map(config::Precision::name).to_vec());
    named("attention.coverage.restore", config::Restore::ALL.map(config::Restore::name).to_vec());
}

#[test]
fn labels_are_unique_among_the_fields_of_a_config() {
    for (section, kind, _) in sections() {
        let own = fields_in(section).filter(|field| field.is_of(Some(kind)));
        let labels: Vec<&str> = own.clone().map(|field| field.label).collect();
        assert_eq!(labels.len(), BTreeSet::from_iter(labels.clone()).len(), "[{section}] {kind}: {labels:?}");
        assert!(own.into_iter().all(|field| !field.help.is_empty()), "[{section}] {kind}");
    }
}

/// Values at the ends of a range and beyond them, each with whether it belongs to it.
fn at_the_ends(range: Range) -> Vec<(String, bool)> {
    match range {
        // What is allowed depends on other fields, or there is no end.
        Range::COUNT => Vec::new(),
        Range::Whole(least, most) => {
            let mut values = vec![(least.to_string(), true), (most.to_string(), true)];
            values.extend(least.checked_sub(1).map(|below| (below.to_string(), false)));
            values.extend((most < i64::MAX as u64).then(|| ((most + 1).to_string(), false)));
            values
        }
        Range::Real(least, most) => [(least, -1e-9), (most, 1e-9)]
            .into_iter()
            .flat_map(|(end, beyond)| {
                let (at, is_inside) = match end {
                    End::At(at) => (at, true),
                    End::Beyond(at) => (at, false),
                };
                [(format!("{at:?}"), is_inside), (format!("{:?}", at + beyond * at.abs().max(1.0)), false)]
            })
            .collect(),
    }
}

#[test]
fn numbers_are_accepted_up_to_the_ends_of_their_ranges() {
    let mut checked = 0;
    for field in fields_of_files() {
        let Some(range) = field.takes.range() else { continue };
        let kinds = if field.kinds.is_empty() { vec![None] } else { field.kinds.iter().map(Some).collect() };
        for (kind, (value, is_inside)) in
            kinds.into_iter().flat_map(|kind| at_the_ends(range).into_iter().map(move |value| (kind, value)))
        {
            let mut overrides: Vec<String> =
                kind.map(|kind| format!("{}.kind={kind}", field.place().0)).into_iter().collect();
            let path = if matches!(field.takes, Takes::Numbers(_)) {
                format!("{}.x", field.path)
            } else {
                field.path.to_owned()
            };
            overrides.push(format!("{path}={value}"));
            let problems = match from_toml_with("format = 1", &overrides) {
                Ok(config) => config.validate(),
                // The version of the format is judged before all else.
                Err(_) if field.path == "format" => continue,
                Err(error) => error.problems(),
            };
            let is_refused = problems.iter().any(|problem| problem.field == path && problem.is_out_of_range());
            assert_eq!(!is_refused, is_inside, "{overrides:?}: {problems:?}");
            checked += 1;
        }
    }
    assert!(checked > 150, "{checked}");
}

#[test]
fn a_number_that_toml_cannot_hold_is_refused_as_any_other() {
    let mut config = RunConfig { seed: u64::MAX, ..RunConfig::default() };
    config.train.batch = 0;
    let told: Vec<String> = config.validate().iter().map(ToString::to_string).collect();
    let seed = "seed: 18446744073709551615 is too large; it must be from 0 to 9,223,372,036,854,775,807";
    // That is all that a count can be.
    assert!(told[0] == seed || told[0].starts_with("seed: 18446744073709551615 is too large"), "{told:?}");
    assert_eq!(told[1], "train.batch: 0 is too small; it must be from 1 to 65,536");
}

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/handbook/config_fields.md");
const BEGIN: &str = "<!-- written by the test `the_handbook_lists_every_field`: begin -->\n";
const END: &str = "<!-- end -->\n";

/// Values of a field, in words.
fn takes(field: &FieldSpec) -> String {
    let names = || field.choices.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match field.takes {
        Takes::Name => names(),
        Takes::Number(Range::COUNT) => "a whole number".to_owned(),
        Takes::Number(range @ Range::Whole(..)) => format!("a whole number, {range}"),
        Takes::Number(range) => format!("a number, {range}"),
        Takes::Numbers(range) => format!("a number for each name, {range}"),
        Takes::Flag => "`true` or `false`".to_owned(),
        Takes::Text => "text".to_owned(),
        Takes::Texts => "a list of texts".to_owned(),
        Takes::TwoTexts => "a list of two texts".to_owned(),
        Takes::Path => "a path".to_owned(),
        Takes::Parts => "a list of parts".to_owned(),
        Takes::Column => "a column".to_owned(),
        Takes::Columns => "a column, or a list of two".to_owned(),
        Takes::Device => "`cpu`, `cuda:0`, `metal`".to_owned(),
        Takes::Form => unreachable!("it is in no file"),
    }
}

fn table() -> String {
    let mut page = String::new();
    let mut before = None;
    for field in fields_of_files() {
        let top = field.path.split_once('.').map_or("", |(top, _)| top);
        if before != Some(top) && !(top.is_empty() && before.is_some()) {
            let title = if top.is_empty() { "The run".to_owned() } else { format!("`[{top}]`") };
            write!(page, "\n## {title}\n\n| field | takes | |\n|---|---|---|\n").unwrap();
            before = Some(top);
        }
        let kinds = field.kinds.iter().map(|kind| format!("`{kind}`")).collect::<Vec<_>>().join(", ");
        let of = if kinds.is_empty() { String::new() } else { format!(" of {kinds}") };
        let help = field.help.replace('\n', " ");
        writeln!(page, "| `{}`{of} | {} | {}: {help} |", field.path, takes(field), field.label).unwrap();
    }
    page.push('\n');
    page
}

/// Run with `HEADROOM_WRITE_HANDBOOK=1` to write the tables anew.
#[test]
fn the_handbook_lists_every_field() {
    assert!(fields().count() > fields_of_files().count());
    let page = fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (found, after) = rest.split_once(END).unwrap();
    let written = table();
    if std::env::var_os("HEADROOM_WRITE_HANDBOOK").is_some() {
        fs::write(Path::new(PAGE), format!("{before}{BEGIN}{written}{END}{after}")).unwrap();
    } else {
        assert_eq!(found, written, "{}", PathBuf::from(PAGE).display());
    }
}
