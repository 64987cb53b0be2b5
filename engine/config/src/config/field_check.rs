//! The fields of a file against their descriptions: names, types and ranges.

use serde::{Serialize, de::DeserializeOwned};
use toml::{
    Table, Value,
    de::{DeTable, DeValue},
};

use super::{
    Column, DeviceChoice, ModelPart, data,
    field::{described, fields_in, fields_of_files, kind_at, place_of, sections_of},
    field_spec::{FieldSpec, Takes},
    problem::{Problem, ProblemKind},
    range::{Outside, Range},
};

/// Returns true if a field names a kind, of which each has fields of its own.
pub(super) fn is_kind(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(section, name)| name == "kind" && section != "model")
}

/// Every field that cannot be read: names that are not known, and values of the wrong type.
pub(super) fn faults(table: &Table) -> Vec<Problem> {
    let mut found = Vec::new();
    faults_in(table, "", &mut found);
    found
}

fn path_of(section: &str, name: &str) -> String {
    if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") }
}

fn faults_in(table: &Table, section: &str, found: &mut Vec<Problem>) {
    let kind_path = path_of(section, "kind");
    let has_kinds = is_kind(&kind_path) && fields_in(section).any(|field| field.place().1 == "kind");
    let mut kind = None;
    if has_kinds {
        kind = match table.get("kind") {
            None if section == "data" => Some(data::default_kind()),
            None => {
                found.push(Problem::new(section, ProblemKind::Missing { name: "kind" }));
                return;
            }
            Some(Value::String(kind)) => Some(kind.as_str()),
            Some(_) => None,
        };
        // Of an unknown kind no field can be judged.
        let known = fields_in(section).find(|field| field.place().1 == "kind");
        let fault = known.zip(table.get("kind")).and_then(|(field, value)| fault(field, &kind_path, value));
        if let Some(fault) = fault {
            if section == "data" {
                sections_in(table, section, kind, found);
            }
            found.push(fault);
            return;
        }
    }
    sections_in(table, section, kind, found);
    for (name, value) in table {
        let path = path_of(section, name);
        if sections_of(section).contains(&name.as_str()) || (has_kinds && name == "kind") {
            continue;
        }
        if let Some(why) = absent(section, kind, name) {
            found.push(Problem::new(path, why));
            continue;
        }
        let known = fields_in(section).find(|field| field.place().1 == name && field.is_of(kind));
        let fault = known.map_or_else(|| Some(unknown_in(section, kind, name)), |field| fault(field, &path, value));
        found.extend(fault);
    }
}

fn sections_in(table: &Table, section: &str, kind: Option<&str>, found: &mut Vec<Problem>) {
    for name in sections_of(section) {
        let path = path_of(section, name);
        match table.get(name) {
            None => {}
            Some(_) if absent(section, kind, name).is_some() => {
                found.extend(absent(section, kind, name).map(|why| Problem::new(path, why)));
            }
            Some(Value::Table(inner)) => faults_in(inner, &path, found),
            Some(value) => {
                let expected = if fields_in(&path).any(|field| is_kind(field.path)) {
                    "a table in { } that names its kind"
                } else {
                    "a table of fields"
                };
                found.push(wrong_type(path, value, expected, None));
            }
        }
    }
}

/// Reason why data of this kind have no field that others have.
fn absent(section: &str, kind: Option<&str>, name: &str) -> Option<&'static str> {
    kind.filter(|_| section == "data").and_then(|kind| data::why_absent(kind, name))
}

/// There is no such field in a section of this kind.
fn unknown_in(section: &str, kind: Option<&str>, name: &str) -> Problem {
    let has_kinds = fields_in(section).any(|field| is_kind(field.path));
    let own = fields_in(section).filter(|field| field.is_of(kind) && !(has_kinds && field.place().1 == "kind"));
    let mut known: Vec<&str> = own.map(|field| field.place().1).chain(sections_of(section)).collect();
    known.dedup();
    Problem::new(path_of(section, name), ProblemKind::UnknownField { name: name.to_owned(), known })
}

fn wrong_type(path: impl Into<String>, value: &Value, expected: &'static str, range: Option<Range>) -> Problem {
    let given = match value {
        Value::String(text) => format!("\"{text}\""),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => value.to_string(),
        Value::Array(_) => "a list".to_owned(),
        Value::Table(_) => "a table".to_owned(),
    };
    Problem::new(path, ProblemKind::WrongType { given, expected, range })
}

/// Reason why a field cannot be read.
fn fault(field: &FieldSpec, path: &str, value: &Value) -> Option<Problem> {
    let wrong = |expected, range| Some(wrong_type(path, value, expected, range));
    match (field.takes, value) {
        (Takes::Number(range @ Range::Whole(..)), Value::Integer(number)) => {
            let negative = range.judge_whole(i128::from(*number)).filter(|_| *number < 0);
            negative.map(|outside| Problem::outside(path, number, outside, range))
        }
        (Takes::Number(range @ Range::Whole(..)), _) => wrong("a whole number", Some(range)),
        (Takes::Number(Range::Real(..)), Value::Integer(_) | Value::Float(_)) | (Takes::Flag, Value::Boolean(_)) => {
            None
        }
        (Takes::Number(range), _) => wrong("a number", Some(range)),
        (Takes::Flag, _) => wrong("true or false", None),
        (Takes::Numbers(range), Value::Table(numbers)) => {
            let is_number = |value: &Value| value.is_integer() || value.is_float();
            let (name, value) = numbers.iter().find(|(_, value)| !is_number(value))?;
            Some(wrong_type(format!("{path}.{name}"), value, "a number", Some(range)))
        }
        (Takes::Numbers(_), _) => wrong("a table in { }", None),
        (Takes::Name, Value::String(name)) => field.choice(name).is_none().then(|| {
            let known = field.choices.iter().map(|(name, _)| *name).collect();
            Problem::new(path, ProblemKind::UnknownName { given: name.clone(), known })
        }),
        (Takes::Device, Value::String(_)) => said::<DeviceChoice>(path, value),
        (Takes::Text | Takes::Path, Value::String(_)) | (Takes::Form, _) => None,
        (Takes::Name | Takes::Device | Takes::Text | Takes::Path, _) => wrong("text in quotes", None),
        (Takes::Column, _) => said::<Column>(path, value),
        (Takes::Columns, Value::Array(columns)) => columns.iter().find_map(|column| fault_of_columns(path, column)),
        (Takes::Columns, _) => fault_of_columns(path, value),
        (Takes::Parts, Value::Array(parts)) => parts.iter().find_map(|part| match part {
            Value::String(_) => said::<ModelPart>(path, part),
            _ => Some(wrong_type(path, part, "text in quotes", None)),
        }),
        (Takes::TwoTexts, Value::Array(texts)) if texts.len() == 2 && texts.iter().all(Value::is_str) => None,
        (Takes::TwoTexts, _) => wrong("a list of two names in [ ]", None),
        (Takes::Texts, Value::Array(texts)) => {
            let other = texts.iter().find(|text| !text.is_str())?;
            Some(wrong_type(path, other, "text in quotes", None))
        }
        (Takes::Parts | Takes::Texts, _) => wrong("a list in [ ]", None),
    }
}

fn fault_of_columns(path: &str, column: &Value) -> Option<Problem> {
    let expected = "expected the columns of one or two texts: names in quotes, or numbers from 0";
    said::<Column>(path, column).map(|_| Problem::new(path, expected))
}

/// The reason that a type of ours gives for not reading a value.
fn said<T: DeserializeOwned>(path: &str, value: &Value) -> Option<Problem> {
    let error = T::deserialize(value.clone()).err()?;
    Some(Problem::new(path, error.message().trim_end().trim_end_matches('.').to_owned()))
}

/// Numbers outside of what their fields take, whatever the other fields say.
pub(super) fn outside(table: &Table) -> Vec<Problem> {
    let mut found = Vec::new();
    for field in fields_of_files() {
        let Some(range) = field.takes.range() else { continue };
        let (section, name) = field.place();
        let kind = kind_at(table, section).or((section == "data").then_some(data::default_kind()));
        let mut names = section.split('.').filter(|name| !name.is_empty());
        let holder = names.try_fold(table, |table, name| table.get(name)?.as_table());
        let Some(value) = holder.and_then(|holder| holder.get(name)).filter(|_| field.is_of(kind)) else { continue };
        match value {
            Value::Table(numbers) => found.extend(
                numbers
                    .iter()
                    .filter_map(|(name, value)| outside_range(range, &format!("{}.{name}", field.path), value)),
            ),
            value => found.extend(outside_range(range, field.path, value)),
        }
    }
    found
}

fn outside_range(range: Range, path: &str, value: &Value) -> Option<Problem> {
    match value {
        Value::Integer(number) => {
            let outside = range.judge_whole(i128::from(*number))?;
            Some(Problem::outside(path, number, outside, range))
        }
        Value::Float(number) => Some(Problem::outside(path, number, range.judge(*number)?, range)),
        _ => None,
    }
}

/// The same of a config, or of sections of it.
pub(super) fn outside_of(config: &impl Serialize) -> Vec<Problem> {
    if let Ok(table) = Table::try_from(config) {
        return outside(&table);
    }
    // TOML has no numbers as large as fields can hold.
    let mut found = Vec::new();
    let mut config = serde_json::to_value(config).unwrap_or_default();
    take_large(&mut config, "", &mut found);
    found.extend(serde_json::from_value::<Table>(config).map(|table| outside(&table)).unwrap_or_default());
    found.sort_by_key(|problem| place_of(&problem.field));
    found
}

/// Takes away what TOML cannot hold: numbers that are too large, which become problems, and nothing.
fn take_large(value: &mut serde_json::Value, path: &str, found: &mut Vec<Problem>) {
    if let Some(number) = value.as_u64().filter(|number| i64::try_from(*number).is_err()) {
        found.push(Problem::outside(path, &number, Outside::TooLarge, range_of(path)));
    }
    if let Some(fields) = value.as_object_mut() {
        for (name, value) in fields.iter_mut() {
            take_large(value, &path_of(path, name), found);
        }
        fields.retain(|_, value| !value.is_null() && value.as_u64().is_none_or(|number| i64::try_from(number).is_ok()));
    }
}

/// Range of a field whatever its kind.
fn range_of(path: &str) -> Range {
    let path = described(path);
    fields_of_files().find(|field| field.path == path).and_then(|field| field.takes.range()).unwrap_or(Range::COUNT)
}

/// Whole numbers that are too large to be held at all, by their fields; `path` is the field of the text's only value, if
/// it has one.
pub(super) fn huge_numbers(text: &str, path: &str) -> Vec<Problem> {
    let mut found = Vec::new();
    if let Ok(parsed) = DeTable::parse(text) {
        for (name, value) in parsed.get_ref() {
            let path = if path.is_empty() { name.get_ref().to_string() } else { path.to_owned() };
            huge_in(value.get_ref(), &path, &mut found);
        }
    }
    found
}

fn huge_in(value: &DeValue<'_>, path: &str, found: &mut Vec<Problem>) {
    match value {
        DeValue::Integer(number) if i64::from_str_radix(number.as_str(), number.radix()).is_err() => {
            let digits = number.as_str();
            let outside = if digits.starts_with('-') { Outside::TooSmall } else { Outside::TooLarge };
            found.push(Problem::outside(path, &digits, outside, range_of(path)));
        }
        DeValue::Table(table) => {
            for (name, value) in table {
                huge_in(value.get_ref(), &format!("{path}.{}", name.get_ref()), found);
            }
        }
        DeValue::Array(values) => {
            for value in values {
                huge_in(value.get_ref(), path, found);
            }
        }
        _ => {}
    }
}
