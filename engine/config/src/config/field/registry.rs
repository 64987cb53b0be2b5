use std::collections::BTreeSet;

use serde::Serialize;
use toml::{Table, Value};

use super::{
    super::{
        Compatibility,
        field_spec::{FieldSpec, Fields, Takes},
    },
    attention, data, model, run, task, train,
};

/// Every field, section by section in the order of the form.
const SECTIONS: [&[FieldSpec]; 9] = [
    run::FIELDS,
    data::FIELDS,
    task::FIELDS,
    model::FIELDS,
    attention::FIELDS,
    &Compatibility::FIELDS,
    attention::FURTHER,
    train::FIELDS,
    run::PROBE,
];

/// Sections of a config that repeat some of the questions about attention.
const OTHERS: [&str; 2] = ["attention.encoder", "attention.cross"];

/// Questions that they repeat.
const REPEATED: [&str; 2] = ["reuse", "compatibility"];

/// Description of a field whatever the kind of its section.
///
/// # Panics
/// If there is none. It is meant for constants, where the compiler says so.
pub const fn field(path: &str) -> FieldSpec {
    field_of("", path)
}

/// The same of a section of this kind.
///
/// # Panics
/// If there is none. It is meant for constants, where the compiler says so.
#[expect(clippy::panic, reason = "it is for constants")]
pub const fn field_of(kind: &str, path: &str) -> FieldSpec {
    let mut section = 0;
    while section < SECTIONS.len() {
        let fields = SECTIONS[section];
        let mut place = 0;
        while place < fields.len() {
            if is_same(fields[place].path, path) && (kind.is_empty() || is_among(kind, fields[place].kinds)) {
                return fields[place];
            }
            place += 1;
        }
        section += 1;
    }
    panic!("no config has this field")
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut place = 0;
    while one.len() == other.len() && place < one.len() && one[place] == other[place] {
        place += 1;
    }
    one.len() == other.len() && place == one.len()
}

const fn is_among(kind: &str, kinds: &[&str]) -> bool {
    let mut place = 0;
    while place < kinds.len() && !is_same(kind, kinds[place]) {
        place += 1;
    }
    place < kinds.len()
}

/// Every field in the order of the form.
pub(super) fn fields() -> impl Iterator<Item = &'static FieldSpec> + Clone {
    SECTIONS.into_iter().flatten()
}

/// Every field that files have.
pub(in super::super) fn fields_of_files() -> impl Iterator<Item = &'static FieldSpec> + Clone {
    fields().filter(|field| field.takes != Takes::Form)
}

/// Path of the field that describes the field at `path`: of the answers of an encoder or a cross-attention the one of the
/// decoder.
pub(in super::super) fn described(path: &str) -> String {
    let repeated = OTHERS.iter().find_map(|others| path.strip_prefix(others)?.strip_prefix('.'));
    match repeated.filter(|rest| REPEATED.contains(&rest.split('.').next().unwrap_or_default())) {
        Some(rest) => format!("attention.{rest}"),
        None => path.to_owned(),
    }
}

/// Paths of every field that files have.
pub fn field_paths() -> BTreeSet<&'static str> {
    fields_of_files().map(|field| field.path).collect()
}

/// Place of a problem's field in the order of the form, the last one of a field that nobody describes.
pub(in super::super) fn place_of(field: &str) -> usize {
    let path = described(field);
    let holds =
        |spec: &&FieldSpec| spec.is_at(&path) || path.strip_prefix(spec.path).is_some_and(|rest| rest.starts_with('.'));
    fields().position(|spec| holds(&spec)).unwrap_or(usize::MAX)
}

/// Sections inside of a section, in the order of the form.
pub(in super::super) fn sections_of(section: &str) -> Vec<&'static str> {
    if OTHERS.contains(&section) {
        return REPEATED.to_vec();
    }
    let section = described(section);
    let mut found: Vec<&str> = Vec::new();
    for field in fields_of_files() {
        let inside = if section.is_empty() { Some(field.path) } else { inside(field.path, &section) };
        if let Some((name, _)) = inside.and_then(|rest| rest.split_once('.'))
            && !found.contains(&name)
        {
            found.push(name);
        }
    }
    if section == "attention" {
        found.extend(OTHERS.iter().filter_map(|others| inside(others, "attention")));
    }
    found
}

fn inside<'a>(path: &'a str, section: &str) -> Option<&'a str> {
    path.strip_prefix(section)?.strip_prefix('.')
}

/// Fields that stand in a section of a config themselves, for any kind.
pub(in super::super) fn fields_in(section: &str) -> impl Iterator<Item = &'static FieldSpec> + Clone {
    let section = described(section);
    fields_of_files().filter(move |field| field.place().0 == section)
}

/// Fields of a config by their paths: of several with one path that of its kinds, else the first one.
pub fn fields_of(config: &impl Serialize) -> Fields {
    let table = Table::try_from(config).unwrap_or_default();
    let mut found = Fields::new();
    for field in fields() {
        let section = field.place().0.trim_end_matches(".text");
        if field.is_of(kind_at(&table, section)) {
            found.insert(field.path, *field);
        } else {
            found.entry(field.path).or_insert(*field);
        }
    }
    found
}

/// Kind of a section of a config.
pub(in super::super) fn kind_at<'a>(table: &'a Table, section: &str) -> Option<&'a str> {
    let mut names = section.split('.').filter(|name| !name.is_empty());
    names.try_fold(table, |table, name| table.get(name)?.as_table())?.get("kind").and_then(Value::as_str)
}

/// The names that a field of a config takes, in the order of menus; none where it takes numbers or any text, or where there
/// is no such field.
pub fn names_taken(config: &impl Serialize, field: &str) -> Vec<&'static str> {
    let known = fields_of(config).get(described(field).as_str()).copied();
    let named = known.filter(|field| field.takes == Takes::Name);
    named.map(|field| field.choices.iter().map(|(name, _)| *name).collect()).unwrap_or_default()
}
