//! Names of classes, and the class of each image.

use std::collections::BTreeSet;
use std::path::Path;

use crate::ImageError;
use crate::{DataError, read_text_file};

/// The most classes: what is counted of them grows with their square.
const MOST_CLASSES: usize = 1000;

/// Bytes of the longest file of names.
const LONGEST_NAMES: u64 = 1 << 20;

/// What an image belongs to, as its source says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    /// A number from 0.
    Number(u8),
    /// The name of a folder.
    Folder(String),
}

/// The names in a file, a line each.
pub(crate) fn names_of(path: &Path) -> Result<Vec<String>, DataError> {
    let text = read_text_file(path, LONGEST_NAMES).map_err(|error| DataError::unreadable(path, &error))?;
    let mut names: Vec<String> = Vec::new();
    let lines: Vec<&str> = text.trim_end().split('\n').map(str::trim).collect();
    for (line, name) in (1..).zip(lines) {
        let wrong = |why| ImageError::Names { path: path.to_owned(), why, line };
        if name.is_empty() {
            return Err(wrong("There is no name").into());
        }
        if names.iter().any(|known| known == name) {
            return Err(wrong("A name stands there twice, the second time").into());
        }
        names.push(name.to_owned());
    }
    if names.len() > MOST_CLASSES {
        return Err(many(path, names.len()).into());
    }
    Ok(names)
}

fn many(path: &Path, count: usize) -> ImageError {
    ImageError::ManyClasses { path: path.to_owned(), count, most: MOST_CLASSES }
}

/// The classes of images of which nobody says the names: the numbers up to the largest, or the folders, numbers by value and
/// words by their letters.
pub(crate) fn found(labels: &[Label], path: &Path) -> Result<Vec<String>, ImageError> {
    let most =
        labels.iter().filter_map(|label| if let Label::Number(number) = label { Some(*number) } else { None }).max();
    let folders: BTreeSet<&String> =
        labels.iter().filter_map(|label| if let Label::Folder(name) = label { Some(name) } else { None }).collect();
    let mut names: Vec<String> = match most {
        Some(most) => (0..=most).map(|number| number.to_string()).collect(),
        None => folders.into_iter().cloned().collect(),
    };
    if most.is_none() && names.iter().all(|name| name.parse::<u64>().is_ok()) {
        names.sort_by_key(|name| name.parse::<u64>().unwrap_or_default());
    }
    if names.len() > MOST_CLASSES { Err(many(path, names.len())) } else { Ok(names) }
}

/// Refuses training images of one class.
pub(crate) fn require_two(labels: &[Label], names: &[String], path: &Path) -> Result<(), ImageError> {
    match labels.first() {
        Some(first) if labels.iter().all(|label| label == first) => {
            let label = match first {
                Label::Number(number) => names.get(usize::from(*number)).cloned().unwrap_or_else(|| number.to_string()),
                Label::Folder(name) => name.clone(),
            };
            Err(ImageError::OneClass { path: path.to_owned(), label })
        }
        _ => Ok(()),
    }
}

/// The class of each image by its place among the names; `known` says where these are from.
pub(crate) fn classes(labels: &[Label], names: &[String], known: &str, path: &Path) -> Result<Vec<u32>, ImageError> {
    let class = |(image, label): (usize, &Label)| match label {
        Label::Number(number) if usize::from(*number) < names.len() => Ok(u32::from(*number)),
        Label::Number(number) => Err(ImageError::LabelOutOfRange {
            path: path.to_owned(),
            image,
            label: usize::from(*number),
            classes: names.len(),
            known: known.to_owned(),
        }),
        Label::Folder(name) => {
            names.iter().position(|known| known == name).map(|place| place as u32).ok_or_else(|| {
                ImageError::UnknownClass { path: path.to_owned(), label: name.clone(), known: names.to_vec() }
            })
        }
    };
    (1..).zip(labels).map(class).collect()
}
