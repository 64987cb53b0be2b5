//! Labels of rows as classes: equal numbers are one class, and some texts mean that a row has none.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::table_error::TableError;
use super::{Edition, Reading};
use crate::config::LabelRules;

/// Text that stands for a missing label in SNLI and its relatives.
const DASH: &str = "-";
/// Number that stands for a missing label in GLUE.
const MINUS_ONE: &str = "-1";

/// A label as it is compared: a decimal number without zeros that say nothing, so that `1` and `1.0` are equal.
pub(super) fn key(label: &str) -> &str {
    let digits = label.strip_prefix(['-', '+']).unwrap_or(label);
    let Some((whole, fraction)) = digits.split_once('.') else { return label };
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !are_digits(whole) || !are_digits(fraction) {
        return label;
    }
    label.trim_end_matches('0').trim_end_matches('.')
}

/// Comparison of labels by an edition of the rules.
fn compared(label: &str, edition: Edition) -> &str {
    match edition {
        Edition::First => label,
        Edition::Current => key(label),
    }
}

fn number(key: &str) -> Option<f64> {
    key.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Classes that are known before the labels of a table are looked at.
#[derive(Clone, Copy, Debug)]
pub(super) enum KnownClasses<'a> {
    /// None.
    None,
    /// Labels of the rows to train on, beside which the table is held out.
    OfTraining(&'a [String]),
    /// Labels of a finished model, whose data may have been others.
    OfModel(&'a [String]),
}

impl<'a> KnownClasses<'a> {
    fn names(self) -> Option<&'a [String]> {
        match self {
            Self::None => None,
            Self::OfTraining(names) | Self::OfModel(names) => Some(names),
        }
    }
}

/// Keys of the label texts that mean "no label", among the labels of a table.
///
/// # Errors
/// If -1 may be a class as well as no label.
pub(super) fn unlabelled_keys<'a>(
    labels: impl Iterator<Item = &'a str>,
    known: KnownClasses<'_>,
    reading: &Reading,
    path: &Path,
) -> Result<BTreeSet<&'a str>, TableError> {
    let keys: BTreeSet<&str> = labels.map(|label| compared(label, reading.edition)).collect();
    match reading.labels.unlabelled.as_deref() {
        Some(LabelRules::NONE) => return Ok(BTreeSet::new()),
        Some(text) => return Ok(keys.into_iter().filter(|label| *label == key(text)).collect()),
        None if reading.edition == Edition::First => return Ok(BTreeSet::new()),
        None => {}
    }
    let classes: Option<BTreeSet<&str>> = known.names().map(|names| names.iter().map(|name| key(name)).collect());
    let is_class = |label: &str| {
        reading.labels.classes.class(label).is_some() || classes.as_ref().is_some_and(|known| known.contains(label))
    };
    let mut found = BTreeSet::new();
    // Beside a plus it is a minus.
    if keys.contains(DASH) && keys.len() > 1 && !keys.contains("+") && !is_class(DASH) {
        found.insert(DASH);
    }
    let others: BTreeSet<&str> = keys.iter().copied().filter(|label| ![DASH, MINUS_ONE].contains(label)).collect();
    if !keys.contains(MINUS_ONE) || is_class(MINUS_ONE) {
        return Ok(found);
    }
    // A scale from below zero has -1 among its numbers.
    let is_scale = others.iter().any(|label| number(label).is_some_and(|number| number < 0.0));
    let ambiguous = || TableError::AmbiguousMinusOne { path: path.to_owned(), field: "task.unlabelled" };
    let are_known = || classes.as_ref().is_some_and(|known| others.iter().all(|label| known.contains(label)));
    let is_missing = if is_scale {
        false
    } else if let KnownClasses::OfTraining(_) = known {
        !others.is_empty() && are_known()
    } else if ["0", "1", "2"].iter().all(|label| others.contains(label)) {
        true
    } else if others == BTreeSet::from(["0", "1"]) {
        match &classes {
            Some(known) if *known == others => true,
            _ => return Err(ambiguous()),
        }
    } else {
        // Beside classes that are all known, it is none of them.
        others.len() > 1 && are_known()
    };
    found.extend(is_missing.then_some(MINUS_ONE));
    Ok(found)
}

/// True for a label whose key is among `keys`.
pub(super) fn is_among(label: &str, keys: &BTreeSet<&str>, edition: Edition) -> bool {
    keys.contains(compared(label, edition))
}

/// Distinct classes of some labels, each with how many rows have it, sorted as texts. A class that is written in several ways has
/// the shortest.
pub(super) fn counted_classes<'a>(labels: impl Iterator<Item = &'a str>, edition: Edition) -> Vec<(&'a str, u64)> {
    let mut classes: BTreeMap<&str, (&str, u64)> = BTreeMap::new();
    for label in labels {
        let (name, count) = classes.entry(compared(label, edition)).or_insert((label, 0));
        if (label.len(), label) < (name.len(), *name) {
            *name = label;
        }
        *count += 1;
    }
    classes.into_values().collect()
}

/// Finder of the class of a label among names in their order.
pub(super) struct ClassFinder<'a> {
    names: &'a [String],
    exact: BTreeMap<&'a str, u32>,
    by_key: BTreeMap<&'a str, u32>,
    /// Names without case; none where several are alike.
    folded: BTreeMap<String, Option<u32>>,
    reading: &'a Reading,
    /// True for the classes of a finished model, which may be spelt in other letters.
    are_of_model: bool,
}

impl<'a> ClassFinder<'a> {
    /// Finder among `names`, which are those of a finished model or of rows to train on.
    ///
    /// # Errors
    /// If the map of labels names a class that is none.
    pub(super) fn new(names: &'a [String], reading: &'a Reading, are_of_model: bool) -> Result<Self, TableError> {
        let places = || names.iter().map(String::as_str).zip(0..);
        let mut folded: BTreeMap<String, Option<u32>> = BTreeMap::new();
        for (name, place) in places() {
            folded.entry(name.to_lowercase()).and_modify(|known| *known = None).or_insert(Some(place));
        }
        let by_key = match reading.edition {
            Edition::First => BTreeMap::new(),
            Edition::Current => places().map(|(name, place)| (key(name), place)).collect(),
        };
        let finder = Self { names, exact: places().collect(), by_key, folded, reading, are_of_model };
        for (label, class) in reading.labels.classes.iter() {
            if finder.named(class).is_none() {
                let (label, class) = (label.to_owned(), class.to_owned());
                return Err(TableError::UnknownTarget { label, class, known: names.to_vec() });
            }
        }
        Ok(finder)
    }

    fn named(&self, name: &str) -> Option<u32> {
        self.exact.get(name).or_else(|| self.by_key.get(key(name))).copied()
    }

    /// Class of a label, and whether it was found by its letters without case.
    pub(super) fn class(&self, label: &str) -> Option<(u32, bool)> {
        let mapped = self.reading.labels.classes.class(label);
        if let Some(place) = self.named(mapped.unwrap_or(label)) {
            return Some((place, false));
        }
        let place = self.folded.get(&label.to_lowercase()).copied().flatten().filter(|_| self.are_of_model)?;
        Some((place, true))
    }

    /// Name of a class.
    pub(super) fn name(&self, class: u32) -> &str {
        &self.names[class as usize]
    }
}

/// Sorts labels that are sorted as words: as numbers, where all of them are.
pub(super) fn sort_classes(names: &mut [String]) {
    let number = |name: &String| name.parse::<f64>().ok().filter(|number| number.is_finite());
    if names.iter().all(|name| number(name).is_some()) {
        names.sort_by(|a, b| number(a).partial_cmp(&number(b)).unwrap_or(std::cmp::Ordering::Equal));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unlabelled(labels: &[&str], classes: Option<&[&str]>, rule: Option<&str>) -> Result<Vec<String>, TableError> {
        let mut reading = Reading::default();
        reading.labels.unlabelled = rule.map(str::to_owned);
        let classes: Option<Vec<String>> = classes.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        let known = classes.as_deref().map_or(KnownClasses::None, KnownClasses::OfModel);
        let found = unlabelled_keys(labels.iter().copied(), known, &reading, Path::new("a.tsv"))?;
        Ok(found.into_iter().map(str::to_owned).collect())
    }

    #[test]
    fn equal_numbers_have_one_key() {
        for (label, expected) in [
            ("1", "1"),
            ("1.0", "1"),
            ("1.", "1"),
            ("-1.00", "-1"),
            ("1.50", "1.5"),
            ("10", "10"),
            ("100.0", "100"),
            (".0", ".0"),
            ("1.0.0", "1.0.0"),
            ("v1.0", "v1.0"),
            ("007", "007"),
            ("", ""),
            ("-", "-"),
        ] {
            assert_eq!(key(label), expected, "{label}");
        }
    }

    #[test]
    fn texts_that_mean_no_label_are_told_from_classes() {
        let of = |labels: &[&str]| unlabelled(labels, None, None).unwrap();
        assert_eq!(of(&["0", "1", "2", "-1", "-"]), ["-", "-1"]);
        assert_eq!(of(&["0.0", "1.0", "2.0", "-1.0"]), ["-1"]);
        assert_eq!(of(&["entailment", "neutral", "-"]), ["-"]);
        assert_eq!(of(&["-1", "1"]), [""; 0]);
        assert_eq!(of(&["-1", "0"]), [""; 0]);
        assert_eq!(of(&["-1", "1", "-"]), ["-"]);
        assert_eq!(of(&["-2", "-1", "0", "1", "2"]), [""; 0], "a scale");
        assert_eq!(of(&["+", "-"]), [""; 0], "plus and minus");
        assert_eq!(of(&["-"]), [""; 0]);
        let told = unlabelled(&["-1", "0", "1"], None, None).unwrap_err().to_string();
        assert!(["task.unlabelled", "\"-1\"", "\"none\"", "a.tsv"].iter().all(|part| told.contains(part)), "{told}");
        // What the task says goes before all of it.
        assert_eq!(unlabelled(&["-1", "0", "1"], None, Some("-1")).unwrap(), ["-1"]);
        assert_eq!(unlabelled(&["-1", "0", "1"], None, Some("none")).unwrap(), [""; 0]);
        assert_eq!(unlabelled(&["-", "0", "1", "2", "-1"], None, Some("none")).unwrap(), [""; 0]);
        assert_eq!(unlabelled(&["?", "0", "-"], None, Some("?")).unwrap(), ["?"]);
        // Classes that are known already.
        assert_eq!(unlabelled(&["-1", "0", "1"], Some(&["0", "1"]), None).unwrap(), ["-1"]);
        assert_eq!(unlabelled(&["-1", "0", "1"], Some(&["-1", "0", "1"]), None).unwrap(), [""; 0]);
        assert_eq!(unlabelled(&["-1", "0", "1", "2"], Some(&["-1", "0", "1", "2"]), None).unwrap(), [""; 0]);
        assert!(unlabelled(&["-1", "0", "1"], Some(&["0", "1", "2"]), None).is_err());
        assert_eq!(unlabelled(&["-1", "1"], Some(&["0", "1"]), None).unwrap(), [""; 0], "told as an unknown label");
        assert_eq!(unlabelled(&["-1", "yes", "no"], Some(&["yes", "no"]), None).unwrap(), ["-1"]);
        let first = Reading::default().in_edition(Edition::First);
        let of = |labels: &[&'static str], known, reading| {
            unlabelled_keys(labels.iter().copied(), known, reading, Path::new("")).unwrap()
        };
        assert!(of(&["0", "1", "2", "-1"], KnownClasses::None, &first).is_empty());
        // Held-out rows have the classes of those to train on.
        let names = ["0", "1", "2"].map(str::to_owned);
        let held_out = of(&["-1", "0", "1"], KnownClasses::OfTraining(&names), &Reading::default());
        assert_eq!(held_out, BTreeSet::from(["-1"]));
    }

    #[test]
    fn classes_are_counted_by_their_value() {
        let labels = ["1.0", "0", "1", "0.0", "1.00"];
        assert_eq!(counted_classes(labels.into_iter(), Edition::Current), [("0", 2), ("1", 3)]);
        assert_eq!(counted_classes(["0.0", "1.0"].into_iter(), Edition::Current), [("0.0", 1), ("1.0", 1)]);
        assert_eq!(counted_classes(labels.into_iter(), Edition::First).len(), 5);
    }

    #[test]
    fn labels_find_the_classes_of_a_model_by_name_number_map_or_case() {
        let names = ["ENTAILMENT", "Neutral", "neutral", "1.0"].map(str::to_owned);
        let reading = Reading::default();
        let of_model = ClassFinder::new(&names, &reading, true).unwrap();
        assert_eq!(of_model.class("entailment"), Some((0, true)));
        assert_eq!(of_model.class("neutral"), Some((2, false)));
        assert_eq!(of_model.class("NEUTRAL"), None, "two names are alike");
        assert_eq!(of_model.class("1"), Some((3, false)));
        assert_eq!(ClassFinder::new(&names, &reading, false).unwrap().class("entailment"), None);
        let mut mapped = Reading::default();
        mapped.labels.classes = "0=ENTAILMENT".parse().unwrap();
        assert_eq!(ClassFinder::new(&names, &mapped, true).unwrap().class("0"), Some((0, false)));
        mapped.labels.classes = "0=contradiction".parse().unwrap();
        assert!(ClassFinder::new(&names, &mapped, true).err().unwrap().to_string().contains("`contradiction`"));
    }
}
