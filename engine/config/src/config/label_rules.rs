//! Labels of data that are not those of a model, and labels that mean "none".

use std::{collections::BTreeMap, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Reading of the labels of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LabelRules {
    /// Label text of rows that have no label, or [`LabelRules::NONE`]. When absent, it is derived from the labels themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unlabelled: Option<String>,
    /// Classes of the model that labels of the data stand for.
    #[serde(skip_serializing_if = "LabelMap::is_empty")]
    pub classes: LabelMap,
}

impl LabelRules {
    /// Value of `task.unlabelled` with which every text is a label.
    pub const NONE: &'static str = "none";

    /// True where neither the labels nor their classes are set.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Labels of data, each with the class of a model that it stands for: `0=LABEL_1,1=LABEL_0`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LabelMap(BTreeMap<String, String>);

impl LabelMap {
    /// Class that a label of the data stands for; none where the map does not name the label.
    pub fn class(&self, label: &str) -> Option<&str> {
        self.0.get(label).map(String::as_str)
    }

    /// Pairs of a label and its class, in the order of the labels.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(label, class)| (label.as_str(), class.as_str()))
    }

    /// True without any pair.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(String, String)> for LabelMap {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Self {
        Self(pairs.into_iter().collect())
    }
}

impl FromStr for LabelMap {
    type Err = LabelMapError;

    fn from_str(text: &str) -> Result<Self, LabelMapError> {
        let mut map = BTreeMap::new();
        for part in text.split(',') {
            let pair = part.split_once('=').map(|(label, class)| (label.trim(), class.trim()));
            let (label, class) = pair
                .filter(|(label, class)| !label.is_empty() && !class.is_empty())
                .ok_or_else(|| LabelMapError::NoPair { part: part.trim().to_owned() })?;
            if map.insert(label.to_owned(), class.to_owned()).is_some_and(|other| other != class) {
                return Err(LabelMapError::TwoClasses { label: label.to_owned() });
            }
        }
        Ok(Self(map))
    }
}

impl fmt::Display for LabelMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (label, class)) in self.0.iter().enumerate() {
            write!(f, "{}{label}={class}", if place == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

/// Reason why a text is no map of labels.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabelMapError {
    /// A part that is no pair.
    #[error(
        "`{part}` is no label of the data with a class of the model, such as `0=entailment`; several are separated by commas"
    )]
    NoPair {
        /// The part.
        part: String,
    },

    /// A label with two classes.
    #[error("the label `{label}` stands for two classes; name one")]
    TwoClasses {
        /// The label.
        label: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_of_labels_is_read_and_written_alike() {
        let map: LabelMap = " 1=LABEL_0, 0 = LABEL 1".parse().unwrap();
        assert_eq!(map.to_string(), "0=LABEL 1,1=LABEL_0");
        assert_eq!((map.class("1"), map.class("2")), (Some("LABEL_0"), None));
        assert_eq!(map.to_string().parse::<LabelMap>().unwrap(), map);
        for (text, wanted) in
            [("", "no label"), ("0", "`0`"), ("0=", "`0=`"), ("=a", "`=a`"), ("0=a,0=b", "two classes")]
        {
            let told = text.parse::<LabelMap>().unwrap_err().to_string();
            assert!(told.contains(wanted), "{text}: {told}");
        }
    }
}
